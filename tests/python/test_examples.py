"""The examples of the page on streams run, and say what the page says."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib
import matplotlib.image
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def run_example(monkeypatch, tmp_path, capsys):
    """Return a function that runs an example and returns what it prints and draws."""
    matplotlib.use("Agg")

    def run(name):
        picture = tmp_path / f"{name}.png"
        monkeypatch.setattr(sys, "argv", [name, str(picture)])
        runpy.run_path(str(DOCS / "examples" / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out, matplotlib.image.imread(picture)

    yield run
    matplotlib.pyplot.close("all")


def test_the_sensor_stream_reports_the_change_and_the_outage_only(run_example):
    text, picture = run_example("stream_with_changes")
    change, outage = map(int, re.search(r"\[(\d+), (\d+)\]", text).groups())
    assert 9000 < change < 9500
    assert 13_000 < outage < 13_500
    assert float(re.search(r"tracking ([\d.]+)%", text)[1]) > 85
    assert picture.std() > 0.05


def test_the_video_in_order_needs_replay(run_example):
    text, picture = run_example("video_in_order")
    with_replay, without = (float(score) for score in re.findall(r"F (0\.\d+)", text))
    assert with_replay > 0.75
    assert without < 0.3
    assert picture.std() > 0.05


def test_the_code_of_the_page_on_streams(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "streams.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})
    status, changes = (line.split(": ")[1] for line in capsys.readouterr().out.splitlines())
    assert status == "tracking"
    assert re.fullmatch(r"\[3\d\d\d\]", changes)


def test_links_of_the_page_on_streams_exist():
    for path in re.findall(r"\]\(((?!http)[^)]+)\)", (DOCS / "streams.md").read_text(encoding="utf-8")):
        assert (DOCS / path).exists(), path

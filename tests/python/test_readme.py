"""The Python examples of the README print the expected results, and its commands and links exist."""

import os
import re
from pathlib import Path

import pytest

from benchmarks.speed import front_page

README = Path(__file__).parents[2] / "README.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


def printed(code, capsys):
    exec(code, {})
    return [float(line.split(": ")[1]) for line in capsys.readouterr().out.splitlines()]


def test_the_python_examples(capsys):
    one, several = blocks("python")
    angle, labels = printed(one, capsys)
    assert angle < 1e-6
    assert labels > 0.99
    error, found = printed(several, capsys)
    assert error == 0
    assert found > 0.99


def test_the_commands_exist():
    commands = [line.split()[0] for block in blocks("console") for line in block.splitlines()]
    assert commands == ["scripts/demo", "scripts/test"]
    for command in [*commands, "scripts/wheel", "scripts/lint"]:
        assert os.access(README.parent / command, os.X_OK)


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)]+)\)", README.read_text()))
def test_links_exist(path):
    assert (README.parent / path).exists()


def form(text):
    """Return a text without its numbers and units."""
    return re.sub(r"\d[\d.]*(e[-+]?\d+)?( (s|ms|µs)\b)?", "#", text)


def test_the_table_of_speed_is_that_of_its_command():
    cells = dict.fromkeys(front_page.METHODS, (1.0, 1e-9))
    labels = [*front_page.PLAIN.values(), *front_page.NUMPY]
    updates = dict.fromkeys(labels, (1e-6, 1e-9))
    made = front_page.text({"updates": updates, "faces": updates, "fits": cells, "small": cells, "large": cells})
    readme = README.read_text(encoding="utf-8")
    before, _, rest = readme.partition(front_page.BEGIN)
    table, end, after = rest.partition(front_page.END)
    assert end
    assert form(table.strip()) == form(made)
    assert front_page.written(f"{before}{front_page.BEGIN}\nold\n{end}{after}", table.strip()) == readme


def test_the_front_page_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150

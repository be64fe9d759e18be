"""The Python blocks of the documentation run. Those of one page share their names, as a reader would run them."""

import re
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest

from gasg21.exceptions import ConvergenceWarning

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_the_python_blocks_of(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    matplotlib.use("Agg")
    names = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # a page that warns says so in its code
        for found in BLOCK.finditer(text):
            line = text[: found.start(1)].count("\n")
            exec(compile("\n" * line + found[1], str(page), "exec"), names)
    matplotlib.pyplot.close("all")


def test_there_are_blocks():
    assert sum(len(blocks(page)) for page in PAGES) > 15

"""The README's Python example runs and says what it should; its commands exist."""

import os
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_python_example(capsys):
    (code,) = blocks("python")
    exec(code, {})
    angle, labels = (float(line.split(": ")[1]) for line in capsys.readouterr().out.splitlines())
    assert angle < 1e-6
    assert labels > 0.99


def test_the_commands_are_there():
    commands = [line.split()[0] for block in blocks("console") for line in block.splitlines()]
    assert commands == ["scripts/demo", "scripts/test"]
    for command in [*commands, "scripts/wheel", "scripts/lint"]:
        assert os.access(README.parent / command, os.X_OK)


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)]+)\)", README.read_text()))
def test_links_lead_somewhere(path):
    assert (README.parent / path).exists()

"""The Python examples of the README print the expected results, and its commands and links exist."""

import os
import re
from pathlib import Path

import pytest

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

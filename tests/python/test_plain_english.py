"""The script that flags hard sentences in comments."""

import runpy
from pathlib import Path

import pytest

findings = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "plain_english.py"))["findings"]


def kinds(path, text):
    path.write_text(text)
    return [line.split(":", 2)[2].strip().split(":")[0] for line in findings(path)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("/// What a block adds.\nint a;\n", 'a clause with "what" as a title'),
        ("int a;  // what is known of it\n", 'a clause with "what" as a title'),
        ("// The sums of a block, and those of\n// the others.\n", '"that of"'),
        ("// Nobody waits here.\n", "a person for code"),
    ],
)
def test_hard_comments_of_cpp_are_flagged(tmp_path, text, kind):
    assert kinds(tmp_path / "a.hpp", text) == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('def f():\n    """What it returns.\n\n    More.\n    """\n', 'a clause with "what" as a title'),
        ("x = 1  # the length is that of y\n", '"that of"'),
        ('class A:\n    """Waits for whoever holds it."""\n', "a person for code"),
    ],
)
def test_hard_comments_of_python_are_flagged(tmp_path, text, kind):
    assert kinds(tmp_path / "a.py", text) == [kind]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.hpp", '/// The sums of a block; that often suffices.\nauto a = "// what it is";\n'),
        ("a.py", 'x = "that of a text"\n\n\ndef f():\n    """Return the sums."""\n    return "what it is"\n'),
    ],
)
def test_plain_comments_and_texts_pass(tmp_path, name, text):
    assert kinds(tmp_path / name, text) == []

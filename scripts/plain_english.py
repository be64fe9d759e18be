"""Flags hard sentences in comments of C++ and in comments and docstrings of Python: ``plain_english.py [FILES]``.

A title says what a thing is, not "What it does"; no chains of "that of"; code is not a person. Subject, verb, object.
"""

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

PATTERNS = {
    'a clause with "what" as a title': re.compile(r"\A(?:Of )?what\s+(?!if\b)[^?]*(?:[.:]|\Z)", re.IGNORECASE),
    '"that of"': re.compile(r"\b(?:that|those) of\b"),
    "a person for code": re.compile(r"\b(?:nobody|somebody|anybody|everybody|whoever)\b", re.IGNORECASE),
}


def cpp_comments(text):
    """Yield (line, comment) of each run of // lines, and of each comment behind code."""
    begin, words = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        code, mark, comment = line.partition("//")
        if mark and not code.strip():
            begin, words = begin or number, [*words, comment.lstrip("/!<").strip()]
            continue
        if words:
            yield begin, " ".join(words)
        begin, words = 0, []
        if mark and code.count('"') % 2 == 0 and not code.endswith(":"):
            yield number, comment.lstrip("/!<").strip()


def python_comments(text):
    """Yield (line, comment) of each comment and docstring."""
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")
        elif token.type == tokenize.STRING and begins_statement:
            yield token.start[0], token.string.lstrip("rRfF").strip("\"'").strip()
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def findings(path):
    """Return a line for each hard sentence of a file."""
    text = path.read_text()
    comments = python_comments(text) if path.suffix == ".py" else cpp_comments(text)
    return [
        f"{path}:{line}: {name}: {' '.join(comment.split())[:100]}"
        for line, comment in comments
        for name, pattern in PATTERNS.items()
        if pattern.search(comment)
    ]


def main(names):
    """Print the findings; return 1 if there are any."""
    if not names:
        listed = ["git", "ls-files", "cpp/*.hpp", "cpp/*.cpp", "python/*.py"]
        names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    found = [each for name in names for each in findings(Path(name))]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

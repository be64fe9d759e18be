"""What docstrings need on the site: links to pages, which they name as docs/NAME.md, and the pictures of plots."""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

PAGE = re.compile(r"docs/(\w+)\.md")
HEAD = ["Examples", "--------"]


def link_pages(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn names of pages into links."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def keep_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let a bar in a text mean an absolute value, not a substitution."""
    literal = None  # indentation of the text above a literal block
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line and literal is not None and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "...")):
            lines[i] = "``".join(part if k % 2 else part.replace("|", r"\|") for k, part in enumerate(line.split("``")))
        if literal is None and line.endswith("::"):
            literal = indent


def draw_examples(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let the plot directive run the examples of plots, and show what they draw."""
    if name.startswith("gasg21.plotting.") and HEAD[0] in lines:
        begin = lines.index(HEAD[0]) + len(HEAD)
        lines[begin:] = [".. plot::", "", *("   " + line for line in lines[begin:])]


def show_parameters(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, None] | None:
    """Show the parameters of ``__init__``, which a ``__new__`` in a base class hides from Sphinx."""
    if what != "class" or issubclass(obj, BaseException):
        return None
    parameters = inspect.signature(obj).parameters.values()
    return str(inspect.Signature([p.replace(annotation=p.empty) for p in parameters])), None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks. numpydoc has the priority 500: sections are found before it, links are made after it."""
    app.connect("autodoc-process-signature", show_parameters)
    app.connect("autodoc-process-docstring", keep_bars, priority=300)
    app.connect("autodoc-process-docstring", draw_examples, priority=400)
    app.connect("autodoc-process-docstring", link_pages, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

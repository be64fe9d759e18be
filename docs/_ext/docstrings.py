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
    app.connect("autodoc-process-docstring", draw_examples, priority=400)
    app.connect("autodoc-process-docstring", link_pages, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Formulas as MathML, which browsers draw themselves: no script and no network are needed."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def _mathml(node: nodes.Element, *, block: bool) -> str:
    """Return the formula of a node."""
    formula = re.sub(r"\\[bB]ig(?=[(\[])", r"\\bigl", node.astext())  # docutils wants to know the side
    formula = re.sub(r"\\[bB]ig(?=[)\]])", r"\\bigr", formula)
    try:
        return str(tex2mathml(formula, as_block=block))
    except MathError as error:
        msg = f"{node.source}:{node.line}: the formula {node.astext()!r} cannot be shown: {error}"
        raise ExtensionError(msg) from error


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(f'<span class="math">{_mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula in a line of its own."""
    translator.body.append(f'<div class="math">{_mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

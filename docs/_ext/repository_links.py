"""Links between files of the repository: pages of the site where there is one, plain text elsewhere.

The pages are written for a code host, where a link is the path of a file. The site holds only some of these files, and
some of them under another name.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = {  # files that a page of the site includes
    "benchmarks/README.md": "benchmarks",
    "benchmarks/results/README.md": "results",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}


def resolve(app: Sphinx, doctree: nodes.document) -> None:
    """Let links that leave the folder of the site end at a page, or turn them into text."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link.get("reftype") != "myst" or link.get("refdomain") is not None:
            continue  # not a link of Markdown, or one whose page is known
        path, _, anchor = link["reftarget"].partition("#")
        target = (_file_of(link, doctree).parent / path).resolve()
        if not target.is_file():
            continue  # the name of a label, or a broken link: Sphinx says so
        page = PAGES.get(str(target.relative_to(ROOT)))
        if page is None and target.suffix == ".md" and target.is_relative_to(app.srcdir):
            page = str(target.relative_to(app.srcdir).with_suffix(""))
        if page is None:
            link.replace_self(link.children)
        else:
            link["refdomain"], link["reftarget"], link["reftargetid"] = "doc", page, anchor or None


def _file_of(link: nodes.Element, doctree: nodes.document) -> Path:
    """Return the file that a link stands in, which may be included."""
    node: nodes.Node | None = link
    while node is not None and not node.source:
        node = node.parent
    return Path(node.source if node is not None and node.source else doctree["source"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hook."""
    app.connect("doctree-read", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

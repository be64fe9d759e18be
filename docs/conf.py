"""How Sphinx builds the site. ``scripts/docs`` calls it."""

import sys
import warnings
from pathlib import Path

import gasg21

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "gasg21"
author = "the gasg21 developers"
copyright = author
version = release = gasg21.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "breathe",
    "mathml",
    "docstrings",
    "repository_links",
]
templates_path = ["_templates"]
exclude_patterns = ["tutorials/GALLERY_HEADER.rst", "examples/*"]
default_role = "py:obj"
nitpicky = False

# Pages. They are read on a code host, too, so they use little beyond plain Markdown.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Formulas without a script.
html_math_renderer = "mathml"

# The reference.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
numpydoc_use_plots = False
plot_formats = [("png", 100)]
plot_html_show_source_link = False
plot_html_show_formats = False
plot_include_source = True
plot_rcparams = {"savefig.bbox": "tight"}
DOXYGEN = DOCS.parent / "build" / "doxygen" / "xml"
breathe_projects = {"gasg21": str(DOXYGEN)}
breathe_default_project = "gasg21"
breathe_default_members = ("members",)
if not DOXYGEN.exists():  # a machine without Doxygen builds all other pages
    exclude_patterns.append("api/cpp.md")
    suppress_warnings = ["toc.excluded", "myst.xref_missing", "ref.doc"]

# The tutorials. A fit that warns fails the build.
warnings.simplefilter("error", gasg21.exceptions.ConvergenceWarning)
sphinx_gallery_conf = {
    "examples_dirs": ["tutorials"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\d\d_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "plot_gallery": "True",
    "doc_module": ("gasg21",),
    "reference_url": {"gasg21": None},
    "backreferences_dir": "gallery/backreferences",
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
}

# The look. Nothing comes from the network.
html_theme = "pydata_sphinx_theme"
html_title = "gasg21"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "gasg21"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

"""Sphinx configuration of the manual; built by ./dev docs."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "ext"))

project = "Tessera"
author = "the Tessera developers"
copyright = author
release = re.search(
    r'#define TESS_VERSION "([0-9.]+)"', (ROOT / "include/tessera/base.h").read_text()
).group(1)
version = ".".join(release.split(".")[:2])

extensions = [
    "breathe",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    # Ours, in ext/: each says what it does in its first lines.
    "gallery",
    "light_doctrees",
    "mathml",
    "offline",
    "reference_c",
    "reference_python",
]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "requirements.txt", "ext", "README.md"]
nb_execution_mode = "off"  # the gallery has run its notebooks already
nb_merge_streams = True

# Types stand in the docstrings; the annotations name things that exist for type checkers only.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
# Every page's navigation copies the contents of all pages: with 2,000 members in them, that would
# take half of the build. Pages of classes have a table of methods instead.
toc_object_entries = False
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True  # a property listed among the attributes is described once
napoleon_use_rtype = False

breathe_projects = {"tessera": str(DOCS / "_build/doxygen/xml")}
breathe_default_project = "tessera"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
# Opaque types and the compiler's own have no page to link to.
nitpicky = False
suppress_warnings = [
    # The words of a type in a docstring ("array of shape ...") are not meant as references.
    "ref.python",
]

html_theme = "furo"
html_title = f"Tessera {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["manual.css"]
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"

linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]

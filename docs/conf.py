"""Sphinx configuration of the manual; built by ./dev docs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

project = "Tessera"
author = "the Tessera developers"
copyright = author
release = re.search(
    r'#define TESS_VERSION "([0-9.]+)"', (ROOT / "include/tessera/base.h").read_text()
).group(1)
version = ".".join(release.split(".")[:2])

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "requirements.txt"]

# Types stand in the docstrings; the annotations name things that exist for type checkers only.
autodoc_typehints = "none"

breathe_projects = {"tessera": str(ROOT / "docs/_build/doxygen/xml")}
breathe_default_project = "tessera"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
# Opaque types and the compiler's own have no page to link to.
nitpicky = False

html_theme = "furo"
html_title = f"Tessera {release}"

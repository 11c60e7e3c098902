"""Refuses a manual that a browser could not show without a network.

After the build every page and style sheet is looked through for scripts, styles, fonts and pictures
of other hosts. Links that a reader follows may lead anywhere.
"""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

# What a browser loads by itself: src=, the href of a <link> that is no navigation, url() of CSS.
LOADED = [
    re.compile(r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?
                   \b(?:src|srcset|data)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""", re.X | re.I),
    re.compile(r"""<link\b(?![^>]*\brel\s*=\s*["']?(?:canonical|next|prev|search|index))[^>]*?
                   \bhref\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""", re.X | re.I),
    re.compile(r"""(?:@import\s+|url\()\s*["']?((?:https?:)?//[^"')\s]+)""", re.I),
]  # fmt: skip


def loaded_from_elsewhere(text):
    """Return the addresses that showing this page or style sheet would ask other hosts for."""
    return [address for pattern in LOADED for address in pattern.findall(text)]


def check(app, exception):
    if exception is not None or app.builder.name != "html":
        return
    found = []
    folder = Path(app.outdir)
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.css")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        name = path.relative_to(folder)
        found += [f"{name}: {address}" for address in loaded_from_elsewhere(text)]
    if found:
        raise ExtensionError("pages that need a network: " + "; ".join(found[:10]))


def setup(app):
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

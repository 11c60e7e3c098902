"""Keep the environment out of what is stored of every page.

MyST's eval-rst reads its lines as a document of their own, whose nodes go on pointing to it: with
a page Sphinx would store that document, its settings and with them the environment, all symbols of
C included, and read it back when the page is written.
"""


def adopt(app, doctree):
    """Make every node one of the page's document."""
    for node in doctree.findall():
        node.document = doctree


def setup(app):
    app.connect("doctree-read", adopt)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

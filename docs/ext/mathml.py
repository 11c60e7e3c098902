"""Equations as MathML, made when the manual is built: a browser needs no script and no network.

latex2mathml converts them (docutils' own converter reads \\tfrac12 as 12 over what follows, without
a word). A command that it does not know is a warning, hence an error of ./dev docs.
"""

import re

from docutils import nodes
from latex2mathml.converter import convert as to_mathml
from sphinx.util import logging

log = logging.getLogger(__name__)


def convert(node, display):
    mathml = to_mathml(node.astext(), display=display)
    unknown = re.findall(r"\\[A-Za-z]+", mathml)
    if unknown:
        log.warning("equation %r: unknown %s", node.astext(), ", ".join(unknown), location=node)
    return mathml


def visit_inline(translator, node):
    translator.body.append(convert(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator, node):
    translator.body.append(f'<div class="math">{convert(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}

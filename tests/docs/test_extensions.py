"""Our own extensions of Sphinx; they are tested where Sphinx is installed, in ./dev docs."""

import sys

import manual
import pytest

pytest.importorskip("sphinx")
sys.path.insert(0, str(manual.DOCS / "ext"))

import light_doctrees
import mathml
import offline
from docutils import nodes
from docutils.utils import new_document


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/mathjax.js"></script>',
        '<script defer src=//cdn.example/a.js>',
        '<link rel="stylesheet" href="https://fonts.example/css" />',
        '<img alt="x" src="http://example.org/x.png">',
        "@import url(https://fonts.example/a.css);",
        'src: url("//fonts.example/a.woff2")',
    ],
)
def test_what_needs_a_network_is_found(text):
    assert offline.loaded_from_elsewhere(text)


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org">elsewhere</a>',
        '<script src="../_static/a.js?v=1"></script>',
        '<link rel="canonical" href="https://example.org/manual.html" />',
        '<link rel="stylesheet" href="_static/furo.css" />',
        "background: url(data:image/svg+xml;base64,AAAA)",
    ],
)
def test_what_needs_none_is_not(text):
    assert not offline.loaded_from_elsewhere(text)


@pytest.mark.parametrize(
    ("tex", "has"),
    [
        (r"\tfrac12 (a + b)", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\dot\gamma_k", "</mover><mi>k</mi></msub>"),
        (r"\frac1N \sum_n", "<mfrac><mn>1</mn><mi>N</mi></mfrac>"),
    ],
)
def test_equations_say_what_they_mean(tex, has):
    assert has in mathml.convert(nodes.math(tex, tex), "inline")


def test_unknown_commands_are_noticed(monkeypatch):
    said = []
    monkeypatch.setattr(mathml.log, "warning", lambda *words, **_: said.append(words))
    mathml.convert(nodes.math("", r"\nosuchthing x"), "inline")
    assert said


def test_what_an_inner_document_read_belongs_to_the_page():
    inner = new_document("inner")
    paragraph = nodes.paragraph()
    inner += paragraph
    paragraph += nodes.emphasis()
    page = new_document("page")
    page += paragraph
    assert paragraph[0].document is inner  # as MyST leaves it
    light_doctrees.adopt(None, page)
    assert {node.document for node in page.findall()} == {page}

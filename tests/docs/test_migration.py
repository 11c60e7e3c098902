"""The migration pages: what they call ours exists, and the tables are those of the code."""

import csv
import importlib
import importlib.util
import sys

import manual
import pytest

sys.path.insert(0, str(manual.ROOT / "tools"))

import compat_table

TABLES = sorted(manual.DOCS / f"migrate/{name}.csv" for name in compat_table.VERSIONS)


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def resolve(name):
    """Return what a dotted name stands for, or None."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value
    return None


def needs(path):
    if path.stem == "flash-clifford":
        pytest.importorskip("torch")


def test_there_are_tables():
    assert {path.stem for path in TABLES} == {
        "autoreject", "flash-clifford", "homodyne", "non_local_detector"
    }  # fmt: skip
    for path in TABLES:
        assert f":file: {path.name}\n" in path.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_tables_are_up_to_date(path):
    needs(path)
    text = compat_table.tables([path.stem])[path]
    assert path.read_text(encoding="utf-8") == text, "run ./dev compat and read what changed"


def test_counts_are_up_to_date():
    pytest.importorskip("torch")
    path = compat_table.FOLDER / "counts.csv"
    text = compat_table.tables(list(compat_table.VERSIONS))[path]
    assert path.read_text(encoding="utf-8") == text, "run ./dev compat"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_names_exist(path):
    needs(path)
    for row in rows(path):
        here = row["here"].strip("`")
        if here.startswith("tessera."):
            assert resolve(here) is not None, f"{path.name}: {here} does not exist"
        else:
            assert row["what differs"], f"{path.name}: {row['original']}: say what to do instead"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_nothing_is_listed_twice(path):
    originals = [row["original"] for row in rows(path)]
    assert len(originals) == len(set(originals))


# ---- The comparison itself ----------------------------------------------------------------------


def ours(a, b=2, *, c=None, d="x"):
    return a, b, c, d


@pytest.mark.parametrize(
    ("theirs", "said", "more"),
    [
        ("(a, b=2, *, c=1, d='x')", [], []),
        ("(a)", [], ["more: `b`, `c`, `d`"]),
        ("(a, b=3, *, c=None, d='x')", ["`b` is 2, there 3"], []),
        ("(b=2, a=1)", ["`a` has no default here", "`b`, `a` in another place"],
         ["more: `c`, `d`"]),
        ("(a, b=2, c=None)", ["`c` by name only"], ["more: `d`"]),
        ("(a, e=4)", ["lacks `e`"], []),
        ("(a, b=SOME.CONSTANT)", [], ["more: `c`, `d`"]),
    ],
)  # fmt: skip
def test_signatures_are_compared(theirs, said, more):
    assert compat_table.differences(theirs, ours) == (said, more)


def test_names_are_read_from_sources(tmp_path):
    import compat_names

    package = tmp_path / "homodyne"
    package.mkdir()
    (package / "__init__.py").write_text("from .core import Thing, helper\n__all__ = ['later']\n")
    (package / "core.py").write_text(
        "from dataclasses import dataclass, field\n"
        "LIMIT: int = 3\n"
        "@dataclass\nclass Base:\n    a: int\n    b: list = field(default_factory=list)\n"
        "@dataclass\nclass Thing(Base):\n    c: float = 0.5\n"
        "    def go(self, x, *, fast=True): ...\n"
        "    @property\n    def size(self): ...\n"
        "    def _own(self): ...\n"
        "try:\n    from jax import jit\n    def helper(x: int = 1, *rest): ...\n"
        "except ImportError:\n    def jit(f): ...\n"
        "def _private(): ...\n"
    )
    found = {f"{m}.{n}": (k, s) for m, n, k, s in compat_names.lines("homodyne", tmp_path)
             if compat_names.is_public(m, n)}  # fmt: skip
    assert found == {
        "homodyne.Thing": ("export", ""),
        "homodyne.helper": ("export", ""),
        "homodyne.later": ("export", ""),
        "homodyne.core.LIMIT": ("constant", "3"),
        "homodyne.core.Base": ("class", "(a, b=...)"),
        "homodyne.core.Thing": ("class", "(a, b=..., c=0.5)"),
        "homodyne.core.Thing.go": ("method", "(x, *, fast=True)"),
        "homodyne.core.Thing.size": ("property", ""),
        "homodyne.core.helper": ("function", "(x=1, *rest)"),
    }

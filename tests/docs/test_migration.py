"""What the migration pages call ours exists, and what they say is missing is missing."""

import csv
import importlib

import manual
import pytest

TABLES = sorted((manual.DOCS / "migrate").glob("*.csv"))


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


def test_there_are_tables():
    assert {path.stem for path in TABLES} == {
        "autoreject", "flash-clifford", "homodyne", "non_local_detector"
    }  # fmt: skip


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_names_exist(path):
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

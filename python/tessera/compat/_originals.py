"""The four originals: the names people import, and what stands for each here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path


@dataclass(frozen=True)
class Original:
    """A package whose scripts run on ours."""

    name: str
    manual: str
    """Its page of the manual, with the table of names."""
    roots: Mapping[str, str]
    """Names that its scripts import, and our modules."""
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Roots of everyday words: files of which one tells the original's folder from others."""
    page: str = ""
    """What the page of the manual is called."""


ORIGINALS = {
    original.name: original
    for original in (
        Original(
            "non_local_detector",
            "docs/migrate/non_local_detector.md",
            {"non_local_detector": "tessera.decode"},
            page="From non_local_detector",
        ),
        Original(
            "homodyne",
            "docs/migrate/homodyne.md",
            {"homodyne": "tessera.xpcs"},
            page="From homodyne",
        ),
        Original(
            "autoreject",
            "docs/migrate/autoreject.md",
            {"autoreject": "tessera.autoreject"},
            page="From autoreject",
        ),
        Original(
            "flash_clifford",
            "docs/migrate/flash-clifford.md",
            {
                "flash_clifford": "tessera.clifford",
                "ops": "tessera.clifford.ops",
                "modules": "tessera.clifford.modules",
                "tests": "tessera.clifford.tests",
            },
            marks={
                "ops": ("p2m0.py", "p3m0.py", "fc_p2m0.py", "fc_p3m0.py", "p3m0n1.py"),
                "modules": ("layer.py", "baseline.py"),
                "tests": ("baselines.py",),
            },
            page="From flash-clifford",
        ),
    )
}


def original_named(name: str) -> Original:
    """Return the original of this name; hyphens are as good as underscores."""
    found = ORIGINALS.get(name.replace("-", "_"))
    if found is None:
        raise ValueError(f"{name!r} is none of the originals: {', '.join(ORIGINALS)}")
    return found


def is_the_originals(original: Original, root: str) -> bool:
    """Tell the original's folder ``ops`` from somebody's own of that name."""
    marks = original.marks.get(root)
    if marks is None:
        return True
    spec = PathFinder.find_spec(root)
    if spec is None:
        return True
    folders = list(spec.submodule_search_locations or ())
    return any((Path(folder) / mark).is_file() for folder in folders for mark in marks)

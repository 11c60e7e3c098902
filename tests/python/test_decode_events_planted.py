"""False positives and power of shuffles on planted events: the small version of the sweep."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("xarray")

SWEEP = Path(__file__).resolve().parents[2] / "bench" / "decode_sweep.py"
if not SWEEP.exists():
    pytest.skip("the sweep is not part of the package", allow_module_level=True)
_spec = importlib.util.spec_from_file_location("decode_sweep", SWEEP)
assert _spec is not None
assert _spec.loader is not None
sweep: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sweep)

COUNT = 50


@pytest.mark.parametrize("case", ["clusterless", "clusterless-states", "sorted"])
def test_sweeps_are_found_and_chance_is_not(case: str) -> None:
    """Bounds are those of the specification, wider by what 50 events scatter: 3 standard errors."""
    rows = {(kind, score): row for kind, score, *row in sweep.study(case, COUNT, COUNT, 19, 4)}
    for (kind, score), (power, random, share, ks) in rows.items():
        if score in ("line_fit", "weighted_correlation"):
            assert power >= 0.8, (kind, score)
        if score in ("distance", "max_jump") and kind in ("column", "field", "time"):
            assert power >= 0.5, (kind, score)
        if kind == "time" and score in ("weighted_correlation", "distance", "line_fit"):
            assert random <= 0.15, (kind, score)
        assert share <= 0.05 + 3 * (0.05 * 0.95 / COUNT) ** 0.5, (kind, score)
        if score == "weighted_correlation":
            assert ks > 1e-3, (kind, score)
    # What only destroys bins finds sharp events without order significant: said, not mended.
    blind = "units" if case == "sorted" else "marks"
    assert rows[blind, "sharpness"][1] > 0.5

"""What the tests of clifford share: golden data, tolerances, random problems."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]

GOLDEN = Path(__file__).parents[1] / "golden" / "clifford"

METRICS = {"2d": "++", "3d": "+++", "cl20": "++", "cl30": "+++", "cl301": "0+++", "cl13": "+---"}
METRICS["cl41"] = "++++-"
OPS = ("ops_2d_b5_n7", "ops_2d_b3_n28", "ops_3d_b5_n7", "ops_3d_b3_n28")

# Relative L2 error per tensor against float64, by type: SGP, gradients of its weights, matrix
# products, second derivatives.
TOLERANCE = {
    "float64": {"sgp": 1e-13, "gw": 1e-13, "matmul": 1e-13, "double": 1e-12},
    "float32": {"sgp": 5e-7, "gw": 1e-6, "matmul": 1e-6, "double": 2e-6},
    "bfloat16": {"sgp": 6e-3, "gw": 6e-3, "matmul": 6e-3, "double": 2e-2},
    "float16": {"sgp": 1e-3, "gw": 1e-3, "matmul": 1e-3, "double": 4e-3},
}


def layer_tolerance(dtype: str, prefix: str, what: str) -> float:
    """Return what is allowed of a layer's result or gradient."""
    tolerance = TOLERANCE[dtype]
    if prefix.startswith("fclayer"):
        return tolerance["matmul"]
    return tolerance["sgp" if what in ("z", "gx", "y") else "gw"]


@cache
def golden(name: str) -> dict[str, Floats]:
    """Return the arrays of a golden file."""
    with np.load(GOLDEN / f"{name}.npz") as data:
        return {key: data[key] for key in data.files}


def relative(got: Any, want: Any) -> float:
    """Return the relative L2 error."""
    got = np.asarray(got, np.float64)
    want = np.asarray(want, np.float64)
    assert got.shape == want.shape
    size = float(np.linalg.norm(want))
    return float(np.linalg.norm(got - want)) / (size if size else 1.0)


def assert_near(got: Any, want: Any, allowed: float) -> None:
    """Compare by relative L2 error, and no item further off than 20 times that of the largest."""
    assert relative(got, want) <= allowed
    got = np.asarray(got, np.float64)
    want = np.asarray(want, np.float64)
    if want.size:
        assert np.abs(got - want).max() <= 20 * allowed * np.abs(want).max()

"""What several test files need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera

Floats = npt.NDArray[Any]

PACKAGE_DIR = Path(tessera.__file__).parent


def numpy_ptp(x: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.max(x, axis=2) - np.min(x, axis=2))


def assert_same_bits(got: Floats, want: Floats) -> None:
    """Compare bit by bit, NaN payloads aside and the sign of zero, which max() leaves open."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert np.array_equal(got, want, equal_nan=True)


def endless() -> Floats:
    """Epochs that take hours to work through but no memory."""
    return np.broadcast_to(np.zeros((1, 1, 1 << 20), np.float32), (1 << 20, 1, 1 << 20))


def run_python(
    code: str, *options: str, arguments: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that finds the same package."""
    return subprocess.run(
        [sys.executable, *options, "-c", code, *(arguments or [])],
        env=python_env(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def python_env() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join([str(PACKAGE_DIR.parent), *sys.path])}

"""Filters that take noise out of correlation matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def _modules(method: str) -> tuple[Any, Any]:
    try:
        from scipy import ndimage, signal
    except ImportError as error:
        raise ImportError(
            f"preprocessing.reduce_noise.method {method}: needs SciPy; pip install scipy"
        ) from error
    return ndimage, signal


def reduced(matrices: Any, method: str, said: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return filtered matrices; 'none' returns them as they are."""
    found = np.array(matrices, np.float64)
    if method == "none":
        return found
    ndimage, signal = _modules(method)
    for place, matrix in enumerate(found):
        if method == "median":
            found[place] = ndimage.median_filter(matrix, size=said.get("kernel_size", 3))
        elif method == "gaussian":
            found[place] = ndimage.gaussian_filter(matrix, sigma=said.get("sigma", 1.0))
        elif method == "wiener":
            found[place] = signal.wiener(matrix, noise=said.get("noise_variance"))
        else:
            window, order = said.get("window_length", 5), said.get("polyorder", 2)
            for axis in (1, 0):
                if found[place].shape[axis] > window:
                    found[place] = signal.savgol_filter(found[place], window, order, axis=axis)
    return found

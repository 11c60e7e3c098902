"""Gaussian smoothing of a series."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.decode._data import Floats

_TRUNCATE = 8  # standard deviations


def gaussian_smooth(data: Any, sigma: float, sampling_frequency: float, axis: int = 0) -> Floats:
    """Convolve with a Gaussian of sigma seconds; zeros are assumed beyond the ends."""
    values = np.moveaxis(np.asarray(data, dtype=np.float64), axis, 0)
    width = sigma * sampling_frequency
    radius = int(_TRUNCATE * width + 0.5)
    if radius < 1 or len(values) == 0:
        return np.moveaxis(values.copy(), 0, axis)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / width) ** 2)
    kernel /= kernel.sum()
    columns = values.reshape(len(values), -1)
    smooth = np.stack(
        [np.convolve(column, kernel)[radius : radius + len(values)] for column in columns.T], axis=1
    )
    return np.moveaxis(smooth.reshape(values.shape), 0, axis)

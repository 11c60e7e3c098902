"""Gaussian smoothing of a series."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tessera.decode._data import Floats


def gaussian_smooth(
    data: ArrayLike, sigma: float, sampling_frequency: float, axis: int = 0, truncate: float = 8
) -> Floats:
    """Convolve with a Gaussian; zeros are assumed beyond the ends.

    Parameters
    ----------
    data : array
        Numbers.
    sigma : float
        Standard deviation, seconds.
    sampling_frequency : float
        Samples per second.
    axis : int
        Along which.
    truncate : float
        Standard deviations after which the Gaussian is cut off.

    Returns
    -------
    ndarray
        Of the shape of data.

    Examples
    --------
    >>> from tessera.decode.environment import gaussian_smooth
    >>> gaussian_smooth([0.0, 0.0, 1.0, 0.0, 0.0], 0.5, 1.0).round(3)
    array([0.   , 0.106, 0.787, 0.106, 0.   ])
    """
    values = np.moveaxis(np.asarray(data, dtype=np.float64), axis, 0)
    width = sigma * sampling_frequency
    radius = int(truncate * width + 0.5)
    if radius < 1 or len(values) == 0:
        return np.moveaxis(values.copy(), 0, axis)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / width) ** 2)
    kernel /= kernel.sum()
    columns = values.reshape(len(values), -1)
    smooth = np.stack(
        [np.convolve(column, kernel)[radius : radius + len(values)] for column in columns.T], axis=1
    )
    return np.moveaxis(smooth.reshape(values.shape), 0, axis)

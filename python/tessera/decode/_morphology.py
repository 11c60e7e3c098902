"""Binary images of any number of axes: growing, closing, filling."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tessera.decode._data import Mask


def _steps(n_axis: int, connectivity: int) -> Iterator[tuple[int, ...]]:
    """Return the neighbours that differ in at most ``connectivity`` axes, by one bin in each."""
    for step in itertools.product((-1, 0, 1), repeat=n_axis):
        if np.abs(step).sum() <= connectivity:
            yield step


def _reached(mask: Mask, connectivity: int) -> Mask:
    """Return what a mask with one bin of border reaches in a step, without the border."""
    shape = [n - 2 for n in mask.shape]
    found: Mask = np.zeros(shape, dtype=bool)
    for step in _steps(mask.ndim, connectivity):
        found |= mask[tuple(slice(1 + d, 1 + d + n) for d, n in zip(step, shape, strict=True))]
    return found


def grow(mask: Mask, connectivity: int = 1) -> Mask:
    """Return the mask and its neighbours."""
    return _reached(np.pad(mask, 1), connectivity)


def close(mask: Mask) -> Mask:
    """Grow, then shrink; beyond the image there is nothing, so its outermost bins go."""
    grown = grow(mask)
    return ~_reached(np.pad(~grown, 1, constant_values=True), 1)


def fill(mask: Mask) -> Mask:
    """Return the mask and what it surrounds."""
    free = np.pad(~mask, 1, constant_values=True)
    outside = np.zeros_like(free)
    outside.flat[0] = True  # a corner of the border
    while True:
        grown = grow(outside) & free
        if np.array_equal(grown, outside):
            return ~outside[tuple(slice(1, -1) for _ in mask.shape)]
        outside = grown

"""A look at arrays before they are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tessera.xpcs.utils.logging import get_logger

__all__ = ["validate_plot_arrays"]


def validate_plot_arrays(*arrays: npt.ArrayLike, names: Sequence[str] | None = None) -> bool:
    """Return whether all values are numbers; what is none is logged as a warning.

    Parameters
    ----------
    *arrays : array
        What is to be drawn.
    names : sequence of str, optional
        For the warnings.

    Returns
    -------
    bool
        All are.
    """
    clean = True
    for place, array in enumerate(arrays):
        values = np.asarray(array)
        if not values.size:
            continue
        n_nan, n_inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        if n_nan or n_inf:
            label = names[place] if names and place < len(names) else f"array[{place}]"
            get_logger(__name__).warning(
                f"{label}: {n_nan} NaN and {n_inf} Inf of {values.size} values"
            )
            clean = False
    return clean

"""Standard deviations of a covariance that may be singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats


def safe_uncertainties_from_pcov(pcov: npt.NDArray[Any], n_params: int) -> Floats:
    """Return standard deviations; 0 of a matrix of another size, never less than 0."""
    if pcov.shape[0] != n_params:
        return np.zeros(n_params)
    variances = np.diag(pcov).astype(float)
    if np.any(variances < 1e-15):
        variances = variances + 1e-10
    found: Floats = np.sqrt(np.maximum(variances, 0.0))
    return found

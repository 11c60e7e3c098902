"""The original's object around a fit, and names its tests and scripts look for beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.xpcs import _compat
from tessera.xpcs._foreign import data_of
from tessera.xpcs.optimization.nlsq import (
    data_prep,
    fallback_chain,
    parameter_utils,
    results,
)

NLSQWrapper = _compat.NLSQWrapper
OptimizationResult = results.OptimizationResult
OptimizationStrategy = fallback_chain.OptimizationStrategy
_classify_parameter_status = data_prep.classify_parameter_status


def _extract_n_points(data: Any) -> int:
    """Return the number of points of data."""
    own = data_of(data)
    found = own.get("g2", own.get("c2_exp")) if isinstance(own, dict) else own
    return 0 if found is None else int(np.size(found))


_compute_consistent_per_angle_init = parameter_utils.compute_consistent_per_angle_init

"""The original's object around a fit, and names its tests and scripts look for beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.xpcs._compat import NLSQWrapper as NLSQWrapper
from tessera.xpcs._foreign import data_of
from tessera.xpcs.optimization.nlsq.data_prep import (
    classify_parameter_status as _classify_parameter_status,  # noqa: F401
)
from tessera.xpcs.optimization.nlsq.fallback_chain import (
    OptimizationStrategy as OptimizationStrategy,
)
from tessera.xpcs.optimization.nlsq.results import OptimizationResult as OptimizationResult


def _extract_n_points(data: Any) -> int:
    """Return the number of points of data."""
    own = data_of(data)
    found = own.get("g2", own.get("c2_exp")) if isinstance(own, dict) else getattr(own, "g2", None)
    return int(np.size(found)) if found is not None else 0

"""Keywords of :class:`tessera.autoreject.AutoReject`, for type checkers; not for run time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, TypedDict

from numpy.typing import ArrayLike

from tessera.autoreject._types import CrossValidation, Origin, Picks, RandomState, Verbose


class AutoRejectKeywords(TypedDict, total=False):
    """What the class takes."""

    n_interpolate: ArrayLike | None
    consensus: ArrayLike | None
    thresh_func: Callable[..., object] | None
    cv: CrossValidation | Literal["auto"]
    picks: Picks
    thresh_method: Literal["bayesian_optimization", "random_search", "exact"]
    n_jobs: int
    random_state: RandomState
    verbose: Verbose
    search: Literal["compat", "grid", "exact"]
    rho_mode: Literal["cumulative", "independent"]
    n_splits: int | Literal["auto"]
    device: str
    precision: Literal["float64", "float32"]
    meg_dots: Literal["direct", "lut"]
    origin: Origin
    memory_limit: int | str | None
    profile: bool
    checkpoint: str | os.PathLike[str] | None

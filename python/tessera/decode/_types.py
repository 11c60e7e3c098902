"""Types of what calls take and return, for type checkers; never imported at run time."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import networkx as nx
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike as NumpyArrayLike
from numpy.typing import NDArray

from tessera.decode._data import Floats
from tessera.decode._track import TrackGraph
from tessera.decode.results import Results


class SupportsDLPack(Protocol):
    """Arrays of torch, JAX, CuPy and others."""

    def __dlpack__(self) -> Any:
        """Lend the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Say where it is."""


class SupportsCudaArray(Protocol):
    """Arrays on a GPU without DLPack, such as Numba's."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Address, shape and type."""


# What NumPy takes, and arrays of other libraries.
ArrayLike: TypeAlias = NumpyArrayLike | SupportsDLPack | SupportsCudaArray
PathLike: TypeAlias = str | os.PathLike[str]
DType: TypeAlias = Literal["float32", "float64"]
Output: TypeAlias = Literal["filter", "predictive", "predictive_posterior", "log_likelihood", "all"]
Outputs: TypeAlias = Output | Collection[Output]
# Columns by name, or a table.
Covariates: TypeAlias = Mapping[str, ArrayLike] | pd.DataFrame
# Where xarray is installed, and where it is not; of pandas and networkx the same.
ResultsLike: TypeAlias = xr.Dataset | Results
Table: TypeAlias = pd.DataFrame | NDArray[np.void]
Graph: TypeAlias = nx.Graph | TrackGraph
TrackLike: TypeAlias = (
    nx.Graph | TrackGraph | tuple[Sequence[Sequence[float]], Sequence[tuple[int, int]]]
)


class FinishedBin(TypedDict):
    """What :meth:`tessera.decode.OnlineDecoder.get` returns."""

    bin: int
    start_s: float
    n_spike: int
    n_electrode_active: int
    best_bin: int
    credible_size: int
    log_norm: float
    likelihood_s: float
    filter_s: float
    posterior: Floats
    state_probabilities: Floats
    log_likelihood: Floats
    best_state: str
    best_position: Floats


class OnlineLearned(TypedDict):
    """What :meth:`tessera.decode.OnlineDecoder.learned` returns."""

    is_frozen: bool
    n_sample: int
    n_sample_seen: int
    occupancy: Floats
    summed_ground_intensity: Floats
    mean_rates: Floats
    n_kept: list[int]
    n_spike: int
    n_full: int
    n_slow: int
    n_slow_sample: int
    n_unplaced: int
    n_dropped: int
    n_ignored: int
    n_refresh: int
    refresh_max_s: float


class TriggerStats(TypedDict):
    """What :meth:`tessera.decode.OnlineDecoder.trigger_stats` returns."""

    n_fired: int
    n_locked: int
    latency_max_s: float
    latency: list[int]


class OnlineStats(TypedDict):
    """What :meth:`tessera.decode.OnlineDecoder.stats` returns."""

    n_bin: int
    n_spike: int
    n_late: int
    n_duplicate: int
    n_dropped: int
    n_deadline_miss: int
    latency_max_s: float
    latency: list[int]

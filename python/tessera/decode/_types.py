"""Types of what calls take and return, for type checkers; never imported at run time."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

import networkx as nx
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from tessera.decode._data import Floats
from tessera.decode._track import TrackGraph
from tessera.decode.results import Results

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

"""Keywords of this system's calls, for type checkers; never imported at run time.

The names and types are those of the library's parameter tables: a test compares them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from tessera._progress import ProgressLike
from tessera.decode._types import ArrayLike, Covariates, DType, Outputs, PathLike, TrackLike

Size: TypeAlias = Literal[
    "tiny",
    "small",
    "medium",
    "large",
    "realistic",
    "day-1d",
    "day-2d",
    "probe-8",
    "chronic",
    "max",
]


class SimulateKeywords(TypedDict, total=False):
    """Table ``decode.simulate`` beside ``size`` and ``seed``."""

    electrodes: int
    features: int
    time_bins: int
    position_bins: int
    encoding_spikes: int
    decoding_spikes: int
    drift: float
    artefacts: float
    generator: Literal["tessera", "original"]


class EventKeywords(TypedDict, total=False):
    """Table ``decode.events``."""

    decoder: Literal["memoryless", "states"]
    rate_bin: float
    rate_std: float
    threshold_z: float
    max_speed: float
    speed_std: float
    join: float
    min_duration: float
    max_duration: float
    min_spikes: int
    min_electrodes: int
    state_threshold: float
    event_bin: float
    min_bins: int
    band: float
    max_velocity: float
    shuffles: int
    shuffle_seed: int
    report_events: int


class TuneKeywords(TypedDict, total=False):
    """Tables ``decode.tune`` and ``decode.encoding``."""

    folds: int
    points: int
    span: float
    refine: int
    rounds: int
    max_spikes: int
    algorithm: Literal[
        "clusterless_kde", "clusterless_gmm", "sorted_spikes_kde", "sorted_spikes_glm"
    ]
    mode: str
    bound: float
    floor: str
    floor_nats: float
    mark_density: Literal["probability", "unit_peak"]
    nan_policy: Literal["error", "drop"]
    membership: Literal["original", "nearest"]
    strict: bool
    bin_scale: float
    position_std: float | ArrayLike
    waveform_std: float | ArrayLike
    gmm_components_occupancy: int
    gmm_components_gpi: int
    gmm_components_joint: int
    gmm_iterations: int
    gmm_tolerance: float
    gmm_ridge: float
    seed: int
    glm_knot_spacing: float
    glm_penalty: float


class EnvironmentKeywords(TypedDict, total=False):
    """What :class:`tessera.decode.Environment` takes."""

    environment_name: str
    place_bin_size: float | Sequence[float]
    track_graph: TrackLike | None
    edge_order: Sequence[tuple[Hashable, Hashable]] | None
    edge_spacing: float | ArrayLike | None
    is_track_interior: ArrayLike | None
    position_range: Sequence[tuple[float, float] | None] | None
    infer_track_interior: bool
    fill_holes: bool
    dilate: bool
    bin_count_threshold: int


class FitKeywords(TypedDict, total=False):
    """What ``fit`` takes beside the recording."""

    is_training: ArrayLike | None
    encoding_group_labels: ArrayLike | None
    environment_labels: ArrayLike | None
    discrete_transition_covariate_data: Covariates | None
    weights: ArrayLike | None
    progress: ProgressLike
    device: str | None


class LikelihoodKeywords(TypedDict, total=False):
    """What ``compute_log_likelihood`` takes beside the recording."""

    n_chunks: int | Literal["auto"]
    memory_budget: int | str | None
    progress: ProgressLike
    dtype: DType | None
    device: str | None


class FileKeywords(LikelihoodKeywords, total=False):
    """What ``predict_file`` takes beside the recording."""

    return_outputs: Outputs | None
    most_likely_path: bool
    intervals: Any
    overwrite: bool
    resume: bool
    checkpoint: PathLike | None
    checkpoint_every: float | None
    command_line: str | None


class EstimateKeywords(TypedDict, total=False):
    """What ``estimate_parameters`` takes beside what the original has."""

    estimate_inital_conditions: bool | None
    memory_budget: int | str | None
    progress: ProgressLike
    checkpoint: PathLike | None
    checkpoint_every: float | None
    resume: bool
    device: str | None


class StreamReport(TypedDict):
    """What ``predict_file`` returns."""

    resumed: bool
    n_chunk: int
    rows_per_chunk: int
    memory_bytes: int
    limit_bytes: int
    log_evidence: float
    elapsed_s: float
    likelihood_s: float
    filter_s: float
    smoother_s: float
    write_s: float
    n_checkpoint: int
    checkpoint_s: float
    n_impossible: int
    first_impossible: int
    n_row: int
    n_interval: int
    n_empty: int
    likelihood: dict[str, Any]

"""Shapes of the sections of a configuration, for type checkers, and the names of parameters."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class BoundDict(TypedDict, total=False):
    """Bounds of one parameter."""

    name: str
    min: float
    max: float
    type: str


class InitialParametersConfig(TypedDict, total=False):
    """Where a fit starts."""

    parameter_names: list[str]
    values: list[float]
    active_parameters: list[str]
    fixed_parameters: dict[str, float]


class ParameterSpaceConfig(TypedDict, total=False):
    """Bounds and priors."""

    bounds: list[BoundDict]
    priors: list[dict[str, Any]]


class ExperimentalDataConfig(TypedDict, total=False):
    """Where the data are."""

    file_path: str
    data_folder_path: str
    data_file_name: str
    phi_angles_file: str


class StreamingConfig(TypedDict, total=False):
    """Checkpoints and retries of long fits."""

    enable_checkpoints: bool
    checkpoint_dir: str
    checkpoint_frequency: int
    resume_from_checkpoint: bool
    keep_last_checkpoints: int
    enable_fault_tolerance: bool
    max_retries_per_batch: int
    min_success_rate: float


class StratificationConfig(TypedDict, total=False):
    """How the original cuts data so that every part has every angle; fits here need none of it."""

    enabled: bool | str
    target_chunk_size: int
    max_imbalance_ratio: float
    force_sequential_fallback: bool
    check_memory_safety: bool
    use_index_based: bool
    collect_diagnostics: bool
    log_diagnostics: bool


class SequentialConfig(TypedDict, total=False):
    """The original's fits of one angle after the other."""

    min_success_rate: float
    weighting: str


class CMCShardingConfig(TypedDict, total=False):
    """How data are cut for sampling."""

    strategy: str
    num_shards: int | str
    max_points_per_shard: int | str


class CMCInitializationConfig(TypedDict, total=False):
    """A section of old files; nothing reads it."""

    method: str


class CMCBackendConfig(TypedDict, total=False):
    """Where shards are sampled."""

    name: str
    enable_checkpoints: bool
    checkpoint_frequency: int
    checkpoint_dir: str
    keep_last_checkpoints: int
    resume_from_checkpoint: bool


class CMCCombinationConfig(TypedDict, total=False):
    """How shards are combined."""

    method: str
    validate_results: bool
    min_success_rate: float


class CMCPerShardMCMCConfig(TypedDict, total=False):
    """The sampler of a shard."""

    num_warmup: int
    num_samples: int
    num_chains: int
    subsample_size: int | str


class NLSQValidationConfig(TypedDict, total=False):
    """Limits between good, acceptable and poor fits."""

    chi2_good_threshold: float
    chi2_acceptable_threshold: float
    min_parameter_significance: float
    max_condition_number: float


class CMCValidationConfig(TypedDict, total=False):
    """What draws have to fulfil."""

    strict_mode: bool
    min_per_shard_ess: float
    max_per_shard_rhat: float
    max_between_shard_kl: float
    min_success_rate: float


class CMCConfig(TypedDict, total=False):
    """Consensus sampling."""

    enable: bool | str
    min_points_for_cmc: int
    sharding: CMCShardingConfig
    initialization: CMCInitializationConfig
    backend: CMCBackendConfig
    combination: CMCCombinationConfig
    per_shard_mcmc: CMCPerShardMCMCConfig
    validation: CMCValidationConfig


class OptimizationConfig(TypedDict, total=False):
    """Fits and sampling."""

    method: Literal["nlsq", "mcmc", "cmc", "auto"]
    lsq: dict[str, Any]
    mcmc: dict[str, Any]
    cmc: CMCConfig
    angle_filtering: dict[str, Any]
    streaming: StreamingConfig
    stratification: StratificationConfig
    sequential: SequentialConfig
    nlsq_validation: NLSQValidationConfig


class HomodyneConfig(TypedDict, total=False):
    """A whole configuration."""

    config_version: str
    analysis_mode: Literal["static", "laminar_flow"]
    experimental_data: ExperimentalDataConfig
    parameter_space: ParameterSpaceConfig
    initial_parameters: InitialParametersConfig
    optimization: OptimizationConfig
    output: dict[str, Any]


AnalysisMode = Literal["static", "laminar_flow"]

STATIC_PARAM_NAMES: list[str] = ["D0", "alpha", "D_offset"]
LAMINAR_FLOW_PARAM_NAMES: list[str] = [
    *STATIC_PARAM_NAMES,
    "gamma_dot_t0",
    "beta",
    "gamma_dot_t_offset",
    "phi0",
]
SCALING_PARAM_NAMES: list[str] = ["contrast", "offset"]

# Other spellings, and the one this package uses.
PARAMETER_NAME_MAPPING: dict[str, str] = {
    "gamma_dot_0": "gamma_dot_t0",
    "gamma_dot_offset": "gamma_dot_t_offset",
    "phi_0": "phi0",
}

"""Keywords of this system's calls, for type checkers; never imported at run time.

The names and types are those of the library's parameter tables: a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, TypedDict

import numpy.typing as npt

from tessera import _core
from tessera._progress import ProgressLike
from tessera.xpcs._arguments import ParamsLike, PathLike

Mode: TypeAlias = Literal["static_isotropic", "static_anisotropic", "laminar_flow", "two_component"]


class ModelKeywordsBesideDt(TypedDict, total=False):
    """Table ``xpcs.model``, for functions that have ``dt`` among their own arguments."""

    mode: Mode
    kernel: Literal["upstream", "upstream_v1", "physical"]
    keep_t0: bool
    compat_eps: bool
    gap: float


class ModelKeywords(ModelKeywordsBesideDt, total=False):
    """Table ``xpcs.model``."""

    dt: float


class FitKeywords(ModelKeywords, total=False):
    """Tables ``xpcs.model`` and ``xpcs.fit``."""

    scaling: Literal["individual", "averaged", "constant", "constant_averaged", "fourier", "auto"]
    loss: Literal["linear", "soft_l1", "huber", "cauchy", "arctan"]
    f_scale: float
    sigma_mode: Literal["constant", "estimate", "per_lag", "dataset"]
    sigma: float
    counting: Literal["half", "full"]
    precision: Literal["f64", "mixed"]
    strategy: Literal["auto", "standard", "large", "chunked", "streaming"]
    uncertainty: Literal["covariance", "block_bootstrap", "profile", "auto"]
    noise: Literal["independent", "frames"]
    absolute_sigma: bool
    compat_xtol: bool
    shear_weights: bool
    shear_min_weight: float
    shear_exponent: float
    shear_normalize: bool
    fast: bool
    ftol: float
    xtol: float
    gtol: float
    max_nfev: int
    fourier_order: int
    constant_scaling_threshold: int
    n_start: int
    screen_keep: float
    refine_top: int
    degeneracy_threshold: float
    n_bootstrap: int
    block_frames: int
    seed: int
    chunk_tiles: int
    chi2_threshold: float
    checkpoint_iterations: int
    min_success_rate: float
    max_retries: int
    bad_chunk: Literal["error", "mask"]


class SampleKeywords(ModelKeywords, total=False):
    """Tables ``xpcs.model`` and ``xpcs.sample``."""

    priors: Literal["wide", "upstream"]
    n_chain: int
    n_warmup: int
    n_draw: int
    seed: int
    max_depth: int
    target_accept: float
    noise_scale: float
    method: Literal["nuts", "laplace", "consensus"]
    coords: Literal["logit", "upstream"]
    surrogate: Literal["auto", "off", "on"]
    modes: bool
    fit_priors: bool
    prior_width: float
    temper: float
    shard: int
    n_shard: int
    shard_strategy: Literal["random", "stratified", "contiguous"]
    shard_seed: int
    max_attempt: int
    scaling: Literal["fit", "individual", "averaged", "constant", "constant_averaged", "auto"]
    combination: Literal["consensus_mc", "robust_consensus_mc"]
    shard_points: int
    max_rhat: float
    min_ess: float
    max_divergence: float
    min_success: float
    max_cv: float


class FitCallKeywordsBesideBounds(FitKeywords, total=False):
    """What :func:`tessera.xpcs.fit` takes, but for what the original's object has itself."""

    fixed: Mapping[str, float] | Iterable[str] | None
    active: Iterable[str] | None
    x_scale: ParamsLike | None
    contrast: float | npt.ArrayLike | None
    offset: float | npt.ArrayLike | None
    checkpoint: PathLike | None
    checkpoint_every: float | None
    keep_checkpoints: int | None
    resume: bool | None
    threads: int | None
    memory_limit: int | str | None
    device: str | None
    progress: ProgressLike
    context: _core.Context | None


class FitCallKeywords(FitCallKeywordsBesideBounds, total=False):
    """What :func:`tessera.xpcs.fit` takes, but for ``start``, which the original has itself."""

    bounds: Mapping[str, tuple[float, float]] | tuple[ParamsLike, ParamsLike] | None


class DataKeywords(TypedDict, total=False):
    """Table ``xpcs.data``, for functions that have ``q`` among their own arguments."""

    start_frame: int
    end_frame: int
    q_max_deviation: float
    q_tolerance: float
    min_angles: int
    exclude_lags: int
    fallback_all: bool
    lenient: bool


class LoadKeywords(DataKeywords, total=False):
    """Table ``xpcs.data``."""

    q: float


class SimulateKeywords(ModelKeywords, total=False):
    """Tables ``xpcs.simulate`` and ``xpcs.model``; some have one value for every angle."""

    dtype: Literal["f32", "f64"]
    n_angle: int
    n_frame: int
    q: float | npt.ArrayLike
    sigma: float
    contrast: float | npt.ArrayLike
    offset: float | npt.ArrayLike
    contrast_scatter: float
    offset_scatter: float
    spike: float
    nan_fraction: float
    seed: int
    speckle: bool
    photons: float
    n_pixel: int

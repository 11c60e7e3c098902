"""What the dicts hold that calls return, for type checkers; never imported at run time."""

from __future__ import annotations

from typing import TypedDict

from tessera.xpcs._arguments import Floats


class Parameter(TypedDict):
    """A physical parameter of the model."""

    name: str
    aliases: str
    unit: str
    lower: float
    upper: float
    start: float
    prior_mean: float
    prior_sd: float


class Bounds(TypedDict):
    """Bounds of a parameter, in the original's words."""

    name: str
    min: float
    max: float


class Plan(TypedDict):
    """What a fit would need."""

    strategy: str
    memory_bytes: int
    limit_bytes: int
    original_bytes: int
    n_tile: int
    tiles_per_chunk: int
    pass_s: float
    reason: str


class Diagnostics(TypedDict):
    """How well chains mixed."""

    max_r_hat: float
    min_ess_bulk: float
    min_ess_tail: float
    n_divergent: int
    divergence_rate: float
    bfmi: list[float]
    mean_accept: float
    depth_limit_rate: float
    step: list[float]
    contraction: dict[str, float]
    fit_distance: dict[str, float]
    outside: float
    n_evaluation: int
    seconds: float
    warnings: list[str]
    converged: bool


class Bin(TypedDict):
    """One q bin of a file."""

    number: int
    n_frame: int
    q: float
    phi: float
    dataset: str
    is_valid: bool


class FileFacts(TypedDict):
    """What a file holds."""

    layout: str
    dtype: str
    dt: float
    frame_time: float
    stride: int
    averaging: int
    filter: str
    notes: list[str]
    bins: list[Bin]


class Sums(TypedDict):
    """The sums of one pass; those of higher levels are absent below them."""

    cost: float
    gradient: Floats
    hessian: Floats
    contrast: Floats
    offset: Floats
    s1: Floats
    sf: Floats
    sff: Floats
    sy: Floats
    syy: Floats
    sfy: Floats
    p: Floats
    q: Floats
    r: Floats


class Basin(TypedDict):
    """A minimum that was found."""

    n_start: int
    cost: float
    chi2: float
    theta: Floats
    excess: float


class LoaderDict(TypedDict):
    """What the original's loader returns."""

    wavevector_q_list: Floats
    phi_angles_list: Floats
    t1: Floats
    t2: Floats
    c2_exp: Floats

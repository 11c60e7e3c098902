"""Keywords of this system's calls, for type checkers; never imported at run time.

The names and types are those of the library's parameter tables: a test compares them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Kind: TypeAlias = Literal["gate", "norm", "sgp", "fcgp", "linear", "layer", "fc_layer"]


class OpKeywords(TypedDict, total=False):
    """Table ``clifford.op``."""

    activation: Literal["none", "gelu", "gelu_tanh", "relu", "sigmoid", "tanh", "silu"]
    normalize: bool
    norm_metric: Literal["auto", "euclid", "abs", "clamp", "abs_clamp"]
    eps: float
    bias_mode: Literal["scalar", "all"]
    precision: Literal["highest", "high"]


class CheckKeywords(TypedDict, total=False):
    """Table ``clifford.check``."""

    rows: int
    features: int
    seed: int


class ProductKeywords(TypedDict, total=False):
    """What :func:`tessera.clifford.sgp` takes beside arrays, metric and axis."""

    activation: Literal["none", "gelu", "gelu_tanh", "relu", "sigmoid", "tanh", "silu"]
    normalize: bool
    norm_metric: Literal["auto", "euclid", "abs", "clamp", "abs_clamp"]
    eps: float
    path_mask: int | None
    check_finite: bool


class MixingProductKeywords(ProductKeywords, total=False):
    """What :func:`tessera.clifford.fcgp` takes beside arrays, metric and axis."""

    precision: Literal["highest", "high"]


class Finding(TypedDict):
    """One entry of what :func:`tessera.clifford.check` returns."""

    name: str
    dtype: str
    error: float
    allowed: float
    is_control: bool
    passed: bool

"""Keywords of the modules, for type checkers; never imported at run time."""

from __future__ import annotations

from typing import Literal, TypedDict

from tessera.clifford._types import (
    Activation,
    BiasMode,
    Device,
    DType,
    NormMetric,
    Precision,
)


class ModuleKeywords(TypedDict, total=False):
    """What every module takes."""

    axis: int
    check_finite: bool
    device: Device
    dtype: DType


class LinearModuleKeywords(ModuleKeywords, total=False):
    """What :class:`tessera.clifford.MVLinear` takes beside its sizes."""

    bias_mode: BiasMode | None
    precision: Precision | None


class GatedModuleKeywords(ModuleKeywords, total=False):
    """What modules with a gate and a norm take."""

    activation: Activation | None
    norm_metric: NormMetric | None
    eps: float | None


class SgpModuleKeywords(GatedModuleKeywords, total=False):
    """What :class:`tessera.clifford.SGP` takes beside its sizes."""

    normalize: bool | None
    path_mask: int | None


class FcgpModuleKeywords(SgpModuleKeywords, total=False):
    """What :class:`tessera.clifford.FCGP` takes beside its sizes."""

    precision: Precision | None


class LayerKeywords(GatedModuleKeywords, total=False):
    """What :class:`tessera.clifford.Layer` takes beside its sizes and its bias."""

    init: Literal["flash", "cgenn"]
    precision: Precision | None

"""Layers of neural networks over Clifford algebras, for any signature of up to five symbols.

Activations are (component, row, feature). Functions take arrays of NumPy, of any library with
DLPack, and tensors of torch, which they differentiate twice:

>>> import numpy as np
>>> import tessera.clifford
>>> algebra = tessera.clifford.Algebra("+++")
>>> x = np.ones((8, 2, 3), np.float32)
>>> tessera.clifford.sgp(x, x, np.ones((3, algebra.n_path), np.float32), "+++").shape
(8, 2, 3)

With torch there are modules: ``Layer`` (that of flash-clifford, its bias on the scalar),
``MVLinear``, ``MVRMSNorm``, ``MVGELU``, ``SGP`` and ``FCGP``, CGENN's gates, norms and layer, and
whole networks in ``tessera.clifford.gatr`` and ``tessera.clifford.lgatr``. A script written for
flash-clifford runs with its import lines changed: ``tessera.clifford.ops`` and
``tessera.clifford.modules.layer`` have its names and give its answers. torch is imported when a
module is first used, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.clifford._algebra import Algebra
from tessera.clifford._check import check
from tessera.clifford._compat import (
    P2M0_NUM_GRADES,
    P2M0_NUM_PRODUCT_WEIGHTS,
    P3M0_NUM_GRADES,
    P3M0_NUM_PRODUCT_WEIGHTS,
    fused_gelu_fcgp_norm_2d,
    fused_gelu_fcgp_norm_3d,
    fused_gelu_sgp_norm_2d,
    fused_gelu_sgp_norm_3d,
    gp_4d,
    gp_pga,
)
from tessera.clifford._functional import fcgp, layer, linear, mv_gelu, rms_norm, sgp
from tessera.clifford._graph import Graph, graph_product, graph_sum
from tessera.clifford._op import Op

if TYPE_CHECKING:
    from tessera.clifford._cgenn import MVLayerNorm as MVLayerNorm
    from tessera.clifford._cgenn import MVNormGate as MVNormGate
    from tessera.clifford._cgenn import MVSiLU as MVSiLU
    from tessera.clifford._cgenn import SteerableLayer as SteerableLayer
    from tessera.clifford._graph_layer import GraphLayer as GraphLayer
    from tessera.clifford._layer import Layer as Layer
    from tessera.clifford._modules import FCGP as FCGP
    from tessera.clifford._modules import MVGELU as MVGELU
    from tessera.clifford._modules import SGP as SGP
    from tessera.clifford._modules import MVLinear as MVLinear
    from tessera.clifford._modules import MVRMSNorm as MVRMSNorm
    from tessera.clifford.gatr import GATr as GATr
    from tessera.clifford.lgatr import LGATr as LGATr

_MODULES = {
    "FCGP": "_modules",
    "GATr": "gatr",
    "GraphLayer": "_graph_layer",
    "LGATr": "lgatr",
    "Layer": "_layer",
    "MVGELU": "_modules",
    "MVLayerNorm": "_cgenn",
    "MVLinear": "_modules",
    "MVNormGate": "_cgenn",
    "MVRMSNorm": "_modules",
    "MVSiLU": "_cgenn",
    "SGP": "_modules",
    "SteerableLayer": "_cgenn",
}

__all__ = [
    "FCGP",
    "MVGELU",
    "P2M0_NUM_GRADES",
    "P2M0_NUM_PRODUCT_WEIGHTS",
    "P3M0_NUM_GRADES",
    "P3M0_NUM_PRODUCT_WEIGHTS",
    "SGP",
    "Algebra",
    "GATr",
    "Graph",
    "GraphLayer",
    "LGATr",
    "Layer",
    "MVLayerNorm",
    "MVLinear",
    "MVNormGate",
    "MVRMSNorm",
    "MVSiLU",
    "Op",
    "SteerableLayer",
    "check",
    "fcgp",
    "fused_gelu_fcgp_norm_2d",
    "fused_gelu_fcgp_norm_3d",
    "fused_gelu_sgp_norm_2d",
    "fused_gelu_sgp_norm_3d",
    "gp_4d",
    "gp_pga",
    "graph_product",
    "graph_sum",
    "layer",
    "linear",
    "mv_gelu",
    "rms_norm",
    "sgp",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"tessera.clifford.{name} is a module of torch, which is not installed; "
            "pip install torch, or use the functions, which take NumPy arrays",
            name="torch",
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Product of Cl(3,0,1), under the names it has in flash-clifford."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.clifford._compat import gp_4d, gp_pga

if TYPE_CHECKING:
    from tessera.clifford._autograd_names import GeometricProduct

__all__ = ["GeometricProduct", "gp_4d", "gp_pga"]


def __getattr__(name: str) -> Any:
    if name != "GeometricProduct":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tessera.clifford import _autograd_names  # imports torch, which the functions do without

    return _autograd_names.GeometricProduct

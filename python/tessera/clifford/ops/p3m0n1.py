"""Product of Cl(3,0,1), under the names it has in flash-clifford."""

from __future__ import annotations

from tessera.clifford._compat import gp_4d, gp_pga

__all__ = ["gp_4d", "gp_pga"]

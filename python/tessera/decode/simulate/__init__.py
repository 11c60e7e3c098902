"""Simulated data: the original's simulators, and recordings of any size.

The module can be called: ``simulate("small", seed=1)`` is
:func:`tessera.decode.simulate_recording`.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from tessera.decode.recordings import Recording, simulate_recording

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.decode._keywords import SimulateKeywords, Size

__all__ = ["simulate_recording"]


class _Module(types.ModuleType):
    """A module that is also a function."""

    def __call__(
        self,
        size: Size | None = None,
        seed: int | None = None,
        **options: Unpack[SimulateKeywords],
    ) -> Recording:
        return simulate_recording(size, seed, **options)


sys.modules[__name__].__class__ = _Module

"""Simulated data: the original's simulators, and recordings of any size.

The module can be called: ``simulate("small", seed=1)`` is
:func:`tessera.decode.simulate_recording`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from tessera.decode.recordings import Recording, simulate_recording

__all__ = ["simulate_recording"]


class _Module(types.ModuleType):
    """A module that is also a function."""

    def __call__(
        self, size: str | None = None, seed: int | None = None, **options: Any
    ) -> Recording:
        return simulate_recording(size, seed, **options)


sys.modules[__name__].__class__ = _Module

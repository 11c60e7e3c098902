"""Backends by name, and how draws of shards are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera.xpcs.optimization.cmc.backends._common import (
    CMCBackend,
    combine_shard_samples,
    combine_shard_samples_bimodal,
)
from tessera.xpcs.optimization.cmc.backends.multiprocessing import MultiprocessingBackend
from tessera.xpcs.optimization.cmc.backends.pbs import PBSBackend
from tessera.xpcs.optimization.cmc.backends.pjit import PjitBackend

if TYPE_CHECKING:
    from tessera.xpcs.optimization.cmc.config import CMCConfig

__all__ = [
    "CMCBackend",
    "combine_shard_samples",
    "combine_shard_samples_bimodal",
    "select_backend",
]


def select_backend(config: CMCConfig) -> CMCBackend:
    """Return the backend that a configuration names.

    Parameters
    ----------
    config : CMCConfig
        ``backend_name`` counts.

    Returns
    -------
    CMCBackend
        The backend.
    """
    name = config.backend_name
    if name in ("auto", "jax", "multiprocessing"):
        return MultiprocessingBackend()
    if name == "pjit":
        return PjitBackend()
    if name == "pbs":
        return PBSBackend()
    raise ValueError(f"Unknown backend: {name}")

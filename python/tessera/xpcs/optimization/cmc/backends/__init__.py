"""Where shards run, by the original's names."""

from tessera.xpcs.optimization.cmc.backends.base import CMCBackend, select_backend
from tessera.xpcs.optimization.cmc.backends.multiprocessing import MultiprocessingBackend
from tessera.xpcs.optimization.cmc.backends.pbs import PBSBackend
from tessera.xpcs.optimization.cmc.backends.pjit import PjitBackend

__all__ = [
    "CMCBackend",
    "MultiprocessingBackend",
    "PBSBackend",
    "PjitBackend",
    "select_backend",
]

"""Tessera over many processes.

``tessera.distributed.use`` divides the work of a call over the ranks of an MPI communicator.
``tessera.distributed.dask`` makes Dask tasks of many recordings, subjects or wave vectors. Networks
of ``tessera.clifford`` train under ``torch.distributed`` as any others do, without help from here.
"""

from __future__ import annotations

from tessera.distributed._ranks import use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from tessera.distributed import dask as dask

__all__ = ["dask", "use"]


def __getattr__(name: str) -> ModuleType:
    # Dask is needed by those alone who use it.
    if name == "dask":
        import importlib

        return importlib.import_module(f"tessera.distributed.{name}")
    raise AttributeError(f"module 'tessera.distributed' has no attribute {name!r}")

"""Calls that the ranks of an MPI communicator make together."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from tessera import ArgumentError, _session
from tessera._core import Context

if TYPE_CHECKING:
    from typing import Self

__all__ = ["use"]


def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        # It is not there, or finds no MPI library.
        raise ImportError(
            f"tessera.distributed.use needs mpi4py and an MPI library ({error}): pip install mpi4py"
        ) from error
    return MPI


class use:  # noqa: N801 (read as a function)
    """Let calls that divide their work do so over the ranks of a communicator.

    They are :func:`tessera.xpcs.fit` and :func:`tessera.xpcs.sample`, prediction and events of
    :mod:`tessera.decode`, and :func:`tessera.autoreject.study`. All ranks make these calls, with
    the same arguments and in the same order; all get the same result, which has the bits of one
    process. An error of one rank is raised by all. Files that such a call writes itself (results of
    predictions, checkpoints, derivatives of a study) are written once. All other calls work in
    their own process as ever, so that ``if comm.rank == 0`` belongs before saving what was
    returned.

    It holds until the end of the ``with`` block, or until :meth:`end`.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        By default ``MPI.COMM_WORLD``; ranks that are not in ``comm`` do not call this.

    Attributes
    ----------
    rank : int
        Of this process.
    size : int
        How many ranks there are.
    library : str
        The MPI that connects them.
    """

    def __init__(self, comm: Any = None) -> None:
        mpi = _mpi()
        if comm is None:
            comm = mpi.COMM_WORLD
        if not isinstance(comm, mpi.Comm):
            raise ArgumentError(f"comm: expected a communicator of mpi4py, got {comm!r}")
        if comm == mpi.COMM_NULL:
            raise ArgumentError(
                "comm: MPI.COMM_NULL, as ranks have it that are in no communicator: leave out "
                "this call there"
            )
        if comm.Is_inter():
            raise ArgumentError("comm: this connects two groups; Merge() makes one of them")
        self._comm = comm  # lives as long as its handle is used
        self._before = _session._Defaults.comm
        name = f"mpi:{comm.py2f()}"
        with Context(comm=name, log_level=0) as context:
            info = context.info
            context.leave(None)
        if (info["rank"], info["n_rank"]) != (comm.rank, comm.size):
            raise ArgumentError(
                f"comm: mpi4py has rank {comm.rank} of {comm.size}, {info['comm']} of "
                f"tessera-comm-mpi {info['rank']} of {info['n_rank']}: they are different MPI "
                "libraries; build both with one mpicc"
            )
        self.rank = int(info["rank"])
        self.size = int(info["n_rank"])
        self.library = str(info["comm"])
        _session._Defaults.comm = name

    def end(self) -> None:
        """Go back to what held before."""
        _session._Defaults.comm = self._before

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Go back to what held before."""
        self.end()

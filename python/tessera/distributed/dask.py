"""Many recordings, subjects or wave vectors as tasks of Dask.

Each function returns what ``dask.delayed`` does: nothing is computed before ``dask.compute``, on
whichever cluster Dask's client is connected to. Results are those of the same calls in a loop, bit
by bit: a Tessera call gives the same bits for any number of threads.

Files are read where a task runs: paths have to mean the same there, as on a shared file system.
"""

from __future__ import annotations

import math
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera import ArgumentError, set_num_threads

try:
    from dask import delayed
except ImportError as error:
    raise ImportError(
        "tessera.distributed.dask needs Dask: pip install 'dask[distributed]'"
    ) from error

if TYPE_CHECKING:
    from dask.delayed import Delayed

__all__ = ["TaskError", "per_q", "per_recording", "per_subject"]


class TaskError(RuntimeError):
    """A task failed; the message begins with the recording, subject or wave vector it was about.

    Parameters
    ----------
    task : str
        Which one it was.
    kind : str
        The class of the error.
    message : str
        What the error said.

    Examples
    --------
    >>> print(TaskError("day3.nwb", "FormatError", "no spikes"))
    day3.nwb: FormatError: no spikes
    """

    def __init__(self, task: str, kind: str, message: str) -> None:
        super().__init__(task, kind, message)  # as it is pickled
        self.task = task
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.task}: {self.kind}: {self.message}"


def _call(function: Callable[..., Any], name: str, threads: int, /, *args: Any, **kw: Any) -> Any:
    """Run one task where Dask puts it."""
    set_num_threads(threads)
    try:
        return function(*args, **kw)
    except Exception as error:
        raise TaskError(name, type(error).__name__, str(error)) from error


def _key(name: str) -> str:
    """Name a task as Dask does where its worker dies, and no error of ours can say whose it was."""
    return f"{name}-{uuid.uuid4().hex}"


def _threads(threads: int) -> int:
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ArgumentError(f"threads: a number from 1 on is needed, got {threads!r}")
    return threads


def _named(items: Iterable[Any], argument: str) -> dict[str, Any]:
    if isinstance(items, str | os.PathLike):
        raise ArgumentError(f"{argument}: a list is needed, got {items!r}; write [{items!r}]")
    found: dict[str, Any] = {}
    for item in items:
        name = os.fspath(item) if isinstance(item, os.PathLike) else str(item)
        if name in found:
            raise ArgumentError(f"{argument}: {name} is there twice")
        found[name] = item
    if not found:
        raise ArgumentError(f"{argument}: the list is empty, and there is nothing to do")
    return found


def per_recording(
    function: Callable[..., Any],
    recordings: Iterable[str | os.PathLike[str]],
    *,
    threads: int = 1,
    **keywords: Any,
) -> dict[str, Delayed]:
    """Make a task of each recording: ``function(recording, **keywords)``.

    Parameters
    ----------
    function : callable
        What takes a path, such as ``tessera.xpcs.fit`` or one of yours.
    recordings : list of paths
        Each once.
    threads : int
        Of Tessera in a task; workers times threads should be the cores.
    **keywords
        Handed on to the function.

    Returns
    -------
    dict of str to Delayed
        By path; ``dask.compute(tasks)[0]`` makes them results.

    Raises
    ------
    ArgumentError
        What is given makes no tasks.
    TaskError
        When computed: a task failed; it says which.

    Examples
    --------
    >>> import dask
    >>> tasks = per_recording(len, ["a.npz", "bc.npz"])
    >>> dask.compute(tasks)[0]
    {'a.npz': 5, 'bc.npz': 6}
    """
    if not callable(function):
        raise ArgumentError(f"function: {function!r} cannot be called")
    task = delayed(_call, pure=False)
    count = _threads(threads)
    return {
        name: task(function, name, count, item, dask_key_name=_key(name), **keywords)
        for name, item in _named(recordings, "recordings").items()
    }


def per_subject(
    bids_dir: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    threads: int = 1,
    **keywords: Any,
) -> Delayed:
    """Make a task of each subject of a study, and one that reports on the group.

    Parameters
    ----------
    bids_dir, output : path
        As of :func:`tessera.autoreject.study`.
    threads : int
        Of Tessera in a task.
    **keywords
        Of :func:`tessera.autoreject.study`. Which subjects there are is looked up at once.

    Returns
    -------
    Delayed
        The :class:`~tessera.autoreject.Study` of all; one that is done already is not done again.

    Raises
    ------
    ArgumentError
        There is no recording to do.
    TaskError
        When computed: the study of a subject failed; recordings that cannot be used are in the
        result, with the reason.

    Examples
    --------
    >>> study = per_subject("bids", "derivatives", montage="1005", window=2)  # doctest: +SKIP
    >>> study.compute()  # doctest: +SKIP
    """
    from tessera.autoreject import study

    count = _threads(threads)
    if keywords.pop("dry_run", False):
        raise ArgumentError("dry_run: call tessera.autoreject.study for it")
    keywords.pop("resume", None)  # a task may be run again, and goes on
    whole = keywords | {"overwrite": False}
    planned = study(bids_dir, output, dry_run=True, resume=True, **whole)
    subjects = sorted({recording.subject for recording in planned.recordings})
    if not subjects:
        raise ArgumentError(f"bids_dir: {os.fspath(bids_dir)} has no recording to do")
    own = {key: value for key, value in keywords.items() if key != "subjects"}
    # A folder of a study takes one run at a time: each task has its own.
    folder = Path(output)
    parts = folder.with_name(f".{folder.name}.parts")
    task = delayed(_call, pure=False)
    made = [
        task(
            study,
            f"subject {name}",
            count,
            bids_dir,
            parts / name,
            subjects=name,
            resume=True,
            dask_key_name=_key(f"subject {name}"),
            **own,
        )
        for name in subjects
    ]
    return delayed(_join, pure=False)(made, count, bids_dir, folder, parts, whole)


def _join(
    made: list[Any], threads: int, bids_dir: Any, output: Path, parts: Path, whole: dict[str, Any]
) -> Any:
    """Put the parts together when all subjects are done, and report on the group."""
    from tessera.autoreject import study

    for part in made:
        shutil.copytree(part.output, output, dirs_exist_ok=True)
    found = _call(study, "the group", threads, bids_dir, output, resume=True, **whole)
    shutil.rmtree(parts)
    return found


def per_q(
    source: str | os.PathLike[str],
    q: Iterable[float],
    *,
    load: Mapping[str, Any] | None = None,
    threads: int = 1,
    **keywords: Any,
) -> dict[float, Delayed]:
    """Make a task of each wave vector of a file: load it, and fit it.

    Parameters
    ----------
    source : path
        A file that :func:`tessera.xpcs.load` reads.
    q : list of float
        In 1/Å, each once.
    load : dict, optional
        Keywords of :func:`tessera.xpcs.load`, such as ``gap``.
    threads : int
        Of Tessera in a task.
    **keywords
        Of :func:`tessera.xpcs.fit`.

    Returns
    -------
    dict of float to Delayed
        By q; each is a :class:`tessera.xpcs.Result`.

    Raises
    ------
    ArgumentError
        What is given makes no tasks.
    TaskError
        When computed: a task failed; it says which.

    Examples
    --------
    >>> tasks = per_q("run42.hdf", [0.01, 0.02], load={"gap": 2e6})
    >>> sorted(tasks)
    [0.01, 0.02]
    """
    task = delayed(_call, pure=False)
    count = _threads(threads)
    given = dict(load or {})
    made = {}
    for name, value in _named(q, "q").items():
        if isinstance(value, str) or not math.isfinite(value) or value <= 0:
            raise ArgumentError(f"q: positive numbers in 1/Å are needed, got {name}")
        where = f"{os.fspath(source)}, q {name}"
        made[float(value)] = task(
            _fit_q, where, count, source, float(value), given, keywords, dask_key_name=_key(where)
        )
    return made


def _fit_q(source: Any, q: float, load: dict[str, Any], keywords: dict[str, Any]) -> Any:
    from tessera import xpcs

    return xpcs.fit(xpcs.load(source, q=q, **load), **keywords)

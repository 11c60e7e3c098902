"""Rejection and repair of bad EEG/MEG epochs.

This version computes the statistic everything else builds on, the peak-to-peak amplitude of every
channel of every epoch, from arrays and from files of any size, and simulates epochs to try it on.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from tessera import _core
from tessera._progress import ProgressLike, callback
from tessera._session import Lease
from tessera._tables import FROM_TABLE, from_table
from tessera.autoreject._device import cuda_index

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.floating[Any]]

__all__ = ["ptp", "ptp_file", "simulate"]

_Out = TypeVar("_Out")
_PathLike = str | os.PathLike[str]


def _as_ndarray(array: _core.Array) -> FloatArray:
    """View the result's memory; nothing is copied."""
    import numpy as np

    return np.asarray(array)


def _empty_beside(x: Any) -> Any:
    """Make room for the result with the library that owns x, on x's device."""
    shape = tuple(x.shape[:2])
    if hasattr(x, "new_empty"):  # torch
        return x.new_empty(shape)
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().empty(shape, dtype=x.dtype, device=x.device)
    import importlib

    library = importlib.import_module(type(x).__module__.partition(".")[0])  # cupy
    with x.device:
        return library.empty(shape, dtype=x.dtype)


@overload
def ptp(
    x: _core.ArrayLike,
    *,
    out: None = None,
    nonfinite: Literal["propagate", "error"] = ...,
    tile_epochs: int = ...,
    threads: int | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
) -> FloatArray: ...
@overload
def ptp(
    x: _core.ArrayLike,
    *,
    out: _Out,
    nonfinite: Literal["propagate", "error"] = ...,
    tile_epochs: int = ...,
    threads: int | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
) -> _Out: ...
@from_table("autoreject.ptp")
def ptp(
    x: _core.ArrayLike,
    *,
    out: Any = None,
    nonfinite: Literal["propagate", "error"] = FROM_TABLE,
    tile_epochs: int = FROM_TABLE,
    threads: int | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
) -> Any:
    """Peak-to-peak amplitude of every channel of every epoch.

    Parameters
    ----------
    x : array of float32 or float64, shape (n_epoch, n_chan, n_time)
        Anything with the buffer protocol or DLPack. The last axis must be contiguous; the others
        may have any strides. Nothing is copied.
    out : array, shape (n_epoch, n_chan), optional
        Where to write the result: type and device of x, C-contiguous.
    {options}
    threads : int, optional
        Default: see :func:`tessera.set_num_threads`. The result does not depend on it.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'. Default: where x is.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    context : tessera.Context, optional
        Used instead of threads and device.

    Returns
    -------
    array, shape (n_epoch, n_chan)
        out, or a new array: NumPy's, or for CUDA data that of x's library.

    Raises
    ------
    tessera.ShapeError, tessera.DTypeError, tessera.NumericError
        Also ValueError, TypeError and ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.autoreject
    >>> x = np.array([[[1.0, 4.0, 2.0], [0.0, -1.0, 5.0]]])
    >>> tessera.autoreject.ptp(x)
    array([[3., 6.]])
    """
    cuda = cuda_index(x)
    if cuda is not None:
        if out is None:
            out = _empty_beside(x)
        if device is None and context is None:
            device = f"cuda:{cuda}"
    options = {"nonfinite": nonfinite, "tile_epochs": tile_epochs}
    with Lease(context, threads=threads, device=device) as ctx:
        result = _core.autoreject_ptp(ctx, x, out, options, callback(progress))
    return _as_ndarray(result) if out is None else out


@overload
def ptp_file(
    path: _PathLike,
    output: None = ...,
    *,
    dataset: str | None = ...,
    nonfinite: Literal["propagate", "error"] = ...,
    tile_epochs: int = ...,
    allow_truncated: bool = ...,
    output_dataset: str | None = ...,
    overwrite: bool = ...,
    memory_limit: int | str | None = ...,
    threads: int | None = ...,
    device: str | None = ...,
    checkpoint: _PathLike | None = ...,
    checkpoint_every: float | None = ...,
    resume: bool = ...,
    report: _PathLike | None = ...,
    progress: ProgressLike = ...,
    context: _core.Context | None = ...,
) -> FloatArray: ...


@overload
def ptp_file(
    path: _PathLike,
    output: _PathLike,
    *,
    dataset: str | None = ...,
    nonfinite: Literal["propagate", "error"] = ...,
    tile_epochs: int = ...,
    allow_truncated: bool = ...,
    output_dataset: str | None = ...,
    overwrite: bool = ...,
    memory_limit: int | str | None = ...,
    threads: int | None = ...,
    device: str | None = ...,
    checkpoint: _PathLike | None = ...,
    checkpoint_every: float | None = ...,
    resume: bool = ...,
    report: _PathLike | None = ...,
    progress: ProgressLike = ...,
    context: _core.Context | None = ...,
) -> Path: ...


@overload
def ptp_file(
    path: _PathLike,
    output: _PathLike | None,
    *,
    dataset: str | None = ...,
    nonfinite: Literal["propagate", "error"] = ...,
    tile_epochs: int = ...,
    allow_truncated: bool = ...,
    output_dataset: str | None = ...,
    overwrite: bool = ...,
    memory_limit: int | str | None = ...,
    threads: int | None = ...,
    device: str | None = ...,
    checkpoint: _PathLike | None = ...,
    checkpoint_every: float | None = ...,
    resume: bool = ...,
    report: _PathLike | None = ...,
    progress: ProgressLike = ...,
    context: _core.Context | None = ...,
) -> FloatArray | Path: ...


@from_table("autoreject.ptp")
def ptp_file(
    path: _PathLike,
    output: _PathLike | None = None,
    *,
    dataset: str | None = None,
    nonfinite: Literal["propagate", "error"] = FROM_TABLE,
    tile_epochs: int = FROM_TABLE,
    allow_truncated: bool = False,
    output_dataset: str | None = None,
    overwrite: bool = False,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    device: str | None = None,
    checkpoint: _PathLike | None = None,
    checkpoint_every: float | None = None,
    resume: bool = False,
    report: _PathLike | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
) -> FloatArray | Path:
    """Peak-to-peak amplitudes of a file of any size, tile by tile within a memory limit.

    Parameters
    ----------
    path : path
        .npy, .npz or HDF5 file with an array (n_epoch, n_chan, n_time) of float32 or float64.
    output : path, optional
        .npy, .npz or .h5 file for the result; without it the result is returned.
    dataset : str, optional
        Name inside the file; needed where there are several.
    {options}
    allow_truncated : bool, default False
        Use the whole epochs of a file that ends too early instead of refusing it.
    output_dataset : str, optional
        Name of the result inside .npz and HDF5 files.
    overwrite : bool, default False
        Replace output and report if they exist.
    memory_limit : int or str, optional
        Bytes, or text such as '256M'. Default: TESSERA_MEMORY_LIMIT, else 80 % of memory.
    threads : int, optional
        Default: see :func:`tessera.set_num_threads`. The result does not depend on it.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'.
    checkpoint : path, optional
        Directory for checkpoints, from which a stopped run can be resumed.
    checkpoint_every : float, optional
        Seconds between checkpoints; 0 writes one after every tile.
    resume : bool, default False
        Continue from the checkpoint, if there is one. The result has the same bits.
    report : path, optional
        HTML report to write.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    context : tessera.Context, optional
        Used instead of threads, device and memory_limit.

    Returns
    -------
    ndarray of shape (n_epoch, n_chan) or Path
        The result, or the path of output if one was given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tessera.autoreject as ta
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ta.simulate(pathlib.Path(folder) / "x.npy", epochs=20, channels=6, samples=50)
    ...     ta.ptp_file(path).shape
    (20, 6)
    """
    options = {"nonfinite": nonfinite, "tile_epochs": tile_epochs}
    with Lease(context, threads=threads, memory_limit=memory_limit, device=device) as ctx:
        try:
            result, run = _core.autoreject_ptp_file(
                ctx,
                path,
                output,
                options=options,
                dataset=dataset,
                allow_truncated=allow_truncated,
                output_dataset=output_dataset,
                overwrite=overwrite,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resume=resume,
                progress=callback(progress),
            )
        except BaseException as error:
            if checkpoint is not None and isinstance(error, KeyboardInterrupt | _core.Cancelled):
                error.add_note(
                    f"To continue: call again with checkpoint={checkpoint!r}, resume=True"
                )
            raise
        if report is not None:
            if result is None:
                assert output is not None
                result = _core.read_file(ctx, output, output_dataset)
            _core.autoreject_ptp_report(
                ctx, result, report, provenance=run["provenance"], overwrite=overwrite
            )
    if output is not None:
        return Path(output)
    assert result is not None
    return _as_ndarray(result)


@overload
def simulate(
    output: None = ...,
    *,
    epochs: int = ...,
    channels: int = ...,
    samples: int = ...,
    sampling: float = ...,
    bad_fraction: float = ...,
    seed: int = ...,
    dtype: Literal["f32", "f64"] = ...,
    overwrite: bool = ...,
    memory_limit: int | str | None = ...,
    threads: int | None = ...,
    progress: ProgressLike = ...,
    context: _core.Context | None = ...,
) -> FloatArray: ...


@overload
def simulate(
    output: _PathLike,
    *,
    epochs: int = ...,
    channels: int = ...,
    samples: int = ...,
    sampling: float = ...,
    bad_fraction: float = ...,
    seed: int = ...,
    dtype: Literal["f32", "f64"] = ...,
    overwrite: bool = ...,
    memory_limit: int | str | None = ...,
    threads: int | None = ...,
    progress: ProgressLike = ...,
    context: _core.Context | None = ...,
) -> Path: ...


@overload
def simulate(
    output: _PathLike | None,
    *,
    epochs: int = ...,
    channels: int = ...,
    samples: int = ...,
    sampling: float = ...,
    bad_fraction: float = ...,
    seed: int = ...,
    dtype: Literal["f32", "f64"] = ...,
    overwrite: bool = ...,
    memory_limit: int | str | None = ...,
    threads: int | None = ...,
    progress: ProgressLike = ...,
    context: _core.Context | None = ...,
) -> FloatArray | Path: ...


@from_table("autoreject.simulate")
def simulate(
    output: _PathLike | None = None,
    *,
    epochs: int = FROM_TABLE,
    channels: int = FROM_TABLE,
    samples: int = FROM_TABLE,
    sampling: float = FROM_TABLE,
    bad_fraction: float = FROM_TABLE,
    seed: int = FROM_TABLE,
    dtype: Literal["f32", "f64"] = FROM_TABLE,
    overwrite: bool = False,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
) -> FloatArray | Path:
    """Simulate EEG-like epochs in volts, with artifacts in some of them.

    Parameters
    ----------
    output : path, optional
        .npy, .npz or .h5 file to write; without it the epochs are returned.
    {options}
    overwrite : bool, default False
        Replace output if it exists.
    memory_limit : int or str, optional
        Bytes, or text such as '256M'. Default: TESSERA_MEMORY_LIMIT, else 80 % of memory.
    threads : int, optional
        Default: see :func:`tessera.set_num_threads`. The result does not depend on it.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    context : tessera.Context, optional
        Used instead of threads and memory_limit.

    Returns
    -------
    ndarray of shape (epochs, channels, samples) or Path
        The epochs, or the path of output if one was given.

    Examples
    --------
    >>> from tessera.autoreject import simulate
    >>> simulate(epochs=20, channels=6, samples=50).shape
    (20, 6, 50)
    """
    options = {
        "epochs": epochs,
        "channels": channels,
        "samples": samples,
        "sampling": sampling,
        "bad_fraction": bad_fraction,
        "seed": seed,
        "dtype": dtype,
    }
    with Lease(context, threads=threads, memory_limit=memory_limit) as ctx:
        result, _ = _core.autoreject_simulate(
            ctx, output=output, options=options, overwrite=overwrite, progress=callback(progress)
        )
    if output is not None:
        return Path(output)
    assert result is not None
    return _as_ndarray(result)

"""Correlations with known parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import Session, defaults
from tessera._progress import ProgressLike, callback
from tessera._tables import split_options, takes_options
from tessera.xpcs._arguments import ParamsLike, PathLike, indices, mode_of, theta_of
from tessera.xpcs._data import Data

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._keywords import SimulateKeywords

__all__ = ["simulate", "simulate_file"]


def _request(
    function: str,
    params: ParamsLike | None,
    phi: Any,
    bad_frames: Iterable[int] | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    own = dict(options)
    angles = None if phi is None else np.ascontiguousarray(np.atleast_1d(phi), np.float64)
    lists: dict[str, Any] = {}
    for name, key in (("contrast", "contrasts"), ("offset", "offsets"), ("q", "q")):
        if np.ndim(own.get(name, 0)) == 1:
            lists[key] = np.ascontiguousarray(own.pop(name), np.float64)
    for values in (angles, *lists.values()):
        if values is not None:
            own.setdefault("n_angle", len(values))
    simulation, model_options = split_options(function, own, "xpcs.simulate", "xpcs.model")
    if params is not None:
        model_options.setdefault("mode", mode_of(params))
    mode = model_options.get("mode", defaults("xpcs.model")["mode"])
    return {
        "options": simulation,
        "model": model_options,
        "theta": None if params is None else theta_of(params, mode),
        "phi": angles,
        "bad_frames": indices(bad_frames),
        **lists,
    }


@takes_options("xpcs.simulate", "xpcs.model")
def simulate(
    params: ParamsLike | None = None,
    *,
    phi: npt.ArrayLike | None = None,
    bad_frames: Iterable[int] | None = None,
    in_memory: bool = True,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[SimulateKeywords],
) -> Data:
    """Simulate correlations.

    Parameters
    ----------
    params : dict or sequence, optional
        D0, alpha, D_offset and, for laminar flow, gamma_dot_t0, beta, gamma_dot_t_offset, phi0.
        Default: published values.
    phi : array, optional
        Degrees. Default: evenly from -90 to 90.
    bad_frames : list of int, optional
        Frames, counted from 1, whose rows and columns are NaN.
    in_memory : bool, default True
        False makes points anew in every pass, so that there can be any number of them.
    {options}
    threads, memory_limit, context
        As everywhere; results do not depend on them.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.

    Returns
    -------
    Data
        ``contrast``, ``offset`` and ``q`` may be one value or one for every angle.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> truth = {"D0": 1e4, "alpha": 0.0, "D_offset": 0.0}
    >>> tx.simulate(truth, n_angle=1, n_frame=20, dt=0.1).n_frame  # without that at time 0
    19
    """
    request = _request("simulate", params, phi, bad_frames, options)
    with Session(context, threads=threads, memory_limit=memory_limit) as ctx:
        handle = _core.xpcs_simulate(
            ctx, **request, in_memory=in_memory, progress=callback(progress)
        )
    data = Data(handle)
    data._recipe = {} if in_memory else request
    return data


@takes_options("xpcs.simulate", "xpcs.model")
def simulate_file(
    path: PathLike,
    params: ParamsLike | None = None,
    *,
    layout: str = "aps-u",
    filter: str = "lzf",  # noqa: A002
    overwrite: bool = False,
    phi: npt.ArrayLike | None = None,
    bad_frames: Iterable[int] | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[SimulateKeywords],
) -> Path:
    """Write simulated correlations as a beamline does: upper triangles with the diagonal's spike.

    Parameters
    ----------
    path : path
        The file.
    params, phi, bad_frames
        As in :func:`simulate`.
    layout : {'aps-u', 'aps-legacy', 'txc2'}
        Whose file.
    filter : {'lzf', 'deflate', 'none'}
        Compression.
    overwrite : bool, default False
        Replace the file if it exists.
    {options}
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    context : tessera.Context, optional
        Where to compute.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tessera.xpcs as tx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txc2"
    ...     tx.simulate_file(path, layout="txc2", n_angle=1, n_frame=20, dt=0.1, gap=2e6).name
    'a.txc2'
    """
    request = _request("simulate_file", params, phi, bad_frames, options)
    with Session(context) as ctx:
        _core.xpcs_simulate_file(
            ctx,
            **request,
            path=path,
            layout=layout,
            filter=filter,
            overwrite=overwrite,
            progress=callback(progress),
        )
    return Path(path)

"""The model of a two-time correlation: surfaces, single pairs, derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import Session
from tessera._tables import split_options, takes_options
from tessera.xpcs._arguments import Floats, ParamsLike, mode_of, per_angle, theta_of

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._keywords import ModelKeywordsBesideDt

__all__ = ["grids", "model", "model_pairs"]


def _frames(t: Any, options: dict[str, Any]) -> int:
    """Return the number of frames; times also say dt and whether t0 is among them."""
    if np.ndim(t) == 0:
        return int(t)
    times = np.asarray(t, np.float64)
    if times.ndim != 1 or len(times) < 2:
        raise _core.ShapeError(f"t: expected times or a number of frames, got shape {times.shape}")
    dt = float(times[1] - times[0])
    first = 0.0 if abs(times[0]) < 0.5 * dt else dt
    if not np.allclose(times, first + dt * np.arange(len(times)), rtol=0, atol=1e-6 * abs(dt)):
        raise _core.ArgumentError(
            "t: the model needs equal steps that begin at 0 or at one step; got "
            f"{times[0]:g}, {times[1]:g}, ... {times[-1]:g}"
        )
    options.setdefault("dt", dt)
    options.setdefault("keep_t0", first == 0)
    return len(times)


def _request(
    params: ParamsLike, t: Any, phi: Any, q: Any, gap: float | None, options: dict[str, Any]
) -> tuple[dict[str, Any], Floats, int, Floats, Floats]:
    options = dict(options)
    options.setdefault("mode", mode_of(params))
    if gap is not None:
        options["gap"] = float(gap)
    n_frame = _frames(t, options)
    angles = np.ascontiguousarray(np.atleast_1d(np.asarray(phi, np.float64)))
    theta = theta_of(params, options["mode"])
    return options, theta, n_frame, angles, per_angle(q, len(angles), "q")


@takes_options("xpcs.model")
def model(
    params: ParamsLike,
    t: int | npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float | npt.ArrayLike,
    L: float | None = None,  # noqa: N803
    dt: float | None = None,
    *,
    contrast: float | npt.ArrayLike = 1.0,
    offset: float | npt.ArrayLike = 0.0,
    threads: int | None = None,
    context: _core.Context | None = None,
    **options: Unpack[ModelKeywordsBesideDt],
) -> Floats:
    """Compute c2 of every angle and pair of frames.

    Parameters
    ----------
    params : dict or sequence
        D0, alpha, D_offset and, for laminar flow, gamma_dot_t0, beta, gamma_dot_t_offset, phi0 (in
        degrees); or the fourteen of two components. Without ``mode`` their number decides.
    t : int or array
        Number of frames, or their times: equal steps from 0 or from one step on.
    phi : array, shape (n_angle,)
        Degrees.
    q : float or array, shape (n_angle,)
        1/Å.
    L : float, optional
        Gap of the shear cell in Å, the option ``gap``; laminar flow needs it.
    dt : float, optional
        Seconds between frames; not needed where ``t`` has times.
    contrast, offset : float or array, shape (n_angle,)
        The defaults give the squared field correlation alone.
    {options}
    threads : int, optional
        Results do not depend on it.
    context : tessera.Context, optional
        Used instead of threads.

    Returns
    -------
    ndarray, shape (n_angle, n_frame, n_frame)
        Symmetric; contrast + offset on the diagonal.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> c2 = tx.model([1e4, 0.0, 0.0], 20, phi=[0.0], q=0.0054, dt=0.1, contrast=0.3, offset=1.0)
    >>> c2.shape, round(float(c2[0, 3, 3]), 6)
    ((1, 20, 20), 1.3)
    """
    (own,) = split_options("model", options, "xpcs.model")
    if dt is not None:
        own["dt"] = float(dt)
    own, theta, n_frame, angles, qs = _request(params, t, phi, q, L, own)
    n = len(angles)
    with Session(context, threads=threads) as ctx:
        c2 = _core.xpcs_model(
            ctx,
            own,
            theta,
            n_frame,
            angles,
            qs,
            per_angle(contrast, n, "contrast"),
            per_angle(offset, n, "offset"),
        )
    return np.asarray(c2)


@overload
def model_pairs(
    params: ParamsLike,
    t: int | npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float | npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    L: float | None = ...,  # noqa: N803
    dt: float | None = ...,
    *,
    contrast: float | npt.ArrayLike = ...,
    offset: float | npt.ArrayLike = ...,
    jacobian: Literal[True] = ...,
    context: _core.Context | None = ...,
    **options: Unpack[ModelKeywordsBesideDt],
) -> tuple[Floats, Floats]: ...


@overload
def model_pairs(
    params: ParamsLike,
    t: int | npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float | npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    L: float | None = ...,  # noqa: N803
    dt: float | None = ...,
    *,
    contrast: float | npt.ArrayLike = ...,
    offset: float | npt.ArrayLike = ...,
    jacobian: Literal[False],
    context: _core.Context | None = ...,
    **options: Unpack[ModelKeywordsBesideDt],
) -> tuple[Floats, None]: ...


@overload
def model_pairs(
    params: ParamsLike,
    t: int | npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float | npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    L: float | None = ...,  # noqa: N803
    dt: float | None = ...,
    *,
    contrast: float | npt.ArrayLike = ...,
    offset: float | npt.ArrayLike = ...,
    jacobian: bool,
    context: _core.Context | None = ...,
    **options: Unpack[ModelKeywordsBesideDt],
) -> tuple[Floats, Floats | None]: ...


@takes_options("xpcs.model")
def model_pairs(
    params: ParamsLike,
    t: int | npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float | npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    L: float | None = None,  # noqa: N803
    dt: float | None = None,
    *,
    contrast: float | npt.ArrayLike = 1.0,
    offset: float | npt.ArrayLike = 0.0,
    jacobian: bool = True,
    context: _core.Context | None = None,
    **options: Unpack[ModelKeywordsBesideDt],
) -> tuple[Floats, Floats | None]:
    """Compute c2 at some pairs of frames, and its derivatives by the parameters.

    Parameters
    ----------
    params, t, phi, q, L, dt, contrast, offset
        As in :func:`model`.
    first, second : array of int, shape (n_pair,)
        Frames, counted from 0, first < second.
    jacobian : bool, default True
        Derivatives too.
    {options}
    context : tessera.Context, optional
        Where to compute.

    Returns
    -------
    c2 : ndarray, shape (n_angle, n_pair)
        The model.
    jacobian : ndarray, shape (n_angle, n_pair, n_param), or None
        By the physical parameters; by contrast and offset they are (c2 - offset) / contrast and 1.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> c2, slopes = tx.model_pairs([1e4, 0.0, 0.0], 20, [0.0], 0.0054, [0, 0], [1, 9], dt=0.1)
    >>> c2.shape, slopes.shape
    ((1, 2), (1, 2, 3))
    """
    (own,) = split_options("model_pairs", options, "xpcs.model")
    if dt is not None:
        own["dt"] = float(dt)
    own, theta, n_frame, angles, qs = _request(params, t, phi, q, L, own)
    n = len(angles)
    with Session(context) as ctx:
        c2, derivatives = _core.xpcs_model_pairs(
            ctx,
            own,
            theta,
            n_frame,
            angles,
            qs,
            per_angle(contrast, n, "contrast"),
            per_angle(offset, n, "offset"),
            np.ascontiguousarray(first, np.int64),
            np.ascontiguousarray(second, np.int64),
            jacobian,
        )
    return np.asarray(c2), None if derivatives is None else np.asarray(derivatives)


@takes_options("xpcs.model")
def grids(
    params: ParamsLike,
    t: int | npt.ArrayLike,
    dt: float | None = None,
    *,
    context: _core.Context | None = None,
    **options: Unpack[ModelKeywordsBesideDt],
) -> dict[str, Floats]:
    """Compute rates and their integrals on the grid of frames.

    Parameters
    ----------
    params, t, dt
        As in :func:`model`. No gap is needed: rates do not depend on it.
    {options}
    context : tessera.Context, optional
        Where to compute.

    Returns
    -------
    dict of ndarray
        ``t``, ``diffusion``, ``diffusion_sum``, ``diffusion_derivatives`` (3, n_frame) and, for
        laminar flow, ``shear``, ``shear_sum``, ``shear_derivatives``. Sums are in steps: multiply
        by dt for integrals. Of two components ``t``, ``reference``, ``sample``, ``velocity``,
        ``fraction`` and, over seconds, ``reference_sum``, ``sample_sum`` and ``velocity_sum``.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> sorted(tx.grids([1e4, 0.0, 0.0], 20, dt=0.1))
    ['diffusion', 'diffusion_derivatives', 'diffusion_sum', 't']
    """
    (own,) = split_options("grids", options, "xpcs.model")
    own.setdefault("mode", mode_of(params))
    if dt is not None:
        own["dt"] = float(dt)
    n_frame = _frames(t, own)
    with Session(context) as ctx:
        found = _core.xpcs_model_grids(ctx, own, theta_of(params, own["mode"]), n_frame)
    return {name: np.asarray(values) for name, values in found.items()}

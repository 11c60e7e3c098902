"""Fits, their plans, and the sums of one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import Session, defaults, warn
from tessera._progress import ProgressLike, callback
from tessera._session import Lease
from tessera._tables import split_options, takes_options
from tessera.xpcs._arguments import (
    Floats,
    ParamsLike,
    PathLike,
    canonical,
    names_of,
    number,
    pair,
    parameters,
    per_angle,
    theta_of,
    vector_of,
)
from tessera.xpcs._config import Settings, is_options, settings_of
from tessera.xpcs._data import Data, as_data
from tessera.xpcs._result import Result

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._dicts import Plan, Sums
    from tessera.xpcs._keywords import FitKeywords

__all__ = ["accumulate", "fit", "plan"]


class _Request:
    """Everything a call of the library's needs, from data, configuration and keywords."""

    def __init__(self, function: str, data: Any, config: Any, options: Mapping[str, Any]) -> None:
        if isinstance(config, Mapping) and is_options(config):
            options = dict(config) | dict(options)
            config = None
        settings = settings_of(config)
        self.data: Data = as_data(data, settings)
        self.settings: Settings | None = settings or self.data.settings
        given, self.options = split_options(function, options, "xpcs.model", "xpcs.fit")
        self.model_options: dict[str, Any] = dict(defaults("xpcs.model"))
        if self.settings is not None:
            self.model_options |= self.settings.model
        self.model_options |= {name: value for name, value in given.items() if value is not None}
        self.model_options["dt"] = self.model_options["dt"] or self.data.dt
        self.model_options["gap"] = self.model_options["gap"] or self.data.gap
        self.model_options["keep_t0"] = self.data.keep_t0
        self.mode: str = self.model_options["mode"]

    def handles(self) -> dict[str, Any]:
        return {
            "data": self.data._handle,
            "model": self.model_options,
            "options": self.options,
            "settings": None if self.settings is None else self.settings._handle,
        }

    def said(self, name: str) -> Floats | None:
        """Return what the configuration says of a vector."""
        if self.settings is None or self.settings.vectors[name] is None:
            return None
        found: Floats = np.array(self.settings.vectors[name])
        return found

    def bounds(self, bounds: Any) -> dict[str, Any]:
        """Return bounds of parameters and of the scaling."""
        if bounds is None:
            return {}
        if not isinstance(bounds, Mapping):
            low, high = pair(bounds, "bounds")
            return {
                "lower": vector_of(low, self.mode, "bounds", np.nan),
                "upper": vector_of(high, self.mode, "bounds", np.nan),
            }
        table = parameters(self.mode)
        lower, upper = self.said("lower"), self.said("upper")
        lower = np.array([p["lower"] for p in table]) if lower is None else lower
        upper = np.array([p["upper"] for p in table]) if upper is None else upper
        scaling_low, scaling_high = _scaling_bounds()
        for name, both in bounds.items():
            which = f"bounds[{name!r}]"
            low, high = (number(end, which) for end in pair(both, which))
            if name in ("contrast", "offset"):
                place = int(name == "offset")
                scaling_low[place], scaling_high[place] = low, high
            else:
                place = canonical(name, self.mode, "bounds")
                lower[place], upper[place] = low, high
        found: dict[str, Any] = {"lower": lower, "upper": upper}
        if {"contrast", "offset"} & set(bounds):
            found |= {"scaling_lower": scaling_low, "scaling_upper": scaling_high}
        return found

    def start(self, start: Any, fixed: Any, active: Any) -> dict[str, Any]:
        """Return starts and what stays at them."""
        n = len(names_of(self.mode))
        fixed, active = ([names] if isinstance(names, str) else names for names in (fixed, active))
        said = self.said("start")
        values = np.full(n, np.nan) if said is None else said
        if start is not None:
            given = vector_of(start, self.mode, "start", np.nan)
            values = np.where(np.isnan(given), values, given)
        mask = self.said("fixed")
        if fixed is not None or active is not None:
            mask = np.zeros(n, np.uint8)
        if active is not None:
            mask = np.ones(n, np.uint8)
            active = list(active)
            for name in active:
                place = canonical(name, self.mode, "active")
                # f2 of two components stays unless it is named: the library's word for that is 2.
                mask[place] = 2 if names_of(self.mode)[place] == "f2" else 0
        if fixed is not None and mask is not None:
            started = np.full(n, np.nan) if start is None else given
            for name in fixed:
                place = canonical(name, self.mode, "fixed")
                if active is not None and mask[place] != 1:
                    raise _core.ArgumentError(f"fixed, active: both name {name!r}; give one")
                mask[place] = 1
                if isinstance(fixed, Mapping):
                    values[place] = number(fixed[name], f"fixed[{name!r}]")
                    if not np.isfinite(values[place]):
                        raise _core.ArgumentError(
                            f"fixed[{name!r}]: {fixed[name]}; a finite number is expected"
                        )
                    if not np.isnan(started[place]) and started[place] != values[place]:
                        raise _core.ArgumentError(
                            f"fixed, start: {name!r} is {values[place]:g} in one and "
                            f"{started[place]:g} in the other; give one value"
                        )
        return {
            "start": None if np.isnan(values).all() else values,
            "fixed": None if mask is None else np.ascontiguousarray(mask, np.uint8),
        }


def _scaling_bounds() -> tuple[Floats, Floats]:
    tables = _core.xpcs_parameters()
    pair = [tables["contrast"][0], tables["offset"][0]]
    return np.array([p["lower"] for p in pair]), np.array([p["upper"] for p in pair])


def _vectors(
    request: _Request,
    start: Any,
    bounds: Any,
    fixed: Any,
    active: Any,
    x_scale: Any,
    contrast: Any,
    offset: Any,
) -> dict[str, Any]:
    n = request.data.n_angle
    found = request.start(start, fixed, active) | request.bounds(bounds)
    if x_scale is not None:
        found["x_scale"] = vector_of(x_scale, request.mode, "x_scale", np.nan)
    if contrast is not None:
        found["contrast"] = per_angle(contrast, n, "contrast")
    if offset is not None:
        found["offset"] = per_angle(offset, n, "offset")
    return found


@takes_options("xpcs.model", "xpcs.fit")
def fit(
    data: Data | PathLike | Mapping[str, Any],
    config: ConfigLike = None,
    *,
    start: ParamsLike | None = None,
    bounds: Mapping[str, tuple[float, float]] | tuple[ParamsLike, ParamsLike] | None = None,
    fixed: Mapping[str, float] | Iterable[str] | None = None,
    active: Iterable[str] | None = None,
    x_scale: ParamsLike | None = None,
    contrast: float | npt.ArrayLike | None = None,
    offset: float | npt.ArrayLike | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    resume: bool | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[FitKeywords],
) -> Result:
    """Fit the model by bounded least squares.

    Parameters
    ----------
    data : Data, path or dict
        From :func:`load`, :meth:`Data.from_arrays` or :func:`simulate`; a file; or the dict of the
        original's loader.
    config : path, dict, Settings or ConfigManager, optional
        The original's configuration, or a dict of the options below. Keywords win over it.
    start : dict or sequence, optional
        Values to start from; those not named come from the data.
    bounds : dict of (lower, upper), or (lower, upper) with a value for every parameter, optional
        ``contrast`` and ``offset`` may be among the names.
    fixed : dict or list of names, optional
        Parameters that stay at a value, or at their start.
    active : list of names, optional
        Only these are fitted. ``f2`` of two components is fitted where it is named here alone.
    x_scale : dict or sequence, optional
        Characteristic sizes of the parameters; by default from the Jacobian.
    contrast, offset : float or array, shape (n_angle,), optional
        Starts, or the values of constant scaling; by default from quantiles.
    {options}
    checkpoint : path, optional
        Folder for checkpoints, from which a stopped fit goes on with the same bits.
    checkpoint_every : float, optional
        Seconds between them; 0 writes one after every pass.
    keep_checkpoints : int, optional
        How many are kept.
    resume : bool, optional
        Go on from the checkpoint; by default if ``checkpoint`` is given.
    threads : int, optional
        Results do not depend on it.
    memory_limit : int or str, optional
        Bytes, or text such as '256M'. Results do not depend on it.
    device : str, optional
        'cpu', 'cuda', 'auto'.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    context : tessera.Context, optional
        Used instead of threads, memory_limit and device.

    Returns
    -------
    Result
        Also where the fit did not converge, which it says and warns of.

    Examples
    --------
    >>> import tessera.xpcs
    >>> data = tessera.xpcs.simulate(mode="static_isotropic", n_angle=3, n_frame=60, dt=0.1)
    >>> result = tessera.xpcs.fit(data, mode="static_isotropic", sigma=0.01)
    >>> result.convergence_status
    'converged'
    """
    request = _Request("fit", data, config, options)
    vectors = _vectors(request, start, bounds, fixed, active, x_scale, contrast, offset)
    settings = request.settings
    if settings is not None and context is None:
        threads = settings.threads if threads is None else threads
        memory_limit = settings.memory_limit if memory_limit is None else memory_limit
        device = settings.device if device is None else device
    if resume and checkpoint is None:
        raise _core.ArgumentError("resume: there is nothing to go on from without checkpoint=...")
    if resume is None and checkpoint is not None:
        resume = True
    # Warnings of a fit are in its result, and go to the logger.
    with Lease(
        context, threads=threads, memory_limit=memory_limit, device=device, ranks=True
    ) as ctx:
        try:
            handle = _core.xpcs_fit(
                ctx,
                **request.handles(),
                **vectors,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                keep_checkpoints=keep_checkpoints,
                resume=None if resume is None else int(resume),
                progress=callback(progress),
            )
        except BaseException as error:
            if checkpoint is not None and isinstance(error, KeyboardInterrupt | _core.Cancelled):
                error.add_note(f"To continue: fit the same data with checkpoint={checkpoint!r}")
            raise
    result = Result(handle, request.data, request.model_options)
    if not result.success:
        warn(f"{result.convergence_status}: {result.message}")
    return result


@takes_options("xpcs.model", "xpcs.fit")
def plan(
    data: Data | PathLike | Mapping[str, Any],
    config: ConfigLike = None,
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    context: _core.Context | None = None,
    **options: Unpack[FitKeywords],
) -> Plan:
    """Say what a fit would need, without fitting.

    Parameters
    ----------
    data, config
        As in :func:`fit`.
    {options}
    threads, memory_limit, context
        As in :func:`fit`.

    Returns
    -------
    dict
        ``strategy``, ``reason``, ``memory_bytes``, ``limit_bytes``, ``original_bytes`` (what the
        original's formula gives), ``n_tile``, ``tiles_per_chunk`` and ``pass_s``, the estimated
        seconds of a pass.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> tx.plan(data, mode="static_isotropic")["strategy"]
    'STANDARD'
    """
    request = _Request("plan", data, config, options)
    with Session(context, threads=threads, memory_limit=memory_limit) as ctx:
        return cast("Plan", _core.xpcs_plan(ctx, **request.handles()))


@takes_options("xpcs.model", "xpcs.fit")
def accumulate(
    data: Data | PathLike | Mapping[str, Any],
    theta: ParamsLike,
    config: ConfigLike = None,
    *,
    level: int = 3,
    contrast: float | npt.ArrayLike | None = None,
    offset: float | npt.ArrayLike | None = None,
    threads: int | None = None,
    device: str | None = None,
    context: _core.Context | None = None,
    **options: Unpack[FitKeywords],
) -> Sums:
    """Compute the sums of one pass, for those who drive their own optimiser.

    Parameters
    ----------
    data, config
        As in :func:`fit`.
    theta : dict or sequence
        Physical parameters.
    level : int, default 3
        0: cost; 1: and gradient; 2: and Hessian, contrast and offset; 3: and all sums.
    contrast, offset : float or array, optional
        Values of constant scaling.
    {options}
    threads, device, context
        As in :func:`fit`.

    Returns
    -------
    dict
        ``cost``, ``gradient`` (n_param,), ``hessian`` (n_param, n_param) with contrast and offset
        eliminated; the best ``contrast`` and ``offset``; per angle ``s1``, ``sf``, ``sff``, ``sy``,
        ``syy``, ``sfy`` and ``p``, ``q``, ``r`` (n_angle, n_param).

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> start = [entry["start"] for entry in tx.parameters("static_isotropic")]
    >>> tx.accumulate(data, start, mode="static_isotropic", sigma=0.01)["gradient"].shape
    (3,)
    """
    request = _Request("accumulate", data, config, options)
    vectors = _vectors(request, None, None, None, None, None, contrast, offset)
    with Session(context, threads=threads, device=device) as ctx:
        found = _core.xpcs_accumulate(
            ctx,
            **request.handles(),
            **vectors,
            theta=theta_of(theta, request.mode),
            level=level,
        )
    sums: dict[str, Any] = {name: np.asarray(values) for name, values in found.items()}
    sums["cost"] = float(sums["cost"][0])
    return cast("Sums", sums)

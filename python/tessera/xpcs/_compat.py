"""The original's calls, so that its scripts run with their import lines changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.xpcs._adapter_base import NLSQAdapterBase
from tessera.xpcs._arguments import Floats, names_of
from tessera.xpcs._config import Settings
from tessera.xpcs._data import Data
from tessera.xpcs._fit import fit
from tessera.xpcs._foreign import (
    data_of,
    data_of_points,
    is_data,
    settings_of_any,
    symmetric,
)
from tessera.xpcs._result import Result

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._keywords import FitCallKeywords, FitCallKeywordsBesideBounds

__all__ = [
    "NLSQWrapper",
    "OptimizationResult",
    "fit_nlsq",
    "fit_nlsq_jax",
]

OptimizationResult = Result


def _flag(value: Any, name: str) -> bool:
    """Return a truth value; anything else stands in the wrong place of a call."""
    if not isinstance(value, bool | np.bool_):
        raise _core.ArgumentError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def _split(values: Any, mode: str, name: str) -> tuple[Floats, Floats, Floats]:
    """Split contrasts, offsets and physical parameters, or the last alone, as the original has."""
    vector = np.asarray(values, np.float64)
    n = len(names_of(mode))
    n_scaling = vector.size - n
    if vector.ndim != 1 or n_scaling < 0 or n_scaling % 2:
        raise _core.ShapeError(
            f"{name}: expected {n} values for {mode}, or contrasts and offsets before them, got "
            f"shape {vector.shape}"
        )
    contrast, offset = np.split(vector[:n_scaling], 2)
    return vector[n_scaling:], contrast, offset


def _one_or_all(values: Floats) -> Any:
    """Return nothing, the one value, or all of them."""
    if len(values) == 0:
        return None
    return float(values[0]) if len(values) == 1 else values


def _start_of(initial_params: Any, mode: str) -> tuple[Any, Any, Any]:
    """Split what the original takes as a start into physical values, contrast and offset."""
    if initial_params is None:
        return None, None, None
    if isinstance(initial_params, Mapping):
        own = dict(initial_params)
        scaling = own.pop("per_angle_scaling", None) or {}
        contrast = own.pop("contrast", scaling.get("contrast"))
        return own, contrast, own.pop("offset", scaling.get("offset"))
    values, contrast, offset = _split(initial_params, mode, "initial_params")
    return values, _one_or_all(contrast), _one_or_all(offset)


def _bounds_of(bounds: Any, mode: str) -> Any:
    """Turn the original's pair of vectors into bounds by name; others are left as they are."""
    if bounds is None or isinstance(bounds, Mapping):
        return bounds
    if len(bounds) != 2:
        raise _core.ShapeError(f"bounds: expected (lower, upper), got {len(bounds)} items")
    low, high = (_split(side, mode, "bounds") for side in bounds)
    found = dict(zip(names_of(mode), zip(low[0], high[0], strict=True), strict=True))
    for place, name in ((1, "contrast"), (2, "offset")):
        pairs = set(zip(low[place].tolist(), high[place].tolist(), strict=True))
        if len(pairs) > 1:
            raise _core.ArgumentError(
                f"bounds: {name} has other bounds at other angles; give all the same, here they "
                f"are {sorted(pairs)}"
            )
        if pairs:
            found[name] = pairs.pop()
    return found


def fit_nlsq_jax(
    data: Mapping[str, Any] | Data,
    config: ConfigLike,
    initial_params: Mapping[str, Any] | npt.ArrayLike | None = None,
    per_angle_scaling: bool = True,
    use_adapter: bool = False,
    _skip_global_selection: bool = False,
    **options: Unpack[FitCallKeywords],
) -> OptimizationResult:
    """Fit as the original's function of this name does; nothing of JAX is needed.

    Parameters
    ----------
    data : dict or Data
        ``c2_exp``, ``phi_angles_list``, ``wavevector_q_list``, ``t1``, ``t2`` and optionally
        ``sigma``; or ``g2``, ``phi`` and ``q``.
    config : ConfigManager, dict or path
        The configuration.
    initial_params : dict or sequence, optional
        Start: physical parameters, or contrasts, offsets and physical parameters.
    per_angle_scaling : bool, default True
        False fits one contrast and offset for all angles, which the original refuses.
    use_adapter : bool, default False
        Accepted for scripts of the original: there is one solver here.
    _skip_global_selection : bool, default False
        Accepted for scripts of the original: starts are ``n_start=``.
    **options
        As :func:`tessera.xpcs.fit` takes them.

    Returns
    -------
    OptimizationResult
        A :class:`tessera.xpcs.Result`, which has the original's names.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> config = {"analysis_mode": "static_isotropic"}
    >>> tx.fit_nlsq_jax(data.to_dict(), config, sigma=0.01).success
    True
    """
    _flag(use_adapter, "use_adapter")
    more: dict[str, Any] = dict(options)
    settings = settings_of_any(config)
    data = symmetric(data_of(data))
    mode = more.get("mode") or (Settings() if settings is None else settings).model["mode"]
    start, contrast, offset = _start_of(initial_params, mode)
    # What is said in two places: the option wins.
    contrast = more.pop("contrast", contrast)
    offset = more.pop("offset", offset)
    if not _flag(per_angle_scaling, "per_angle_scaling"):
        more.setdefault("scaling", "averaged")
    if isinstance(data, Mapping) and data.get("sigma") is not None and "sigma" not in more:
        if np.ndim(data["sigma"]) == 0:
            more["sigma"] = float(data["sigma"])
        else:
            more.setdefault("sigma_mode", "dataset")
    return fit(data, settings, start=start, contrast=contrast, offset=offset, **more)


fit_nlsq = fit_nlsq_jax


class NLSQWrapper(NLSQAdapterBase):
    """The original's object around a fit.

    Parameters
    ----------
    enable_large_dataset, enable_recovery, enable_numerical_validation : bool
        Size, recovery and checks need no switch here.
    max_retries : int, default 2
        Accepted for scripts of the original: a fit here does not fail and begin again.
    fast_mode : bool
        The option ``fast``.
    """

    def __init__(
        self,
        enable_large_dataset: bool = True,
        enable_recovery: bool = True,
        enable_numerical_validation: bool = True,
        max_retries: int = 2,
        fast_mode: bool = False,
    ) -> None:
        self.enable_large_dataset = _flag(enable_large_dataset, "enable_large_dataset")
        self.enable_recovery = _flag(enable_recovery, "enable_recovery")
        self.enable_numerical_validation = _flag(
            enable_numerical_validation, "enable_numerical_validation"
        )
        self.max_retries = max_retries
        self.fast_mode = _flag(fast_mode, "fast_mode")

    @staticmethod
    def _handle_nlsq_result(result: Any, strategy: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Return parameters, covariance and facts of whatever a solver gave."""
        from tessera.xpcs.optimization.nlsq.result_builder import normalize_nlsq_result

        return normalize_nlsq_result(result, str(getattr(strategy, "value", strategy)))

    def _fit_points(
        self,
        xdata: npt.ArrayLike,
        ydata: npt.ArrayLike,
        p0: Any,
        bounds: Any,
        analysis_mode: str | None,
        more: dict[str, Any],
    ) -> OptimizationResult:
        """Fit points (t1, t2, angle), as older versions of the original do."""
        missing = [name for name in ("q", "L", "dt") if more.get(name) is None]
        if missing:
            raise _core.ArgumentError(
                f"fit(xdata, ydata, p0, bounds): {', '.join(missing)} is missing: points alone do "
                "not say wave vector, gap and time between frames; give q=..., L=..., dt=..."
            )
        q, gap, dt = (float(more.pop(name)) for name in ("q", "L", "dt"))
        data = data_of_points(xdata, ydata, q, dt, gap)
        if analysis_mode is None:
            n_physical = 0 if p0 is None else np.size(p0)
            scaling = 2 * len(data["phi_angles_list"])
            flow = n_physical in (7, 9, 7 + scaling) and n_physical != 3 + scaling
            analysis_mode = "laminar_flow" if flow else "static_isotropic"
        config = {
            "analysis_mode": analysis_mode,
            "analyzer_parameters": {"geometry": {"stator_rotor_gap": gap}},
        }
        return self.fit(data, config, p0, bounds, analysis_mode, **more)

    def fit(
        self,
        data: Mapping[str, Any] | Data | npt.ArrayLike,
        config: ConfigLike | npt.ArrayLike,
        initial_params: Mapping[str, Any] | npt.ArrayLike | None = None,
        bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        analysis_mode: str | None = None,
        per_angle_scaling: bool = True,
        diagnostics_enabled: bool = False,
        shear_transforms: Mapping[str, Any] | None = None,
        per_angle_scaling_initial: Mapping[str, Any] | None = None,
        **options: Unpack[FitCallKeywordsBesideBounds],
    ) -> OptimizationResult:
        """Fit; see :func:`fit_nlsq_jax`.

        Parameters
        ----------
        data, config, initial_params, per_angle_scaling
            As in :func:`fit_nlsq_jax`; or ``fit(xdata, ydata, p0, bounds, q=..., L=..., dt=...)``
            with rows of t1, t2 and angle, and a correlation for each.
        bounds : (lower, upper), optional
            Of the physical parameters, or of contrasts, offsets and physical parameters.
        analysis_mode : str, optional
            The mode; by default the configuration's (the original's default is
            'static_isotropic', whatever the configuration says).
        diagnostics_enabled : bool, default False
            Accepted for scripts of the original: the result always has its diagnostics.
        shear_transforms : dict, optional
            Accepted for scripts of the original, where they change the way to the minimum, not
            where it is.
        per_angle_scaling_initial : dict, optional
            Starts of ``contrast`` and ``offset``, one value or one for every angle.
        **options
            As :func:`tessera.xpcs.fit` takes them.

        Returns
        -------
        OptimizationResult
            The result.
        """
        more: dict[str, Any] = dict(options)
        if not is_data(data):
            return self._fit_points(data, config, initial_params, bounds, analysis_mode, more)  # type: ignore[arg-type]
        if analysis_mode is not None:
            if not isinstance(analysis_mode, str):
                raise _core.ArgumentError(
                    f"analysis_mode: expected the name of a mode, got {analysis_mode!r}"
                )
            word = "static_isotropic" if analysis_mode == "static" else analysis_mode
            more.setdefault("mode", word)
        _flag(diagnostics_enabled, "diagnostics_enabled")
        if shear_transforms is not None and not isinstance(shear_transforms, Mapping):
            raise _core.ArgumentError(
                f"shear_transforms: expected a dict, got {shear_transforms!r}"
            )
        if self.fast_mode:
            more.setdefault("fast", True)
        if bounds is not None:
            settings = settings_of_any(config)
            mode = more.get("mode") or (settings or Settings()).model["mode"]
            more["bounds"] = _bounds_of(bounds, mode)
        for name, values in (per_angle_scaling_initial or {}).items():
            if name not in ("contrast", "offset"):
                raise _core.ArgumentError(
                    f"per_angle_scaling_initial: {name!r} is neither 'contrast' nor 'offset'"
                )
            more.setdefault(name, _one_or_all(np.atleast_1d(np.asarray(values, np.float64))))
        own: Any = data
        how: Any = config
        return fit_nlsq_jax(own, how, initial_params, per_angle_scaling, **more)

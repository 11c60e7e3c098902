"""The original's calls, so that its scripts run with their import lines changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tessera import _core
from tessera.xpcs._arguments import PathLike, names_of
from tessera.xpcs._config import ConfigManager, Settings, settings_of
from tessera.xpcs._data import Data, load
from tessera.xpcs._fit import fit
from tessera.xpcs._result import Result

__all__ = [
    "NLSQWrapper",
    "OptimizationResult",
    "XPCSDataLoader",
    "fit_nlsq",
    "fit_nlsq_jax",
    "load_xpcs_data",
]

OptimizationResult = Result


def _start_of(initial_params: Any, mode: str) -> tuple[Any, Any, Any]:
    """Split what the original takes as a start into physical values, contrast and offset."""
    if initial_params is None:
        return None, None, None
    if isinstance(initial_params, Mapping):
        own = dict(initial_params)
        return own, own.pop("contrast", None), own.pop("offset", None)
    values = np.asarray(initial_params, np.float64)
    n = len(names_of(mode))
    scaling = values[: len(values) - n]
    if len(values) < n or len(scaling) % 2:
        raise _core.ShapeError(
            f"initial_params: expected {n} values, or contrasts and offsets before them, got "
            f"{len(values)}"
        )
    if len(scaling) == 0:
        return values, None, None
    contrast, offset = np.split(scaling, 2)
    one = len(contrast) == 1
    return (
        values[-n:],
        float(contrast[0]) if one else contrast,
        float(offset[0]) if one else offset,
    )


def fit_nlsq_jax(
    data: Mapping[str, Any] | Data,
    config: Any,
    initial_params: Any = None,
    per_angle_scaling: bool = True,
    **options: Any,
) -> OptimizationResult:
    """Fit as the original's function of this name does; nothing of JAX is needed.

    Parameters
    ----------
    data : dict or Data
        ``c2_exp``, ``phi_angles_list``, ``wavevector_q_list``, ``t1``, ``t2`` and optionally
        ``sigma``.
    config : ConfigManager, dict or path
        The configuration.
    initial_params : dict or sequence, optional
        Start: physical parameters, or contrasts, offsets and physical parameters.
    per_angle_scaling : bool, default True
        False fits one contrast and offset for all angles.
    **options
        As :func:`tessera.xpcs.fit` takes them.

    Returns
    -------
    OptimizationResult
        A :class:`tessera.xpcs.Result`, which has the original's names.
    """
    settings = settings_of(config)
    mode = options.get("mode") or (Settings() if settings is None else settings).model["mode"]
    start, contrast, offset = _start_of(initial_params, mode)
    if not per_angle_scaling:
        options.setdefault("scaling", "averaged")
    if isinstance(data, Mapping) and data.get("sigma") is not None and "sigma" not in options:
        if np.ndim(data["sigma"]) == 0:
            options["sigma"] = float(data["sigma"])
        else:
            options.setdefault("sigma_mode", "dataset")
    return fit(data, settings, start=start, contrast=contrast, offset=offset, **options)


fit_nlsq = fit_nlsq_jax


class NLSQWrapper:
    """The original's object around a fit.

    Parameters
    ----------
    enable_large_dataset, enable_recovery, fast_mode : bool
        Size and recovery need no switch here; ``fast_mode`` is the option ``fast``.
    """

    def __init__(
        self,
        enable_large_dataset: bool = True,
        enable_recovery: bool = True,
        fast_mode: bool = False,
    ) -> None:
        self.enable_large_dataset = enable_large_dataset
        self.enable_recovery = enable_recovery
        self.fast_mode = fast_mode

    def fit(
        self,
        data: Mapping[str, Any] | Data,
        config: Any,
        initial_params: Any = None,
        bounds: Any = None,
        per_angle_scaling: bool = True,
        analysis_mode: str | None = None,
        **options: Any,
    ) -> OptimizationResult:
        """Fit; see :func:`fit_nlsq_jax`.

        Parameters
        ----------
        data, config, initial_params, per_angle_scaling
            As in :func:`fit_nlsq_jax`.
        bounds : (lower, upper), optional
            Of the physical parameters.
        analysis_mode : str, optional
            The mode, instead of the configuration's.
        **options
            As :func:`tessera.xpcs.fit` takes them.

        Returns
        -------
        OptimizationResult
            The result.
        """
        if analysis_mode is not None:
            options.setdefault("mode", analysis_mode)
        if self.fast_mode:
            options.setdefault("fast", True)
        if bounds is not None:
            options["bounds"] = bounds
        return fit_nlsq_jax(data, config, initial_params, per_angle_scaling, **options)


class XPCSDataLoader:
    """The original's loader.

    Parameters
    ----------
    config_path : path, optional
        YAML or JSON.
    config_dict : dict, optional
        The same as a dict.
    """

    def __init__(
        self,
        config_path: PathLike | None = None,
        config_dict: Mapping[str, Any] | None = None,
    ) -> None:
        if (config_path is None) == (config_dict is None):
            raise _core.ArgumentError("config_path, config_dict: give one of them")
        settings = settings_of(config_path if config_dict is None else config_dict)
        assert settings is not None
        self.settings = settings
        self.config_path = config_path

    @property
    def config(self) -> dict[str, Any]:
        """Every value in force."""
        return self.settings.to_dict()

    def load_experimental_data(self) -> dict[str, Any]:
        """Read the file the configuration names.

        Returns
        -------
        dict
            ``wavevector_q_list``, ``phi_angles_list``, ``t1``, ``t2``, ``c2_exp``; the frame at
            time 0 is there and fits leave it out.
        """
        return load(self.settings, keep_t0=True).to_dict()


def load_xpcs_data(config_path: PathLike | Mapping[str, Any] | ConfigManager) -> dict[str, Any]:
    """Read the file a configuration names, as the original's function does.

    Parameters
    ----------
    config_path : path or dict
        The configuration.

    Returns
    -------
    dict
        See :meth:`XPCSDataLoader.load_experimental_data`.
    """
    settings = settings_of(config_path)
    assert settings is not None
    return load(settings, keep_t0=True).to_dict()

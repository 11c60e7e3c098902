"""Data and configurations as scripts of the original hand them over: objects, and points."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import warn
from tessera.xpcs._config import Settings, settings_of
from tessera.xpcs._data import Data
from tessera.xpcs.config.manager import ConfigManager

# What data are called as attributes of objects, and as keys of the loader's dict.
_NAMES = {
    "g2": "c2_exp",
    "c2_exp": "c2_exp",
    "phi": "phi_angles_list",
    "phi_angles_list": "phi_angles_list",
    "q": "wavevector_q_list",
    "wavevector_q_list": "wavevector_q_list",
    "t1": "t1",
    "t2": "t2",
    "sigma": "sigma",
    "L": "L",
    "dt": "dt",
}


def is_data(value: object) -> bool:
    """Return whether something is data of an experiment rather than a plain array."""
    if isinstance(value, Mapping | Data):
        return True
    return hasattr(value, "g2") or hasattr(value, "c2_exp")


def data_of(data: Any) -> Any:
    """Return a dict of the loader's keys for an object that has them as attributes."""
    if isinstance(data, Mapping | Data) or not is_data(data):
        return data
    found: dict[str, Any] = {}
    for name, key in _NAMES.items():
        value = getattr(data, name, None)
        if value is not None:
            found.setdefault(key, np.atleast_1d(value) if key == "wavevector_q_list" else value)
    return found


def settings_of_any(config: Any) -> Settings | None:
    """Return settings, also of an object whose attribute ``config`` is the dict.

    Keys the engine does not know are said, not refused: scripts keep their own things in there.
    """
    if config is None or isinstance(config, Settings | ConfigManager):
        return settings_of(config)
    own = getattr(config, "config", config)
    if not isinstance(own, Mapping):
        # An object of the script's own, which says nothing the engine reads.
        return settings_of(own) if isinstance(own, str | os.PathLike) else None
    own = dict(own)
    if own.get("analysis_mode") == "static":
        own["analysis_mode"] = "static_isotropic"
    try:
        return settings_of(own)
    except _core.ConfigError as error:
        if "unknown key" not in str(error):
            raise
        settings = Settings(own, lenient=True)
        for line in settings.notices:
            if "unknown" in line:
                warn(line)
        return settings


def symmetric(data: Any) -> Any:
    """Return data whose two halves agree: those that differ, as two measurements, are averaged."""
    if not isinstance(data, Mapping) or "c2_exp" not in data:
        return data
    c2 = np.asarray(data["c2_exp"])
    if c2.ndim != 3 or c2.shape[1] != c2.shape[2]:
        return data
    mirrored = np.swapaxes(c2, 1, 2)
    halves = [np.abs(np.triu(m, 1)).sum() for m in (c2, mirrored)]
    if min(halves) == 0 or np.allclose(c2, mirrored, rtol=1e-5, atol=1e-6, equal_nan=True):
        return data
    warn("c2_exp: the halves of the matrices differ; they are averaged, as two measurements")
    found = {**data, "c2_exp": 0.5 * (c2 + mirrored)}
    sigma = data.get("sigma")
    if sigma is not None:
        errors = np.broadcast_to(np.asarray(sigma, float), c2.shape)
        found["sigma"] = 0.5 * np.sqrt(errors**2 + np.swapaxes(errors, 1, 2) ** 2)
        if np.ndim(sigma) == 0:
            found["sigma"] = float(np.asarray(sigma)) / 2**0.5
    return found


def data_of_points(
    xdata: npt.ArrayLike, ydata: npt.ArrayLike, q: float, dt: float, gap: float
) -> dict[str, Any]:
    """Return matrices of points (t1, t2, angle); places without a point are NaN."""
    points = np.asarray(xdata, np.float64)
    if points.ndim == 2 and points.shape[0] == 3 != points.shape[1]:
        points = points.T
    values = np.asarray(ydata, np.float64).reshape(-1)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) != len(values):
        raise _core.ShapeError(
            "xdata, ydata: expected rows of t1, t2 and angle with a value each, got shapes "
            f"{np.shape(xdata)} and {np.shape(ydata)}"
        )
    phi, places = np.unique(points[:, 2], return_inverse=True)
    first, second = (np.rint(points[:, axis] / dt).astype(np.int64) for axis in (0, 1))
    begin = int(min(first.min(), second.min()))
    n_frame = int(max(first.max(), second.max())) - begin + 1
    c2 = np.full((len(phi), n_frame, n_frame), np.nan)
    c2[places, first - begin, second - begin] = values
    mirrored = np.swapaxes(c2, 1, 2)
    return {
        "c2_exp": np.where(np.isnan(c2), mirrored, c2),  # the matrices are symmetric
        "phi_angles_list": phi,
        "wavevector_q_list": np.array([q]),
        "t1": dt * (begin + np.arange(n_frame)),
        "dt": dt,
        "L": gap,
    }

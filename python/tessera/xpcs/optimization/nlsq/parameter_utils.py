"""Contrast and offset to begin with, names of parameters, derivatives of residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from logging import Logger
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.core.physics_cmc import compute_g1_total
from tessera.xpcs.core.scaling_utils import estimate_contrast_offset_from_quantiles
from tessera.xpcs.optimization.nlsq import data_prep

Bounds = tuple[float, float]
classify_parameter_status = data_prep.classify_parameter_status


def build_parameter_labels(
    per_angle_scaling: bool, n_phi: int, physical_param_names: Sequence[str]
) -> list[str]:
    """Return the names of all places of a vector; without scaling those of physical ones."""
    if not per_angle_scaling:
        return list(physical_param_names)
    return data_prep.build_parameter_labels(True, n_phi, physical_param_names)


def sample_xdata(xdata: npt.NDArray[Any], max_points: int) -> npt.NDArray[Any]:
    """Return at most so many points, spread evenly."""
    if max_points <= 0 or xdata.size <= max_points:
        return xdata
    return xdata[np.linspace(0, xdata.size - 1, max_points, dtype=np.int64)]


def compute_jacobian_stats(
    residual_fn: Callable[..., Any],
    x_subset: npt.NDArray[Any],
    params: npt.ArrayLike,
    scaling_factor: float,
) -> tuple[Floats | None, Floats | None]:
    """Return the normal matrix and the sizes of the columns of a Jacobian, by differences."""
    values = np.asarray(params, float)

    def residuals(theta: Floats) -> Floats:
        own = getattr(residual_fn, "jax_residual", None)
        found = residual_fn(x_subset, *theta) if own is None else own(theta)
        return np.asarray(found, float).reshape(-1)

    try:
        columns = []
        for place, value in enumerate(values):
            step = 6e-6 * max(abs(value), 1e-3)
            moved = np.zeros_like(values)
            moved[place] = step
            columns.append((residuals(values + moved) - residuals(values - moved)) / (2 * step))
    except (ValueError, RuntimeError, TypeError):
        return None, None
    jacobian = np.stack(columns, axis=1)
    sizes = np.linalg.norm(jacobian, axis=0) * scaling_factor**0.5
    return jacobian.T @ jacobian * scaling_factor, sizes


def _points(stratified_data: Any) -> tuple[Floats, Floats, Floats, Floats, Any]:
    """Return angles, times and values of data in pieces or whole, and who knows the setup."""
    names = ("phi", "t1", "t2", "g2")
    if hasattr(stratified_data, "chunks"):
        pieces = stratified_data.chunks
        phi, t1, t2, g2 = (
            np.concatenate([np.asarray(getattr(piece, name)) for piece in pieces]) for name in names
        )
        return phi, t1, t2, g2, pieces[0]
    phi, t1, t2, g2 = (np.asarray(getattr(stratified_data, f"{name}_flat")) for name in names)
    return phi, t1, t2, g2, stratified_data


def compute_consistent_per_angle_init(
    stratified_data: Any,
    physical_params: npt.ArrayLike,
    physical_param_names: Sequence[str],
    default_contrast: float = 0.5,
    default_offset: float = 1.0,
    logger: Logger | None = None,
) -> tuple[Floats, Floats]:
    """Return the best contrast and offset of every angle for given physical parameters."""
    phi, t1, t2, g2, setup = _points(stratified_data)
    theta = np.asarray(physical_params, float)
    if "gamma_dot_t0" not in physical_param_names:
        theta = theta[:3]
    angles, grid = np.unique(phi), np.unique(t1)
    contrast, offset = np.full(len(angles), default_contrast), np.full(len(angles), default_offset)
    for place, angle in enumerate(angles):
        mask = np.isclose(phi, angle, atol=0.1)
        if mask.sum() <= 2:
            continue
        try:
            g1 = compute_g1_total(
                theta,
                t1[mask],
                t2[mask],
                np.array([angle]),
                setup.q,
                setup.L,
                setup.dt,
                time_grid=grid,
            )[0]
            design = np.column_stack([np.ones_like(g1), g1**2])
            shift, scale = np.linalg.lstsq(design, g2[mask], rcond=None)[0]
        except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            if logger is not None:
                logger.warning("angle %g: %s", angle, error)
            continue
        if 0.0 < scale < 2.0 and 0.5 < shift < 1.5:
            contrast[place], offset[place] = scale, shift
    return contrast, offset


def compute_quantile_per_angle_scaling(
    stratified_data: Any,
    contrast_bounds: Bounds = (0.0, 1.0),
    offset_bounds: Bounds = (0.5, 1.5),
    lag_floor_quantile: float = 0.8,
    lag_ceiling_quantile: float = 0.2,
    value_quantile_low: float = 0.1,
    value_quantile_high: float = 0.9,
    logger: Logger | None = None,
) -> tuple[Floats, Floats]:
    """Return contrast and offset of every angle, read off the data."""
    phi, t1, t2, g2, _ = _points(stratified_data)
    pairs = [
        estimate_contrast_offset_from_quantiles(
            g2[phi == angle],
            np.abs(t1 - t2)[phi == angle],
            contrast_bounds,
            offset_bounds,
            lag_floor_quantile,
            lag_ceiling_quantile,
            value_quantile_low,
            value_quantile_high,
        )
        for angle in np.unique(phi)
    ]
    found = np.array(pairs, float).reshape(-1, 2)
    return found[:, 0], found[:, 1]

"""Pictures of simulations and fits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats, PathLike
from tessera.xpcs.core.models import CombinedModel
from tessera.xpcs.io.json_utils import json_serializer
from tessera.xpcs.utils.logging import get_logger
from tessera.xpcs.viz._pictures import data_limits, extent_of, save_diagonals, save_heatmap
from tessera.xpcs.viz.datashader_backend import plot_c2_comparison_fast

if TYPE_CHECKING:
    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._result import Result

__all__ = [
    "DATASHADER_AVAILABLE",
    "generate_and_plot_fitted_simulations",
    "generate_nlsq_plots",
    "plot_simulated_data",
]

DATASHADER_AVAILABLE = False  # pictures are matplotlib's, whatever is installed

_DEFAULTS = {
    "D0": 100.0,
    "alpha": -0.5,
    "D_offset": 0.0,
    "gamma_dot_t0": 0.01,
    "beta": 0.5,
    "gamma_dot_t_offset": 0.0,
    "phi0": 0.0,
}
_FAINT = 0.1


def _setup(config: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return wave vector, gap and time step of a configuration."""
    own = config.get("analyzer_parameters") or {}
    return (
        float((own.get("scattering") or {}).get("wavevector_q", 0.0054)),
        float((own.get("geometry") or {}).get("stator_rotor_gap", 2e6)),
        float(own.get("dt", (own.get("temporal") or {}).get("dt", 0.1))),
    )


def _frames(config: Mapping[str, Any]) -> int:
    own = config.get("analyzer_parameters") or {}
    within = own.get("temporal") or {}
    first = own.get("start_frame", within.get("start_frame", 1))
    last = own.get("end_frame", within.get("end_frame", 8000))
    return int(last) - int(first) + 1


def _angles(text: str | None, data: Mapping[str, Any] | None) -> Floats:
    if text:
        return np.array([float(word) for word in text.split(",")])
    if data is not None and "phi_angles_list" in data:
        return np.asarray(data["phi_angles_list"], float)
    return np.linspace(0, 180, 8)


def plot_simulated_data(
    config: Mapping[str, Any],
    contrast: float,
    offset: float,
    phi_angles_str: str | None,
    plots_dir: PathLike,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Draw the model of a configuration: a map for every angle, and the diagonals of all.

    Parameters
    ----------
    config : dict
        With ``analysis_mode``, ``initial_parameters`` and ``analyzer_parameters``.
    contrast, offset : float
        Scaling.
    phi_angles_str : str or None
        Degrees with commas between; by default those of the data, or eight from 0 to 180.
    plots_dir : path
        Gets ``simulated_data_phi_<angle>.png`` and ``simulated_data_diagonal.png``; it is made if
        it is not there.
    data : dict, optional
        With ``phi_angles_list``.
    """
    if contrast < _FAINT:
        get_logger(__name__).warning(
            f"contrast {contrast} is low: the maps will be flat; data mostly have 0.1 to 0.5"
        )
    folder = Path(plots_dir)
    folder.mkdir(parents=True, exist_ok=True)
    mode = config.get("analysis_mode", "static")
    model = CombinedModel(mode)
    start = config.get("initial_parameters") or {}
    said = dict(zip(start.get("parameter_names") or (), start.get("values") or (), strict=False))
    theta = np.array([float(said.get(name, _DEFAULTS[name])) for name in model.parameter_names])
    phi = _angles(phi_angles_str, data)
    q, gap, dt = _setup(config)
    times = dt * np.arange(1, _frames(config) + 1)
    c2 = model.compute_g2(theta, times, times, phi, q, gap, contrast, offset, dt)
    limits = data_limits(c2, 1.0, 1.6)
    for angle, matrix in zip(phi, c2, strict=True):
        save_heatmap(
            folder / f"simulated_data_phi_{angle:.1f}.png",
            matrix,
            times,
            f"Simulated C₂(t₁, t₂) at φ={angle:.1f}°",
            limits,
            f"Mode: {mode}\nContrast: {contrast:.3f}\nOffset: {offset:.3f}",
        )
    title = f"Simulated C₂ Along Diagonal (contrast={contrast:.3f}, offset={offset:.3f})"
    save_diagonals(folder / "simulated_data_diagonal.png", c2, phi, times, title)


def _fitted_parameters(
    result: Any, n_angle: int, n_physical: int
) -> tuple[Floats, Floats, Floats] | None:
    """Return contrasts, offsets and physical parameters of a result of ours or the original's."""
    if hasattr(result, "mean_params"):
        scaling = (result.mean_contrast, result.mean_offset)
        contrast, offset = (np.full(n_angle, float(value)) for value in scaling)
        return contrast, offset, np.asarray(result.mean_params, float)
    values = getattr(result, "parameters", None)
    if values is None or len(values) < n_physical + 2:
        return None
    vector = np.asarray(values, float)
    contrast, offset = np.split(vector[: len(vector) - n_physical], 2)
    if len(contrast) != n_angle:
        contrast, offset = (np.full(n_angle, part.mean()) for part in (contrast, offset))
    return contrast, offset, vector[-n_physical:]


def generate_and_plot_fitted_simulations(
    result: Result,
    data: Mapping[str, Any],
    config: Mapping[str, Any],
    output_dir: PathLike,
    angle_filter_func: Callable[..., Mapping[str, Any]] | None = None,
) -> None:
    """Draw and save the model at fitted parameters.

    Parameters
    ----------
    result : Result
        Of a fit.
    data : dict
        With ``phi_angles_list``, ``t1`` and ``t2``.
    config : dict
        The configuration.
    output_dir : path
        Whose folder ``simulated_data`` gets ``c2_fitted_data.npz``,
        ``simulation_config_fitted.json`` and a picture for every angle.
    angle_filter_func : callable, optional
        Called with the data and a ConfigManager; gives the data to draw.
    """
    if angle_filter_func is not None:
        from tessera.xpcs.config.manager import ConfigManager

        data = angle_filter_func(data, ConfigManager(config_override=dict(config)))
    phi, t1, t2 = (data.get(name) for name in ("phi_angles_list", "t1", "t2"))
    mode = config.get("analysis_mode", "static_isotropic")
    model = CombinedModel(mode)
    if phi is None or t1 is None or t2 is None:
        get_logger(__name__).warning("no angles or times in the data: nothing is drawn")
        return
    angles = np.asarray(phi, float)
    found = _fitted_parameters(result, len(angles), model.n_params)
    if found is None:
        get_logger(__name__).warning("no parameters in the result: nothing is drawn")
        return
    contrast, offset, theta = found
    q, gap, dt = _setup(config)
    plain = model.compute_g2(theta, np.asarray(t1), np.asarray(t2), angles, q, gap, 1.0, 0.0, dt)
    c2 = offset[:, None, None] + contrast[:, None, None] * plain
    folder = Path(output_dir) / "simulated_data"
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / "c2_fitted_data.npz",
        c2_data=c2,
        phi_angles=angles,
        t1=np.asarray(t1),
        t2=np.asarray(t2),
        initial_params=theta,
        contrast=contrast,
        offset=offset,
    )
    facts = {
        "command_line_args": {
            "contrast": contrast,
            "offset": offset,
            "phi_angles": ",".join(f"{angle:.1f}" for angle in angles),
        },
        "parameters": {"values": theta, "names": model.parameter_names},
        "data_type": "fitted",
        "analysis_mode": mode,
    }
    text = json.dumps(facts, indent=2, default=json_serializer)
    (folder / "simulation_config_fitted.json").write_text(text, encoding="utf-8")
    for place, angle in enumerate(angles):
        save_heatmap(
            folder / f"simulated_c2_fitted_phi_{angle:.1f}deg.png",
            c2[place],
            None,
            f"Fitted C₂(t₁, t₂) at φ={angle:.1f}°",
            None,
            f"Contrast: {contrast[place]:.3f}\nOffset: {offset[place]:.3f}",
            extent=extent_of(t1, t2),
        )


def generate_nlsq_plots(
    phi_angles: npt.ArrayLike,
    c2_exp: npt.ArrayLike,
    c2_theoretical_scaled: npt.ArrayLike,
    residuals: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    output_dir: PathLike,
    config: ConfigLike = None,
    use_datashader: bool = True,
    parallel: bool = True,
    *,
    c2_solver_scaled: npt.ArrayLike | None = None,
) -> None:
    """Draw data, fit and residuals of every angle.

    Parameters
    ----------
    phi_angles : array, shape (n_angle,)
        Degrees.
    c2_exp, c2_theoretical_scaled, residuals : array, shape (n_angle, n, n)
        Data, fit and their difference.
    t1, t2 : array
        Times.
    output_dir : path
        Gets ``c2_heatmaps_phi_<angle>deg.png``; it is made if it is not there.
    config : ConfigManager or dict, optional
        ``output.plots``: ``fit_surface`` ('solver' or 'posthoc') and ``color_scale``
        (``percentile_min``, ``percentile_max``).
    use_datashader, parallel : bool
        Accepted for scripts of the original: pictures are matplotlib's, one after the other.
    c2_solver_scaled : array, optional
        The fit with the scaling the solver ended with, drawn unless the configuration says
        'posthoc'.
    """
    own: Any = getattr(config, "config", config)
    plots = ((own.get("output") or {}).get("plots") or {}) if isinstance(own, Mapping) else {}
    data = np.asarray(c2_exp, float)
    fit = np.asarray(c2_theoretical_scaled, float)
    if c2_solver_scaled is not None and plots.get("fit_surface", "solver") == "solver":
        fit = np.asarray(c2_solver_scaled, float)
    scale = plots.get("color_scale") or {}
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for place, angle in enumerate(np.asarray(phi_angles, float)):
        plot_c2_comparison_fast(
            data[place],
            fit[place],
            data[place] - fit[place],
            t1,
            t2,
            folder / f"c2_heatmaps_phi_{angle:.1f}deg.png",
            phi_angle=float(angle),
            percentile_min=scale.get("percentile_min", 1.0),
            percentile_max=scale.get("percentile_max", 99.0),
        )

"""Files of a fit: three of JSON, one of arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import PathLike
from tessera.xpcs.io.json_utils import json_serializer

__all__ = ["save_nlsq_json_files", "save_nlsq_npz_file"]


def save_nlsq_json_files(
    param_dict: Mapping[str, Any],
    analysis_dict: Mapping[str, Any],
    convergence_dict: Mapping[str, Any],
    output_dir: PathLike,
) -> None:
    """Write parameters, analysis and convergence of a fit.

    Parameters
    ----------
    param_dict, analysis_dict, convergence_dict : dict
        To ``parameters.json``, ``analysis_results_nlsq.json`` and ``convergence_metrics.json``.
    output_dir : path
        The folder, which has to be there.
    """
    files = {
        "parameters.json": param_dict,
        "analysis_results_nlsq.json": analysis_dict,
        "convergence_metrics.json": convergence_dict,
    }
    try:
        for name, content in files.items():
            text = json.dumps(content, indent=2, default=json_serializer)
            (Path(output_dir) / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OSError(f"Failed to write NLSQ JSON files to {output_dir}: {error}") from error


def save_nlsq_npz_file(
    phi_angles: npt.ArrayLike,
    c2_exp: npt.ArrayLike,
    c2_raw: npt.ArrayLike,
    c2_scaled: npt.ArrayLike,
    c2_solver: npt.ArrayLike | None,
    per_angle_scaling: npt.ArrayLike,
    per_angle_scaling_solver: npt.ArrayLike,
    residuals: npt.ArrayLike,
    residuals_norm: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    q: float,
    output_dir: PathLike,
) -> None:
    """Write data, model and residuals of a fit to ``fitted_data.npz``.

    Parameters
    ----------
    phi_angles : array, shape (n_angle,)
        Degrees.
    c2_exp, c2_raw, c2_scaled : array, shape (n_angle, n, n)
        Data, and the model without and with scaling.
    c2_solver : array, optional
        The model with the scaling the solver ended with.
    per_angle_scaling, per_angle_scaling_solver : array, shape (n_angle, 2)
        Contrast and offset.
    residuals, residuals_norm : array, shape (n_angle, n, n)
        Data less model, and over sigma.
    t1, t2 : array
        Times.
    q : float
        Wave vector.
    output_dir : path
        The folder, which has to be there.
    """
    arrays: dict[str, Any] = {
        "phi_angles": phi_angles,
        "c2_exp": c2_exp,
        "c2_theoretical_raw": c2_raw,
        "c2_theoretical_scaled": c2_scaled,
        "per_angle_scaling": per_angle_scaling,
        "per_angle_scaling_solver": per_angle_scaling_solver,
        "residuals": residuals,
        "residuals_normalized": residuals_norm,
        "t1": t1,
        "t2": t2,
        "q": np.array([q]),
    }
    if c2_solver is not None:
        arrays["c2_solver_scaled"] = c2_solver
    file = Path(output_dir) / "fitted_data.npz"
    try:
        np.savez_compressed(file, **arrays)
    except OSError as error:
        raise OSError(f"Failed to write NPZ file to {file}: {error}") from error

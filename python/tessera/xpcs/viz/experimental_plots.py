"""Pictures of data, and of data beside a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import PathLike
from tessera.xpcs.utils.logging import get_logger
from tessera.xpcs.viz._pictures import (
    data_limits,
    draw_map,
    extent_of,
    new_figure,
    save,
    save_diagonals,
    save_heatmap,
)

if TYPE_CHECKING:
    from tessera.xpcs._result import Result

__all__ = ["plot_experimental_data", "plot_fit_comparison"]


def _curve(path: Path, values: Any, title: str) -> None:
    figure = new_figure(10, 6)
    axes = figure.add_subplot()
    axes.plot(np.asarray(values), marker="o", alpha=0.7)
    axes.set_xlabel("Data Point Index")
    axes.set_ylabel("C₂")
    axes.set_title(title)
    axes.grid(visible=True, alpha=0.3)
    save(figure, path)


def plot_experimental_data(
    data: Mapping[str, Any],
    plots_dir: PathLike,
    angle_filter_func: Callable[..., tuple[object, npt.ArrayLike, npt.ArrayLike]] | None = None,
) -> None:
    """Draw a map for every angle, and the diagonals of all.

    Parameters
    ----------
    data : dict
        ``c2_exp``, and ``t1``, ``t2``, ``phi_angles_list`` if they are known.
    plots_dir : path
        Gets ``experimental_data_phi_<angle>.png`` and ``experimental_data_diagonal.png``; it is
        made if it is not there.
    angle_filter_func : callable, optional
        Called with angles, matrices and the data; gives places, angles and matrices to draw.
    """
    c2 = data.get("c2_exp")
    if c2 is None:
        get_logger(__name__).warning("no c2_exp in the data: nothing is drawn")
        return
    folder = Path(plots_dir)
    folder.mkdir(parents=True, exist_ok=True)
    c2 = np.asarray(c2)
    t1, t2 = data.get("t1"), data.get("t2")
    phi = data.get("phi_angles_list")
    phi = np.arange(len(c2), dtype=float) if phi is None else np.asarray(phi, float)
    if angle_filter_func is not None:
        _, phi, c2 = (np.asarray(part) for part in angle_filter_func(phi, c2, data))
    extent = extent_of(t1, t2)
    if c2.ndim == 3:
        for place, matrix in enumerate(c2):
            angle = float(phi[place]) if place < len(phi) else 0.0
            save_heatmap(
                folder / f"experimental_data_phi_{angle:.1f}.png",
                matrix,
                None,
                f"Experimental C₂(t₁, t₂) at φ={angle:.1f}°",
                data_limits(matrix),
                extent=extent,
            )
        title = "C₂ Diagonal (t₁=t₂) for Different φ Angles"
        save_diagonals(folder / "experimental_data_diagonal.png", c2, phi, t1, title)
    elif c2.ndim == 2:
        save_heatmap(
            folder / "experimental_data.png",
            c2,
            None,
            "Experimental C₂ Data",
            data_limits(c2),
            extent=extent,
        )
    elif c2.ndim == 1:
        _curve(folder / "experimental_data.png", c2, "Experimental C₂ Data")
    else:
        get_logger(__name__).warning(f"c2_exp of shape {c2.shape} cannot be drawn")


def plot_fit_comparison(result: Result, data: Mapping[str, Any], plots_dir: PathLike) -> None:
    """Draw data and fit of every angle side by side; the original draws the data only.

    Parameters
    ----------
    result : Result
        Of a fit; with another object the data are drawn alone.
    data : dict
        With ``c2_exp``.
    plots_dir : path
        Gets ``fit_comparison.png``; it is made if it is not there.
    """
    c2 = data.get("c2_exp")
    if c2 is None:
        return
    folder = Path(plots_dir)
    folder.mkdir(parents=True, exist_ok=True)
    matrices = np.asarray(c2, float)
    if matrices.ndim == 1:
        _curve(folder / "fit_comparison.png", matrices, "Experimental Data")
        return
    matrices = matrices.reshape(-1, *matrices.shape[-2:])
    fitted = getattr(result, "model", None)
    surfaces = None
    if callable(fitted):
        surfaces = [np.asarray(fitted(place)) for place in range(len(matrices))]
    figure = new_figure(14, 5 * len(matrices))
    extent = extent_of(data.get("t1"), data.get("t2"))
    for place, matrix in enumerate(matrices):
        limits = data_limits(matrix)
        left = figure.add_subplot(len(matrices), 2, 2 * place + 1)
        draw_map(left, matrix, "Experimental Data", extent, limits)
        if surfaces is not None:
            right = figure.add_subplot(len(matrices), 2, 2 * place + 2)
            draw_map(right, surfaces[place], "Fit Results", extent, limits)
    save(figure, folder / "fit_comparison.png")

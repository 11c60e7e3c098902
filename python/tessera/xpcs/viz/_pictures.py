"""Maps of correlations as the original draws them: one colour scale, times along both axes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Limits = tuple[float, float]
_BOX = {"boxstyle": "round", "facecolor": "white", "alpha": 0.8}


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that belongs to no window and no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as MatplotlibFigure

    figure = MatplotlibFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Write a figure."""
    figure.savefig(path, dpi=dpi, bbox_inches="tight")


def extent_of(t1: Any, t2: Any) -> tuple[float, float, float, float] | None:
    """Return the corners of a map in seconds, or None where times are not known."""
    if t1 is None or t2 is None:
        return None
    corners = [f(np.asarray(t, float)) for t in (t1, t2) for f in (np.nanmin, np.nanmax)]
    if not np.isfinite(corners).all():
        return None
    return (float(corners[0]), float(corners[1]), float(corners[2]), float(corners[3]))


def data_limits(values: npt.ArrayLike, low: float = 1.0, high: float = 1.5) -> Limits:
    """Return the range of colours: that of the data within where correlations lie."""
    found = np.asarray(values, float)
    least, most = float(np.nanmin(found)), float(np.nanmax(found))
    inner = (max(least, low), min(most, high))
    return inner if inner[0] < inner[1] else (least, most)


def percentile_limits(values: npt.ArrayLike, low: float, high: float) -> Limits:
    """Return the range of colours that leaves out the tails."""
    found = np.asarray(values, float)
    return float(np.nanpercentile(found, low)), float(np.nanpercentile(found, high))


def draw_map(
    axes: Axes,
    matrix: npt.ArrayLike,
    title: str,
    extent: tuple[float, float, float, float] | None,
    limits: Limits | None,
    label: str = "C₂(t₁,t₂)",
    cmap: str = "jet",
) -> None:
    """Draw one map with its scale of colours."""
    low, high = (None, None) if limits is None else limits
    image = axes.imshow(
        np.asarray(matrix).T,
        origin="lower",
        aspect="equal",
        extent=extent,
        cmap=cmap,
        vmin=low,
        vmax=high,
    )
    unit = "Index" if extent is None else "(s)"
    axes.set_xlabel(f"t₁ {unit}")
    axes.set_ylabel(f"t₂ {unit}")
    axes.set_title(title)
    axes.figure.colorbar(image, ax=axes, label=label, shrink=0.9)


def note(axes: Axes, text: str, top: bool = True) -> None:
    """Write into a corner of a map."""
    height, where = (0.98, "top") if top else (0.02, "bottom")
    axes.text(
        0.02, height, text, transform=axes.transAxes, fontsize=9, verticalalignment=where, bbox=_BOX
    )


def statistics_note(axes: Axes, matrix: npt.ArrayLike) -> None:
    """Write mean and range of a map into its corner."""
    values = np.asarray(matrix, float)
    mean, low, high = np.nanmean(values), np.nanmin(values), np.nanmax(values)
    note(axes, f"Mean: {mean:.4f}\nRange: [{low:.4f}, {high:.4f}]")


def save_heatmap(
    path: Path,
    matrix: npt.ArrayLike,
    times: npt.ArrayLike | None,
    title: str,
    limits: Limits | None = None,
    text: str = "",
    extent: tuple[float, float, float, float] | None = None,
) -> None:
    """Draw and write one map."""
    figure = new_figure(8, 7)
    axes = figure.add_subplot()
    draw_map(axes, matrix, title, extent or extent_of(times, times), limits, "C₂")
    statistics_note(axes, matrix)
    if text:
        note(axes, text, top=False)
    save(figure, path)


def save_diagonals(
    path: Path,
    matrices: npt.ArrayLike,
    phi: npt.ArrayLike,
    times: npt.ArrayLike | None,
    title: str,
) -> None:
    """Draw and write the diagonals of up to ten angles."""
    figure = new_figure(10, 6)
    axes = figure.add_subplot()
    angles = np.asarray(phi, float)
    for place, matrix in enumerate(np.asarray(matrices)[:10]):
        diagonal = np.diagonal(matrix)
        where: Floats = np.arange(len(diagonal), dtype=float)
        if times is not None:
            along = np.asarray(times, float)
            where = (along[:, 0] if along.ndim == 2 else along)[: len(diagonal)]
        axes.plot(where, diagonal[: len(where)], label=f"φ={angles[place]:.1f}°", alpha=0.7)
    axes.set_xlabel("Time Index" if times is None else "Time (s)")
    axes.set_ylabel("C₂(t, t)")
    axes.set_title(title)
    axes.legend(loc="best")
    axes.grid(visible=True, alpha=0.3)
    save(figure, path)

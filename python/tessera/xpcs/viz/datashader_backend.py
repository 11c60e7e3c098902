"""Maps by the original's names for Datashader, drawn by matplotlib: the same picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import PathLike
from tessera.xpcs.viz._pictures import (
    Limits,
    data_limits,
    draw_map,
    extent_of,
    new_figure,
    percentile_limits,
    save,
)

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["DatashaderRenderer", "plot_c2_comparison_fast", "plot_c2_heatmap_fast"]


def _limits(
    values: npt.ArrayLike,
    vmin: float | None,
    vmax: float | None,
    adaptive: bool,
    percentiles: Limits,
) -> Limits:
    """Return the range of colours: what was asked for, else percentiles, else 1 to 1.5."""
    low, high = percentile_limits(values, *percentiles) if adaptive else (1.0, 1.5)
    found = (low if vmin is None else vmin, high if vmax is None else vmax)
    return found if np.isfinite(found).all() and found[0] < found[1] else data_limits(values)


class DatashaderRenderer:
    """Makes images of matrices.

    Parameters
    ----------
    width, height : int, default 800
        Pixels.
    """

    def __init__(self, width: int = 800, height: int = 800) -> None:
        self.width = width
        self.height = height

    def rasterize_heatmap(
        self,
        data: npt.ArrayLike,
        x_coords: npt.ArrayLike,
        y_coords: npt.ArrayLike,
        cmap: str = "jet",
        vmin: float | None = None,
        vmax: float | None = None,
    ) -> Image:
        """Make an image, rows upwards.

        Parameters
        ----------
        data : array, shape (n_y, n_x)
            The matrix.
        x_coords, y_coords : array
            Of its columns and rows.
        cmap : str, default 'jet'
            Colours of matplotlib.
        vmin, vmax : float, optional
            Range of colours; by default that of the matrix.

        Returns
        -------
        PIL.Image.Image
            The image.
        """
        from matplotlib import colormaps
        from PIL import Image as Images

        values = np.asarray(data, float)
        for axis, name, along in ((0, "y", y_coords), (1, "x", x_coords)):
            if values.shape[axis] != np.size(along):
                raise ValueError(
                    f"Data {name}-dimension ({values.shape[axis]}) doesn't match {name}_coords "
                    f"length ({np.size(along)})"
                )
        low = float(np.nanmin(values)) if vmin is None else vmin
        high = float(np.nanmax(values)) if vmax is None else vmax
        scaled = (values - low) / ((high - low) or 1.0)
        colours = (colormaps[cmap](np.clip(scaled, 0.0, 1.0)) * 255).astype(np.uint8)
        image: Any = Images.fromarray(colours[::-1], "RGBA")
        resized: Image = image.resize((self.width, self.height), Images.Resampling.NEAREST)
        return resized


def plot_c2_heatmap_fast(
    c2_data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    output_path: PathLike,
    title: str = "C2 Correlation",
    phi_angle: float | None = None,
    cmap: str = "jet",
    width: int = 800,
    height: int = 800,
    vmin: float | None = None,
    vmax: float | None = None,
    adaptive: bool = True,
    percentile_min: float = 1.0,
    percentile_max: float = 99.0,
) -> None:
    """Draw and write one map.

    Parameters
    ----------
    c2_data : array, shape (n, n)
        Correlations.
    t1, t2 : array
        Times.
    output_path : path
        The picture.
    title : str
        Above it.
    phi_angle : float, optional
        In the title.
    cmap : str, default 'jet'
        Colours of matplotlib.
    width, height : int, default 800
        Accepted for scripts of the original; the picture has 150 dots an inch.
    vmin, vmax : float, optional
        Range of colours.
    adaptive : bool, default True
        By default percentiles of the map, else 1 to 1.5.
    percentile_min, percentile_max : float
        Which percentiles.
    """
    figure = new_figure(8, 7)
    limits = _limits(c2_data, vmin, vmax, adaptive, (percentile_min, percentile_max))
    where = "" if phi_angle is None else f" (φ={phi_angle:.1f}°)"
    draw_map(figure.add_subplot(), c2_data, f"{title}{where}", extent_of(t1, t2), limits, cmap=cmap)
    save(figure, Path(output_path))


def plot_c2_comparison_fast(
    c2_exp: npt.ArrayLike,
    c2_fit: npt.ArrayLike,
    residuals: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    output_path: PathLike,
    phi_angle: float = 0.0,
    width: int = 1200,
    height: int = 1200,
    vmin: float | None = None,
    vmax: float | None = None,
    adaptive: bool = True,
    percentile_min: float = 1.0,
    percentile_max: float = 99.0,
) -> None:
    """Draw and write data, fit and residuals side by side.

    Parameters
    ----------
    c2_exp, c2_fit, residuals : array, shape (n, n)
        The three maps.
    t1, t2 : array
        Times.
    output_path : path
        The picture.
    phi_angle : float, default 0
        In the titles.
    width, height : int, default 1200
        Accepted for scripts of the original; the picture has 150 dots an inch.
    vmin, vmax, adaptive, percentile_min, percentile_max
        As in :func:`plot_c2_heatmap_fast`.
    """
    figure = new_figure(15, 5)
    extent = extent_of(t1, t2)
    tails = (percentile_min, percentile_max)
    shared = _limits(np.stack([c2_exp, c2_fit]), vmin, vmax, adaptive, tails)
    miss = np.asarray(residuals, float)
    finite = miss[np.isfinite(miss)]
    spread = (float(finite.min()), float(finite.max())) if finite.size else (-0.1, 0.1)
    panels = (
        ("Experimental C₂", c2_exp, shared, "C₂(t₁,t₂)"),
        ("Classical Fit", c2_fit, shared, "C₂(t₁,t₂)"),
        ("Residuals", miss, spread, "ΔC₂"),
    )
    for place, (title, values, limits, label) in enumerate(panels):
        axes = figure.add_subplot(1, 3, place + 1)
        draw_map(axes, values, f"{title} (φ={phi_angle:.1f}°)", extent, limits, label)
    save(figure, Path(output_path))

"""Figures by matplotlib, which is asked for only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tessera.xpcs._arguments import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tessera.xpcs._result import Result


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "figures need matplotlib (pip install matplotlib); Result.save_figures() and "
            "Result.report() need nothing"
        ) from None
    return plt


def plot_maps(result: Result, angle: int, axes: Any) -> Figure:
    """Draw measured, fitted and residual correlations."""
    if axes is None:
        _, axes = _pyplot().subplots(1, 3, figsize=(13, 4), constrained_layout=True)
    measured, fitted = result.data.matrix(angle), result.model(angle)
    low, high = np.nanpercentile(measured, [1, 99])
    miss = measured - fitted
    far = float(np.nanpercentile(np.abs(miss), 99)) or 1.0
    t = result.data.t
    extent = (t[0], t[-1], t[0], t[-1])
    panels = (
        ("measured", measured, low, high, "viridis"),
        ("fitted", fitted, low, high, "viridis"),
        ("residual", miss, -far, far, "RdBu_r"),
    )
    for ax, (title, values, bottom, top, colors) in zip(axes, panels, strict=True):
        # Rows are t1, which runs to the right.
        image = ax.imshow(
            values.T, origin="lower", extent=extent, vmin=bottom, vmax=top, cmap=colors
        )
        ax.set(title=f"{title}, phi {result.phi[angle]:.1f}°", xlabel="t1 (s)", ylabel="t2 (s)")
        ax.figure.colorbar(image, ax=ax)
    return cast("Figure", axes[0].figure)


def by_lag(matrix: Floats) -> Floats:
    """Return the mean of every diagonal above the main one."""
    return np.array([np.nanmean(np.diagonal(matrix, k)) for k in range(1, len(matrix))])


def plot_g2(result: Result, angle: int, ax: Any) -> Figure:
    """Draw mean correlations by lag."""
    if ax is None:
        _, ax = _pyplot().subplots(constrained_layout=True)
    lag = np.arange(1, result.data.n_frame) * result.data.dt
    ax.semilogx(lag, by_lag(result.data.matrix(angle)), ".", label="measured")
    ax.semilogx(lag, by_lag(result.model(angle)), "-", label="fitted")
    ax.set(xlabel="lag (s)", ylabel="mean c2", title=f"phi {result.phi[angle]:.1f}°")
    ax.legend()
    return cast("Figure", ax.figure)

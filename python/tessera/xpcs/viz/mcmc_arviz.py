"""Figures that the original leaves to ArviZ; here they need matplotlib alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs import _chains
from tessera.xpcs._plots import _pyplot
from tessera.xpcs._posterior_plots import KINDS
from tessera.xpcs.viz._draws import draws_of, empty_figure, finish, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tessera.xpcs._arguments import PathLike

__all__ = ["plot_arviz_pair", "plot_arviz_posterior", "plot_arviz_trace"]

_create_empty_figure = empty_figure


def _drawn(kind: str, result: Any, names: Sequence[str] | None, figsize: Any) -> Figure | None:
    draws: Any = draws_of(result)
    if draws is None:
        return None
    figure = KINDS[kind](draws, list(names or draws.physical()))
    if figsize is not None:
        figure.set_size_inches(*figsize)
    return figure


def plot_arviz_trace(
    result: Any,
    var_names: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
    **kwargs: Any,
) -> Figure:
    """Draw the draws of every parameter in their order, and their histograms.

    Parameters
    ----------
    result : CMCResult
        Draws.
    var_names : list of str, optional
        Which; by default the physical parameters.
    figsize, show, save_path, dpi
        Size, and what becomes of the figure.
    **kwargs
        Accepted for scripts of the original, where they are ArviZ's.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    del kwargs
    figure = _drawn("trace", result, var_names, figsize) or empty_figure("No samples available")
    return finish(titled(figure, "MCMC Trace Plots", result), show, save_path, dpi)


def plot_arviz_posterior(
    result: Any,
    var_names: Sequence[str] | None = None,
    hdi_prob: float = 0.95,
    figsize: tuple[float, float] | None = None,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
    **kwargs: Any,
) -> Figure:
    """Draw histograms with their shortest intervals.

    Parameters
    ----------
    result : CMCResult
        Draws.
    var_names : list of str, optional
        Which; by default the physical parameters.
    hdi_prob : float, default 0.95
        Share of the draws in the interval.
    figsize, show, save_path, dpi
        Size, and what becomes of the figure.
    **kwargs
        Accepted for scripts of the original, where they are ArviZ's.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    del kwargs
    draws = draws_of(result)
    if draws is None:
        return finish(empty_figure("No samples available"), show, save_path, dpi)
    names = list(var_names or draws.physical())
    size = figsize or (4 * min(3, len(names)), 3 * -(-len(names) // 3))
    figure, axes = _pyplot().subplots(
        -(-len(names) // 3), min(3, len(names)), figsize=size, squeeze=False, layout="tight"
    )
    for ax in np.ravel(axes)[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(np.ravel(axes), names, strict=False):
        low, high = _chains.interval(draws[name], hdi_prob)
        ax.hist(draws[name].ravel(), 40, density=True, histtype="stepfilled", alpha=0.6)
        ax.plot([low, high], [0, 0], "k", lw=4)
        ax.set(title=f"{name}: {draws[name].mean():.4g} [{low:.4g}, {high:.4g}]", yticks=[])
    title = f"Posterior Distributions ({int(hdi_prob * 100)}% HDI)"
    return finish(titled(figure, title, result), show, save_path, dpi)


def plot_arviz_pair(
    result: Any,
    var_names: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
    **kwargs: Any,
) -> Figure:
    """Draw parameters against each other.

    Parameters
    ----------
    result : CMCResult
        Draws.
    var_names : list of str, optional
        Which; by default the physical parameters.
    figsize, show, save_path, dpi
        Size, and what becomes of the figure.
    **kwargs
        Accepted for scripts of the original, where they are ArviZ's.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    del kwargs
    figure = _drawn("pair", result, var_names, figsize) or empty_figure("No samples available")
    return finish(titled(figure, "Parameter Correlations", result), show, save_path, dpi)

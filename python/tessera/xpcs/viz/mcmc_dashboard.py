"""A run on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs._plots import _pyplot
from tessera.xpcs.viz._draws import draws_of, empty_figure, finish, is_cmc, titled
from tessera.xpcs.viz.mcmc_diagnostics import _numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tessera.xpcs._arguments import PathLike

__all__ = ["plot_cmc_summary_dashboard"]


def plot_cmc_summary_dashboard(
    result: Any,
    figsize: tuple[float, float] = (16, 12),
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
) -> Figure:
    """Draw R-hat, sizes, draws and histograms of a run on one page.

    Parameters
    ----------
    result : CMCResult
        Draws.
    figsize, show, save_path, dpi
        Size, and what becomes of the figure.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    if not is_cmc(result):
        raise ValueError("Summary dashboard is only available for CMC results")
    draws = draws_of(result)
    if draws is None:
        return finish(empty_figure("No samples available"), show, save_path, dpi)
    names = draws.physical()[:4]
    figure, axes = _pyplot().subplots(3, 4, figsize=figsize, squeeze=False, layout="tight")
    r_hat = _numbers(result, "r_hat")
    sizes = _numbers(result, "ess_bulk", "effective_sample_size")
    for ax, values, title in ((axes[0][0], r_hat, "R-hat"), (axes[0][1], sizes, "ESS")):
        ax.barh(list(values), list(values.values()))
        ax.set(title=title)
    facts = ("convergence_status", "divergences", "n_chains", "n_samples", "execution_time")
    lines = [f"{name}: {getattr(result, name)}" for name in facts if hasattr(result, name)]
    axes[0][2].text(0, 1, "\n".join(lines), va="top", transform=axes[0][2].transAxes)
    for ax in axes[0][2:]:
        ax.axis("off")
    for place, name in enumerate(names):
        for chain in draws[name]:
            axes[1][place].plot(chain, lw=0.4)
            axes[2][place].hist(chain, 30, density=True, histtype="step")
        axes[1][place].set(title=name)
    for ax in np.ravel(axes[1:, len(names) :]):
        ax.axis("off")
    return finish(titled(figure, "Sampling Summary", result), show, save_path, dpi)

"""Shards against all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs._plots import _pyplot
from tessera.xpcs.viz._draws import draws_of, finish, is_cmc, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tessera.xpcs._arguments import PathLike

__all__ = ["plot_posterior_comparison"]


def plot_posterior_comparison(
    result: Any,
    param_indices: Sequence[int] | None = None,
    figsize: tuple[float, float] | None = None,
    bins: int = 30,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
) -> Figure:
    """Draw histograms of every shard's draws and of the combined ones.

    Parameters
    ----------
    result : CMCResult
        With ``per_shard_diagnostics``, each with ``trace_data``.
    param_indices : list of int, optional
        Which; by default the first six.
    figsize : (float, float), optional
        Inches.
    bins : int, default 30
        Of the histograms.
    show, save_path, dpi
        What becomes of the figure.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    if not is_cmc(result):
        raise ValueError("Posterior comparison is only available for CMC results")
    shards = getattr(result, "per_shard_diagnostics", None)
    if shards is None:
        raise ValueError("Per-shard diagnostics not available: all data were sampled at once")
    draws = draws_of(result)
    names = draws.names if draws is not None else []
    places = list(range(min(6, len(names)))) if param_indices is None else list(param_indices)
    columns = max(1, min(3, len(places)))
    rows = max(1, -(-len(places) // columns))
    size = figsize or (5 * columns, 4 * rows)
    figure, axes = _pyplot().subplots(rows, columns, figsize=size, squeeze=False, layout="tight")
    for ax in np.ravel(axes)[len(places) :]:
        ax.set_visible(False)
    for ax, place in zip(np.ravel(axes), places, strict=False):
        for number, shard in enumerate(shards):
            trace = shard.get("trace_data", {}).get(f"param_{place}")
            if trace is not None:
                ax.hist(np.ravel(trace), bins, alpha=0.3, density=True, label=f"Shard {number}")
        if draws is not None:
            own = draws[names[place]].ravel()
            ax.hist(own, bins, density=True, histtype="step", color="k", lw=2, label="Combined")
            ax.set(xlabel=names[place], ylabel="density")
    if places and len(shards) <= 10:
        axes[0][0].legend(fontsize=8)
    return finish(titled(figure, "Posterior Comparison", result), show, save_path, dpi)

"""Whether chains mixed, as figures by the original's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._plots import _pyplot
from tessera.xpcs._posterior_plots import KINDS
from tessera.xpcs.viz._draws import draws_of, empty_figure, finish, is_cmc, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tessera.xpcs._arguments import Floats, PathLike

__all__ = [
    "compute_bfmi",
    "plot_convergence_diagnostics",
    "plot_kl_divergence_matrix",
    "plot_trace_plots",
]

_ANNOTATED = 20  # shards up to which numbers are written into the squares


def plot_trace_plots(
    result: Any,
    param_names: Sequence[str] | None = None,
    max_params: int = 9,
    figsize: tuple[float, float] | None = None,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
) -> Figure:
    """Draw the draws of every parameter in their order.

    Parameters
    ----------
    result : CMCResult
        Draws.
    param_names : list of str, optional
        Which; by default the physical parameters.
    max_params : int, default 9
        How many at most.
    figsize, show, save_path, dpi
        Size, and what becomes of the figure.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    draws = draws_of(result)
    if draws is None:
        return finish(empty_figure("No samples available"), show, save_path, dpi)
    own: Any = draws
    known = [name for name in param_names or draws.physical() if name in draws.names]
    figure = KINDS["trace"](own, (known or draws.names)[:max_params])
    if figsize is not None:
        figure.set_size_inches(*figsize)
    return finish(titled(figure, "MCMC Trace Plots", result), show, save_path, dpi)


def plot_kl_divergence_matrix(
    result: Any,
    figsize: tuple[float, float] = (8, 7),
    cmap: str = "coolwarm",
    threshold: float = 2.0,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
) -> Figure:
    """Draw how far shards are from each other.

    Parameters
    ----------
    result : CMCResult
        With ``cmc_diagnostics["kl_matrix"]``.
    figsize, cmap : optional
        Size and colours.
    threshold : float, default 2
        Above which a pair is framed.
    show, save_path, dpi
        What becomes of the figure.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    if not is_cmc(result):
        raise ValueError("KL divergence matrix is only available for CMC results")
    found = getattr(result, "cmc_diagnostics", None)
    if found is None or "kl_matrix" not in found:
        raise ValueError(
            "KL divergence matrix not found in CMC diagnostics: all data were sampled at once"
        )
    matrix = np.asarray(found["kl_matrix"], float)
    n = len(matrix)
    figure, ax = _pyplot().subplots(figsize=figsize, layout="tight")
    top = max(1.5 * threshold, float(np.nanmax(matrix, initial=0.0)))
    image = ax.imshow(matrix, cmap=cmap, vmin=0, vmax=top)
    figure.colorbar(image, ax=ax, label="KL divergence")
    for row, column in np.ndindex(n, n):
        value = matrix[row, column]
        if n <= _ANNOTATED:
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=9)
        if value > threshold and row != column:
            frame = _pyplot().Rectangle(
                (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="red", linewidth=2
            )
            ax.add_patch(frame)
    labels = [f"S{i}" for i in range(n)]
    ax.set(xticks=range(n), yticks=range(n), xticklabels=labels, yticklabels=labels)
    ax.set(title=f"KL divergence between {n} shards, threshold {threshold:g}")
    return finish(figure, show, save_path, dpi)


def _numbers(result: Any, *names: str) -> dict[str, float]:
    for name in names:
        values = getattr(result, name, None)
        if values is None:
            continue
        if isinstance(values, Mapping):
            return {str(key): float(v) for key, v in values.items() if v is not None}
        return {f"param_{i}": float(v) for i, v in enumerate(np.ravel(np.asarray(values)))}
    return {}


def plot_convergence_diagnostics(
    result: Any,
    metrics: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None,
    rhat_threshold: float = 1.1,
    ess_threshold: float = 400.0,
    show: bool = False,
    save_path: PathLike | None = None,
    dpi: int = 150,
) -> Figure:
    """Draw R-hat and effective sizes as bars.

    Parameters
    ----------
    result : CMCResult
        With ``r_hat`` and ``ess_bulk``.
    metrics : list of str, optional
        Of 'rhat' and 'ess'.
    figsize : (float, float), optional
        Inches.
    rhat_threshold, ess_threshold : float
        Lines.
    show, save_path, dpi
        What becomes of the figure.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    wanted = list(metrics) if metrics is not None else ["rhat", "ess"]
    size = figsize or (6 * len(wanted), 5)
    figure, axes = _pyplot().subplots(1, len(wanted), figsize=size, squeeze=False, layout="tight")
    for ax, metric in zip(axes[0], wanted, strict=True):
        is_r = metric.lower().replace("-", "").replace("_", "") == "rhat"
        names = ("r_hat",) if is_r else ("ess_bulk", "effective_sample_size", "ess")
        values, limit = _numbers(result, *names), rhat_threshold if is_r else ess_threshold
        good = [(v < limit) == is_r for v in values.values()]
        ax.barh(list(values), list(values.values()), color=["C0" if g else "C3" for g in good])
        ax.axvline(limit, color="k", ls="--", lw=1)
        ax.set(title="R-hat" if is_r else "effective sample size")
    return finish(titled(figure, "Convergence Diagnostics", result), show, save_path, dpi)


def compute_bfmi(energy: npt.ArrayLike, *, per_chain: bool = False) -> float | Floats:
    """Return how freely the energy moves: below 0.3 tails are hardly reached.

    Parameters
    ----------
    energy : array-like, shape (n_draw,) or (n_chain, n_draw)
        Energies.
    per_chain : bool, default False
        One number for each chain instead of one for all together.

    Returns
    -------
    float, or ndarray
        Mean square change over variance; NaN where there is no variance.
    """
    chains = np.atleast_2d(np.asarray(energy, float))
    moved, axis = np.diff(chains, axis=1) ** 2, 1 if per_chain else None
    spread = np.nanvar(chains, axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(spread > 0, np.nanmean(moved, axis=axis) / spread, np.nan)
    return found if per_chain else float(found)

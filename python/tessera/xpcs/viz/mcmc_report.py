"""All figures of a run, and its numbers as text."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs import _chains
from tessera.xpcs.utils.logging import get_logger
from tessera.xpcs.utils.path_validation import get_safe_output_dir
from tessera.xpcs.viz._draws import Draws, draws_of, is_cmc
from tessera.xpcs.viz.mcmc_arviz import plot_arviz_pair, plot_arviz_posterior, plot_arviz_trace
from tessera.xpcs.viz.mcmc_dashboard import plot_cmc_summary_dashboard
from tessera.xpcs.viz.mcmc_diagnostics import (
    plot_convergence_diagnostics,
    plot_kl_divergence_matrix,
)

if TYPE_CHECKING:
    from tessera.xpcs._arguments import PathLike

__all__ = ["generate_mcmc_diagnostic_report", "print_mcmc_summary"]

logger = get_logger(__name__)

_COLUMNS = ("mean", "sd", "hdi_2.5%", "hdi_97.5%", "r_hat", "ess_bulk", "ess_tail")


def _table(draws: Draws) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for name in draws.names:
        own = draws[name]
        mixed = _chains.summary(own)
        found[name] = (
            float(own.mean()),
            float(own.std(ddof=1)),
            *_chains.interval(own, 0.95),
            *(mixed[key] for key in ("r_hat", "ess_bulk", "ess_tail")),
        )
    return found


def generate_mcmc_diagnostic_report(
    result: Any,
    output_dir: PathLike,
    prefix: str = "mcmc",
    include_heatmaps: bool = True,
    dpi: int = 150,
) -> dict[str, Path]:
    """Write all figures of a run and a table.

    Parameters
    ----------
    result : CMCResult
        Draws.
    output_dir : path
        Where to.
    prefix : str, default 'mcmc'
        What names of files begin with.
    include_heatmaps : bool, default True
        Whether the distances of shards are drawn, where there are any.
    dpi : int, default 150
        Dots per inch.

    Returns
    -------
    dict of Path
        The files by what they show.
    """
    folder = Path(get_safe_output_dir(output_dir))
    figures: dict[str, Callable[..., Any]] = {
        "trace": plot_arviz_trace,
        "posterior": plot_arviz_posterior,
        "pair": plot_arviz_pair,
        "convergence": plot_convergence_diagnostics,
    }
    if is_cmc(result):
        figures["cmc_dashboard"] = plot_cmc_summary_dashboard
        found = getattr(result, "cmc_diagnostics", None)
        if include_heatmaps and found and "kl_matrix" in found:
            figures["kl_matrix"] = plot_kl_divergence_matrix
    paths = {}
    for name, draw in figures.items():
        path = folder / f"{prefix}_{name}.png"
        draw(result, save_path=path, dpi=dpi)
        paths[name] = path
    draws = draws_of(result)
    if draws is not None:
        paths["summary_csv"] = folder / f"{prefix}_summary.csv"
        with paths["summary_csv"].open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["", *_COLUMNS])
            writer.writerows([name, *row] for name, row in _table(draws).items())
    return paths


def print_mcmc_summary(result: Any) -> None:
    """Write the numbers of a run to the log.

    Parameters
    ----------
    result : CMCResult
        Draws.
    """
    draws = draws_of(result)
    if draws is None:
        logger.info("no draws")
        return
    logger.info("%-20s %s", "", " ".join(f"{name:>11}" for name in _COLUMNS))
    for name, row in _table(draws).items():
        logger.info("%-20s %s", name, " ".join(f"{value:>11.4g}" for value in row))
    if draws.energy is not None:
        logger.info("E-BFMI %s", np.round(_chains.bfmi(draws.energy), 2).tolist())

"""Figures of draws as files, by the original's names; ArviZ is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera.xpcs._posterior_plots import KINDS
from tessera.xpcs.utils.logging import get_logger
from tessera.xpcs.viz._draws import Draws, draws_of, empty_figure, is_scaling, written

if TYPE_CHECKING:
    from tessera.xpcs._arguments import PathLike
    from tessera.xpcs.optimization.cmc.results import CMCResult

__all__ = [
    "DEFAULT_DPI",
    "DEFAULT_FIGSIZE",
    "generate_diagnostic_plots",
    "plot_autocorr",
    "plot_energy",
    "plot_ess",
    "plot_forest",
    "plot_pair",
    "plot_rank",
    "plot_trace",
]

logger = get_logger(__name__)

DEFAULT_FIGSIZE = (12, 10)
DEFAULT_DPI = 150
_Size = tuple[float, float]


def _draw(
    kind: str,
    file: str,
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None,
    figsize: _Size,
    dpi: int,
) -> Path:
    draws = draws_of(idata)
    if draws is None:
        raise ValueError(f"{file}: there are no draws")
    own: Any = draws
    figure = KINDS[kind](own, list(var_names or draws.physical()))
    figure.set_size_inches(*figsize)
    return written(figure, output_dir, file, dpi)


def generate_diagnostic_plots(
    result: CMCResult,
    output_dir: PathLike,
    figsize: _Size = DEFAULT_FIGSIZE,
    dpi: int = DEFAULT_DPI,
    param_subset: Sequence[str] | None = None,
) -> list[Path]:
    """Write all figures.

    Parameters
    ----------
    result : CMCResult
        Draws.
    output_dir : path
        Where to.
    figsize : (float, float)
        Inches.
    dpi : int
        Dots per inch.
    param_subset : list of str, optional
        Names; by default all physical parameters.

    Returns
    -------
    list of Path
        The files.
    """
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    draws: Any = draws_of(result)
    return [
        plot_pair(draws, folder, param_subset, figsize, dpi),
        plot_forest(draws, folder, param_subset, figsize, dpi),
        plot_energy(draws, folder, figsize, dpi),
        plot_autocorr(draws, folder, param_subset, figsize, dpi),
        plot_rank(draws, folder, param_subset, figsize, dpi),
        plot_ess(draws, folder, param_subset, figsize, dpi),
    ]


def plot_pair(
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None = None,
    figsize: _Size = DEFAULT_FIGSIZE,
    dpi: int = DEFAULT_DPI,
) -> Path:
    """Write parameters against each other.

    Parameters
    ----------
    idata : InferenceData or CMCResult
        Draws.
    output_dir : path
        Gets ``pair_plot.png``.
    var_names : list of str, optional
        Names; by default the physical parameters and six contrasts and offsets.
    figsize, dpi
        Inches and dots per inch.

    Returns
    -------
    Path
        The file.
    """
    names = var_names
    draws = draws_of(idata)
    if names is None and isinstance(draws, Draws):
        scaling = [name for name in draws.names if is_scaling(name)]
        names = [name for name in draws.names if not is_scaling(name)] + scaling[:6]
    return _draw("pair", "pair_plot.png", idata, output_dir, names, figsize, dpi)


def plot_forest(
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None = None,
    figsize: _Size = DEFAULT_FIGSIZE,
    dpi: int = DEFAULT_DPI,
) -> Path:
    """Write intervals of every parameter.

    Parameters
    ----------
    idata, output_dir, var_names, figsize, dpi
        As of :func:`plot_pair`; the file is ``forest_plot.png``.

    Returns
    -------
    Path
        The file.
    """
    return _draw("forest", "forest_plot.png", idata, output_dir, var_names, figsize, dpi)


def plot_energy(
    idata: Any, output_dir: PathLike, figsize: _Size = (10, 6), dpi: int = DEFAULT_DPI
) -> Path:
    """Write energies and their changes.

    Parameters
    ----------
    idata, output_dir, figsize, dpi
        As of :func:`plot_pair`; the file is ``energy_plot.png``.

    Returns
    -------
    Path
        The file, which says so where there are no energies.
    """
    draws = draws_of(idata)
    if draws is None or draws.energy is None:
        figure = empty_figure("Energy plot not available: there are no energies")
        return written(figure, output_dir, "energy_plot.png", dpi)
    return _draw("energy", "energy_plot.png", draws, output_dir, None, figsize, dpi)


def plot_autocorr(
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None = None,
    figsize: _Size = DEFAULT_FIGSIZE,
    dpi: int = DEFAULT_DPI,
) -> Path:
    """Write correlations of draws with those before them.

    Parameters
    ----------
    idata, output_dir, var_names, figsize, dpi
        As of :func:`plot_pair`; the file is ``autocorr_plot.png``.

    Returns
    -------
    Path
        The file.
    """
    kind = "autocorrelation"
    return _draw(kind, "autocorr_plot.png", idata, output_dir, var_names, figsize, dpi)


def plot_rank(
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None = None,
    figsize: _Size = DEFAULT_FIGSIZE,
    dpi: int = DEFAULT_DPI,
) -> Path:
    """Write ranks of every chain's draws.

    Parameters
    ----------
    idata, output_dir, var_names, figsize, dpi
        As of :func:`plot_pair`; the file is ``rank_plot.png``.

    Returns
    -------
    Path
        The file.
    """
    return _draw("rank", "rank_plot.png", idata, output_dir, var_names, figsize, dpi)


def plot_ess(
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None = None,
    figsize: _Size = (10, 6),
    dpi: int = DEFAULT_DPI,
) -> Path:
    """Write effective sizes by the number of draws.

    Parameters
    ----------
    idata, output_dir, var_names, figsize, dpi
        As of :func:`plot_pair`; the file is ``ess_plot.png``.

    Returns
    -------
    Path
        The file.
    """
    return _draw("ess", "ess_plot.png", idata, output_dir, var_names, figsize, dpi)


def plot_trace(
    idata: Any,
    output_dir: PathLike,
    var_names: Sequence[str] | None = None,
    figsize: _Size = DEFAULT_FIGSIZE,
    dpi: int = DEFAULT_DPI,
) -> Path:
    """Write draws in their order.

    Parameters
    ----------
    idata, output_dir, var_names, figsize, dpi
        As of :func:`plot_pair`; the file is ``trace_plot.png``.

    Returns
    -------
    Path
        The file.
    """
    return _draw("trace", "trace_plot.png", idata, output_dir, var_names, figsize, dpi)

"""Draws in whichever form scripts of the original have them, for figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs._arguments import Floats, names_of
from tessera.xpcs._plots import _pyplot
from tessera.xpcs.utils.logging import get_logger
from tessera.xpcs.utils.path_validation import PathValidationError, validate_plot_save_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = get_logger(__name__)

_SCALING = ("contrast_", "offset_")


def is_scaling(name: str) -> bool:
    """Return whether a name is a contrast or an offset of one angle."""
    return name.startswith(_SCALING)


class Draws:
    """Chains by name, with what figures of a posterior ask for."""

    def __init__(self, chains: Mapping[str, Any], stats: Mapping[str, Any] | None = None) -> None:
        self.chains = {name: np.atleast_2d(np.asarray(own, float)) for name, own in chains.items()}
        first = next(iter(self.chains.values()))
        self.n_chain, self.n_draw = first.shape
        given = stats or {}
        energy = given.get("energy", given.get("potential_energy"))
        self.energy: Floats | None = None if energy is None else np.atleast_2d(np.asarray(energy))
        broken = given.get("diverging")
        shape = (self.n_chain, self.n_draw)
        self.diverged = np.zeros(shape, bool) if broken is None else np.atleast_2d(broken)
        if self.diverged.shape != shape:
            self.diverged = np.zeros(shape, bool)

    @property
    def names(self) -> list[str]:
        """All names."""
        return list(self.chains)

    def __getitem__(self, name: str) -> Floats:
        return self.chains[name]

    def physical(self) -> list[str]:
        """Return names but for contrasts and offsets; the first six if there are no others."""
        own = [name for name in self.names if not is_scaling(name)]
        return own or self.names[:6]


def _group(content: Any, name: str) -> dict[str, Any]:
    """Return the arrays of a group of InferenceData, or of a DataTree."""
    try:
        group = content[name]
    except KeyError:
        return {}
    group = group.dataset if hasattr(group, "dataset") else group
    return {str(key): np.asarray(group[key]) for key in group.data_vars}


def _of_array(samples: Any, mode: str | None) -> dict[str, Any]:
    values = np.asarray(samples, float)
    if values.ndim < 2:
        values = values.reshape(-1, 1)
    if values.ndim == 2:
        values = values[None]
    known = {"static": "static_isotropic", "laminar_flow": "laminar_flow"}
    names = names_of(known[mode]) if mode in known else []
    n = values.shape[-1]
    names = (names + [f"param_{i}" for i in range(len(names), n)])[:n]
    return {name: values[:, :, place] for place, name in enumerate(names)}


def draws_of(result: Any) -> Draws | None:
    """Return the draws of a result, of InferenceData or of an array; None where there are none."""
    if isinstance(result, Draws):
        return result
    if hasattr(result, "posterior") or type(result).__name__ == "DataTree":
        return Draws(_group(result, "posterior"), _group(result, "sample_stats"))
    chains = getattr(result, "samples", None)
    if isinstance(chains, Mapping) and chains:
        stats = getattr(result, "extra_fields", None)
        if not stats and getattr(result, "inference_data", None) is not None:
            stats = _group(result.inference_data, "sample_stats")
        return Draws({n: v for n, v in chains.items() if np.ndim(v) == 2}, stats)
    samples = getattr(result, "samples_params", None)
    if samples is None:
        return None
    mode = getattr(result, "analysis_mode", None)
    return Draws(_of_array(samples, mode), getattr(result, "extra_fields", None))


def is_cmc(result: Any) -> bool:
    """Return whether a result says that it is one of shards."""
    return bool(hasattr(result, "is_cmc_result") and result.is_cmc_result())


def empty_figure(message: str) -> Figure:
    """Return a figure with a sentence.

    Parameters
    ----------
    message : str
        The sentence.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    figure, ax = _pyplot().subplots(figsize=(8, 6))
    ax.text(0.5, 0.5, message, ha="center", va="center", transform=ax.transAxes, fontsize=14)
    ax.set(xticks=[], yticks=[])
    made: Figure = figure
    return made


def finish(figure: Figure, show: bool, save_path: Any, dpi: int) -> Figure:
    """Write and show a figure as asked."""
    if save_path is not None:
        try:
            path = validate_plot_save_path(save_path)
            if path is not None:
                figure.savefig(path, dpi=dpi, bbox_inches="tight")
        except (PathValidationError, ValueError) as error:
            logger.warning("no figure is written: %s", error)
    plt = _pyplot()
    if show:
        plt.show()
    elif save_path is not None:
        plt.close(figure)
    return figure


def titled(figure: Figure, title: str, result: Any) -> Figure:
    """Give a figure its title."""
    shards = getattr(result, "num_shards", None)
    more = f" (CMC: {shards} shards)" if is_cmc(result) and shards else ""
    figure.suptitle(title + more, fontsize=14, fontweight="bold")
    return figure


def written(figure: Figure, folder: Any, name: str, dpi: int) -> Path:
    """Write a figure into a folder and close it."""
    path = Path(folder) / name
    figure.savefig(path, dpi=dpi, bbox_inches="tight")
    _pyplot().close(figure)
    return path

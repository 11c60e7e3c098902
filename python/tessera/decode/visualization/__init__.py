"""Figures; matplotlib is imported when one is drawn."""

from __future__ import annotations

from tessera.decode.visualization.figures import (
    plot_calibration,
    plot_error_histogram,
    plot_grid,
    plot_posterior,
    plot_raster,
    plot_results,
    plot_state_probabilities,
)
from tessera.decode.visualization.static import get_multiunit_firing_rate, plot_non_local_model

__all__ = [
    "get_multiunit_firing_rate",
    "plot_calibration",
    "plot_error_histogram",
    "plot_grid",
    "plot_non_local_model",
    "plot_posterior",
    "plot_raster",
    "plot_results",
    "plot_state_probabilities",
]

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
from tessera.decode.visualization.figurl_1D import create_interactive_1D_decoding_figurl
from tessera.decode.visualization.figurl_2D import create_interactive_2D_decoding_figurl
from tessera.decode.visualization.movie import make_single_environment_movie
from tessera.decode.visualization.static import get_multiunit_firing_rate, plot_non_local_model

__all__ = [
    "create_interactive_1D_decoding_figurl",
    "create_interactive_2D_decoding_figurl",
    "get_multiunit_firing_rate",
    "make_single_environment_movie",
    "plot_calibration",
    "plot_error_histogram",
    "plot_grid",
    "plot_non_local_model",
    "plot_posterior",
    "plot_raster",
    "plot_results",
    "plot_state_probabilities",
]

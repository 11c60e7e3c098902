"""What posteriors say about the animal."""

from __future__ import annotations

from tessera.decode.analysis.distance1D import (
    get_ahead_behind_distance,
    get_map_speed,
    get_trajectory_data,
)
from tessera.decode.analysis.distance2D import (
    get_2D_distance,
    get_ahead_behind_distance2D,
    get_map_estimate_direction_from_track_graph,
    get_speed,
    get_velocity,
    head_direction_simliarity,
    make_2D_track_graph_from_environment,
)
from tessera.decode.analysis.posterior import maximum_a_posteriori_estimate, sample_posterior

__all__ = [
    "get_2D_distance",
    "get_ahead_behind_distance",
    "get_ahead_behind_distance2D",
    "get_map_estimate_direction_from_track_graph",
    "get_map_speed",
    "get_speed",
    "get_trajectory_data",
    "get_velocity",
    "head_direction_simliarity",
    "make_2D_track_graph_from_environment",
    "maximum_a_posteriori_estimate",
    "sample_posterior",
]

"""Clusterless neural decoding: which place does the brain represent, moment by moment.

The classes and functions are those of the package ``non_local_detector``: a script written for it
runs with ``from tessera.decode import ...``. Answers are the original's, with one exception that is
warned of: from 5 waveform features on, the smallest intensity of a spike is relative to its best
position (``floor="absolute"`` brings the original's rule back).

>>> import numpy as np
>>> from tessera.decode import ClusterlessDecoder
>>> rng = np.random.default_rng(1)
>>> time = np.arange(0, 60, 0.02)
>>> position = 50 - 50 * np.cos(time / 3)
>>> spikes = [np.sort(rng.uniform(0, 60, 400))]
>>> features = [np.interp(spikes[0], time, position)[:, None] + rng.normal(0, 5, (400, 1))]
>>> model = ClusterlessDecoder().fit(time, position, spikes, features)
>>> results = model.predict(spikes, features, time[:100])
>>> results["acausal_posterior"].shape
(100, 50)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tessera.decode._tune import Tuning, tune
    from tessera.decode.continuous_state_transitions import (
        Discrete,
        EmpiricalMovement,
        Identity,
        RandomWalk,
        RandomWalkDirection1,
        RandomWalkDirection2,
        Uniform,
    )
    from tessera.decode.discrete_state_transitions import (
        DiscreteNonStationaryCustom,
        DiscreteNonStationaryDiagonal,
        DiscreteStationaryCustom,
        DiscreteStationaryDiagonal,
    )
    from tessera.decode.environment import Environment, TrackGraph, make_track_graph
    from tessera.decode.exceptions import (
        ConfigurationError,
        ConvergenceError,
        DataError,
        FittingError,
        NonLocalDetectorError,
        ValidationError,
    )
    from tessera.decode.initial_conditions import UniformInitialConditions
    from tessera.decode.models import (
        ClusterlessDecoder,
        ContFragClusterlessClassifier,
        ContFragSortedSpikesClassifier,
        MultiEnvironmentClusterlessClassifier,
        MultiEnvironmentSortedSpikesClassifier,
        NonLocalClusterlessDetector,
        NonLocalSortedSpikesDetector,
        NoSpikeContFragClusterlessClassifier,
        NoSpikeContFragSortedSpikesClassifier,
        SortedSpikesDecoder,
    )
    from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector
    from tessera.decode.observation_models import ObservationModel
    from tessera.decode.online import OnlineDecoder, TriggerEvent
    from tessera.decode.recordings import (
        Recording,
        read_recording,
        save_recording,
        simulate_recording,
    )
    from tessera.decode.results import Results

_HOME = {
    "_tune": ("Tuning", "tune"),
    "continuous_state_transitions": (
        "Discrete",
        "EmpiricalMovement",
        "Identity",
        "RandomWalk",
        "RandomWalkDirection1",
        "RandomWalkDirection2",
        "Uniform",
    ),
    "discrete_state_transitions": (
        "DiscreteNonStationaryCustom",
        "DiscreteNonStationaryDiagonal",
        "DiscreteStationaryCustom",
        "DiscreteStationaryDiagonal",
    ),
    "environment": ("Environment", "TrackGraph", "make_track_graph"),
    "exceptions": (
        "ConfigurationError",
        "ConvergenceError",
        "DataError",
        "FittingError",
        "NonLocalDetectorError",
        "ValidationError",
    ),
    "initial_conditions": ("UniformInitialConditions",),
    "models": (
        "ClusterlessDecoder",
        "ContFragClusterlessClassifier",
        "ContFragSortedSpikesClassifier",
        "MultiEnvironmentClusterlessClassifier",
        "MultiEnvironmentSortedSpikesClassifier",
        "NoSpikeContFragClusterlessClassifier",
        "NoSpikeContFragSortedSpikesClassifier",
        "NonLocalClusterlessDetector",
        "NonLocalSortedSpikesDetector",
        "SortedSpikesDecoder",
    ),
    "models.base": ("ClusterlessDetector", "SortedSpikesDetector"),
    "observation_models": ("ObservationModel",),
    "online": ("OnlineDecoder", "TriggerEvent"),
    "recordings": ("Recording", "read_recording", "save_recording", "simulate_recording"),
    "results": ("Results",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = (
    "analysis",
    "continuous_state_transitions",
    "core",
    "discrete_state_transitions",
    "environment",
    "events",
    "exceptions",
    "initial_conditions",
    "likelihoods",
    "model_checking",
    "models",
    "observation_models",
    "online",
    "recordings",
    "results",
    "simulate",
    "types",
    "visualization",
)

__all__ = [
    "ClusterlessDecoder",
    "ClusterlessDetector",
    "ConfigurationError",
    "ContFragClusterlessClassifier",
    "ContFragSortedSpikesClassifier",
    "ConvergenceError",
    "DataError",
    "Discrete",
    "DiscreteNonStationaryCustom",
    "DiscreteNonStationaryDiagonal",
    "DiscreteStationaryCustom",
    "DiscreteStationaryDiagonal",
    "EmpiricalMovement",
    "Environment",
    "FittingError",
    "Identity",
    "MultiEnvironmentClusterlessClassifier",
    "MultiEnvironmentSortedSpikesClassifier",
    "NoSpikeContFragClusterlessClassifier",
    "NoSpikeContFragSortedSpikesClassifier",
    "NonLocalClusterlessDetector",
    "NonLocalDetectorError",
    "NonLocalSortedSpikesDetector",
    "ObservationModel",
    "OnlineDecoder",
    "RandomWalk",
    "RandomWalkDirection1",
    "RandomWalkDirection2",
    "Recording",
    "Results",
    "SortedSpikesDecoder",
    "SortedSpikesDetector",
    "TrackGraph",
    "TriggerEvent",
    "Tuning",
    "Uniform",
    "UniformInitialConditions",
    "ValidationError",
    "make_track_graph",
    "read_recording",
    "save_recording",
    "simulate_recording",
    "tune",
]


def __getattr__(name: str) -> Any:
    # Import on first use keeps `import tessera.decode` short.
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    if name == "__version__":
        return importlib.import_module("tessera").__version__
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])

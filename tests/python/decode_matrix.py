"""Tables of environments and models, whose combinations test_decode_matrix.py goes through.

A new kind of environment or of model is one line here, and every method is then tried on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tessera.decode as td
from helpers import Floats
from tessera.decode.environment import make_track_graph

RATE = 50.0  # position samples and time bins per second
N_SAMPLE = 400
N_TIME = 60


def _sweep(n: int, low: float, high: float, turns: float) -> Floats:
    """Back and forth between two ends."""
    phase = np.linspace(0, turns, n) % 1
    return low + (high - low) * np.abs(2 * phase - 1)


def _line(n: int) -> Floats:
    return _sweep(n, 0, 30, 4)[:, np.newaxis]


def _gap(n: int) -> Floats:
    """A line whose middle the animal jumps over, as tracking that fails there does."""
    along = _sweep(n, 0, 30, 4)
    return np.where(along < 15, 0.8 * along, 30 - 0.8 * (30 - along))[:, np.newaxis]


def _corner(n: int) -> Floats:
    """Two arms that meet at a right angle."""
    along = _sweep(n, 0, 48, 4)
    wobble = 1.5 * np.sin(np.arange(n))
    return np.stack(
        (np.minimum(along, 24) + wobble, np.maximum(along - 24, 0) + 1.4 * np.cos(np.arange(n))),
        axis=1,
    )


def _islands(n: int) -> Floats:
    """Two boxes in the plane, half a second in each by turns."""
    t = np.arange(n)
    box = (t // 25) % 2
    return np.stack(
        (box * 26 + 4 * (1 + np.sin(0.7 * t)), box * 14 + 4 * (1 + np.cos(0.43 * t))), axis=1
    )


def _box(n: int) -> Floats:
    t = np.arange(n)
    return np.stack((8 * (1 + np.sin(0.21 * t)), 6 * (1 + np.cos(0.13 * t))), axis=1)


def _tee(n: int) -> Floats:
    """A stem and two arms."""
    along = _sweep(n, 0, 30, 4)
    right = (np.arange(n) // 50) % 2 == 1
    arm = np.maximum(along - 15, 0)
    return np.stack((np.where(right, arm, -arm), np.minimum(along, 15)), axis=1)


def _graph(order: list[tuple[int, int]], spacing: Any) -> dict[str, Any]:
    nodes = [(0.0, 0.0), (0.0, 15.0), (-15.0, 15.0), (15.0, 15.0)]
    return {
        "track_graph": make_track_graph(nodes, [(0, 1), (1, 2), (1, 3)]),
        "edge_order": order,
        "edge_spacing": spacing,
        "place_bin_size": 3.0,
    }


def _mask() -> Any:
    """Chosen bins instead of visited ones."""
    mask = np.ones((7, 5), dtype=bool)
    mask[3, 2] = mask[0] = mask[-1] = mask[:, 0] = mask[:, -1] = False
    return mask


@dataclass(frozen=True)
class Place:
    """Where the animal is, and how its place is cut into bins."""

    path: Callable[[int], Floats]
    settings: Callable[[], dict[str, Any]]


ENVIRONMENTS = {
    "line": Place(_line, lambda: {"place_bin_size": 3.0}),
    "line-gap": Place(_gap, lambda: {"place_bin_size": 2.0}),
    "line-wider": Place(_line, lambda: {"place_bin_size": 3.0, "position_range": [(-6.0, 36.0)]}),
    "corner": Place(_corner, lambda: {"place_bin_size": (4.0, 5.0)}),
    "islands": Place(_islands, lambda: {"place_bin_size": 4.0}),
    "box": Place(_box, lambda: {"place_bin_size": 4.0, "fill_holes": True, "dilate": True}),
    "mask": Place(
        _box,
        lambda: {
            "place_bin_size": (3.5, 4.5),
            "position_range": [(0.0, 16.0), (0.0, 12.0)],
            "is_track_interior": _mask(),
        },
    ),
    "track": Place(_tee, lambda: _graph([(0, 1), (1, 2), (1, 3)], 0.0)),
    "track-gaps": Place(_tee, lambda: _graph([(2, 1), (0, 1), (1, 3)], [6.0, 9.0])),
}


def _own_model(cls: Any, **settings: Any) -> Any:
    """Three states of every kind of movement that has no ready-made model."""
    (environment,) = settings.pop("environments")
    name = environment.environment_name
    walk = td.RandomWalk(name, movement_var=4.0, movement_mean=0.5)
    there = td.Uniform(name)
    return cls(
        discrete_initial_conditions=np.array([0.6, 0.3, 0.1]),
        discrete_transition_type=td.DiscreteStationaryDiagonal([0.9, 0.8, 0.7]),
        discrete_transition_stickiness=np.array([3.0, 0.0, 1.0]),
        continuous_transition_types=[
            [walk, there, there],
            [there, td.Identity(name), there],
            [there, there, td.EmpiricalMovement(name)],
        ],
        environments=environment,
        state_names=["Walk", "Stay", "Seen"],
        **settings,
    )


def _directed(cls: Any, **settings: Any) -> Any:
    """Two directions over distances along the track, and their own encoding groups."""
    (environment,) = settings.pop("environments")
    name = environment.environment_name
    there = td.Uniform(name)
    return cls(
        discrete_initial_conditions=np.array([0.5, 0.5]),
        discrete_transition_type=td.DiscreteStationaryCustom(np.array([[0.9, 0.1], [0.2, 0.8]])),
        continuous_transition_types=[
            [td.RandomWalkDirection1(name), there],
            [there, td.RandomWalkDirection2(name)],
        ],
        observation_models=[
            td.ObservationModel(name, encoding_group="out"),
            td.ObservationModel(name, encoding_group="back"),
        ],
        environments=environment,
        state_names=["Out", "Back"],
        **settings,
    )


def _covariates(cls: Any, **settings: Any) -> Any:
    """Transitions that depend on speed."""
    formula = td.DiscreteNonStationaryDiagonal([0.9, 0.8], "1 + bs(speed, df=4)")
    return cls(discrete_transition_type=formula, **settings)


@dataclass(frozen=True)
class Kind:
    """A class of models and how it is called."""

    cls: str
    make: Callable[..., Any] | None = None
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def is_sorted(self) -> bool:
        return "Sorted" in self.cls

    @property
    def n_environment(self) -> int:
        return 2 if "MultiEnvironment" in self.cls else 1

    def build(self, place: Place) -> Any:
        names = ["env1", "env2"][: self.n_environment] if self.n_environment > 1 else [""]
        environments = [td.Environment(name, **place.settings()) for name in names]
        settings = {"environments": environments, "mode": "exact", **dict(self.settings)}
        cls = getattr(td, self.cls)
        return cls(**settings) if self.make is None else self.make(cls, **settings)


MODELS = {
    "decoder": Kind("ClusterlessDecoder"),
    "cont-frag": Kind("ContFragClusterlessClassifier"),
    "no-spike": Kind("NoSpikeContFragClusterlessClassifier"),
    "non-local": Kind("NonLocalClusterlessDetector"),
    "non-local-bins": Kind(
        "NonLocalClusterlessDetector",
        settings=(("local_position_std", 3.0), ("non_local_position_penalty", 1.0)),
    ),
    "environments": Kind("MultiEnvironmentClusterlessClassifier"),
    "gmm": Kind(
        "ContFragClusterlessClassifier",
        settings=(
            ("clusterless_algorithm", "clusterless_gmm"),
            (
                "clusterless_algorithm_params",
                {
                    "gmm_components_occupancy": 3,
                    "gmm_components_gpi": 2,
                    "gmm_components_joint": 3,
                },
            ),
        ),
    ),
    "own": Kind("ClusterlessDetector", _own_model),
    "directed": Kind("ClusterlessDetector", _directed),
    "covariates": Kind("ContFragClusterlessClassifier", _covariates),
    "sorted-decoder": Kind("SortedSpikesDecoder"),
    "sorted-cont-frag": Kind("ContFragSortedSpikesClassifier"),
    "sorted-no-spike": Kind("NoSpikeContFragSortedSpikesClassifier"),
    "sorted-non-local": Kind("NonLocalSortedSpikesDetector"),
    "sorted-environments": Kind("MultiEnvironmentSortedSpikesClassifier"),
    "sorted-glm": Kind(
        "ContFragSortedSpikesClassifier",
        settings=(("sorted_spikes_algorithm", "sorted_spikes_glm"),),
    ),
    "sorted-own": Kind("SortedSpikesDetector", _own_model),
}


@dataclass
class Session:
    """What the methods of a model are given."""

    kind: Kind
    position_time: Floats
    position: Floats
    spikes: tuple[list[Floats], ...]
    time: Floats
    labels: dict[str, Any]
    speed: Floats

    def covariates(self, n: int) -> dict[str, Any]:
        """Covariates of n samples, where the model has any."""
        if self.kind.make is not _covariates:
            return {}
        return {"discrete_transition_covariate_data": {"speed": self.speed[:n]}}

    @property
    def where(self) -> dict[str, Any]:
        return {"position": self.position, "position_time": self.position_time}


def session(place: Place, kind: Kind, seed: int = 3) -> Session:
    """Spikes whose features and times tell a little of where the animal is."""
    rng = np.random.default_rng(seed)
    position_time = 100 + np.arange(N_SAMPLE) / RATE
    position = place.path(N_SAMPLE)
    times, marks = [], []
    for e in range(3):
        near = np.exp(-0.5 * np.sum((position - position[40 * e + 10]) ** 2, axis=1) / 36)
        fires = np.flatnonzero(rng.random(N_SAMPLE) < 0.05 + 0.4 * near)
        times.append(position_time[fires] + rng.uniform(0, 1 / RATE, len(fires)))
        marks.append(60 + 40 * e * near[fires, np.newaxis] + rng.normal(0, 15, (len(fires), 2)))
    half = np.arange(N_SAMPLE) < N_SAMPLE // 2
    labels: dict[str, Any] = {}
    if kind.n_environment > 1:
        labels["environment_labels"] = np.where(half, "env1", "env2")
    if kind.make is _directed:
        labels["encoding_group_labels"] = np.where(np.arange(N_SAMPLE) % 100 < 50, "out", "back")
    return Session(
        kind,
        position_time,
        position,
        (times,) if kind.is_sorted else (times, marks),
        position_time[:N_TIME],
        labels,
        10 * (1 + np.sin(position_time)),
    )

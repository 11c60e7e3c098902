"""States and defaults of the ready-made models, as the library has them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tessera import _core
from tessera.decode.continuous_state_transitions import (
    Discrete,
    Identity,
    Movement,
    RandomWalk,
    RandomWalkDirection1,
    RandomWalkDirection2,
    Uniform,
)
from tessera.decode.discrete_state_transitions import DiscreteStationaryCustom
from tessera.decode.environment import Environment
from tessera.decode.initial_conditions import UniformInitialConditions
from tessera.decode.observation_models import ObservationModel

# In the order of the library's enumeration.
DECODER, CONT_FRAG, NO_SPIKE_CONT_FRAG, NON_LOCAL, MULTI_ENVIRONMENT = range(5)

_MOVEMENTS: tuple[type[Movement], ...] = (
    Discrete,
    Uniform,
    RandomWalk,
    Identity,
    RandomWalkDirection1,
    RandomWalkDirection2,
)


@cache
def library_defaults(kind: int, sorted_spikes: bool) -> dict[str, Any]:
    """Return what the library says of a ready-made model."""
    return _core.decode_model_defaults(kind, sorted_spikes)


def _movement(kind: int, origin: str, destination: str) -> Movement:
    if kind == 0:
        return Discrete()
    if origin != destination:
        return Uniform(environment_name=origin, environment2_name=destination)
    return _MOVEMENTS[kind](environment_name=origin)  # type: ignore[call-arg]


def model_defaults(kind: int, sorted_spikes: bool) -> dict[str, Any]:
    """Return fresh values for every parameter of a ready-made model."""
    found = library_defaults(kind, sorted_spikes)
    states = found["states"]
    n = len(states)
    n_environment = 1 + max(state[1] for state in states)
    names = [f"env{i + 1}" for i in range(n_environment)] if n_environment > 1 else [""]
    of_state = [names[max(state[1], 0)] for state in states]
    return {
        "discrete_initial_conditions": np.array(found["discrete_initial"]),
        "continuous_initial_conditions_types": [UniformInitialConditions() for _ in states],
        "discrete_transition_type": DiscreteStationaryCustom(
            np.array(found["discrete_transition"]).reshape(n, n)
        ),
        "discrete_transition_concentration": found["concentration"],
        "discrete_transition_stickiness": np.array(found["stickiness"]),
        "continuous_transition_types": [
            [
                _movement(found["movement_kinds"][i * n + j], of_state[i], of_state[j])
                for j in range(n)
            ]
            for i in range(n)
        ],
        "observation_models": [
            ObservationModel(of_state[i], 0, bool(state[3]), bool(state[4]))
            for i, state in enumerate(states)
        ],
        "environments": tuple(Environment(environment_name=name) for name in names),
        "state_names": [state[0] for state in states],
        "frozen_discrete_transition_rows": tuple(np.flatnonzero(found["frozen_rows"]).tolist())
        or None,
    }

"""States and defaults of the ready-made models, as the library has them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera.decode.continuous_state_transitions import (
    Discrete,
    Identity,
    Movement,
    RandomWalk,
    RandomWalkDirection1,
    RandomWalkDirection2,
    Uniform,
)
from tessera.decode.discrete_state_transitions import (
    DiscreteNonStationaryCustom,
    DiscreteStationaryCustom,
)
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


# Entries of the transitions that the original's modules have names for: (from, to).
_PROBABILITIES = {
    NON_LOCAL: {
        "local_prob": (0, 0),
        "no_spike_prob": (1, 1),
        "no_spike_trans_prob": (0, 1),
        "cont_non_local_prob": (2, 2),
        "non_local_frag_prob": (3, 3),
    },
    NO_SPIKE_CONT_FRAG: {
        "no_spike_prob": (0, 0),
        "no_spike_trans_prob": (1, 0),
        "cont_non_local_prob": (1, 1),
        "non_local_frag_prob": (2, 2),
    },
}


@cache
def module_defaults(kind: int) -> dict[str, Any]:
    """Return the defaults of a ready-made model by the names the original's module has for them.

    They are for scripts that build models of their own from them; the models here do not look.
    """
    own = model_defaults(kind, sorted_spikes=False)
    found = {
        name: own[name]
        for name in (
            "continuous_transition_types",
            "discrete_initial_conditions",
            "discrete_transition_stickiness",
            "discrete_transition_type",
            "observation_models",
            "state_names",
        )
    }
    found["continuous_initial_conditions"] = own["continuous_initial_conditions_types"]
    places = own["environments"]
    found |= {"environment": places[0]} if len(places) == 1 else {"environments": list(places)}
    if kind in _PROBABILITIES:
        matrix = np.array(own["discrete_transition_type"].values)
        found["discrete_transition_matrix_values"] = matrix
        found["non_stationary_discrete_transition_type"] = DiscreteNonStationaryCustom(matrix)
        found["no_spike_rate"] = default("decode.detector", "no_spike_rate")
        found |= {name: float(matrix[at]) for name, at in _PROBABILITIES[kind].items()}
    return found


def module_default(kind: int, module: str, name: str) -> Any:
    """Be the ``__getattr__`` of a module of ready-made models."""
    try:
        return module_defaults(kind)[name]
    except KeyError:
        raise AttributeError(f"module {module!r} has no attribute {name!r}") from None

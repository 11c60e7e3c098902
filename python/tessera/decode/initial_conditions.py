"""Where a state begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._data import Array, Floats
    from tessera.decode.environment import Environment
    from tessera.decode.observation_models import ObservationModel

__all__ = ["UniformInitialConditions", "estimate_initial_conditions"]


@dataclass
class UniformInitialConditions:
    """All interior bins of the state are equally likely."""

    def make_initial_conditions(
        self, observation_model: ObservationModel, environments: Sequence[Environment]
    ) -> Floats:
        """Return the probability of every bin of a state; 0 at non-interior bins."""
        import numpy as np

        from tessera.decode.environment import find_environment

        if observation_model.is_local or observation_model.is_no_spike:
            return np.ones(1)
        environment = find_environment(environments, observation_model.environment_name)
        interior = environment.is_track_interior_.ravel().astype(np.float64)
        uniform: Floats = interior / interior.sum()
        return uniform


def estimate_initial_conditions(acausal_posterior: Array) -> Array:
    """Return the first row of a posterior, which is what expectation maximisation sets."""
    first: Array = acausal_posterior[0]
    return first

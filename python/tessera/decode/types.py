"""Names of the types that models take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tessera.decode.continuous_state_transitions import Movement
from tessera.decode.discrete_state_transitions import (
    DiscreteNonStationaryCustom,
    DiscreteNonStationaryDiagonal,
    DiscreteStationaryCustom,
    DiscreteStationaryDiagonal,
)
from tessera.decode.environment import Environment
from tessera.decode.initial_conditions import UniformInitialConditions
from tessera.decode.observation_models import ObservationModel

Environments: TypeAlias = Environment | Sequence[Environment] | None
ContinuousTransitions: TypeAlias = Sequence[Sequence[Movement]]
Observations: TypeAlias = Sequence[ObservationModel] | ObservationModel | None
ContinuousInitialConditions: TypeAlias = Sequence[UniformInitialConditions]
Stickiness: TypeAlias = Any
DiscreteTransitions: TypeAlias = (
    DiscreteStationaryDiagonal
    | DiscreteStationaryCustom
    | DiscreteNonStationaryDiagonal
    | DiscreteNonStationaryCustom
)
StateNames: TypeAlias = Sequence[str] | None

"""Parameters of models, checked when a model is made and again when it is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera.decode import _data
from tessera.decode._options import flag, number, numbers, option
from tessera.decode._session import check_device
from tessera.decode.continuous_state_transitions import Discrete, Movement
from tessera.decode.environment import Environment, find_environment
from tessera.decode.exceptions import (
    ShapeValidationError,
    TypeValidationError,
    ValidationError,
)
from tessera.decode.observation_models import ObservationModel

_ROUNDING = 1e-6  # how far probabilities may sum from 1


def environments(value: Any) -> Sequence[Environment]:
    """Return the environments as a sequence; refuse what holds something else."""
    if isinstance(value, Environment):
        value = (value,)
    if callable(value):
        raise TypeValidationError(
            f"environments: got a function, {getattr(value, '__qualname__', value)}; call it: "
            f"environments={getattr(value, '__name__', 'it')}()"
        )
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeValidationError(
            f"environments: expected an Environment or a list of them, got {type(value).__name__}"
        )
    if not value:
        raise ShapeValidationError("environments: the list is empty; a model needs at least one")
    for i, each in enumerate(value):
        if not isinstance(each, Environment):
            raise TypeValidationError(
                f"environments[{i}]: expected an Environment, got {type(each).__name__}"
            )
        each.check()
    names = [each.environment_name for each in value]
    for name in names:
        if names.count(name) > 1:
            raise ValidationError(
                f"environments: several are called {name!r}; give each a name of its own"
            )
    return value


def listed(value: Any, name: str) -> Any:
    """Refuse what is no list; return it."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        raise TypeValidationError(
            f"{name}: expected a list with one entry per state, got {type(value).__name__}"
        )
    return value


def _lengths(model: Any, n: int) -> None:
    for name in (
        "continuous_initial_conditions_types",
        "continuous_transition_types",
        "observation_models",
        "state_names",
    ):
        value = listed(getattr(model, name), name)
        if len(value) != n:
            raise ShapeValidationError(
                f"{name} has {len(value)} entries, discrete_initial_conditions has {n} states"
            )
    for i, row in enumerate(model.continuous_transition_types):
        if not isinstance(row, Sequence) or len(row) != n:
            got = len(row) if isinstance(row, Sequence) else type(row).__name__
            raise ShapeValidationError(
                f"continuous_transition_types: row {i} has {got} entries, expected {n}"
            )


def _initial(model: Any) -> int:
    value = _data.reals(model.discrete_initial_conditions, "discrete_initial_conditions")
    if value.ndim != 1 or len(value) == 0:
        raise ShapeValidationError(
            "discrete_initial_conditions: expected one probability per state, got shape "
            f"{value.shape}"
        )
    total = float(np.sum(value))
    if not abs(total - 1) <= _ROUNDING or not np.all(value >= 0):
        raise ValidationError(
            f"discrete_initial_conditions: {value.tolist()} sum to {total:.9g}, expected "
            "probabilities that sum to 1"
        )
    return len(value)


def _discrete(model: Any, n: int) -> None:
    kind = model.discrete_transition_type
    if not hasattr(kind, "is_stationary") or isinstance(kind, type):
        raise TypeValidationError(
            "discrete_transition_type: expected DiscreteStationaryDiagonal(...), "
            f"DiscreteStationaryCustom(...) or the like, got {kind!r:.60}"
        )
    matrix = kind.matrix()
    if matrix.shape != (n, n):
        raise ShapeValidationError(
            f"discrete_transition_type: a matrix {matrix.shape} for {n} states"
        )
    if not kind.is_stationary and not isinstance(kind.formula, str):
        raise TypeValidationError(
            f"discrete_transition_type: its formula is {kind.formula!r:.60}, expected text"
        )
    number(
        model.discrete_transition_concentration, "discrete_transition_concentration", 0, above=True
    )
    numbers(model.discrete_transition_stickiness, "discrete_transition_stickiness", 0, n=n)
    number(model.discrete_transition_regularization, "discrete_transition_regularization", 0)
    numbers(model.discrete_transition_prior_weight, "discrete_transition_prior_weight", 0, n=n)
    frozen_rows(model.frozen_discrete_transition_rows, n)


def frozen_rows(rows: Any, n: int) -> Any:
    """Return which of n rows stay as they are, as flags; None for none."""
    if rows is None or np.size(rows) == 0:
        return None
    chosen = np.asarray(rows)
    name = "frozen_discrete_transition_rows"
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        raise TypeValidationError(
            f"{name}: expected a list of row numbers or of {n} booleans, got {rows!r:.60}"
        )
    frozen = np.zeros(n, dtype=np.uint8)
    if chosen.dtype == bool:
        _data.same_length(chosen, n, name, "states")
        frozen[chosen] = 1
    elif np.any((chosen < 0) | (chosen >= n)):
        raise ValidationError(f"{name}: {list(rows)}, but the {n} states are 0 to {n - 1}")
    else:
        frozen[chosen] = 1
    return frozen


def _states(model: Any) -> None:
    for i, name in enumerate(model.state_names):
        if not isinstance(name, str):
            raise TypeValidationError(f"state_names[{i}]: expected text, got {name!r:.60}")
        if list(model.state_names).count(name) > 1:
            raise ValidationError(f"state_names: {name!r} is there twice; states differ by name")
    for i, observation in enumerate(model.observation_models):
        if not isinstance(observation, ObservationModel):
            raise TypeValidationError(
                f"observation_models[{i}]: expected an ObservationModel, got {observation!r:.60}"
            )
        if observation.is_local and observation.is_no_spike:
            raise ValidationError(
                f"observation_models[{i}]: is_local and is_no_spike exclude each other"
            )
        if not observation.is_no_spike:
            find_environment(model.environments, observation.environment_name)
    for i, kind in enumerate(model.continuous_initial_conditions_types):
        if isinstance(kind, type) or not hasattr(kind, "make_initial_conditions"):
            raise TypeValidationError(
                f"continuous_initial_conditions_types[{i}]: expected UniformInitialConditions(), "
                f"got {kind!r:.60}"
            )


def _movements(model: Any) -> None:
    for i, row in enumerate(model.continuous_transition_types):
        for j, movement in enumerate(row):
            where = f"continuous_transition_types[{i}][{j}]"
            if not isinstance(movement, Movement):
                raise TypeValidationError(
                    f"{where}: expected RandomWalk(), Uniform() or the like, got {movement!r:.60}"
                )
            movement.check(where)
            if not isinstance(movement, Discrete):
                _moves_in(model, movement.environment_name, i, where)
                _moves_in(model, getattr(movement, "environment2_name", None), j, where)


def _moves_in(model: Any, name: str | None, state: int, where: str) -> None:
    """Refuse a movement that names another environment than its state is in."""
    if not name:
        return
    find_environment(model.environments, name)
    observation = model.observation_models[state]
    if not observation.is_no_spike and observation.environment_name != name:
        raise ValidationError(
            f"{where}: its environment is {name!r}, but state {model.state_names[state]!r} is in "
            f"{observation.environment_name!r}"
        )


def parameters(model: Any) -> None:
    """Refuse parameters that are not allowed or do not go together, before anything is computed."""
    n = _initial(model)
    _lengths(model, n)
    environments(model.environments)
    _states(model)
    _discrete(model, n)
    _movements(model)
    flag(model.infer_track_interior, "infer_track_interior")
    number(model.sampling_frequency, "sampling_frequency", 0, above=True)
    for name in ("no_spike_rate", "non_local_position_penalty", "non_local_penalty_std"):
        option(getattr(model, name), "decode.detector", name)
    if model.local_position_std is not None:
        number(model.local_position_std, "local_position_std", 0)
    if model.threads is not None and (
        not isinstance(model.threads, int | np.integer) or model.threads < 1
    ):
        raise ValidationError(f"threads: {model.threads!r:.60} is not allowed; expected 1 or more")
    if isinstance(model.memory_limit, int | float) and model.memory_limit <= 0:
        raise ValidationError(
            f"memory_limit: {model.memory_limit} is not allowed; expected bytes, or text such as "
            "'2G'"
        )
    check_device(model.device)

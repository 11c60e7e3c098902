"""Parameters of models, checked when a model is made and again when it is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Mask
from tessera.decode._options import flag, number, numbers, option
from tessera.decode._session import check_device
from tessera.decode._validation import (
    ensure_all_finite,
    ensure_all_non_negative,
    ensure_array_1d,
    ensure_probability_distribution,
)
from tessera.decode.continuous_state_transitions import Discrete, Movement
from tessera.decode.environment import Environment, find_environment
from tessera.decode.exceptions import (
    ShapeValidationError,
    TypeValidationError,
    ValidationError,
)
from tessera.decode.observation_models import ObservationModel

_NAMES = {"uniform_on_track", "random_walk", "identity", "empirical_movement"}
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
    names = {id(each): each.environment_name for each in value}
    for name in names.values():
        if list(names.values()).count(name) > 1:
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
    """Refuse lists that have not one entry per state; the words are those scripts look for."""
    for name, what in (
        ("continuous_initial_conditions_types", "continuous initial conditions"),
        ("continuous_transition_types", "continuous transition types"),
    ):
        value = listed(getattr(model, name), name)
        if len(value) != n:
            raise ShapeValidationError(
                f"Mismatch between discrete initial conditions and {what}: "
                f"discrete_initial_conditions has {n} entries, {name} has {len(value)}"
            )
    stickiness = model.discrete_transition_stickiness
    if np.ndim(stickiness) == 1 and len(stickiness) != n:
        raise ShapeValidationError(
            f"Discrete transition stickiness must be set for all {n} states or be one number: "
            f"discrete_transition_stickiness has {len(stickiness)}"
        )


def _names(model: Any, n: int) -> None:
    value = listed(model.state_names, "state_names")
    if len(value) != n:
        raise ShapeValidationError(
            "Number of state names must match number of states: "
            f"state_names has {len(value)} entries, discrete_initial_conditions has {n}"
        )
    models = listed(model.observation_models, "observation_models")
    if len(models) != n:
        raise ShapeValidationError(
            f"observation_models has {len(models)} entries, discrete_initial_conditions has {n} "
            "states"
        )


def _rows(model: Any, n: int) -> None:
    for i, row in enumerate(model.continuous_transition_types):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != n:
            got = len(row) if isinstance(row, list | tuple) else repr(row)
            raise ShapeValidationError(
                f"continuous_transition_types: row {i} is {got}, expected {n} movements such as "
                "RandomWalk()"
            )


def _initial(model: Any) -> int:
    name = "discrete_initial_conditions"
    value = _data.reals(model.discrete_initial_conditions, name)
    ensure_array_1d(value, name)
    if not len(value):
        raise ShapeValidationError(f"{name}: expected one probability per state, got none")
    return len(value)


def _probabilities(model: Any) -> None:
    name = "discrete_initial_conditions"
    value = _data.reals(model.discrete_initial_conditions, name)
    ensure_all_finite(value, name)
    ensure_all_non_negative(value, name)
    ensure_probability_distribution(value, name, _ROUNDING)


def _discrete(model: Any, n: int, settled: bool, kind_given: bool) -> None:
    kind = model.discrete_transition_type
    if not hasattr(kind, "is_stationary") or isinstance(kind, type):
        raise TypeValidationError(
            "discrete_transition_type: expected DiscreteStationaryDiagonal(...), "
            f"DiscreteStationaryCustom(...) or the like, got {kind!r:.60}"
        )
    matrix = kind.matrix()
    if matrix.shape != (n, n) and (settled or kind_given):
        raise ShapeValidationError(
            "discrete_transition_type: its size must match the number of states",
            expected=f"shape ({n}, {n})",
            got=f"shape {matrix.shape}",
        )
    if not kind.is_stationary and not isinstance(kind.formula, str):
        raise TypeValidationError(
            f"discrete_transition_type: its formula is {kind.formula!r:.60}, expected text"
        )
    numbers(model.discrete_transition_stickiness, "discrete_transition_stickiness", 0, n=n)
    numbers(model.discrete_transition_prior_weight, "discrete_transition_prior_weight", 0, n=n)
    frozen_rows(model.frozen_discrete_transition_rows, n)


def frozen_rows(rows: Any, n: int) -> Any:
    """Return which of n rows stay as they are, as flags; None for none."""
    mask = frozen_mask(rows, n)
    return None if mask is None else mask.astype(np.uint8)


def frozen_mask(rows: Any, n: int) -> Mask | None:
    """Return which of n rows stay as they are; None for none."""
    if rows is None or np.size(rows) == 0:
        return None
    chosen = np.asarray(rows)
    name = "frozen_discrete_transition_rows"
    if chosen.dtype == bool:
        if chosen.shape != (n,):
            raise ShapeValidationError(
                f"{name}: its boolean mask must have shape ({n},), got {chosen.shape}"
            )
        return chosen.copy()
    if chosen.dtype.kind not in "iu":
        raise TypeValidationError(
            f"{name}: expected integer indices or a boolean mask of {n}, got {rows!r:.60}"
        )
    if chosen.ndim != 1:
        raise ShapeValidationError(f"{name}: its index array must be 1D, got {chosen.shape}")
    if np.any((chosen < 0) | (chosen >= n)):
        raise ValidationError(f"{name}: its indices must be in [0, {n}), got {chosen.tolist()}")
    mask = np.zeros(n, dtype=bool)
    mask[chosen] = True
    return mask


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


def _beginnings(model: Any) -> None:
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


def _named_by_text(values: Any) -> bool:
    """Whether a list holds names of the original's forerunner instead of objects."""
    return len(values) > 0 and all(isinstance(each, str) and each in _NAMES for each in values)


def parameters(model: Any, settled: bool = True, kind_given: bool = True) -> None:
    """Refuse parameters that are not allowed or do not go together, before anything is computed.

    A model that is not settled yet, because it is being made, may still have names where movements
    belong, and transitions it did not choose of another number of states: like the original, it
    says so when it is fitted.
    """
    n = _initial(model)
    _lengths(model, n)
    _probabilities(model)
    number(
        model.discrete_transition_concentration, "discrete_transition_concentration", 0, above=True
    )
    number(model.discrete_transition_regularization, "discrete_transition_regularization", 0)
    number(model.sampling_frequency, "sampling_frequency", 0, above=True)
    number(model.no_spike_rate, "no_spike_rate", 0, above=True)
    _discrete(model, n, settled, kind_given)
    _names(model, n)
    environments(model.environments)
    _states(model)
    if settled or not _named_by_text(model.continuous_initial_conditions_types):
        _beginnings(model)
    if settled or not _named_by_text(model.continuous_transition_types):
        _rows(model, n)
        _movements(model)
    flag(model.infer_track_interior, "infer_track_interior")
    for name in ("no_spike_rate", "non_local_position_penalty", "non_local_penalty_std"):
        option(getattr(model, name), "decode.detector", name)
    width = model.local_position_std
    if isinstance(width, int | float) and width < 0:
        raise ValidationError(
            "local_position_std must be non-negative",
            expected="None, or cm of 0 or more",
            got=f"{width}",
        )
    if width is not None:
        number(width, "local_position_std", 0)
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

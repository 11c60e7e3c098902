"""The state space of a model: which bins there are, and the model in the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera.decode import _data
from tessera.decode._data import Array, Floats, Mask
from tessera.decode._encoding import EncodingModel
from tessera.decode._formula import Design
from tessera.decode._session import Session
from tessera.decode.continuous_state_transitions import (
    Discrete,
    EmpiricalMovement,
    Movement,
    Spec,
    Uniform,
)
from tessera.decode.discrete_state_transitions import check_matrix
from tessera.decode.environment import Environment, find_environment
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError
from tessera.decode.models import _validate
from tessera.decode.models._estimator import Estimator
from tessera.decode.observation_models import ObservationModel
from tessera.decode.results import prepare_results

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike, Covariates


class StateSpace(Estimator):
    """States, bins, initial conditions and transitions; knows nothing of spikes."""

    discrete_initial_conditions: Floats
    continuous_initial_conditions_types: Sequence[Any]
    discrete_transition_type: Any
    discrete_transition_concentration: float
    discrete_transition_stickiness: Any
    discrete_transition_regularization: float
    discrete_transition_prior_weight: Any
    frozen_discrete_transition_rows: Any
    continuous_transition_types: Sequence[Sequence[Movement]]
    observation_models: Sequence[ObservationModel]
    environments: Sequence[Environment]
    infer_track_interior: bool
    state_names: list[str]
    sampling_frequency: float
    no_spike_rate: float
    local_position_std: float | None
    non_local_position_penalty: float
    non_local_penalty_std: float
    memory_limit: int | str | None
    threads: int | None
    device: str | None

    state_ind_: Array
    is_track_interior_state_bins_: Mask
    initial_conditions_: Floats
    continuous_initial_conditions_: Floats
    discrete_state_transitions_: Floats
    discrete_transition_coefficients_: Floats | None
    discrete_transition_design_matrix_: Floats | None
    encoding_model_: dict[tuple[Any, Any], EncodingModel]

    # --- parameters

    def _check_parameters(self, settled: bool = True, kind_given: bool = True) -> None:
        """Refuse parameters that do not go together, before anything is computed."""
        _validate.parameters(self, settled, kind_given)

    @property
    def _frozen_discrete_transition_rows_mask_(self) -> Mask | None:
        """Which rows of the discrete transitions stay as they are; by the original's name."""
        return _validate.frozen_mask(self.frozen_discrete_transition_rows, len(self.state_names))

    def _has_one_bin(self, state: int) -> bool:
        observation = self.observation_models[state]
        if observation.is_no_spike:
            return True
        return observation.is_local and self.local_position_std is None

    def _environment_of(self, state: int) -> Environment:
        name = self.observation_models[state].environment_name
        return find_environment(self.environments, name)

    # --- what fit() makes

    def initialize_environments(
        self, position: ArrayLike, environment_labels: ArrayLike | None = None
    ) -> None:
        """Make the bins of every environment.

        Parameters
        ----------
        position : array, shape (n_sample, n_dim)
            Positions of all environments.
        environment_labels : array, shape (n_sample,), optional
            Which environment each belongs to; default: all belong to each.
        """
        points = self._positions(position)
        labels = _data.labels(environment_labels, len(points), "environment_labels", "position")
        if labels is not None:
            known = [environment.environment_name for environment in self.environments]
            for name in known:
                if not np.any(labels == name):
                    raise ValidationError(
                        f"environment_labels: no sample is labelled {name!r}; labels found are "
                        f"{', '.join(repr(str(label)) for label in np.unique(labels))}"
                    )
        for environment in self.environments:
            mine = points if labels is None else points[labels == environment.environment_name]
            environment.fit_place_grid(mine, infer_track_interior=self.infer_track_interior)

    def _positions(self, position: Any) -> Floats:
        """Return positions as rows; linear ones of a track as points of the plane."""
        points = _data.position(position)
        if len(self.environments) == 1:
            return self.environments[0]._in_plane(points)
        return points

    def initialize_state_index(self) -> None:
        """Lay out the bins of all states, one state after another."""
        interior: list[Mask] = []
        for state in range(len(self.state_names)):
            if self._has_one_bin(state):
                interior.append(np.ones(1, dtype=bool))
            else:
                interior.append(self._environment_of(state).is_track_interior_.ravel())
        self.n_discrete_states_ = len(self.state_names)
        self.bin_sizes_ = np.array([len(mask) for mask in interior])
        self.state_ind_ = np.repeat(np.arange(self.n_discrete_states_), self.bin_sizes_)
        self.n_state_bins_ = len(self.state_ind_)
        self.is_track_interior_state_bins_ = np.concatenate(interior)

    def initialize_initial_conditions(self) -> None:
        """Spread every state's probability over its bins."""
        parts = []
        for state, kind in enumerate(self.continuous_initial_conditions_types):
            observation = self.observation_models[state]
            if observation.is_local and not self._has_one_bin(state):
                observation = ObservationModel(observation.environment_name)
            parts.append(kind.make_initial_conditions(observation, self.environments))
        self.continuous_initial_conditions_ = np.concatenate(parts)
        discrete = np.asarray(self.discrete_initial_conditions, dtype=np.float64)
        self.initial_conditions_ = self.continuous_initial_conditions_ * discrete[self.state_ind_]

    def _set_initial_conditions(self, discrete: Floats, inner: Floats) -> None:
        """Take over the probability of every state, and of every interior bin."""
        initial = self.initial_conditions_.copy()
        initial[self.is_track_interior_state_bins_] = inner
        of_bin = discrete[self.state_ind_]
        self.discrete_initial_conditions = discrete
        self.initial_conditions_ = initial
        self.continuous_initial_conditions_ = np.divide(
            initial, of_bin, out=np.zeros_like(initial), where=~np.isclose(of_bin, 0)
        )

    def initialize_discrete_state_transition(
        self, covariate_data: Covariates | None = None
    ) -> None:
        """Make the transitions of the discrete states.

        Parameters
        ----------
        covariate_data : mapping of str to array, optional
            Covariates, where the transitions depend on some.
        """
        kind = self.discrete_transition_type
        matrix = check_matrix(
            kind.make_state_transition(covariate_data)[0] if kind.is_stationary else kind.matrix()
        )
        n = len(self.state_names)
        if matrix.shape != (n, n):
            raise ShapeValidationError(
                f"discrete_transition_type: a matrix {matrix.shape} for {n} states"
            )
        self._design: Design | None = None
        self.discrete_transition_coefficients_ = None
        self.discrete_transition_design_matrix_ = None
        self.discrete_state_transitions_ = matrix
        if not kind.is_stationary:
            self._design = kind.design(covariate_data)
            design = self._design.matrix
            self.discrete_transition_design_matrix_ = self._design.columns()
            self.discrete_transition_coefficients_ = kind.coefficients(design.shape[1])
            self.discrete_state_transitions_ = np.repeat(matrix[None], len(design), axis=0)

    def initialize_continuous_state_transition(
        self,
        continuous_transition_types: Sequence[Sequence[Movement]] | None = None,
        position: ArrayLike | None = None,
        is_training: ArrayLike | None = None,
        encoding_group_labels: ArrayLike | None = None,
        environment_labels: ArrayLike | None = None,
    ) -> None:
        """Prepare movement; what animals did is counted now, all else on demand.

        Parameters
        ----------
        continuous_transition_types : list of lists of movements, optional
            Replaces the parameter of the same name.
        position, is_training, encoding_group_labels, environment_labels : array, optional
            What :class:`EmpiricalMovement` is counted from.
        """
        if continuous_transition_types is not None:
            self.continuous_transition_types = continuous_transition_types
        self._moves: Floats | None = None
        self._moves_given = False
        self._counted: dict[tuple[int, int], Floats] = {}
        for i, row in enumerate(self.continuous_transition_types):
            for j, movement in enumerate(row):
                if isinstance(movement, EmpiricalMovement):
                    self._counted[i, j] = movement.make_state_transition(
                        self.environments,
                        position,
                        is_training,
                        encoding_group_labels,
                        environment_labels,
                    )
        self._forget()

    def _movement(self, i: int, j: int) -> Movement:
        movement = self.continuous_transition_types[i][j]
        if isinstance(movement, Discrete) and not (self._has_one_bin(i) or self._has_one_bin(j)):
            # A local state of many bins: its kernel alone ties it to the animal.
            return Uniform(
                self.observation_models[i].environment_name,
                self.observation_models[j].environment_name,
            )
        return movement

    def _block(self, i: int, j: int) -> Floats:
        """Movement from the bins of state i to those of state j."""
        shape = (self.bin_sizes_[i], self.bin_sizes_[j])
        if self._has_one_bin(j):
            return np.ones(shape)
        destination = self._environment_of(j)
        if self._has_one_bin(i):
            interior = destination.is_track_interior_.ravel()
            uniform: Floats = (interior / interior.sum())[np.newaxis]
            return uniform
        if (i, j) in self._counted:
            return self._counted[i, j]
        origin = self._environment_of(i)
        with Session(threads=self.threads) as context:
            spec = self._movement(i, j).spec(origin)
            matrix = _core.decode_movement_matrix(
                context, spec, origin._handle, destination._handle
            )
        return np.asarray(matrix)

    @property
    def continuous_state_transitions_(self) -> Floats:
        """Movement between all bins of all states; may be replaced by assignment."""
        if "_moves" not in self.__dict__:
            raise AttributeError("continuous_state_transitions_: call fit() first")
        if self._moves is None:
            n = range(self.n_discrete_states_)
            self._moves = np.block([[self._block(i, j) for j in n] for i in n])
            self._moves.flags.writeable = False  # a changed copy must be assigned to have effect
        return self._moves

    @continuous_state_transitions_.setter
    def continuous_state_transitions_(self, value: Any) -> None:
        matrix = _data.reals(value, "continuous_state_transitions_")
        n = self.n_state_bins_
        if matrix.shape != (n, n):
            raise ShapeValidationError(
                f"continuous_state_transitions_: expected shape {(n, n)}, got {matrix.shape}"
            )
        self._moves = matrix
        self._moves_given = True
        self._forget()

    # --- the model in the library

    def _session(self, device: str | None = None) -> dict[str, Any]:
        """Return how calls run; device is one call's own."""
        return {
            "threads": self.threads,
            "memory_limit": self.memory_limit,
            "device": self.device if device is None else device,
        }

    def _forget(self) -> None:
        self.__dict__.pop("_built", None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives in the library; it is made again on demand."""
        state = dict(self.__dict__)
        state.pop("_built", None)
        if not state.get("_moves_given", True):
            state["_moves"] = None
        matrix = state.get("discrete_transition_design_matrix_")
        if matrix is not None:
            state["discrete_transition_design_matrix_"] = np.asarray(matrix)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a copy's state; the design matrix knows its formula again."""
        self.__dict__.update(state)
        design: Design | None = self.__dict__.get("_design")
        if design is not None:
            self.discrete_transition_design_matrix_ = design.columns()

    def _check_fitted(self) -> None:
        """Refuse a fitted state, out of a file, whose parts do not go together."""
        if "encoding_model_" not in self.__dict__:
            return
        wanted = StateSpace.__new__(type(self))
        wanted.__dict__.update(self.get_params())
        wanted.initialize_state_index()
        wanted.initialize_initial_conditions()
        for name in wanted.__dict__.keys() - self.get_params().keys():
            _data.same_kind(self.__dict__[name], wanted.__dict__[name], name)
        n = self.n_discrete_states_
        transition = _data.reals(self.discrete_state_transitions_, "discrete_state_transitions_")
        design, coefficients = self._design, self.discrete_transition_coefficients_
        matrix = self.discrete_transition_design_matrix_
        n_time = 0
        if coefficients is not None:
            n_time, n_coefficient = _data.position(matrix, "design matrix").shape
            _data.same_kind(coefficients, np.zeros((n_coefficient, n, n - 1)), "coefficients")
        if transition.shape not in ((n, n), (n_time, n, n)):
            raise ShapeValidationError(
                f"discrete_state_transitions_: {transition.shape} for {n} states"
            )
        if not isinstance(design, Design | None):
            raise TypeValidationError(f"_design: expected a Design, got {type(design).__name__}")
        if self._moves is not None:
            _data.same_kind(self._moves, np.zeros((self.n_state_bins_,) * 2), "movement")
        for (i, j), counted in self._counted.items():
            shape = (self.bin_sizes_[i], self.bin_sizes_[j])
            _data.same_kind(counted, np.broadcast_to(0.0, shape), "movement")
        keys = {
            (each.environment_name, each.encoding_group)
            for each in self.observation_models
            if not each.is_no_spike
        }
        if self.encoding_model_.keys() != keys:
            raise ValidationError(f"encoding_model_: {list(self.encoding_model_)} for {keys}")
        for (place, _), model in self.encoding_model_.items():
            if model.environment is not self.environments[self._index(place)]:
                raise ValidationError(
                    f"encoding_model_: one of {place!r} is of another environment"
                )

    def _specs(self) -> list[Spec]:
        specs: list[Spec] = []
        for i in range(self.n_discrete_states_):
            for j in range(self.n_discrete_states_):
                if self._has_one_bin(i) or self._has_one_bin(j):
                    specs.append(("discrete", False, 0, None, None, None))
                elif self._moves_given and self._moves is not None:
                    block = self._moves[np.ix_(self.state_ind_ == i, self.state_ind_ == j)]
                    specs.append(("matrix", False, 0, None, None, np.ascontiguousarray(block)))
                elif (i, j) in self._counted:
                    specs.append(("empirical", False, 0, None, None, self._counted[i, j]))
                else:
                    specs.append(self._movement(i, j).spec(self._environment_of(i)))
        return specs

    def _state_rows(self, keys: list[tuple[Any, Any]]) -> list[tuple[str, int, int, bool, bool]]:
        rows = []
        for name, observation in zip(self.state_names, self.observation_models, strict=True):
            key = (observation.environment_name, observation.encoding_group)
            place = 0 if observation.is_no_spike else self._index(observation.environment_name)
            encoding = 0 if observation.is_no_spike else keys.index(key)
            rows.append(
                (
                    str(name),
                    place,
                    encoding,
                    bool(observation.is_local),
                    bool(observation.is_no_spike),
                )
            )
        return rows

    def _index(self, name: Any) -> int:
        return [environment.environment_name for environment in self.environments].index(name)

    def _options(self) -> dict[str, Any]:
        options = {
            "no_spike_rate": float(self.no_spike_rate),
            "non_local_position_penalty": float(self.non_local_position_penalty),
            "non_local_penalty_std": float(self.non_local_penalty_std),
        }
        if self.local_position_std is not None:
            options["local_position_std"] = float(self.local_position_std)
        return options

    def _detector(self, device: str | None = None, anywhere: bool = False) -> _core.Handle:
        """Return the model in the library, made again when one of its parameters changed.

        There is one for each device, where it stays; anywhere: any of them does.
        """
        if "encoding_model_" not in self.__dict__:
            raise RuntimeError(f"this {type(self).__name__} is not fitted yet: call fit() first")
        transition = np.asarray(self.discrete_state_transitions_, dtype=np.float64)
        coefficients = self.discrete_transition_coefficients_
        if coefficients is not None:
            coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
        if transition.ndim == 3:
            transition = transition[0]
        initial = np.asarray(self.initial_conditions_, dtype=np.float64)
        initial = np.ascontiguousarray(initial[self.is_track_interior_state_bins_])
        discrete = np.ascontiguousarray(self.discrete_initial_conditions, dtype=np.float64)
        session = self._session(device)
        encodings = [model.fit(**session).handle for model in self.encoding_model_.values()]
        key = (
            transition.tobytes(),
            initial.tobytes(),
            None if coefficients is None else coefficients.tobytes(),
            tuple(id(encoding) for encoding in encodings),
            tuple(self._options().items()),
        )
        built = self.__dict__.setdefault("_built", {})
        where = tuple(session.values())
        if anywhere:
            where = next((place for place, made in built.items() if made[0] == key), where)
        if where not in built or built[where][0] != key:
            with Session(**session) as context:
                handle = _core.decode_detector(
                    context,
                    self._state_rows(list(self.encoding_model_)),
                    [environment._handle for environment in self.environments],
                    encodings,
                    self._specs(),
                    discrete,
                    np.ascontiguousarray(transition),
                    coefficients=coefficients,
                    initial=initial,
                    options=self._options(),
                )
            built[where] = (key, handle, encodings)
        found: _core.Handle = built[where][1]
        return found

    def _make_ready(self, device: str | None) -> None:
        """Make what every prediction needs, on its device, before the first one waits for it."""
        self._detector(device)
        prepare_results(list(self.state_names), self.state_ind_, self._bin_centers())

    def _bin_centers(self) -> Floats:
        """Position of every bin of every state; NaN for states of one bin."""
        n_axis = self.environments[0].place_bin_centers_.shape[1]
        parts = [
            np.full((1, n_axis), np.nan)
            if self._has_one_bin(state)
            else self._environment_of(state).place_bin_centers_
            for state in range(self.n_discrete_states_)
        ]
        return np.concatenate(parts)

    def calculate_time_bins(self, time_range: Sequence[float] | Floats) -> Floats:
        """Return times from time_range[0] on, one per 1 / sampling_frequency.

        Parameters
        ----------
        time_range : (float, float)
            First and last time, in seconds.

        Returns
        -------
        ndarray, shape (n_time,)
            Left edges of time bins.

        Examples
        --------
        >>> import tessera.decode as td
        >>> td.ClusterlessDecoder(sampling_frequency=10).calculate_time_bins((2.0, 2.5))
        array([2. , 2.1, 2.2, 2.3, 2.4])
        """
        first, last = float(time_range[0]), float(time_range[-1])
        n = int(np.ceil((last - first) * self.sampling_frequency))
        times: Floats = first + np.arange(n) / self.sampling_frequency
        return times


def detector_default(name: str) -> Any:
    """Return the default of an option of table ``decode.detector``."""
    return default("decode.detector", name)

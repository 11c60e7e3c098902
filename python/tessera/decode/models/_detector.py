"""What clusterless and sorted-spikes models share: parameters, fitting, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tessera._lib import default, warn
from tessera._progress import ProgressLike, callback
from tessera.decode import _data
from tessera.decode._data import Array, Floats, Mask
from tessera.decode._encoding import EncodingModel, check_options, encoding_options
from tessera.decode._predecessor import own_all
from tessera.decode.environment import Environment
from tessera.decode.exceptions import TypeValidationError, ValidationError
from tessera.decode.models import _validate
from tessera.decode.models._estimate import EstimateMixin
from tessera.decode.models._near import NearMixin
from tessera.decode.models._plots import PlotMixin
from tessera.decode.models._ready import model_defaults
from tessera.decode.models._state_space import StateSpace
from tessera.decode.observation_models import ObservationModel

if TYPE_CHECKING:
    from tessera.decode._types import ResultsLike

OWN = "model"  # stands for: what the ready-made model says

# Options of the encoding that are parameters of every model.
_ENCODING_OPTIONS = ("mode", "floor", "bin_scale", "mark_density", "nan_policy", "membership")


def _group_counts(names: list[str], masks: list[Mask | None], n: int) -> str:
    kept = np.ones(n, dtype=bool)
    parts = [f"{n} samples"]
    for name, mask in zip(names, masks, strict=True):
        if mask is not None:
            kept = kept & mask
            parts.append(f"{int(kept.sum())} after {name}")
    return ", ".join(parts)


class DetectorBase(EstimateMixin, PlotMixin, NearMixin, StateSpace):
    """What clusterless and sorted-spikes models share."""

    _kind: ClassVar[int | None] = None
    _sorted: ClassVar[bool] = False
    _algorithm_name: ClassVar[str]  # of the parameter; that of its options ends in _params
    _algorithms: ClassVar[dict[str, str]]  # the library's by the original's name
    _bandwidths: ClassVar[tuple[str, ...]]  # options that have a default

    # --- parameters

    def _take(self, given: dict[str, Any]) -> None:
        """Take over the arguments of ``__init__``, which are its local variables."""
        given = {name: given[name] for name in given if name not in ("self", "__class__")}
        _data.choice(given[self._algorithm_name], self._algorithms, self._algorithm_name)
        params = f"{self._algorithm_name}_params"
        if given[params] is None:
            given[params] = {name: default("decode.encoding", name) for name in self._bandwidths}
        self._assign(given)

    def _assign(self, given: dict[str, Any]) -> None:
        """Make every argument an attribute; None is what the ready-made model says."""
        own: dict[str, Any] = {}
        if self._kind is not None:
            own = model_defaults(self._kind, self._sorted)
        values = {name: own.get(name) if value is None else value for name, value in given.items()}
        if given["frozen_discrete_transition_rows"] is None:
            values["frozen_discrete_transition_rows"] = None
        elif isinstance(given["frozen_discrete_transition_rows"], str):
            values["frozen_discrete_transition_rows"] = own.get("frozen_discrete_transition_rows")
        self._fill(values, given)
        for name, value in values.items():
            setattr(self, name, value)
        self._check_parameters(False, given["discrete_transition_type"] is not None)

    def _fill(self, values: dict[str, Any], given: dict[str, Any]) -> None:
        """Complete what has a default that is no model's."""
        missing = [
            name
            for name in (
                "discrete_initial_conditions",
                "discrete_transition_type",
                "continuous_transition_types",
            )
            if values[name] is None
        ]
        if missing:
            raise TypeError(f"{type(self).__name__}() needs argument '{missing[0]}'")
        for name in ("continuous_transition_types", "environments"):
            values[name] = own_all(values[name])
        types = values["continuous_transition_types"]
        n = len(_validate.listed(types, "continuous_transition_types"))
        environments = values["environments"]
        environments = _validate.environments(
            Environment() if environments is None else environments
        )
        values["environments"] = environments
        observations = values["observation_models"]
        observations_given = given.get("observation_models") is not None
        if observations is None:
            observations = ObservationModel(environments[0].environment_name)
        if isinstance(observations, ObservationModel):
            observations = (observations,) * n
        elif not observations_given and len(observations) == 1:
            # A model of one state that is made with more: all see what that one sees.
            name = environments[0].environment_name
            observations = (replace(observations[0], environment_name=name),) * n
        values["observation_models"] = observations
        initial = _data.reals(values["discrete_initial_conditions"], "discrete_initial_conditions")
        values["discrete_initial_conditions"] = initial
        if values["state_names"] is None:
            values["state_names"] = [f"state {i}" for i in range(initial.size)]
        if values["continuous_initial_conditions_types"] is None:
            from tessera.decode.initial_conditions import UniformInitialConditions

            values["continuous_initial_conditions_types"] = [UniformInitialConditions()] * n
        plain = {
            "discrete_transition_concentration": 1.0,
            "discrete_transition_stickiness": 0.0,
            "discrete_transition_regularization": default("decode.em", "regularization"),
            "infer_track_interior": default("decode.environment", "infer_track_interior"),
            "no_spike_rate": default("decode.detector", "no_spike_rate"),
            "non_local_position_penalty": default("decode.detector", "non_local_position_penalty"),
            "non_local_penalty_std": default("decode.detector", "non_local_penalty_std"),
        }
        for name, value in plain.items():
            if values[name] is None:
                values[name] = value

    def _check_parameters(self, settled: bool = True, kind_given: bool = True) -> None:
        """Refuse parameters that are not allowed, those of the algorithm, too."""
        super()._check_parameters(settled, kind_given)
        params = getattr(self, f"{self._algorithm_name}_params")
        if not isinstance(params, Mapping | None):
            raise TypeValidationError(
                f"{self._algorithm_name}_params: expected a dict, got {type(params).__name__}"
            )
        check_options(self._encoding_options())

    def _encoding_options(self) -> dict[str, Any]:
        """Put together what the algorithm's own dict and the model's parameters say."""
        chosen = {
            name: getattr(self, name)
            for name in _ENCODING_OPTIONS
            if getattr(self, name) is not None
        }
        algorithm = self._algorithms[getattr(self, self._algorithm_name)]
        params = getattr(self, f"{self._algorithm_name}_params")
        return encoding_options(algorithm, {**(params or {}), **chosen})

    # --- fit

    def _fit(
        self,
        position: Any,
        is_training: Any = None,
        encoding_group_labels: Any = None,
        environment_labels: Any = None,
        discrete_transition_covariate_data: Any = None,
    ) -> None:
        """Make bins, initial conditions and transitions."""
        self._check_parameters()
        points = self._positions(position)
        self.__dict__.pop("encoding_model_", None)
        self.initialize_environments(points, environment_labels)
        self.initialize_state_index()
        self.initialize_initial_conditions()
        self.initialize_discrete_state_transition(discrete_transition_covariate_data)
        self.initialize_continuous_state_transition(
            None, points, is_training, encoding_group_labels, environment_labels
        )

    def _fit_encodings(
        self,
        position_time: Any,
        position: Any,
        spike_times: Sequence[Any],
        features: Sequence[Any] | None,
        is_training: Any,
        encoding_group_labels: Any,
        environment_labels: Any,
        weights: Any = None,
        progress: ProgressLike = None,
        device: str | None = None,
    ) -> None:
        """Fit one encoding model for every environment and group that a state uses."""
        points = self._positions(position)
        training: dict[str, Any] = {
            "position_time": _data.vector(position_time, "position_time"),
            "position": points,
            "spike_times": _data.spike_times(spike_times),
            "marks": None if features is None else _data.features(features),
            "weights": None if weights is None else _data.vector(weights, "weights"),
        }
        options = self._encoding_options()
        n = len(points)
        trained = _data.mask(is_training, "is_training")
        _data.same_length(trained, n, "is_training", "position_time")
        _data.same_length(training["position_time"], n, "position_time", "position")
        groups = _data.labels(encoding_group_labels, n, "encoding_group_labels")
        places = _data.labels(environment_labels, n, "environment_labels")
        models: dict[tuple[Any, Any], EncodingModel] = {}
        for observation in self.observation_models:
            key = (observation.environment_name, observation.encoding_group)
            if observation.is_no_spike or key in models:
                continue
            chosen = self._samples(points, trained, groups, places, key)
            models[key] = EncodingModel(
                self.environments[self._index(key[0])],
                {**training, "is_training": chosen},
                options,
            )
        for model in models.values():
            model.fit(callback(progress), **self._session(device))
        if any(model.chose_relative_floor for model in models.values()):
            n_feature = max(marks.shape[1] for marks in training["marks"])
            warn(
                f"spikes have up to {n_feature} features: their smallest intensity is relative to "
                "their best position (floor='relative'); pass floor='absolute' for the rule of "
                "non_local_detector, which loses them"
            )
        self.encoding_model_ = models
        self._forget()

    def _samples(
        self,
        points: Floats,
        trained: Mask | None,
        groups: Array | None,
        places: Array | None,
        key: tuple[Any, Any],
    ) -> Mask:
        """Return which samples an encoding model learns from; none is an error with counts."""
        place, group = key
        n = len(points)
        tracked: Mask = np.logical_not(np.isnan(points).any(axis=1))
        in_group: Mask | None
        if groups is None:
            in_group = None if group == 0 else np.zeros(n, dtype=bool)
        else:
            in_group = np.isin(groups, group)
        in_place: Mask | None
        if places is None:
            first = self.environments[0].environment_name
            in_place = None if place == first else np.zeros(n, dtype=bool)
        else:
            in_place = np.asarray(places == place, dtype=bool)
        chosen = np.ones(n, dtype=bool)
        for mask in (trained, in_group, in_place):
            if mask is not None:
                chosen &= mask
        if not np.any(chosen & tracked):
            counts = _group_counts(
                [
                    "NaN positions",
                    "is_training",
                    f"encoding group {group!r}",
                    f"environment {place!r}",
                ],
                [tracked, trained, in_group, in_place],
                n,
            )
            raise ValidationError(f"no training samples are left for {key}: {counts}")
        return chosen

    # --- files

    def _state(self) -> dict[str, Any]:
        """Return what a file holds: the parameters, and all that fitting and the user made."""
        parameters = self.get_params()
        state = self.__getstate__()
        fitted = {name: value for name, value in state.items() if name not in parameters}
        del parameters["device"]  # of this machine, not of the model
        return {"parameters": parameters, "fitted": fitted}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        model = cls(**state["parameters"])
        model.set_params(**state["parameters"])  # None, too, which to __init__ is the default
        for name, value in state["fitted"].items():
            if hasattr(cls, name) or not name.isidentifier():
                raise ValidationError(f"{name!r} is not what fitting makes")
            model.__dict__[name] = value
        model._check_fitted()
        model.__setstate__({})
        return model

    def save_model(self, filename: str | Path = "model.pkl") -> None:
        """Write the model with its training data: arrays in an .npz, whatever its name; no pickle.

        Files of ready-made models are those of the command, too (``tessera decode predict
        --model-file``).

        Parameters
        ----------
        filename : path
            Where to; an existing file is replaced.
        """
        from tessera.decode import _command_model, _model_file

        _model_file.save(self, filename, _command_model.put)

    @staticmethod
    def load_model(filename: str | Path = "model.pkl") -> Any:
        """Read a model of :meth:`save_model` or of the command; nothing in a file is run.

        Parameters
        ----------
        filename : path
            Where from: .npz or, of the command, HDF5. Pickles are refused.

        Returns
        -------
        detector
            Of the class that the file names.
        """
        from tessera.decode import _command_model, _model_file

        loaded = _model_file.load(filename, _command_model.load)
        if not isinstance(loaded, DetectorBase):
            raise TypeValidationError(f"{filename} holds a {type(loaded).__name__}, not a model")
        return loaded

    @staticmethod
    def save_results(results: ResultsLike, filename: str | Path = "results.nc") -> None:
        """Write results: netCDF for an xarray.Dataset, else .npz.

        Parameters
        ----------
        results : xarray.Dataset or Results
            What :meth:`predict` returned.
        filename : path
            Where to.
        """
        from tessera.decode._files import save_results

        save_results(results, filename)

    @staticmethod
    def load_results(filename: str | Path = "results.nc") -> ResultsLike:
        """Read results written by :meth:`save_results`, :meth:`predict_file` or the command.

        Parameters
        ----------
        filename : path
            Where from.

        Returns
        -------
        xarray.Dataset or Results
            As :meth:`predict` returned them. Those of ``predict_file()`` and of ``tessera decode``
            also have the animal where it is known, as ``true_position``.
        """
        from tessera.decode._files import load_results

        found: ResultsLike = load_results(filename)
        return found

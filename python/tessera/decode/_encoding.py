"""Encoding models: what the spikes of every electrode or unit say about position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera._tables import tables
from tessera.decode import _data
from tessera.decode._data import Array, Floats, Mask
from tessera.decode._options import numbers, option
from tessera.decode._session import Session
from tessera.decode.environment import Environment
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError

CLUSTERLESS = {
    "clusterless_kde": "clusterless_kde",
    "clusterless_kde_log": "clusterless_kde",
    "clusterless_gmm": "clusterless_gmm",
}
SORTED = {
    "sorted_spikes_kde": "sorted_spikes_kde",
    "sorted_spikes_glm": "sorted_spikes_glm",
}

# How the original cuts its work; here that is decided by the library and changes no result.
_IGNORED = {
    "block_size",
    "bin_tile_size",
    "disable_progress_bar",
    "enc_tile_size",
    "pos_tile_size",
    "spike_block_size",
    "use_streaming",
}
_RENAMED = {
    "emission_knot_spacing": "glm_knot_spacing",
    "gmm_max_iter": "gmm_iterations",
    "gmm_random_state": "seed",
    "gmm_reg_covar": "gmm_ridge",
    "gmm_tol": "gmm_tolerance",
    "l2_penalty": "glm_penalty",
}
_BANDWIDTHS = ("position_std", "waveform_std")
KEEPERS = ("occupancy_model", "emission_design_info")  # entries that know their model
_BLOCK = 100  # the original's block_size, an entry of its models; here it says nothing


def encoding_options(algorithm: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Turn the parameters of an algorithm, the original's or ours, into the library's."""
    options: dict[str, Any] = {"algorithm": algorithm}
    for name, value in (params or {}).items():
        if name in _IGNORED or value is None:
            continue
        if name.startswith("gmm_covariance_type"):
            if value != "full":
                raise ValidationError(f"{name}: only 'full' is supported, got {value!r}")
            continue
        options[_RENAMED.get(name, name)] = value
    if options.get("bin_scale") == "auto":
        options["bin_scale"] = 0.0
    return options


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that do not exist or have a value that is not allowed."""
    known = {param["name"] for param in tables()["decode.encoding"]}
    unknown = sorted(options.keys() - known)
    if unknown:
        raise ValidationError(
            f"algorithm parameters: {unknown[0]!r} does not exist; known are "
            f"{', '.join(sorted(known | _RENAMED.keys() | _IGNORED))}"
        )
    for name, value in options.items():
        if name in _BANDWIDTHS and not _scalar(value):
            numbers(value, name, 0, above=True)
        else:
            option(value, "decode.encoding", name)


def _scalar(value: Any) -> bool:
    return bool(np.ndim(value) == 0)


def _split(flat: Array, counts: Array, name: str) -> list[Array]:
    """Cut what electrodes have one after another."""
    if flat.ndim != 1 or counts.ndim != 1 or np.any(counts < 0) or counts.sum() != len(flat):
        raise ShapeValidationError(
            f"{name}: {flat.shape} values for {counts.sum()} of all electrodes"
        )
    return np.split(flat, np.cumsum(counts)[:-1]) if len(counts) else []


class EncodingModel(Mapping[str, Any]):
    """A fitted encoding model; a mapping with the names of the original.

    Parameters
    ----------
    environment : Environment
        With bins.
    training : dict
        spike_times, marks (or None), position_time, position, is_training, weights.
    options : dict
        Options of table ``decode.encoding``; bandwidths may be arrays.
    """

    def __init__(
        self, environment: Environment, training: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self.environment = environment
        self.training = training
        self.options = options
        self.session: dict[str, Any] = {}

    def fit(self, progress: Any = None, **session: Any) -> EncodingModel:
        """Fit now instead of on first use."""
        self.session = {"progress": progress, **session}
        try:
            self.handle  # noqa: B018
        finally:
            self.session = {}
        return self

    @property
    def chose_relative_floor(self) -> bool:
        """Whether the floor is not the original's without anybody having asked for that."""
        return bool(
            self.options.get("floor", "auto") == "auto" and self.info["floor"] == "relative"
        )

    @property
    def is_exact(self) -> bool:
        """Whether the likelihood is computed, and returned, in float64."""
        return bool(self.options.get("mode", default("decode.encoding", "mode")) == "exact")

    @cached_property
    def handle(self) -> _core.Handle:
        """The model in the library, fitted on first use."""
        check_options(self.options)
        options = dict(self.options)
        vectors: dict[str, Floats | None] = {}
        for name in _BANDWIDTHS:
            vectors[name] = None
            if name in options and not _scalar(options[name]):
                vectors[name] = _data.vector(options.pop(name), name)
        session = dict(self.session)
        progress = session.pop("progress", None)
        with Session(**session) as context:
            return _core.decode_encoding(
                context,
                self.environment._handle,
                self.training,
                options=options,
                position_std=vectors["position_std"],
                waveform_std=vectors["waveform_std"],
                progress=progress,
            )

    @cached_property
    def info(self) -> dict[str, Any]:
        """Everything known of the model, as the library names it."""
        return _core.decode_encoding_info(self.handle)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives in the library; it is fitted again on demand, to the same bits."""
        state = dict(self.__dict__)
        for name in ("handle", "info", "_made"):
            state.pop(name, None)
        return state

    def _state(self) -> dict[str, Any]:
        """Return what a file holds; electrodes one after another, as the command's files do."""
        training = dict(self.training)
        times, marks = training.pop("spike_times"), training.pop("marks")
        flat = [] if marks is None else [array.reshape(-1) for array in marks]
        return {
            "environment": self.environment,
            "options": self.options,
            **training,
            "n_spike": np.array([len(each) for each in times], dtype=np.int64),
            "spike_times": np.concatenate([np.zeros(0), *times]),
            "n_feature": None
            if marks is None
            else np.array([array.shape[1] for array in marks], dtype=np.int64),
            "spike_marks": None if marks is None else np.concatenate(flat or [np.zeros(0)]),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> EncodingModel:
        n_spike, n_feature = state.pop("n_spike"), state.pop("n_feature")
        marks = state.pop("spike_marks")
        training: dict[str, Any] = {
            "spike_times": _split(state.pop("spike_times"), n_spike, "spike_times"),
            "marks": None,
        }
        if marks is not None:
            parts = _split(marks, n_spike * n_feature, "spike_marks")
            training["marks"] = _data.features(
                [part.reshape(n, f) for part, n, f in zip(parts, n_spike, n_feature, strict=True)]
            )
        environment, options = state.pop("environment"), state.pop("options")
        model = cls(environment, {**state, **training}, options)
        model._check()
        return model

    def _check(self) -> None:
        """Refuse what cannot be fitted, before it is asked for."""
        training = self.training
        n = len(_data.vector(training["position_time"], "position_time"))
        _data.same_length(_data.position(training["position"]), n, "position", "position_time")
        for name in ("is_training", "weights"):
            if training[name] is not None:
                each = _data.vector(training[name], name)
                _data.same_length(each, n, name, "position_time")
        if not isinstance(self.environment, Environment) or not isinstance(self.options, dict):
            raise TypeValidationError("an encoding model has an environment and options")

    def _bandwidth(self, name: str) -> Floats:
        value = self.options.get(name, default("decode.encoding", name))
        return np.atleast_1d(np.asarray(value, dtype=np.float64))

    def _array(self, name: str) -> Array:
        return np.asarray(self.info[name])

    def _arrays(self, name: str) -> list[Array]:
        return [np.asarray(array) for array in self.info[name]]

    def _place_fields(self) -> Array:
        """Rates over all bins, 0 where the animal cannot be."""
        interior = self.environment.is_track_interior_.ravel()
        inner = self._array("place_fields")
        fields = np.zeros((len(inner), interior.size))
        fields[:, interior] = inner
        return fields

    def _kept(self) -> Mask:
        """Say which samples were learned from."""
        chosen = self.training["is_training"]
        tracked: Mask = ~np.isnan(self.training["position"]).any(axis=1)
        return tracked if chosen is None else tracked & chosen

    def _on_bins(self, points: Floats) -> Floats:
        """Return positions in the coordinates of the bins."""
        graph = self.environment.track_graph is not None and points.shape[1] > 1
        return self.environment.linearize(points) if graph else points

    def _occupancy_model(self) -> Any:
        from tessera.decode.likelihoods.common import KDEModel

        kept, weights = self._kept(), self.training["weights"]
        samples = self._on_bins(self.training["position"][kept])
        return KDEModel(self["position_std"]).fit(
            samples, None if weights is None else weights[kept]
        )

    def _spike_models(self) -> list[Any]:
        """Return the densities of the places of every electrode's or unit's spikes."""
        from tessera.decode.likelihoods.common import KDEModel

        return [
            KDEModel(self["position_std"]).fit(places, self._spike_weights(i))
            for i, places in enumerate(self._arrays("encoding_positions"))
        ]

    def _spike_weights(self, i: int) -> Floats | None:
        """Return the weights of the spikes that were learned: without those before and after."""
        weights = self.training["weights"]
        if weights is None:
            return None
        first, n = int(self._array("n_before")[i]), int(self._array("n_spike")[i])
        times = np.sort(self.training["spike_times"][i])[first : first + n]
        found: Floats = np.interp(times, self.training["position_time"], weights)
        return found

    def _position_std(self) -> Floats:
        n_dim = np.shape(self.environment.place_bin_centers_)[1]
        return np.array(np.broadcast_to(self._bandwidth("position_std"), (n_dim,)))

    def _waveform_std(self) -> float | Floats:
        value = self._bandwidth("waveform_std")
        return float(value[0]) if len(value) == 1 else value

    def _entries(self) -> dict[str, Any]:
        clusterless = self.info["algorithm"].startswith("clusterless")
        entries: dict[str, Any] = {
            "environment": lambda: self.environment,
            "mean_rates": lambda: self._array("mean_rates"),
        }
        if self.info["algorithm"].endswith("_kde"):
            entries["occupancy"] = lambda: self._array("occupancy")
            entries["occupancy_model"] = self._occupancy_model
            entries["gpi_models" if clusterless else "marginal_models"] = self._spike_models
            if clusterless:
                entries["position_std"] = self._position_std
        if clusterless:
            entries["summed_ground_process_intensity"] = lambda: self._array(
                "summed_ground_intensity"
            )
        if self.info["algorithm"] == "clusterless_kde":
            entries["waveform_std"] = self._waveform_std
            entries["encoding_positions"] = lambda: self._arrays("encoding_positions")
            entries["encoding_spike_waveform_features"] = lambda: self._arrays("encoding_marks")
            entries["block_size"] = lambda: _BLOCK
        elif self.info["algorithm"] == "clusterless_gmm":
            entries["occupancy_model"] = lambda: self._shown().mixture(
                self.handle, self.options, self._shown().OCCUPANCY
            )
            entries["interior_place_bin_centers"] = self._interior_centers
            entries["log_occupancy"] = lambda: np.log(self._array("occupancy"))
            entries["gpi_models"] = lambda: self._mixtures(self._shown().GROUND)
            entries["joint_models"] = lambda: self._mixtures(self._shown().JOINT)
        elif self.info["algorithm"] == "sorted_spikes_glm":
            entries["coefficients"] = lambda: self._shown().coefficients(self.handle)
            entries["emission_design_info"] = lambda: self._shown().emission_design_info(
                self.handle
            )
        if not clusterless:
            entries["place_fields"] = self._place_fields
            entries["no_spike_part_log_likelihood"] = lambda: self["place_fields"].sum(axis=0)
            entries["is_track_interior"] = self.environment.is_track_interior_.ravel
        entries["disable_progress_bar"] = lambda: False
        return entries

    @staticmethod
    def _shown() -> Any:
        from tessera.decode.likelihoods import _shown

        return _shown

    def _mixtures(self, density: int) -> list[Any]:
        n = len(self.training["spike_times"])
        return [self._shown().mixture(self.handle, self.options, density, i) for i in range(n)]

    def _interior_centers(self) -> Floats:
        inside = self.environment.is_track_interior_.ravel()
        centers: Floats = np.asarray(self.environment.place_bin_centers_)[inside]
        return centers

    def __getitem__(self, name: str) -> Any:
        made = self.__dict__.setdefault("_made", {})
        if name not in made:
            if name == "position_std":
                made[name] = self._position_std()
            else:
                made[name] = self._entries()[name]()
            if name in KEEPERS:
                made[name].fitted = self
            if isinstance(made[name], np.ndarray):
                made[name].flags.writeable = False  # as the original's, which are JAX's
        return made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def __repr__(self) -> str:
        n = len(self.training["spike_times"])
        return f"EncodingModel({self.options['algorithm']!r}, {n} electrodes or units)"

"""Models as the command keeps them: training data, settings as text, discrete parameters.

The names of the arrays are listed in ``src/systems/decode/model/model_file.c``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tessera import decode
from tessera._core import FormatError
from tessera._tables import tables
from tessera.decode import _data
from tessera.decode._data import Array
from tessera.decode._encoding import EncodingModel
from tessera.decode._plain import Read, Writer
from tessera.decode._track import TrackGraph, own_order, track_arrays
from tessera.decode.continuous_state_transitions import RandomWalk
from tessera.decode.discrete_state_transitions import (
    DiscreteNonStationaryCustom,
    DiscreteStationaryCustom,
)
from tessera.decode.environment import Environment
from tessera.decode.models import _ready

_SCHEMA = b"tessera.decode.model/1"
_ONE_BIN_LOCAL = -1.0  # the library's local_position_std for None
_BANDWIDTHS = ("position_std", "waveform_std")
_OF_ENVIRONMENT = (
    "place_bin_size",
    "infer_track_interior",
    "fill_holes",
    "dilate",
    "bin_count_threshold",
)
_OF_TRACK = ("node_position", "edges", "edge_length", "edge_order", "edge_spacing")


def _model_names() -> list[str]:
    (row,) = (param for param in tables()["decode.model"] if param["name"] == "model")
    return (row["choices"] or "").split("|")


# --- writing


def put(writer: Writer, model: Any) -> bool:
    """Add what the command reads, if it has the same model; returns whether it has."""
    variance = _variance(model)
    if variance is None:
        return False
    ((_, encoding),) = model.encoding_model_.items()
    environment = model.environments[0]
    options = dict(encoding.options)
    settings: dict[str, Any] = {
        "model.model": _model_names()[model._kind],
        "model.movement_variance": variance,
        **_environment_settings(environment),
        "detector.no_spike_rate": model.no_spike_rate,
        "detector.non_local_position_penalty": model.non_local_position_penalty,
        "detector.non_local_penalty_std": model.non_local_penalty_std,
        "detector.local_position_std": _ONE_BIN_LOCAL
        if model.local_position_std is None
        else model.local_position_std,
    }
    for name in _BANDWIDTHS:
        if np.ndim(options.get(name, 0)):
            writer.put(_data.vector(options.pop(name), name), name)
    settings |= {f"encoding.{name}": value for name, value in options.items()}
    texts = {name: _text(value) for name, value in settings.items()}
    writer.put(np.array([_SCHEMA]), "schema")
    writer.put(np.array([name.encode() for name in texts]), "setting_names")
    writer.put(np.array([text.encode() for text in texts.values()]), "setting_values")
    _put_environment(writer, environment, encoding)
    for name, value in encoding._state().items():
        if isinstance(value, np.ndarray):
            writer.put(value, name)
    interior = model.is_track_interior_state_bins_
    writer.put(_data.reals(model.discrete_initial_conditions, ""), "discrete_initial")
    writer.put(_data.reals(model.discrete_state_transitions_, ""), "discrete_transition")
    writer.put(_data.reals(model.initial_conditions_, "")[interior], "initial")
    return True


def _variance(model: Any) -> float | None:
    """Return the variance of all random walks; None if the library has no such model."""
    kind = getattr(model, "_kind", None)
    is_fitted = "encoding_model_" in getattr(model, "__dict__", {})
    if kind is None or kind == _ready.MULTI_ENVIRONMENT or not is_fitted:
        return None
    own = _ready.model_defaults(kind, model._sorted)
    name = model.environments[0].environment_name
    if (
        len(model.environments) != 1
        or len(model.encoding_model_) != 1
        or model.discrete_transition_coefficients_ is not None
        or model._moves_given
        or model._counted
        or list(model.state_names) != own["state_names"]
        or [_role(each, name) for each in model.observation_models]
        != [_role(each, "") for each in own["observation_models"]]
    ):
        return None
    walks = []
    for row, wanted in zip(
        model.continuous_transition_types, own["continuous_transition_types"], strict=True
    ):
        for movement, like in zip(row, wanted, strict=True):
            if type(movement) is not type(like):
                return None
            if isinstance(movement, RandomWalk):
                walks.append(movement)
    return _common_variance(walks)


def _role(observation: Any, place: str) -> tuple[bool, bool, bool]:
    is_here = observation.is_no_spike or observation.environment_name == place
    return is_here, bool(observation.is_local), bool(observation.is_no_spike)


def _common_variance(walks: list[RandomWalk]) -> float | None:
    first = walks[0].movement_var
    for walk in walks:
        is_plain = not np.any(walk.movement_mean) and not walk.use_manifold_distance
        if np.size(first) != 1 or not np.array_equal(walk.movement_var, first) or not is_plain:
            return None
    return float(np.asarray(first).squeeze())


def _text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return str(value.item()) if isinstance(value, np.generic) else str(value)


def _environment_settings(environment: Environment) -> dict[str, Any]:
    settings = {f"environment.{name}": getattr(environment, name) for name in _OF_ENVIRONMENT}
    if np.ndim(environment.place_bin_size):
        del settings["environment.place_bin_size"]
    return settings


def _put_environment(writer: Writer, environment: Environment, encoding: EncodingModel) -> None:
    arrays: dict[str, Any] = {}
    grid: Any = environment._position
    if not np.array_equal(grid, encoding.training["position"], equal_nan=True):
        arrays["grid_position"] = grid
    if np.ndim(environment.place_bin_size):
        arrays["bin_size"] = _data.vector(environment.place_bin_size, "place_bin_size")
    arrays["position_range"] = environment._range()
    if environment.is_track_interior is not None:
        interior = np.asarray(environment.is_track_interior, dtype=bool)
        arrays["is_track_interior"] = interior.ravel()
    if environment.environment_name:
        arrays["environment_name"] = np.array([str(environment.environment_name).encode()])
    if environment.track_graph is not None:
        track = track_arrays(
            environment.track_graph, environment.edge_order, environment.edge_spacing
        )
        arrays |= {f"track_{name}": getattr(track, name) for name in _OF_TRACK}
    for name, array in arrays.items():
        if array is not None:
            writer.put(array, name)


# --- reading


class _Members:
    """The arrays of a file, some of which need not be there."""

    def __init__(self, read: Read) -> None:
        self.must_have = read

    def get(self, name: str) -> Array | None:
        try:
            return self.must_have(name)
        except KeyError:
            return None

    def texts(self, name: str) -> list[str]:
        return [text.split(b"\0")[0].decode() for text in self.must_have(name).tolist()]


def load(read: Read) -> Any:
    """Make the model of a file of the command's."""
    members = _Members(read)
    schema = members.texts("schema")
    if schema != [_SCHEMA.decode()]:
        raise FormatError(f"it is {schema}; this version reads {_SCHEMA.decode()}")
    if members.get("coefficients") is not None and not _covariates(members):
        raise FormatError("its transitions depend on covariates, of which it keeps no names")
    settings = _settings(members)
    model = _unfitted(members, settings)
    _fit(model, members)
    return model


def _covariates(members: _Members) -> list[str]:
    """Return the names of what the transitions depend on."""
    if members.get("covariates") is None:
        return []
    names = members.texts("covariates")[0].split(",")
    for name in names:
        if not name.isidentifier():
            raise FormatError(f"its covariate {name!r} is no name that a formula can have")
    return names


def _transitions(members: _Members) -> Any:
    matrix = members.must_have("discrete_transition")
    names = _covariates(members)
    if names:
        return DiscreteNonStationaryCustom(matrix, formula=" + ".join(["1", *names]))
    return DiscreteStationaryCustom(matrix)


def _settings(members: _Members) -> dict[str, Any]:
    """Return the settings of all tables with the types of these."""
    names, values = members.texts("setting_names"), members.texts("setting_values")
    given = dict(zip(names, values, strict=True))
    read: dict[str, Callable[[str], Any]] = {
        "int": int,
        "bytes": int,
        "real": float,
        "flag": "true".__eq__,
        "choice": str,
    }
    found = {}
    for section in ("model", "environment", "encoding", "detector"):
        for param in tables()[f"decode.{section}"]:
            name = f"{section}.{param['name']}"
            text = given.pop(name, None)
            found[name] = param["default"] if text is None else read[param["type"]](text)
    if given:
        raise FormatError(f"setting {next(iter(given))!r} is unknown to this version")
    return found


def _environment(members: _Members, settings: dict[str, Any]) -> Environment:
    options = {name: settings[f"environment.{name}"] for name in _OF_ENVIRONMENT}
    sizes, ranges = members.get("bin_size"), members.get("position_range")
    if sizes is not None:
        options["place_bin_size"] = sizes
    if ranges is not None:
        options["position_range"] = [tuple(row) for row in ranges.tolist()]
    if members.get("environment_name") is not None:
        (options["environment_name"],) = members.texts("environment_name")
    if members.get("track_node_position") is not None:
        options |= _track(members)
    interior = members.get("is_track_interior")
    return Environment(
        **options, is_track_interior=None if interior is None else interior.astype(bool)
    )


def _track(members: _Members) -> dict[str, Any]:
    edges, order = members.must_have("track_edges"), members.get("track_edge_order")
    nodes, spacing = members.must_have("track_node_position"), members.get("track_edge_spacing")
    lengths = members.get("track_edge_length")
    if lengths is None:
        lengths = np.linalg.norm(np.subtract(*nodes[edges.T]), axis=1)
    table = {
        (int(a), int(b)): {"distance": length, "edge_id": number}
        for number, ((a, b), length) in enumerate(zip(edges, lengths.tolist(), strict=True))
    }
    places = {i: {"pos": tuple(point)} for i, point in enumerate(nodes.tolist())}
    graph = TrackGraph._from_state({"nodes": places, "edges": table})
    return {
        "track_graph": graph,
        "edge_order": own_order(graph) if order is None else [(int(a), int(b)) for a, b in order],
        "edge_spacing": 0.0 if spacing is None else spacing,
    }


def _unfitted(members: _Members, settings: dict[str, Any]) -> Any:
    kind = _model_names().index(settings["model.model"])
    algorithm = settings["encoding.algorithm"]
    is_sorted = algorithm.startswith("sorted")
    (found,) = (
        each
        for each in (getattr(decode, name) for name in decode._HOME["models"])
        if each._kind == kind and each._sorted == is_sorted
    )
    prefix = "sorted_spikes" if is_sorted else "clusterless"
    options = {
        param["name"]: settings[f"encoding.{param['name']}"]
        for param in tables()["decode.encoding"]
        if param["name"] != "algorithm"
    }
    for name in _BANDWIDTHS:
        if (values := members.get(name)) is not None:
            options[name] = values
    local = settings["detector.local_position_std"]
    environment = _environment(members, settings)
    own = _ready.model_defaults(kind, is_sorted)
    movements = [each for row in own["continuous_transition_types"] for each in row]
    for each in (*own["observation_models"], *movements):
        each.environment_name = environment.environment_name
        if isinstance(each, RandomWalk):
            each.movement_var = settings["model.movement_variance"]
    return found(
        environments=(environment,),
        observation_models=own["observation_models"],
        continuous_transition_types=own["continuous_transition_types"],
        discrete_initial_conditions=members.must_have("discrete_initial"),
        discrete_transition_type=_transitions(members),
        infer_track_interior=environment.infer_track_interior,
        no_spike_rate=settings["detector.no_spike_rate"],
        non_local_position_penalty=settings["detector.non_local_position_penalty"],
        non_local_penalty_std=settings["detector.non_local_penalty_std"],
        local_position_std=None if local == _ONE_BIN_LOCAL else local,
        **{f"{prefix}_algorithm": algorithm, f"{prefix}_algorithm_params": options},
    )


def _fit(model: Any, members: _Members) -> None:
    position = members.must_have("position")
    grid = members.get("grid_position")
    environment = model.environments[0]
    environment.fit_place_grid(position if grid is None else grid)
    model.initialize_state_index()
    model.initialize_initial_conditions()
    # Nothing is known of them but their names until there is something to decode.
    unknown = {name: np.zeros(1) for name in _covariates(members)}
    model.initialize_discrete_state_transition(unknown or None)
    if unknown:
        shape = model.discrete_transition_coefficients_.shape
        model.discrete_transition_coefficients_ = members.must_have("coefficients").reshape(shape)
    model.initialize_continuous_state_transition()
    initial = members.get("initial")
    if initial is not None:
        model._set_initial_conditions(model.discrete_initial_conditions, initial)
    n_spike, marks = members.must_have("n_spike"), members.get("spike_marks")
    trained = members.get("is_training")
    encoding = EncodingModel._from_state(
        {
            "environment": environment,
            "options": model._encoding_options(),
            "position_time": members.must_have("position_time"),
            "position": position,
            "is_training": np.ones(len(position), dtype=bool)
            if trained is None
            else trained.astype(bool),
            "weights": members.get("weights"),
            "n_spike": n_spike,
            "spike_times": members.must_have("spike_times"),
            "n_feature": None if marks is None else members.must_have("n_feature"),
            "spike_marks": marks,
        }
    )
    model.encoding_model_ = {(environment.environment_name, 0): encoding}
    model._check_fitted()

"""Every parameter of every class: what is not allowed is refused when the object is made."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_spikes
from tessera.decode.discrete_state_transitions import predict_discrete_state_transitions
from tessera.decode.exceptions import (
    ConfigurationError,
    ConvergenceError,
    DataError,
    FittingError,
    NonLocalDetectorError,
    ValidationError,
)

MODELS = [name for name in td.__all__ if name.endswith(("Classifier", "Decoder", "Detector"))]
MODELS.remove("OnlineDecoder")
READY = [name for name in MODELS if name not in ("ClusterlessDetector", "SortedSpikesDetector")]
NAN, INF = float("nan"), float("inf")
# By parameter: values that no model can have.
BAD: dict[str, list[Any]] = {
    "discrete_initial_conditions": [[0.5, 0.6], [NAN], [-1.0, 2.0], "one", [[1.0]], []],
    "continuous_initial_conditions_types": [[], 3, [td.UniformInitialConditions], ["uniform"]],
    "discrete_transition_type": [
        0.9,
        td.DiscreteStationaryDiagonal,
        td.DiscreteStationaryDiagonal([1.5]),
        td.DiscreteStationaryCustom(np.eye(7)),
        td.DiscreteStationaryCustom([[0.5, 0.4], [0.5, 0.5]]),
        td.DiscreteStationaryCustom([[NAN]]),
    ],
    "discrete_transition_concentration": [-1.0, 0.0, NAN, INF, "much", [1.0]],
    "discrete_transition_stickiness": [-1.0, NAN, [1.0] * 9, "much", [[1.0]]],
    "discrete_transition_regularization": [-1e-9, NAN, "little"],
    "continuous_transition_types": [
        [],
        3,
        [[]],
        [["walk"]],
        [[td.RandomWalk]],
        [[td.RandomWalk(movement_var=-1.0)]],
        [[td.RandomWalk(movement_var=NAN)]],
        [[td.RandomWalk(movement_mean=INF)]],
        [[td.RandomWalk(direction="up")]],
        [[td.RandomWalk("elsewhere")]],
        [[td.RandomWalkDirection1(movement_var=0.0)]],
        [[td.EmpiricalMovement(speedup=0)]],
    ],
    "observation_models": [
        [],
        3,
        ["local"],
        [td.ObservationModel("elsewhere")],
        [td.ObservationModel(is_local=True, is_no_spike=True)],
    ],
    "environments": [
        [],
        "track",
        3,
        make_spikes,
        ["track"],
        [td.Environment("a"), td.Environment("a")],
    ],
    "clusterless_algorithm": ["kde", None, 3],
    "sorted_spikes_algorithm": ["kde", None, 3],
    "clusterless_algorithm_params": [
        {"waveform_std": -1.0},
        {"waveform_std": [24.0, 0.0]},
        {"position_std": 0.0},
        {"position_std": NAN},
        {"position_std": "wide"},
        {"gmm_components_joint": 0},
        {"gmm_components_joint": 2.5},
        {"positon_std": 6.0},
        {"gmm_covariance_type_joint": "diag"},
        [6.0],
    ],
    "sorted_spikes_algorithm_params": [{"position_std": -6.0}, {"l2_penalty": -1.0}, {"std": 3}],
    "infer_track_interior": ["yes", 2, NAN],
    "state_names": [["a"] * 7, ["same"] * 4, "Continuous", [3], 5],
    "sampling_frequency": [0, -500.0, NAN, "fast"],
    "no_spike_rate": [-1e-10, 0.0, NAN, INF, "none"],
    "discrete_transition_prior_weight": [-0.5, NAN, [0.5] * 9],
    "frozen_discrete_transition_rows": [[9], [-1], [0.5], 3.0, [True] * 9],
    "local_position_std": [-1.0, NAN, "near"],
    "non_local_position_penalty": [-1.0, NAN, "high"],
    "non_local_penalty_std": [0.0, -1.0, NAN, "wide"],
    "mode": ["quick", "bounded:much", 3],
    "floor": ["low", "relative:x"],
    "bin_scale": [-1.0, NAN, "wide"],
    "mark_density": ["peak"],
    "nan_policy": ["ignore"],
    "membership": ["all"],
    "memory_limit": [0, -5],
    "threads": [0, -1, 2.5],
    "device": ["gpu", "CPU", "cuda:", "cuda:x", "cuda:0 ", "", 0, 1.5, ["cpu"]],
}
BAD_ENVIRONMENT: dict[str, list[Any]] = {
    "place_bin_size": [0.0, -2.0, NAN, "small", (2.0, -2.0), [[2.0]]],
    "track_graph": ["graph", 3],
    "edge_spacing": [-1.0, NAN, [5.0, -5.0]],
    "is_track_interior": ["all", [None]],
    "position_range": [(10.0, 0.0), [(0.0, NAN)], [(1.0, 1.0)], 5.0, [(0.0, 1.0, 2.0)]],
    "infer_track_interior": ["yes", 3],
    "fill_holes": ["no"],
    "dilate": [None],
    "bin_count_threshold": [-1, NAN, "few"],
}


def test_the_table_is_complete() -> None:
    names = {name for cls in MODELS for name in inspect.signature(getattr(td, cls)).parameters}
    assert names == BAD.keys()
    of_environment = set(inspect.signature(td.Environment).parameters)
    assert of_environment == BAD_ENVIRONMENT.keys() | {"environment_name", "edge_order"}


@pytest.mark.parametrize("cls", READY)
def test_parameters_are_refused(cls: str) -> None:
    make = getattr(td, cls)
    for name in inspect.signature(make).parameters:
        for value in BAD[name]:
            if value is None and not name.endswith("algorithm"):
                continue
            with pytest.raises((ValidationError, DataError)) as caught:
                make(**{name: value})
            about = {name, "environment"}  # the latter where a list names an unknown one
            if isinstance(value, dict):
                about |= value.keys() | {"algorithm parameters", "glm_penalty"}
            if name in ("discrete_transition_type", "discrete_initial_conditions"):
                about |= {"diagonal_values", "values", "discrete_initial_conditions"}
            assert any(word in str(caught.value) for word in about), (name, value, caught.value)


@pytest.mark.parametrize("name", BAD_ENVIRONMENT)
def test_environments_are_refused(name: str) -> None:
    for value in BAD_ENVIRONMENT[name]:
        with pytest.raises(ValidationError, match=name):
            td.Environment(**{name: value})


def test_a_method_is_no_environment() -> None:
    recording = td.simulate_recording("tiny")
    with pytest.raises(ValidationError, match=r"environments=environment\(\)"):
        td.ClusterlessDecoder(environments=recording.environment)  # type: ignore[arg-type]


def test_movements_are_in_the_environment_of_their_state() -> None:
    names = ["env1", "env2"]
    walks = [[td.RandomWalk("env1"), td.Uniform("env1", "env2")],
             [td.Uniform("env2", "env1"), td.RandomWalk("env2")]]  # fmt: skip
    settings: dict[str, Any] = {
        "environments": [td.Environment(name) for name in names],
        "observation_models": [td.ObservationModel(name) for name in names],
    }
    make = td.MultiEnvironmentClusterlessClassifier
    make(continuous_transition_types=walks, **settings)
    for i, j, wrong in ((0, 0, td.RandomWalk("env2")), (0, 1, td.Uniform("env1", "env1"))):
        bad = [list(row) for row in walks]
        bad[i][j] = wrong
        with pytest.raises(ValidationError, match=rf"\[{i}\]\[{j}\]: its environment is 'env"):
            make(continuous_transition_types=bad, **settings)


def test_parameters_set_later_are_refused_by_fit() -> None:
    spikes = make_spikes(n_electrode=1, duration=10)
    model = td.ContFragClusterlessClassifier()
    model.set_params(discrete_transition_concentration=-1.0)
    with pytest.raises(ValidationError, match="discrete_transition_concentration: -1"):
        model.fit(*spikes.fit_args())
    with pytest.raises(TypeError, match="non_local_penalty_sigma"):
        td.NonLocalClusterlessDetector(**{"non_local_penalty_sigma": 1.0})  # type: ignore[arg-type]
    assert td.NonLocalClusterlessDetector(non_local_penalty_std=2.0).non_local_penalty_std == 2.0


def test_errors_have_the_names_of_the_original(spikes: Spikes) -> None:
    for cls, other in (
        (ValidationError, tessera.ArgumentError),
        (ConfigurationError, tessera.ArgumentError),
        (DataError, tessera.NumericError),
        (FittingError, tessera.NumericError),
        (ConvergenceError, FittingError),
    ):
        assert issubclass(cls, NonLocalDetectorError)
        assert issubclass(cls, other)
        assert issubclass(cls, ValueError)
        assert issubclass(cls, tessera.Error)
    text = str(ValidationError("No", expected="a", got="b", hint="c", example="d"))
    assert text == "No\nExpected: a\nGot: b\nHint: c\nExample:\nd"
    assert str(ConvergenceError("No", 3, 0.5, "c")).startswith("No (iterations: 3)")
    assert str(DataError("No", "x")) == "No (data: x)"
    model = td.ClusterlessDecoder()
    marks = [array.copy() for array in spikes.features]
    marks[0][3, 1] = NAN
    with pytest.raises(DataError, match=r"electrode 0, spike 3.*feature 1 is NaN"):
        model.fit(spikes.time, spikes.position, spikes.spike_times, marks)
    with pytest.raises(ValidationError) as caught:
        model.fit(spikes.time[:-1], spikes.position, spikes.spike_times, spikes.features)
    assert isinstance(caught.value, tessera.ShapeError)
    assert caught.value.status == "TESS_E_SHAPE"


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes(duration=20)


@pytest.mark.parametrize(
    "cls", ["NonLocalClusterlessDetector", "NoSpikeContFragClusterlessClassifier"]
)
def test_states_may_have_names_of_their_own(cls: str, spikes: Spikes) -> None:
    found = []
    n = len(getattr(td, cls)().state_names)
    for names in (None, list("abcd")[:n]):
        model = getattr(td, cls)(state_names=names).fit(*spikes.fit_args())
        results = model.predict(
            spikes.spike_times,
            spikes.features,
            spikes.time[:50],
            position=spikes.position,
            position_time=spikes.time,
        )
        found.append(np.asarray(model.get_conditional_non_local_posterior(results)))
    assert np.array_equal(found[0], found[1], equal_nan=True)
    other = td.ContFragClusterlessClassifier(state_names=["x", "y"]).fit(*spikes.fit_args())
    results = other.predict(spikes.spike_times, spikes.features, spikes.time[:50])
    with pytest.raises(ValidationError, match=f"the {n} states of this model"):
        model.get_conditional_non_local_posterior(results)


def test_transitions_at_other_covariates(spikes: Spikes) -> None:
    rng = np.random.default_rng(0)
    speed = rng.uniform(0, 40, 400)
    model: Any = td.ContFragClusterlessClassifier(
        discrete_transition_type=td.DiscreteNonStationaryDiagonal([0.9, 0.8], "1 + bs(speed, df=5)")
    )
    model.estimate_parameters(
        *spikes.fit_args(),
        spikes.time[:400],
        discrete_transition_covariate_data={"speed": speed},
        max_iter=2,
    )
    design = model.discrete_transition_design_matrix_
    coefficients = model.discrete_transition_coefficients_
    here = predict_discrete_state_transitions(design, coefficients)
    assert np.array_equal(here, model.discrete_state_transitions_)
    chosen = np.argsort(speed)[::7]
    for each in (model, model.copy()):
        matrix = each.discrete_transition_design_matrix_
        there = predict_discrete_state_transitions(matrix, coefficients, {"speed": speed[chosen]})
        np.testing.assert_allclose(there, here[chosen], atol=1e-14)
    plain = np.asarray(design)
    there = predict_discrete_state_transitions(plain, coefficients, plain[chosen])
    assert np.array_equal(there, here[chosen])
    with pytest.raises(ValidationError, match="plain array, which has no formula"):
        predict_discrete_state_transitions(plain, coefficients, {"speed": speed[:5]})
    with pytest.raises(ValidationError, match="2 columns, the design matrix has"):
        predict_discrete_state_transitions(plain, coefficients, plain[:, :2])
    with pytest.raises(ValidationError, match="discrete_transition_coefficients"):
        predict_discrete_state_transitions(plain, coefficients[1:])

"""Estimators of discrete transitions, and the checks by the original's names."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from tessera.decode import _validation as val
from tessera.decode import core, models
from tessera.decode import discrete_state_transitions as dst
from tessera.decode.exceptions import DataError, ValidationError

RNG = np.random.default_rng(3)
N_TIME, N_STATE = 60, 3
MATRIX = RNG.dirichlet(np.ones(N_STATE) * 2, N_STATE)
ROWS = RNG.normal(0, 1, (N_TIME, N_STATE))
_, (CAUSAL, AHEAD) = core.filter(np.ones(N_STATE) / N_STATE, MATRIX, ROWS)
ACAUSAL = core.smoother(MATRIX, CAUSAL)


def test_pairs() -> None:
    joint = dst.estimate_joint_distribution(CAUSAL, AHEAD, MATRIX, ACAUSAL)
    assert joint.shape == (N_TIME - 1, N_STATE, N_STATE)
    assert np.allclose(joint.sum(axis=2), ACAUSAL[:-1], atol=1e-12)
    assert np.allclose(joint.sum(axis=1), ACAUSAL[1:], atol=1e-12)
    every = np.repeat(MATRIX[None], N_TIME, axis=0)
    again = dst.estimate_joint_distribution(CAUSAL, AHEAD, every, ACAUSAL)
    assert np.array_equal(joint, again)


def test_stationary() -> None:
    pairs = dst.estimate_joint_distribution(CAUSAL, AHEAD, MATRIX, ACAUSAL).sum(axis=0)
    args = (CAUSAL, AHEAD, MATRIX, ACAUSAL)
    plain = dst.estimate_stationary_state_transition(*args)
    assert np.allclose(plain, pairs / pairs.sum(axis=1, keepdims=True))
    sticky = dst.estimate_stationary_state_transition(*args, stickiness=4.0, concentration=1.5)
    prior = 0.5 + 4 * np.eye(N_STATE)
    assert np.allclose(sticky, (pairs + prior) / (pairs + prior).sum(axis=1, keepdims=True))
    weighed = dst.estimate_stationary_state_transition(
        *args, stickiness=4.0, concentration=1.5, prior_weight=[0.0, 1.0, 0.0]
    )
    assert np.allclose(weighed[[0, 2]], sticky[[0, 2]])
    share = prior[1] / prior[1].sum()
    assert np.allclose(weighed[1], (plain[1] + share) / 2)
    with pytest.raises(ValidationError, match="non-negative"):
        dst.estimate_stationary_state_transition(*args, prior_weight=-1.0)
    with pytest.raises(ValidationError, match="1 or more"):
        dst.estimate_stationary_state_transition(*args, concentration=0.5)
    nowhere = np.tile([1.0, 0.0], (4, 1))
    stuck = dst.estimate_stationary_state_transition(nowhere, nowhere, np.eye(2), nowhere)
    assert np.allclose(stuck, [[1.0, 0.0], [0.5, 0.5]])


def test_non_stationary_is_where_the_slope_vanishes() -> None:
    design = np.column_stack([np.ones(N_TIME), np.linspace(-1, 1, N_TIME), RNG.normal(size=N_TIME)])
    start = np.zeros((3, N_STATE, N_STATE - 1))
    every = np.repeat(MATRIX[None], N_TIME, axis=0)
    found, matrix = dst.estimate_non_stationary_state_transition(
        start, design, CAUSAL, AHEAD, every, ACAUSAL, 1.2, 2.0, 1e-3
    )
    assert np.allclose(matrix.sum(axis=2), 1)
    assert np.allclose(matrix, dst.predict_discrete_state_transitions(design, found))
    joint = dst.estimate_joint_distribution(CAUSAL, AHEAD, every, ACAUSAL)
    alpha = dst.get_transition_prior(1.2, 2.0, N_STATE)
    for state in range(N_STATE):
        args = (design[:-1], joint[:, state], alpha[state], 1e-3)
        flat = found[:, state].ravel()
        for i in range(flat.size):
            step = np.eye(flat.size)[i] * 1e-5
            up, down = (dst.dirichlet_neg_log_likelihood(flat + s, *args) for s in (step, -step))
            assert abs(up - down) / 2e-5 < 1e-7
    none = dst.dirichlet_neg_log_likelihood(flat, *args[:2], 1.0, 0.5)
    assert none == pytest.approx(dst.multinomial_neg_log_likelihood(flat, *args[:2], 0.5))


@pytest.mark.parametrize("shape", [(6,), (3, 2)])
def test_derivatives_are_those_of_the_losses(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    design = np.column_stack((np.ones(40), rng.normal(size=(40, 2))))
    response, start = 2 * rng.dirichlet([1, 2, 3], 40), rng.normal(size=shape)
    prior = {"alpha": np.array([1.5, 2.0, 3.0])}
    for name, args in (("multinomial", {}), ("dirichlet", prior), ("dirichlet", {"alpha": 7.0})):
        given: dict[str, Any] = {"l2_penalty": 0.3, **args}
        loss, slope, bend = (
            getattr(dst, f"{name}_{kind}")
            for kind in ("neg_log_likelihood", "gradient", "hessian")
        )
        found = slope(start, design, response, **given)
        curvature = bend(start, design, response, **given)
        assert found.shape == shape
        assert curvature.shape == shape + shape
        for at in np.ndindex(*shape):
            h = np.zeros(shape)
            h[at] = 1e-5
            ends = [(start + sign * h, design, response) for sign in (1, -1)]
            rise = np.subtract(*(loss(*end, **given) for end in ends)) / 2e-5
            turn = np.subtract(*(slope(*end, **given) for end in ends)) / 2e-5
            assert abs(found[at] - rise) < 1e-8
            assert np.abs(curvature[at] - turn).max() < 1e-8


def test_modules_have_the_defaults_of_their_models() -> None:
    for module, name in (
        (models.decoder, "ClusterlessDecoder"),
        (models.cont_frag_model, "ContFragClusterlessClassifier"),
        (models.nospike_cont_frag_model, "NoSpikeContFragClusterlessClassifier"),
        (models.non_local_model, "NonLocalSortedSpikesDetector"),
        (models.multienvironment_model, "MultiEnvironmentSortedSpikesClassifier"),
    ):
        model = getattr(module, name)()
        matrix = model.discrete_transition_type.matrix()
        assert np.array_equal(module.discrete_transition_type.matrix(), matrix)
        assert np.array_equal(module.discrete_transition_stickiness,
                              model.discrete_transition_stickiness)  # fmt: skip
        assert module.state_names == list(model.state_names)
        assert module.observation_models == list(model.observation_models)
        assert len(module.continuous_initial_conditions) == len(matrix)
        places = getattr(module, "environments", None) or [module.environment]
        assert [each.environment_name for each in places] == [
            each.environment_name for each in model.environments
        ]
        again = getattr(module, name)(
            discrete_transition_type=module.discrete_transition_type,
            continuous_transition_types=module.continuous_transition_types,
            observation_models=module.observation_models,
            environments=places,
        )
        assert again.state_names == model.state_names
        with pytest.raises(AttributeError, match="nothing_of_the_kind"):
            module.nothing_of_the_kind  # noqa: B018
    module = models.non_local_model
    matrix = module.discrete_transition_matrix_values
    assert (module.local_prob, module.no_spike_prob) == (matrix[0, 0], matrix[1, 1])
    assert module.no_spike_trans_prob == matrix[0, 1]
    assert module.no_spike_rate == module.NonLocalSortedSpikesDetector().no_spike_rate
    shifting = module.non_stationary_discrete_transition_type.make_state_transition
    assert np.allclose(shifting({"speed": np.arange(9.0)})[0], matrix)


def test_softmax_and_speed() -> None:
    y = np.log([2.0, 3.0, 4.0])
    assert np.allclose(np.exp(dst.jax_centered_log_softmax_forward(y)), [0.2, 0.3, 0.4, 0.1])
    single = dst.centered_softmax_inverse(np.array([0.5, 0.0, 0.5], dtype=np.float32))
    assert single.dtype == np.float32
    assert np.isfinite(single).all()
    speed = np.linspace(0, 70, 50)
    matrix, coefficients, design = dst.set_initial_discrete_transition(speed)
    assert matrix.shape == (50, 4, 4)
    assert coefficients is not None
    assert design is not None
    assert np.allclose(np.diag(matrix[3]), [0.9, 0.9, 0.9, 0.98])
    assert np.array_equal(design[1], design[0])  # of the sample before: 0 twice
    assert np.allclose(dst.predict_discrete_state_transitions(design, coefficients)[0], matrix[0])
    assert dst.set_initial_discrete_transition(None, is_stationary=True)[0].shape == (4, 4)
    with pytest.raises(ValidationError, match="speed is missing"):
        dst.set_initial_discrete_transition(None)


GRAPH = nx.Graph()
GRAPH.add_node(0, pos=(0.0, 0.0))
GRAPH.add_edge(0, 1, distance=1.0)


@pytest.mark.parametrize(
    ("name", "args", "kind", "words"),
    [
        ("probability_distribution", ([0.6, 0.6], "p"), ValidationError, "sum = 1.200000"),
        ("positive_scalar", (0.0, "p"), ValidationError, "p > 0"),
        ("positive_scalar", (-1.0, "p", 0.0, False), ValidationError, "p >= 0"),
        ("array_1d", (np.eye(2), "a"), ValidationError, "1-dimensional"),
        ("all_finite", (np.array([np.nan, np.inf]), "a"), DataError, "1 are NaN, 1 are Inf"),
        ("all_non_negative", (np.array([-0.5]), "a"), ValidationError, "-0.5"),
        ("in_range", (np.array([1.5]), "a", 0.0, 1.0), ValidationError, r"\[0.0, 1.0\]"),
        ("square_matrix", (np.zeros((2, 3)), "m"), ValidationError, "square"),
        ("stochastic_matrix", (np.eye(2) * 0.9, "m"), ValidationError, "row-stochastic"),
        ("ndarray", ([1], "a"), ValidationError, "list"),
        ("monotonic_increasing", (np.array([1.0, 3.0, 2.0]), "t"), DataError, "index 1"),
        ("monotonic_increasing", (np.array([1.0, 1.0]), "t", True), DataError, "strictly"),
        ("matching_lengths", ([1], [1, 2], "a", "b"), ValidationError, "Length mismatch"),
        ("networkx_graph", ({}, "g"), ValidationError, "NetworkX Graph"),
        ("graph_has_nodes", (nx.Graph(), "g"), ValidationError, "too few nodes"),
        ("graph_has_edges", (nx.Graph(), "g"), ValidationError, "too few edges"),
        ("graph_nodes_have_attribute", (GRAPH, "g", "pos"), ValidationError, "'pos'"),
        ("graph_edges_have_attribute", (GRAPH, "g", "distance", str), ValidationError, "float"),
    ],
)
def test_checks(name: str, args: tuple[Any, ...], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        getattr(val, f"ensure_{name}")(*args)


def test_checks_let_pass() -> None:
    val.ensure_probability_distribution([0.5, 0.5], "p")
    val.ensure_positive_scalar(0.0, "p", strict=False)
    val.ensure_stochastic_matrix(np.eye(3), "m")
    val.ensure_monotonic_increasing(np.array([1.0, 1.0]), "t")
    val.ensure_networkx_graph(GRAPH, "g")
    val.ensure_graph_has_nodes(GRAPH, "g")
    val.ensure_graph_has_edges(GRAPH, "g")
    val.ensure_graph_edges_have_attribute(GRAPH, "g", "distance", float)

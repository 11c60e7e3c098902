"""Formulas of covariates and discrete transitions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tessera.decode._formula import Design
from tessera.decode.discrete_state_transitions import (
    DiscreteNonStationaryCustom,
    DiscreteNonStationaryDiagonal,
    DiscreteStationaryDiagonal,
    centered_softmax_forward,
    centered_softmax_inverse,
    make_transition_from_diag,
    predict_discrete_state_transitions,
)

SPEED = np.concatenate(([0.0], np.geomspace(0.1, 80, 40)))
DEFAULT = "1 + bs(speed, knots=[1.0, 4.0, 16.0, 32.0, 64.0])"


def test_default_formula() -> None:
    matrix = Design(DEFAULT, {"speed": SPEED}).matrix
    assert matrix.shape == (41, 9)
    assert np.all(matrix[:, 0] == 1)
    # B-splines are a partition of unity; the first one is left out.
    rest = 1 - matrix[:, 1:].sum(axis=1)
    assert np.all(rest > -1e-12)
    assert rest[0] == pytest.approx(1)
    assert matrix[-1, -1] == pytest.approx(1)


@pytest.mark.parametrize(
    "formula",
    [
        DEFAULT,
        "bs(speed, knots=[10, 20], degree=2) + x",
        "0 + x + bs(speed, df=6)",
        "bs(speed, df=5, include_intercept=True) - 1",
    ],
)
def test_agrees_with_patsy(formula: str) -> None:
    patsy = pytest.importorskip("patsy")
    data = {"speed": SPEED, "x": np.linspace(-1, 1, len(SPEED))}
    wanted = np.asarray(patsy.dmatrix(formula, data))
    assert np.allclose(Design(formula, data).matrix, wanted, atol=1e-12)


def test_knots_are_remembered() -> None:
    design = Design("bs(speed, df=5)", {"speed": SPEED})
    part = design.build({"speed": SPEED[5:9]})
    assert np.allclose(part, design.matrix[5:9])
    assert np.allclose(pickle.loads(pickle.dumps(design)).build({"speed": SPEED}), design.matrix)
    # Beyond the first data the ends go on.
    assert np.allclose(design.build({"speed": [1e6]}), design.matrix[-1])


def test_without_intercept() -> None:
    assert Design("0 + x", {"x": [1.0, 2.0]}).matrix.tolist() == [[1.0], [2.0]]
    assert Design("x - 1", {"x": [1.0, 2.0]}).matrix.tolist() == [[1.0], [2.0]]
    assert Design("x", {"x": [1.0, 2.0]}).matrix.tolist() == [[1.0, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "covariate_data is missing"),
        ({"x": [1.0]}, "needs 'speed'"),
        ({"speed": [1.0, np.nan]}, r"speed\[1\] is nan"),
    ],
)
def test_bad_covariates(data: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Design(DEFAULT, data)


def test_foreign_formulas_need_patsy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "patsy", None)
    with pytest.raises(ValueError, match="install patsy"):
        Design("np.log(speed)", {"speed": SPEED})


def test_diagonal() -> None:
    matrix = make_transition_from_diag([0.9, 0.5, 1.0])
    assert np.allclose(matrix, [[0.9, 0.05, 0.05], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]])
    assert make_transition_from_diag([1.0]).tolist() == [[1.0]]
    assert DiscreteStationaryDiagonal([0.9, 0.9]).make_state_transition()[1:] == (None, None)


def test_softmax_there_and_back() -> None:
    rows = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
    assert np.allclose(centered_softmax_forward(centered_softmax_inverse(rows)), rows)
    assert np.allclose(np.exp(centered_softmax_inverse([0.2, 0.3, 0.4, 0.1])), [2, 3, 4])


def test_transitions_begin_with_the_matrix() -> None:
    values = np.array([[0.9, 0.1], [0.3, 0.7]])
    kind = DiscreteNonStationaryCustom(values)
    transitions, coefficients, design = kind.make_state_transition({"speed": SPEED})
    assert transitions.shape == (41, 2, 2)
    assert np.allclose(predict_discrete_state_transitions(design, coefficients), values)
    assert DiscreteNonStationaryDiagonal([0.9, 0.9]).formula == DEFAULT

"""Filter, smoother and path over dense matrices: against sums over all paths."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tessera.decode import core
from tessera.decode._data import Floats

N_TIME, N_BIN = 6, 4
STATES = np.array([0, 0, 1, 2])


def problem(seed: int = 1) -> tuple[Floats, Floats, Floats, Floats]:
    """Initial distribution, movement, discrete transitions of every row, log likelihoods."""
    rng = np.random.default_rng(seed)
    return (
        rng.dirichlet(np.ones(N_BIN)),
        rng.dirichlet(np.ones(N_BIN), N_BIN),
        rng.dirichlet(np.ones(3), (N_TIME, 3)),
        rng.normal(0, 3, (N_TIME, N_BIN)),
    )


def matrices(moves: Floats, discrete: Floats) -> Floats:
    return np.stack([moves * each[np.ix_(STATES, STATES)] for each in discrete])


def all_paths(initial: Floats, steps: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Every path, and the logarithm of its probability with the observations."""
    paths = np.array(list(itertools.product(range(N_BIN), repeat=len(rows))))
    logs = np.log(initial)[paths[:, 0]] + rows[0, paths[:, 0]]
    for t in range(1, len(rows)):
        logs += np.log(steps[t - 1][paths[:, t - 1], paths[:, t]]) + rows[t, paths[:, t]]
    return paths, logs


def marginals(paths: Floats, logs: Floats, t: int) -> Floats:
    weight = np.exp(logs - logs.max())
    found = np.bincount(paths[:, t], weight, N_BIN)
    return np.asarray(found / found.sum())


@pytest.mark.parametrize("seed", [1, 2])
def test_against_all_paths(seed: int) -> None:
    initial, moves, discrete, rows = problem(seed)
    for steps in (np.stack([moves] * N_TIME), matrices(moves, discrete)):
        paths, logs = all_paths(initial, steps, rows)
        if np.array_equal(steps[0], moves):
            (evidence, ahead), (causal, predicted) = core.filter(initial, moves, rows)
            smooth = core.smoother(moves, causal)
            path = core.viterbi(initial, moves, rows)
        else:
            args = (discrete, moves, STATES)
            (evidence, ahead), (causal, predicted) = core.filter_covariate_dependent(
                initial, *args, rows
            )
            smooth = core.smoother_covariate_dependent(*args, causal)
            path = core.viterbi_covariate_dependent(initial, *args, rows)
        assert evidence == pytest.approx(np.logaddexp.reduce(logs), rel=1e-12)
        assert np.array_equal(path, paths[logs.argmax()])
        for t in range(N_TIME):
            assert np.allclose(smooth[t], marginals(paths, logs, t), atol=1e-12)
            some, so_far = all_paths(initial, steps, rows[: t + 1])
            assert np.allclose(causal[t], marginals(some, so_far, t), atol=1e-12)
        assert np.array_equal(predicted[0], initial)
        assert np.allclose(predicted[1:], [c @ s for c, s in zip(causal, steps, strict=True)][:-1])
        assert np.allclose(ahead, causal[-1] @ steps[-1])


@pytest.mark.parametrize("n_chunks", [1, 2, N_TIME])
@pytest.mark.parametrize("keep", [True, False])
def test_chunks_change_nothing(n_chunks: int, keep: bool) -> None:
    initial, moves, discrete, rows = problem()
    time = np.arange(N_TIME)
    seen: list[int] = []

    def likelihood(times: Any, scale: float, is_missing: Any) -> Floats:
        seen.append(len(times))
        return np.where(is_missing[:, None], 0, scale * rows[times])

    missing = time == 3
    kept = np.where(missing[:, None], 0, 2 * rows)
    rest = (likelihood, (2.0,), missing, n_chunks, None, keep, np.float64)
    found = core.chunked_filter_smoother(time, STATES, initial, moves, *rest)
    assert seen == ([N_TIME] if keep else [len(p) for p in np.array_split(time, n_chunks)])
    (evidence, _), (causal, ahead) = core.filter(initial, moves, kept)
    smooth = core.smoother(moves, causal)
    of_state = np.eye(3)[STATES]
    want = [smooth, smooth @ of_state, evidence, causal @ of_state, ahead @ of_state]
    for got, wanted in zip(found, [*want, kept if keep else None, causal, ahead], strict=True):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            assert np.allclose(got, wanted, atol=1e-13)
    varying = core.chunked_filter_smoother_covariate_dependent(
        time, STATES, initial, discrete, moves, *rest
    )
    (evidence, _), (causal, _) = core.filter_covariate_dependent(
        initial, discrete, moves, STATES, kept
    )
    assert varying[2] == pytest.approx(evidence, rel=1e-13)
    assert np.allclose(varying[6], causal, atol=1e-13)
    single = core.chunked_filter_smoother(time, STATES, initial, moves, *rest[:-1])
    assert single[0].dtype == np.float32


def test_paths_by_a_function() -> None:
    initial, moves, discrete, rows = problem()
    time = np.arange(N_TIME)

    def likelihood(times: Any, is_missing: Any) -> Floats:
        assert is_missing is None
        return np.asarray(rows[times])

    path, kept = core.most_likely_sequence(time, initial, moves, likelihood, ())
    assert np.array_equal(path, core.viterbi(initial, moves, rows))
    assert np.array_equal(kept, rows)
    path, _ = core.most_likely_sequence_covariate_dependent(
        time, STATES, initial, discrete, moves, likelihood, ()
    )
    want = core.viterbi_covariate_dependent(initial, discrete, moves, STATES, rows)
    assert np.array_equal(path, want)
    with pytest.raises(NotImplementedError, match="n_chunks must be 1"):
        core.most_likely_sequence(time, initial, moves, likelihood, (), n_chunks=2)
    with pytest.raises(ValueError, match="cannot exceed n_time"):
        core.chunked_filter_smoother(time, STATES, initial, moves, likelihood, (), n_chunks=99)


def test_impossible_and_zero() -> None:
    rows = np.array([[0.0, 0.0], [-np.inf, -np.inf], [0.0, -1.0]])
    _, (causal, ahead) = core.filter([0.3, 0.7], np.eye(2), rows)
    assert np.allclose(causal[1], ahead[1])
    assert np.isfinite(causal).all()
    assert core.check_converged(-10.0, -10.0) == (True, True)
    assert core.check_converged(-10.0, -9.0) == (False, False)
    assert np.array_equal(core._divide_safe([1.0, 2.0], [0.0, 4.0]), [0.0, 0.5])
    assert core._safe_log([0.0])[0] == -np.inf

"""Every model on every kind of environment on an NVIDIA GPU: what the CPU says, call by call.

Tables: decode_matrix.py. The fitted model is the same for both, so that only what is decoded
differs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from decode_matrix import (
    ENVIRONMENTS,
    MODELS,
    N_SAMPLE,
    N_TIME,
    RATE,
    Kind,
    Place,
    Session,
    session,
)

HAS_GPU = any(device["backend"] == "cuda" for device in tessera.devices())
pytestmark = [
    pytest.mark.skipif(not HAS_GPU, reason="no NVIDIA GPU"),
    pytest.mark.filterwarnings("ignore"),
]

# Relative, of log likelihoods: the bound of exact, and the stated one of fast (of a spike; a row
# adds a dozen).
LIKELIHOOD = {"exact": 1e-12, "fast": 12 * 2e-5}
# Of probabilities: rows of 60 bins, each of which multiplies what a likelihood is off by.
POSTERIOR = {"exact": 1e-9, "fast": 2e-3}
OUTPUTS = ("acausal_posterior", "causal_posterior", "predictive_posterior",
           "acausal_state_probabilities", "causal_state_probabilities",
           "predictive_state_probabilities")  # fmt: skip
INTERVALS = [[100.1, 100.35], [100.4, 100.42], [100.6, 101.1]]


def fitted(place: Place, kind: Kind, mode: str) -> tuple[Any, Session]:
    data = session(place, kind)
    model = Kind(kind.cls, kind.make, (*kind.settings, ("mode", mode))).build(place)
    model.fit(data.position_time, data.position, *data.spikes, **data.labels,
              **data.covariates(N_TIME), device="cuda")  # fmt: skip
    return model, data


def rows(results: Any, name: str) -> Any:
    return np.asarray(results[name]).reshape(N_TIME, -1)


def assert_near(cuda: Any, cpu: Any, bound: float, what: str) -> None:
    cuda, cpu = np.asarray(cuda, dtype=float), np.asarray(cpu, dtype=float)
    assert np.array_equal(np.isnan(cuda), np.isnan(cpu)), what
    with np.errstate(invalid="ignore"):
        apart = np.where(cuda == cpu, 0, np.abs(cuda - cpu)) / (1 + np.abs(cpu))
    assert np.nanmax(apart, initial=0) <= bound, f"{what}: {np.nanmax(apart)}"


def check_predict(model: Any, data: Session, mode: str) -> None:
    is_missing = np.arange(N_TIME) % 7 == 3
    for missing in (None, is_missing):
        cpu, cuda, again = (
            model.predict(*data.spikes, data.time, **data.where, **data.covariates(N_TIME),
                          is_missing=missing, return_outputs="all", n_chunks=n, device=device)
            for device, n in (("cpu", 1), ("cuda", 1), ("cuda", 7))
        )  # fmt: skip
        assert_near(rows(cuda, "log_likelihood"), rows(cpu, "log_likelihood"), LIKELIHOOD[mode],
                    "log_likelihood")  # fmt: skip
        for name in OUTPUTS:
            assert_near(rows(cuda, name), rows(cpu, name), POSTERIOR[mode], name)
            assert np.array_equal(rows(cuda, name), rows(again, name), equal_nan=True), name
        assert_near(cuda.attrs["marginal_log_likelihoods"], cpu.attrs["marginal_log_likelihoods"],
                    N_TIME * LIKELIHOOD[mode], "evidence")  # fmt: skip


def check_path(model: Any, data: Session) -> None:
    """The best path is the same; exact models have no near ties in these data."""
    call = (data.position_time, data.position, *data.spikes, data.time)
    cpu, cuda = (model.most_likely_sequence(*call, device=device) for device in ("cpu", "cuda"))
    assert list(cpu["state"]) == list(cuda["state"])
    columns = cpu.columns if hasattr(cpu, "columns") else cpu.dtype.names
    for name in [name for name in columns if "position" in name]:
        assert np.array_equal(np.asarray(cpu[name]), np.asarray(cuda[name]), equal_nan=True)


def check_intervals(model: Any, data: Session, folder: Path, mode: str) -> None:
    for device in ("cpu", "cuda"):
        model.predict_file(folder / device, *data.spikes, data.time, **data.where,
                           intervals=INTERVALS, most_likely_path=True, device=device,
                           overwrite=True)  # fmt: skip
    cpu, cuda = (np.load(folder / device / "acausal_posterior.npy") for device in ("cpu", "cuda"))
    assert_near(cuda, cpu, POSTERIOR[mode], "acausal_posterior of intervals")


def check_estimate(place: Place, kind: Kind, data: Session) -> None:
    found = []
    for device in ("cpu", "cuda"):
        model = kind.build(place)
        results = model.estimate_parameters(
            data.position_time, data.position, *data.spikes, data.time, max_iter=2, tolerance=0.0,
            is_training=np.arange(N_SAMPLE) % 50 < 44, **data.labels, **data.covariates(N_TIME),
            device=device)  # fmt: skip
        found.append((model, results))
    (cpu, seen), (cuda, got) = found
    assert_near(rows(got, "acausal_posterior"), rows(seen, "acausal_posterior"), 1e-7, "em")
    assert_near(cuda.discrete_state_transitions_, cpu.discrete_state_transitions_, 1e-7, "em")
    assert_near(cuda.initial_conditions_, cpu.initial_conditions_, 1e-7, "em")


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("where", ENVIRONMENTS)
def test_every_call(where: str, name: str, mode: str, tmp_path: Path) -> None:
    place, kind = ENVIRONMENTS[where], MODELS[name]
    model, data = fitted(place, kind, mode)
    check_predict(model, data, mode)
    if not data.covariates(N_TIME):
        check_intervals(model, data, tmp_path, mode)
    if mode == "exact":
        check_path(model, data)
        check_estimate(place, kind, data)


def test_tables_hold_what_is_asked_for() -> None:
    assert RATE * (INTERVALS[-1][1] - 100) < N_TIME

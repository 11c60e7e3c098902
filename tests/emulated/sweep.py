#!/usr/bin/env python3
"""Small random problems of decode and autoreject on the CPU and on a CUDA device, compared.

Usage: sweep.py [decode|models|autoreject] [FIRST_SEED [N_SEED]]

Where one of them refuses a problem, the other has to, with the same words. A seed says all of its
problem, so that one that differs can be run again alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from autoreject_data import sphere
from decode_matrix import ENVIRONMENTS, MODELS, N_TIME, Kind, session

import tessera
from tessera import _session, decode
from tessera.autoreject import AutoReject

# Relative, of log likelihoods: twenty and more times the worst of 200 problems, which is f32's and
# f64's last bit. Wider ones hide whole nats of a spike among the hundreds of a row.
LIKELIHOOD = {"exact": 1e-13, "fast": 5e-6}
# Of probabilities, which multiply what the likelihoods of a row are off by.
POSTERIOR = {"exact": 1e-10, "fast": 1e-4}


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or the words of its error."""
    try:
        return call()
    except tessera.Error as error:
        return f"{type(error).__name__}: {error}"
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


def apart(cpu: Any, cuda: Any) -> float:
    """Return how far two arrays are from each other, infinity where only one has a number."""
    cpu, cuda = np.asarray(cpu, dtype=float), np.asarray(cuda, dtype=float)
    if cpu.shape != cuda.shape or not np.array_equal(np.isnan(cpu), np.isnan(cuda)):
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.where(cpu == cuda, 0, np.abs(cpu - cuda)) / (1 + np.abs(cpu))
    return float(np.nanmax(difference, initial=0))


def spikes_of(rng: Any, n_electrode: int, n_feature: int, most: int, span: Any) -> tuple[Any, Any]:
    counts = rng.integers(0, most + 1, n_electrode)
    times = [np.sort(rng.uniform(*span, n)) for n in counts]
    return times, [rng.normal(100, 30, (n, n_feature)) for n in counts]


def decode_problem(seed: int) -> str:
    """Compare the likelihood of a random recording; return what differs, or nothing."""
    rng = np.random.default_rng(seed)
    n_dim, n_feature = int(rng.integers(1, 3)), int(rng.choice([1, 2, 3, 4, 4, 6, 10]))
    n_electrode, n_row = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    extent = rng.uniform(4, 60)
    mode = str(rng.choice(["exact", "fast"]))
    time = np.arange(300) / 50
    position = np.cumsum(rng.normal(0, extent / 12, (300, n_dim)), axis=0)
    position = extent * np.abs((position / extent) % 2 - 1)
    options = {
        "mode": mode,
        "floor": str(rng.choice(["absolute", "relative", "none"])),
        "position_std": float(rng.uniform(0.5, extent / 2)),
        # Spikes that few others are near are computed anew, and tell nothing of the rest.
        "waveform_std": float(rng.choice([3.0, 30.0, 100.0])),
    }
    is_local = bool(rng.integers(4) == 0)
    times, marks = spikes_of(rng, n_electrode, n_feature, 500, (0, 6))
    later, later_marks = spikes_of(rng, n_electrode, n_feature, 50, (1, 2))
    rows = np.linspace(1, 2, n_row + 1)
    place = decode.Environment(place_bin_size=extent / rng.uniform(1, 40 if n_dim == 1 else 6))
    place.fit_place_grid(position)

    def predict(device: str) -> Any:
        _session.set_default_device(device)
        model = decode.likelihoods.fit_clusterless_kde_encoding_model(
            time, position, times, marks, place, **options
        )
        return decode.likelihoods.predict_clusterless_kde_log_likelihood(
            rows, time, position, later, later_marks, encoding_model=model, is_local=is_local
        )

    cpu, cuda = (outcome(lambda name=name: predict(name)) for name in ("cpu", "cuda"))
    if isinstance(cpu, str) or isinstance(cuda, str):
        return "" if str(cpu) == str(cuda) else f"{cpu} / {cuda}"
    off = apart(cpu, cuda)
    return "" if off <= LIKELIHOOD[mode] else f"{off} {options} local={is_local}"


def model_problem(seed: int) -> str:
    """Compare the rows of a random model of decode_matrix.py in a random place."""
    rng = np.random.default_rng(seed)
    where, name = str(rng.choice(list(ENVIRONMENTS))), str(rng.choice(list(MODELS)))
    mode = str(rng.choice(["exact", "fast"]))
    place, kind = ENVIRONMENTS[where], MODELS[name]
    data = session(place, kind, seed)
    n_row = int(rng.integers(2, N_TIME + 1))
    covariates = data.covariates(n_row)

    def predict(device: str) -> Any:
        model = Kind(kind.cls, kind.make, (*kind.settings, ("mode", mode))).build(place)
        model.fit(data.position_time, data.position, *data.spikes, **data.labels,
                  **data.covariates(N_TIME), device="cpu")  # fmt: skip
        results = model.predict(*data.spikes, data.time[:n_row], **data.where, **covariates,
                                return_outputs="all", device=device)  # fmt: skip
        return {key: np.asarray(results[key]) for key in results}

    cpu, cuda = (outcome(lambda device=device: predict(device)) for device in ("cpu", "cuda"))
    if isinstance(cpu, str) or isinstance(cuda, str):
        return "" if str(cpu) == str(cuda) else f"{where} {name} {mode}: {cpu} / {cuda}"
    for key in cpu:
        off = apart(cpu[key], cuda[key]) if cpu[key].dtype.kind == "f" else 0
        if off > (LIKELIHOOD if "likelihood" in key else POSTERIOR)[mode]:
            return f"{where} {name} {mode} {n_row} rows: {key} {off}"
    return ""


def autoreject_problem(seed: int) -> str:
    """Compare fits and repairs of random epochs: the same bits."""
    rng = np.random.default_rng(seed)
    n_epoch, n_chan = int(rng.integers(3, 13)), int(rng.integers(2, 21))
    n_time = int(rng.integers(1, 61))
    x = rng.standard_normal((n_epoch, n_chan, n_time)) + rng.standard_normal((n_epoch, 1, n_time))
    x[rng.random((n_epoch, n_chan)) < 0.1] *= 8
    places = np.zeros((n_chan, 12))
    places[:, :3] = sphere(n_chan)
    options = {
        "cv": int(rng.integers(2, n_epoch + 1)),
        "search": str(rng.choice(["compat", "grid", "exact"])),
        "n_interpolate": sorted({int(k) for k in rng.integers(1, max(2, n_chan), 2)}),
        "rho_mode": str(rng.choice(["compat", "independent"])),
        "precision": str(rng.choice(["float32", "float64"])),
        "random_state": seed,
        "verbose": False,
    }

    def fit(device: str) -> Any:
        model = AutoReject(device=device, **options).fit_array(x * 1e-5, places, ["eeg"] * n_chan)
        clean, log = model.transform_array(x * 1e-5, return_log=True)
        return [np.asarray(clean), np.asarray(log.labels), *model.loss_.values(), model.threshes_]

    cpu, cuda = (outcome(lambda device=device: fit(device)) for device in ("cpu", "cuda"))
    if isinstance(cpu, str) or isinstance(cuda, str):
        return "" if str(cpu) == str(cuda) else f"{x.shape} {options}: {cpu} / {cuda}"
    is_same = all(
        a == b if isinstance(a, dict) else np.array_equal(a, b, equal_nan=True)
        for a, b in zip(cpu, cuda)
    )
    return "" if is_same else f"{x.shape} {options}"


PROBLEMS = {"decode": decode_problem, "models": model_problem, "autoreject": autoreject_problem}


def main() -> int:
    words = sys.argv[1:]
    names = [words.pop(0)] if words and words[0] in PROBLEMS else list(PROBLEMS)
    first, n = (int(words[0]) if words else 0), (int(words[1]) if len(words) > 1 else 20)
    n_failed = 0
    warnings.simplefilter("ignore")
    for name in names:
        for seed in range(first, first + n):
            print(f"{name} {seed}", file=sys.stderr, flush=True)
            said = PROBLEMS[name](seed)
            if said:
                print(f"FAILED {name} {seed}: {said}", flush=True)
                n_failed += 1
    print(f"{len(names) * n - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())

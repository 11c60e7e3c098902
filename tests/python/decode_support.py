"""What the tests of decode share: golden files, tolerances and short ways to call the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from decode_numpy import LOG_EPS
from tessera import _core
from tessera._lib import Session
from tessera.decode._encoding import EncodingModel, encoding_options
from tessera.decode.environment import Environment, make_track_graph

Floats = npt.NDArray[Any]

GOLDEN = Path(__file__).parents[1] / "golden" / "decode"


@dataclass(frozen=True)
class Tolerance:
    """How far each mode may be from double precision; fast is float32 kernels."""

    mode: str
    field: float  # relative: densities, rates
    joint: float  # per spike and bin, not on the floor
    floor: float  # of a value that is on it
    ll: float
    ll_relative: float
    posterior: float
    evidence: float
    movement: float
    em: float

    @property
    def dtype(self) -> str:
        return "float64" if self.mode == "exact" else "float32"

    def check_ll(self, got: Floats, want: Floats) -> None:
        want = np.asarray(want).reshape(np.shape(got))
        allowed = np.maximum(self.ll, self.ll_relative * np.abs(want))
        if self.mode == "exact":
            allowed = self.ll + self.ll_relative * np.abs(want)
        worst = np.max(np.abs(got - want) - allowed)
        assert worst <= 0, f"{worst:.3g} beyond what is allowed"

    def check_field(self, got: Floats, want: Floats) -> None:
        np.testing.assert_allclose(got, want, rtol=self.field, atol=0)

    def check_joint(self, got: Floats, want: Floats) -> None:
        """Values within the tolerance of the floor may fall either side of it."""
        on_floor = want <= LOG_EPS
        assert np.all(np.abs(got - want)[~on_floor] <= self.joint)
        assert np.all(got[on_floor] >= LOG_EPS - self.floor)
        assert np.all(got[on_floor] <= LOG_EPS + self.joint)
        near = np.isclose(got[on_floor], LOG_EPS, rtol=0, atol=self.floor)
        assert np.count_nonzero(~near) <= 0.001 * near.size

    def check_posterior(self, got: Floats, want: Floats) -> None:
        np.testing.assert_allclose(got, want, rtol=0, atol=self.posterior)


EXACT = Tolerance("exact", 1e-11, 1e-10, 1e-12, 1e-9, 1e-12, 1e-10, 1e-9, 1e-12, 1e-10)
FAST = Tolerance("fast", 1e-6, 2e-5, 4e-6, 1e-4, 1e-5, 2e-5, 1e-3, 1e-6, 1e-5)


class Golden:
    """One file of inputs and outputs."""

    def __init__(self, name: str) -> None:
        with np.load(GOLDEN / name, allow_pickle=False) as file:
            self.arrays: dict[str, Floats] = {key: file[key] for key in file.files}
        self.n_electrode = sum(
            key[0] == "e" and key.endswith("_times") and key.count("_") == 1 for key in self.arrays
        )

    def __getitem__(self, key: str) -> Floats:
        found: Floats = self.arrays[key]
        return found

    def __contains__(self, key: str) -> bool:
        return key in self.arrays

    def every(self, what: str) -> list[Floats]:
        """Return e0_what, e1_what and so on."""
        return [self.arrays[f"e{e}_{what}"] for e in range(self.n_electrode)]

    def decoding(self) -> tuple[list[Floats], list[Floats]]:
        """Times and marks to decode."""
        word = "dec_" if "e0_dec_times" in self else ""
        return self.every(f"{word}times"), self.every(f"{word}marks")

    def decoding_position(self) -> tuple[Floats, Floats]:
        word = "dec_" if "dec_position" in self else ""
        return self.arrays[f"{word}position_time"], self.arrays[f"{word}position"]

    def environment(self, **more: Any) -> Environment:
        """Return the file's environment with its bins."""
        settings: dict[str, Any] = {"place_bin_size": float(self["place_bin_size"])}
        if "node_positions" in self:
            edges = self["edge_list"] if "edge_list" in self else self["graph_edges"]
            settings["track_graph"] = make_track_graph(
                [tuple(p) for p in self["node_positions"]], [tuple(e) for e in edges]
            )
            settings["edge_order"] = [tuple(int(n) for n in e) for e in self["edge_order"]]
            settings["edge_spacing"] = [float(s) for s in self["edge_spacing"]]
        return Environment(**{**settings, **more}).fit_place_grid(self["position"])

    def encoding(self, mode: str, electrodes: list[int] | None = None) -> EncodingModel:
        """Fit the file's clusterless model with the original's floor."""
        chosen = range(self.n_electrode) if electrodes is None else electrodes
        return encode(
            self.environment(),
            self["position_time"],
            self["position"],
            [self[f"e{e}_times"] for e in chosen],
            [self[f"e{e}_marks"] for e in chosen],
            position_std=float(self["position_std"]),
            waveform_std=float(self["waveform_std"]),
            mode=mode,
        )


def encode(
    environment: Environment,
    position_time: Any,
    position: Any,
    times: Any,
    marks: Any,
    **options: Any,
) -> EncodingModel:
    """Fit a clusterless KDE, with the original's floor unless told otherwise."""
    training = {
        "position_time": np.ascontiguousarray(position_time, dtype=np.float64),
        "position": np.ascontiguousarray(position, dtype=np.float64),
        "spike_times": list(times),
        "marks": list(marks),
        "is_training": options.pop("is_training", None),
        "weights": options.pop("weights", None),
    }
    session = {key: options.pop(key) for key in ("threads", "memory_limit") if key in options}
    chosen = encoding_options("clusterless_kde", {"floor": "absolute", **options})
    return EncodingModel(environment, training, chosen).fit(**session)


def observation(time: Any, times: Any, marks: Any, **more: Any) -> dict[str, Any]:
    """Return what is to be decoded, as the library takes it."""
    given = {"position": None, "position_time": None, "is_missing": None, **more}
    return {
        "time": np.ascontiguousarray(time),
        "spike_times": [np.ascontiguousarray(t) for t in times],
        "marks": [np.ascontiguousarray(m) for m in marks],
        **given,
    }


def log_likelihood(
    model: EncodingModel,
    given: dict[str, Any],
    dtype: str = "float64",
    local: bool = False,
    first: int | None = None,
    n_row: int | None = None,
    **session: Any,
) -> tuple[Floats, dict[str, Any]]:
    """Return the likelihood of some rows in the type wanted, and the library's counts."""
    call = _core.decode_local_log_likelihood if local else _core.decode_log_likelihood
    with Session(**session) as context:
        found, report = call(context, model.handle, given, dtype=dtype, first=first, n_row=n_row)
    return np.asarray(found), report


def no_spike(given: dict[str, Any], rate: float) -> Floats:
    with Session() as context:
        return np.asarray(
            _core.decode_no_spike_log_likelihood(context, given, rate, dtype="float64")
        )


def log_joint(model: EncodingModel, electrode: int, marks: Floats, dtype: str) -> Floats:
    with Session() as context:
        marks = np.ascontiguousarray(marks, dtype=np.float64)
        return np.asarray(
            _core.decode_log_joint(context, model.handle, electrode, marks, dtype=dtype)
        )


def predict(
    model: Any,
    times: Any,
    marks: Any,
    time: Any,
    want: list[str],
    position: Any = None,
    position_time: Any = None,
    is_missing: Any = None,
    dtype: str = "float64",
    **more: Any,
) -> dict[str, Any]:
    """predict() of a fitted model in double precision, interior bins only."""
    given = model._observation(time, position, position_time, times, marks, is_missing)
    found = model._run(given, want, None, dtype=dtype, **more)
    return {name: np.asarray(value) if name in want else value for name, value in found.items()}

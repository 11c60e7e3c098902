"""Arrays of other libraries: the bits are those of NumPy's, whatever lends them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_spikes
from helpers import Floats
from tessera.decode import _data, events, likelihoods
from tessera.decode._foreign import to_numpy
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError
from tessera.decode.likelihoods import common

pytestmark = pytest.mark.filterwarnings("ignore")
torch = pytest.importorskip("torch")

CUDA, PINNED, CPU = (2, 0), (3, 0), (1, 0)


class Lender:
    """Memory of the CPU with DLPack alone, as JAX's arrays are."""

    where = CPU

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.where

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        return self.data.__dlpack__(max_version=options.get("max_version"))


class OnDevice(Lender):
    """A GPU's array: its memory is lent only as a copy on the CPU."""

    where = CUDA

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        if options.get("dl_device") != CPU:
            raise BufferError("memory of the device")
        return self.data.__dlpack__(max_version=options.get("max_version"), copy=True)


class Pinned(Lender):
    where = PINNED


class OldOnDevice:
    """A GPU's array of a library that knows neither dl_device nor max_version, as CuPy 12."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA

    def __dlpack__(self, stream: Any = None) -> Any:
        raise AssertionError("its memory cannot be read here")

    def get(self) -> Floats:
        return self.data.copy()


class CudaOnly:
    """The CUDA array interface alone, as Numba's arrays have it."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": self.data.shape, "typestr": "<f8", "data": (1 << 20, False)}

    def copy_to_host(self) -> Floats:
        return self.data.copy()


class Tensor:
    """A GPU's tensor whose library has only cpu(), as torch before dl_device."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA

    def __dlpack__(self, stream: Any = None) -> Any:
        raise AssertionError("its memory cannot be read here")

    def cpu(self) -> Any:
        return torch.from_numpy(self.data)


class Array:
    """A GPU's array that converts itself, as old JAX does."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA

    def __dlpack__(self, stream: Any = None) -> Any:
        raise BufferError("no")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        return self.data.astype(dtype)


KINDS: dict[str, Callable[[Any], Any]] = {
    "torch": lambda x: torch.from_numpy(np.ascontiguousarray(x)),
    "torch strided": lambda x: torch.from_numpy(np.repeat(x, 2, axis=0))[::2],
    "torch transposed": lambda x: torch.from_numpy(np.ascontiguousarray(x.T)).T,
    "torch float32": lambda x: torch.from_numpy(np.ascontiguousarray(x)).float(),
    "torch float16": lambda x: torch.from_numpy(np.ascontiguousarray(x)).half(),
    "torch int64": lambda x: torch.from_numpy(np.ascontiguousarray(x)).long(),
    "dlpack": Lender,
    "read-only": lambda x: Lender(np.frombuffer(x.tobytes()).reshape(x.shape)),
    "pinned": Pinned,
    "cuda": OnDevice,
    "old cuda": OldOnDevice,
    "numba": CudaOnly,
    "old torch on cuda": Tensor,
    "old jax on cuda": Array,
}
LIKE = {"torch float32": np.float32, "torch float16": np.float16, "torch int64": np.int64}
CLUSTERLESS = [name for name in td.models.__all__ if "Clusterless" in name]
DEVICES = ["cpu", *(each["id"] for each in tessera.devices() if each["backend"] == "cuda")]
SORTED = [name for name in td.models.__all__ if "SortedSpikes" in name]


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes(n_electrode=2, duration=16)


def bits(results: Any) -> list[Any]:
    return [
        np.asarray(results[name]).tobytes()
        for name in ("acausal_posterior", "acausal_state_probabilities")
    ]


def run(name: str, spikes: Spikes, of: Callable[[Any], Any], device: str | None) -> list[Any]:
    """Fit, decode and estimate with every array made by ``of``; features alone change type."""
    model = getattr(td, name)(device=device)
    places = {}
    if "MultiEnvironment" in name:
        labels = np.where(spikes.time < 8, "env1", "env2")
        places = {"environment_labels": labels}
    exact = of if not getattr(of, "changes_type", False) else torch.from_numpy
    time, position = exact(spikes.time), exact(spikes.position)
    train = exact((spikes.time % 3 < 2).astype(np.float64)) if exact is of else None
    times = [exact(each) for each in spikes.spike_times]
    marks = [] if "Sorted" in name else [[of(each) for each in spikes.features]]
    rows = exact(spikes.time[:50])
    model.fit(time, position, times, *marks, is_training=train, **places)
    results = model.predict(times, *marks, rows, position=position, position_time=time)
    path = model.most_likely_sequence(time, position, times, *marks, rows)
    found = [*bits(results), path.to_csv()]
    results = model.estimate_parameters(time, position, times, *marks, rows, max_iter=1, **places)
    return [*found, *bits(results), results.attrs["marginal_log_likelihoods"].tobytes()]


@cache
def wanted(name: str, dtype: Any, device: str | None) -> list[Any]:
    """Return what NumPy's arrays give; features are of this type."""

    def of(x: Any) -> Any:
        return x.astype(dtype)

    of.changes_type = dtype is not np.float64  # type: ignore[attr-defined]
    return run(name, make_spikes(n_electrode=2, duration=16), of, device)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, kind) for name in CLUSTERLESS for kind in KINDS),
        # Sorted spikes have no features, whose type alone may change.
        *((name, kind) for name in SORTED for kind in KINDS if kind not in LIKE),
    ],
)
def test_every_class_takes_every_kind(name: str, kind: str, spikes: Spikes) -> None:
    """The answer to NumPy's arrays of the same numbers, to the bit, on every device there is."""
    make = KINDS[kind]

    def of(x: Any) -> Any:
        return make(x)

    of.changes_type = kind in LIKE  # type: ignore[attr-defined]
    for device in DEVICES if name in CLUSTERLESS else ("cpu",):
        assert run(name, spikes, of, device) == wanted(name, LIKE.get(kind, np.float64), device)


def test_memory_of_the_cpu_is_not_copied() -> None:
    x = np.arange(12.0).reshape(6, 2)
    for lent in (torch.from_numpy(x), Lender(x), Pinned(x)):
        assert np.shares_memory(_data.position(lent), x)
        assert np.shares_memory(_data.features([lent])[0], x)
        assert not any("dl_device" in options for options in getattr(lent, "asked", ()))
    assert np.shares_memory(_data.vector(torch.from_numpy(x[:, 0].copy()), "x"), x) is False
    assert to_numpy(torch.from_numpy(x)[::2], "x").strides == (32, 8)


def test_memory_of_a_gpu_is_asked_for_on_the_cpu() -> None:
    there = OnDevice(np.arange(3.0))
    assert to_numpy(there, "x").tolist() == [0, 1, 2]
    assert [options["dl_device"] for options in there.asked] == [CPU]
    assert "stream" not in there.asked[0]


def test_types() -> None:
    x = np.array([0.0, 1.5, -2.25, 3e38, 1e-40, np.inf, np.nan])
    half = torch.from_numpy(x).to(torch.bfloat16)
    found = to_numpy(half, "x")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, half.float().numpy())
    np.testing.assert_array_equal(to_numpy(half[::2], "x"), half[::2].float().numpy())
    assert _data.features([half[:, None]])[0].dtype == np.float32
    for dtype in (torch.float16, torch.int64, torch.bool, torch.uint8):
        tensor = torch.ones(3).to(dtype)
        assert _data.vector(tensor, "x").tolist() == [1, 1, 1]
        assert np.array_equal(_data.mask(tensor, "x"), [True] * 3)  # type: ignore[arg-type]
    assert _data.vector(torch.tensor(2.5), "x").tolist() == [2.5]
    assert _data.vector(torch.zeros(0), "x").shape == (0,)
    assert _data.labels(torch.tensor([1, 2]), 2, "x").tolist() == [1, 2]  # type: ignore[union-attr]
    with pytest.raises(TypeValidationError, match=r"x: the Tensor is not lent.*float32 or float64"):
        _data.vector(torch.zeros(2).to(torch.float8_e4m3fn), "x")


def test_tensors_with_gradients_are_refused(spikes: Spikes) -> None:
    model = td.ClusterlessDecoder().fit(*spikes.fit_args())
    marks = [torch.from_numpy(each).requires_grad_() for each in spikes.features]
    with pytest.raises(TypeValidationError, match=r"spike_waveform_features\[0\].*detach\(\)"):
        model.predict(spikes.spike_times, marks, spikes.time[:20])
    model.predict(spikes.spike_times, [each.detach() for each in marks], spikes.time[:20])


def test_what_cannot_come_down_is_named() -> None:
    there = SimpleNamespace(__cuda_array_interface__={})
    assert not isinstance(_data.array_of(there, "x"), SimpleNamespace)  # no class of arrays

    class Stuck(OnDevice):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("the driver is gone")

    with pytest.raises(TypeValidationError, match="position: the Stuck is not lent to the CPU"):
        _data.position(Stuck(np.zeros(3)))
    with pytest.raises(ShapeValidationError, match=r"write \[spike_times\]"):
        td.ClusterlessDecoder().fit(
            np.arange(3.0), np.arange(3.0), torch.zeros(3), [np.zeros((3, 1))]
        )


@pytest.mark.parametrize("kind", ["torch", "cuda", "numba"])
def test_functions_and_events(kind: str, spikes: Spikes) -> None:
    of = KINDS[kind]
    env = td.Environment(place_bin_size=4.0).fit_place_grid(of(spikes.position))
    plain = td.Environment(place_bin_size=4.0).fit_place_grid(spikes.position)

    def found(make: Callable[[Any], Any], place: td.Environment) -> list[bytes]:
        time, position = make(spikes.time), make(spikes.position)
        times = [make(each) for each in spikes.spike_times]
        marks = [make(each) for each in spikes.features]
        rows = make(spikes.time[:30])
        kde = likelihoods.fit_clusterless_kde_encoding_model(time, position, times, marks, place)
        values = [
            likelihoods.predict_clusterless_kde_log_likelihood(
                rows, time, position, times, marks, encoding_model=kde, is_local=local
            )
            for local in (False, True)
        ]
        values.append(likelihoods.predict_no_spike_log_likelihood(rows, times))
        for way in ("kde", "glm"):
            fit = getattr(likelihoods, f"fit_sorted_spikes_{way}_encoding_model")
            predict = getattr(likelihoods, f"predict_sorted_spikes_{way}_log_likelihood")
            fields = fit(time, position, times, place)
            values.append(predict(rows, time, position, times, encoding_model=fields))
        model = td.ContFragClusterlessClassifier().fit(time, position, times, marks)
        table, posterior = events.score(
            model, make(np.array([[1.0, 1.4], [5.0, 5.3]])), times, marks,
            position_time=time, position=position,
        )  # fmt: skip
        first = events.find(times, position_time=time, position=position)
        frames = [frame.drop(columns="reasons") for frame in (table, first)]
        return [np.asarray(v).tobytes() for v in (*values, posterior, *frames)]

    assert found(of, env) == found(lambda x: x, plain)


def test_covariates(spikes: Spikes) -> None:
    speed = np.abs(np.gradient(spikes.position))
    for formula in ("1 + speed", "1 + np.log1p(speed)"):
        if "np" in formula:
            pytest.importorskip("patsy")
        found = []
        for of in (np.asarray, KINDS["torch"], KINDS["cuda"]):
            model = td.ContFragClusterlessClassifier(
                discrete_transition_type=td.DiscreteNonStationaryDiagonal([0.9, 0.9], formula)
            )
            model.fit(*spikes.fit_args(), discrete_transition_covariate_data={"speed": of(speed)})
            results = model.predict(
                spikes.spike_times, spikes.features, spikes.time[:40],
                discrete_transition_covariate_data={"speed": of(speed[:40])},
            )  # fmt: skip
            found.append(bits(results))
        assert found[0] == found[1] == found[2]


def test_online_and_tune(spikes: Spikes) -> None:
    model = td.ClusterlessDecoder().fit(*spikes.fit_args())
    found = []
    for of in (np.asarray, KINDS["torch"], KINDS["cuda"]):
        online = td.OnlineDecoder(model, start=0.0, bin_width=0.02)
        for e in range(2):
            near = spikes.spike_times[e] < 0.5
            times, marks = spikes.spike_times[e][near], spikes.features[e][near]
            if len(times):
                online.push_spikes(of(times[:-1]), e, of(marks[:-1]))
                online.push_spike(float(times[-1]), e, of(marks[-1]))
        online.advance(0.4)
        tuned = td.tune(
            position_time=of(spikes.time), position=of(spikes.position),
            spike_times=[of(each) for each in spikes.spike_times],
            spike_waveform_features=[of(each) for each in spikes.features],
            points=3, rounds=1, refine=0, folds=2,
        )  # fmt: skip
        found.append((online.get(10)["posterior"].tobytes(), tuned.score))
    assert found[0] == found[1] == found[2]


def test_results_go_out_without_a_copy(spikes: Spikes) -> None:
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    results = model.predict(
        spikes.spike_times, spikes.features, spikes.time[:30], return_outputs="all"
    )
    for name in results.data_vars:
        array = results[name].values
        tensor = torch.from_dlpack(array)
        assert tensor.data_ptr() == array.ctypes.data
        assert np.array_equal(tensor.numpy(), array, equal_nan=True)
    values = model.compute_log_likelihood(
        spikes.time[:30], None, None, spikes.spike_times, spikes.features
    )
    assert torch.from_dlpack(values).data_ptr() == values.ctypes.data


class Traced:
    """A value that is not known yet, as JAX's tracers are: arithmetic goes, reading it does not."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, *_: Any, **__: Any) -> Floats:
        raise TypeError("not known yet")

    def __sub__(self, other: Any) -> Traced:
        return Traced(self.value - getattr(other, "value", other))

    def __truediv__(self, other: Any) -> Traced:
        return Traced(self.value / getattr(other, "value", other))

    def __pow__(self, power: int) -> Traced:
        return Traced(self.value**power)

    def __rmul__(self, factor: float) -> Traced:
        return Traced(factor * self.value)


def test_densities_inside_a_compiled_function(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(core=SimpleNamespace(Tracer=Traced))
    theirs = SimpleNamespace(exp=lambda x: Traced(np.exp(x.value)), log=np.log)
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.setitem(sys.modules, "jax.numpy", theirs)
    x, mean, sigma = np.linspace(-1, 1, 5), 0.3, 0.7
    found: Any = common.gaussian_pdf(Traced(x), mean, sigma)
    assert np.allclose(found.value, common.gaussian_pdf(x, mean, sigma), rtol=1e-14)

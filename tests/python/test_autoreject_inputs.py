"""What autoreject's Python classes take: parameters, picks, folds, seeds, aliases, backends."""

from __future__ import annotations

import copy
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from autoreject_data import dirty, mne_epochs, sphere
from helpers import run_python
from tessera.autoreject import (
    AutoReject,
    Ransac,
    _AutoReject,
    _device,
    _GlobalAutoReject,
    _gpu_arrays,
    backends,
    fit_array,
)
from tessera.autoreject._arguments import cv_of, fold_masks, seed_of, threads_of
from tessera.autoreject._fit import Settings
from tessera.autoreject._process import best_of_few
from tessera.autoreject._sensors import group_by_type, resolve_picks, sensors_from_arrays


def _sensors() -> Any:
    types = ["eeg"] * 4 + ["eog", "stim"] + ["mag", "grad"]
    names = ["Fz", "Cz", "Pz", "Oz", "EOG", "STI", "M1", "G1"]
    return sensors_from_arrays(8, np.ones((8, 3)), types, names, ["Cz"])


@pytest.mark.parametrize(
    ("picks", "want"),
    [
        (None, [0, 2, 3, 6, 7]),
        ("eeg", [0, 2, 3]),
        (["eeg", "eog"], [0, 2, 3, 4]),
        (["Pz", "Cz"], [2, 1]),
        ("Cz", [1]),
        ([3, 1, 1], [3, 1, 1]),
        ([-1], [7]),
        (slice(1, 4), [1, 2, 3]),
        ("all", [0, 2, 3, 4, 5, 6, 7]),
        ("data", [0, 2, 3, 6, 7]),
        ("meg", [6, 7]),
        (np.array([2, 0]), [2, 0]),
    ],
)
def test_picks(picks: Any, want: list[int]) -> None:
    assert resolve_picks(_sensors(), picks).tolist() == want


@pytest.mark.parametrize(
    ("picks", "error", "match"),
    [
        (["foo"], ValueError, "could not be interpreted"),
        (["Fz", "eeg"], ValueError, "not present"),
        ([99], IndexError, "< n_channels"),
        ([], ValueError, "No appropriate channels"),
        (np.ones(8, bool), TypeError, "list of int"),
        ([0.5], TypeError, "list of int"),
    ],
)
def test_picks_that_are_refused(picks: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        resolve_picks(_sensors(), picks)


def test_picks_are_mnes() -> None:
    mne = pytest.importorskip("mne")
    x = np.zeros((1, 6, 5))
    names = ["Fz", "Cz", "Pz", "Oz", "EOG", "STI"]
    epochs = mne_epochs(x, None, ["eeg"] * 4 + ["eog", "stim"], names, bads=("Cz",))
    from tessera.autoreject.utils import _handle_picks

    for picks in ("eeg", "eog", "all", "data", ["Pz", "Cz"], [2, 1], slice(1, 3), ["eeg", "stim"]):
        want = mne._fiff.pick._picks_to_idx(epochs.info, picks)
        assert _handle_picks(epochs.info, picks).tolist() == list(want), picks


def test_groups_come_in_order_of_appearance() -> None:
    assert group_by_type(_sensors(), [7, 3, 6, 0]) == [("grad", [7]), ("eeg", [3, 0]), ("mag", [6])]


def test_parameters() -> None:
    ar = AutoReject(cv=4, picks=[1, 2], random_state=3, search="exact")
    params = ar.get_params()
    assert params["cv"] == 4
    assert params["search"] == "exact"
    assert set(params) >= {"n_interpolate", "consensus", "thresh_func", "verbose", "checkpoint"}
    assert ar.set_params(cv=5) is ar
    assert ar.cv == 5
    with pytest.raises(ValueError, match="Invalid parameter 'foo'"):
        ar.set_params(foo=1)
    shown = repr(ar)
    assert shown.startswith("AutoReject(consensus=None, cv=5, n_interpolate=None, n_jobs=1")
    assert "search='exact'" in shown
    assert "rho_mode" not in shown


def test_positional_arguments_are_the_originals() -> None:
    ar = AutoReject([1], [0.5], None, 3, [0], "random_search", 2, 7, False)
    assert (ar.n_interpolate, ar.consensus, ar.cv, ar.picks) == ([1], [0.5], 3, [0])
    assert (ar.thresh_method, ar.n_jobs, ar.random_state, ar.verbose) == (
        "random_search",
        2,
        7,
        False,
    )
    ransac = Ransac(10, 0.5, 0.7, 0.3, 2, 1, [0], False)
    assert (ransac.n_resample, ransac.unbroken_time, ransac.random_state) == (10, 0.3, 1)


@pytest.mark.parametrize(
    "estimator",
    [AutoReject(cv=4, n_interpolate=np.array([1, 2])), Ransac(10), _AutoReject(2, 0.5)],
    ids=lambda e: type(e).__name__,
)
def test_copies_before_fitting(estimator: Any) -> None:
    for twin in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert repr(twin) == repr(estimator)
    base = pytest.importorskip("sklearn.base")
    twin = base.clone(estimator)
    assert repr(twin) == repr(estimator)
    assert twin is not estimator


def test_inner_class_refuses_consensus() -> None:
    with pytest.raises(ValueError, match=r'"consensus" must be between 0 and 1. You gave me 2'):
        _AutoReject(consensus=2.0)


def test_seeds() -> None:
    assert seed_of(7) == 7
    assert seed_of(np.int64(7)) == 7
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1))
    assert seed_of(None) != seed_of(None)
    assert 0 <= seed_of(np.random.default_rng(1)) < 2**31
    for wrong in (-1, 2**32):
        with pytest.raises(ValueError, match="between 0 and"):
            seed_of(wrong)
    with pytest.raises(ValueError, match="random_state"):
        seed_of("x")


def test_threads() -> None:
    assert threads_of(3) == 3
    assert threads_of(-1) is None
    assert threads_of(-2) == max(1, len(os.sched_getaffinity(0)) - 1)
    with pytest.raises(ValueError, match="n_jobs"):
        threads_of(0)


def test_folds() -> None:
    masks = fold_masks(cv_of(4, default=10), 10)
    assert masks.shape == (4, 10)
    assert masks[0].tolist() == [2, 2, 2, 1, 1, 1, 1, 1, 1, 1]
    assert masks[3].tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 2, 2]
    with pytest.raises(ValueError, match=r"n_splits=11 greater than .* n_samples=10"):
        fold_masks(cv_of(11, default=10), 10)
    masks = fold_masks(cv_of([([0, 1], [2])], default=10), 4)
    assert masks.tolist() == [[1, 1, 2, 0]]
    refused: list[Any] = [[([0, 1], [1])], [([], [1])], []]
    for wrong in refused:
        with pytest.raises(ValueError, match="cv: "):
            fold_masks(cv_of(wrong, default=10), 4)
    for wrong in (1, 2.5, True):
        with pytest.raises(ValueError, match="cv: "):
            fold_masks(cv_of(wrong, default=10), 4)


def test_folds_of_scikit_learn() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    cv = selection.KFold(4, shuffle=True, random_state=1)
    masks = fold_masks(cv_of(cv, default=10), 12)
    for row, (train, test) in zip(masks, cv.split(np.zeros(12)), strict=True):
        assert np.flatnonzero(row == 1).tolist() == train.tolist()
        assert np.flatnonzero(row == 2).tolist() == test.tolist()
    plain = fold_masks(selection.KFold(3), 10)
    assert np.array_equal(plain, fold_masks(cv_of(3, default=10), 10))


def test_few_candidates_find_a_dip() -> None:
    amplitudes = np.linspace(1e-5, 1e-4, 40)
    objective = 1e-6 + (amplitudes - amplitudes[8]) ** 2
    objective[0] = np.inf
    assert best_of_few(amplitudes, amplitudes, objective) == amplitudes[8]


def test_global_estimator() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20, 3, 15))
    x[4] *= 10
    fitted = _GlobalAutoReject(3, 15, 8.0).fit(x.reshape(20, -1))
    keep = np.ptp(x, axis=2).max(axis=1) <= 8
    np.testing.assert_array_equal(fitted.mean_, x[keep].mean(axis=0))
    want = -np.sqrt(np.mean((np.median(x, axis=0) - x[keep].mean(axis=0)) ** 2))
    assert fitted.score(x.reshape(20, -1)) == pytest.approx(want, rel=1e-14)
    assert _GlobalAutoReject(3, 15, 0.0).fit(x).score(x) == -np.inf


def test_alias(tmp_path: Path) -> None:
    code = (
        "from tessera.autoreject import compat\n"
        "with compat():\n"
        "    import autoreject, autoreject.utils\n"
        "    from autoreject import AutoReject, Ransac\n"
        "    from autoreject.autoreject import _GlobalAutoReject\n"
        "    print(AutoReject.__module__, autoreject.utils.__name__)\n"
        "    try:\n"
        "        import autoreject.nonsense\n"
        "    except ModuleNotFoundError as error: print('missing')\n"
        "import sys; print('autoreject' in sys.modules)\n"
        "import tessera.autoreject; print(tessera.autoreject.__name__)\n"
    )
    done = run_python(code)
    assert done.stdout.splitlines() == [
        "tessera.autoreject.autoreject autoreject.utils",
        "missing",
        "False",
        "tessera.autoreject",
    ], done.stderr
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, autoreject\nprint(autoreject.AutoReject.__module__, sys.argv[1:])\n"
    )
    done = run_python(
        "import runpy, sys; sys.argv = ['x', sys.argv[1], '--flag'];"
        "runpy.run_module('tessera.autoreject', run_name='__main__')",
        arguments=[str(script)],
    )
    assert done.stdout == "tessera.autoreject.autoreject ['--flag']\n", done.stderr


def test_alias_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_AUTOREJECT_ALIAS", "1")
    done = run_python("import tessera.autoreject, autoreject; print(autoreject)")
    assert done.stdout == "<module 'autoreject', which is tessera.autoreject>\n", done.stderr


def test_heavy_packages_are_not_imported() -> None:
    code = (
        "import sys, tessera.autoreject as a\n"
        "a.AutoReject; a.Ransac; a.utils; a.backends; a.viz\n"
        "print([n for n in ('mne', 'sklearn', 'matplotlib', 'h5io', 'tqdm') if n in sys.modules])"
    )
    assert run_python(code).stdout == "[]\n"


@pytest.fixture
def _fresh_backends(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("TESSERA_BACKEND", raising=False)
    monkeypatch.delenv("AUTOREJECT_BACKEND", raising=False)
    backends.clear_backend_cache()
    yield
    backends.clear_backend_cache()


@pytest.mark.usefixtures("_fresh_backends")
class TestBackends:
    def test_hardware(self) -> None:
        found = backends.detect_hardware()
        assert found["cpu"] is True
        assert found["threads"] >= 1
        assert isinstance(found["cuda"], bool)
        assert "error" not in found
        found["cpu"] = False
        assert backends.detect_hardware()["cpu"] is True

    def test_names(self) -> None:
        assert "cpu" in backends.get_backend_names()
        assert backends.get_backend("cpu").name == "cpu"
        assert backends.get_backend("cpu") is backends.get_backend("cpu")

    def test_unknown_names_fall_back_with_a_warning(self) -> None:
        with pytest.warns(UserWarning, match="'abacus' does not exist"):
            assert backends.get_backend("abacus").name == "cpu"

    def test_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AUTOREJECT_BACKEND", "numba")
        with pytest.warns(UserWarning, match="AUTOREJECT_BACKEND=numba"):
            assert backends.get_backend().name == "cpu"
        monkeypatch.setenv("TESSERA_BACKEND", "cuda")
        backends.clear_backend_cache()
        if not backends.detect_hardware()["cuda"]:
            with pytest.warns(UserWarning, match="backend 'cuda': .*; 'cpu' is used"):
                assert backends.get_backend().name == "cpu"
        backends.clear_backend_cache()
        monkeypatch.setenv("TESSERA_BACKEND", "cpu")
        assert backends.get_backend().name == "cpu"

    def test_operations(self) -> None:
        backend = backends.get_backend("cpu")
        rng = np.random.default_rng(2)
        x = rng.standard_normal((4, 3, 7))
        y = rng.standard_normal((4, 3, 7))
        on_device = backend.to_device(x)
        assert backends.is_device_array(on_device)
        assert not backends.is_device_array(x)
        assert backend.is_on_device(on_device)
        assert (on_device.shape, on_device.ndim, len(on_device)) == ((4, 3, 7), 3, 4)
        assert on_device.dtype == np.float64
        np.testing.assert_array_equal(on_device[1].numpy(), x[1])
        np.testing.assert_array_equal(backend.ptp(on_device), np.ptp(x, axis=-1))
        np.testing.assert_array_equal(backend.ptp(x, axis=0), np.ptp(x, axis=0))
        np.testing.assert_array_equal(backend.median(x), np.median(x))
        kept = backend.median(backend.ptp(x, keep_on_device=True), axis=0, keep_on_device=True)
        assert backends.is_device_array(kept)
        np.testing.assert_array_equal(kept.numpy(), np.median(np.ptp(x, axis=-1), axis=0))
        want = (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
        np.testing.assert_allclose(
            backend.correlation(x, on_device), (x * x).sum(-1) / (x * x).sum(-1)
        )
        np.testing.assert_allclose(backend.correlation(x, y), want, rtol=1e-14)
        np.testing.assert_array_equal(backend.matmul(x[0], y[0].T), np.matmul(x[0], y[0].T))

    def test_arrays_go_there_and_back(self) -> None:
        x = np.arange(6.0).reshape(2, 3)
        kept = backends.to_device(x, "cpu")
        assert backends.is_on_device(kept)
        assert not backends.is_on_device(x)
        assert backends.to_device(kept, "cpu") is kept
        for back in (backends.to_host(kept), kept.to_host(), kept.backend.to_host(kept)):
            assert isinstance(back, np.ndarray)
            np.testing.assert_array_equal(back, x)
        np.testing.assert_array_equal(backends.to_host([1, 2]), [1, 2])

    def test_pipeline(self) -> None:
        x = dirty()
        params: dict[str, Any] = {"cv": 4, "random_state": 1, "verbose": False}
        want = AutoReject(**params).fit_array(x, sphere(12))
        steps = backends.GPUPipeline("cpu", **params)
        with pytest.raises(ValueError, match=r"call load\(X, positions\) first"):
            steps.fit()
        with pytest.raises(ValueError, match=r"call fit\(\) first"):
            steps.load(x, sphere(12)).transform()
        clean = steps.fit().transform(keep_on_device=True)
        assert steps.autoreject_.threshes_ == want.threshes_
        assert backends.is_on_device(clean)
        np.testing.assert_array_equal(backends.to_host(clean), want.transform_array(x))
        np.testing.assert_array_equal(steps.transform(x[:9]), want.transform_array(x[:9]))

    def test_pipeline_says_why_it_is_on_the_cpu(self) -> None:
        if backends.detect_hardware()["cuda"]:
            pytest.skip("there is a GPU")
        with pytest.warns(UserWarning, match="backend 'cuda': .*; 'cpu' is used"):
            assert backends.GPUPipeline().backend.name == "cpu"

    @pytest.mark.parametrize(
        "pretend",
        [
            lambda: backends.GPUPipeline("cuda", cv=3),
            lambda: backends.Backend("cuda"),
            lambda: backends.Backend("cuda:1"),
            lambda: backends.get_backend("cuda"),
            lambda: backends.get_backend("torch"),
        ],
    )
    def test_no_name_pretends(self, pretend: Any) -> None:
        if backends.detect_hardware()["cuda"]:
            pytest.skip("there is a GPU")
        with pytest.raises(tessera.Error, match=r"^backend '(cuda|cuda:1|torch)': .*device cpu"):
            pretend()
        assert backends.get_backend_names() == ["cpu"]

    def test_auto_falls_back_with_a_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if backends.detect_hardware()["cuda"]:
            pytest.skip("there is a GPU")
        # A GPU that is promised and then not there.
        monkeypatch.setattr(_device, "_hardware", backends.detect_hardware() | {"cuda": True})
        monkeypatch.setattr(_device, "_WORTHWHILE_BYTES", 0)
        assert _device.resolve_device("auto", 1) == "auto"
        params: dict[str, Any] = {"cv": 4, "random_state": 1, "verbose": False}
        want = fit_array(dirty(), sphere(12), **params, device="cpu").threshes_
        assert fit_array(dirty(), sphere(12), **params).threshes_ == want
        run_on = Settings._run_on

        def failing(self: Settings, device: str, function: Any) -> Any:
            if device != "cpu":
                raise tessera.DeviceError("the device was lost")
            return run_on(self, device, function)

        monkeypatch.setattr(Settings, "_run_on", failing)
        with pytest.warns(UserWarning, match="the CPU does it instead: the device was lost"):
            assert fit_array(dirty(), sphere(12), **params).threshes_ == want
        with pytest.raises(tessera.DeviceError, match="lost"):
            fit_array(dirty(), sphere(12), **params, device="cuda")

    def test_device_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TESSERA_DEVICE", raising=False)
        assert _device.resolve_device("cpu") == "cpu"
        assert _device.resolve_device("cuda:1") == "cuda:1"
        assert _device.resolve_device("auto", 1) == "cpu"
        monkeypatch.setenv("TESSERA_DEVICE", "cuda:1")
        assert _device.resolve_device("auto", 1) == "cuda:1"
        with pytest.raises(ValueError, match="device"):
            _device.resolve_device(3)  # type: ignore[arg-type]


def test_words_that_do_not_exist() -> None:
    x = np.zeros((12, 5, 9))
    for name in ("search", "rho_mode", "meg_dots", "precision"):
        ar = AutoReject(verbose=False).set_params(**{name: "nonsense"})
        with pytest.raises(ValueError, match=f"{name}: 'nonsense' does not exist"):
            ar.fit_array(x, sphere(5))
    with pytest.raises(ValueError, match="boolean"):
        AutoReject(verbose="nonsense").fit_array(x, sphere(5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cv", "x"),
        ("cv", b"x"),
        ("n_jobs", "a"),
        ("n_jobs", [1]),
        ("n_jobs", float("inf")),
        ("consensus", "x"),
        ("consensus", ["a", 0.5]),
        ("consensus", [[0.1, 0.2]]),
        ("n_interpolate", [[1], [2, 3]]),
        ("n_interpolate", [[1, 2]]),
    ],
)
def test_odd_arguments_are_named(name: str, value: Any) -> None:
    ar = AutoReject(verbose=False).set_params(**{name: value})
    with pytest.raises(tessera.ArgumentError) as caught:
        ar.fit_array(dirty(), sphere(12))
    assert str(caught.value).startswith(f"{name}: expected ")
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [3, None, "numpy"])
def test_odd_backends_are_named(value: Any) -> None:
    with pytest.raises(tessera.ArgumentError, match=f"name: {value!r} does not exist; there are "):
        backends.Backend(value)
    if value == 3:
        with pytest.raises(tessera.ArgumentError, match="prefer: expected 'cpu', 'cuda', 'auto'"):
            backends.get_backend(value)


def test_a_type_of_two_channels_says_how_to_leave_it_out() -> None:
    """The original stops here with "No channels match the selection"."""
    x = np.concatenate([1e-8 * dirty(n_chan=12)[:, :2], dirty()], axis=1)
    places = np.zeros((14, 12))
    places[:, :3] = np.concatenate([1.2 * sphere(2), sphere(12)])
    places[:2, 3:] = np.eye(3).reshape(-1)
    types = ["mag"] * 2 + ["eeg"] * 12
    ar = AutoReject(cv=4, random_state=1, verbose=False)
    with pytest.raises(tessera.NumericError, match=r"2 mag channels.*: picks=\['eeg'\] fits"):
        ar.fit_array(x, places, types)
    ar.set_params(picks=["eeg"]).fit_array(x, places, types)


def test_unfitted_and_wrong_objects() -> None:
    with pytest.raises(AttributeError, match="info"):
        AutoReject().fit(np.zeros((3, 4, 5)))
    with pytest.raises(ValueError, match=r"Please run autoreject.fit\(\) method first"):
        AutoReject().transform(np.zeros((3, 4, 5)))
    with pytest.raises(AttributeError, match="info"):
        Ransac().fit(np.zeros((3, 4, 5)))
    with pytest.raises(ValueError, match="first"):
        Ransac().transform(np.zeros((3, 4, 5)))
    with pytest.raises(tessera.ShapeError, match="n_epochs, n_channels, n_times"):
        AutoReject().fit_array(np.zeros((3, 4)), None)  # type: ignore[arg-type]


def test_modules_of_the_original() -> None:
    import tessera.autoreject as package

    for name in ("autoreject", "ransac", "utils", "backends", "viz"):
        assert getattr(package, name) is sys.modules[f"tessera.autoreject.{name}"]
    for name in dir(package):
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = package.nonsense


def test_backend_operations_take_what_recordings_are_stored_in() -> None:
    counts = np.random.default_rng(1).integers(-3000, 3000, (3, 50)).astype(np.int16)
    cpu = backends.Backend("cpu")
    want = cpu.correlation(counts.astype(np.float64), counts[::-1].astype(np.float64))
    np.testing.assert_array_equal(cpu.correlation(counts, counts[::-1]), want)
    np.testing.assert_array_equal(cpu.ptp(counts), np.ptp(counts.astype(np.float64), axis=-1))
    with pytest.raises(tessera.DTypeError, match="real values"):
        cpu.ptp(counts + 1j)
    with pytest.raises(tessera.DTypeError, match="real values"):
        cpu.correlation(counts + 1j, counts + 1j)
    with pytest.raises(tessera.ShapeError, match="no values"):
        cpu.ptp(counts[:, :0])
    with pytest.raises(tessera.ArgumentError, match="axis"):
        cpu.ptp(counts, axis=None)  # type: ignore[arg-type]


def test_folds_of_epochs_that_are_not_there_are_refused() -> None:
    x = np.random.default_rng(1).standard_normal((5, 6, 20))
    ar = AutoReject(cv=[([0, 1, 2], [4, 5])], n_interpolate=[1], verbose=False)
    with pytest.raises(tessera.ArgumentError, match="epoch 5; there are 5"):
        ar.fit_array(x, np.random.default_rng(2).standard_normal((6, 3)))


def test_arrays_of_torch_get_the_rows_that_a_gpu_wants() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert _gpu_arrays.with_rows(x) is x
    apart = x[:, 1:, :3]  # rows that are apart from each other are fine
    assert _gpu_arrays.with_rows(apart) is apart
    single = x.permute(0, 2, 1)[:, :, :1]
    assert _gpu_arrays.with_rows(single) is single
    for odd in (x.permute(0, 2, 1), x[:, :, ::2], x.permute(2, 1, 0)):
        rows = _gpu_arrays.with_rows(odd)
        assert rows.stride(-1) == 1
        assert torch.equal(rows, odd)


def test_arrays_of_a_gpu_that_cannot_be_epochs_are_named() -> None:
    torch = pytest.importorskip("torch")
    for x in (torch.tensor(1.0), torch.zeros(3), torch.zeros(2, 3)):
        with pytest.raises(tessera.ShapeError, match=r"X: expected \(n_epochs, n_channels"):
            _gpu_arrays.with_rows(x)
    with pytest.raises(ValueError, match=r"X: a tensor of torch.sparse_coo; pass X.to_dense"):
        _gpu_arrays.with_rows(torch.zeros(2, 3, 4).to_sparse())

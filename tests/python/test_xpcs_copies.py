"""Everything public can be pickled and copied, and does the same afterwards, in any process."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle{protocol}": lambda value, protocol=protocol: pickle.loads(  # type: ignore[misc]
            pickle.dumps(value, protocol)
        )
        for protocol in (2, 4, 5)
    },
}
SIMULATION: dict[str, Any] = {
    "n_angle": 3,
    "n_frame": 24,
    "dt": 0.1,
    "gap": 2e6,
    "sigma": 0.01,
    "seed": 3,
}
FIT: dict[str, Any] = {"mode": "static_anisotropic", "sigma": 0.01}


def simulated() -> xpcs.Data:
    return xpcs.simulate(**SIMULATION)


def of_arrays() -> xpcs.Data:
    c2 = simulated().c2
    c2[1, 3, :] = c2[1, :, 3] = np.nan
    sigma = np.full(c2.shape, 0.01)
    return xpcs.Data.from_arrays(
        c2, [-20, 5, 88], 0.0054, dt=0.1, gap=2e6, sigma=sigma, bad_frames=[7], keep_t0=True
    )


def of_file(folder: Path, layout: str, **options: Any) -> xpcs.Data:
    suffix = ".txc2" if layout == "txc2" else ".h5"
    path = xpcs.simulate_file(folder / f"a{suffix}", layout=layout, **SIMULATION)
    return xpcs.load(path, gap=2e6, **options)


DATA: dict[str, Callable[[Path], xpcs.Data]] = {
    "simulation": lambda _: simulated(),
    "on demand": lambda _: xpcs.simulate(in_memory=False, **SIMULATION),
    "arrays": lambda _: of_arrays(),
    "txc2": lambda folder: of_file(folder, "txc2", dt=0.2),
    "aps-u": lambda folder: of_file(folder, "aps-u", bad_frames=[4], exclude_lags=2),
    "configured": lambda folder: xpcs.load(
        of_file(folder, "aps-u").path,
        {
            "analysis_mode": "static_anisotropic",
            "analyzer_parameters": {"dt": 0.1, "start_frame": 2, "end_frame": 20},
            "model": {"sigma": {"mode": "constant", "value": 0.02}},
        },
    ),
}


@pytest.fixture(scope="module", params=DATA)
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> xpcs.Data:
    if request.param in ("aps-u", "configured"):
        pytest.importorskip("h5py")
    return DATA[request.param](tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def found() -> xpcs.Result:
    return xpcs.fit(simulated(), n_start=2, uncertainty="block_bootstrap", n_bootstrap=5, **FIT)


@pytest.mark.parametrize("way", WAYS)
def test_data(data: xpcs.Data, way: str) -> None:
    other = WAYS[way](data)
    assert repr(other) == repr(data)
    skipped = ("_handle", "settings", "_recipe")
    for name, value in vars(data).items():
        if name not in skipped:
            assert np.array_equal(getattr(other, name), value), name
    assert np.array_equal(other.c2, data.c2, equal_nan=True)
    if data.settings is not None:
        assert other.settings.to_dict()["values"].keys() == data.settings.to_dict()["values"].keys()
    options = {} if data.settings is not None else FIT
    before, after = xpcs.fit(data, **options), xpcs.fit(other, **options)
    assert np.array_equal(after.parameters, before.parameters)
    assert after.data_fingerprint == before.data_fingerprint
    assert after.data_path == before.data_path
    assert (after.mode, after.sigma[0]) == (before.mode, before.sigma[0])


@pytest.mark.parametrize("way", WAYS)
def test_results(found: xpcs.Result, way: str, tmp_path: Path) -> None:
    other = WAYS[way](found)
    assert other is not found
    assert other.to_dict() == found.to_dict()
    assert other.summary() == found.summary()
    for name, value in vars(found).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(other, name), value, equal_nan=True), name
    assert np.array_equal(other.residuals(1), found.residuals(1), equal_nan=True)
    assert len(other.basins) == len(found.basins)
    other.save(tmp_path / "out", report=True)
    assert (tmp_path / "out" / "report.html").is_file()


def test_copies_are_their_own(found: xpcs.Result) -> None:
    other = copy.deepcopy(found)
    other.warnings.append("changed")
    other.model_options["dt"] = 5.0
    other.data.notes.append("changed")
    assert "changed" not in found.warnings + found.data.notes
    assert found.model_options["dt"] == 0.1
    settings = xpcs.Settings({"analysis_mode": "static_isotropic"})
    for way in WAYS.values():
        changed = way(settings)
        changed.set("analysis_mode", "laminar_flow")
        assert settings.model["mode"] == "static_isotropic"


def test_equal_things_are_equal_bytes(found: xpcs.Result) -> None:
    first = pickle.dumps(found)
    time.sleep(1.1)  # nothing in them tells the time
    assert pickle.dumps(pickle.loads(first)) == first


@pytest.mark.parametrize("way", WAYS)
def test_managers_loaders_and_wrappers(way: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(xpcs.template("static_isotropic", minimal=True))
    manager = xpcs.ConfigManager(tmp_path / "c.yaml")
    manager.update_config("optimization.nlsq.loss", "huber")
    other = WAYS[way](manager)
    assert other.config == manager.config
    assert other.settings.to_dict()["values"].keys() == manager.settings.to_dict()["values"].keys()
    manager.update_config("experimental_data.file_path", "a.hdf")
    loader = xpcs.XPCSDataLoader(config_dict=manager.config)
    assert WAYS[way](loader).settings.model == loader.settings.model
    assert WAYS[way](xpcs.NLSQWrapper(fast_mode=True)).fast_mode


def test_paths_beside_a_configuration_are_kept(tmp_path: Path) -> None:
    xpcs.simulate_file(tmp_path / "a.txc2", layout="txc2", **SIMULATION)
    (tmp_path / "c.yaml").write_text("experimental_data:\n  file_path: a.txc2\n")
    settings = xpcs.Settings(tmp_path / "c.yaml")
    assert settings.data_path == str(tmp_path / "a.txc2")
    for name, way in WAYS.items():
        assert way(settings).data_path == settings.data_path, name


def test_a_file_that_is_another_by_then(tmp_path: Path) -> None:
    data = of_file(tmp_path, "txc2")
    content = pickle.dumps(data)
    xpcs.simulate(**(SIMULATION | {"seed": 4})).save(tmp_path / "b.txc2")
    (tmp_path / "b.txc2").replace(data.path)
    with pytest.raises(tessera.FormatError, match=r"a\.txc2: holds other data"):
        pickle.loads(content)


@pytest.mark.parametrize("cut", [0, 7, 60, 200, -1])
def test_damaged_pickles_are_refused(found: xpcs.Result, cut: int) -> None:
    from tessera import _core

    content = _core.xpcs_result_pack(found._handle)
    changed = bytearray(content)
    changed[-9] ^= 1
    with tessera.Context() as context:
        for damaged in (content[:cut], bytes(changed), b"TESSXRS1" + bytes(2000), b"x" * 2000):
            with pytest.raises(tessera.Error, match="bytes: "):
                _core.xpcs_result_unpack(context, damaged)


def fit_one(data: xpcs.Data) -> xpcs.Result:
    return xpcs.fit(data, threads=1, **FIT)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_pools(method: str) -> None:
    data = simulated()
    want = fit_one(data)
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
        (other,) = pool.map(fit_one, [data])
    assert other.physical == want.physical
    assert np.array_equal(other.covariance, want.covariance)
    assert np.array_equal(other.residuals(0), want.residuals(0), equal_nan=True)


def test_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    data = simulated()
    want = fit_one(data)
    for other in joblib.Parallel(n_jobs=2)(joblib.delayed(fit_one)(data) for _ in range(2)):
        assert np.array_equal(other.parameters, want.parameters)
    assert joblib.hash(data) == joblib.hash(simulated())

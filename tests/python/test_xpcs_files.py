"""Files of xpcs: beamlines' layouts, caches, configurations, the original's calls, results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "xpcs"
FILES = ("aps_legacy_deflate", "aps_u_lzf", "aps_u_mapping_deflate")


def expected(name: str) -> Any:
    return np.load(GOLDEN / f"{name}.expected.npz")


@pytest.mark.parametrize("name", FILES)
def test_inspect(name: str) -> None:
    want = expected(name)
    found = xpcs.inspect(GOLDEN / f"{name}.hdf")
    assert found["layout"] == ("aps-legacy" if "legacy" in name else "aps-u")
    assert found["filter"] == ("lzf" if "lzf" in name else "deflate")
    assert [entry["q"] for entry in found["bins"]] == pytest.approx(want["bin_q"].tolist())
    assert [entry["phi"] for entry in found["bins"]] == pytest.approx(want["bin_phi"].tolist())
    if "dt" in want.files:
        assert found["dt"] == pytest.approx(float(want["dt"]))


@pytest.mark.parametrize("name", FILES)
def test_selection(name: str) -> None:
    want = expected(name)
    options: dict[str, Any] = {"q": float(want["sel_q_request"])}
    options["start_frame"], options["end_frame"] = (int(f) for f in want["sel_frames"])
    if "sel_q_tolerance_fraction" in want.files:
        options["q_tolerance"] = float(want["sel_q_tolerance_fraction"])
    if "sel_phi_ranges" in want.files:
        options["phi_ranges"] = want["sel_phi_ranges"]
    if "dt" not in want.files:
        options["dt"] = float(want["sel_t"][0])
    data = xpcs.load(GOLDEN / f"{name}.hdf", **options)
    assert data.dtype == "float32"
    assert np.allclose(data.phi, want["sel_phi"])
    assert np.allclose(data.q, want["sel_q"])
    assert np.allclose(data.t, want["sel_t"])
    i, j = np.triu_indices(data.n_frame, 1)
    assert np.array_equal(data.c2[:, i, j].astype(np.float32), want["sel_packed"])


def configuration(folder: Path, **more: Any) -> dict[str, Any]:
    shutil.copy(GOLDEN / "aps_u_lzf.hdf", folder / "a.hdf")
    return {
        "analysis_mode": "laminar_flow",
        "analyzer_parameters": {
            "dt": 0.1,
            "start_frame": 1,
            "end_frame": -1,
            "scattering": {"wavevector_q": float(expected("aps_u_lzf")["sel_q_request"])},
            "geometry": {"stator_rotor_gap": 2e6},
        },
        "experimental_data": {"file_path": str(folder / "a.hdf")},
        "model": {"sigma": {"mode": "constant", "value": 0.012}},
        **more,
    }


def test_configurations_as_dict_file_and_manager(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    by_dict, by_file = xpcs.load(config), xpcs.load(path)
    assert np.array_equal(by_dict.c2, by_file.c2, equal_nan=True)
    fits = [
        xpcs.fit(by_dict),
        xpcs.fit(by_dict, config),
        xpcs.fit(by_dict, path),
        xpcs.fit(by_dict, xpcs.ConfigManager(path)),
        xpcs.fit(config["experimental_data"]["file_path"], config),
    ]
    for other in fits[1:]:
        assert np.array_equal(fits[0].parameters, other.parameters)
    assert not fits[0].sigma_is_default


def test_the_originals_calls(tmp_path: Path) -> None:
    from tessera.xpcs.config import ConfigManager
    from tessera.xpcs.data import XPCSDataLoader, load_xpcs_data
    from tessera.xpcs.optimization.nlsq import fit_nlsq_jax
    from tessera.xpcs.optimization.nlsq_wrapper import NLSQWrapper, OptimizationResult

    config = configuration(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    data = load_xpcs_data(path)
    assert set(data) == {"wavevector_q_list", "phi_angles_list", "t1", "t2", "c2_exp"}
    n = len(data["t1"])
    assert data["t1"][0] == 0
    assert data["c2_exp"].shape == (len(data["phi_angles_list"]), n, n)
    again = XPCSDataLoader(config_dict=config).load_experimental_data()
    assert np.array_equal(again["c2_exp"], data["c2_exp"])
    manager = ConfigManager(str(path))
    found = fit_nlsq_jax(data, manager)
    assert isinstance(found, OptimizationResult)
    assert found.success
    n_angle = len(data["phi_angles_list"])
    assert len(found.parameters) == len(found.uncertainties) == 2 * n_angle + 7
    assert found.covariance.shape == (2 * n_angle + 7,) * 2
    direct = xpcs.fit(xpcs.load(config))
    # The dict went through float64; the points are the same.
    assert np.array_equal(found.parameters, direct.parameters)
    for name in (
        "chi_squared", "reduced_chi_squared", "convergence_status", "iterations",
        "execution_time", "device_info", "recovery_actions", "quality_flag",
    ):  # fmt: skip
        assert getattr(found, name) is not None
    shared = fit_nlsq_jax(data, config, per_angle_scaling=False)
    assert shared.scaling == "averaged"
    assert len(set(shared.contrast)) == 1
    wrapped = NLSQWrapper(enable_large_dataset=True).fit(data, manager, found.parameters)
    assert np.allclose(wrapped.theta, found.theta, rtol=1e-3)
    dropped = dict(data) | {key: data[key][1:] for key in ("t1", "t2")}
    dropped["c2_exp"] = data["c2_exp"][:, 1:, 1:]
    assert np.array_equal(fit_nlsq_jax(dropped, manager).parameters, found.parameters)
    named = fit_nlsq_jax(data, manager, {"D0": 4e4, "alpha": -1.0, "contrast": 0.3})
    assert np.allclose(named.theta, found.theta, rtol=1e-2)
    assert xpcs.fit_nlsq is xpcs.fit_nlsq_jax


def test_manager_says_what_the_file_says() -> None:
    manager = xpcs.ConfigManager(str(GOLDEN / "config_laminar.yaml"))
    want = json.loads((GOLDEN / "config_laminar.expected.json").read_text())["resolved"]
    config = manager.get_config()
    assert config["analysis_mode"] == "laminar_flow"
    assert config["analyzer_parameters"]["geometry"]["stator_rotor_gap"] == 2e6
    assert isinstance(config["parameter_space"]["bounds"], list)
    assert manager.get_parameter_names()[0] == "D0"
    assert "gamma_dot_t_offset" in manager.get_active_parameters()
    assert "gamma_dot_t_offset" not in manager.get_initial_parameters()
    (phi0,) = manager.get_parameter_bounds(["phi_0"])
    assert (phi0["name"], phi0["min"], phi0["max"]) == ("phi0", -5.0, 5.0)
    assert manager.get_initial_parameters()["D0"] == 1e4
    assert isinstance(want, dict)


def test_settings_can_be_changed() -> None:
    settings = xpcs.Settings()
    settings.set("analysis_mode", "static_isotropic")
    settings.set("analyzer_parameters.dt", 0.25)
    assert settings.model["mode"] == "static_isotropic"
    assert settings.model["dt"] == 0.25
    with pytest.raises(tessera.ConfigError, match="nls"):
        settings.set("optimization.nls.loss", "huber")


def test_templates_can_be_read(tmp_path: Path) -> None:
    for mode in ("static_isotropic", "static_anisotropic", "laminar_flow"):
        path = tmp_path / f"{mode}.yaml"
        path.write_text(xpcs.template(mode))
        assert xpcs.Settings(path).model["mode"] == mode


@pytest.mark.parametrize(
    ("config", "error", "text"),
    [
        ({"analysis_mod": "static"}, tessera.ConfigError, "^config:.*did you mean 'analysis_mode'"),
        ({"analysis_mode": "steady"}, ValueError, "steady"),
        ({"analysis_mode": "static", "x": {1, 2}}, tessera.ConfigError, "set"),
        ({"analysis_mode": "static_isotropic"}, tessera.ConfigError, "file_path"),
    ],
)
def test_bad_configurations(config: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        xpcs.load(config)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        xpcs.load(tmp_path / "nowhere.hdf")
    broken = tmp_path / "broken.hdf"
    broken.write_bytes((GOLDEN / "aps_u_lzf.hdf").read_bytes()[:5000])
    with pytest.raises(tessera.Error, match=r"broken\.hdf"):
        xpcs.load(broken)
    text = tmp_path / "text.hdf"
    text.write_text("no")
    with pytest.raises(ValueError, match=r"text\.hdf"):
        xpcs.inspect(text)
    with pytest.raises(tessera.Error, match=r"0\.5"):
        xpcs.load(GOLDEN / "aps_u_lzf.hdf", q=0.5)
    with pytest.raises(ValueError, match="101"):
        xpcs.load(GOLDEN / "aps_u_lzf.hdf", end_frame=101)
    with pytest.raises(tessera.ArgumentError, match="give one of them"):
        xpcs.XPCSDataLoader()


def test_cache(tmp_path: Path) -> None:
    options: dict[str, Any] = {"q": float(expected("aps_u_mapping_deflate")["sel_q_request"])}
    path = GOLDEN / "aps_u_mapping_deflate.hdf"
    first = xpcs.load(path, cache_folder=tmp_path, **options)
    made = list(tmp_path.glob("*.npz"))
    assert len(made) == 1
    again = xpcs.load(path, cache_folder=tmp_path, **options)
    assert np.array_equal(first.c2, again.c2, equal_nan=True)
    with np.load(made[0]) as cache:
        assert {"wavevector_q_list", "phi_angles_list", "t1", "t2", "c2_exp"} <= set(cache.files)
        assert cache["c2_exp"].shape[0] == first.n_angle


@pytest.mark.parametrize(("layout", "filter_"), [("aps-u", "lzf"), ("aps-legacy", "deflate")])
def test_simulated_files(layout: str, filter_: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_angle": 3, "n_frame": 120, "gap": 2e6, "dt": 0.1, "seed": 4}
    path = xpcs.simulate_file(tmp_path / "a.hdf", layout=layout, filter=filter_, **options)
    with pytest.raises(FileExistsError):
        xpcs.simulate_file(path, **options)
    data = xpcs.load(path, dt=0.1, gap=2e6)
    assert data.layout == layout
    assert np.array_equal(data.c2, xpcs.simulate(dtype="f32", **options).c2)
    with pytest.raises(tessera.ArgumentError, match="aps-legacy"):
        xpcs.simulate_file(tmp_path / "b.hdf", layout="nexus", **options)


@pytest.fixture(scope="module")
def result() -> xpcs.Result:
    data = xpcs.simulate(n_angle=2, n_frame=60, gap=2e6, dt=0.1, sigma=0.01)
    return xpcs.fit(data, sigma=0.01)


def test_result_folder(result: xpcs.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "out", figures=True, report=True)
    parameters = json.loads((folder / "nlsq" / "parameters.json").read_text())
    assert parameters["parameters"]["D0"]["value"] == pytest.approx(result["D0"])
    assert parameters["convergence_status"] == "converged"
    with np.load(next(folder.rglob("fitted_data.npz"))) as fitted:
        assert np.allclose(fitted["c2_theoretical_scaled"], result.model(), atol=1e-6)
    assert list(folder.rglob("*.png"))
    assert list(folder.rglob("*.html"))
    with pytest.raises(FileExistsError):
        result.save(folder)
    result.save(folder, overwrite=True)


def test_report_and_figures(result: xpcs.Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "a.html").read_text()
    assert "gamma_dot_t0" in page
    with pytest.raises(FileExistsError):
        result.report(tmp_path / "a.html")
    assert len(list(result.save_figures(tmp_path / "png").glob("*.png"))) == 2


def test_plots(result: xpcs.Result) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert len(result.plot(1).axes) == 6
    assert len(result.plot_g2().axes) == 1

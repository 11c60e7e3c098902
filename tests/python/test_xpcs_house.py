"""Pictures, files, logs and paths by the original's names."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import xpcs
from tessera.xpcs import device, io, utils
from tessera.xpcs.utils import async_io
from tessera.xpcs.utils import logging as logs

CONFIG: dict[str, Any] = {
    "analysis_mode": "static_isotropic",
    "initial_parameters": {"parameter_names": ["D0"], "values": [1e4]},
    "analyzer_parameters": {"dt": 0.1, "start_frame": 1, "end_frame": 20},
}


@pytest.fixture
def quiet_logs() -> Iterator[None]:
    root = logging.getLogger("homodyne")
    before = (list(root.handlers), root.level)
    yield
    for handler in [h for h in root.handlers if h not in before[0]]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(before[1])


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from tessera.xpcs import viz

    data = xpcs.simulate(mode="static_isotropic", n_angle=1, n_frame=20, dt=0.1, sigma=0.01)
    own = data.to_dict()
    viz.plot_experimental_data(own, tmp_path / "data")
    names = sorted(path.name for path in (tmp_path / "data").iterdir())
    angles = [f"experimental_data_phi_{float(a):.1f}.png" for a in own["phi_angles_list"]]
    assert names == sorted([*angles, "experimental_data_diagonal.png"])
    result = xpcs.fit(data, mode="static_isotropic", sigma=0.01)
    viz.plot_fit_comparison(result, {"c2_exp": [data.matrix(0)]}, tmp_path)
    viz.plot_simulated_data(CONFIG, 0.3, 1.0, "45", tmp_path / "simulated")
    assert (tmp_path / "simulated" / "simulated_data_phi_45.0.png").stat().st_size > 5000
    c2 = np.asarray(own["c2_exp"])
    times = np.arange(c2.shape[1]) * 0.1
    viz.generate_nlsq_plots(own["phi_angles_list"], c2, c2, c2 - c2, times, times, tmp_path / "fit")
    assert len(list((tmp_path / "fit").iterdir())) == 1
    viz.generate_and_plot_fitted_simulations(result, own, CONFIG, tmp_path)
    saved = np.load(tmp_path / "simulated_data" / "c2_fitted_data.npz")
    assert saved["c2_data"].shape == c2.shape
    np.testing.assert_allclose(saved["contrast"], result.contrast)
    image = viz.DatashaderRenderer(30, 20).rasterize_heatmap(c2[0], times, times)
    assert image.size == (30, 20)


def test_diagonals_are_compared() -> None:
    from tessera.xpcs.viz.diagnostics import compute_diagonal_overlay_stats
    from tessera.xpcs.viz.validation import validate_plot_arrays

    c2 = np.stack([np.diag(np.arange(4.0))])
    found = compute_diagonal_overlay_stats(c2, c2 + 1.0, c2 + 2.0)
    assert (found.solver_rmse, found.posthoc_rmse) == (1.0, 2.0)
    assert validate_plot_arrays(c2)


def test_files_of_a_fit(tmp_path: Path) -> None:
    io.save_nlsq_json_files({"a": np.float64("nan")}, {"b": np.arange(2)}, {}, tmp_path)
    assert json.loads((tmp_path / "analysis_results_nlsq.json").read_text()) == {"b": [0, 1]}
    assert io.json_safe({"x": np.inf, "y": (np.int64(1), np.bool_(True))}) == {
        "x": "Infinity",
        "y": [1, True],
    }
    c2 = np.ones((1, 3, 3))
    scale = np.ones((1, 2))
    io.save_nlsq_npz_file(
        [0.0], c2, c2, c2, None, scale, scale, c2, c2, [0, 1, 2], [0, 1, 2], 0.01, tmp_path
    )
    found = np.load(tmp_path / "fitted_data.npz")
    assert "c2_solver_scaled" not in found
    assert found["q"].tolist() == [0.01]
    with pytest.raises(OSError, match="NLSQ JSON"):
        io.save_nlsq_json_files({}, {}, {}, tmp_path / "nowhere")


@pytest.mark.usefixtures("quiet_logs")
def test_logs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    section = {"level": "INFO", "console": {"enabled": False}, "file": {"enabled": True}}
    file = utils.configure_logging(section, output_dir=tmp_path, run_id="r1")
    assert file is not None
    logger = utils.with_context(utils.get_logger("here"), run="r1", nothing=None)

    @utils.log_performance(threshold=0.0)
    def work() -> int:
        return 3

    with caplog.at_level(logging.DEBUG, logger="homodyne"):
        logger.info("hello")
        assert work() == 3
        with pytest.raises(ZeroDivisionError), utils.log_operation("divide"):
            _ = 1 / 0
        with logs.log_phase("slow", track_memory=True) as phase:
            pass
    assert phase.memory_peak_gb is not None
    assert "[run=r1] hello" in caplog.text
    assert "Failed operation: divide" in caplog.text
    assert "[run=r1] hello" in file.read_text()


def test_summary() -> None:
    summary = logs.AnalysisSummaryLogger("r1", "laminar_flow")
    summary.start_phase("fit")
    summary.end_phase("fit", 1.5)
    summary.record_metric("chi2", float("nan"))
    found = summary.as_dict()
    assert found["phases"]["fit"]["memory_peak_gb"] == 1.5
    assert found["metrics"] == {"chi2": None}


def test_paths(tmp_path: Path) -> None:
    assert utils.validate_plot_save_path(tmp_path / "a.png") == tmp_path / "a.png"
    with pytest.raises(utils.PathValidationError, match="traversal"):
        utils.validate_save_path(tmp_path / ".." / "a.png")
    with pytest.raises(ValueError, match="extension"):
        utils.validate_plot_save_path(tmp_path / "a.txt")
    assert utils.get_safe_output_dir(tmp_path / "new").is_dir()


def test_threads_of_files(tmp_path: Path) -> None:
    assert list(async_io.PrefetchLoader(iter([1, 2, 3]), lambda x: x * 2)) == [2, 4, 6]
    with async_io.AsyncWriter() as writer:
        writer.submit_json(tmp_path / "deep" / "a.json", {"a": 1})
        writer.submit_task(lambda: 1 / 0)  # type: ignore[arg-type]
        assert len(writer.wait_all()) == 1
    assert json.loads((tmp_path / "deep" / "a.json").read_text()) == {"a": 1}


def test_the_machine() -> None:
    found = device.detect_cpu_info()
    assert found["logical_cores"] >= found["physical_cores"] >= 1
    assert device.get_optimal_batch_size(10**6, available_memory_gb=1.0) == 7167
    assert device.get_optimal_batch_size(10, available_memory_gb=1.0) == 1000
    assert device.benchmark_cpu_performance(32, 2)["numpy_mean_time"] > 0


def test_top_of_the_package() -> None:
    info = xpcs.get_package_info()
    assert info["modules_available"]["core"]
    assert xpcs.HAS_CORE
    assert xpcs.TheoryEngine is xpcs.core.TheoryEngine
    with pytest.raises(AttributeError, match="nothing"):
        _ = xpcs.nothing

"""The original's modules of data: choosing, checking, preparing, loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs
from tessera.xpcs.data import angle_filtering, filtering_utils, phi_filtering, quality_controller
from tessera.xpcs.data import config as loader_config
from tessera.xpcs.data import optimization as data_optimization
from tessera.xpcs.data.preprocessing import PreprocessingPipeline
from tessera.xpcs.data.validation import validate_xpcs_data

PHI = np.array([-150.0, -60.0, -5.0, 30.0, 95.0, 175.0])
N_FRAME = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("filters")
    xpcs.simulate_file(
        made / "run.hdf", phi=PHI, n_frame=N_FRAME, dt=0.1, gap=2e6, sigma=0.01, q=0.0054
    )
    return made


def configuration(folder: Path, **sections: Any) -> dict[str, Any]:
    return {
        "analysis_mode": "static",
        "analyzer_parameters": {"dt": 0.1, "start_frame": 1, "end_frame": -1},
        "experimental_data": {"file_path": str(folder / "run.hdf")},
        **sections,
    }


def taken(folder: Path, **said: Any) -> list[float]:
    config = configuration(folder, data_filtering={"enabled": True, **said})
    return [float(phi) for phi in xpcs.load(config).phi]


def test_data_filtering_takes_what_it_says(folder: Path) -> None:
    assert taken(folder) == PHI.tolist()
    assert taken(folder, phi_range={"min": -60, "max": 30}) == [-60, -5, 30]
    assert taken(folder, phi_range={"min": 170, "max": -140}) == [-150, 175]
    assert taken(folder, phi_range={"min": 30}) == [30, 95, 175]
    both = {"phi_range": {"min": 0, "max": 100}, "q_range": {"min": 0.005, "max": 0.006}}
    assert taken(folder, **both) == [30, 95]
    none = {"phi_range": {"min": 0, "max": 100}, "q_range": {"min": 0.1, "max": 0.2}}
    assert taken(folder, **none, combine_criteria="OR") == [30, 95]
    with pytest.raises(tessera.FormatError, match=r"leaves none of 6.*fallback_on_empty"):
        taken(folder, **none)
    assert taken(folder, **none, fallback_on_empty=True) == PHI.tolist()
    off = configuration(folder, data_filtering={"enabled": False, **none})
    assert xpcs.load(off).n_angle == 6


def test_quality_is_that_of_the_matrices(tmp_path: Path, folder: Path) -> None:
    data = xpcs.load(configuration(folder), keep_t0=True).to_dict()
    c2 = np.array(data["c2_exp"], np.float64)
    c2[1, 2:5, :] = c2[1, :, 2:5] = np.nan  # 19 % of its points
    c2[3] *= 6
    c2[4, 0, 0] = 7
    path = tmp_path / "named.npz"
    np.savez(path, **(data | {"c2_exp": c2}))
    scores = [filtering_utils.matrix_quality(matrix) for matrix in c2]
    # By hand: shares 0.4, 0.3, 0.2 and 0.1; the fourth has first value and mean out of range.
    assert np.allclose(scores, [1, 0, 1, 0.8, 0.85, 1], atol=1e-12)
    for threshold, wanted in ((0.79, [0, 2, 3, 4, 5]), (0.84, [0, 2, 4, 5]), (0.9, [0, 2, 5])):
        config = configuration(
            folder, data_filtering={"enabled": True, "quality_threshold": threshold}
        )
        config["experimental_data"] = {"file_path": str(path)}
        assert xpcs.load(config).phi.tolist() == PHI[wanted].tolist()
        found = filtering_utils.apply_data_filtering(
            data["wavevector_q_list"], PHI, config, list(c2)
        )
        assert found is not None
        assert found.tolist() == wanted


def test_filters_in_python() -> None:
    said = {"enabled": True, "phi_range": {"min": 80}, "q_range": {"max": 0.005}}
    chosen = filtering_utils.XPCSDataFilter({"data_filtering": said})
    found = chosen.apply_filtering([0.004, 0.006, 0.004], [90.0, 90.0, 0.0])
    assert found.filters_applied == ["q_range", "phi_range"]
    assert found.filter_statistics["q_range"]["selected_count"] == 2
    assert found.selected_indices is not None
    assert found.selected_indices.tolist() == [0]
    said["fallback_on_empty"] = False
    with pytest.raises(filtering_utils.DataFilteringError, match="fallback_on_empty"):
        filtering_utils.apply_data_filtering([0.01], [0.0], {"data_filtering": said})
    with pytest.raises(ValueError, match="stride"):
        filtering_utils.apply_data_filtering(
            [0.01], [0.0], {"data_filtering": {"enabled": True, "frame_filtering": {"stride": 2}}}
        )


def test_angles_are_chosen_as_ranges_say() -> None:
    places, angles = phi_filtering.filter_phi_angles(PHI, target_ranges=[(170, -140)])
    assert places == [0, 5]
    assert angles.tolist() == [-150, 175]
    with pytest.raises(ValueError, match="fallback is disabled"):
        phi_filtering.filter_phi_angles(PHI, target_ranges=[(1, 2)], fallback_enabled=False)
    statistics = phi_filtering.PhiAngleFilter().get_angle_statistics(PHI)
    assert [entry["count"] for entry in statistics["angles_per_range"]] == [1, 1]
    c2 = np.arange(6.0)[:, None, None] * np.ones((1, 3, 3))
    ranges = [{"min_angle": 350, "max_angle": 390}]
    config = {"phi_filtering": {"enabled": True, "target_ranges": ranges}}
    found = angle_filtering.apply_angle_filtering_for_optimization(
        {"phi_angles_list": PHI + 360, "c2_exp": c2}, config
    )
    assert found["phi_angles_list"].tolist() == [-5, 30]
    assert found["c2_exp"][:, 0, 0].tolist() == [2, 3]
    assert angle_filtering.normalize_angle_to_symmetric_range(-180.0) == 180


def some_data() -> dict[str, Any]:
    generator = np.random.default_rng(5)
    c2 = generator.normal(1.2, 0.05, (2, 9, 9))
    c2 = (c2 + c2.transpose(0, 2, 1)) / 2
    t = np.arange(9) * 0.1
    return {
        "c2_exp": c2, "phi_angles_list": np.zeros(2), "wavevector_q_list": np.full(2, 0.005),
        "t1": t, "t2": t,
    }  # fmt: skip


def processed(data: dict[str, Any], **stages: Any) -> Any:
    off = {name: {"enabled": False} for name in ("correct_diagonal", "normalize_data")}
    pipeline = PreprocessingPipeline({"preprocessing": {"stages": off | stages}})
    result = pipeline.process(data)
    assert result.success
    assert not result.provenance.errors
    return result.data["c2_exp"]


def test_steps_before_a_fit_do_what_they_say(tmp_path: Path) -> None:
    data = some_data()
    c2 = data["c2_exp"]
    assert np.array_equal(processed(data), c2)
    wanted = {
        "baseline": [m / m[0, 0] for m in c2],
        "statistical": [(m - m.mean()) / m.std() for m in c2],
        "minmax": [(m - m.min()) / (m.max() - m.min()) for m in c2],
        "robust": [
            (m - np.median(m)) / np.subtract(*np.percentile(m, [75, 25])) for m in c2
        ],
        "physics_based": [m / m[0, 0] if m[0, 0] < m.max() else m / m.max() for m in c2],
    }  # fmt: skip
    for method, want in wanted.items():
        got = processed(data, normalize_data={"method": method})
        assert np.allclose(got, want, rtol=1e-14), method
    smooth = processed(data, reduce_noise={"enabled": True, "method": "median"})
    assert np.isclose(smooth[0, 4, 4], np.median(c2[0, 3:6, 3:6]), rtol=0)
    diagonal = processed(data, correct_diagonal={"method": "statistical", "window_size": 1})
    assert diagonal[0, 4, 4] == np.median([c2[0, 4, 3], c2[0, 3, 4], c2[0, 4, 5], c2[0, 5, 4]])
    pipeline = PreprocessingPipeline({"preprocessing": {}})
    result = pipeline.process(data)
    pipeline.save_provenance(result.provenance, tmp_path / "a" / "p.json")
    assert pipeline.load_provenance(tmp_path / "a" / "p.json") == result.provenance
    with pytest.raises(Exception, match="Unknown normalization method: loud"):
        processed(data, normalize_data={"method": "loud"})


def test_quality_control_finds_and_repairs() -> None:
    data = some_data()
    data["c2_exp"][0, 1, 2] = np.nan
    data["c2_exp"][1, 0, 0] = np.inf
    report = validate_xpcs_data(data, validation_level="full")
    assert [issue.parameter for issue in report.errors] == ["c2_exp"]
    before = data["c2_exp"].copy()
    held = data["c2_exp"]
    result = quality_controller.validate_data_with_quality_control(
        data, {"quality_control": {"enabled": True}}
    )
    assert result.data_modified
    assert result.repairs_applied == [
        "Repaired infinite values in c2_exp", "Repaired NaN values in c2_exp",
    ]  # fmt: skip
    assert np.array_equal(held, before, equal_nan=True)  # what was given stays
    assert data["c2_exp"][0, 1, 2] == np.nanmedian(before[0])
    assert data["c2_exp"][1, 0, 0] == np.max(before[1][np.isfinite(before[1])])
    assert result.passed
    off = {"quality_control": {"auto_repair": "disabled"}}
    data["c2_exp"] = before
    assert not quality_controller.validate_data_with_quality_control(data, off).repairs_applied


def test_the_loader_does_what_its_sections_say(folder: Path, tmp_path: Path) -> None:
    stages = {"correct_diagonal": {"enabled": False}, "normalize_data": {"method": "minmax"}}
    config = configuration(
        folder,
        preprocessing={"enabled": True, "stages": stages},
        quality_control={"enabled": True},
    )
    config["experimental_data"] = {
        "data_folder_path": str(folder),
        "data_file_name": "run.hdf",
        "cache_file_path": str(tmp_path),
    }
    with pytest.raises(tessera.ConfigError, match=r"load_xpcs_data\(\)"):
        xpcs.load(config)
    loader = xpcs.XPCSDataLoader(config_dict=config, generate_quality_reports=True)
    c2 = np.asarray(loader.load_experimental_data()["c2_exp"])
    assert np.allclose(c2.min(axis=(1, 2)), 0, atol=1e-7)
    assert np.allclose(c2.max(axis=(1, 2)), 1, atol=1e-7)
    (report,) = (folder / "quality_reports").glob("run_*.json")
    assert set(json.loads(report.read_text())["stage_results"]) == {
        "raw_data", "filtered_data", "final_data",
    }  # fmt: skip
    del config["analyzer_parameters"]["dt"]
    with pytest.raises(xpcs.data.XPCSConfigurationError, match=r"analyzer_parameters.*dt"):
        xpcs.XPCSDataLoader(config_dict=config)
    with pytest.raises(xpcs.data.XPCSConfigurationError, match="not found"):
        xpcs.data.load_xpcs_config(tmp_path / "none.yaml")


def test_configurations_of_the_loader(tmp_path: Path) -> None:
    example = tmp_path / "e.yaml"
    loader_config.create_example_yaml_config(example, str(tmp_path), "a.hdf")
    found = loader_config.load_yaml_config(example)
    assert found["analyzer_parameters"]["dt"] == 0.001
    result = loader_config.validate_config_schema(found)
    assert [line.split(":")[0] for line in result.errors] == ["Data file does not exist"]
    odd = {"a": {"x": 1e-8, "list": [1, "two"], "none": None, "text": "a: b # c"}}
    loader_config.save_yaml_config(odd, tmp_path / "odd.yaml")
    assert loader_config.load_yaml_config(tmp_path / "odd.yaml") == odd


def test_a_cache_without_its_arrays_is_a_key_error(tmp_path: Path) -> None:
    path = tmp_path / "cache.npz"
    np.savez(path, wavevector_q_list=np.array([0.0054]))
    config = configuration(tmp_path, experimental_data={"file_path": str(path)})
    with pytest.raises(KeyError) as caught:
        xpcs.data.load_xpcs_data(config_dict=config)
    assert isinstance(caught.value, tessera.FormatError)
    assert "it has no phi_angles_list, t1, c2_exp; delete it" in str(caught.value)


@pytest.mark.parametrize(
    ("n", "category", "nlsq", "cmc"),
    [
        # chunk and batch as the original has them for as many points of 8 bytes
        (2_000, "small", (2_000, 400), (1_000, 100)),
        (2_000_000, "medium", (500_000, 1_000), (250_000, 250)),
        (20_000_000, "large", (100_000, 200), (50_000, 50)),
    ],
)
def test_sizes_in_the_words_of_the_original(
    n: int, category: str, nlsq: tuple[int, int], cmc: tuple[int, int]
) -> None:
    optimizer = data_optimization.create_dataset_optimizer(max_workers=6, unknown=1)
    points = np.broadcast_to(np.float64(1), n)
    info = optimizer.analyze_dataset(points)
    assert (info.size, info.category) == (n, category)
    assert info.memory_usage_mb == 4 * 8 * n / 2**20
    for method, want in (("nlsq", nlsq), ("cmc", cmc)):
        found = optimizer.get_processing_strategy(info, method)
        assert (found.chunk_size, found.batch_size) == want
    small = data_optimization.DatasetOptimizer(memory_limit_mb=info.memory_usage_mb / 2)
    assert small.analyze_dataset(points).recommended_chunk_size == int(
        info.recommended_chunk_size * 0.4
    )


def test_points_come_in_chunks() -> None:
    data, t = np.arange(10.0), np.arange(3.0)
    chunks = list(
        data_optimization.DatasetOptimizer().create_chunked_iterator(data, None, t, t, data, 4)
    )
    assert [len(chunk[0]) for chunk in chunks] == [4, 4, 2]
    assert np.array_equal(np.concatenate([chunk[4] for chunk in chunks]), data)
    assert all(chunk[1] is None and np.array_equal(chunk[2], t) for chunk in chunks)
    made = data_optimization.optimize_for_method(data, data, t, t, data, "nlsq")
    assert made["chunked_iterator"] is None
    with pytest.raises(ValueError, match="Use 'nlsq' or 'cmc'"):
        data_optimization.optimize_for_method(data, data, t, t, data, "vi")

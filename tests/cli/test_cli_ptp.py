"""autoreject ptp and simulate: results, plans, refusals."""

import json

import numpy as np
import pytest

LIMIT = ["--memory-limit", "512M", "--threads", "2"]


def test_summary_without_output(same_as_stored, epochs):
    same_as_stored("ptp_summary", "autoreject", "ptp", "epochs.npy", *LIMIT)


def test_summary_with_output_and_report(same_as_stored, epochs, tmp_path):
    same_as_stored(
        "ptp_output", "autoreject", "ptp", "epochs.npy", "-o", "p.npy", "--report", "r.html", *LIMIT
    )
    x = np.load(epochs)
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), x.max(axis=2) - x.min(axis=2))
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["epochs.npy", "p.npy", "p.npy.json", "r.html"]


def test_quiet_leaves_stderr_empty(tessera, epochs):
    result = tessera("autoreject", "ptp", "epochs.npy", "-q")
    assert (result.returncode, result.stderr) == (0, "")
    assert "median         1\n" in result.stdout


def test_json_is_one_object_on_stdout(tessera, epochs):
    result = tessera("autoreject", "ptp", "epochs.npy", "--json", "-o", "p.npz", *LIMIT)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "tessera.autoreject.ptp/1"
    assert found["input"]["shape"] == [20, 4, 50]
    assert found["plan"]["strategy"] == "STANDARD"
    rows = np.concatenate([np.arange(20) + 1, np.ones(20), np.full(19, 2), np.zeros(20)])
    assert found["result"]["minimum"] == 0
    assert found["result"]["median"] == np.median(rows)
    assert found["result"]["maximum"] == 20
    assert found["result"]["n_nan_row"] == 1
    assert found["result"]["n_flat_channel"] == 1
    assert found["run"]["items_done"] == 20
    assert "epochs.npy" in found["provenance"]["command_line"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_row", [1, 2, 7, 1000])
def test_median_is_numpys(tessera, tmp_path, dtype, n_row):
    x = np.random.default_rng(n_row).standard_normal((n_row, 3, 2)).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    found = json.loads(tessera("autoreject", "ptp", "x.npy", "--json").stdout)["result"]
    rows = (x.max(axis=2) - x.min(axis=2)).astype(np.float64)
    assert found["median"] == pytest.approx(np.median(rows), rel=1e-15)
    assert found["minimum"] == rows.min()
    assert found["maximum"] == rows.max()


def test_dry_run_prints_the_plan_and_does_nothing(same_as_stored, epochs, tmp_path):
    words = ["autoreject", "ptp", "epochs.npy", "-o", "p.npy", "--dry-run", *LIMIT]
    same_as_stored("ptp_dry_run", *words)
    same_as_stored("ptp_dry_run_tiles", *words, "--tile-epochs", "6")
    assert not (tmp_path / "p.npy").exists()


def test_dry_run_as_json(tessera, epochs):
    words = ["autoreject", "ptp", "epochs.npy", "--dry-run", "--json", "--tile-epochs=6"]
    plan = json.loads(tessera(*words).stdout)["plan"]
    assert (plan["n_tile"], plan["items_per_tile"]) == (4, 6)


def test_refuses_to_overwrite(same_as_stored, epochs, tmp_path):
    (tmp_path / "p.npy").write_text("precious")
    same_as_stored("ptp_exists", "autoreject", "ptp", "epochs.npy", "-o", "p.npy")
    words = ["autoreject", "ptp", "epochs.npy", "-o", "q.npy", "--report", "p.npy"]
    same_as_stored("ptp_report_exists", *words)
    assert (tmp_path / "p.npy").read_text() == "precious"
    assert not (tmp_path / "q.npy").exists()


def test_overwrite_replaces(tessera, epochs, tmp_path):
    (tmp_path / "p.npy").write_text("precious")
    assert tessera("autoreject", "ptp", "epochs.npy", "-o", "p.npy", "--overwrite").returncode == 0
    assert np.load(tmp_path / "p.npy").shape == (20, 4)


def test_missing_input(same_as_stored):
    same_as_stored("ptp_missing", "autoreject", "ptp", "nowhere.npy")


def test_input_that_is_no_array_file(same_as_stored, tmp_path):
    (tmp_path / "x.npy").write_text("this is not an array")
    same_as_stored("ptp_not_npy", "autoreject", "ptp", "x.npy")


def test_truncated_input(same_as_stored, epochs, tmp_path):
    data = epochs.read_bytes()
    (tmp_path / "cut.npy").write_bytes(data[:-1000])
    same_as_stored("ptp_truncated", "autoreject", "ptp", "cut.npy")
    same_as_stored(
        "ptp_truncated_allowed", "autoreject", "ptp", "cut.npy", "--allow-truncated", *LIMIT
    )


def test_wrong_rank_and_type(same_as_stored, tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros((4, 5), dtype=np.float32))
    np.save(tmp_path / "text.npy", np.array([[["a"]]]))
    same_as_stored("ptp_rank", "autoreject", "ptp", "flat.npy")
    same_as_stored("ptp_type", "autoreject", "ptp", "text.npy")


def test_nonfinite_error(same_as_stored, epochs, tmp_path):
    words = ["autoreject", "ptp", "epochs.npy", "--nonfinite", "error", "-o", "p.npy", *LIMIT]
    same_as_stored("ptp_nonfinite", *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["epochs.npy"]


def test_archive_with_several_members(same_as_stored, tmp_path):
    x = np.zeros((2, 3, 4))
    np.savez(tmp_path / "two.npz", first=x, second=x + 1)
    same_as_stored("ptp_which", "autoreject", "ptp", "two.npz", *LIMIT)
    same_as_stored("ptp_member", "autoreject", "ptp", "two.npz", "--dataset", "second", *LIMIT)


def test_no_epochs_at_all(same_as_stored, tmp_path):
    np.save(tmp_path / "none.npy", np.zeros((0, 3, 4), dtype=np.float32))
    same_as_stored("ptp_empty", "autoreject", "ptp", "none.npy", *LIMIT)


def test_memory_limit_too_small(tessera, epochs):
    result = tessera("autoreject", "ptp", "epochs.npy", "--memory-limit", "1M")
    assert result.returncode == 71
    assert "limit" in result.stderr


def test_device_that_is_not_there(tessera, epochs):
    result = tessera("autoreject", "ptp", "epochs.npy", "--device", "cuda:99")
    assert result.returncode == 69
    assert result.stderr.startswith("tessera: ") and result.stderr.count("\n") == 1


def test_isa_that_is_not_there(tessera, epochs):
    result = tessera("autoreject", "ptp", "epochs.npy", "--isa", "mmx")
    assert result.returncode in (2, 69)
    assert "mmx" in result.stderr


def test_output_that_cannot_be_created(tessera, epochs):
    result = tessera("autoreject", "ptp", "epochs.npy", "-o", "no/such/place.npy")
    assert result.returncode == 73
    result = tessera("autoreject", "ptp", "epochs.npy", "-o", "p.xyz")
    assert result.returncode in (2, 69, 73)


def test_threads_and_tiles_do_not_change_the_result(tessera, tmp_path):
    assert tessera("autoreject", "simulate", "-o", "x.npy", "-q").returncode == 0
    results = []
    for threads, tile in [("1", "0"), ("3", "1"), ("2", "7")]:
        name = f"p{threads}.npy"
        words = ["--threads", threads, "--tile-epochs", tile, "-o", name]
        assert tessera("autoreject", "ptp", "x.npy", *words).returncode == 0
        results.append((tmp_path / name).read_bytes())
    assert results[0] == results[1] == results[2]


def test_simulate(same_as_stored, tmp_path):
    size = ["--epochs", "6", "--channels", "5", "--samples", "100", "--seed", "3"]
    same_as_stored("simulate", "autoreject", "simulate", "-o", "a.npy", *size, *LIMIT)
    assert np.load(tmp_path / "a.npy").shape == (6, 5, 100)


def test_simulate_depends_on_the_seed_alone(tessera, tmp_path):
    size = ["--epochs", "6", "--channels", "5", "--samples", "100", "-q"]
    for name, seed in [("a", "1"), ("b", "1"), ("c", "2")]:
        words = ["-o", f"{name}.npy", "--seed", seed, *size]
        assert tessera("autoreject", "simulate", *words).returncode == 0
    a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
    assert (a == b).all() and (a != c).any()


def test_log_file(tessera, epochs, tmp_path):
    result = tessera("autoreject", "ptp", "epochs.npy", "--log-file", "log.txt", "-vv")
    assert result.returncode == 0, result.stderr
    assert "threads (" in result.stderr
    assert (tmp_path / "log.txt").exists()


def test_profile_is_a_table_and_a_trace(tessera, epochs, tmp_path):
    result = tessera("profile", "autoreject", "ptp", "epochs.npy")
    assert result.returncode == 0, result.stderr
    assert "autoreject.ptp" in result.stderr
    assert json.loads((tmp_path / "tessera-trace.json").read_text())

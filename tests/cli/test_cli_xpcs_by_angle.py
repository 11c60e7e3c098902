"""tessera xpcs fit --per-angle, and tessera xpcs g2."""

import csv
import json

import numpy as np
import pytest

MODE = ["--mode", "static_anisotropic"]


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        assert file.readline().startswith("# tessera_provenance {")
        return list(csv.DictReader(file))


@pytest.fixture
def run(tessera):
    """A file of two angles."""
    result = tessera("xpcs", "simulate", "-o", "run.hdf", *MODE, "--n-angle", "2", "--n-frame",
                     "50", "--sigma", "0.005", "-q")
    assert result.returncode == 0, result.stderr
    return tessera


def test_every_angle_is_fitted_as_if_it_were_alone(run, tmp_path):
    line = ["xpcs", "fit", "run.hdf", *MODE, "--sigma-mode", "estimate"]
    result = run(*line, "--per-angle", "-o", "each", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"] == "tessera.xpcs.per_angle/1"
    rows = read_csv(tmp_path / "each/per_angle.csv")
    assert [r["angle"] for r in rows] == [f"angle_{k:03d}" for k in (1, 2)]
    page = (tmp_path / "each/per_angle.html").read_text(encoding="utf-8")
    for k, (row, angle) in enumerate(zip(rows, told["angles"], strict=True)):
        assert float(row["phi"]) == pytest.approx(angle["phi"])
        assert f"angle_{k + 1:03d}/report.html" in page
        alone = run(*line, "-o", f"alone{k}", f"--phi-ranges={angle['phi']}:{angle['phi']}", "-q")
        assert alone.returncode == 0, alone.stderr
        folders = (tmp_path / "each" / row["angle"], tmp_path / f"alone{k}")
        both = [json.loads((f / "nlsq/parameters.json").read_bytes())["parameters"]
                for f in folders]
        for name in ("D0", "alpha", "D_offset"):
            one, other = (p[name] for p in both)
            assert one["value"] == pytest.approx(other["value"], abs=1e-4 * other["uncertainty"])
            assert float(row[name]) == pytest.approx(one["value"], rel=1e-8)
            assert angle["parameters"][name]["value"] == one["value"]


def test_what_goes_with_per_angle_and_what_does_not(run, tmp_path):
    line = ["xpcs", "fit", "run.hdf", *MODE, "--per-angle", "-o", "each", "-q"]
    for other, named in ((["--method", "both"], "--method"), (["--checkpoint", "w"],
                         "--checkpoint"), (["--output-format", "json"], "--output-format"),
                         (["--contrasts", "0.1,0.2,0.3"], "--contrasts")):
        result = run(*line, *other)
        assert result.returncode == 2, other
        assert named in result.stderr
    assert run(*line, "--report", "all.html").returncode == 0
    assert "Angles one by one" in (tmp_path / "all.html").read_text(encoding="utf-8")
    assert run(*line).returncode == 73
    assert run(*line, "--overwrite").returncode == 0


def test_warnings_of_angles_are_said_and_can_fail(run):
    line = ["xpcs", "fit", "run.hdf", *MODE, "--sigma", "0.0005", "--per-angle", "--no-surfaces"]
    result = run(*line, "-o", "told")
    assert result.returncode == 0, result.stderr
    for phi in ("-45", "45"):
        assert f"warning: phi {phi}: Reduced chi2 is" in result.stderr
    for k, words in enumerate(("--strict", "--werror=xpcs.chi2")):
        result = run(*line, "-o", f"bad{k}", words)
        assert result.returncode == 1, words
        assert words[:8] in result.stderr


def matrices(tessera, tmp_path):
    """Two angles of unequal values with a hole, and their mask."""
    rng = np.random.default_rng(3)
    c2 = 1 + rng.normal(0, 0.1, (2, 40, 40)) + np.array([0, 5])[:, None, None]
    c2 = (c2 + c2.transpose(0, 2, 1)) / 2
    c2[0, 3, 9] = c2[0, 9, 3] = np.nan
    np.save(tmp_path / "c2.npy", c2)
    return c2, ["xpcs", "g2", "c2.npy", "--phi=-10,10", "--q", "0.01", "--dt", "0.5", "--keep-t0"]


def test_g2_is_the_mean_over_pairs_of_a_lag(tessera, tmp_path):
    c2, line = matrices(tessera, tmp_path)
    assert tessera(*line, "-o", "g2.csv").returncode == 0
    rows = read_csv(tmp_path / "g2.csv")
    assert len(rows) == 2 * 39
    for row in rows:
        lag = round(float(row["tau"]) / 0.5)
        values = np.diagonal(c2[0 if float(row["phi"]) < 0 else 1], lag)
        values = values[np.isfinite(values)]
        assert int(row["n_pair"]) == len(values)
        assert float(row["g2"]) == pytest.approx(values.mean(), rel=1e-8)
        if len(values) > 1:
            error = values.std(ddof=1) / np.sqrt(len(values))
            assert float(row["g2_error"]) == pytest.approx(error, rel=1e-7)
        else:
            assert row["g2_error"] == ""


def test_windows_and_multi_tau(tessera, tmp_path):
    c2, line = matrices(tessera, tmp_path)
    result = tessera(*line, "-o", "g2.npz", "--windows", "3", "--multi-tau", "4")
    assert result.returncode == 0, result.stderr
    found = np.load(tmp_path / "g2.npz")
    lags = [[k] for k in range(1, 9)] + [[k, k + 1] for k in range(9, 17, 2)]
    lags += [list(range(k, k + 4)) for k in range(17, 33, 4)] + [list(range(33, 40))]
    assert np.allclose(found["tau"], [0.5 * np.mean(group) for group in lags])
    assert np.allclose(found["age"], np.linspace(0, 19.5, 4))
    i, j = np.triu_indices(40, 1)
    for angle in range(2):
        for window in range(3):
            is_here = (i + j) * 3 // 79 == window
            for k, group in enumerate(lags):
                values = c2[angle][i, j][is_here & np.isin(j - i, group)]
                values = values[np.isfinite(values)]
                assert found["n_pair"][angle, window, k] == len(values)
                if len(values):
                    assert found["g2"][angle, window, k] == pytest.approx(values.mean(), rel=1e-12)
                else:
                    assert np.isnan(found["g2"][angle, window, k])


@pytest.mark.parametrize(("words", "code", "told"), [
    (["-o", "g2.txt"], 2, ".csv"),
    ([], 2, "-o FILE is missing"),
    (["-o", "g2.csv", "--windows", "0"], 2, "--windows"),
    (["-o", "g2.csv", "--windows", "40"], 2, "n_window"),
    (["-o", "g2.csv", "--multi-tau", "1"], 2, "per_level"),
])
def test_g2_lines_that_cannot_be(tessera, tmp_path, words, code, told):
    _, line = matrices(tessera, tmp_path)
    result = tessera(*line, *words)
    assert result.returncode == code, result.stderr
    assert told in result.stderr


def test_g2_has_the_same_bits_from_tiles_and_any_threads(run, tmp_path):
    assert run("xpcs", "convert", "run.hdf", "-o", "run.txc2", "-q").returncode == 0
    for name, words in (("a", ["run.hdf", "--threads", "1"]), ("b", ["run.txc2", "--threads", "3"]),
                        ("c", ["run.txc2", "--memory-limit", "2M"])):
        assert run("xpcs", "g2", *words, "-o", f"{name}.npz", "-q").returncode == 0
    first, *others = (np.load(tmp_path / f"{name}.npz") for name in "abc")
    for other in others:
        for name in ("g2", "g2_error", "n_pair", "tau"):
            assert first[name].tobytes() == other[name].tobytes()

"""xpcs: fit, simulate, inspect, convert, plot."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "xpcs"
TRUTH = {"D0": 48000, "alpha": -1.1, "D_offset": 1600, "gamma_dot_t0": 0.0033, "beta": -0.25,
         "gamma_dot_t_offset": -0.0004, "phi0": 2.5}
PNG = b"\x89PNG\r\n\x1a\n"


def run_json(tessera, *words):
    result = tessera("xpcs", *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def parameters(folder):
    found = json.loads((folder / "nlsq" / "parameters.json").read_text())
    return found, {name: value["value"] for name, value in found["parameters"].items()}


@pytest.fixture
def small(tessera):
    """A static file of three angles."""
    result = tessera("xpcs", "simulate", "-o", "s.hdf", "--mode", "static_anisotropic",
                     "--n-angle", "3", "--n-frame", "60", "--sigma", "0.004")
    assert result.returncode == 0, result.stderr
    return "s.hdf"


def test_fit_of_an_aps_u_file_finds_what_made_it(tessera, tmp_path):
    found = run_json(tessera, "fit", GOLDEN / "aps_u_lzf.hdf", "--gap", "2e6", "-o", "out",
                     "--report", "out.html", "--save-plots")
    _, values = parameters(tmp_path / "out")
    errors = {name: entry["uncertainty"] for name, entry in
              json.loads((tmp_path / "out/nlsq/parameters.json").read_text())["parameters"].items()}
    for name, truth in TRUTH.items():
        assert abs(values[name] - truth) < 5 * errors[name], name
    assert found["data"]["layout"] == "aps-u"
    assert found["data"]["n_angle"] == 5
    assert found["data"]["dt_s"] == pytest.approx(0.1, rel=1e-12)
    page = (tmp_path / "out.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("fit, with one sigma by the covariance") == 4  # two rates, stills and data
    pictures = sorted((tmp_path / "out").rglob("*.png"))
    assert len(pictures) == 5
    assert all(path.read_bytes().startswith(PNG) for path in pictures)
    with np.load(tmp_path / "out/nlsq/fitted_data.npz") as file:
        assert file["c2_exp"].shape == (5, 99, 99)
        rest = file["c2_exp"] - file["c2_theoretical_scaled"]
        inside = np.triu_indices(99, 1)
        assert np.std(rest[:, inside[0], inside[1]]) == pytest.approx(0.01, rel=0.03)


def test_lines_for_people(tessera, small):
    result = tessera("xpcs", "fit", small, "--mode", "static_anisotropic", "-o", "out")
    assert result.returncode == 0, result.stderr
    for word in ("D0", "alpha", "D_offset", "Å²/s", "contrast", "reduced", "converged"):
        assert word in result.stdout
    assert "plan: STANDARD" in result.stderr


def test_lines_show_intervals_and_other_minima(tessera, tmp_path):
    """Of an angle near the perpendicular, which hides the sign of phi0, and few frames."""
    words = ("simulate", "-o", "a.txc2", "--n-frame", "36", "--phi=-12,3.5,87", "--sigma", "0.01",
             "--seed", "1", "--theta=" + ",".join(map(str, TRUTH.values())), "-q")
    assert tessera("xpcs", *words).returncode == 0
    words = ("xpcs", "fit", "a.txc2", "--gap", "2e6", "--sigma", "0.01", "-o", "out")
    shown = tessera(*words, "--uncertainty", "profile").stdout
    found = json.loads((tmp_path / "out" / "nlsq" / "parameters.json").read_text())
    details = {entry["name"]: entry for entry in found["parameter_details"]}
    for name, entry in details.items():
        lower, upper = entry["interval_95"]
        line = next(line for line in shown.splitlines() if line.startswith(f"{name} "))
        assert f" [{lower:.5g}, {upper:.5g}] p " in line
        assert entry["interval_kind"] == "profile"
        assert entry["lower"] <= lower < entry["value"] < upper <= entry["upper"]
    assert "p: where chi2, all else at its best, has risen by 3.84" in shown
    other = found["basins"][1]
    assert other["excess"] == pytest.approx(
        (other["chi2"] - found["chi_squared"]) / found["reduced_chi_squared"], rel=1e-6)
    assert f"above the best by {other['excess']:.3g} reduced chi2: D0 " in shown
    assert f"phi0 {other['parameters']['phi0']:.5g}\n" in shown
    # One start, and the covariance.
    one = tessera(*words, "--n-start", "1", "--uncertainty", "covariance", "--overwrite").stdout
    assert "other minima" not in one
    assert "] p" not in one


def test_a_sigma_that_was_given_is_no_default(tessera, small):
    words = ("fit", small, "--mode", "static_anisotropic", "--no-surfaces", "--overwrite")
    assert run_json(tessera, *words, "-o", "a")["result"]["sigma_is_default"] is True
    found = run_json(tessera, *words, "--sigma", "0.01", "-o", "a")["result"]
    assert found["sigma_is_default"] is False


def test_every_strategy_gives_the_same_bytes(tessera, small, tmp_path):
    seen = set()
    ways = [("standard", "1"), ("large", "2"), ("chunked", "3"), ("streaming", "7")]
    for number, (strategy, threads) in enumerate(ways):
        for chunk in ("0", "16"):
            out = f"o{number}{chunk}"
            run_json(tessera, "fit", small, "--mode", "static_anisotropic", "-o", out,
                     "--strategy", strategy, "--threads", threads, "--chunk-tiles", chunk)
            found, _ = parameters(tmp_path / out)
            found.pop("timestamp")
            seen.add(json.dumps(found))
    assert len(seen) == 1


def test_results_are_not_replaced_unasked(tessera, small):
    words = ("xpcs", "fit", small, "--mode", "static_anisotropic", "-o", "out")
    assert tessera(*words).returncode == 0
    again = tessera(*words)
    assert again.returncode == 73
    assert "holds results; give --overwrite" in again.stderr
    assert tessera(*words, "--overwrite").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_nothing_is_named_before_the_fit(tessera, small, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    result = tessera("xpcs", "fit", small, "--mode", "static_anisotropic", "-o", "locked/a/b")
    assert result.returncode == 73
    assert "locked/a/b: no results can be written there: Permission denied" in result.stderr
    assert "plan:" not in result.stderr


def test_a_file_on_the_way_to_the_results_is_named_before_the_fit(tessera, small):
    result = tessera("xpcs", "fit", small, "--mode", "static_anisotropic", "-o", f"{small}/out")
    assert result.returncode == 73
    assert "s.hdf/out: no results can be written there: Not a directory" in result.stderr
    assert "plan:" not in result.stderr


def test_parameters_are_written_even_if_surfaces_cannot(tessera, small, tmp_path):
    (tmp_path / "out" / "nlsq" / "fitted_data.npz").mkdir(parents=True)
    result = tessera("xpcs", "fit", small, "--mode", "static_anisotropic", "-o", "out",
                     "--overwrite")
    assert result.returncode != 0
    assert "fitted_data.npz" in result.stderr
    assert parameters(tmp_path / "out")[0]["convergence_status"] == "converged"


def test_cache_folders_are_made(tessera, small, tmp_path):
    words = ("xpcs", "fit", small, "--mode", "static_anisotropic", "--cache", "one/two/",
             "--overwrite", "-o", "out")
    first = tessera(*words)
    assert "cache was not written" not in first.stderr
    assert (tmp_path / "one" / "two" / "cached_c2_frames_1_-1.npz").exists()
    assert tessera(*words).stdout.split("+-")[0].split("D0")[1] == \
        first.stdout.split("+-")[0].split("D0")[1]


def test_a_named_sigma_is_used_and_a_missing_q_is_missed(tessera, tmp_path):
    rng = np.random.default_rng(3)
    lag = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    noise = 0.02 * rng.normal(size=(40, 40))
    c2 = (1 + 0.3 * np.exp(-lag / 9) + np.triu(noise) + np.triu(noise, 1).T)[None]
    np.savez(tmp_path / "c.npz", c2=c2, sigma=np.full_like(c2, 0.02))
    words = ("fit", "c.npz", "--c2-path", "c2", "--phi", "0", "--dt", "0.1", "--mode",
             "static_anisotropic", "--no-surfaces", "--overwrite", "-o", "out")
    result = run_json(tessera, *words, "--q", "0.0054", "--sigma-dataset", "sigma")["result"]
    assert result["sigma_mode"] == "dataset"
    assert result["reduced_chi_squared"] == pytest.approx(1, abs=0.2)
    missing = tessera("xpcs", *words)
    assert missing.returncode == 2
    assert "q: missing; c.npz does not say it" in missing.stderr


def test_original_flags(tessera, small, tmp_path):
    run_json(tessera, "fit", "--data-file", small, "--static-mode", "--max-iterations", "200",
             "--tolerance", "1e-10", "--initial-d0", "17000", "--initial-alpha", "-1.5", "-o",
             "out", "--output-format", "json", "--force-cpu", "--no-jit")
    summary = json.loads((tmp_path / "out" / "homodyne_results.json").read_text())
    assert summary["analysis_mode"] == "static_anisotropic"


def test_fixed_parameters_stay(tessera, small, tmp_path):
    run_json(tessera, "fit", small, "--mode", "static_anisotropic", "--fix",
             "alpha=-1.5,D_offset=0", "-o", "out")
    _, values = parameters(tmp_path / "out")
    assert values["alpha"] == -1.5
    assert values["D_offset"] == 0


def test_dry_run_plans_and_writes_nothing(tessera, small, tmp_path):
    found = run_json(tessera, "fit", small, "--mode", "static_anisotropic", "--dry-run")
    assert found["plan"]["strategy"] == "STANDARD"
    assert found["plan"]["memory_bytes"] > 0
    assert not (tmp_path / "homodyne_results").exists()


def test_inspect(tessera):
    found = run_json(tessera, "inspect", GOLDEN / "aps_u_mapping_deflate.hdf")
    with np.load(GOLDEN / "aps_u_mapping_deflate.expected.npz") as file:
        assert [b["q"] for b in found["bins"]] == list(file["bin_q"])
        assert [b["phi"] for b in found["bins"]] == list(file["bin_phi"])
        assert found["dt_s"] == pytest.approx(float(file["dt"]), rel=1e-12)
    result = tessera("xpcs", "inspect", GOLDEN / "aps_legacy_deflate.hdf")
    assert result.returncode == 0
    assert "aps-legacy" in result.stdout


def test_convert_then_fit_gives_the_same_numbers(tessera, tmp_path):
    source = GOLDEN / "aps_u_lzf.hdf"
    result = tessera("xpcs", "convert", source, "-o", "c.txc2", "--gap", "2e6")
    assert result.returncode == 0, result.stderr
    run_json(tessera, "fit", source, "--gap", "2e6", "-o", "a")
    run_json(tessera, "fit", "c.txc2", "-o", "b", "--strategy", "streaming")
    (a, _), (b, _) = parameters(tmp_path / "a"), parameters(tmp_path / "b")
    for found in (a, b):
        found.pop("timestamp")
    assert a["parameters"] == b["parameters"]


def test_damaged_stretches_are_masked_where_asked_for(tessera, tmp_path):
    result = tessera("xpcs", "simulate", "-o", "bad.txc2", "--mode", "static_anisotropic",
                     "--n-angle", "3", "--n-frame", "200", "--sigma", "0.004")
    assert result.returncode == 0, result.stderr
    content = bytearray((tmp_path / "bad.txc2").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.txc2").write_bytes(content)
    words = ("fit", "bad.txc2", "--mode", "static_anisotropic", "-o", "out", "--overwrite")
    result = tessera("xpcs", *words)
    assert result.returncode == 65
    assert "damaged" in result.stderr
    result = tessera("xpcs", *words, "--bad-chunk", "mask", "--min-success-rate", "0.99")
    assert result.returncode == 74
    assert "min_success_rate wants 99 %" in result.stderr
    found = run_json(tessera, *words, "--bad-chunk", "mask", "--report", "out.html")["result"]
    assert found["n_masked"] > 0
    with np.load(tmp_path / "out/nlsq/fitted_data.npz") as file:
        upper = np.triu_indices(file["c2_exp"].shape[1], 1)
        assert np.isnan(file["c2_exp"][:, upper[0], upper[1]]).sum() == found["n_masked"]
    assert f"{found['n_masked']} of" in found["warnings"][0]
    assert "bad.txc2" in found["warnings"][0]


def test_plot(tessera, small, tmp_path):
    result = tessera("xpcs", "plot", small, "-o", "maps")
    assert result.returncode == 0, result.stderr
    assert len(list((tmp_path / "maps").glob("*.png"))) == 3


@pytest.mark.parametrize("layout", ["aps-u", "aps-legacy", "txc2"])
@pytest.mark.parametrize("compression", ["lzf", "deflate", "none"])
def test_simulated_files_are_read_back(tessera, tmp_path, layout, compression):
    name = "x.txc2" if layout == "txc2" else "x.hdf"
    result = tessera("xpcs", "simulate", "-o", name, "--layout", layout, "--filter", compression,
                     "--n-angle", "2", "--n-frame", "20", "--phi", "0,90")
    assert result.returncode == 0, result.stderr
    found = run_json(tessera, "fit", name, "--mode", "static_anisotropic", "-o", "out", "--dt",
                     "0.1")
    assert found["data"]["n_frame"] == 19
    assert found["data"]["phi"] == [0, 90]


BAD = [
    (("fit", "missing.hdf"), 66, "missing.hdf"),
    (("fit",), 2, "no data: name a file"),
    (("fit", "text.hdf", "--mode", "static_anisotropic"), 65, "text.hdf"),
    (("fit", "cut.hdf", "--mode", "static_anisotropic"), 65, "truncated"),
    (("fit", "ok.hdf", "--mode", "laminar_flow"), 2, "gap"),
    (("fit", "ok.hdf", "--gap", "200"), 2, "Å"),
    (("fit", "ok.hdf", "--mode", "static_anisotropic", "--q", "0.5"), 65, "0.5"),
    (("fit", "ok.hdf", "--mode", "static_anisotropic", "--end-frame", "5000"), 65, "5000"),
    (("fit", "ok.hdf", "--mode", "static_anisotropic", "--phi-ranges", "40:41"), 65, "40"),
    (("fit", "ok.hdf", "--phi-ranges", "a:b"), 2, "--phi-ranges"),
    (("fit", "ok.hdf", "--static-mode", "--laminar-flow"), 2, "exclude each other"),
    (("fit", "ok.hdf", "--static-mode", "--initial-beta", "1"), 2, "no such parameter"),
    (("fit", "ok.hdf", "--static-mode", "--fix", "gamma=1"), 2, "gamma"),
    (("fit", "ok.hdf", "--static-mode", "--initial-d0", "x"), 2, "--initial-d0"),
    (("fit", "ok.hdf", "--static-mode", "--loss", "hubber"), 2, "huber"),
    (("mcmc", "ok.hdf", "--static-mode", "--method", "nlsq"), 2, "xpcs mcmc samples"),
    (("mcmc", "ok.hdf", "--static-mode", "--n-chains", "0"), 2, "--n-chains"),
    (("mcmc", "ok.hdf", "--static-mode", "--prior", "beta=0:1"), 2, "no parameter of mode"),
    (("mcmc", "ok.hdf", "--static-mode", "--prior", "D0=1e4:0"), 2, "NAME=MEAN:SD"),
    (("mcmc", "ok.hdf", "--static-mode", "--nlsq-result", "nowhere"), 66, "nowhere"),
    (("mcmc", "ok.hdf", "--static-mode", "--gpu-memory-fraction", "2"), 2, "up to 1"),
    (("fit", "ok.hdf", "--static-mode", "--resume"), 2, "--checkpoint"),
    (("fit", "ok.hdf", "--static-mode", "--sigma", "0"), 2, "sigma"),
    (("fit", "ok.hdf", "--static-mode", "--memory-limit", "20K"), 71, "memory limit"),
    (("fit", "--config", "bad.yaml"), 78, "bad.yaml:2"),
    (("fit", "--config", "typo.yaml"), 78, "analyzer_parameters"),
    (("inspect", "text.hdf"), 65, "text.hdf"),
    (("convert", "ok.hdf", "-o", "x.hdf"), 2, ".txc2"),
    (("simulate", "-o", "y.hdf", "--theta", "1,2"), 2, "--theta has 2 values"),
]


@pytest.mark.parametrize(("words", "code", "text"), BAD)
def test_bad_input_is_named(tessera, tmp_path, words, code, text):
    made = tessera("xpcs", "simulate", "-o", "ok.hdf", "--n-angle", "2", "--n-frame", "30", "-q")
    assert made.returncode == 0, made.stderr
    whole = (tmp_path / "ok.hdf").read_bytes()
    (tmp_path / "cut.hdf").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.hdf").write_text("this is no HDF5 file\n" * 50)
    (tmp_path / "bad.yaml").write_text("analysis_mode: static\nanalyzer_parameters: {dt: [}\n")
    (tmp_path / "typo.yaml").write_text("analysis_mode: static\nanalyser_parameters: {dt: 0.1}\n")
    before = sorted(os.listdir(tmp_path))
    result = tessera("xpcs", *words)
    assert result.returncode == code, result.stderr
    assert text in result.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_doubtful_input_is_warned_of(tessera, tmp_path):
    made = tessera("xpcs", "simulate", "-o", "r.hdf", "--phi", "0,0.5,1,1.5,2", "--n-frame", "60",
                   "--n-angle", "5", "--sigma", "0.01")
    assert made.returncode == 0, made.stderr
    result = tessera("xpcs", "fit", "r.hdf", "--gap", "2e6", "-o", "o1")
    assert "radians" in result.stderr
    result = tessera("xpcs", "fit", "r.hdf", "--gap", "2e6", "-o", "o2", "--dt", "1")
    assert "0.1" in result.stderr
    assert "dt" in result.stderr


def test_summary_as_npz(tessera, small, tmp_path):
    words = ["xpcs", "fit", small, "-o", "out", "--output-format", "npz"]
    words += ["--mode", "static_anisotropic"]
    result = tessera(*words)
    assert result.returncode == 0, result.stderr
    with np.load(tmp_path / "out/homodyne_results.npz") as found:
        record = json.loads(bytes(found["record"]).decode())
        assert record["schema"] == "tessera.xpcs.result/1"
    assert tessera(*words).returncode == 73


def test_strict_turns_warnings_into_failure(tessera, small):
    words = ("xpcs", "fit", small, "--mode", "static_anisotropic", "--max-nfev", "2")
    assert tessera(*words, "-o", "a").returncode == 0
    result = tessera(*words, "-o", "b", "--strict")
    assert result.returncode == 1
    assert "did not converge" in result.stderr


def test_config_of_the_original(tessera, tmp_path):
    made = tessera("xpcs", "simulate", "-o", "run.hdf", "--n-angle", "6", "--n-frame", "60")
    assert made.returncode == 0, made.stderr
    (tmp_path / "c.yaml").write_text("""\
analysis_mode: laminar_flow
analyzer_parameters:
  dt: 0.1
  start_frame: 1
  end_frame: -1
  scattering: {wavevector_q: 0.0054}
  geometry: {stator_rotor_gap: 2000000}
experimental_data: {file_path: run.hdf}
optimization: {method: nlsq, nlsq: {tolerance: 1e-8, loss: soft_l1}}
output: {directory: ./results}
""")
    result = tessera("xpcs", "fit", "--config", "c.yaml")
    assert result.returncode == 0, result.stderr
    found, _ = parameters(tmp_path / "results")
    assert found["analysis_mode"] == "laminar_flow"


BOTH = [
    (["-o", "a", "--output-dir", "b"], "--output a and --output-dir b exclude"),
    (["x.txc2", "--data-file", "y.txc2"], "the operand x.txc2 and --data-file y.txc2 exclude"),
    (["--save-surfaces", "--no-surfaces"], "--save-surfaces and --no-surfaces exclude"),
    (["--force-cpu", "--device", "cuda"], "--force-cpu and --device exclude"),
    (["--cache", "c", "--no-cache"], "--cache and --no-cache exclude"),
    (["--max-iterations", "3", "--max-nfev", "5"], "--max-iterations and --max-nfev exclude"),
    (["--sigma", "0.1", "--sigma-mode", "estimate"], "--sigma and --sigma-mode exclude"),
    (["--sigma-dataset", "s", "--sigma-mode", "estimate"], "--sigma-dataset and --sigma-mode"),
    (["x.txc2", "--gap", "2e6", "--fix", "beta=0", "--initial-beta", "1"],
     "--fix beta=0 and --initial-beta exclude"),
]


@pytest.mark.parametrize(("words", "text"), BOTH, ids=[text for _, text in BOTH])
def test_what_is_said_twice_is_refused(tessera, words, text, tmp_path):
    result = tessera("xpcs", "fit", *words)
    assert result.returncode == 2
    assert text in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "text"), [
    (["--fix", "betta"], "did you mean 'beta'? there are D0, alpha, D_offset"),
    (["--fix", "gamma_dot_t=1"], "did you mean 'gamma_dot_t0'?"),
    (["--offset", "1"], "did you mean '--offsets'?"),
    (["--range", "1"], "unknown option '--range' (see"),
])
def test_names_that_are_nearly_right(tessera, words, text):
    result = tessera("xpcs", "fit", "x.txc2", "--gap", "2e6", *words)
    assert result.returncode == 2
    assert text in result.stderr


def test_configurations_that_say_too_little(tessera, tmp_path):
    for name, text in (("empty.yaml", ""), ("comment.yaml", "# nothing\n"), ("empty.json", "{}")):
        (tmp_path / name).write_text(text)
        result = tessera("xpcs", "fit", "--config", name, "-o", "out")
        assert result.returncode == 78, result.stderr
        assert f"{name}: experimental_data.file_path is missing" in result.stderr
    (tmp_path / "c.yaml").write_text(
        "parameter_space:\n  bounds:\n    - name: D0\n      max: 3\n"
        "    - name: beta\n      min: -.inf\n      max: 1\n")
    result = tessera("xpcs", "config", "validate", "c.yaml")
    assert result.returncode == 78
    assert "parameter_space.bounds[1].min: beta: '-.inf' is not a finite number" in result.stderr


def test_quiet_is_quiet(tessera, tmp_path):
    for words in (
        ["simulate", "-o", "s.txc2", "--n-angle", "2", "--n-frame", "20", "--gap", "2e6"],
        ["fit", "s.txc2", "--mode", "static_isotropic", "-o", "out"],
        ["convert", "s.txc2", "-o", "t.txc2"],
        ["plot", "s.txc2", "-o", "maps"],
    ):
        result = tessera("xpcs", *words, "-q")
        assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), words
    assert json.loads(tessera("xpcs", "fit", "s.txc2", "--mode", "static_isotropic", "-o", "out2",
                              "-q", "--json").stdout)["folder"] == "out2"


def test_old_files_are_bad_input(tessera, tmp_path):
    with np.load(GOLDEN / "cached_c2_q0.0054_frames_1_-1.npz") as file:
        members = dict(file)
    n = len(members["t1"])
    np.savez(tmp_path / "old.npz", **(members | {"t1": np.zeros((n, n)), "t2": np.zeros((n, n))}))
    for command in ("fit", "inspect"):
        result = tessera("xpcs", command, "old.npz")
        assert result.returncode == 65
        assert "delete and regenerate" in result.stderr


def test_long_paths_are_named(tessera):
    result = tessera("xpcs", "fit", "x.txc2", "--gap", "2e6", "-o", "/".join(["d" * 200] * 6))
    assert result.returncode == 73
    assert "a path of 1205 bytes; at most 900 are possible" in result.stderr

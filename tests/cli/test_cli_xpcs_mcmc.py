"""Sampling from the command: files, options of the original, warm starts, what ArviZ says."""

import json

import h5py
import numpy as np
import pytest

# Few draws: what is looked at here is not how good they are.
FEW = ["--n-samples", "200", "--n-warmup", "150", "--n-chains", "2"]
STATIC = ["run.hdf", "--static-mode", "--sigma-mode", "estimate"]


@pytest.fixture(scope="module")
def run(tessera_at, tmp_path_factory):
    """A file of two angles, sampled once; the command, and the folder it works in."""
    folder = tmp_path_factory.mktemp("mcmc")
    tessera = tessera_at(folder)
    words = ["--mode", "static_anisotropic", "--n-angle", "2", "--n-frame", "30"]
    assert tessera("xpcs", "simulate", "-o", "run.hdf", *words, "--sigma", "0.02").returncode == 0
    assert tessera("xpcs", "fit", *STATIC, "-o", "both", "--method", "both", *FEW).returncode == 0
    return tessera, folder


def read(path):
    return json.loads(path.read_text())


def test_files_say_the_same(run):
    _, folder = run
    cmc = folder / "both" / "cmc"
    parameters = read(cmc / "parameters.json")
    diagnostics = read(cmc / "diagnostics.json")
    analysis = read(cmc / "analysis_results_cmc.json")
    assert (folder / "both" / "nlsq" / "parameters.json").exists()
    with np.load(cmc / "samples.npz") as samples:
        names = list(samples["param_names"])
        draws = samples["posterior_samples"]
        assert list(samples["schema_version"]) == [1, 0]
        assert draws.shape == (2, 200, len(names))
        assert samples["energy"].shape == samples["tree_depth"].shape == (2, 200)
        assert str(samples["analysis_mode"]) == "static_anisotropic"
        r_hat = samples["r_hat"]
    assert names == ["contrast_0", "contrast_1", "offset_0", "offset_1", "D0", "alpha", "D_offset",
                     "sigma"]
    for name in ("D0", "alpha", "D_offset", "sigma"):
        column = draws[:, :, names.index(name)]
        entry = parameters["parameters"][name]
        assert entry["mean"] == entry["value"] == pytest.approx(column.mean(), rel=1e-12)
        assert entry["std"] == pytest.approx(column.std(ddof=1), rel=1e-10)
        assert entry["q05"] == pytest.approx(np.quantile(column, 0.05), rel=1e-12)
    assert diagnostics["parameters"]["alpha"]["r_hat"] == r_hat[names.index("alpha")]
    assert len(diagnostics["chains"]["bfmi"]) == 2
    assert analysis["method"] == "cmc"
    assert analysis["sampling_summary"]["n_samples"] == 200
    with np.load(cmc / "fitted_data.npz") as fitted:
        assert fitted["c2_exp"].shape == fitted["c2_solver_scaled"].shape == (2, 29, 29)


def test_progress_says_what_the_draws_are_worth(run):
    tessera, _ = run
    words = ["--mode", "static_anisotropic", "--n-angle", "3", "--n-frame", "200"]
    assert tessera("xpcs", "simulate", "-o", "long.hdf", *words, "--sigma", "0.02").returncode == 0
    words = ["long.hdf", *STATIC[1:], *FEW, "-o", "watched", "--progress=json"]
    done = tessera("xpcs", "mcmc", *words)
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    draws = [line for line in lines if line["unit"] == "draws"]
    assert 0 < draws[-1]["effective"] < 1000  # of 400
    assert all("effective" not in line for line in lines if line["unit"] != "draws")


def test_noise_that_frames_share_widens_draws(run):
    tessera, folder = run
    words = ["--mode", "static_anisotropic", "--n-angle", "2", "--n-frame", "30", "--speckle"]
    bright = ["--photons", "5", "--n-pixel", "4000"]
    assert tessera("xpcs", "simulate", "-o", "light.hdf", *words, *bright).returncode == 0
    words = ["light.hdf", *STATIC[1:], "--sampler", "laplace", *FEW]
    spread = {}
    for noise in ("independent", "frames"):
        done = tessera("xpcs", "mcmc", *words, "-o", noise, "--noise", noise)
        assert done.returncode == 0
        assert ("as the fit has it" in done.stdout) == (noise == "frames")
        told = read(folder / noise / "cmc" / "parameters.json")
        assert told["noise_model"] == noise
        spread[noise] = told["parameters"]["alpha"]["std"]
    assert spread["frames"] > 2 * spread["independent"]
    for refused, text in (
        (["--sampler", "consensus"], "all points together"),
        (["--sigma-mode", "per_lag"], "constant or estimate"),
        (["--draw-scaling", "averaged"], "that of the fit"),
    ):
        done = tessera("xpcs", "mcmc", *words, "--noise", "frames", *refused, "-o", "none")
        assert done.returncode == 2
        assert text in done.stderr
        assert not (folder / "none").exists()


def test_netcdf_opens(run):
    _, folder = run
    xarray = pytest.importorskip("xarray")
    path = folder / "both" / "cmc" / "inference_data.nc"
    with xarray.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        assert posterior["D0"].dims == ("chain", "draw")
        assert posterior["contrast"].dims == ("chain", "draw", "angle")
        assert posterior["D0"].attrs["units"] == "Å²/s"
        mean = float(posterior["D0"].mean())
    with xarray.open_dataset(path, group="sample_stats", engine="h5netcdf") as stats:
        assert stats["diverging"].dtype == bool
        assert {"lp", "energy", "tree_depth", "n_steps", "acceptance_rate"} <= set(stats)
    with h5py.File(path) as file:
        assert file["constant_data/phi"].shape == (2,)
        n_frame = file["observed_data/c2"].shape[1]
        assert file["observed_data/c2"].shape == (2, n_frame, n_frame)
        prior = file["prior/alpha"][:]
        assert prior.shape == (1, 1000)
        assert -2 <= prior.min() < -1.9 < 1.9 < prior.max() <= 2
        # Of a normal of 2 between -2 and 2, by quadrature.
        assert abs(prior.mean()) < 4 * 1.0791 / 1000**0.5
        assert prior.std() == pytest.approx(1.0791, abs=4 * 1.0791 / 2000**0.5)
        assert file["prior/contrast"].shape == (1, 1000, 2)
    entry = read(folder / "both" / "cmc" / "parameters.json")["parameters"]["D0"]
    assert mean == pytest.approx(entry["mean"], rel=1e-12)


def test_arviz_agrees(run):
    _, folder = run
    arviz = pytest.importorskip("arviz")
    cmc = folder / "both" / "cmc"
    told = read(cmc / "diagnostics.json")
    data = arviz.from_netcdf(cmc / "inference_data.nc")
    for name in ("D0", "alpha", "D_offset", "sigma"):
        row = told["parameters"]["noise" if name == "sigma" else name]
        x = data.posterior[name].values
        assert row["r_hat"] == pytest.approx(float(arviz.rhat(x)), rel=1e-10)
        for kind in ("bulk", "tail", "mean", "sd"):
            ours = row[f"ess_{kind}"]
            assert ours == pytest.approx(float(arviz.ess(x, method=kind)), rel=1e-10)
        assert row["mcse_mean"] == pytest.approx(float(arviz.mcse(x, method="mean")), rel=1e-10)
        assert row["mcse_sd"] == pytest.approx(float(arviz.mcse(x, method="sd")), rel=1e-10)
        theirs = float(arviz.mcse(x, method="quantile", prob=0.05))
        assert row["mcse_quantile"]["q05"] == pytest.approx(theirs, rel=1e-10)
    assert told["chains"]["bfmi"] == pytest.approx(list(arviz.bfmi(data)), rel=1e-10)


def test_again_and_from_another_fit(run):
    tessera, folder = run
    again = tessera("xpcs", "mcmc", *STATIC, "-o", "again", *FEW, "--seed", "42", "--threads", "1",
                    "--json")
    assert again.returncode == 0
    both, alone = (np.load(folder / name / "cmc" / "samples.npz") for name in ("both", "again"))
    assert np.array_equal(both["posterior_samples"], alone["posterior_samples"])
    told = json.loads(again.stdout)
    assert told["draws"]["sampling_summary"]["n_chains"] == 2
    assert not (folder / "again" / "nlsq").exists()
    warm = tessera("xpcs", "mcmc", *STATIC, "-o", "warm", *FEW, "--nlsq-result", "both",
                   "--no-surfaces")
    assert (warm.returncode, "starting from both/nlsq/parameters.json" in warm.stderr) == (0, True)
    assert not (folder / "warm" / "cmc" / "fitted_data.npz").exists()
    assert tessera("rerun", "again/cmc/samples.npz", "-o", "once more").returncode == 0
    there = tessera("xpcs", "mcmc", *STATIC, "-o", "again", *FEW)
    assert (there.returncode, "--overwrite" in there.stderr) == (73, True)


def test_options_of_sampling_with_a_fit(run):
    tessera, _ = run
    words = [*FEW, "--cmc-num-shards", "4", "--cmc-backend", "pbs", "--dense-mass-matrix",
             "--no-nlsq-warmstart", "--cmc-plot-diagnostics", "--gpu-memory-fraction", "0.5"]
    result = tessera("xpcs", "fit", *STATIC, "-o", "fit", *words)
    assert result.returncode == 0
    for option in ("--n-samples", "--n-warmup", "--n-chains", "--cmc-num-shards", "--cmc-backend",
                   "--dense-mass-matrix", "--no-nlsq-warmstart"):
        assert f"warning: {option} is of sampling" in result.stderr
    dry = tessera("xpcs", "mcmc", *STATIC, "-o", "dry", "--dry-run")
    assert dry.returncode == 0
    assert "sampling: 4 chains of 500 + 1500 draws" in dry.stderr


def test_what_a_configuration_says(run):
    tessera, folder = run
    (folder / "run.yaml").write_text("""
analysis_mode: static_anisotropic
analyzer_parameters: {dt: 0.1, start_frame: 1, end_frame: -1, scattering: {wavevector_q: 0.0054}}
experimental_data: {file_path: run.hdf}
parameter_space:
  bounds: [{name: alpha, min: -3, max: 3, prior_mu: -1.5, prior_sigma: 0.05}]
  priors: {contrast: {dist_type: TruncatedNormal, mu: 0.27, sigma: 0.15}}
model: {sigma: {mode: estimate}}
optimization:
  method: cmc
  mcmc: {num_warmup: 150, num_samples: 60, num_chains: 3, target_accept_prob: 0.9, seed: 7}
  cmc: {per_shard_mcmc: {num_samples: 999}, sharding: {strategy: random}}
""")
    result = tessera("xpcs", "fit", "--config", "run.yaml", "-o", "configured", "--json")
    assert result.returncode == 0, result.stderr
    draws = json.loads(result.stdout)["draws"]
    summary = draws["sampling_summary"]
    assert (summary["n_chains"], summary["n_samples"], summary["n_warmup"]) == (3, 60, 150)
    assert (summary["target_accept_prob"], summary["seed"]) == (0.9, 7)
    rows = draws["diagnostics"]["parameters"]
    assert rows["alpha"]["prior_std"] == pytest.approx(0.05, rel=1e-6)
    assert rows["contrast[0]"]["prior_mean"] == pytest.approx(0.27, rel=1e-6)
    again = tessera("rerun", "configured/cmc/samples.npz", "-o", "rerun")
    assert (again.returncode, "same bits" in again.stdout + again.stderr) == (0, True)


def test_the_page_has_every_figure(run):
    tessera, folder = run
    assert (folder / "both" / "report.html").exists()  # of the fit
    page = (folder / "both" / "cmc" / "report.html").read_text()
    for heading in ("Parameters", "Forest", "Traces and densities", "Rates over time",
                    "Fitted cuts", "Pairs", "Ranks", "Mixing", "Energy"):
        assert f">{heading}</h2>" in page
    for title in ("posterior and prior", "autocorrelation", "effective draws so far",
                  "transport rate D(t)", "D0 and alpha", "draws, 5 to 95 %"):
        assert title in page
    words = ["--n-samples", "5", "--n-warmup", "20", "--n-chains", "1", "--report", "page.html"]
    result = tessera("xpcs", "mcmc", *STATIC, "-o", "paged", *words)
    assert (result.returncode, "report written to page.html" in result.stderr) == (0, True)
    assert not (folder / "paged" / "cmc" / "report.html").exists()


def test_checkpoints_of_draws_go_with_those_of_the_fit(run):
    tessera, folder = run
    words = ["--checkpoint", "work", "--checkpoint-every", "0", "--no-surfaces"]
    result = tessera("xpcs", "mcmc", *STATIC, "-o", "kept", *FEW, *words)
    assert result.returncode == 0, result.stderr
    assert not (folder / "work").exists()
    both, kept = (np.load(folder / name / "cmc" / "samples.npz") for name in ("both", "kept"))
    assert np.array_equal(both["posterior_samples"], kept["posterior_samples"])


def test_parts_of_a_job_array_are_joined(run):
    tessera, folder = run
    few = ["--n-samples", "300", "--n-warmup", "200"]
    for k in (1, 2):
        part = tessera("xpcs", "mcmc", *STATIC, "-o", "parts", *few, "--shard", f"{k}/2")
        assert part.returncode == 0, part.stderr
    assert not (folder / "parts" / "cmc" / "parameters.json").exists()
    joined = tessera("xpcs", "mcmc", *STATIC, "-o", "joined", *few, "--combine", "parts", "--json")
    assert joined.returncode == 0, joined.stderr
    ours = json.loads(joined.stdout)["draws"]["parameters"]
    whole = read(folder / "both" / "cmc" / "parameters.json")["parameters"]
    for name in ("D0", "alpha"):
        assert abs(ours[name]["mean"] - whole[name]["mean"]) < 0.6 * whole[name]["std"]
        assert ours[name]["std"] == pytest.approx(whole[name]["std"], rel=0.35)
    (folder / "parts" / "cmc" / "shard_00002_of_00002.npy").unlink()
    missing = tessera("xpcs", "mcmc", *STATIC, "-o", "none", "--combine", "parts")
    assert (missing.returncode, "run --shard 2/2" in missing.stderr) == (66, True)
    for words in (["--shard", "3/2"], ["--shard", "1"], ["--shard", "1/2", "--combine", "parts"]):
        assert tessera("xpcs", "mcmc", *STATIC, "-o", "none", *words).returncode == 2


def test_parts_of_other_data_are_not_joined(run):
    tessera, folder = run
    few = ["--n-samples", "300", "--n-warmup", "200"]
    for k in (1, 2):
        part = tessera("xpcs", "mcmc", *STATIC, "-o", "own", *few, "--shard", f"{k}/2")
        assert part.returncode == 0, part.stderr
    words = ["--mode", "static_anisotropic", "--n-angle", "2", "--n-frame", "30", "--seed", "7"]
    assert tessera("xpcs", "simulate", "-o", "other.hdf", *words).returncode == 0
    wrong = tessera("xpcs", "mcmc", "other.hdf", *STATIC[1:], "-o", "wrong", "--combine", "own")
    assert (wrong.returncode, "own/cmc: parts of other data" in wrong.stderr) == (65, True)
    assert not (folder / "wrong" / "cmc").exists()
    (folder / "own" / "cmc" / "shard_00001_of_00003.npy").write_bytes(b"")
    mixed = tessera("xpcs", "mcmc", *STATIC, "-o", "mixed", "--combine", "own")
    assert (mixed.returncode, "has parts of 2 and of 3" in mixed.stderr) == (65, True)


@pytest.mark.parametrize("other", [["--shard-seed", "9"], ["--shard-strategy", "contiguous"]])
def test_parts_that_share_points_are_not_joined(run, other):
    tessera, folder = run
    few = ["--n-samples", "50", "--n-warmup", "50", "-o", f"shared{other[1]}"]
    assert tessera("xpcs", "mcmc", *STATIC, *few, "--shard", "1/2").returncode == 0
    assert tessera("xpcs", "mcmc", *STATIC, *few, "--shard", "2/2", *other).returncode == 0
    words = ["-o", "apart", "--combine", few[-1]]
    joined = tessera("xpcs", "mcmc", *STATIC, *words)
    assert joined.returncode == 65
    assert "cut with another shard_seed or shard_strategy" in joined.stderr
    assert not (folder / "apart" / "cmc").exists()


def test_parts_of_other_methods_are_not_joined(run):
    tessera, _ = run
    few = ["--n-samples", "50", "--n-warmup", "50", "-o", "methods"]
    assert tessera("xpcs", "mcmc", *STATIC, *few, "--shard", "1/2").returncode == 0
    laplace = ["--shard", "2/2", "--sampler", "laplace"]
    assert tessera("xpcs", "mcmc", *STATIC, *few, *laplace).returncode == 0
    joined = tessera("xpcs", "mcmc", *STATIC, "-o", "never", "--combine", "methods")
    assert (joined.returncode, "other options" in joined.stderr) == (65, True)


def test_a_consensus_of_no_shard_says_why_in_one_line(run):
    tessera, _ = run
    words = ["--cmc-num-shards", "4", "--n-samples", "10", "--n-warmup", "20"]
    result = tessera("xpcs", "mcmc", *STATIC, "-o", "none", *words)
    assert result.returncode == 65
    last = result.stderr.strip().splitlines()[-1]
    assert "only 0 of 4 shards can be used" in last
    assert last.count("is left out") == 1 and "?" not in last


def test_strict_and_few_draws(run):
    tessera, folder = run
    words = ["--n-samples", "5", "--n-warmup", "20", "--n-chains", "1", "--strict"]
    result = tessera("xpcs", "mcmc", *STATIC, "-o", "few", *words)
    assert result.returncode == 1
    assert "[xpcs.r-hat]" in result.stderr and "not converged" in result.stderr
    assert read(folder / "few/cmc/diagnostics.json")["max_r_hat"] is None

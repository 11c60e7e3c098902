"""Every option of sampling from the command: it acts, or is refused; nothing is dropped."""

import json

import numpy as np
import pytest

FEW = ["--n-samples", "40", "--n-warmup", "40", "--n-chains", "2", "--no-surfaces"]
LOOSE = ["--min-ess", "1", "--max-rhat", "9"]
STATIC = ["run.txc2", "--static-mode", "--sigma-mode", "estimate"]


@pytest.fixture(scope="module")
def run(tessera_at, tmp_path_factory):
    folder = tmp_path_factory.mktemp("draws")
    tessera = tessera_at(folder)
    words = ["--mode", "static_anisotropic", "--n-angle", "3", "--n-frame", "14"]
    assert tessera("xpcs", "simulate", "-o", "run.txc2", *words, "--sigma", "0.02").returncode == 0
    return tessera, folder


def drawn(run, *words, name="out"):
    tessera, _ = run
    given = [*STATIC, "-o", name, "--overwrite", *FEW, *words, "--json"]
    result = tessera("xpcs", "mcmc", *given)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["draws"], result.stderr


def test_each_option_changes_the_draws(run):
    """And what a rerun is told makes the same bits."""
    usual, _ = drawn(run)
    for words in (["--sampler", "laplace"], ["--surrogate", "off"], ["--coords", "upstream"],
                  ["--fit-priors", "on"], ["--temper", "4"], ["--draw-scaling", "averaged"],
                  ["--draw-scaling", "constant"], ["--priors", "upstream"],
                  ["--target-accept", "0.95"], ["--mcmc-seed", "3"], ["--noise-scale", "0.5"],
                  ["--prior", "alpha=-1:0.01"], ["--fit-priors", "on", "--prior-width", "0.01"],
                  ["--cmc-num-shards", "2", *LOOSE], ["--shard-points", "100", *LOOSE]):
        found, _ = drawn(run, *words)
        assert found["parameters"]["D0"]["mean"] != usual["parameters"]["D0"]["mean"], words


def test_consensus_says_what_it_is(run):
    tessera, folder = run
    config = folder / "cut.yaml"
    config.write_text("""
analysis_mode: static_anisotropic
experimental_data: {file_path: run.txc2}
model: {sigma: {mode: estimate}}
optimization:
  method: cmc
  mcmc: {num_warmup: 40, num_samples: 40, num_chains: 2}
  cmc:
    sharding: {num_shards: 2, strategy: contiguous}
    prior_tempering: false
    combination: {method: robust_consensus_mc}
    validation: {min_per_shard_ess: 1, max_per_shard_rhat: 9}
""")
    words = ["--checkpoint", "work", "--checkpoint-every", "0", "--resume", "--no-surfaces"]
    first = tessera("xpcs", "fit", "--config", "cut.yaml", "-o", "cut", *words)
    assert first.returncode == 0, first.stderr
    assert "parts          2, combined" in first.stdout
    assert "nan" not in first.stdout.lower()
    assert not (folder / "work").exists()
    again = tessera("rerun", "cut/cmc/samples.npz", "-o", "again")
    assert (again.returncode, "same bits" in again.stdout + again.stderr) == (0, True), again.stderr
    # The same by hand, part by part.
    common = [*STATIC, *FEW, "--shard-strategy", "contiguous", "--temper", "1"]
    for k in ("1/2", "2/2"):
        part = tessera("xpcs", "mcmc", *common, "-o", "parts", "--shard", k)
        assert part.returncode == 0, part.stderr
    joined = tessera("xpcs", "mcmc", *common, *LOOSE, "-o", "joined", "--combine", "parts",
                     "--combination", "robust_consensus_mc")
    assert joined.returncode == 0, joined.stderr
    with np.load(folder / "cut/cmc/samples.npz") as cut, \
            np.load(folder / "joined/cmc/samples.npz") as by_hand:
        assert np.array_equal(cut["posterior_samples"], by_hand["posterior_samples"])


def test_one_chain_has_no_r_hat(run):
    tessera, _ = run
    result = tessera("xpcs", "mcmc", *STATIC, "-o", "alone", *FEW, "--n-chains", "1")
    assert result.returncode == 0
    assert "not_converged: R-hat unknown" in result.stdout
    assert "one chain cannot tell" in result.stderr
    assert "nan" not in (result.stdout + result.stderr).lower()


@pytest.mark.parametrize(("words", "code", "says"), [
    (["--scaling", "fourier"], 2, "--draw-scaling individual"),
    (["--sampler", "gibbs"], 2, "nuts|laplace|consensus"),
    (["--temper", "-1"], 2, "--temper"),
    (["--shard", "1/2", "--cmc-num-shards", "4"], 2, "4 parts"),
    (["--cmc-num-shards", "100000"], 2, "take fewer"),
    (["--max-attempts", "0"], 2, "--max-attempts"),
    (["--loss", "huber"], 2, "give --loss linear"),
])
def test_what_cannot_be_had_is_refused(run, words, code, says):
    tessera, _ = run
    result = tessera("xpcs", "mcmc", *STATIC, *FEW, "-o", "none", *words)
    assert (result.returncode, says in result.stderr) == (code, True), result.stderr

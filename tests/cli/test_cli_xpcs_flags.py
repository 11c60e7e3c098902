"""Every flag of the original's command, with every value: xpcs fit and xpcs mcmc take it."""

import pytest

# Flag, its values (| between choices, - for none), and what it needs beside it.
ORIGINAL = """
--method            nlsq|cmc|both
--config            run.yaml
--output-dir        other
--data-file         run.txc2
--static-mode       -
--laminar-flow      -
--max-iterations    10000
--tolerance         1e-8
--n-samples         1000
--n-warmup          500
--n-chains          4
--cmc-num-shards    auto|2
--cmc-backend       auto|pjit|multiprocessing|pbs
--cmc-plot-diagnostics -
--no-nlsq-warmstart -
--nlsq-result       before|before/nlsq|before/nlsq/parameters.json
--initial-d0        16000
--initial-alpha     -1.5
--initial-d-offset  3
--initial-gamma-dot-t0 0.002
--initial-beta      -0.2
--initial-gamma-dot-offset -0.0006
--initial-phi0      2
--dense-mass-matrix -
--save-plots        -
--plot-experimental-data -
--plot-simulated-data - --initial-d0=16000 --initial-alpha=-1.5 --initial-d-offset=3
--plotting-backend  auto|matplotlib|datashader
--parallel-plots    -
--contrast          0.3 --plot-simulated-data --initial-d0=16000 --initial-alpha=-1.5 --initial-d-offset=3
--offset            1.0 --plot-simulated-data --initial-d0=16000 --initial-alpha=-1.5 --initial-d-offset=3
--phi-angles        0,45,90 --plot-simulated-data --initial-d0=16000 --initial-alpha=-1.5 --initial-d-offset=3
--output-format     yaml|json|npz
-v                  -
-vv                 -
-vvv                -
--quiet             -
--threads           2
--no-jit            -
--force-cpu         -
--gpu-memory-fraction 0.9
--version           -
--help              -
"""  # noqa: E501
ROWS = [line.split() for line in ORIGINAL.strip().splitlines()]
# Of sampling: a fit alone takes them with a warning.
SAMPLING = ("n-samples", "n-warmup", "n-chains", "cmc-num-shards", "cmc-backend",
            "cmc-plot-diagnostics", "no-nlsq-warmstart", "dense-mass-matrix")
FLOW = ("gamma", "beta", "phi0", "laminar")


@pytest.fixture(scope="module")
def run(tessera_at, tmp_path_factory):
    folder = tmp_path_factory.mktemp("flags")
    tessera = tessera_at(folder)
    words = ["--n-angle", "3", "--n-frame", "14", "--sigma", "0.02", "--mode"]
    for name, mode in (("run", "static_anisotropic"), ("flow", "laminar_flow")):
        made = tessera("xpcs", "simulate", "-o", f"{name}.txc2", *words, mode)
        assert made.returncode == 0, made.stderr
    (folder / "run.yaml").write_text("analysis_mode: static_anisotropic\n")
    before = tessera("xpcs", "fit", "run.txc2", "--static-mode", "-o", "before", "--no-surfaces")
    assert before.returncode == 0, before.stderr
    return tessera


def line_of(flag, value, needed):
    """The words that come before and with a flag."""
    words = [flag] if value == "-" else [f"{flag}={value}"]
    data = [] if flag == "--data-file" else ["run.txc2"]
    if any(word in flag for word in FLOW):
        data = ["flow.txc2", "--gap", "2e6"]
    elif flag not in ("--static-mode", "--config"):
        data += ["--static-mode"]
    return [*data, *words, *needed]


@pytest.mark.parametrize("command", ["fit", "mcmc"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_flag_is_taken(run, row, command):
    flag, values, *needed = row
    for value in values.split("|"):
        if (command, value) == ("mcmc", "nlsq"):
            continue  # it samples; test_cli_xpcs_mcmc.py has what it says
        result = run("xpcs", command, *line_of(flag, value, needed), "--dry-run")
        assert result.returncode == 0, (flag, value, result.stderr)
        is_told = f"warning: {flag} is of sampling" in result.stderr
        assert is_told == (command == "fit" and flag[2:] in SAMPLING), result.stderr


@pytest.mark.parametrize("word", [
    "--max-iterations=0", "--tolerance=0", "--n-samples=0", "--n-warmup=0", "--n-chains=0",
    "--cmc-num-shards=0", "--initial-d0=-1", "--gpu-memory-fraction=2", "--threads=-1",
])
@pytest.mark.parametrize("command", ["fit", "mcmc"])
def test_numbers_out_of_range_are_named(run, word, command):
    result = run("xpcs", command, "run.txc2", "--static-mode", word, "--dry-run")
    assert (result.returncode, word.split("=")[0] in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("words", [["--static-mode", "--laminar-flow"], ["-v", "--quiet"]])
def test_flags_that_exclude_each_other(run, words):
    result = run("xpcs", "mcmc", "run.txc2", *words, "--dry-run")
    assert result.returncode == 2
    assert "exclude each other" in result.stderr


def test_a_dry_run_draws_nothing(run):
    result = run("xpcs", "mcmc", "run.txc2", "--static-mode", "--plot-experimental-data",
                 "--dry-run", "-o", "pictures")
    assert (result.returncode, "3 angles would be written" in result.stderr) == (0, True)
    assert not (run.directory / "pictures").exists()


@pytest.mark.parametrize(("words", "with_it"), [
    ("--f-scale 2", "--loss huber"),
    ("--fourier-order 1", "--scaling fourier"),
    ("--n-bootstrap 5", "--uncertainty block_bootstrap"),
    ("--block-frames 5", "--uncertainty block_bootstrap"),
    ("--shear-exponent 2", "--shear-weights"),
    ("--min-success-rate 0.2", "--bad-chunk mask"),
])
def test_what_changes_nothing_is_said(run, words, with_it):
    line = ["xpcs", "fit", "flow.txc2", "--gap", "2e6", "--dry-run", *words.split()]
    said = f"warning: {words.split()[0]} changes nothing without"
    result = run(*line)
    assert result.returncode == 0, result.stderr
    assert said in result.stderr
    assert with_it.split()[0] in result.stderr
    assert said not in run(*line, *with_it.split()).stderr


def test_noise_of_photons_and_of_points(run):
    line = ["xpcs", "simulate", "--n-angle", "1", "--n-frame", "8"]
    for k, (words, option) in enumerate(((["--photons", "1"], "photons"),
                                         (["--speckle", "--sigma", "0.1"], "sigma"))):
        result = run(*line, *words, "-o", f"noise{k}.txc2")
        assert f"warning: --{option} changes nothing with" in result.stderr


@pytest.mark.parametrize("words", [["--phi=-60,0,60"], ["--angles-last"]])
@pytest.mark.parametrize("layout", ["hdf", "txc2"])
def test_angles_of_a_file_that_says_them_are_not_overruled(run, words, layout):
    name = f"own.{layout}"
    run("xpcs", "simulate", "-o", name, "--n-angle", "3", "--n-frame", "14", "--overwrite", "-q")
    result = run("xpcs", "g2", name, "-o", "own.csv", *words)
    assert result.returncode == 2, result.stderr
    assert "says its angles itself" in result.stderr
    assert words[0].split("=")[0] in result.stderr


@pytest.mark.parametrize(("words", "said"), [
    (["--counting", "full"], "counting:"),
    (["--uncertainty", "profile"], "uncertainty:"),
    (["--uncertainty", "block_bootstrap"], "uncertainty:"),
])
def test_what_rates_of_any_shape_cannot(run, words, said):
    result = run("xpcs", "rates", "run.txc2", "--mode", "static_anisotropic", *words, "-o", "rates")
    assert result.returncode == 2, result.stderr
    assert said in result.stderr

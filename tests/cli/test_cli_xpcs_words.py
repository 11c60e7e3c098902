"""What the xpcs commands say to people who have not read the manual."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def run(tmp_path_factory, tessera_at):
    folder = tmp_path_factory.mktemp("words")
    tessera = tessera_at(folder)
    made = tessera("xpcs", "simulate", "-o", "run.hdf", "--n-angle", "3", "--n-frame", "30")
    assert made.returncode == 0, made.stderr
    c2 = np.ones((2, 20, 20)) + 0.1 * np.exp(-0.1 * np.abs(np.subtract.outer(*[np.arange(20)] * 2)))
    np.savez(folder / "plain.npz", tt=c2)
    return tessera


PLAIN = ["plain.npz", "--c2-path", "tt", "--q", "0.01", "--dt", "0.05"]


def test_a_template_leaves_the_gap_open_and_validate_says_so(run, yaml):
    made = run("xpcs", "config", "init", "--mode", "laminar_flow", "--minimal", "-o", "t.yaml")
    assert made.returncode == 0, made.stderr
    assert "stator_rotor_gap: null  # such as 2000000" in (run.directory / "t.yaml").read_text()
    said = run("xpcs", "config", "validate", "t.yaml")
    assert said.returncode == 0
    open_keys = [line for line in said.stdout.splitlines() if line.startswith("still to be filled")]
    assert ["stator_rotor_gap" in open_keys[0], "file_path" in open_keys[1]] == [True, True]
    said = run("xpcs", "config", "validate", "t.yaml", "--json")
    assert len(json.loads(said.stdout)["missing"]) == 2
    fit = ["xpcs", "fit", "run.hdf", "--config", "t.yaml", "-o", "from-template", "--n-start", "1"]
    assert "gap: missing" in run(*fit).stderr
    done = run(*fit, "--gap", "2e6")
    assert done.returncode == 0, done.stderr
    assert "gap            2000000 Å (200 µm)" in done.stdout


def test_both_words_write_a_template(run):
    assert run("config", "generate").stdout == run("config", "init").stdout
    assert run("xpcs", "config", "init").stdout == run("xpcs", "config", "generate").stdout


def test_inspect_takes_what_its_error_names(run):
    assert "--c2-path, --q, --phi and --dt" in run("xpcs", "inspect", "plain.npz").stderr
    found = run("xpcs", "inspect", *PLAIN, "--phi=0,90", "--json")
    assert found.returncode == 0, found.stderr
    bins = json.loads(found.stdout)["bins"]
    assert [(b["q"], b["phi"], b["n_frame"]) for b in bins] == [(0.01, 0, 20), (0.01, 90, 20)]
    assert run("xpcs", "inspect", *PLAIN[:3], "--phi=0,90").returncode == 2
    assert run("xpcs", "inspect", "run.hdf", "--q", "0.01").returncode == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["run.hdf", "--gap", "2e6", "--uncertainty", "profile", "--loss", "huber"],
            "profile goes",
        ),
        ([*PLAIN, "--phi=1,2,3", "--mode", "static_anisotropic"], "got 3 angles for the 2"),
        (["--config", "a.yaml", "--config", "b.yaml"], "twice, with 'a.yaml' and 'b.yaml'"),
    ],
)
def test_options_that_do_not_go_together_are_usage(run, words, said):
    result = run("xpcs", "fit", *words, "-o", "never")
    assert (result.returncode, said in result.stderr) == (2, True), result.stderr


def test_messages_name_options(run):
    result = run("xpcs", "fit", "run.hdf", "--gap", "2e6", "--q", "0.3", "-o", "never")
    assert result.returncode == 65
    assert "--q-max-deviation" in result.stderr


def test_convert_and_plot_say_what_they_wrote(run):
    assert "written        a.txc2" in run("xpcs", "convert", "run.hdf", "-o", "a.txc2").stdout
    assert "written        maps" in run("xpcs", "plot", "run.hdf", "-o", "maps").stdout


def test_errors_of_the_bootstrap_are_printed(run):
    words = ["run.hdf", "--gap", "2e6", "-o", "resampled", "--n-bootstrap", "3", "--n-start", "1"]
    result = run("xpcs", "fit", *words, "--uncertainty", "block_bootstrap")
    assert result.returncode == 0, result.stderr
    assert "sd        bootstrap 95 % interval" in result.stdout
    assert "over 3 refits" in result.stdout
    assert "use --uncertainty" not in result.stderr


def test_the_noise_that_was_estimated_is_printed(run):
    words = ["run.hdf", "--gap", "2e6", "-o", "noise", "--n-start", "1"]
    result = run("xpcs", "fit", *words, "--sigma-mode", "estimate")
    line = next(line for line in result.stdout.splitlines() if line.startswith("sigma "))
    assert 0.005 < float(line.split()[1]) < 0.02
    assert line.endswith("by angle")

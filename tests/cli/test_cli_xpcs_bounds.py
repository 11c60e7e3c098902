"""Bounds of parameters on the command line."""

import json

import pytest


@pytest.fixture(scope="module")
def run(tmp_path_factory, tessera_at):
    tessera = tessera_at(tmp_path_factory.mktemp("bounds"))
    theta = "2e4,-0.4,100,0.02,-0.2,0,15"  # phi0 is outside the bounds of the original
    words = [
        "--theta",
        theta,
        "--phi=-80,-40,0,30,60,90",
        "--n-frame",
        "40",
        "--sigma",
        "0.002",
        "--gap",
        "2e5",
    ]
    assert tessera("xpcs", "simulate", "-o", "run.hdf", *words).returncode == 0
    return tessera


def fit(run, *words):
    result = run(
        "xpcs", "fit", "run.hdf", "--gap", "2e5", "-o", "out", "--overwrite", "--json", *words
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["result"], result.stderr


def test_a_warning_at_a_bound_names_the_option_that_moves_it(run):
    _, said = fit(run)
    assert "phi0 is at its upper bound, 10" in said
    assert "--bounds phi0=LOW:HIGH" in said
    found, said = fit(run, "--bounds", "phi0=-45:45,contrast=:0.9")
    assert "at its" not in said
    phi0 = {p["name"]: p["value"] for p in found["parameter_details"]}["phi0"]
    assert abs(phi0 - 15) < 1


def test_equal_bounds_fix(run):
    _, said = fit(run, "--bounds", "phi0=15:15")
    assert "phi0 is at its" not in said
    result = run("xpcs", "fit", "run.hdf", "--gap", "2e5", "-o", "out", "--overwrite",
                 "--bounds", "phi0=15:15")  # fmt: skip
    assert "fixed" in next(line for line in result.stdout.splitlines() if line.startswith("phi0"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("phi1=0:1", "'phi1' is no parameter of mode laminar_flow; did you mean 'phi0'?"),
        ("phi0", "'' is no range; write NAME=LOW:HIGH"),
        ("phi0=3", "'3' is no range"),
        ("phi0=:", "':' is no range"),
        ("phi0=9:a", "'a' is not a number"),
        ("phi0=9:1", "the lower bound, 9, is above the upper, 1"),
        ("phi0=20:", "the lower bound, 20, is above the upper, 10"),
    ],
)
def test_what_is_no_bound(run, text, said):
    result = run("xpcs", "fit", "run.hdf", "--gap", "2e5", "-o", "none", "--bounds", text)
    assert (result.returncode, said in result.stderr) == (2, True), result.stderr

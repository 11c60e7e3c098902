"""Two components on the command line: simulate, fit, and what is refused."""

import json


def test_simulate_and_fit(tessera, tmp_path):
    file = tmp_path / "two.hdf"
    made = ["--n-frame", "40", "--phi=-20,8,60", "--q", "0.0237", "--sigma", "0.005"]
    result = tessera("xpcs", "simulate", "-o", file, "--mode", "two_component", *made)
    assert result.returncode == 0, result.stderr
    own = ["--q", "0.0237", "--sigma", "0.005", "--uncertainty", "covariance"]
    fixed = ["--fix", "alpha_ref=0.298,D_offset_ref=182.5,alpha_sample=0,D_offset_sample=0"]
    out = tmp_path / "out"
    result = tessera("xpcs", "fit", file, "--mode", "two_component", *own, *fixed, "-o", out)
    assert result.returncode == 0, result.stderr
    assert "f_product" in result.stdout
    found = json.loads((out / "nlsq" / "parameters.json").read_text())
    assert found["analysis_mode"] == "two_component"
    assert found["f_product"]["uncertainty"] > 0
    details = {entry["name"]: entry for entry in found["parameter_details"]}
    assert details["f2"]["status"] == "fixed"
    assert found["reduced_chi_squared"] < 1.2


def test_draws(tessera, tmp_path):
    file = tmp_path / "two.hdf"
    made = ["--n-frame", "30", "--phi=-20,8,60", "--q", "0.0237", "--sigma", "0.005"]
    tessera("xpcs", "simulate", "-o", file, "--mode", "two_component", *made)
    words = ["--q", "0.0237", "--sigma", "0.005", "--n-chains", "2", "--n-samples", "100"]
    fixed = "alpha_ref=0.298,D_offset_ref=182.5,alpha_sample=0,D_offset_sample=0,f1=-0.0517,f3=0.6"
    out = tmp_path / "out"
    lines = ["mcmc", file, "--sampler", "laplace", "--mode", "two_component", *words]
    result = tessera("xpcs", *lines, "--fix", fixed, "-o", out)
    assert result.returncode == 0, result.stderr
    found = json.loads((out / "cmc" / "parameters.json").read_text())
    assert found["parameters"]["v0"]["uncertainty"] > 0
    assert found["parameters"]["f2"]["fixed"]
    assert found["f_product"]["uncertainty"] > 0
    assert "as in the fit" in found["components"]
    page = next(out.rglob("*.html")).read_text()
    assert all(word in page for word in ("velocity v(t)", "fs(t)", "transport of the sample"))


def test_what_is_refused(tessera, tmp_path):
    file = tmp_path / "two.hdf"
    tessera("xpcs", "simulate", "-o", file, "--mode", "two_component", "--n-frame", "20")
    for words, said in (
        (["fit", file, "--initial-d0", "5"], "has no such parameter"),
        (["fit", file, "--fix", "beta=0"], "no parameter of mode two_component"),
        (["fit", file, "--precision", "mixed"], "mixed is not there"),
    ):
        result = tessera("xpcs", *words, "--mode", "two_component", "-o", tmp_path / "out")
        assert result.returncode != 0
        assert said in result.stderr

"""Every mode of xpcs with every command that takes one, and with options that change what is done.

A new mode or option is one line here; what does not go together is refused in words.
"""

import itertools

import pytest

MODES = {
    "static_isotropic": [],
    "static_anisotropic": [],
    "laminar_flow": ["--gap", "2e6"],
    "two_component": [],
}
LINES = {
    "plain": ["fit", "FILE", "-o", "out"],
    "robust": ["fit", "FILE", "-o", "out", "--loss", "huber"],
    "profile": ["fit", "FILE", "-o", "out", "--uncertainty", "profile"],
    "bootstrap": ["fit", "FILE", "-o", "out", "--uncertainty", "block_bootstrap"],
    "frames": ["fit", "FILE", "-o", "out", "--noise", "frames"],
    "angles": ["fit", "FILE", "-o", "out", "--per-angle"],
    "mixed": ["fit", "FILE", "-o", "out", "--precision", "mixed"],
    "mcmc": ["mcmc", "FILE", "-o", "out", "--n-samples", "8", "--n-warmup", "20"],
    "laplace": ["mcmc", "FILE", "-o", "out", "--sampler", "laplace", "--n-samples", "50"],
    "joint": ["joint", "FILE", "OTHER", "-o", "out"],
    "rates": ["rates", "FILE", "--knots", "6", "-o", "out"],
    "watch": ["watch", ".", "--once", "--pattern", "[ab].hdf", "-o", "out"],
}
REFUSED = {  # what stands in the message
    ("two_component", "frames"): "block_bootstrap",
    ("two_component", "mixed"): "use f64",
    ("two_component", "rates"): "its rates are power laws",
}


@pytest.fixture(scope="module")
def files(tessera_at, tmp_path_factory):
    made = {}
    for mode, more in MODES.items():
        folder = tmp_path_factory.mktemp(mode)
        for name, seed in (("a.hdf", "1"), ("b.hdf", "2")):
            words = ["simulate", "-o", name, "--mode", mode, "--n-angle", "2", "--n-frame", "24"]
            result = tessera_at(folder)("xpcs", *words, "--seed", seed, "-q")
            assert result.returncode == 0, result.stderr
        made[mode] = tessera_at(folder), more
    return made


@pytest.mark.parametrize(("mode", "line"), [*itertools.product(MODES, LINES)])
def test_they_go_together_or_are_refused(files, mode, line):
    run, more = files[mode]
    words = [{"FILE": "a.hdf", "OTHER": "b.hdf", "out": line}.get(w, w) for w in LINES[line]]
    result = run("xpcs", *words, "--mode", mode, *more, "--overwrite")
    message = REFUSED.get((mode, line))
    if message is None:
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode in (2, 69), result.stderr
        assert message in result.stderr


@pytest.mark.parametrize("mode", MODES)
def test_speckle(files, mode):
    run, _ = files[mode]
    words = ["--mode", mode, "--n-frame", "20", "--n-angle", "1", "--n-pixel", "200", "--overwrite"]
    result = run("xpcs", "simulate", "-o", "speckle.hdf", "--speckle", *words)
    if mode == "two_component":
        assert result.returncode == 69
        assert "simulate without" in result.stderr
    else:
        assert result.returncode == 0, result.stderr


def test_models_are_compared(files):
    run, _ = files["two_component"]
    models = ["static_isotropic", "static_anisotropic", "two_component"]
    words = ["a.hdf", "--models", ",".join(models), "--method", "laplace", "-o", "models.json"]
    result = run("xpcs", "compare", *words, "--n-draw", "200")
    assert result.returncode == 0, result.stderr
    assert all(model in result.stdout for model in models)

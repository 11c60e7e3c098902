"""Whole commands under every instruction set give what docs/determinism.md promises."""

import json
from pathlib import Path

import numpy as np
import pytest

MEG = Path(__file__).parents[1] / "golden" / "autoreject" / "formats" / "meg-epo.fif"

RUNS = {
    "ptp": ("autoreject", "ptp", "epochs.npy", "-o", "out.npy"),
    "transform": (
        *("autoreject", "fit-transform", "epochs.npy", "--sampling-hz", "250"),
        *("--montage", "head.csv", "-o", "out.npy"),
    ),
    "meg": (
        *("autoreject", "fit-transform", "meg.fif", "-o", "out.npy", "--log", "log.npz"),
        *("--n-fold", "2"),
    ),
    "xpcs": ("xpcs", "fit", "x.txc2", "-o", "out"),
    "decode-exact": ("decode", "run", "d.npz", "-o", "out", "--mode", "exact"),
    "decode-fast": ("decode", "run", "d.npz", "-o", "out", "--mode", "fast"),
    "decode-em": ("decode", "em", "d.npz", "-o", "out.npz", "--max-iterations", "2"),
}
# Parts of the largest value of an array, where sums are as wide as the vectors.
ALLOWED = {"meg": 1e-9, "decode-exact": 1e-12, "decode-fast": 1e-5, "decode-em": 1e-12}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, tessera_at):
    """Small inputs of three systems."""
    folder = tmp_path_factory.mktemp("inputs")
    tessera = tessera_at(folder)
    sizes = ("--epochs", "40", "--channels", "16", "--samples", "200")
    for words in (
        ("autoreject", "simulate", "-o", "epochs.npy", "--positions", "head.csv", *sizes),
        ("xpcs", "simulate", "-o", "x.txc2", "--n-angle", "3", "--n-frame", "120", "--dt", "0.1"),
        ("decode", "simulate", "small", "-o", "d.npz"),
    ):
        result = tessera(*words, "-q")
        assert result.returncode == 0, result.stderr
    (folder / "meg.fif").symlink_to(MEG)
    return folder


def sets_of(tessera):
    found = json.loads(tessera("sysinfo", "--json").stdout)["isa"]
    return [isa["name"] for isa in found if isa["usable"]]


def arrays_of(folder):
    """Every array that a command left, by file and name; provenance apart."""
    found = {}
    for path in sorted(folder.rglob("*.np[yz]")):
        data = np.load(path)
        items = {"": data} if path.suffix == ".npy" else {name: data[name] for name in data.files}
        for name, array in items.items():
            if "provenance" not in name and array.dtype.kind not in "OSU":
                found[f"{path.relative_to(folder)}:{name}"] = array
    return found


def run_under(isa, name, inputs, tessera_at, folder):
    folder.mkdir()
    for path in inputs.iterdir():
        (folder / path.name).symlink_to(path)
    tessera = tessera_at(folder)
    result = tessera(*RUNS[name], "--isa", isa, "-q")
    assert result.returncode == 0, result.stderr
    for path in inputs.iterdir():
        (folder / path.name).unlink()
    return arrays_of(folder)


@pytest.mark.parametrize("name", RUNS)
def test_instruction_sets_agree(name, inputs, tessera_at, tmp_path):
    sets = sets_of(tessera_at(tmp_path))
    assert sets[0] == "ref"
    wanted = run_under(sets[-1], name, inputs, tessera_at, tmp_path / sets[-1])
    assert wanted
    for isa in sets[:-1]:
        got = run_under(isa, name, inputs, tessera_at, tmp_path / isa)
        assert got.keys() == wanted.keys()
        for key, array in wanted.items():
            if array.dtype.kind != "f" or name not in ALLOWED:
                assert got[key].tobytes() == array.tobytes(), f"{key} under {isa}"
                continue
            allowed = ALLOWED[name] * np.nanmax(np.abs(array), initial=0)
            np.testing.assert_allclose(
                got[key], array, rtol=0, atol=allowed, err_msg=f"{key} under {isa}"
            )

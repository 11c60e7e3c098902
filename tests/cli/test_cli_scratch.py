"""--scratch: what does not fit into memory goes there, and nothing is left of it."""

import os

import numpy as np
import pytest

FIT = ["xpcs", "fit", "x.hdf", "--gap", "2e6", "--no-cache", "--memory-limit", "2M", "--mode",
       "static_isotropic", "-q"]
LEARN = ["autoreject", "fit", "e.npz", "--memory-limit", "8M", "--n-fold", "3", "-q"]
DECODE = ["decode", "run", "d.npz", "--want", "path", "-q"]
WAYS = {"fit": FIT, "learn": LEARN, "decode": DECODE}
RESULT = {"fit": "fit", "learn": "learn.json", "decode": "decode"}


@pytest.fixture(scope="module")
def data(tessera_at, tmp_path_factory):
    tessera = tessera_at(tmp_path_factory.mktemp("scratch"))
    made = tessera("xpcs", "simulate", "-o", "x.hdf", "--n-angle", "2", "--n-frame", "300", "-q")
    if made.returncode == 69:
        pytest.skip("built without HDF5")
    assert made.returncode == 0, made.stderr
    assert tessera("decode", "simulate", "tiny", "-o", "d.npz", "-q").returncode == 0
    rng = np.random.default_rng(4)
    angle = np.linspace(0.2, 5.9, 16)
    place = 0.09 * np.stack([np.cos(angle), np.sin(angle), np.full(16, 0.5)], axis=1)
    np.savez(tessera.directory / "e.npz", data=rng.normal(0, 1e-5, (40, 16, 2000)), pos=place,
             ch_names=np.array([f"E{i}" for i in range(16)]), sfreq=250.0)
    (tessera.directory / "room").mkdir()
    return tessera


@pytest.mark.parametrize("name", WAYS)
def test_what_goes_there(data, name):
    """To a folder in which no file can be created, then to one of ours."""
    result = data(*WAYS[name], "-o", RESULT[name], "--scratch", "/proc")
    assert result.returncode == 73, result.stderr
    assert "/proc" in result.stderr
    result = data(*WAYS[name], "-o", RESULT[name], "--scratch", "room")
    assert result.returncode == 0, result.stderr
    assert os.listdir(data.directory / "room") == []


@pytest.mark.parametrize(("folder", "says"), [("none", "no such folder"),
                                              ("d.npz", "is a file; name a folder")])
def test_a_folder_that_is_none(data, folder, says):
    result = data(*DECODE, "-o", "refused", "--scratch", folder)
    assert (result.returncode, says in result.stderr) == (73, True), result.stderr
    result = data(*DECODE, "-o", "refused", environment={"TESSERA_SCRATCH": folder})
    assert (result.returncode, "TESSERA_SCRATCH" in result.stderr) == (73, True), result.stderr
    assert not (data.directory / "refused").exists()

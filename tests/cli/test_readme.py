"""What the README shows works when it is typed, with small files of the names it has."""

import re
import subprocess
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
BOXES = dict(re.findall(r"^## I have ([a-z -]+)\n(.*?)(?=^## )", README, re.M | re.S))
MAKE = {
    "epochs": "autoreject simulate -o x.npy --positions head.csv --epochs 30 --channels 40 "
    "--samples 60\nautoreject fit-transform x.npy --montage head.csv --sampling-hz 100 "
    "-o sub-01-epo.fif",
    "spikes": "decode simulate tiny -o day.npz",
    "two-time correlations": "xpcs simulate -o run42.hdf --n-angle 4 --n-frame 40 --sigma 0.02",
    "tensors": "clifford table +++",
}


@pytest.fixture(scope="module")
def small(tessera_at, tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    run = tessera_at(folder)
    for line in "\n".join(MAKE.values()).splitlines():
        result = run(*line.split(), "-q")
        assert result.returncode == 0, result.stderr
    return folder


def test_there_is_a_box_for_every_audience():
    assert set(BOXES) == set(MAKE)
    for name, box in BOXES.items():
        (picture,) = re.findall(r'<img src="([^"]+)"', box)
        assert (Path(__file__).resolve().parents[2] / picture).stat().st_size < 60_000, name


@pytest.mark.parametrize("box", MAKE)
def test_its_command_works(small, tessera_at, box):
    (line,) = re.findall(r"`tessera ([^`]+)`", BOXES[box])
    words = line.replace("day.nwb", "day.npz").split()  # the same recording in another format
    result = tessera_at(small)(*words)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("box", MAKE)
def test_its_python_works(small, monkeypatch, box):
    (code,) = re.findall(r"```python\n(.*?)```", BOXES[box], re.S)
    names = {}
    if box == "epochs":
        mne = pytest.importorskip("mne")
        names["epochs"] = mne.read_epochs(small / "sub-01-epo.fif", verbose=False)
    elif box == "spikes":
        recording = pytest.importorskip("tessera.decode").read_recording(small / "day.npz")
        names |= {
            "time": recording.position_time,
            "position": recording.position,
            "spikes": recording.encoding_spike_times,
            "features": recording.encoding_spike_waveform_features,
        }
    elif box == "tensors":
        names["torch"] = pytest.importorskip("torch")
    monkeypatch.chdir(small)
    exec(code, names)


def test_its_verbs_are_those_of_dev():
    root = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        [root / "dev"], capture_output=True, text=True, check=True, cwd=root
    ).stdout
    for verb in set(re.findall(r"\./dev ([a-z]+)", README)):
        assert f"\n  {verb} " in listed, verb

"""Several GPUs of a host, and one of each rank: the files of one, by GPUs that are a CPU."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_command import BINARY
from test_cli_mpi import MODULE, MPIRUN, mpirun

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from study_trees import tree

FAKES = BINARY.parent.parent / "tests" / "backend" / "fake_gpus.so"
pytestmark = pytest.mark.skipif(not FAKES.exists(), reason="built without its tests")
GPUS = {"TESSERA_CUDA_PLUGIN": str(FAKES), "FAKE_GPUS": "3"}
LISTS = ["cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:2,cuda:0,cuda:1"]


def with_gpus(tessera_at, folder):
    tessera = tessera_at(folder)
    tessera.environment = tessera.environment | GPUS
    return tessera


@pytest.fixture
def gpus(tessera_at, tmp_path):
    return with_gpus(tessera_at, tmp_path)


def digests(folder, but=()):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in but
    }


# ---- Names ---------------------------------------------------------------------------------------


def test_the_chosen_ones_are_marked(gpus):
    result = gpus("device", "--device", "cuda:0,cuda:2", "-v")
    lines = result.stdout.splitlines()
    assert [line[2:8] for line in lines if line.startswith("* ")] == ["cuda:0", "cuda:2"]
    assert lines[-1] == "chosen: cuda:0,cuda:2 (asked for)"
    assert "work is divided over 2 devices: cuda:0,cuda:2" in result.stderr
    rows = json.loads(gpus("device", "--device", "cuda:all", "--json").stdout)
    assert rows["chosen"] == "cuda:0,cuda:1,cuda:2"


@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("cuda:7", "'cuda:7' does not exist: cuda has 3, from cuda:0 on"),
        ("cuda:0,cuda:7", "'cuda:7' does not exist: cuda has 3, from cuda:0 on"),
        ("cpu,cuda:0", "name GPUs alone (cuda:0,cuda:1), or one device"),
    ],
)
def test_a_wrong_name_is_an_error(gpus, device, says):
    result = gpus("device", "--device", device)
    assert result.returncode == 69
    assert says in result.stderr


def test_without_gpus_a_list_is_refused(tessera):
    tessera.environment = tessera.environment | {"TESSERA_CUDA_PLUGIN": "none"}
    result = tessera("device", "--device", "cuda:0,cuda:1")
    assert result.returncode == 69
    assert "device 'cuda:0' is not available" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["autoreject", "ptp", "epochs.npy", "-o", "ptp.npy"],
        [
            "autoreject",
            "fit",
            "bids/sub-01/eeg/sub-01_task-odd_eeg.vhdr",
            "--tmin",
            "-0.05",
            "--tmax",
            "0.3",
            "-o",
            "model.json",
        ],
        ["xpcs", "simulate", "-o", "s.txc2"],
        ["clifford", "bench", "+++", "--batch", "16", "--features", "4"],
    ],
)
def test_what_works_on_one_refuses_several(gpus, words):
    tree(gpus.directory / "bids", n_subject=1)
    made = gpus("autoreject", "simulate", "-o", "epochs.npy", "--epochs", "8", "-q")
    assert made.returncode == 0, made.stderr
    result = gpus(*words, "--device", "cuda:0,cuda:1")
    assert result.returncode != 0
    assert "works on one device in this version" in result.stderr, result.stderr
    assert "--device cuda:0" in result.stderr


# ---- Decoding ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording(tessera_at, tmp_path_factory):
    tessera = with_gpus(tessera_at, tmp_path_factory.mktemp("recording"))
    for line in (
        [
            "decode",
            "simulate",
            "tiny",
            "-o",
            "r.npz",
            "--time-bins",
            "700",
            "--decoding-spikes",
            "900",
        ],
        ["decode", "run", "r.npz", "-o", "one", "--device", "cuda:0"],
    ):
        result = tessera(*line)
        assert result.returncode == 0, result.stderr
    return tessera


@pytest.mark.parametrize("device", LISTS)
def test_rows_of_several_devices_are_those_of_one(recording, device):
    out = device.replace(",", "-")
    result = recording("decode", "run", "r.npz", "-o", out, "--device", device, "-v")
    assert result.returncode == 0, result.stderr
    assert f"likelihood on {device}" in result.stderr
    one = digests(recording.directory / "one")
    assert digests(recording.directory / out) == one
    assert "acausal_posterior.npy" in one


def test_a_device_that_fails_is_named(recording):
    recording.environment["FAKE_GPUS_FAIL"] = "1"
    result = recording("decode", "run", "r.npz", "-o", "bad", "--device", "cuda:0,cuda:1")
    del recording.environment["FAKE_GPUS_FAIL"]
    assert result.returncode == 69
    assert "cuda:1: it was told to fail" in result.stderr
    assert not (recording.directory / "bad").exists()


def test_events_are_refused(recording):
    result = recording("decode", "events", "r.npz", "-o", "e.csv", "--device", "cuda:all")
    assert result.returncode != 0
    assert "the scoring of events works on one device" in result.stderr


# ---- Ranks ---------------------------------------------------------------------------------------

needs_mpi = pytest.mark.skipif(MPIRUN is None or not MODULE.exists(), reason="no MPI")


@needs_mpi
@pytest.mark.parametrize(
    ("device", "of_rank_0"),
    [
        ("cuda", "the 2 ranks of this machine share 3 GPUs in turn: rank 0 works on cuda:0"),
        ("cuda:all", "work is divided over 2 devices: cuda:0,cuda:2"),
        ("cuda:1", ""),
    ],
)
def test_ranks_have_gpus_of_their_own(recording, device, of_rank_0):
    out = f"ranks-{device}"
    result = mpirun(recording, 2, "decode", "run", "r.npz", "-o", out, "--device", device, "-v")
    assert result.returncode == 0, result.stderr
    assert of_rank_0 in result.stderr
    assert digests(recording.directory / out) == digests(recording.directory / "one")


@needs_mpi
def test_fits_of_ranks_on_gpus_are_those_of_one(gpus):
    words = ["--mode", "static_anisotropic", "--n-angle", "2", "--n-frame", "240"]
    fit = ["xpcs", "fit", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004"]
    for line in (
        ["xpcs", "simulate", "-o", "s.txc2", *words, "--sigma", "0.004"],
        [*fit, "-o", "one", "--device", "cuda"],
    ):
        result = gpus(*line)
        assert result.returncode == 0, result.stderr
    result = mpirun(gpus, 3, *fit, "-o", "three", "--device", "cuda")
    assert result.returncode == 0, result.stderr
    same = gpus("diff", "one", "three")
    assert same.returncode == 0, same.stdout


@needs_mpi
def test_ranks_on_devices_of_two_kinds_are_refused(recording):
    words = [
        MPIRUN,
        "-n",
        "1",
        str(BINARY),
        "decode",
        "run",
        "r.npz",
        "-o",
        "mixed",
        "--device",
        "cuda",
        ":",
        "-n",
        "1",
        str(BINARY),
        "decode",
        "run",
        "r.npz",
        "-o",
        "mixed",
        "--device",
        "cpu",
    ]
    environment = recording.environment | {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    result = subprocess.run(
        words,
        cwd=recording.directory,
        env=environment,
        text=True,
        check=False,
        capture_output=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert result.returncode == 69
    assert "rank 1 computes on cpu, rank 0 on Fake GPU" in result.stderr

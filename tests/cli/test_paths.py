"""Every path of every command, by the table that 'tessera help --json' prints.

What is read is never written, two results are never one file, what is there stays whole when the
disk is full, and everything that is written says what made it. A new command or option is in these
tests as soon as it is in the table; LINES has to name it, or a test says so.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import BINARY, Command

sys.path.append(str(Path(__file__).resolve().parents[1] / "faults"))
INJECTOR = BINARY.parents[1] / "tests/faults/tess_fault_inject.so"

TABLE = json.loads(subprocess.run([BINARY, "help", "--json"], capture_output=True, check=True).stdout)
COMMANDS = {c["name"]: c for c in TABLE["commands"] if c["is_present"]}
FILES = ("write", "replace", "append", "result")
FOLDERS = ("into", "own")

AUTOREJECT = ["x.npz", "--montage", "head.csv"]
FIT = ["run.hdf", "--gap", "2e6", "--mode", "static_anisotropic", "--max-nfev", "5"]
ENGINE = ["--trace", "new/t.json", "--log-file", "new/l.log"]

# A line of every command that writes, with every option that names what is written.
LINES = {
    "autoreject fit": [*AUTOREJECT, "-o", "new/m.json", "--log", "new/l.npz", "--report",
                       "new/r.html", "--checkpoint", "new/work", *ENGINE],
    "autoreject transform": [*AUTOREJECT, "-m", "model.json", "-o", "new/c-epo.fif", "--log",
                             "new/l.npz", "--report", "new/r.html", "--checkpoint", "new/work",
                             *ENGINE],
    "autoreject fit-transform": [*AUTOREJECT, "-o", "new/c.npy", "--save-model", "new/m.json",
                                 "--log", "new/l.npz", "--report", "new/r.html", "--checkpoint",
                                 "new/work", *ENGINE],
    "autoreject thresholds": [*AUTOREJECT, "-o", "new/m.json", *ENGINE],
    "autoreject global": [*AUTOREJECT, *ENGINE],
    "autoreject validation-curve": [*AUTOREJECT, "--thresholds", "4e-5,8e-5", *ENGINE],
    "autoreject ransac": [*AUTOREJECT, *ENGINE],
    "autoreject info": [*AUTOREJECT, *ENGINE],
    "autoreject ptp": ["x.npz", "--dataset", "data", "-o", "new/p.npy", "--report", "new/r.html",
                       "--checkpoint", "new/work", *ENGINE],
    "autoreject simulate": ["-o", "new/x.npy", "--positions", "new/h.csv", "--checkpoint",
                            "new/work", "--epochs", "4", *ENGINE],
    "decode run": ["rec.npz", "-o", "new/res.h5", "--report", "new/r.html", "--checkpoint",
                   "new/work", *ENGINE],
    "decode fit": ["rec.npz", "-o", "new/m.npz", *ENGINE],
    "decode predict": ["rec.npz", "--model-file", "decode.npz", "-o", "new/res", "--report",
                       "new/r.html", "--checkpoint", "new/work", *ENGINE],
    "decode em": ["rec.npz", "-o", "new/m.npz", "--max-iterations", "2", *ENGINE],
    "decode simulate": ["tiny", "-o", "new/r.npz", *ENGINE],
    "decode report": ["result.h5", "--recording", "rec.npz", "-o", "new/r.html", *ENGINE],
    "xpcs fit": [*FIT, "-o", "new/fit", "--report", "new/r.html", "--cache", "new/cache",
                 "--save-plots", "--output-format", "json", "--checkpoint", "new/work", *ENGINE],
    "xpcs simulate": ["-o", "new/r.hdf", "--n-angle", "2", "--n-frame", "24", *ENGINE],
    "xpcs inspect": ["run.hdf", *ENGINE],
    "xpcs convert": ["run.hdf", "-o", "new/r.txc2", "--cache", "new/cache", *ENGINE],
    "xpcs plot": ["run.hdf", "-o", "new/maps", "--cache", "new/cache", *ENGINE],
    "xpcs config": ["generate", "-o", "new/c.yaml"],
    "clifford bench": ["++", "--batch", "8", "--features", "8", "--seconds", "0.001", "--report",
                       "new/r.html", *ENGINE],
    "clifford check": ["++", "--rows", "4", "--features", "4", *ENGINE],
    "demo": ["clifford", "--dir", "new/demo"],
    "bench": ["ptp-f32-cached", *ENGINE],
    "device": ENGINE,
    "sysinfo": ENGINE,
    "selftest": ENGINE,
    "config init": ["-o", "new/c.yaml"],
    "config show": ENGINE,
}
SLOW = {"demo", "bench", "selftest"}  # what they write, other commands write


def options(command, roles):
    """Options whose path plays one of these roles, as they are typed."""
    return [f"--{o['name']}" for o in COMMANDS[command]["options"] if o["path"] in roles]


def spelled(word):
    return {"-o": "--output", "-m": "--model"}.get(word, word)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A folder with one small input of every kind."""
    folder = tmp_path_factory.mktemp("inputs")
    run = Command(folder)
    for words in (
        "autoreject simulate -o x.npy --positions head.csv --epochs 12 --channels 6 --samples 40",
        "decode simulate tiny -o rec.npz",
        "decode fit rec.npz -o decode.npz",
        "decode run rec.npz -o result.h5",
        "xpcs simulate -o run.hdf --mode static_anisotropic --n-angle 2 --n-frame 24",
        "config init -o run.yaml",
    ):
        result = run(*words.split(), "-q")
        assert result.returncode == 0, result.stderr
    places = np.genfromtxt(folder / "head.csv", delimiter=",", dtype=str)
    np.savez(folder / "x.npz", data=np.load(folder / "x.npy"), sfreq=250.0, ch_names=places[:, 0])
    for name in ("x.npy", "x.npy.json"):
        (folder / name).unlink()
    for words in ("fit x.npz --montage head.csv -o model.json --log log.npz",):
        result = run("autoreject", *words.split(), "-q")
        assert result.returncode == 0, result.stderr
    np.savetxt(folder / "events.txt", [[0, 0, 1], [40, 0, 1]], fmt="%d")
    return folder


@pytest.fixture
def inputs(prepared, tmp_path):
    """The same by hard links in a folder of its own, and a folder for what is written."""
    folder = tmp_path / "here"
    folder.mkdir()
    for file in prepared.iterdir():
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    (folder / "new").mkdir()
    return Command(folder)


def files_below(folder):
    return {str(p.relative_to(folder)): p for p in sorted(Path(folder).rglob("*")) if p.is_file()}


def content(folder):
    return {name: path.read_bytes() for name, path in files_below(folder).items()}


def leftovers(folder):
    return [name for name in files_below(folder) if ".tmp." in name or name.endswith(".part")]


def test_every_path_has_a_role():
    for name, command in COMMANDS.items():
        for operand in command["operands"]:
            assert operand["is_said"], f"{name}: operand_roles of {operand['name']} is missing"
        for option in command["options"]:
            names_one = option["value"] in ("FILE", "DIR")
            assert names_one == (option["path"] is not None), f"{name} --{option['name']}"


def test_every_option_that_writes_is_in_a_line():
    for name in COMMANDS:
        written = set(options(name, FILES + FOLDERS)) - {"--output-dir"}
        assert written <= set(map(spelled, LINES.get(name, []))), name


# ---- The same file twice -----------------------------------------------------------------------

READS = {}  # command: (what the user calls it, how it is typed before the path)
for _name, _command in COMMANDS.items():
    READS[_name] = [
        (o["name"], None) for o in _command["operands"] if o["path"] == "read"
    ] + [(o, o) for o in options(_name, ("read",))]

FILLER = {"xpcs config": ["show"]}


def line_with(command, read, path):
    """The command with one path to read, other operands filled in."""
    words = command.split() + FILLER.get(command, [])
    if read is None:
        return [*words, path]
    needed = [o for o in COMMANDS[command]["operands"] if o["needed"] and o["path"] == "read"]
    return [*words, *(["other.npy"] * len(needed)), read, path]


def disguises(folder):
    """Other names of folder/victim.npy."""
    (folder / "sub").mkdir()
    (folder / "link.npy").symlink_to("victim.npy")
    (folder / "sub/far.npy").symlink_to("../link.npy")
    os.link(folder / "victim.npy", folder / "hard.npy")
    return ["victim.npy", "./victim.npy", "sub/../victim.npy", str(folder / "victim.npy"),
            "link.npy", "sub/far.npy", "hard.npy"]


@pytest.mark.parametrize("command", [n for n in COMMANDS if READS[n] and
                                     options(n, FILES + FOLDERS)])
def test_nothing_is_read_and_written(command, tessera, tmp_path):
    (tmp_path / "victim.npy").write_bytes(b"precious")
    (tmp_path / "other.npy").write_bytes(b"other")
    names = disguises(tmp_path)
    before = content(tmp_path)
    force = [f"--{o['name']}" for o in COMMANDS[command]["options"]
             if o["name"] in ("overwrite", "force")]
    lines = []
    for (label, read), write in itertools.product(READS[command],
                                                  options(command, FILES + FOLDERS)):
        for k, name in enumerate(names):
            more = force if k % 2 else []
            lines.append((label, write, line_with(command, read, "victim.npy") +
                          [write, name, *more]))
        lines.append((label, write, line_with(command, read, "link.npy") +
                      [write, "victim.npy", *force]))
    for label, write, words in lines:
        result = tessera(*words)
        typed = {"--output": "-o", "--output-dir": "-o"}.get(write, write)
        assert result.returncode == 2, (words, result.stderr)
        assert "is read" in result.stderr, words
        assert f"{label} " in result.stderr, words
        assert f"{typed} " in result.stderr, words
    assert content(tmp_path) == before


@pytest.mark.parametrize("command", [n for n in COMMANDS if
                                     len(options(n, FILES)) > 1])
def test_no_two_results_are_one_file(command, tessera, tmp_path):
    (tmp_path / "other.npy").write_bytes(b"other")
    (tmp_path / "sub").mkdir()
    needed = [o for o in COMMANDS[command]["operands"] if o["needed"]]
    words = command.split() + ["other.npy"] * len(needed)
    before = content(tmp_path)
    for one, two in itertools.combinations(options(command, FILES), 2):
        for name in ("both.npy", "sub/../both.npy"):
            result = tessera(*words, one, "both.npy", two, name)
            assert result.returncode == 2, (one, two, result.stderr)
            assert "two results of one name" in result.stderr
    assert content(tmp_path) == before


@pytest.mark.parametrize("command", [n for n in COMMANDS if "--checkpoint" in options(n, ("own",))])
def test_the_checkpoint_folder_is_the_run_s_own(command, tessera, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work/in.npy").write_bytes(b"precious")
    if READS[command]:
        label, read = READS[command][0]
        result = tessera(*line_with(command, read, "work/in.npy"), "--checkpoint", "work")
        assert result.returncode == 2
        assert f"{label} work/in.npy lies in --checkpoint work" in result.stderr
    needed = [o for o in COMMANDS[command]["operands"] if o["needed"]]
    result = tessera(*command.split(), *["x.npy"] * len(needed), "-o", "./work/out.npy",
                     "--checkpoint", "work")
    assert result.returncode == 2
    assert "-o ./work/out.npy lies in --checkpoint work" in result.stderr


@pytest.mark.parametrize(("read", "written"), [
    ("rec.vhdr", "rec.eeg"), ("rec.vhdr", "rec.vmrk"), ("rec.set", "rec.fdt"),
    ("rec-epo.fif", "rec-epo-1.fif"), ("rec_split-01_raw.fif", "rec_split-02_raw.fif"),
    ("sub-01_task-x_eeg.vhdr", "sub-01_channels.tsv"),
    ("sub-01_task-x_eeg.edf", "sub-01_task-x_events.tsv"), ("x.npy", "x.npy.json"),
])
def test_companions_are_read_too(tessera, tmp_path, read, written):
    for name in (read, written):
        (tmp_path / name).write_bytes(b"precious")
    os.link(tmp_path / written, tmp_path / "hard")
    for name in (written, "hard"):
        result = tessera("autoreject", "fit", read, "--report", name, "--overwrite")
        assert result.returncode == 2
        assert f"--report {name} is read with INPUT {read}" in result.stderr
    assert tessera("autoreject", "fit", read, "--report", "free.html").returncode != 2
    assert (tmp_path / written).read_bytes() == b"precious"


@pytest.mark.parametrize("words", [
    "decode report res -o res/position.npy --overwrite",
    "decode run res/rec.npz -o res --overwrite",
    "decode run rec.npz -o res.h5 --trace res.h5.json",
    "autoreject ptp x.npy -o p.npy --report p.npy.json",
    "xpcs fit fit/result.h5 -o fit --overwrite",
    "xpcs fit run.hdf -o fit --trace fit/nlsq/parameters.json --overwrite",
    "xpcs fit --config c.yaml --trace run.hdf --overwrite",
    "xpcs fit run.hdf --config c.yaml --log-file c.yaml",
    "xpcs fit run.hdf -o same --report same",
])
def test_folders_sidecars_and_configurations(tessera, tmp_path, words):
    for name in ("res/position.npy", "res/rec.npz", "rec.npz", "x.npy", "fit/result.h5",
                 "fit/nlsq/parameters.json", "run.hdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"precious")
    (tmp_path / "c.yaml").write_text("experimental_data:\n  file_path: run.hdf\n")
    before = content(tmp_path)
    result = tessera(*words.split())
    assert result.returncode == 2, result.stderr
    assert content(tmp_path) == before


def test_paths_of_the_environment_count(tessera, tmp_path, epochs):
    before = content(tmp_path)
    result = tessera("autoreject", "ptp", "epochs.npy",
                     environment={"TESSERA_TRACE": str(epochs)})
    assert result.returncode == 2
    (tmp_path / "c.yaml").write_text("run:\n  threads: 1\n")
    result = tessera("autoreject", "ptp", "epochs.npy", "-o", "c.npy", "--log-file", "c.yaml",
                     environment={"TESSERA_CONFIG": "c.yaml"})
    assert result.returncode == 2
    assert "TESSERA_CONFIG c.yaml" in result.stderr
    (tmp_path / "c.yaml").unlink()
    assert content(tmp_path) == before

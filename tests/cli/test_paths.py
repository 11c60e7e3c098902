"""Every path of every command, by the table that 'tessera help --json' prints.

What is read is never written, two results are never one file, what is there stays whole when the
disk is full, and everything that is written says what made it. A new command or option is in these
tests as soon as it is in the table; LINES has to name it, or a test says so.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_command import BINARY, Command

TABLE = json.loads(subprocess.check_output([BINARY, "help", "--json"]))
COMMANDS = {c["name"]: c for c in TABLE["commands"] if c["is_present"]}
FILES = ("write", "replace", "append", "result")
FOLDERS = ("into", "own")

AUTOREJECT = ["x.npz", "--montage", "head.csv"]
FIT = ["run.hdf", "--gap", "2e6", "--mode", "static_anisotropic", "--max-nfev", "5"]
ENGINE = ["--trace", "new/t.json", "--log-file", "new/l.log", "--log-json", "new/l.jsonl"]

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
    "autoreject thresholds": [*AUTOREJECT, "-o", "new/m.json", "--checkpoint", "new/work", *ENGINE],
    "autoreject global": [*AUTOREJECT, *ENGINE],
    "autoreject validation-curve": [*AUTOREJECT, "--thresholds", "4e-5,8e-5", *ENGINE],
    "autoreject ransac": [*AUTOREJECT, *ENGINE],
    "autoreject info": [*AUTOREJECT, *ENGINE],
    "autoreject study": ["bids", "--montage", "head.csv", "--window", "0.16", "-o", "new/study",
                         "--checkpoint", "new/work", *ENGINE],
    "autoreject ptp": ["x.npz", "--dataset", "data", "-o", "new/p.npy", "--report", "new/r.html",
                       "--checkpoint", "new/work", *ENGINE],
    "autoreject simulate": ["-o", "new/x.npy", "--positions", "new/h.csv", "--checkpoint",
                            "new/work", "--epochs", "4", *ENGINE],
    "decode run": ["rec.npz", "-o", "new/res.h5", "--report", "new/r.html", "--intervals",
                   "parts.csv", "--checkpoint", "new/work", *ENGINE],
    "decode fit": ["rec.npz", "-o", "new/m.npz", *ENGINE],
    "decode predict": ["rec.npz", "--model-file", "decode.npz", "--intervals", "parts.csv", "-o",
                       "new/res", "--report", "new/r.html", "--checkpoint", "new/work", *ENGINE],
    "decode em": ["rec.npz", "-o", "new/m.npz", "--max-iterations", "2", "--checkpoint", "new/work",
                  *ENGINE],
    "decode tune": ["rec.npz", "--points", "3", "--rounds", "1", "--refine", "0", "--folds", "2",
                    "-o", "new/best.yaml", "--report", "new/t.html", *ENGINE],
    "decode events": ["rec.npz", "--intervals", "iv.csv", "--shuffles", "9", "-o", "new/e.h5",
                      "--report", "new/r.html", "--checkpoint", "new/work", *ENGINE],
    "decode info": ["rec.npz", *ENGINE],
    "decode online": ["rec.npz", "--bin-width", "0.05", *ENGINE],
    "decode simulate": ["tiny", "-o", "new/r.npz", *ENGINE],
    "decode report": ["result.h5", "--recording", "rec.npz", "-o", "new/r.html", *ENGINE],
    "xpcs fit": [*FIT, "-o", "new/fit", "--report", "new/r.html", "--cache", "new/cache",
                 "--save-plots", "--output-format", "json", "--checkpoint", "new/work", *ENGINE],
    "xpcs mcmc": [*FIT, "-o", "new/fit", "--report", "new/r.html", "--cache", "new/cache",
                  "--n-samples", "8", "--n-warmup", "20", "--checkpoint", "new/work", *ENGINE],
    "xpcs watch": [".", "--once", "--pattern", "run.hd*", *FIT[1:], "-o", "new/live", "--cache",
                   "new/cache", *ENGINE],
    "xpcs joint": ["run.hdf", "run2.hdf", "--qs", "all", "--mode", "static_anisotropic", "-o",
                   "new/joint", "--checkpoint", "new/work", *ENGINE],
    "xpcs rates": ["run.hdf", "--mode", "static_anisotropic", "--knots", "6", "--spacing", "log",
                   "-o", "new/rates", "--cache", "new/cache", *ENGINE],
    "xpcs simulate": ["-o", "new/r.hdf", "--n-angle", "2", "--n-frame", "24", *ENGINE],
    "xpcs inspect": ["run.hdf", *ENGINE],
    "xpcs convert": ["run.hdf", "-o", "new/r.txc2", "--cache", "new/cache", *ENGINE],
    "xpcs g2": ["run.hdf", "-o", "new/g2.csv", "--cache", "new/cache", *ENGINE],
    "xpcs plot": ["run.hdf", "-o", "new/maps", "--cache", "new/cache", *ENGINE],
    "xpcs compare": ["run.hdf", "--gap", "2e6", "--models", "static_anisotropic", "--n-draw", "60",
                     "--n-warmup", "60", "-o", "new/m.json", "--report", "new/m.html",
                     "--cache", "new/cache", *ENGINE],
    "xpcs config": ["generate", "-o", "new/c.yaml"],
    "clifford bench": ["++", "--batch", "8", "--features", "8", "--seconds", "0.001", "--report",
                       "new/r.html", *ENGINE],
    "clifford check": ["++", "--rows", "4", "--features", "8", *ENGINE],
    "demo": ["clifford", "--dir", "new/demo"],
    "bench": ["ptp-f32-cached", *ENGINE],
    "device": ENGINE,
    "sysinfo": ENGINE,
    "selftest": ENGINE,
    "rerun": ["result.h5", "-o", "new/again.h5"],
    "slurm": ["-o", "new/job.sh", "--mem", "1G", "autoreject", "ptp", "any.npy"],
    "pbs": ["-o", "new/job.sh", "--mem", "1G", "autoreject", "ptp", "any.npy"],
    "config init": ["-o", "new/c.yaml"],
    "config show": ENGINE,
}
SLOW = {"demo", "bench", "selftest"}  # what they write, other commands write


def options(command, roles):
    """Options whose path plays one of these roles, as they are typed."""
    return [f"--{o['name']}" for o in COMMANDS[command]["options"] if o["path"] in roles]


def spelled(word):
    return {"-o": "--output", "-m": "--model"}.get(word, word)


def write_bids(root, names, subject="01"):
    """A tree of one BrainVision recording, or one more in it."""
    folder = root / f"sub-{subject}/eeg"
    folder.mkdir(parents=True)
    (root / "dataset_description.json").write_text('{"Name": "x", "BIDSVersion": "1.9.0"}')
    stem = f"sub-{subject}_task-rest_eeg"
    lines = [f"Ch{i}={name},,0.1,µV" for i, name in enumerate(names, 1)]
    (folder / f"{stem}.vhdr").write_text(
        "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nCodepage=UTF-8\n"
        f"DataFile={stem}.eeg\nDataFormat=BINARY\nDataOrientation=MULTIPLEXED\n"
        f"NumberOfChannels={len(names)}\nSamplingInterval=4000\n"
        "[Binary Infos]\nBinaryFormat=INT_16\n[Channel Infos]\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
    samples = np.random.default_rng(5).normal(0, 200, (12 * 40, len(names)))
    samples.astype("<i2").tofile(folder / f"{stem}.eeg")


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
        "xpcs simulate -o run2.hdf --mode static_anisotropic --n-angle 2 --n-frame 24 --q 0.008",
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
    write_bids(folder / "bids", places[:, 0])
    np.savetxt(folder / "parts.csv", [[0, 20], [25, 60]], delimiter=",")
    np.savetxt(folder / "iv.csv", [[0.1, 0.2], [0.3, 0.5]], delimiter=",")
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
    shutil.copytree(prepared / "bids", folder / "bids")
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
        typed = {"--output": "-o"}.get(write, write)
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
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/in.npy").write_bytes(b"precious")
    if READS[command]:
        label, read = READS[command][0]
        result = tessera(*line_with(command, read, "kept/in.npy"), "--checkpoint", "kept")
        assert result.returncode == 2
        assert f"{label} kept/in.npy lies in --checkpoint kept" in result.stderr
    needed = [o for o in COMMANDS[command]["operands"] if o["needed"]]
    result = tessera(*command.split(), *["x.npy"] * len(needed), "-o", "./kept/out.npy",
                     "--checkpoint", "kept")
    assert result.returncode == 2
    assert "-o ./kept/out.npy lies in --checkpoint kept" in result.stderr


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


# ---- Outputs that cannot be, inputs that are not ------------------------------------------------


def with_output(command, name):
    """The command's line, writing to this name with -o."""
    words = list(LINES[command])
    if "-o" in words:
        words[words.index("-o") + 1] = name
    else:
        words += ["-o", name]
    return [*command.split(), *words]


WRITERS = [n for n in LINES if "--output" in options(n, FILES + FOLDERS)]


def output_of(command):
    return next(o for o in COMMANDS[command]["options"] if o["name"] == "output")


def ending_of(command):
    return next((e for e in output_of(command)["endings"] if e), "")


@pytest.mark.parametrize("command", WRITERS)
def test_outputs_that_cannot_be_are_refused_before_the_work(command, inputs):
    folder, end = inputs.directory, ending_of(command)
    is_folder = output_of(command)["path"] == "into"
    (folder / f"folder{end or '.x'}").mkdir()
    (folder / f"file{end}").write_bytes(b"precious")
    os.mkfifo(folder / f"fifo{end}")
    cases = {"deep/" * 240 + f"x{end}": 73, "n" * 300 + end: 73, f"fifo{end}": 73}
    if is_folder:
        cases |= {f"file{end}": 73, f"file{end}/in": 73, "/dev/null": 73}
    else:
        cases |= {f"nowhere/x{end}": 73, f"folder{end or '.x'}": 73, f"file{end}/x{end}": 73,
                  "": 73, f"file{end}": 73}
    if end:
        cases |= {"x.unknown": 2, "x.": 2}
    before = content(folder)
    for name, code in cases.items():
        result = inputs(*with_output(command, name))
        assert result.returncode == code, (name[:40], result.stderr)
        assert len(result.stderr.splitlines()) == 1, result.stderr
    assert content(folder) == before


@pytest.mark.parametrize("command", WRITERS)
def test_a_folder_one_may_not_write_to_is_found_before_the_work(command, inputs):
    closed = inputs.directory / "closed"
    closed.mkdir(mode=0o555)
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    for parent in closed.parents:
        if user and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)
    result = inputs(*with_output(command, f"closed/x{ending_of(command)}"), **user)
    assert result.returncode == 73, result.stderr
    assert "Permission denied" in result.stderr


# How an input is named on a line that is right but for it.
NAMES = ("x.npz", "head.csv", "model.json", "rec.npz", "decode.npz", "result.h5", "run.hdf")
INPUTS = [(c, w) for c, words in LINES.items() for w in words if w in NAMES]
INPUTS += [("info", "x.npz"), ("config validate", "run.yaml"), ("config diff", "run.yaml"),
           ("xpcs config", "run.yaml")]
BARE = {"info": ["x.npz"], "config validate": ["run.yaml"], "config diff": ["run.yaml"],
        "xpcs config": ["validate", "run.yaml"]}


@pytest.mark.parametrize(("command", "name"), sorted(set(INPUTS)))
def test_inputs_that_are_none(command, name, inputs):
    folder = inputs.directory
    end = Path(name).suffix
    (folder / f"folder{end}").mkdir()
    (folder / f"empty{end}").write_bytes(b"")
    os.mkfifo(folder / f"fifo{end}")
    line = LINES[command] if name != "run.yaml" and command in LINES else BARE[command]
    before = content(folder)
    for other, codes in ((f"missing{end}", {66}), (f"folder{end}", {66}), (f"fifo{end}", {66}),
                         ("/dev/null", {66}), ("deep/" * 900 + "x", {66}), (f"empty{end}", {65})):
        if command in ("config validate", "config diff", "xpcs config"):
            codes = codes - {65} | {0, 1, 78} if other.startswith("empty") else codes
        result = inputs(*command.split(), *[other if w == name else w for w in line])
        assert result.returncode in codes, (other[:40], result.stderr)
        assert len([w for w in result.stderr.splitlines() if "warning" not in w]) <= 2
        written = {n: b for n, b in content(folder).items() if not n.startswith("new/")}
        assert written == before
        assert leftovers(folder) == []
        shutil.rmtree(folder / "new")
        (folder / "new").mkdir()


# ---- What is written ----------------------------------------------------------------------------


def is_quoted(value):
    """Whether a text is spelt like a JSON number or boolean."""
    if not isinstance(value, str):
        return False
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("command", [n for n in LINES if n not in SLOW])
def test_everything_written_says_what_made_it(command, inputs):
    folder = inputs.directory
    before = set(content(folder))
    result = inputs(*command.split(), *LINES[command])
    assert result.returncode == 0, result.stderr
    new = [name for name in files_below(folder) if name not in before]
    assert leftovers(folder) == []
    for word in LINES[command]:
        if word.startswith("new/") and "work" not in word:
            assert any(n.startswith(word) for n in new), f"{word} was not written"
    for name in new:
        # Of a cache: numbers alone, as the original reads them. Of BIDS: tables without comments,
        # of which dataset_description.json says who made them. Scripts are for another program.
        if name.endswith(("_list.txt", ".tsv", ".sh")):
            continue
        result = inputs("info", name, "--json")
        assert result.returncode == 0, (name, result.stderr)
        provenance = json.loads(result.stdout)["provenance"]
        if name.endswith(".npy") and provenance is None:
            result = inputs("info", str(Path(name).parent), "--json")  # a folder of arrays
            provenance = json.loads(result.stdout)["provenance"]
        assert provenance["schema"] == "tessera.provenance/1", name
        assert provenance["tessera"] == TABLE["version"], name
        assert provenance["stage"], name
        quoted = {k: v for k, v in provenance.get("settings", {}).items() if is_quoted(v)}
        assert not quoted, f"{name}: numbers and booleans as texts"
        text = inputs("info", name)
        assert text.returncode == 0
        assert "no provenance" not in text.stdout or ".npy" in name


def test_the_table_knows_what_a_fit_writes(inputs):
    words = [w for w in LINES["xpcs fit"] if w not in ("--report", "new/r.html")]
    assert inputs("xpcs", "fit", *words).returncode == 0
    for kind in ("yaml", "npz"):
        words = [*words, "--overwrite", "--output-format", kind, "--method", "both", "--n-samples",
                 "8", "--n-warmup", "20"]
        assert inputs("xpcs", "fit", *words).returncode == 0
    found = {n for n in files_below(inputs.directory / "new/fit") if not n.endswith(".png")}
    parts = {"cmc/shard_*.npy", "per_angle.csv", "per_angle.html"}  # of --shard and --per-angle
    assert found == set(COMMANDS["xpcs fit"]["output_names"]) - parts


def injected(inputs, fault, *words):
    result = inputs(*words, environment=inputs.faulty(**fault))
    return result, *inputs.counts()[:2]


# What a rerun writes, the command that it runs writes.
# slurm and pbs write as config init does, and hand words at the end of the line on.
FULL = [n for n in LINES if n not in SLOW | {"clifford bench", "clifford check", "rerun", "slurm",
                                             "pbs"}]


def forced(command):
    names = [o["name"] for o in COMMANDS[command]["options"]]
    return [f"--{name}" for name in ("overwrite", "force") if name in names]


@pytest.mark.parametrize("command", FULL)
def test_a_full_disk_leaves_what_was_there(command, inputs):
    folder = inputs.directory
    words = [*command.split(), *LINES[command], "-q"]
    fault = {"kind": "write", "error": "ENOSPC", "mode": "from"}
    result, _, _ = injected(inputs, fault | {"at": 1}, *words)
    check_clean(folder, result, "nothing there, no write")
    kept = ("l.log", "l.jsonl", "work")
    assert not [n for n in content(folder / "new") if not n.startswith(kept)]
    shutil.rmtree(folder / "new")
    (folder / "new").mkdir()
    result, n_write, _ = injected(inputs, {"kind": "write", "at": 0}, *words)
    assert result.returncode == 0, result.stderr
    whole = content(folder)
    for at in sorted({1, 2, n_write // 2, n_write - 1, n_write} - {0}):
        result, _, n_fault = injected(inputs, fault | {"at": at}, *words, *forced(command))
        label = f"write {at} of {n_write}"
        if n_fault == 0:  # a cache is there now, or what is said of times is shorter
            assert at > 1, label
            continue
        check_clean(folder, result, label)
        now = content(folder)
        for name in whole:
            if at == 1 and not name.endswith((".log", ".jsonl")):
                assert now[name] == whole[name], f"{label}: {name} has changed"
            elif now[name] != whole[name]:
                assert inputs("info", name).returncode == 0, f"{label}: {name} is damaged"
        for kept in folder.glob("new/work"):
            shutil.rmtree(kept)


def check_clean(folder, result, label):
    """Exit code of a full disk, a message that says so, nothing half written."""
    assert result.returncode == 74, f"{label}: {result.returncode} {result.stderr}"
    assert "No space left" in result.stderr, label
    assert leftovers(folder) == [], label


@pytest.mark.parametrize("command", FULL)
def test_the_next_run_sweeps_what_a_killed_one_left(command, inputs):
    words = [w for w in LINES[command] if w not in ("--checkpoint", "new/work")]
    words = [*command.split(), *words, "-q"]
    result, n_write, _ = injected(inputs, {"kind": "write", "at": 0}, *words)
    assert result.returncode == 0, result.stderr
    n_left = 0
    for at in {1, 2, n_write // 3, n_write // 2, n_write} - {0}:
        injected(inputs, {"kind": "write", "at": at, "mode": "kill"}, *words, *forced(command))
        n_left += len(leftovers(inputs.directory))
        shutil.rmtree(inputs.directory / "new/cache", ignore_errors=True)
    assert n_left > 0 or command == "xpcs inspect"
    result = inputs(*words, *forced(command))
    assert result.returncode == 0, result.stderr
    assert leftovers(inputs.directory) == []


def test_temporaries_of_the_living_and_of_others_stay(tessera, epochs, tmp_path):
    words = ["autoreject", "ptp", "epochs.npy", "-o", "p.npy", "-q"]
    names = [f"p.npy.tmp.{os.getpid()}.00000000", "p.npy.tmp.1.zz", "p.npy.tmp", "p.npyx.tmp.9.0"]
    for name in names:
        (tmp_path / name).write_bytes(b"theirs")
    assert tessera(*words).returncode == 0
    assert all((tmp_path / name).exists() for name in names)


def test_a_file_over_its_limit_is_no_signal(tessera, epochs, tmp_path):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    result = tessera("autoreject", "ptp", "epochs.npy", "-o", "p.npy", "-q", preexec_fn=limit)
    assert result.returncode == 74
    assert "File too large" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["epochs.npy"]


@pytest.mark.parametrize("command", [n for n in FULL if COMMANDS[n]["is_long"]])
def test_usr1_asks_for_a_checkpoint_and_ends_nothing(command, inputs):
    words = [*command.split(), *LINES[command], *forced(command), "-q"]
    fault = {"kind": "any", "signal": signal.SIGUSR1, "mode": "signals", "at": 1}
    result, _, n_sent = injected(inputs, fault | {"after": "lock"}, *words)
    assert result.returncode == 0, result.stderr
    assert n_sent > 0


@pytest.mark.parametrize("command", [n for n in FULL if COMMANDS[n]["is_long"] and
                                     n != "autoreject transform"])  # which has no plan to make
def test_plans_have_one_shape(command, inputs):
    before = content(inputs.directory)
    words = [w for w in LINES[command] if w not in ENGINE]
    result = inputs(*command.split(), *words, "--dry-run", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert list(found) == ["schema", "command", "plan"]
    assert (found["schema"], found["command"]) == ("tessera.plan/1", command)
    plan = found["plan"]
    assert list(plan) == ["strategy", "reason", "unit", "n_item", "items_per_tile", "n_tile",
                          "memory_bytes", "limit_bytes", "system"]
    assert (plan["n_tile"] - 1) * plan["items_per_tile"] <= plan["n_item"]
    assert plan["n_item"] <= plan["n_tile"] * plan["items_per_tile"]
    assert plan["memory_bytes"] <= plan["limit_bytes"]
    written = {n: b for n, b in content(inputs.directory).items() if "/cache/" not in n}
    assert written == before

"""The demo: a screen for all systems, and lines that work when they are typed."""

import json
import shlex
import shutil
import subprocess

import pytest

SYSTEMS = ("autoreject", "decode", "xpcs", "clifford")
SCREEN = 40  # lines

# What a user has, by the name that the line has in its place: the demo's own files will do.
OWN = {
    "YOUR-epo.fif": ("mine-epo.fif", "autoreject/clean-epo.fif"),
    "YOUR.nwb": ("mine.npz", "decode/recording.npz"),
    "YOUR.hdf": ("mine.hdf", "xpcs/correlations.hdf"),
}
MAKES = {
    "autoreject": {"clean-epo.fif", "clean.html"},
    "decode": {"decoded.h5", "decoded.h5.json", "decoded.html"},
    "xpcs": {"results", "fit.html"},
    "clifford": set(),
}


@pytest.fixture(scope="module")
def shown(tessera_at, tmp_path_factory):
    """The demo of all systems: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    result = tessera_at(folder)("demo")
    assert result.returncode == 0, result.stderr
    return folder / "tessera-demo", result.stdout


def part_of(text, system):
    parts = {part.split(":")[0]: part.splitlines() for part in text.split("\n\n")}
    return parts[system]


def line_of(text, system, label):
    """What stands behind a label; the label of a user's own file differs per system."""
    lines = [line for line in part_of(text, system) if line.startswith(f"  {label}")]
    assert len(lines) == 1, lines
    return lines[0][17:]


def with_own_file(line, demo, folder):
    for placeholder, (name, source) in OWN.items():
        if placeholder in line:
            shutil.copy(demo / source, folder / name)
            line = line.replace(placeholder, name)
    return line


def test_all_systems_on_a_screen(shown):
    demo, text = shown
    assert len(text.splitlines()) <= SCREEN
    for system in SYSTEMS:
        assert line_of(text, system, "report") == f"tessera-demo/{system}/report.html"
        assert "<html" in (demo / system / "report.html").read_text()[:300]
        output = (demo / system / "output.txt").read_text()
        assert output.count(f"$ tessera {system} ") == 2
        for line in part_of(text, system)[1:-3]:  # facts, word for word
            assert f"{line[2:]}" in output
        assert len(part_of(text, system)) in (6, 7)  # and every fact was found


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_line_for_own_files_works_when_typed(shown, tessera, tmp_path, system):
    demo, text = shown
    line = with_own_file(line_of(text, system, "your "), demo, tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    typed = subprocess.run(
        line, shell=True, cwd=tmp_path, env=tessera.environment, capture_output=True, text=True,
        timeout=60, check=False,
    )
    assert typed.returncode == 0, typed.stderr
    assert {path.name for path in tmp_path.iterdir()} - before == MAKES[system]
    if system == "xpcs":  # what the demo left out of the line made a good fit a poor one
        assert line_of(text, "xpcs", "chi2") in typed.stdout
    if system == "decode":
        assert line_of(text, "decode", "verdict") in typed.stdout


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_line_of_python_works_when_typed(shown, tmp_path, monkeypatch, system):
    demo, text = shown
    names = {}
    if system == "autoreject":
        mne = pytest.importorskip("mne")
        names["epochs"] = mne.read_epochs(demo / "autoreject/clean-epo.fif", verbose=False)
    elif system == "decode":
        decode = pytest.importorskip("tessera.decode")
        recording = decode.read_recording(demo / "decode/recording.npz")
        names |= {
            "time": recording.position_time,
            "position": recording.position,
            "spikes": recording.encoding_spike_times,
            "features": recording.encoding_spike_waveform_features,
        }
    elif system == "clifford":
        names["torch"] = pytest.importorskip("torch")
    line = with_own_file(line_of(text, system, "in Python"), demo, tmp_path)
    monkeypatch.chdir(tmp_path)
    known = set(names)
    exec(line, names)
    made = {
        "autoreject": lambda: len(names["clean"]) > 0,
        "decode": lambda: hasattr(names["model"], "predict"),
        "xpcs": lambda: names["result"].reduced_chi_squared < 1.1,
        "clifford": lambda: names["z"].shape == (8, 1024, 128),
    }
    assert made[system](), set(names) - known


def test_a_demo_replaces_the_one_before_and_speaks_json(tessera, tmp_path):
    first = json.loads(tessera("demo", "xpcs", "--json").stdout)
    again = json.loads(tessera("demo", "xpcs", "--json").stdout)
    assert again["schema"] == "tessera.demo/1"
    (demo,) = again["demos"]
    assert demo["report"] == "tessera-demo/xpcs/report.html"
    assert [run["command_line"].split()[2] for run in demo["runs"]] == ["simulate", "fit"]
    fits = [answer["demos"][0]["runs"][1]["result"]["result"] for answer in (first, again)]
    assert fits[0]["chi_squared"] == fits[1]["chi_squared"]


def test_lines_name_the_command_as_it_was_called(tessera, tmp_path):
    where = str(tessera.binary).rsplit("/", 1)[0]
    result = subprocess.run(
        ["tessera", "demo", "autoreject"], cwd=tmp_path, capture_output=True, text=True,
        env=tessera.environment | {"PATH": f"{where}:/usr/bin:/bin"}, timeout=60, check=False,
    )
    assert result.returncode == 0, result.stderr
    own = line_of(result.stdout, "autoreject", "your epochs")
    assert shlex.split(own)[:2] == ["tessera", "autoreject"]


def test_a_demo_that_fails_says_why(tessera, tmp_path):
    assert tessera("demo", "decode").returncode == 0
    (tmp_path / "tessera-demo/decode/recording.npz").unlink()
    (tmp_path / "tessera-demo/decode/recording.npz").mkdir()
    for words in (("demo", "decode"), ("demo", "decode", "--json")):
        result = tessera(*words)
        assert result.returncode == 73
        assert "tessera-demo/decode/recording.npz" in result.stderr
        assert "report" not in result.stdout


def test_unknown_systems_are_refused(tessera, tmp_path):
    result = tessera("demo", "decod")
    assert result.returncode == 2
    assert "decode" in result.stderr
    assert not list(tmp_path.iterdir())

"""tessera diff and tessera rerun."""

import json
import re
import shutil

import numpy as np
import pytest


def diff(tessera, *words):
    result = tessera("diff", *words, "--json")
    assert result.returncode in (0, 1), result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "tessera.diff/1"
    assert (found["outcome"] == "different") == (result.returncode == 1)
    return found


def items(found):
    return {item["name"]: item for item in found["items"]}


def test_arrays(tessera, tmp_path):
    x = np.arange(24.0).reshape(2, 3, 4)
    y = x.copy()
    y[1, 2, 0] *= 1 + 1e-6
    y[0, 1, 3] += 1e-3
    y[0, 0, 0] = np.nan
    names = np.array(["a", "bc"])
    np.savez(tmp_path / "a.npz", x=x, same=x, shape=x, kind=x, names=names, gone=x, n=np.int8(3))
    np.savez(
        tmp_path / "b.npz", x=y, same=x, shape=x[:1], kind=x.astype("f4"), names=names[::-1], new=x
    )
    found = diff(tessera, "a.npz", "b.npz")
    rows = items(found)
    assert found["outcome"] == "different"
    assert rows["same"]["status"] == "same"
    assert (rows["x"]["status"], rows["x"]["n_different"], rows["x"]["n_value"]) == (
        "different", 3, 24,
    )  # fmt: skip
    assert rows["x"]["first"] == "[0][0][0]"
    assert rows["x"]["max_abs"] == pytest.approx(1e-3)
    assert rows["shape"]["detail"] == "f64 [2][3][4] -> f64 [1][3][4]"
    assert rows["kind"]["detail"] == "f64 [2][3][4] -> f32 [2][3][4]"
    assert rows["names"]["status"] == "different"
    assert (rows["gone"]["status"], rows["new"]["status"]) == ("only_a", "only_b")
    text = tessera("diff", "a.npz", "b.npz").stdout
    assert "x: 3 of 24 differ" in text
    assert "gone: only in a.npz" in text


@pytest.mark.parametrize("ending", ["npy", "npz", "h5"])
def test_tolerance(tessera, tmp_path, ending):
    x = np.linspace(1, 2, 100).reshape(10, 10)
    for name, data in (("a", x), ("b", x * (1 + 1e-9))):
        np.save(tmp_path / f"{name}.npy", data[None])
        words = ["autoreject", "ptp", f"{name}.npy", "-o", f"p{name}.{ending}"]
        assert tessera(*words).returncode == 0
    pair = [f"pa.{ending}", f"pb.{ending}"]
    assert diff(tessera, *pair)["outcome"] == "different"
    assert diff(tessera, *pair, "--rtol", "1e-6")["outcome"] == "close"
    assert diff(tessera, *pair, "--atol", "1e-6")["outcome"] == "close"
    same = diff(tessera, pair[0], pair[0])
    assert (same["outcome"], same["settings"]) == ("same", [])
    assert tessera("diff", pair[0], pair[0]).stdout == "same bits: 1 of 1\n"


def test_documents_folders_and_bytes(tessera, tmp_path):
    a = {"n": 1, "list": [1.0, 2.0], "text": "x", "timestamp": "now", "only": None}
    b = {"n": 1, "list": [1.0, 2.5], "text": "y", "timestamp": "then"}
    (tmp_path / "a.json").write_text(json.dumps(a))
    (tmp_path / "b.json").write_text(json.dumps(b))
    rows = items(diff(tessera, "a.json", "b.json"))
    assert (rows["list"]["max_abs"], rows["list"]["n_value"]) == (0.5, 2)
    assert rows["list"]["first"] == "[1]"
    assert rows["text"]["detail"] == "x -> y"
    assert rows["only"]["status"] == "only_a"
    assert "timestamp" not in rows
    for name in ("one", "two"):
        (tmp_path / name / "sub").mkdir(parents=True)
        np.save(tmp_path / name / "sub" / "x.npy", np.zeros(3))
        (tmp_path / name / "text.csv").write_text(f"{name}\n")
    (tmp_path / "two" / "new.npy").write_bytes(b"")
    rows = items(diff(tessera, "one", "two"))
    assert rows["sub/x.npy"]["status"] == "same"
    assert rows["text.csv"]["first"] == "byte 0"
    assert rows["new.npy"]["status"] == "only_b"


def test_single_values_and_what_cannot_be_compared(tessera, tmp_path):
    for name, value in (("a", 3.0), ("b", 4.0), ("c", [3.0])):
        np.save(tmp_path / f"{name}.npy", value)
        np.savez(tmp_path / f"{name}.npz", v=value, x=np.arange(3))
    assert tessera("diff", "a.npy", "a.npy").stdout == "same bits: 1 of 1\n"
    assert items(diff(tessera, "a.npz", "b.npz"))["v"]["max_abs"] == 1
    assert items(diff(tessera, "a.npz", "c.npz"))["v"]["detail"] == "0 axes -> 1 axes"
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["x"] = np.arange(3)
        file["chi2"] = 2.5
        file["text"] = "of any length"
    found = tessera("diff", "t.h5", "t.h5")
    if found.returncode == 69:
        pytest.skip("this build reads no HDF5")
    assert found.returncode == 2
    assert found.stdout.splitlines()[-1] == "partly compared: no difference in 2 of 3"
    found = tessera("diff", "t.h5", "t.h5", "--json")
    assert json.loads(found.stdout)["outcome"] == "partly_compared"
    with h5py.File(tmp_path / "t.h5", "a") as file:
        del file["text"], file["chi2"], file["x"]
        file["text"] = "of any length"
    assert tessera("diff", "t.h5", "t.h5").stdout.endswith("nothing could be compared\n")


def test_models_and_logs_go_by_the_names_of_channels(made):
    words = ["autoreject", "fit", "x.npy", "--montage", "head.csv", "--sampling-hz", "250"]
    assert made(*words, "--seed", "7", "-o", "other.json", "--log", "o.npz").returncode == 0
    found = diff(made, "model.json", "other.json")
    assert items(found)["types[0].thresholds"]["first"].startswith("E0")
    assert not [name for name in items(found) if "thresholds[" in name]
    command = {s["name"]: (s["a"], s["b"]) for s in found["settings"]}["command"]
    assert command == ("nothing", "--seed=7")
    with np.load(made.directory / "log.npz") as log:
        labels = np.where(np.isnan(log["labels"]), -1, log["labels"]).astype(int)
        whole = {"schema": "tessera.autoreject.log/1", "ch_names": log["ch_names"].tolist(),
                 "bad_epochs": log["bad_epochs"].astype(int).tolist()}
    labels[3, 2] = (labels[3, 2] + 1) % 3
    whole["bad_epochs"][5] = 1 - whole["bad_epochs"][5]
    (made.directory / "edited.json").write_text(json.dumps(whole | {"labels": labels.tolist()}))
    rows = items(diff(made, "log.npz", "edited.json"))
    assert (rows["labels"]["n_different"], rows["labels"]["first"]) == (1, "epoch 3 E003")
    assert (rows["bad_epochs"]["n_different"], rows["bad_epochs"]["first"]) == (1, "epoch 5")
    for name in ("other.json", "o.npz", "edited.json"):
        (made.directory / name).unlink()


def test_settings_that_differ(tessera):
    for name, seed in (("a", "1"), ("b", "2")):
        words = ["autoreject", "simulate", "-o", f"{name}.npz", "--epochs", "4", "--seed", seed]
        assert tessera(*words).returncode == 0
    found = diff(tessera, "a.npz", "b.npz")
    settings = {setting["name"]: (setting["a"], setting["b"]) for setting in found["settings"]}
    assert settings["settings.seed"] == ("1", "2")
    assert "settings.seed: 1 -> 2" in tessera("diff", "a.npz", "b.npz").stdout


def test_errors(tessera, epochs, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.npz").write_bytes(b"PK\3\4 nothing")
    assert tessera("diff", "epochs.npy", "none.npy").returncode == 66
    assert tessera("diff", "epochs.npy", "folder").returncode == 2
    assert tessera("diff", "epochs.npy").returncode == 2
    assert tessera("diff", "broken.npz", "broken.npz").returncode == 65
    (tmp_path / "broken.json").write_text('{"a": 1')
    assert tessera("diff", "broken.json", "broken.json").returncode == 65
    assert tessera("diff", "epochs.npy", "epochs.npy", "--rtol=-1").returncode == 2


@pytest.fixture(scope="module")
def made(tmp_path_factory, tessera_at):
    """A folder with a result of everything that writes one, and the command in it."""
    folder = tmp_path_factory.mktemp("made")
    tessera = tessera_at(folder)
    size = ["--epochs", "12", "--channels", "16", "--samples", "50"]
    xpcs = ["--mode", "static_anisotropic", "--n-angle", "3", "--n-frame", "40"]
    lines = [
        ["autoreject", "simulate", "-o", "x.npz", *size],
        ["autoreject", "simulate", "-o", "x.npy", "--positions", "head.csv", *size],
        ["autoreject", "ptp", "x.npz", "-o", "ptp.npy"],
        ["autoreject", "fit", "x.npy", "-o", "model.json", "--log", "log.npz",
         "--montage", "head.csv", "--sampling-hz", "250"],
        ["autoreject", "transform", "x.npy", "-m", "model.json", "-o", "clean-epo.fif",
         "--montage", "head.csv", "--sampling-hz", "250"],
        ["decode", "simulate", "tiny", "-o", "rec.npz"],
        ["decode", "run", "rec.npz", "-o", "result.h5", "--mode", "fast"],
        ["decode", "run", "rec.npz", "-o", "folder", "--mode", "exact"],
        ["decode", "fit", "rec.npz", "-o", "decode.npz"],
        ["xpcs", "simulate", "-o", "run.hdf", *xpcs],
        ["xpcs", "convert", "run.hdf", "-o", "run.txc2"],
        ["xpcs", "fit", "run.hdf", "-o", "fitted", "--mode", "static_anisotropic"],
    ]  # fmt: skip
    for words in lines:
        result = tessera(*words)
        assert result.returncode == 0, (words, result.stderr)
    return tessera


RESULTS = [
    "x.npz", "head.csv", "ptp.npy", "model.json", "log.npz", "clean-epo.fif", "rec.npz",
    "result.h5",
    "folder", "decode.npz", "run.hdf", "run.txc2", "fitted", "fitted/nlsq/parameters.json",
    "fitted/result.h5",
]  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_rerun_gives_the_same_bits(made, name):
    if not (made.directory / name).exists():
        pytest.skip(f"{name} is not written by this build")
    before = sorted(made.directory.iterdir())
    result = made("rerun", name)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].startswith("same bits: ")
    assert sorted(made.directory.iterdir()) == before


def test_rerun_of_logs_and_pages(made):
    words = ["autoreject", "fit-transform", "x.npy", "--montage", "head.csv", "--sampling-hz",
             "250"]
    outputs = ["-o", "ft.npz", "--log", "ft-log.npz", "--report", "ft.html", "--save-model",
               "ft.json"]
    assert made(*words, *outputs).returncode == 0
    for name in ("ft-log.npz", "ft.npz", "ft.json"):
        result = made("rerun", name)
        assert result.returncode == 0, (name, result.stdout, result.stderr)
        assert "same bits" in result.stdout
    page = made("rerun", "ft.html")
    assert page.returncode == 65
    assert "rerun the results themselves" in page.stderr
    text = (made.directory / "ft.html").read_text()
    template = re.search(r'>(\{"schema": ?"tessera.autoreject.log/1".*?)</script>', text, re.DOTALL)
    (made.directory / "edited.json").write_text(template[1])
    edited = made("rerun", "edited.json")
    assert edited.returncode == 65
    assert "a reader of a report made this log" in edited.stderr
    quiet = made("rerun", "ft.npz", "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    for name in ("ft.npz", "ft-log.npz", "ft.html", "ft.json", "edited.json"):
        (made.directory / name).unlink()


def test_rerun_keeps_the_new_one_and_says_so_in_json(made):
    result = made("rerun", "ptp.npy", "-o", "again.npy", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "tessera.rerun/1"
    assert (found["diff"]["outcome"], found["inputs_changed"]) == ("same", False)
    old, new = (np.load(made.directory / name) for name in ("ptp.npy", "again.npy"))
    assert np.array_equal(old, new)
    assert made("rerun", "ptp.npy", "-o", "again.npy").returncode == 73
    assert made("rerun", "ptp.npy", "-o", "again.npy", "--overwrite").returncode == 0
    assert made("rerun", "ptp.npy", "-o", "ptp.npy", "--overwrite").returncode == 2
    assert made("rerun", "again.npy").returncode == 0


def test_rerun_where_inputs_moved_or_changed(made, tmp_path, tessera):
    for name in ("ptp.npy", "ptp.npy.json"):
        shutil.copy(made.directory / name, tmp_path)
    result = tessera("rerun", "ptp.npy")
    assert result.returncode == 66
    assert "--input x.npz=PATH" in result.stderr
    (tmp_path / "sub").mkdir()
    shutil.copy(made.directory / "x.npz", tmp_path / "sub" / "moved.npz")
    assert tessera("rerun", "ptp.npy", "--input", "x.npz=sub/moved.npz").returncode == 0
    with np.load(made.directory / "x.npz") as file:
        np.savez(tmp_path / "x.npz", data=file["data"] * 2)
    changed = tessera("rerun", "ptp.npy")
    assert changed.returncode == 65
    assert "x.npz has changed" in changed.stderr


def test_rerun_tells_changed_contents_of_the_same_size(made, tmp_path, tessera):
    for name in ("ptp.npy", "ptp.npy.json", "x.npz"):
        shutil.copy(made.directory / name, tmp_path)
    x = np.arange(24.0).reshape(2, 3, 4)
    np.save(tmp_path / "a.npy", x)
    assert tessera("autoreject", "ptp", "a.npy", "-o", "p.npy").returncode == 0
    x[1, 1, 1] = 99
    np.save(tmp_path / "a.npy", x)
    result = tessera("rerun", "p.npy")
    assert result.returncode == 1
    assert "data: 1 of 6 differ" in result.stdout or "(array): 1 of 6 differ" in result.stdout
    assert "inputs[0].fingerprint" in result.stdout
    assert "the inputs are not those of then" in result.stderr


def test_rerun_of_what_cannot_be(tessera, epochs, tmp_path):
    assert tessera("rerun", "epochs.npy").returncode == 65
    assert tessera("rerun", "none.npy").returncode == 66
    (tmp_path / "epochs.npy.json").write_text(
        json.dumps({"schema": "tessera.provenance/1", "command": ["xpcs", "nothing"]})
    )
    result = tessera("rerun", "epochs.npy")
    assert (result.returncode, "does not have" in result.stderr) == (65, True)
    (tmp_path / "epochs.npy.json").write_text(
        json.dumps({"schema": "tessera.provenance/1", "command": ["demo"]})
    )
    assert tessera("rerun", "epochs.npy").returncode == 65


def test_rerun_of_measured_times_says_why_not(tessera):
    words = ["--batch", "8", "--features", "4", "--seconds", "0.001", "--report", "t.html"]
    made = tessera("clifford", "bench", *words)
    assert made.returncode == 0, made.stderr
    assert "fwd speed-up f+b speed-up" in made.stdout.splitlines()[0]
    result = tessera("rerun", "t.html")
    assert (result.returncode, "measures anew" in result.stderr) == (65, True)

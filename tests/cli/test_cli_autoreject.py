"""autoreject: fit, transform, fit-transform, thresholds, global, ransac, validation-curve, info."""

import json
import os
import re
import stat
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

FORMATS = Path(__file__).resolve().parents[1] / "golden" / "autoreject" / "formats"
GOLDEN = FORMATS.parent
REPORT_PARTS = ["Reject log", "Epochs before and after", "Average before and after",
                "Sensors on the head", "Choice of consensus and n_interpolate", "Channels",
                "Epochs", "Validation curves"]


@pytest.fixture
def epochs(tmp_path):
    """The golden fit's data in our layout."""
    with np.load(GOLDEN / "ar01_eeg_40x24x60.npz") as file:
        data = {name: file[name] for name in file.files}
    np.savez(tmp_path / "epochs.npz", data=data["X"], pos=data["pos"],
             ch_names=data["ch_names"].astype(str), ch_types=data["ch_types"].astype(str),
             sfreq=data["sfreq"])
    return data


def run_json(tessera, *words):
    result = tessera("autoreject", *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def thresholds_of(found):
    return np.array(list(found["types"][0]["thresholds"].values()))


def test_compat_fit_gives_the_originals_answers(tessera, epochs, tmp_path):
    found = run_json(tessera, "fit", "epochs.npz", "-o", "model.json", "--seed", "42", "--search",
                     "compat", "--rho-mode", "cumulative", "--log", "log.npz")
    stable = epochs["bo_stable"] == 1
    assert np.allclose(thresholds_of(found)[stable], epochs["thr_bo"][stable], rtol=1e-9, atol=0)
    assert found["types"][0]["consensus"] == epochs["kappa"]
    assert found["types"][0]["n_interpolate"] == epochs["rho"]
    assert found["reject_log"]["bad_epochs"] == list(np.nonzero(epochs["bad_epochs"])[0])
    with np.load(tmp_path / "log.npz") as log:
        labels = np.where(np.isnan(log["labels"]), -1, log["labels"])
        assert np.array_equal(labels, epochs["labels"])
        assert np.array_equal(log["bad_epochs"], epochs["bad_epochs"].astype(bool))


def test_exact_thresholds_by_default(tessera, epochs):
    found = run_json(tessera, "thresholds", "epochs.npz", "--seed", "42")
    assert np.allclose(thresholds_of(found), epochs["thr_exact"], rtol=1e-9, atol=0)


def test_transform_writes_what_fit_transform_writes(tessera, epochs, tmp_path):
    options = ("--seed", "42", "--search", "compat", "--rho-mode", "cumulative")
    run_json(tessera, "fit", "epochs.npz", "-o", "model.json", *options)
    found = run_json(tessera, "transform", "epochs.npz", "-m", "model.json", "-o", "a.npy")
    both = run_json(tessera, "fit-transform", "epochs.npz", "-o", "b.npy", "--save-model",
                    "again.json", "--report", "report.html", *options)
    assert found["n_kept"] == both["n_kept"] == int((epochs["bad_epochs"] == 0).sum())
    a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
    assert np.array_equal(a, b)
    scale = np.abs(epochs["clean_first"]).max()
    assert np.allclose(a[:6], epochs["clean_first"], rtol=0, atol=1e-9 * scale)
    page = (tmp_path / "report.html").read_text()
    assert re.findall("<h2[^>]*>(.*?)</h2>", page) == REPORT_PARTS
    assert "http" not in page.split("</style>")[1]


def test_what_a_model_was_fitted_with_stays(tessera, epochs, tmp_path):
    name = epochs["ch_names"].astype(str)[3]
    assert tessera("autoreject", "fit", "epochs.npz", "-o", "m.json").returncode == 0
    line = ["autoreject", "transform", "epochs.npz", "-m", "m.json", "--overwrite", "-o"]
    plain = tessera(*line, "plain.npz")
    marked = tessera(*line, "marked.npz", "--bads", name)
    assert plain.returncode == marked.returncode == 0
    said = f"like the others, as the model was fitted with them: {name}; fit without them"
    assert said in marked.stderr
    assert "like the others" not in plain.stderr
    with np.load(tmp_path / "plain.npz") as a, np.load(tmp_path / "marked.npz") as b:
        assert np.array_equal(a["data"], b["data"])
    result = tessera(*line, "x.npz", "--picks", name)
    assert result.returncode == 2
    assert "--picks: the model says which channels are repaired" in result.stderr


def test_channels_of_a_model_go_by_their_names(tessera, epochs, tmp_path):
    name = epochs["ch_names"].astype(str)[3]
    assert tessera("autoreject", "fit", "epochs.npz", "-o", "m.json").returncode == 0
    line = ["autoreject", "transform", "other.npz", "-m", "m.json", "-o", "out.npz"]
    with np.load(tmp_path / "epochs.npz") as file:
        parts = dict(file)
    for key in ("pos", "ch_names", "ch_types"):
        parts[key] = parts[key][::-1]
    np.savez(tmp_path / "other.npz", **parts | {"data": parts["data"][:, ::-1]})
    result = tessera(*line, "--bads", name)
    assert result.returncode == 0
    assert f"the model was fitted with them: {name}; fit without them" in result.stderr
    for key in ("pos", "ch_names", "ch_types"):
        parts[key] = parts[key][:5]
    np.savez(tmp_path / "other.npz", **parts | {"data": parts["data"][:, :-6:-1]})
    result = tessera(*line, "--overwrite")
    assert result.returncode == 65
    assert "of the model is not among their 5 channels" in result.stderr


def test_resume_gives_the_same_model(tessera, epochs, tmp_path):
    run_json(tessera, "fit", "epochs.npz", "-o", "a.json", "--seed", "42")
    run_json(tessera, "fit", "epochs.npz", "-o", "b.json", "--seed", "42", "--checkpoint", "work",
             "--resume", "--checkpoint-every", "0")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_global(tessera, tmp_path):
    with np.load(GOLDEN / "ar05_global_48x12x40.npz") as file:
        data = {name: file[name] for name in file.files}
    np.savez(tmp_path / "global.npz", data=data["X"],
             ch_names=data["ch_names"].astype(str), ch_types=data["ch_types"].astype(str),
             bads=data["bads"].astype(str), sfreq=250.0)
    found = run_json(tessera, "global", "global.npz", "--search", "compat", "--picks", "eeg")
    assert found["reject"]["eeg"] == pytest.approx(float(data["thr_eeg"]), rel=1e-12)
    every = run_json(tessera, "global", "global.npz", "--search", "compat")
    assert every["reject"] == pytest.approx(
        {"eeg": float(data["thr_eeg"]), "eog": float(data["thr_eog"])}, rel=1e-12)
    exact = run_json(tessera, "global", "global.npz", "--picks", "eeg")
    best = data["cand_eeg"][np.argmin(data["J_eeg"])]
    assert exact["reject"]["eeg"] == pytest.approx(float(best), rel=1e-12)


def test_options_go_by_the_names_of_the_montage(tessera, epochs, tmp_path):
    """An array has no names of its own: --bads, --types and --picks go by those it is given."""
    data = epochs["X"]
    np.save(tmp_path / "plain.npy", data)
    lines = [f"E{c + 1:03d},{x},{y},{z}\n" for c, (x, y, z) in enumerate(epochs["pos"])]
    (tmp_path / "head.csv").write_text("".join(lines))
    words = ("plain.npy", "--sampling-hz", "250", "--montage", "head.csv")
    for bads in ("E002", "001"):  # the second is what the array calls it
        found = run_json(tessera, "thresholds", *words, "--bads", bads)
        names = list(found["types"][0]["thresholds"])
        assert "E002" not in names and len(names) == data.shape[1] - 1
    result = tessera("autoreject", "global", *words, "--bads", "E999")
    assert result.returncode == 2
    assert "there is no channel 'E999'; there are E001, E002" in result.stderr


@pytest.mark.parametrize("name", ["epochs-epo.fif", "epochs_double-epo.fif.gz", "meg-epo.fif"])
def test_info_of_epochs(tessera, name):
    found = run_json(tessera, "info", str(FORMATS / name))
    assert found["epochs"]["format"] == "fif"
    assert found["epochs"]["n_epoch"] > 0


@pytest.mark.parametrize("name", ["plus.edf", "bio.bdf", "int16.vhdr", "cont_single_raw.fif",
                                  "tiny_cont.set"])
def test_info_of_windows(tessera, name):
    found = run_json(tessera, "info", str(FORMATS / name), "--window", "0.2", "--baseline", "none")
    assert found["epochs"]["n_epoch"] > 0


def test_usage(same_as_stored, epochs):
    same_as_stored("usage_autoreject_no_model", "autoreject", "transform", "epochs.npz", "-o",
                   "x.fif")
    same_as_stored("usage_autoreject_baseline", "autoreject", "info", "epochs.npz", "--baseline",
                   "early")
    same_as_stored("usage_autoreject_consensus", "autoreject", "fit", "epochs.npz", "--consensus",
                   "a,b")


def test_errors(same_as_stored, epochs, tmp_path):
    broken = epochs["X"].copy()
    broken[3, 5, 7] = np.nan
    names = epochs["ch_names"].astype(str)
    np.savez(tmp_path / "nan.npz", data=broken, pos=epochs["pos"], ch_names=names, sfreq=250.0)
    same_as_stored("error_autoreject_nan", "autoreject", "fit", "nan.npz",
                   "--memory-limit=512M")
    np.savez(tmp_path / "bare.npz", data=epochs["X"], ch_names=names, sfreq=250.0)
    same_as_stored("error_autoreject_positions", "autoreject", "fit", "bare.npz")
    same_as_stored("error_autoreject_folds", "autoreject", "fit", "epochs.npz", "--n-fold", "41")


def test_all_bad_is_exit_code_5(tessera, epochs, tmp_path):
    run_json(tessera, "fit", "epochs.npz", "-o", "model.json", "--seed", "42")
    n_epoch, n_chan = epochs["X"].shape[:2]
    np.savez(tmp_path / "all.npz", ch_names=epochs["ch_names"].astype(str),
             bad_epochs=np.ones(n_epoch, bool), labels=np.ones((n_epoch, n_chan)))
    result = tessera("autoreject", "transform", "epochs.npz", "-m", "model.json", "--use-log",
                     "all.npz", "-o", "none.npy", "--log", "log.npz")
    assert result.returncode == 5
    assert "every epoch is bad" in result.stderr
    assert not (tmp_path / "none.npy").exists()
    assert (tmp_path / "log.npz").exists()


def test_nothing_left_by_drop_partial_is_exit_code_5(tessera, epochs, tmp_path):
    run_json(tessera, "fit", "epochs.npz", "-o", "model.json", "--seed", "42")
    n_epoch, n_chan = epochs["X"].shape[:2]
    labels = np.zeros((n_epoch, n_chan))
    labels[:, 2] = 1
    np.savez(tmp_path / "partial.npz", ch_names=epochs["ch_names"].astype(str),
             bad_epochs=np.zeros(n_epoch, bool), labels=labels)
    result = tessera("autoreject", "transform", "epochs.npz", "-m", "model.json", "--use-log",
                     "partial.npz", "-o", "none.npy", "--report", "page.html", "--drop-partial")
    assert result.returncode == 5
    assert "leave out --drop-partial" in result.stderr
    assert not (tmp_path / "none.npy").exists()
    assert (tmp_path / "page.html").exists()


def as_json(path, **changes):
    """A log as a page of a report exports it, with members changed or (None) left out."""
    with np.load(path) as log:
        labels = [[None if np.isnan(v) else int(v) for v in row] for row in log["labels"]]
        whole = {"schema": "tessera.autoreject.log/1", "ch_names": log["ch_names"].tolist(),
                 "bad_epochs": log["bad_epochs"].astype(int).tolist(), "labels": labels}
    whole |= {key: edit(whole[key]) for key, edit in changes.items()}
    return json.dumps({key: value for key, value in whole.items() if value is not None})


@pytest.fixture
def logged(tessera, epochs, tmp_path):
    run_json(tessera, "fit", "epochs.npz", "-o", "model.json", "--seed", "42", "--log", "log.npz")
    return tmp_path


def test_an_edited_log_is_carried_out(tessera, logged):
    def edit(labels):
        labels[7][3] = 2
        return labels

    (logged / "edited.json").write_text(as_json(logged / "log.npz", labels=edit,
                                                bad_epochs=lambda bad: [e == 5 for e in range(40)]))
    use = ("transform", "epochs.npz", "-m", "model.json", "--use-log")
    found = run_json(tessera, *use, "edited.json", "-o", "clean.npy", "--log", "edited.npz")
    assert found["reject_log"]["bad_epochs"] == [5]
    with np.load(logged / "edited.npz") as log, np.load(logged / "epochs.npz") as given:
        assert log["labels"][7, 3] == 2
        before = given["data"]
    clean = np.load(logged / "clean.npy")
    assert len(clean) == 39
    assert not np.array_equal(clean[6, 3], before[7, 3])
    same = tessera("autoreject", *use, "edited.npz", "-o", "same.npy")
    assert same.returncode == 0, same.stderr
    assert (logged / "same.npy").read_bytes() == (logged / "clean.npy").read_bytes()


@pytest.mark.parametrize(("changes", "code", "message"), [
    ({"schema": lambda _: "tessera.autoreject.model/1"}, 65, "is no reject log; its schema is not"),
    ({"labels": lambda _: None}, 65, "'labels' must be a row for each of bad_epochs"),
    ({"labels": lambda v: v[1:]}, 65, "'labels' must be a row for each of bad_epochs"),
    ({"labels": lambda v: [v[0][1:], *v[1:]]}, 65, "'labels' must be a list of labels of every"),
    ({"labels": lambda v: [[3, *v[0][1:]], *v[1:]]}, 65, "'labels' must be 0 good, 1 bad"),
    ({"bad_epochs": lambda v: ["no", *v[1:]]}, 65, "'bad_epochs' must be a list of 0, 1"),
    ({"ch_names": lambda v: [1, *v[1:]]}, 65, "'ch_names' must be a list of texts"),
    ({"ch_names": lambda v: ["X", *v[1:]]}, 65, "channel 0 is 'X', that of the epochs is"),
    ({"labels": lambda v: v[1:], "bad_epochs": lambda v: v[1:]}, 65,
     "is a log of 39 epochs and 24 channels, the epochs have 40 and 24; give the log of these"),
])
def test_logs_of_other_epochs_are_refused(tessera, logged, changes, code, message):
    (logged / "edited.json").write_text(as_json(logged / "log.npz", **changes))
    result = tessera("autoreject", "transform", "epochs.npz", "-m", "model.json", "--use-log",
                     "edited.json", "-o", "clean.npy")
    assert result.returncode == code
    assert "edited.json" in result.stderr
    assert message in result.stderr
    assert not (logged / "clean.npy").exists()


def test_a_log_of_another_file_is_said(tessera, logged):
    (logged / "epochs.npz").rename(logged / "other.npz")
    result = tessera("autoreject", "transform", "other.npz", "-m", "model.json", "--use-log",
                     "log.npz", "-o", "clean.npy")
    assert result.returncode == 0
    assert "log.npz: was made of epochs in 'epochs.npz', these are in 'other.npz'" in result.stderr


def test_results_never_replace_what_is_no_file(tessera, epochs, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for target in ("pipe", "."):
        result = tessera("autoreject", "fit", "epochs.npz", "-o", target, "--overwrite")
        assert result.returncode == 73
        assert "give the name of a file" in result.stderr
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize(("words", "code", "message"), [
    (("fit", "epochs.npz", "-o", "epochs.npz", "--overwrite"), 2, "is read"),
    (("fit", "epochs.npz", "--report", "./epochs.npz", "--overwrite"), 2, "is read"),
    (("fit", "epochs.npz", "-o", "one.json", "--report", "one.json"), 2, "two results"),
    (("fit", "epochs.npz", "--log", "log.txt"), 2, ".npz"),
    (("fit", "epochs.npz", "-o", "none/model.json"), 73, "cannot create a file there"),
    (("fit-transform", "epochs.npz", "-o", "clean.edf"), 2, "are written as .fif"),
])
def test_bad_targets_are_refused_before_the_work(tessera, epochs, tmp_path, words, code, message):
    before = (tmp_path / "epochs.npz").read_bytes()
    result = tessera("autoreject", *words)
    assert result.returncode == code
    assert message in result.stderr
    assert "plan:" not in result.stderr
    assert (tmp_path / "epochs.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["epochs.npz"]


def test_dry_transform_writes_nothing(tessera, epochs, tmp_path):
    run_json(tessera, "fit", "epochs.npz", "-o", "model.json")
    for words in (("-o", "clean.npy"), ()):
        result = tessera("autoreject", "transform", "epochs.npz", "-m", "model.json", "--dry-run",
                         "--log", "log.npz", *words)
        assert result.returncode == 0
        assert "null" not in result.stdout
    assert not (tmp_path / "clean.npy").exists()
    assert not (tmp_path / "log.npz").exists()


@pytest.mark.parametrize("name", ["clean.npy", "clean.npz"])
def test_arrays_keep_single_precision(tessera, epochs, tmp_path, name):
    np.savez(tmp_path / "single.npz", data=epochs["X"].astype("f4"), pos=epochs["pos"],
             ch_names=epochs["ch_names"].astype(str), sfreq=250.0)
    found = {}
    for kind, words in (("f4", ()), ("f8", ("--double-precision",))):
        run_json(tessera, "fit-transform", "single.npz", "-o", name, "--overwrite", *words)
        loaded = np.load(tmp_path / name)
        found[kind] = loaded["data"] if name.endswith("z") else loaded
        assert found[kind].dtype == np.dtype(kind)
    assert np.array_equal(found["f4"], found["f8"].astype("f4"))


def test_names_do_not_steer_the_terminal(tessera, epochs, tmp_path):
    names = epochs["ch_names"].astype("U400")
    names[:3] = ["\x1b[31mred", "two\nlines", "x" * 300]
    np.savez(tmp_path / "names.npz", data=epochs["X"], pos=epochs["pos"], ch_names=names,
             sfreq=250.0)
    for verb in ("thresholds", "ransac"):
        result = tessera("autoreject", verb, "names.npz")
        assert result.returncode == 0
        assert "\x1b" not in result.stdout
        lines = result.stdout.splitlines()
        assert len(lines) >= len(names)
        assert all(len(line) < 160 for line in lines)
        assert lines[1].startswith("two?lines ")


def test_far_positions_are_directions(tessera, epochs, tmp_path):
    thresholds = []
    for scale in (1.0, 2.0**600):
        np.savez(tmp_path / "far.npz", data=epochs["X"], pos=scale * epochs["pos"],
                 ch_names=epochs["ch_names"].astype(str), sfreq=250.0)
        thresholds.append(thresholds_of(run_json(tessera, "thresholds", "far.npz")))
    assert np.allclose(thresholds[0], thresholds[1], rtol=1e-9, atol=0)


def test_one_electrode_at_the_origin_is_said(tessera, epochs, tmp_path):
    places = epochs["pos"].copy()
    places[3] = 0
    np.savez(tmp_path / "origin.npz", data=epochs["X"], pos=places,
             ch_names=epochs["ch_names"].astype(str), sfreq=250.0)
    result = tessera("autoreject", "fit", "origin.npz")
    assert result.returncode == 0
    assert "is at (0, 0, 0)" in result.stderr


def test_report_of_hostile_names(tessera, epochs, tmp_path):
    names = epochs["ch_names"].astype("U400")
    names[:3] = ["\x1b[31mred", "<script>alert(1)</script>", "é" * 300]
    np.savez(tmp_path / "names.npz", data=epochs["X"], pos=epochs["pos"], ch_names=names,
             sfreq=250.0)
    result = tessera("autoreject", "fit", "names.npz", "--report", "report.html")
    assert result.returncode == 0
    page = (tmp_path / "report.html").read_bytes().decode()
    assert "\x1b" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "é" * 30 + "..." in page
    shown = re.sub('<script type="application/json" class="template">.*?</script>', "", page)
    assert shown != page  # the log for export has the names as they are
    assert "é" * 31 not in shown
    for figure in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(figure)


def test_info_describes_our_own_epochs_and_any_fif(tessera, logged):
    made = tessera("autoreject", "transform", "epochs.npz", "-m", "model.json", "-o", "c-epo.fif")
    assert made.returncode == 0
    found = json.loads(tessera("info", "c-epo.fif", "--json").stdout)
    assert (found["format"], found["epochs"]["n_time"]) == ("fif", 60)
    assert found["provenance"]["settings"]["keep_bad"] is False
    start = (FORMATS / "epochs-epo.fif").read_bytes()[:36]  # its id, and nothing after it
    (logged / "some.fif").write_bytes(start + struct.pack(">iiii", 108, 0, 0, -1))
    result = tessera("info", "some.fif", "--json")
    assert result.returncode == 0
    assert "no epochs to describe" in result.stderr
    assert "epochs" not in json.loads(result.stdout)


def table_of(page, heading):
    """Cells of the table under a heading."""
    part = re.search(rf"<h2[^>]*>{heading}</h2>.*?<tbody>(.*?)</tbody>", page, re.DOTALL).group(1)
    rows = re.findall("<tr>(.*?)</tr>", part, re.DOTALL)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", r)] for r in rows]


def test_reports_go_by_the_names_of_channels(tessera, logged):
    run_json(tessera, "transform", "epochs.npz", "-m", "model.json", "-o", "a.npy", "--report",
             "a.html")
    with np.load(logged / "epochs.npz") as file:
        turned = {k: file[k] for k in file.files}
    turned["data"] = turned["data"][:, ::-1]
    for name in ("pos", "ch_names", "ch_types"):
        turned[name] = turned[name][::-1]
    np.savez(logged / "turned.npz", **turned)
    run_json(tessera, "transform", "turned.npz", "-m", "model.json", "-o", "b.npy", "--report",
             "b.html")
    a, b = ((logged / name).read_text() for name in ("a.html", "b.html"))
    assert len(table_of(a, "Channels")) == 24
    assert table_of(a, "Channels") == table_of(b, "Channels")[::-1]
    assert table_of(a, "Epochs") == table_of(b, "Epochs")


def test_a_report_without_positions_says_so(tessera, epochs, tmp_path):
    np.savez(tmp_path / "ecog.npz", data=epochs["X"][:, :3], ch_names=np.array(["A", "B", "C"]),
             ch_types=np.array(["ecog"] * 3), sfreq=250.0)
    result = tessera("autoreject", "fit", "ecog.npz", "--augment=no", "--n-interpolate", "0",
                     "--consensus", "0.5", "--report", "r.html")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    assert "The ecog channels have no positions." in page
    assert len(table_of(page, "Channels")) == 3


@pytest.mark.parametrize(("words", "n"), [
    (("--report-epochs", "0"), 0), (("--report-epochs", "3"), 3), (("--report-size", "0"), 0),
    ((), 40),
])
def test_a_report_shows_as_many_epochs_as_it_may(tessera, epochs, tmp_path, words, n):
    result = tessera("autoreject", "fit", "epochs.npz", "--report", "r.html", "--consensus", "0.2",
                     *words)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    shown = re.findall(r'<details id="epoch(\d+)"', page)
    assert len(shown) == n
    # The dropped ones first, and the table leads to those that are there.
    dropped = [row[0] for row in table_of(page, "Epochs") if row[2] == "dropped"]
    assert len(dropped) > 3
    assert set(shown[:len(dropped)]) <= set(dropped)
    assert sorted(re.findall(r'href="#epoch(\d+)"', page)) == sorted(shown)


def test_odd_calibrations_are_said(tessera, tmp_path):
    edf = bytearray((FORMATS / "plain.edf").read_bytes())
    n_signal = int(edf[252:256])
    low, high = 256 + 120 * n_signal, 256 + 128 * n_signal  # digital minimum and maximum
    edf[low:low + 8], edf[high:high + 8] = edf[high:high + 8], edf[low:low + 8]
    (tmp_path / "odd.edf").write_bytes(edf)
    fif = bytearray((FORMATS / "cont_single_raw.fif").read_bytes())
    at = 0
    while at + 16 <= len(fif):  # both of a channel's descriptions: the record, and its own block
        kind, size = (int.from_bytes(fif[at + i:at + i + 4], "big") for i in (0, 8))
        if kind in (203, 253):
            field = at + 16 + (12 if kind == 203 else 0)
            fif[field:field + 4] = bytes(4)
        at += 16 + size
    (tmp_path / "odd_raw.fif").write_bytes(fif)
    for name, message in (("odd.edf", "signal inverted"), ("odd_raw.fif", "range 0")):
        result = tessera("autoreject", "info", name, "--window", "0.2", "--baseline", "none")
        assert result.returncode == 0
        assert message in result.stderr


@pytest.mark.parametrize(("words", "code", "message"), [
    (("epochs-epo.fif", "--window", "1"), 0, "holds epochs already"),
    (("epochs-epo.fif", "--tmin", "0"), 0, "holds epochs already"),
    (("epochs-epo.fif", "--overlap", "0.1"), 0, "holds epochs already"),
    (("epochs-epo.fif", "--keep-annotated"), 0, "tmax and keep_annotated are not used"),
    (("epochs-epo.fif",), 0, ""),
    (("cont_single_raw.fif", "--events", "one.txt", "--stim", "STI 014", "--tmin", "0", "--tmax",
      "0.01"), 0, "one.txt: the trigger channel 'STI 014' is not used"),
    (("cont_single_raw.fif", "--events", "one.txt", "--overlap", "0.1", "--tmin", "0", "--tmax",
      "0.01"), 0, "of windows, is not used"),
    (("cont_single_raw.fif", "--window", "0.2", "--tmin", "0"), 0, "tmin and tmax are not used"),
    (("cont_single_raw.fif", "--window", "0.2", "--events", "gone.txt"), 0, "cut one after"),
    (("cont_single_raw.fif", "--window", "0.2", "--overlap", "0.1"), 0, ""),
    (("cont_single_raw.fif", "--overlap", "0.1", "--tmin", "0", "--tmax", "0.01"), 0,
     "of windows, is not used"),
    (("epochs-epo.fif", "--dataset", "x"), 0, "dataset 'x' is not used"),
    (("cont_single_raw.fif", "--window", "0.2", "--sampling-hz", "7"), 0, "7 Hz is not used"),
    (("cont_single_raw.fif", "--window", "1e-5"), 2, "window: 1e-05 s hold no sample"),
    (("cont_single_raw.fif", "--events", "none.txt"), 65, "none.txt: holds no events"),
    (("cont_single_raw.fif", "--window", "1", "--baseline", "nan,0"), 2, "neither none nor"),
])
def test_options_without_effect_are_said(tessera, tmp_path, words, code, message):
    (tmp_path / "none.txt").write_text("")
    (tmp_path / "one.txt").write_text("60 0 1\n")
    result = tessera("autoreject", "info", str(FORMATS / words[0]), *words[1:])
    assert result.returncode == code
    assert message in result.stderr
    has_no_effect = any(word in message for word in ("not used", "already", "cut one after"))
    assert ("not used" in result.stderr) == has_no_effect

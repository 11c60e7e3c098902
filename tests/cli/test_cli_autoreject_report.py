"""What autoreject says of its results: warnings, and how to go on from a report."""

import html
import json
import re
import shlex

import numpy as np
import pytest

N_EPOCH, N_CHAN, N_TIME = 20, 12, 60


@pytest.fixture
def recorded(tessera, tmp_path):
    """Epochs one channel of which is bad in all but a few, and their electrodes."""
    size = ("--epochs", "1", "--channels", str(N_CHAN), "--samples", "2")
    tessera("autoreject", "simulate", "-o", "none.npy", "--positions", "head.csv", *size)
    x = 1e-5 * np.random.default_rng(3).standard_normal((N_EPOCH, N_CHAN, N_TIME))
    x[4:, 5] *= 20
    np.save(tmp_path / "x.npy", x)
    return tmp_path


def commands_of(page):
    return [shlex.split(line) for line in html.unescape(
        re.search(r"<pre>(tessera autoreject .*?)</pre>", page, re.DOTALL)[1]).splitlines()]


@pytest.mark.parametrize("more", [(), ("--save-model", "my model.json")])
def test_the_command_of_a_report_carries_out_its_log(tessera, recorded, more):
    words = ("x.npy", "--montage", "head.csv", "--sampling-hz", "100", "--tmax", "0.3")
    search = ("--consensus", "0.9", "--n-interpolate", "4", "--seed", "3")
    made = tessera("autoreject", "fit-transform", *words, *search, "-o", "c.npy", "--log",
                   "edited-log.npz", "--report", "r.html", "--keep-bad", *more)
    assert made.returncode == 0, made.stderr
    lines = commands_of((recorded / "r.html").read_text())
    assert [line[2] for line in lines] == ["transform"] if more else ["fit", "transform"]
    for line in lines:
        assert {"x.npy", "--montage=head.csv", "--sampling-hz=100", "--tmax=0.3"} <= set(line)
    assert "--keep-bad" in lines[-1]
    last = [word.replace("edited-log.json", "edited-log.npz").replace("-epo.fif", ".npy")
            for word in lines[-1]]
    for line in [*lines[:-1], last]:
        again = tessera(*line[1:])
        assert again.returncode == 0, again.stderr
    assert np.array_equal(np.load(recorded / "edited.npy"), np.load(recorded / "c.npy"))


def test_warnings_have_ids_wherever_they_stand(tessera, recorded):
    words = ("autoreject", "fit-transform", "x.npy", "--montage", "head.csv", "--consensus", "1",
             "--n-interpolate", "4", "-o", "c.npy", "--overwrite")
    said = "Bad in more than half of the epochs: "
    found = tessera(*words, "--log-json", "log.jsonl", "--report", "r.html", "--werror=autoreject")
    assert found.returncode == 1
    assert said in found.stderr
    assert "[autoreject.bad-in-most-epochs]\n" in found.stderr
    lines = [json.loads(line) for line in (recorded / "log.jsonl").read_text().splitlines()]
    heard = [line for line in lines if said in line["text"]]
    assert [(line["level"], line["id"]) for line in heard] == [
        ("warning", "autoreject.bad-in-most-epochs")]
    assert (recorded / "r.html").read_text().count(said) == 1
    hidden = tessera(*words, "--no-warn", "autoreject.bad-in-most-epochs", "--werror")
    assert hidden.returncode == 0, hidden.stderr
    assert said not in hidden.stderr


@pytest.mark.parametrize("more", [(), ("--use-log", "log.npz")])
def test_epochs_of_another_length_are_said(tessera, recorded, more):
    words = ("x.npy", "--montage", "head.csv", "--sampling-hz", "100")
    np.save(recorded / "short.npy", np.load(recorded / "x.npy")[:, :, :50])
    fit = tessera("autoreject", "fit", *words, "-o", "m.json", "--log", "log.npz")
    assert fit.returncode == 0, fit.stderr
    found = tessera("autoreject", "transform", "short.npy", *words[1:], "-m", "m.json", *more, "-o",
                    "c.npy", "--report", "r.html")
    sentence = "The model was fitted to epochs of 60 samples at 100 Hz; these have 50 at 100 Hz."
    assert found.stderr.count(f"warning: {sentence} [autoreject.other-samples]\n") == 1
    assert (recorded / "r.html").read_text().count(sentence) == 1


@pytest.fixture
def marked(tmp_path):
    """A BrainVision recording in which a mark of bad data lies on a trigger, in front of it."""
    n_chan, n_time, step = 6, 3000, 100
    x = np.random.default_rng(1).standard_normal((n_time, n_chan))
    x[:, 5] *= 50  # the EOG
    (100 * x).astype("<i2").tofile(tmp_path / "m.eeg")
    names = [*("Fp1 Fp2 C3 C4 O1".split()), "EOG"]
    channels = "".join(f"Ch{i + 1}={name},,0.1,µV\n" for i, name in enumerate(names))
    (tmp_path / "m.vhdr").write_text(
        "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nCodepage=UTF-8\n"
        "DataFile=m.eeg\nMarkerFile=m.vmrk\nDataFormat=BINARY\nDataOrientation=MULTIPLEXED\n"
        f"NumberOfChannels={n_chan}\nSamplingInterval=10000\n[Binary Infos]\nBinaryFormat=INT_16\n"
        f"[Channel Infos]\n{channels}", encoding="utf-8")
    marks = [("Comment", "target" if k % 3 == 0 else "standard", step * (k + 1) + 1)
             for k in range(25)]
    marks.insert(6, ("Comment", "BAD_move", marks[6][2]))
    (tmp_path / "m.vmrk").write_text(
        "Brain Vision Data Exchange Marker File, Version 1.0\n[Common Infos]\nCodepage=UTF-8\n"
        "DataFile=m.eeg\n[Marker Infos]\n" + "".join(
            f"Mk{i + 1}={kind},{text},{at},0,0\n" for i, (kind, text, at) in enumerate(marks)),
        encoding="utf-8")
    return ("m.vhdr", "--types", "eog=EOG", "--montage", "1005")


def test_events_go_by_their_names(tessera, marked):
    info = tessera("autoreject", "info", *marked)
    counts = "events         Comment/BAD_move 0, Comment/standard 16, Comment/target 9\n"
    assert counts in info.stdout
    said = ("warning: 1 event at the sample of another left out: 'Comment/BAD_move' (10001) at "
            "sample 700, where 'Comment/target' (10003) is kept [autoreject.events-left-out]\n")
    assert said in info.stderr
    found = json.loads(tessera("autoreject", "info", *marked, "--json").stdout)
    assert [(e["name"], e["n_epoch"]) for e in found["epochs"]["events"]] == [
        ("Comment/BAD_move", 0), ("Comment/standard", 16), ("Comment/target", 9)]
    none = tessera("autoreject", "info", *marked, "--event", "nosuch")
    assert none.returncode == 65
    assert ("none of its 26 events is 'nosuch' (--event); there are 'Comment/BAD_move' "
            "(10001), 'Comment/standard' (10002), 'Comment/target' (10003)\n") in none.stderr


def test_the_report_counts_by_condition_and_what_was_considered(tessera, marked, tmp_path):
    made = tessera("autoreject", "fit-transform", *marked, "--consensus", "1", "--n-interpolate",
                   "1", "-o", "c-epo.fif", "--report", "r.html", "--log", "log.npz")
    assert made.returncode == 0, made.stderr
    page = (tmp_path / "r.html").read_text()
    table = re.search(r"<th[^>]*>of them repaired</th>.*?</table>", page, re.DOTALL)[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("</tr>")]
    rows = {row[0]: [int(cell) for cell in row[1:]] for row in rows if row}
    with np.load(tmp_path / "log.npz") as log:
        bad, labels = log["bad_epochs"], log["labels"]
    assert {name: row[0] for name, row in rows.items()} == {
        "Comment/BAD_move": 0, "Comment/standard": 16, "Comment/target": 9}
    assert sum(row[3] for row in rows.values()) == bad.sum()
    assert all(row[0] == row[1] + row[3] for row in rows.values())
    share = (labels == 2).sum() / np.isfinite(labels).sum()
    assert np.isnan(labels).any()
    assert share > 0
    assert f"{100 * share:.1f} % of channels in epochs repaired" in page
    assert ">Comment/target</td>" in page.split(table)[1]


@pytest.mark.parametrize(("words", "code", "message"), [
    (("--log", "log.h5"), 2, "--log log.h5: results are written as .npz"),
    (("--keep-bad", "--drop-partial"), 2, "--keep-bad keeps every epoch and --drop-partial"),
    (("--montage", "standard_1020"), 66, "nor a montage that is built in; 1005 is"),
])
def test_what_cannot_be_is_refused_before_the_work(tessera, recorded, words, code, message):
    montage = () if "--montage" in words else ("--montage", "head.csv")
    found = tessera("autoreject", "fit-transform", "x.npy", *montage, "-o", "c.npy", *words)
    assert found.returncode == code
    assert message in found.stderr
    assert "in 0." not in found.stderr  # how long the fit took
    assert not (recorded / "c.npy").exists()


def test_info_points_to_montages_and_fits_tell_their_repairs(tessera, recorded):
    np.savez(recorded / "e.npz", data=np.load(recorded / "x.npy"),
             ch_names=[f"E{k}" for k in range(N_CHAN)], ch_types=["eeg"] * N_CHAN, sfreq=100.0)
    assert "give --montage 1005" in tessera("autoreject", "info", "e.npz").stderr
    words = ("x.npy", "--montage", "head.csv", "-o", "m.json", "--overwrite")
    assert "--montage" not in tessera("autoreject", "info", *words[:3]).stderr
    said = "n_interpolate: 11 is tried instead of 32"
    assert said in tessera("autoreject", "fit", *words).stderr
    assert said not in tessera("autoreject", "fit", *words, "--n-interpolate", "1,2").stderr
    quiet = tessera("autoreject", "fit", *words, "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_repaired_epochs_say_how_they_came_about(tessera, recorded):
    words = ("x.npy", "--montage", "head.csv", "--consensus", "1", "--n-interpolate", "4")
    made = tessera("autoreject", "fit-transform", *words, "-o", "c-epo.fif", "--log", "log.npz")
    assert made.returncode == 0, made.stderr
    found = json.loads(tessera("info", "c-epo.fif", "--json").stdout)["provenance"]
    assert {"search": "exact", "rho_mode": "independent", "n_split": 10, "n_fold": 10, "seed": 0,
            "keep_bad": False}.items() <= found["settings"].items()
    with np.load(recorded / "log.npz") as log:
        bad, labels = log["bad_epochs"], log["labels"]
    assert found["result"] == {
        "types": [{"type": "eeg", "channels": N_CHAN, "consensus": 1, "n_interpolate": 4}],
        "epochs_kept": (~bad).sum(), "epochs_dropped": bad.sum(),
        "channels_repaired": (labels[~bad] == 2).sum()}
    text = tessera("info", "c-epo.fif").stdout
    assert re.search(r"epochs dropped +\d", text)

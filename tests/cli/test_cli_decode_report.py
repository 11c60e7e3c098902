"""decode report: its parts, its events, and what it refuses."""

import html
import re

import numpy as np
import pytest
from decode_recordings import GOLDEN, track

REPORT_PARTS = [
    "Verdict", "Over time", "Non-local events", "Error", "Calibration", "By place", "Run",
]


def headings(page):
    return [re.sub("<[^>]*>", "", h) for h in re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.S)]


def test_report(tessera, recording, tmp_path):
    result = tessera("decode", "run", "rec.npz", "-o", "out.h5", "--report", "run.html")
    assert result.returncode == 0, result.stderr
    result = tessera("decode", "report", "out.h5", "--recording", "rec.npz", "-o", "page.html")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "page.html: report of out.h5\n"
    for name, parts in [("run.html", REPORT_PARTS), ("page.html", REPORT_PARTS[:-1])]:
        page = (tmp_path / name).read_text()
        found = headings(page)
        assert [x for x in found if x in parts] == parts
        assert "Multi-unit rate" in page
        assert len(page) < 1e6
    assert tessera("decode", "report", "out.h5", "-o", "page.html").returncode == 73


def test_report_repeats_every_warning(tessera, recording, tmp_path):
    data = dict(np.load(tmp_path / "rec.npz"))
    data["time"] = data["time"][::2]
    np.savez(tmp_path / "wide.npz", **data)
    words = ["decode", "run", "wide.npz", "-o", "out.h5", "--model", "non-local"]
    result = tessera(*words, "--report", "run.html")
    assert result.returncode == 0, result.stderr
    said = {x.split("warning: ")[1] for x in result.stderr.splitlines() if "warning: " in x}
    assert any("decoding bins are" in line for line in said)
    assert tessera("decode", "report", "out.h5", "-o", "later.html", "-q").returncode == 0
    for name in ["run.html", "later.html"]:
        page = html.unescape((tmp_path / name).read_text())
        assert f"{len(said)} warning" in page
        for line in said:
            assert page.index(line) < page.index("Verdict</h2>"), line
    assert tessera(*words, "-q", "--overwrite", "--report", "q.html").returncode == 0
    assert "decoding bins are" in (tmp_path / "q.html").read_text()  # heard or not
    (tmp_path / "out.h5.json").unlink()
    assert tessera("decode", "report", "out.h5", "-o", "bare.html").returncode == 0
    assert "warnings of the run are not known" in (tmp_path / "bare.html").read_text()


def test_report_of_a_plane(tessera, tmp_path):
    words = ["decode", "run", str(GOLDEN / "03_open_field_2d.npz"), "-o", "out.h5"]
    result = tessera(*words, "--model", "decoder", "--report", "run.html")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "run.html").read_text()
    assert {"Moments", "By place"} <= set(headings(page))
    for title in ["Posterior over x", "Posterior over y", "Decoded x", "Decoded y", "Occupancy"]:
        assert title in page


def test_report_refuses_another_recording(tessera, recording, tmp_path):
    assert tessera("decode", "run", "rec.npz", "-o", "out.h5").returncode == 0
    np.savez(tmp_path / "spikes.npz", **track(seed=1))
    np.savez(tmp_path / "short.npz", **track(n_time=300))
    later = track()
    later["time"] = later["time"] + 0.001
    np.savez(tmp_path / "later.npz", **later)
    for name, said in [
        ("spikes.npz", "its spikes are not those that out.h5 was decoded from"),
        ("short.npz", "has 300 time bins to decode, and out.h5 has 400"),
        ("later.npz", "time bin 0 begins at 4.001 s, and at 4 s in out.h5"),
    ]:
        result = tessera("decode", "report", "out.h5", "--recording", name, "-o", "page.html")
        assert (result.returncode, result.stdout) == (65, ""), result.stderr
        assert f"{name}: {said}" in result.stderr
        assert not (tmp_path / "page.html").exists()
    (tmp_path / "rec.npz").rename(tmp_path / "moved.npz")
    words = ["decode", "report", "out.h5", "--recording", "moved.npz", "-o", "page.html"]
    assert tessera(*words).returncode == 0


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["--from", "5", "--to", "5"], 2, "to: 5 s is not after from (5 s)"),
        (["--from", "9"], 2, "no time bin begins at or after 9 s"),
        (["--event-threshold", "1.2"], 2, "event-threshold"),
        (["--max-size", "1k"], 2, "max-size"),
        (["--event-min-duration", "-1"], 2, "event-min-duration"),
    ],
)
def test_report_options_that_cannot_be(tessera, recording, tmp_path, words, code, said):
    assert tessera("decode", "run", "rec.npz", "-o", "out.h5").returncode == 0
    result = tessera("decode", "report", "out.h5", "-o", "page.html", *words)
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    assert said in result.stderr
    assert not (tmp_path / "page.html").exists()


def listed_events(page):
    """Heads and cells of the table of events."""
    section = page[page.index("Non-local events</h2>") :]
    table = section[section.index("<table") : section.index("</table>")]
    rows = re.findall(r"<tr.*?</tr>", table, re.S)
    cells = [re.findall(r"<t[dh].*?</t[dh]>", row, re.S) for row in rows]
    text = [[html.unescape(re.sub("<[^>]*>", "", c)).strip() for c in row] for row in cells]
    return text[0], text[1:]


def runs(mask):
    """First and length of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def expected_events(file, spikes, threshold, shortest):
    """The definition of docs/systems/decode.md, literally."""
    names = [name.decode() for name in file["states"][:]]
    states = file["acausal_state_probabilities"][:].astype(float)
    time, animal = file["time"][:], file["true_position"][:]
    place, of_bin = file["position"][:], file["state_ind"][:]
    has_places = [bool(np.isfinite(place[of_bin == s]).any()) for s in range(len(names))]
    local = "Local" in names
    counts = [s for s in range(len(names)) if has_places[s] and names[s] != "Local"]
    posterior = file["acausal_posterior"][:].astype(float)
    centres = place[of_bin == counts[0]]
    by_place = sum(posterior[:, of_bin == s] for s in range(len(names)) if has_places[s])
    if local:
        probability = states[:, counts].sum(1)
    else:
        far = np.abs(centres - animal[:, None]) > 30
        probability = (by_place * far).sum(1)
    rows = []
    for first, n in runs(probability >= threshold):
        s = slice(first, first + n)
        step = np.median(np.diff(time))
        end = time[first + n] if first + n < time.size else time[-1] + step
        if end - time[first] < shortest * (1 - 1e-9):
            continue
        means = states[s][:, counts].mean(0)
        peak = centres[by_place[s].argmax(1)]
        inside = (spikes >= time[first]) & (spikes < end)
        rows.append(
            {
                "start (s)": time[first],
                "lasts (ms)": 1e3 * (end - time[first]),
                "state": f"{names[counts[int(means.argmax())]]} ({means.max():.2f})",
                "P(non-local)": probability[s].mean(),
                "path (cm)": f"{peak[0]:.0f} → {peak[-1]:.0f}",
                "distance (cm)": np.abs(peak - animal[s]).mean(),
                "moves (cm/s)": np.polyfit(time[s] - time[first], peak, 1)[0],
                "spikes": int(inside.sum()),
            }
        )
    return rows


@pytest.mark.parametrize("model", ["non-local", "cont-frag"])
def test_events_are_those_of_a_plain_program(tessera, tmp_path, h5py, model):
    words = ["decode", "simulate", "day-1d", "--time-bins", "6000", "--electrodes", "6"]
    words += ["--encoding-spikes", "6000", "--decoding-spikes", "2500", "--seed", "3"]
    assert tessera(*words, "-o", "rec.npz").returncode == 0
    assert tessera("decode", "run", "rec.npz", "-o", "out.h5", "--model", model).returncode == 0
    spikes = np.load(tmp_path / "rec.npz")["decode_spike_times"]
    for threshold in [0.5, 0.8]:
        words = ["decode", "report", "out.h5", "--recording", "rec.npz", "-o", "page.html"]
        words += ["--event-threshold", str(threshold), "--event-min-duration", "0.006"]
        assert tessera(*words, "--overwrite").returncode == 0
        heads, rows = listed_events((tmp_path / "page.html").read_text())
        with h5py.File(tmp_path / "out.h5") as file:
            expected = expected_events(file, spikes, threshold, 0.006)
        assert len(rows) == len(expected) > 5
        for row, event in zip(rows, expected, strict=True):
            for name, value in event.items():
                cell = row[heads.index(name)]
                if isinstance(value, str):
                    assert cell == value, name
                else:
                    cell = cell.split()[0]
                    digits = len(cell.partition(".")[2])
                    assert float(cell) == pytest.approx(value, abs=0.51 * 10**-digits), name

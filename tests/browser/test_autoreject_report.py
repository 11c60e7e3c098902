"""The report of autoreject: traces, and a reject log that is edited, exported and carried out."""

import json
import re
import subprocess
import time

import numpy as np
import pytest
from chromium import BUILD, ActionChains

N_EPOCH, N_CHAN, N_TIME = 24, 12, 80

PLACE = """
const p = tessera.plots[arguments[0]], r = p.svg.getBoundingClientRect(), k = r.width / p.width;
const dx = p.px(arguments[1]) * k - r.width / 2, dy = p.py(arguments[2]) * k - r.height / 2;
return [Math.round(dx), Math.round(dy)];
"""
FIND = "return tessera.plots.findIndex(p => p.title === arguments[0])"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Epochs with artifacts, their model, and the report of both."""
    path = tmp_path_factory.mktemp("autoreject")

    def tessera(*words):
        subprocess.run([BUILD / "bin/tessera", "autoreject", *words], cwd=path, check=True,
                       capture_output=True)

    size = ["--epochs", "1", "--channels", str(N_CHAN), "--samples", "2"]
    tessera("simulate", "-o", "none.npy", "--positions", "head.csv", *size)
    rng = np.random.default_rng(3)
    x = 1e-5 * rng.standard_normal((N_EPOCH, N_CHAN, N_TIME))
    x[2] *= 30  # to be dropped
    x[5, 4] *= 20  # to be repaired
    np.save(path / "x.npy", x)
    tessera("fit-transform", "x.npy", "--montage", "head.csv", "--sampling-hz", "100", "-o",
            "c.npy", "--save-model", "m.json", "--log", "log.npz", "--report", "r.html",
            "--consensus", "0.9", "--n-interpolate", "4")
    return path


@pytest.fixture
def report(page, folder):
    page.open(folder / "r.html")
    return page


def plot(page, title):
    """Return the number of a plot, brought before the reader and drawn."""
    i = page.run(FIND, title)
    assert i >= 0, title
    page.run("const f = tessera.plots[arguments[0]].figure; let e = f;"
             "while ((e = e.parentElement)) if (e.tagName === 'DETAILS') e.open = true;"
             "f.scrollIntoView({block: 'center'})", i)
    page.wait("return tessera.plots[arguments[0]].figure.dataset.state === 'live'", i)
    return i


def move(page, i, x, y):
    page.run("tessera.plots[arguments[0]].svg.scrollIntoView({block: 'center'})", i)
    dx, dy = page.run(PLACE, i, x, y)
    element = page.run("return tessera.plots[arguments[0]].svg", i)
    return ActionChains(page.driver, 50).move_to_element_with_offset(element, dx, dy)


def reading(page, i):
    return page.run("return tessera.plots[arguments[0]].reading.textContent", i)


def test_a_repaired_epoch_is_zoomed_before_and_after(report, folder):
    before, after = plot(report, "eeg, epoch 5, before"), plot(report, "eeg, epoch 5, after")
    move(report, before, 0.2, 0).click_and_hold().perform()
    move(report, before, 0.4, 0).release().perform()
    low, high = report.wait("const v = tessera.plots[arguments[0]].x.view;"
                            "return v[1] - v[0] < .5 && v", before)
    assert (low, high) == pytest.approx((0.2, 0.4), abs=0.01)
    assert report.run("return tessera.plots[arguments[0]].x.view", after) == [low, high]
    x = np.load(folder / "x.npy")
    clean = np.load(folder / "c.npy")
    place = (~np.load(folder / "log.npz")["bad_epochs"][:5]).sum()
    for i, samples in ((before, x[5, 4]), (after, clean[place, 4])):
        move(report, i, 0.3, 0).perform()
        text = report.wait("return tessera.plots[arguments[0]].reading.textContent", i)
        at, value = re.search(r"time (\S+) s .*E005 \([^)]*\) (\S+)", text).groups()
        scale = np.ptp(np.concatenate([x[5].ravel(), clean.ravel()])) * 1e6
        assert float(value) == pytest.approx(1e6 * samples[round(float(at) * 100)],
                                             abs=1e-3 * scale)
    assert report.run("return tessera.plots[arguments[0]].y.unit", before) == "µV"


def test_a_dropped_epoch_has_no_after(report):
    assert plot(report, "eeg, epoch 2, before") >= 0
    assert report.run(FIND, "eeg, epoch 2, after") == -1
    badges = report.run("return document.querySelector('.badges').textContent")
    assert f"{N_EPOCH - 1} of {N_EPOCH} epochs kept" in badges


def test_cells_are_read_edited_exported_and_carried_out(report, folder, tmp_path):
    cells, strip = plot(report, "Channels in epochs"), plot(report, "Epochs")
    given = np.load(folder / "log.npz")
    ptp = np.ptp(np.load(folder / "x.npy"), axis=-1) * 1e6
    states = ["good", "bad", "repaired"]
    edits = [(7, 3), (8, 0), (9, N_CHAN - 1)]
    for e, c in edits:
        move(report, cells, e, c).perform()
        text = reading(report, cells)
        state, size = re.search(r"state (\w+) · peak-to-peak (\S+) µV", text).groups()
        assert text.startswith(f"epoch {e} · E{c + 1:03d} · ")
        assert state == states[int(given["labels"][e, c])]
        assert float(size) == pytest.approx(ptp[e, c], rel=2e-3)
        move(report, cells, e, c).click().perform()
    move(report, cells, *edits[1]).click().perform()  # twice: one state further
    move(report, strip, 11, 0).click().perform()
    button = report.run("return document.querySelector('button.export')")
    assert "(4 changed)" in button.text
    report.driver.execute_cdp_cmd("Browser.setDownloadBehavior",
                                  {"behavior": "allow", "downloadPath": str(tmp_path)})
    report.run("arguments[0].click()", button)
    file = tmp_path / "edited-log.json"
    for _ in range(200):
        # The browser keeps the name with an empty file while it writes another one.
        if file.exists() and file.stat().st_size and not list(tmp_path.glob("*.crdownload")):
            break
        time.sleep(0.05)
    labels = given["labels"].copy()
    for k, (e, c) in enumerate(edits):
        labels[e, c] = (labels[e, c] + (2 if k == 1 else 1)) % 3
    bad = given["bad_epochs"].copy()
    bad[11] = ~bad[11]
    found = json.loads(file.read_text())
    assert found["tessera_provenance"]["inputs"][0]["name"] == "x.npy"
    assert found["labels"] == labels.tolist()
    assert found["bad_epochs"] == bad.astype(int).tolist()
    done = subprocess.run(
        [BUILD / "bin/tessera", "autoreject", "transform", "x.npy", "--montage", "head.csv",
         "--sampling-hz", "100", "-m", "m.json", "--use-log", file, "-o", tmp_path / "e.npy",
         "--log", tmp_path / "e.npz"], cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "e.npz")["labels"], labels)
    assert len(np.load(tmp_path / "e.npy")) == (~bad).sum()


def test_tables_sort_and_lead_to_epochs(report):
    head = report.run("return [...document.querySelectorAll('table.sort th')]"
                      ".find(h => h.textContent.trim().startsWith('bad channels'))")
    for _ in range(2):
        report.run("arguments[0].click()", head)
    column = report.run("const t = arguments[0].closest('table');"
                        "return [...t.tBodies[0].rows].map(r => +r.cells[3].textContent)", head)
    assert len(column) == N_EPOCH
    assert column == sorted(column, reverse=True)
    report.run("document.querySelector('a[href=\"#epoch5\"]').click()")
    assert report.run("return document.getElementById('epoch5').open")


def test_every_figure_is_drawn_on_a_phone(report):
    report.width(390, 844)
    report.run("document.querySelectorAll('main > details, details > details').forEach((d, k) => {"
               "d.open = k < 3; })")
    assert report.run("return document.documentElement.scrollWidth") <= 390
    sizes = report.run("return [...document.querySelectorAll('svg text')].filter(t => "
                       "t.textContent && t.getClientRects().length && !t.closest('.live .still'))"
                       ".map(t => t.getBoundingClientRect().height)")
    assert min(sizes) > 7
    names = report.run("return [...document.querySelectorAll('svg circle title')].map("
                       "t => t.textContent)")
    assert len(names) == 2 * N_CHAN
    assert all(re.fullmatch(r"E\d{3}: \S+ (%|µV)", name) for name in names)


def test_the_report_needs_nothing_from_elsewhere(folder):
    text = (folder / "r.html").read_text()
    assert "http" not in text.split("</style>")[1].split("<script>")[0]
    assert (folder / "r.html").stat().st_size < 2_000_000


def test_only_what_was_clicked_counts_and_epochs_are_whole(page, folder):
    names = (folder / "head.csv").read_text().splitlines()[1].split(",")[0]
    subprocess.run([BUILD / "bin/tessera", "autoreject", "fit-transform", "x.npy", "--montage",
                    "head.csv", "--types", f"eog={names}", "--sampling-hz", "100", "-o", "w.npy",
                    "--report", "w.html", "--overwrite"], cwd=folder, check=True,
                   capture_output=True)
    page.open(folder / "w.html")
    cells, strip = plot(page, "Channels in epochs"), plot(page, "Epochs")
    move(page, cells, 7, 3).click().perform()
    assert "(1 changed)" in page.run("return document.querySelector('button.export').textContent")
    page.run("tessera.plots[arguments[0]].show(tessera.plots[arguments[0]].x, [6.8, 8.3])", cells)
    page.wait("return Math.abs(tessera.plots[arguments[0]].x.view[0] - 6.8) < 1e-9", strip)
    move(page, cells, 7.3, 3).perform()
    assert reading(page, cells).startswith("epoch 7 ")
    assert reading(page, strip).startswith("epoch 7")
    assert not re.search(r"^epoch \d+\.", reading(page, strip))
    ticks = page.run("return [...tessera.plots[arguments[0]].svg.querySelectorAll('text')]"
                     ".map(e => e.textContent)", strip)
    assert {"7", "8"} <= set(ticks)
    assert not [text for text in ticks if re.fullmatch(r"\d+\.\d+", text)]

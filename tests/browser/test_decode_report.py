"""The report of decode: one time axis, events that are gone to, single bins under the cursor."""

import subprocess

import numpy as np
import pytest
from chromium import BUILD

N_TIME = 20_000
STEP = 0.002
START = 100.0
SWEEPS = [(2_000, 40), (9_000, 60), (15_500, 25)]  # first bin, bins
SHORT = (12_345, 1)  # too short for an event, and seen all the same


def write_result(folder):
    """Local, No-Spike and Away over 30 places: sweeps of Away between long times of Local."""
    folder.mkdir()
    time = START + STEP * np.arange(N_TIME)
    centres = 2.0 * np.arange(30) + 1
    states = np.zeros((N_TIME, 3), np.float32)
    states[:, 0] = 1
    place = np.zeros(N_TIME, int)
    for first, n in [*SWEEPS, SHORT]:
        states[first : first + n] = [0.04, 0, 0.96]
        place[first : first + n] = np.arange(n) % 30
    posterior = np.zeros((N_TIME, 32), np.float32)
    posterior[:, :2] = states[:, :2]
    posterior[np.arange(N_TIME), 2 + place] = states[:, 2]
    position = np.concatenate([[np.nan, np.nan], centres])
    arrays = {
        "time": time,
        "states": np.array([b"Local", b"No-Spike", b"Somewhere else <&>"]),
        "state_ind": np.array([0, 1] + [2] * 30, np.int32),
        "position": position,
        "true_position": 30 + 29 * np.sin(time / 5),
        "acausal_posterior": posterior,
        "acausal_state_probabilities": states,
    }
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


def make_report(result, page, *options):
    words = [BUILD / "bin/tessera", "decode", "report", result, "-o", page, *options]
    subprocess.run(words, check=True, capture_output=True)
    return page


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decode")
    write_result(folder / "result")
    return make_report(folder / "result", folder / "page.html")


@pytest.fixture
def live(page, report):
    """Return the report, all of it drawn, as it was opened once."""
    if page.driver.current_url != report.as_uri():
        page.open(report)
        page.all_live()
    page.run("tessera.plots.forEach(p => p.reset()); scrollTo(0, 0)")
    return page


def index_of(page, title):
    return page.run("""return tessera.plots.findIndex(
        p => p.figure.textContent.includes(arguments[0]))""", title)


VIEW = "return tessera.plots[arguments[0]].x.view"


STATE = """const s = tessera.plots[arguments[0]].series[2], v = s.pyramid.at(arguments[1], s.row);
return v && v[2] === arguments[2] && v"""


def test_a_single_bin_is_seen_from_afar_and_read_from_near(live):
    i = index_of(live, "State probabilities")
    middle = START + STEP * (SHORT[0] + 0.5)
    least, most, _ = live.wait(STATE, i, middle, 16)  # the whole recording: 16 bins a point
    assert least == pytest.approx(0, abs=0.005)
    assert most == pytest.approx(0.96, abs=0.005)
    live.run("const p = tessera.plots[arguments[0]]; p.show(p.x, [arguments[1], arguments[2]])",
             i, middle - 5 * STEP, middle + 5 * STEP)
    assert live.wait(STATE, i, middle, 1)[0] == pytest.approx(0.96, abs=0.005)
    for side in (-STEP, STEP):
        assert live.wait(STATE, i, middle + side, 1)[1] == pytest.approx(0, abs=0.005)


def test_everything_over_time_shares_one_axis(live):
    names = ["Posterior over position", "State probabilities", "Decoded position",
             "Speed of the animal"]
    plots = [index_of(live, name) for name in names]
    assert plots == sorted(plots)
    assert plots[0] >= 0
    whole = live.run(VIEW, plots[0])
    assert whole == pytest.approx([START, START + N_TIME * STEP])
    live.run("const p = tessera.plots[arguments[0]]; p.show(p.x, [105, 106])", plots[1])
    assert [live.run(VIEW, i) for i in plots] == [[105, 106]] * 4
    assert live.run(VIEW, index_of(live, "Calibration")) != [105, 106]


EVENTS = """const table = [...document.querySelectorAll('table')].filter(
    t => t.textContent.includes('lasts (ms)'))[0];
return [...table.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))"""


def test_events_are_gone_to_from_the_table_and_one_after_another(live):
    rows = live.run(EVENTS)
    assert [float(row[0]) for row in rows] == pytest.approx([START + STEP * f for f, _ in SWEEPS])
    assert [float(row[1]) for row in rows] == pytest.approx([1e3 * STEP * n for _, n in SWEEPS])
    assert {row[2] for row in rows} == {"Somewhere else <&> (0.96)"}
    links = live.driver.find_elements("css selector", "td a")
    live.run("arguments[0].click()", next(a for a in links if a.text == "118.0000"))
    i = index_of(live, "State probabilities")
    narrow = "const v = tessera.plots[arguments[0]].x.view; return v[1] - v[0] < 1 && v"
    low, high = live.wait(narrow, i)
    assert low < 118 < 118 + 60 * STEP < high
    live.run("tessera.plots[arguments[0]].next(1)", i)
    low, high = live.wait(narrow, i)
    assert low < START + STEP * SWEEPS[2][0] < high
    live.run("tessera.plots[arguments[0]].next(-1)", i)
    low, high = live.wait(narrow, i)
    assert low < 118 < high


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_the_screen(live, width):
    live.width(width)
    live.wait("return document.documentElement.clientWidth === arguments[0]", width)
    assert live.run("return document.documentElement.scrollWidth") <= width
    wide = live.run("""const t = [...document.querySelectorAll('table')].filter(
        t => t.textContent.includes('lasts (ms)'))[0];
        return t.offsetWidth - t.parentNode.clientWidth""")
    assert width < 600 or wide <= 0


def test_verdict_contents_and_units(live):
    badges = live.run("return document.querySelector('.badges').textContent")
    assert "3 non-local events" in badges
    assert "error not judged" in badges  # Local holds it
    sections = live.run("return [...document.querySelectorAll('nav a')].map(a => a.textContent)")
    assert {"Verdict", "Over time", "Non-local events", "Error", "Calibration"} <= set(sections)
    text = live.run("return document.body.textContent")
    for axis in ["position (cm)", "speed (cm/s)", "time (s)", "error (cm)"]:
        assert axis in text, axis


def test_lines_at_the_ends_of_axes_and_white_keys_are_seen(live):
    y = live.run("return tessera.plots[arguments[0]].y.full", index_of(live, "State probabilities"))
    assert y[0] < 0 and y[1] > 1
    shadow = "return getComputedStyle(document.querySelector('.key i')).boxShadow"
    assert "1px" in live.run(shadow)
    at = index_of(live, "Occupancy")
    assert live.run("return tessera.plots[arguments[0]].y.full[0]", at) == 0
    reading = """const p = tessera.plots[arguments[0]]; p.point({x: 120});
        return p.reading.textContent"""
    assert live.run(reading, index_of(live, "Speed of the animal")).endswith(" cm/s")


def write_plane(folder):
    """Two moments in a plane of 4 by 3 places, the second half as sure as the first."""
    folder.mkdir()
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(4.0), np.arange(3.0), indexing="ij"))
    posterior = np.full((100, 12), 0.01)
    posterior[:, 5] = 0.89
    posterior[50:] = (posterior[50:] + 0.05) / 1.6
    arrays = {
        "time": np.arange(100) * 0.01,
        "states": np.array([b"Any"]),
        "state_ind": np.zeros(12, np.int32),
        "x_position": x, "y_position": y,
        "true_x_position": np.full(100, 1.2), "true_y_position": np.full(100, 2.1),
        "acausal_posterior": posterior,
        "acausal_state_probabilities": np.ones((100, 1)),
    }
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


def test_moments_share_a_scale_and_have_the_animal(page, tmp_path):
    write_plane(tmp_path / "plane")
    page.open(make_report(tmp_path / "plane", tmp_path / "plane.html"))
    page.all_live()
    moments = page.run("""return tessera.plots.filter(p => / s$/.test(p.title))
        .map(p => [p.map.high, p.series[0].name, p.series[0].x[0], p.series[0].y[0]])""")
    assert len(moments) == 6
    assert all(moment == pytest.approx([0.89, "animal", 1.2, 2.1]) for moment in moments)


def test_the_events_sort(live):
    heads = live.driver.find_elements("css selector", "th")
    live.run("arguments[0].scrollIntoView({block: 'center'})", heads[0])
    next(head for head in heads if "lasts (ms)" in head.text).click()
    assert [float(row[1]) for row in live.run(EVENTS)] == [50, 80, 120]


def test_a_part_has_its_own_axis(page, report, tmp_path):
    words = ["--from", "117.5", "--to", "118.5", "--max-size", "1M"]
    page.open(make_report(report.parent / "result", tmp_path / "part.html", *words))
    page.all_live()
    for title in ["Posterior over position", "State probabilities"]:
        assert page.run(VIEW, index_of(page, title)) == pytest.approx([117.5, 118.5])
    assert [row[0] for row in page.run(EVENTS)] == ["118.0000"]

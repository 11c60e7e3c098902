"""The report of an xpcs fit in a browser: what is read there is what was measured."""

import re
import subprocess

import pytest
from chromium import BINARY, ActionChains

h5py = pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("xpcs")
    subprocess.run([BINARY, "demo", "xpcs", "--dir", path], check=True, capture_output=True)
    return path / "xpcs"


@pytest.fixture
def live(page, folder):
    """Return the report, opened and drawn once for all tests: it has many plots."""
    if page.driver.current_url != (folder / "report.html").as_uri():
        page.open(folder / "report.html")
        page.all_live()
    return page


def figure(page, title, k=0):
    """Return the number of the k-th plot of this title."""
    titles = page.run("return tessera.plots.map(p => p.title)")
    return [i for i, t in enumerate(titles) if t == title][k]


def read(page, i, x, y):
    """Point at a place, in the units of the axes, and return the plot's words."""
    element = page.run("return tessera.plots[arguments[0]].svg", i)
    page.run("arguments[0].scrollIntoView({block: 'center'})", element)
    dx, dy = page.run("""const [i, x, y] = arguments, p = tessera.plots[i];
        const r = p.svg.getBoundingClientRect(), k = r.width / p.width;
        return [p.px(x) * k - r.width / 2, p.py(y) * k - r.height / 2].map(Math.round)""", i, x, y)
    ActionChains(page.driver, 50).move_to_element_with_offset(element, dx, dy).perform()
    return page.run("return tessera.plots[arguments[0]].reading.textContent", i)


def test_everything_has_its_place(live):
    heads = live.run("return [...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert heads[:2] == ["Parameters", "Transport and shear over time"]
    assert {"Angles", "Residuals", "Convergence"} <= set(heads)
    assert live.run("return document.querySelectorAll('nav a').length") == len(heads)
    assert "fit good" in live.run("return document.querySelector('.badges').textContent")
    assert live.run("return document.querySelectorAll('.warnings li').length") > 0
    assert "doi:10.1073" in live.run("return document.querySelector('footer').textContent")
    bands = live.run("""return tessera.plots.filter(p => /rate$/.test(p.title))
        .map(p => p.inside.querySelectorAll('.band').length)""")
    assert bands == [1, 1]


def test_maps_are_read_and_zoom_together(live, folder):
    with h5py.File(folder / "correlations.hdf") as file:
        c2 = file["xpcs/twotime/correlation_map"]
        half = c2[sorted(c2)[0]][()]
    measured, fitted, residual = (figure(live, t) for t in
                                  ("measured", "fitted", "measured - fitted"))
    n = live.run("return tessera.plots[arguments[0]].map.n_row", measured)
    low, high = live.run("return tessera.plots[arguments[0]].x.full", measured)
    step = (high - low) / n
    cells = live.run("return [...tessera.plots[arguments[0]].map.values]", measured)
    assert n + 1 == half.shape[0]  # the first frame is left out
    for i, j in ((3, 200), (200, 3), (150, 152), (0, n - 1)):
        want = half[min(i, j) + 1, max(i, j) + 1]
        assert cells[i * n + j] == pytest.approx(want, abs=2e-5)
    live.run("const p = tessera.plots[arguments[0]]; p.show(p.x, [10, 11]); p.show(p.y, [10, 11])",
             fitted)
    assert live.run("return tessera.plots[arguments[0]].y.view", residual) == [10, 11]
    t1, t2 = low + 104.5 * step, low + 101.5 * step
    live.wait("return !tessera.plots[arguments[0]].asked", measured)
    text = read(live, measured, t1, t2)
    assert float(re.search(r"c2 (\S+)", text)[1]) == pytest.approx(half[102, 105], abs=2e-4)
    other = live.run("return tessera.plots[arguments[0]].reading.textContent", residual)
    assert re.search(r"t2 10\.\d+ s · residual \S+ sigma", other)


def test_buttons_zoom_both_axes_of_a_map_about_its_middle(live):
    i = figure(live, "measured")
    x, y = live.run("""const p = tessera.plots[arguments[0]]; p.reset(); p.zoom(.5);
        return [p.x.view, p.y.view]""", i)
    low, high = live.run("return tessera.plots[arguments[0]].x.full", i)
    assert x == y == pytest.approx([low + (high - low) / 4, high - (high - low) / 4])
    live.run("tessera.plots[arguments[0]].reset()", i)


def test_both_times_of_a_map_are_those_of_frames(live):
    i = figure(live, "measured")
    low, high = live.run("const p = tessera.plots[arguments[0]]; p.reset(); return p.x.full", i)
    n = live.run("return tessera.plots[arguments[0]].map.n_row", i)
    live.wait("return !tessera.plots[arguments[0]].asked", i)
    text = read(live, i, low + 0.41 * (high - low), low + 0.73 * (high - low))
    for name in ("t1", "t2"):
        frame = (float(re.search(name + r" (\S+) s", text)[1]) - low) / (high - low) * n - 0.5
        assert frame == pytest.approx(round(frame), abs=0.05), text


def test_values_over_phi_have_ticks_and_errors(live):
    for name in ("contrast", "offset"):
        i = figure(live, name)
        element = live.run("return tessera.plots[arguments[0]].figure", i)
        live.run("arguments[0].scrollIntoView()", element)
        live.wait("return tessera.plots[arguments[0]].svg", i)
        bars, ticks, room = live.run("""const p = tessera.plots[arguments[0]];
            const t = [...p.svg.children].filter(e => e.tagName === 'text');
            const below = t.filter(e => e.getAttribute('text-anchor') === 'middle' &&
                                        !e.hasAttribute('transform'));
            const left = t.filter(e => e.getAttribute('text-anchor') === 'end');
            const name = t.find(e => e.hasAttribute('transform')).getBoundingClientRect();
            return [p.inside.querySelectorAll('path')[1].getAttribute('d').split('M').length - 1,
                    below.length - 1,
                    Math.min(...left.map(e => e.getBoundingClientRect().left)) - name.right]""", i)
        assert bars == live.run("return tessera.plots[arguments[0]].series[0].y.length", i)
        assert ticks >= 3
        assert room > -1


def test_figures_of_a_row_stay_side_by_side_on_paper(live):
    live.media("print")
    live.width(640)  # narrower than three figures on a screen
    rows = live.run("""return [...document.querySelectorAll('.row')].map(r => [...r.children]
        .map(f => f.getBoundingClientRect())).map(b => [b.length,
            Math.max(...b.map(f => f.top)) - Math.min(...b.map(f => f.top))])""")
    live.media("screen")
    live.width(1280)
    assert max(n for n, _ in rows) == 3
    assert all(down == 0 for _, down in rows)


def test_residuals_by_lag_have_their_scatter(live):
    for i in (figure(live, "mean residual by lag", -1), figure(live, "mean residual by lag", 0)):
        inside = live.run("""const [e, r] = tessera.plots[arguments[0]].series;
            let n = 0;
            r.y.forEach((v, k) => { n += Math.abs(v) < 3 * e.high[k] ? 1 : 0; });
            return n / r.y.length""", i)
        assert inside > 0.9


def test_a_phone(live):
    live.width(390)
    live.wait("return tessera.plots.every(p => p.width < 390)")
    assert live.run("return document.documentElement.scrollWidth") == 390
    assert live.run("""return Math.min(...tessera.plots.map(p =>
        12 * p.svg.getBoundingClientRect().width / p.width))""") >= 11

"""What every report can do, on a page that has it all (page_sample.c)."""

import json
import math
import re

import pytest
from chromium import ActionChains, Keys, Page, ScrollOrigin, browser

N_LONG = 1_000_000
STEP = 0.002
EVENTS = (123_456, 500_000, 800_004)

VIEW = "return tessera.plots[arguments[0]].x.view"
MIDDLE = """
const p = tessera.plots[arguments[0]], r = p.svg.getBoundingClientRect(), k = r.width / p.width;
const dx = p.px(arguments[1]) * k - r.width / 2, dy = p.py(arguments[2]) * k - r.height / 2;
return [Math.round(dx), Math.round(dy)];
"""


def value_of(i):
    """Return the first long row of the sample."""
    if i in EVENTS:
        return 7 + EVENTS.index(i)
    return (i * 7919 % 1000) / 1000 + math.sin(i * 1e-5)


@pytest.fixture
def live(page, sample):
    """Return the sample, all of it drawn; opened again where a test changed more than views."""
    if not page.run("return Boolean(window.tessera && window.is_untouched)"):
        page.open(sample)
        page.all_live()
    page.run("window.is_untouched = true; tessera.plots.forEach(p => p.reset()); scrollTo(0, 0)")
    return page


def touch(page):
    page.run("window.is_untouched = false")


def svg(page, i):
    element = page.run("return tessera.plots[arguments[0]].svg", i)
    page.run("arguments[0].scrollIntoView({block: 'center'})", element)
    return element


def point(page, i, x, y):
    """Move the pointer to a place in the units of the axes."""
    element = svg(page, i)
    dx, dy = page.run(MIDDLE, i, x, y)
    ActionChains(page.driver, 50).move_to_element_with_offset(element, dx, dy).perform()


def saved_by(page, button):
    """Return name and text of the file that the browser would save."""
    page.run("""window.saved = null; const make = URL.createObjectURL;
        URL.createObjectURL = b => { b.text().then(t => { window.saved = t; }); return make(b); };
        HTMLAnchorElement.prototype.click = function() { window.named = this.download; };
        document.querySelector(arguments[0]).click();""", button)
    text = page.wait("return window.saved")
    return page.run("return window.named"), text


def reading(page, i):
    return page.run("return tessera.plots[arguments[0]].reading.textContent", i)


def test_the_script_is_small_and_the_only_one(sample):
    text = sample.read_text(encoding="utf-8")
    assert len(re.findall(r"<script>", text)) == 1
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    assert 10_000 < len(script.encode()) < 25_000
    assert "http" not in script
    assert "default-src 'none'" in text


def test_what_comes_first(live):
    assert live.run("return document.title") == "Sample <page>"
    badges = live.run("return [...document.querySelectorAll('.badges span')].map(b => b.className)")
    assert badges == ["good", "check", "bad"]
    order = live.run("""
        return [...document.querySelectorAll('.badges, .warnings, nav, main, footer')]
            .map(e => e.className || e.tagName)""")
    assert order == ["badges", "warnings", "NAV", "MAIN", "FOOTER"]
    assert live.run("return document.querySelectorAll('.warnings li').length") == 2
    links = live.run("""return [...document.querySelectorAll('nav a')].map(a =>
        [a.textContent, document.querySelector(a.hash).textContent])""")
    assert [a for a, _ in links] == ["Long rows", "Curves & <bars>", "Maps", "Tables"]
    assert all(a == b for a, b in links)
    # Nothing from the data became an element.
    assert live.run("return document.querySelectorAll('td script, td i, svg i').length") == 0


@pytest.mark.parametrize("way", ["wheel", "box", "keys", "button"])
def test_zooming_changes_the_axis_of_the_whole_group(live, way):
    before = live.run(VIEW, 0)
    ticks = "return [...tessera.plots[1].svg.querySelectorAll('text')].map(t => t.textContent)"
    labels = live.run(ticks)
    element = svg(live, 0)
    if way == "wheel":
        element.click()
        point(live, 0, 500, 5)
        ActionChains(live.driver).scroll_from_origin(
            ScrollOrigin.from_element(element), 0, -300).perform()
    elif way == "box":
        (x0, y0), (x1, y1) = (live.run(MIDDLE, 0, t, 5) for t in (500, 1000))
        ActionChains(live.driver, 50).move_to_element_with_offset(element, x0, y0).click_and_hold(
        ).move_by_offset(x1 - x0, y1 - y0).release().perform()
    elif way == "keys":
        element.send_keys("+")
    else:
        live.run("tessera.plots[0].tools.querySelector('button').click()")
    low, high = live.wait("const v = tessera.plots[0].x.view; return v[1] - v[0] < 1800 && v")
    assert before[0] <= low < high <= before[1]
    if way == "box":
        assert low == pytest.approx(500, abs=5)
        assert high == pytest.approx(1000, abs=5)
    assert live.run(VIEW, 1) == [low, high]
    live.wait("return " + ticks[7:] + ".join() !== arguments[0]", ",".join(labels))
    ActionChains(live.driver).double_click(svg(live, 0)).perform()
    assert live.wait("const v = tessera.plots[1].x.view; return v[1] - v[0] > 1999 && v") == before


def test_panning(live):
    live.run("tessera.plots[0].show(tessera.plots[0].x, [500, 600])")
    element = svg(live, 0)
    element.send_keys(Keys.SHIFT + Keys.ARROW_RIGHT + Keys.NULL)
    assert live.run(VIEW, 0) == pytest.approx([520, 620])
    chain = ActionChains(live.driver, 50).move_to_element(element).key_down(Keys.SHIFT)
    chain.click_and_hold().move_by_offset(100, 0).release().key_up(Keys.SHIFT).perform()
    low, high = live.run(VIEW, 0)
    assert high - low == pytest.approx(100)
    assert low < 515
    for _ in range(9):
        live.run("tessera.plots[0].pan(-9)")
    assert live.run(VIEW, 0)[0] == pytest.approx(-STEP / 2)  # not beyond the end


@pytest.mark.parametrize("column", [0, 77_777, 499_999, 500_000, 999_999])
def test_the_cursor_reads_single_bins_of_a_million(live, column):
    live.run("const p = tessera.plots[0]; p.show(p.x, [arguments[0], arguments[1]])",
             (column - 10) * STEP, (column + 10) * STEP)
    live.wait("""const p = tessera.plots[0].series[0].pyramid;
        return p.at(arguments[0], 0)[2] === 1""", column * STEP)
    point(live, 0, column * STEP, 1)
    text = live.wait("return tessera.plots[0].reading.textContent")
    assert float(re.search(r"time ([\d.]+) s", text).group(1)) == pytest.approx(column * STEP,
                                                                              abs=STEP)
    assert float(re.search(r"first (\S+)", text).group(1)) == pytest.approx(value_of(column),
                                                                            abs=3e-4)
    if column % 100_000 < 500:
        assert "second NaN" in text
    # The plot linked to it has the cursor too.
    assert live.run("return tessera.plots[1].hair.getAttribute('d')")


def test_every_level_knows_the_greatest(live):
    found = live.run("""
        const p = tessera.plots[0].series[0].pyramid, most = [];
        for (let l = 0; l < p.levels.length; l++) p.visit(l, 0, p.n - 1, () => 0);
        return p.levels.length;""")
    assert found >= 5
    live.wait("""const p = tessera.plots[0].series[0].pyramid;
        return [...p.cache.values()].every(v => v !== 'wait')""")
    most = live.run("""
        const p = tessera.plots[0].series[0].pyramid;
        return p.levels.map((_, l) => {
          let m = -1, n = 0;
          p.visit(l, 0, p.n - 1, (v, a, b, c, level) => {
            if (level !== l) throw Error('coarse');
            for (let k = a; k <= b; k++) { m = Math.max(m, v.greatest[k]); n++; }
          });
          return [m, n];
        });""")
    assert [n for _, n in most] == [math.ceil(N_LONG / 4**level) for level in range(found)]
    assert all(m == pytest.approx(9, abs=1e-3) for m, _ in most)


def test_maps_are_single_bins_around_marks_and_say_so(live):
    note = live.run("return tessera.plots[1].figure.querySelector('.note').textContent")
    said = re.search(r"at least (\d+) bins of 0.002 s; around marks, for single bins", note)
    coarse = int(said[1])
    assert coarse > 1
    live.run("const p = tessera.plots[1]; p.jump(arguments[0], arguments[0])", EVENTS[1] * STEP)
    live.wait("return tessera.plots[1].map.pyramid.at(arguments[0], 5)[2] === 1", EVENTS[1] * STEP)
    point(live, 1, EVENTS[1] * STEP, 5)
    random = (EVENTS[1] * 2_654_435_761 + 5 * 40_503) % 2**32
    expected = (random >> 13) % 24 + 100
    assert f"height {expected} mm" in reading(live, 1)
    away = 300_000 * STEP
    live.run("const p = tessera.plots[1], [t] = arguments; p.show(p.x, [t - .1, t + .1])", away)
    live.wait("return tessera.plots[1].map.pyramid.at(arguments[0], 5)[2] > 1", away)
    point(live, 1, away, 5)
    assert f"(of {coarse} bins)" in reading(live, 1)


def test_going_from_mark_to_mark(live):
    live.run("tessera.plots[0].reset()")
    element = svg(live, 0)
    live.run("const p = tessera.plots[0]; p.show(p.x, [0, 1])")
    for event in EVENTS:
        element.send_keys("n")
        low, high = live.run(VIEW, 0)
        assert (low + high) / 2 == pytest.approx(event * STEP)
        assert high - low < 1
        assert live.run(VIEW, 1) == [low, high]
    element.send_keys("p")
    assert sum(live.run(VIEW, 0)) / 2 == pytest.approx(EVENTS[1] * STEP)
    live.run("document.querySelectorAll('a[data-group]')[2].click()")
    live.wait("""const [a, b] = tessera.plots[0].x.view;
        return Math.abs((a + b) / 2 - arguments[0]) < 1""", EVENTS[2] * STEP)


def test_logarithmic_axes_bands_and_bars_are_read(live):
    point(live, 2, math.log10(10 ** (-3 + 100 * 0.02)), math.log10(0.5))
    x = 10 ** (-3 + 100 * 0.02)
    y = 1 / (1 + x)
    text = reading(live, 2)
    assert text.startswith(f"tau {x:.3g} s · fit ")
    got = [float(v) for v in re.search(r"fit (\S+) \[(\S+) … (\S+)\]", text).groups()]
    assert got == pytest.approx([y, 0.8 * y, 1.2 * y], rel=1e-3)
    point(live, 3, 11, 10)
    assert reading(live, 3) == "size 11 cm · counts 95"
    labels = live.run("""return [...tessera.plots[3].svg.querySelectorAll('text')]
        .map(t => t.textContent)""")
    assert "size (cm)" in labels
    assert "count" in labels


def test_cells_are_read_and_losses_marked(live):
    point(live, 4, 1.5, 1.5)
    assert reading(live, 4) == "64 · b · speed-up 3"
    point(live, 4, 0.5, 2.5)
    assert reading(live, 4) == "16 · c<i> · speed-up 2"
    lost = live.run("""const p = tessera.plots[4], r = [...p.svg.querySelectorAll('.lost')];
        return r.map(e => [Math.floor((e.getAttribute('x') - 66) / p.inner * 4),
                           Math.floor((e.getAttribute('y') - 8) / p.tall * 3)])""")
    assert lost == [[0, 0], [1, 0]]
    numbers = live.run("""return [...tessera.plots[4].inside.querySelectorAll('text')]
        .map(t => t.textContent)""")
    assert sorted(float(n) for n in numbers) == [0.5, 0.9, 1.5, 2, 3, 4, 5, 6, 7, 8, 16]
    # The least and the greatest have the ends of the scale, in their corners; NaN is grey.
    corners = live.run("""const p = tessera.plots[4], c = p.canvas, w = c.width, h = c.height;
        const all = c.getContext('2d').getImageData(0, 0, w, h).data;
        const at = (x, y) => {
            const i = 4 * (Math.floor(h * y) * w + Math.floor(w * x));
            return [...all.slice(i, i + 3)];
        };
        const m = p.map.colours, k = i => [...m.slice(3 * i, 3 * i + 3)];
        return [at(.05, .05), k(0), at(.95, .95), k(254), at(.95, .5)]""")
    assert corners[0] == corners[1]
    assert corners[2] == corners[3]
    assert corners[4] == [160, 160, 160]


def test_cells_can_be_changed_and_exported(live):
    export = "return tessera.edited(document.querySelector('.template').textContent)"
    assert live.run(export) == {"schema": "sample/1", "labels": None}
    element = svg(live, 5)
    dx, dy = live.run(MIDDLE, 5, 1.5, 0.5)
    touch(live)
    ActionChains(live.driver, 50).move_to_element_with_offset(element, dx, dy).click().perform()
    element.send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
    labels = live.run(export)["labels"]
    assert labels == [[0, 1, 2], [1, 0, 0], [2, 0, 2], [0, 0, 1]]
    button = live.driver.find_element("css selector", ".export")
    assert button.text == "Export choices (2 changed)"
    name, text = saved_by(live, ".export")
    assert json.loads(text) == {"schema": "sample/1", "labels": labels}
    assert name == "choices.json"


def test_tables_sort_by_numbers_units_and_text(live):
    column = """return [...document.querySelectorAll('table.sort')[0].tBodies[0].rows]
        .map(r => r.cells[arguments[0]].textContent)"""
    heads = live.driver.find_elements("css selector", "table.sort th")[:3]
    heads[1].click()
    assert live.run(column, 1) == ["1 µs", "30 ms", "2 s", "4.5 s"]
    heads[1].send_keys(Keys.ENTER)
    assert live.run(column, 1) == ["4.5 s", "2 s", "30 ms", "1 µs"]
    assert heads[1].get_attribute("aria-sort") == "descending"
    heads[2].click()
    assert live.run(column, 2) == ["-3e2", "1.5 ± 0.2", "12", "NaN"]
    heads[2].click()
    assert live.run(column, 2) == ["12", "1.5 ± 0.2", "-3e2", "NaN"]
    heads[0].click()
    touch(live)
    name, text = saved_by(live, "table.sort + button")
    assert name == "table.csv"
    assert text.splitlines()[:2] == ['"name","time","value"',
                                     '"<script>alert(1)</script>","1 µs","-3e2"']
    assert live.run(column, 0) == ["<script>alert(1)</script>", "a", "b9", "b10"]


def test_cells_as_numbers(live):
    cells = {"12 KiB": 12e3, "3 MiB": 3e6, "1.5e-3": 1.5e-3, "-4 s": -4, "−4": -4, "[1.2, 3]": 1.2,
             "> 5": 5, "12 months": 12, "5 m": 5, "inf": math.inf, "-inf": -math.inf, "7 %": 7}
    got = live.run("return arguments[0].map(t => String(tessera.number(t)))", list(cells))
    assert [float(g.replace("Infinity", "inf")) for g in got] == pytest.approx(list(cells.values()))


def test_a_phone(live):
    live.width(390, 800)
    touch(live)
    live.driver.refresh()
    assert live.run("return document.querySelector('nav details').open") is False
    live.all_live()
    live.wait("return tessera.plots.every(p => p.width < 390)")
    assert live.run("return document.documentElement.scrollWidth") == 390
    sizes = live.run("""return [...document.querySelectorAll('.plot text, figcaption, td')].map(e =>
        parseFloat(getComputedStyle(e).fontSize) *
        (s => s ? s.getBoundingClientRect().width / s.viewBox.baseVal.width : 1)(
            e.closest('.plot > svg')))""")
    assert len(sizes) > 50
    assert min(sizes) >= 11
    # Texts of an axis do not lie on each other.
    for i in range(6):
        boxes = live.run("""const p = tessera.plots[arguments[0]];
            return [...p.svg.querySelectorAll('text')].map(t => t.getBoundingClientRect())
                .map(r => [r.left, r.right, r.top, r.bottom])""", i)
        for k, a in enumerate(boxes):
            for b in boxes[:k]:
                assert a[0] >= b[1] - 1 or b[0] >= a[1] - 1 or a[2] >= b[3] - 3 or b[2] >= a[3] - 3


def test_dark_and_print(live):
    def colours():
        return live.run("""const s = getComputedStyle(document.body);
            return [s.color, s.backgroundColor]""")

    light = colours()
    live.media(scheme="dark")
    dark = colours()
    assert dark != light
    assert dark[1] == "rgb(13, 17, 23)"
    fill = live.run("return getComputedStyle(document.querySelector('.plot text')).fill")
    assert fill == dark[0]
    live.media("print")
    hidden = live.run("""return ['nav', '.tools', '.reading'].map(q =>
        getComputedStyle(document.querySelector(q)).display)""")
    assert hidden == ["none"] * 3
    assert colours()[1] == "rgb(255, 255, 255)"
    pdf = live.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(pdf) > 20_000
    assert live.run("return document.getElementById('fold').open") is True


def test_legends_hide_lines(live):
    live.run("tessera.plots[0].caption.querySelector('button').click()")
    paths = "return tessera.plots[0].inside.querySelectorAll('path[stroke]').length"
    live.wait(paths + " === 1")
    live.run("tessera.plots[0].caption.querySelector('button').click()")
    live.wait(paths + " === 2")


def test_links_open_folds(live):
    live.driver.get(live.driver.current_url + "#fold")
    live.driver.refresh()
    assert live.run("return document.getElementById('fold').open") is True


def test_without_scripts_pictures_stay(sample):
    with browser(with_script=False) as driver:
        page = Page(driver)
        page.width(390)
        page.open(sample)
        stills = driver.find_elements("css selector", ".still svg")
        assert len(stills) == 6
        assert all(s.is_displayed() and s.rect["width"] > 300 for s in stills)
        metrics = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})
        assert metrics["cssContentSize"]["width"] == 390
        assert not driver.find_elements("css selector", ".plot svg")
        assert not driver.find_element("css selector", "button.export").is_displayed()
        assert driver.find_element("css selector", ".warnings").is_displayed()

"""Maps of clifford in a browser: the command's own, and those of a sweep against torch.compile."""

import subprocess
import sys

import pytest
from chromium import BINARY, BUILD

ROOT = BUILD.parent.parent


@pytest.fixture(scope="module")
def bench_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("clifford") / "bench.html"
    subprocess.run([BINARY, "clifford", "bench", "++", "--batch", "4,16", "--features", "4,8",
                    "--seconds", "0.001", "--report", path], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def sweep_page(tmp_path_factory):
    sys.path.insert(0, str(ROOT / "bench"))
    import clifford_page

    clifford_page.GENERATED = BUILD / "generated"
    rows = [{"op": "sgp3", "way": "fwd", "batch": batch, "features": n, "error": 1e-7,
             "ours_s": 1e-3, "peer_s": 1e-3 * (0.5 if (batch, n) == (64, 8) else n / 4),
             "more": {"device": "a <device>", "MiB": 10.0, "peer MiB": 5.0 * n / 8}}
            for batch in (16, 64) for n in (8, 16, 32)]
    path = tmp_path_factory.mktemp("sweep") / "sweep.html"
    path.write_text(clifford_page.make(rows, [16, 64], [8, 16, 32], "--op sgp3"), encoding="utf-8")
    return path


def lost(page, i):
    return page.run("return tessera.plots[arguments[0]].svg.querySelectorAll('.lost').length", i)


def test_the_command_draws_ratios_and_marks_losses(page, bench_page):
    page.open(bench_page)
    assert page.all_live() >= 7
    for i in range(3):
        rows, columns, values = page.run("""const m = tessera.plots[arguments[0]].map;
            return [m.rows, m.columns, [...m.values]]""", i)
        assert rows == ["4", "16"]
        assert columns == ["4", "8"]
        assert lost(page, i) == sum(v < 1 for v in values)
        assert "below 1: we lose" in page.run(
            "return tessera.plots[arguments[0]].caption.textContent", i)
    n_warning = page.run("return document.querySelectorAll('.warnings li').length")
    assert n_warning == sum(lost(page, i) for i in range(3))
    heads = page.run("return [...document.querySelectorAll('.sort th')].map(h => h.textContent)")
    assert heads[:3] == ["batch", "features", "speed-up, forward (x)"]
    page.driver.find_elements("css selector", ".sort th")[2].click()
    column = page.run("""return [...document.querySelectorAll('.sort tbody tr')]
        .map(r => Number(r.cells[2].textContent))""")
    assert column == sorted(column)


def test_a_sweep_has_the_same_page(page, sweep_page):
    page.open(sweep_page)
    assert page.all_live() == 5
    assert [lost(page, i) for i in range(5)] == [1, 2, 0, 0, 0]
    assert page.run("return document.querySelectorAll('.warnings li').length") == 1
    assert "sgp3 fwd: faster at 5 of 6 sizes" in page.run(
        "return document.querySelector('.badges').textContent")
    assert page.run("return tessera.plots[0].cell(2.5, 1.5).value") == 8
    page.width(390)
    page.wait("return tessera.plots.every(p => p.width < 390)")
    assert page.run("return document.documentElement.scrollWidth") == 390


def test_colours_are_those_of_the_library(page, bench_page, sweep_page):
    page.open(bench_page)
    page.all_live()
    library = page.run("return [...tessera.plots[0].map.colours]")
    page.open(sweep_page)
    page.all_live()
    ours = page.run("return [...tessera.plots[0].map.colours]")
    assert ours == pytest.approx(library, abs=1)

"""Reports of events: on a line, a track and a plane, of none, of one, untested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td

pytest.importorskip("pandas")
pytest.importorskip("xarray")
pytest.importorskip("networkx")

from decode_events_data import EVENTS, recording


def _text(page: str) -> str:
    """What a reader without pictures sees."""
    page = re.sub(r"<(script|style|svg)\b.*?</\1>|<!--.*?-->", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.fixture(scope="module", params=["line", "track", "plane"])
def fitted(request: pytest.FixtureRequest) -> tuple[str, Any, dict[str, Any]]:
    """Return the shape, a model and what is decoded."""
    return (request.param, *recording(request.param))


@pytest.mark.parametrize("decoder", ["memoryless", "states"])
def test_every_shape_has_its_pictures(
    fitted: tuple[str, Any, dict[str, Any]], decoder: str, tmp_path: Path
) -> None:
    shape, model, data = fitted
    path = tmp_path / "events.html"
    frame, _ = td.events.shuffle_test(
        model, EVENTS, **data, decoder=decoder, shuffles=39, report=path, report_events=4
    )
    page = path.read_text()
    text = _text(page)
    scored = frame[frame["reason"] == 0]
    assert len(scored) > 4
    assert f"{len(scored)} of {len(frame)} events scored" in text
    lead = "distance" if shape == "plane" else "line_fit"
    share = frame.attrs["shares"].loc[("time", lead)]
    assert f"{share['n_significant']:.0f} of {share['n_event']:.0f} events have p &lt; 0.05" in text
    # The best are drawn: least p first, then the best score.
    sign = -1 if shape == "plane" else 1
    order = np.lexsort((-sign * scored[lead], scored[f"p_time_{lead}"]))
    best = [int(i) for i in scored["event"].to_numpy()[order][:4]]
    assert [int(i) for i in re.findall(r'<details id="event(\d+)"', page)] == best
    for event in best:
        assert f'href="#event{event}"' in page
    assert ("best line" in page) == (shape != "plane")
    assert ("most likely places" in page) == (shape == "plane")
    assert ("along the route" in page) == (shape == "track")
    assert ('"States"' in page or ">States<" in page) == (decoder == "states")
    assert "uniform" in page
    assert "time bins permuted: asks for order alone" in text
    assert page.rstrip().endswith("</html>")


def test_lines_are_where_the_score_is(
    fitted: tuple[str, Any, dict[str, Any]], tmp_path: Path
) -> None:
    """The line of the table, laid over the posterior, has the score of the table."""
    shape, model, data = fitted
    if shape != "line":
        pytest.skip("lines of a line are compared")
    frame, posterior = td.events.score(model, EVENTS, **data)
    place = posterior["position"].to_numpy()
    left = place[0] - 0.5 * (place[1] - place[0])
    for event, row in frame[frame["reason"] == 0].iterrows():
        rows = posterior[posterior["event"] == event].to_numpy()
        k = np.flatnonzero(posterior[posterior["event"] == event]["is_counted"])
        y = left + row["line_intercept"] + row["line_velocity"] * 0.02 * k
        on = np.abs(place[None, :] - y[:, None]) <= 15 + 1e-7
        if (y >= left).all() and (y <= place[-1] + place[0] - left).all():
            assert row["line_fit"] == pytest.approx((rows[k] * on).sum(axis=1).mean(), abs=1e-12)


def test_pages_of_little(fitted: tuple[str, Any, dict[str, Any]], tmp_path: Path) -> None:
    """Without events, with one, without shuffles, with all dropped, without pictures."""
    _, model, data = fitted

    def page(events: Any, **options: Any) -> str:
        path = tmp_path / "page.html"
        td.events.shuffle_test(model, events, **data, report=path, overwrite=True, **options)
        return _text(path.read_text())

    assert "there are no events" in page(np.empty((0, 2)), shuffles=9)
    one = page(EVENTS[:1], shuffles=39)
    assert "1 of 1 events scored" in one
    assert "1 scored event: shares are uncertain" in one
    few = page(EVENTS, shuffles=9)
    assert "with 9 shuffles no p can be below 0.05" in few
    dropped = page(np.array([[3.0, 2.0], [np.nan, 1.0], [70.0, 71.0]]), shuffles=39)
    assert "every event was dropped" in dropped
    assert "outside" in dropped
    overlap = page(np.concatenate([EVENTS, EVENTS[:2]]), shuffles=39, report_events=0)
    assert "2 events overlap" in overlap
    assert "The most significant events" not in overlap
    path = tmp_path / "scored.html"
    td.events.score(model, EVENTS, **data, report=path)
    assert "no shuffles were made" in _text(path.read_text())
    with pytest.raises(tessera.OutputExistsError, match=r"scored\.html"):
        td.events.score(model, EVENTS, **data, report=path)

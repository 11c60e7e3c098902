"""What predict() and estimate_parameters() are given: positions, windows, counts of iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_matrix import ENVIRONMENTS, MODELS, Session, session
from tessera.decode.exceptions import DataError, ValidationError

LOCAL = ["non-local", "non-local-bins", "sorted-non-local"]
PLACES = ["line-gap", "corner", "track-gaps"]


def fitted(place: str, name: str) -> tuple[Any, Session]:
    data = session(ENVIRONMENTS[place], MODELS[name])
    model = MODELS[name].build(ENVIRONMENTS[place])
    return model.fit(data.position_time, data.position, *data.spikes), data


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("place", PLACES)
def test_positions_must_fit_the_decoded_period(place: str, name: str) -> None:
    model, data = fitted(place, name)
    given = (*data.spikes, data.time)
    with pytest.raises(DataError, match="known at no decoded time"):
        model.predict(*given, position=data.position[200:], position_time=data.position_time[200:])
    with pytest.warns(UserWarning, match="29 of 60 decoded times lie outside of position_time"):
        model.predict(*given, position=data.position[30:], position_time=data.position_time[30:])
    # One coordinate of a track is a linear position.
    other = np.tile(data.position, 2)
    if data.position.shape[1] == 2 and place != "track-gaps":
        other = data.position[:, :1]
    with pytest.raises(ValidationError, match=r"position has . column"):
        model.predict(*given, position=other, position_time=data.position_time)


@pytest.mark.parametrize("name", [*LOCAL, "cont-frag"])
def test_one_row(name: str) -> None:
    model, data = fitted("corner", name)
    found = model.predict(*data.spikes, data.time[:1], **data.where)
    assert np.nansum(np.asarray(found["acausal_posterior"])) == pytest.approx(1)


@pytest.mark.parametrize("name", ["cont-frag", "sorted-cont-frag", "sorted-non-local"])
def test_iterations_are_checked(name: str) -> None:
    model, data = fitted("line-gap", name)
    given = (data.position_time, data.position, *data.spikes, data.time)
    for settings in ({"max_iter": 0}, {"max_iter": -1}, {"max_iter": True}, {"max_iter": 2.5},
                     {"tolerance": np.nan}, {"tolerance": -1.0}, {"tolerance": True},
                     {"min_encoding_local_mass": -1.0}):  # fmt: skip
        with pytest.raises(ValidationError, match=next(iter(settings))):
            model.estimate_parameters(*given, **settings)


def test_causal_posterior_by_its_flag() -> None:
    model, data = fitted("line", "cont-frag")
    with pytest.deprecated_call(match="return_outputs='filter'"):
        found = model.predict(*data.spikes, data.time, save_causal_posterior_to_results=True)
    want = model.predict(*data.spikes, data.time, return_outputs="filter")
    assert set(found) == set(want)


def test_linear_positions_of_a_track_are_put_back_on_it() -> None:
    edges = [(0, 1), (1, 2)]
    graph = td.make_track_graph([(0, 0), (60, 0), (60, 40)], edges)
    time = np.arange(0, 8, 0.004)
    linear = 52 - 52 * np.cos(time)  # from end to end, across the gap of 5 cm between the edges
    first = np.clip(linear, 0, 60)
    second = np.clip(linear - 65, 0, 40)
    is_second = linear > 62.5
    plane = np.c_[np.where(is_second, 60, first), np.where(is_second, second, 0)]
    rng = np.random.default_rng(3)
    spikes = [np.sort(rng.uniform(0, 8, 120)) for _ in range(3)]
    marks = [rng.normal(0, 24, (120, 2)) for _ in spikes]
    found = []
    for position in (plane, linear, linear[:, np.newaxis]):
        environment = td.Environment(
            place_bin_size=4.0, track_graph=graph, edge_order=edges, edge_spacing=5.0
        )
        model = td.NonLocalClusterlessDetector(environments=environment)
        model.fit(time, position, spikes, marks)
        result = model.predict(
            spikes, marks, time[:60], position=position[:90], position_time=time[:90]
        )
        found.append(np.asarray(result["acausal_posterior"]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_array_equal(found[2], found[1])

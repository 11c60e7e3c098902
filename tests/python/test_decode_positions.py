"""What predict() and estimate_parameters() are given: positions, windows, counts of iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
    other = data.position[:, :1] if data.position.shape[1] == 2 else np.tile(data.position, 2)
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

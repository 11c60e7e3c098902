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

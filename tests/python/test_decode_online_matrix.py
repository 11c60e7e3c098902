"""The online decoder with every model on every kind of environment. Tables: decode_matrix.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_matrix import ENVIRONMENTS, MODELS, N_TIME, RATE, Kind, Place, Session, session
from tessera.decode.online import TriggerEvent

pytestmark = pytest.mark.filterwarnings("ignore:.* lie on the absolute floor")
WIDTH = 1 / RATE
N_BIN = N_TIME - 1  # the last time closes the bin before
COMBINATIONS = [
    pytest.param(ENVIRONMENTS[place], MODELS[model], id=f"{place}-{model}")
    for place in ENVIRONMENTS
    for model in MODELS
]


def fitted(place: Place, kind: Kind) -> tuple[Any, Session]:
    data = session(place, kind)
    model = kind.build(place)
    more = {**data.labels, **data.covariates(N_TIME)}
    return model.fit(data.position_time, data.position, *data.spikes, **more), data


def push(online: td.OnlineDecoder, data: Session) -> None:
    for k in range(N_TIME + 2):
        online.push_position(data.position_time[k], data.position[k])
    for e, times in enumerate(data.spikes[0]):
        mine = times < data.time[-1]
        features = None if data.kind.is_sorted else data.spikes[1][e][mine]
        online.push_spikes(times[mine], e, features)


def advance(online: td.OnlineDecoder, data: Session, first: int, end: int) -> None:
    """Bin by bin, with the covariates of each where there are any."""
    for k in range(first, end):
        given = data.covariates(N_TIME)
        for covariates in given.values():
            given = {"discrete_transition_covariate_data": {
                name: values[k] for name, values in covariates.items()}}  # fmt: skip
        assert online.advance(data.time[0] + (k + 1) * WIDTH + 1e-9, **given) == 1


def posteriors(online: td.OnlineDecoder, first: int = 0) -> Any:
    return np.array([online.get(k)["posterior"] for k in range(first, N_BIN)])


def open_decoder(model: Any, data: Session, **options: Any) -> td.OnlineDecoder:
    return td.OnlineDecoder(model, data.time[0], bin_width=WIDTH, n_history=N_TIME, **options)


@pytest.mark.parametrize(("place", "kind"), COMBINATIONS)
def test_it_is_predict_triggers_and_goes_on(place: Place, kind: Kind, tmp_path: Path) -> None:
    model, data = fitted(place, kind)
    want = model.predict(*data.spikes, data.time, **data.where, **data.covariates(N_TIME),
                         return_outputs=["filter"])  # fmt: skip
    inner = model.is_track_interior_state_bins_
    causal = np.asarray(want["causal_posterior"]).reshape(N_TIME, -1)[:N_BIN, inner]
    online = open_decoder(model, data)
    fired: list[TriggerEvent] = []
    online.set_trigger(0, fired.append, state=model.state_names[-1], threshold=0.3)
    push(online, data)
    advance(online, data, 0, 20)
    online.snapshot(tmp_path / "state")
    advance(online, data, 20, N_BIN)
    found = posteriors(online)
    np.testing.assert_allclose(found, causal, rtol=0, atol=3e-5)
    states = np.array([online.get(k)["state_probabilities"] for k in range(N_BIN)])
    assert [event.bin for event in fired] == np.flatnonzero(states[:, -1] > 0.3).tolist()
    again = open_decoder(model, data)
    again.restore(tmp_path / "state")
    advance(again, data, 20, N_BIN)
    assert np.array_equal(posteriors(again, 20), found[20:])
    assert online.stats()["n_spike"] == again.stats()["n_spike"] > 10


@pytest.mark.filterwarnings("ignore:.*decode.untracked", "ignore:.*position is NaN")
@pytest.mark.parametrize("place", ["line", "box", "track"])
@pytest.mark.parametrize("name", ["non-local", "non-local-bins", "sorted-non-local"])
def test_an_animal_that_is_lost_is_lost_offline_too(place: str, name: str) -> None:
    """Samples without a position, singly and in rows: what Local states say of bins near them."""
    model, data = fitted(ENVIRONMENTS[place], MODELS[name])
    data.position[[8, *range(14, 17), *range(20, 25), 30, 33, 36]] = np.nan
    want = model.predict(*data.spikes, data.time, **data.where, return_outputs=["filter"])
    inner = model.is_track_interior_state_bins_
    causal = np.asarray(want["causal_posterior"]).reshape(N_TIME, -1)[:N_BIN, inner]
    online = open_decoder(model, data)
    push(online, data)
    advance(online, data, 0, N_BIN)
    np.testing.assert_allclose(posteriors(online), causal, rtol=0, atol=3e-5)


def can_learn(model: Any) -> bool:
    """As the manual says: a KDE of one environment and encoding, without one-bin Local states."""
    kind = getattr(model, "clusterless_algorithm", "") or model.sorted_spikes_algorithm
    one_bin = any(o.is_local for o in model.observation_models) and not model.local_position_std
    return kind.endswith("kde") and len(model.encoding_model_) == 1 and not one_bin


@pytest.mark.parametrize(("place", "kind"), COMBINATIONS)
def test_it_learns_or_says_why_not(place: Place, kind: Kind) -> None:
    model, data = fitted(place, kind)
    if not can_learn(model):
        with pytest.raises(ValueError, match="learn"):
            open_decoder(model, data, learn="window")
        return
    online = open_decoder(model, data, learn="window", learn_from_nothing=True)
    events = [(t, -1, i) for i, t in enumerate(data.position_time)]
    for e, times in enumerate(data.spikes[0]):
        events += [(t, e, i) for i, t in enumerate(times)]
    n_refused = 0
    for t, e, i in sorted(events):
        if e >= 0:
            online.learn_spike(t, e, () if kind.is_sorted else data.spikes[1][e][i])
            continue
        try:
            online.learn_position(t, data.position[i])
        except ValueError:  # off the track
            n_refused += 1
    online.freeze()
    online.learn_position(data.position_time[-1] + 1, data.position[0])
    learned = online.learned()
    assert learned["is_frozen"]
    assert learned["n_ignored"] == 1
    # A mask leaves out places the animal went to, which a fit counts all the same.
    assert (n_refused > 0) == (place is ENVIRONMENTS["mask"])
    if n_refused:
        return
    (encoding,) = model.encoding_model_.values()
    inner = np.asarray(model.environments[0].is_track_interior_).ravel()
    for name in ("occupancy", "mean_rates"):
        values = np.asarray(encoding[name]).ravel()
        values = values[inner] if len(values) == len(inner) else values
        np.testing.assert_allclose(learned[name], values, rtol=2e-7, err_msg=name)
    push(online, data)
    advance(online, data, 0, N_BIN)
    fresh = open_decoder(model, data)
    push(fresh, data)
    advance(fresh, data, 0, N_BIN)
    np.testing.assert_allclose(posteriors(online), posteriors(fresh), rtol=0, atol=2e-3)

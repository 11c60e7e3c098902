"""What notebooks, terminals and pickles make of results."""

from __future__ import annotations

import pickle
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoreject_data import dirty, sphere
from tessera import _html, autoreject, clifford, decode, xpcs
from tessera.autoreject.autoreject import Thresholds
from tessera.decode.results import Results

EVIL = "<script>alert('x')</script>&\"'"
MOST_BYTES = 12_000


class Wellformed(HTMLParser):
    """Refuses tags that are not closed in order, and collects what a page would fetch or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen |= {tag, *(name for name, _ in attrs)}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(value: Any) -> str:
    text: str = value._repr_html_()
    assert text.isprintable() or "\n" in text
    assert len(text.encode()) < MOST_BYTES
    page = Wellformed(text)
    assert page.seen.isdisjoint({"script", "link", "img", "iframe", "src", "href", "onclick"})
    assert "http" not in text
    assert "url(" not in text
    assert "<" not in repr(value) or repr(value).startswith("<")
    assert len(repr(value)) < 1500
    # Colours of its own only on badges, whose text has one, too: everything else is the page's.
    style = text[: text.index("</style>")]
    plain = [rule for rule in style.split("}") if "background:#" not in rule]
    assert not any(re.search(r"(?<!-)color:#", rule) for rule in plain)
    return text


@pytest.fixture(scope="module")
def recording() -> decode.Recording:
    return decode.simulate_recording("tiny", 1)


@pytest.fixture(scope="module")
def model(recording: decode.Recording) -> decode.ContFragClusterlessClassifier:
    return decode.ContFragClusterlessClassifier(
        environments=recording.environment(),
        clusterless_algorithm_params=recording.algorithm_params(),
    ).fit(
        recording.position_time,
        recording.position,
        recording.encoding_spike_times,
        recording.encoding_spike_waveform_features,
    )


def test_what_comes_from_data_is_escaped() -> None:
    table = _html.Table((EVIL,), [(EVIL,)], EVIL)
    text = _html.Card(EVIL, {EVIL: EVIL}, EVIL, EVIL, [table], [EVIL]).html()
    Wellformed(text)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 8
    log = autoreject.RejectLog([True, False], [[1.0], [2.0]], [EVIL])
    assert "<script" not in shown(log)


def test_long_tables_end() -> None:
    text = _html.Table(("k",), [(k,) for k in range(1000)]).html()
    assert text.count("<tr>") == 42
    assert "and 960 more" in text


def test_xpcs() -> None:
    data = xpcs.simulate(n_angle=3, n_frame=40, dt=0.1, gap=2e6, sigma=0.01)
    assert "3" in shown(data)
    assert "2e+06 Å" in shown(data)
    result = xpcs.fit(data, sigma=0.01, fixed={"D_offset": 0.0})
    text = shown(result)
    for name, value in result.physical.items():
        assert f'<td>{name}</td><td class="n">{value:.6g}</td>' in text
    assert "<td>fixed</td>" in text
    assert f">{result.quality_flag}</span>" in text
    assert repr(xpcs.Settings()).startswith("Settings('")


def test_autoreject(tmp_path: Path) -> None:
    x, positions = dirty(), sphere(12)
    ar = autoreject.AutoReject([1, 2], cv=3, random_state=1, verbose=False)
    assert "not fitted" in shown(ar)
    ar.fit_array(x, positions)
    assert "µV" in shown(ar)
    _, log = ar.transform_array(x, return_log=True)
    assert f"{int(log.bad_epochs.sum())} dropped" in shown(log)
    assert shown(autoreject.RejectLog(np.zeros(0, bool), np.zeros((0, 2)), ["a", "b"]))
    thresholds = Thresholds(ar.threshes_)
    assert "CH001" in shown(thresholds)
    assert shown(Thresholds())
    assert thresholds == ar.threshes_
    assert "not fitted" in shown(autoreject.Ransac())
    np.save(tmp_path / "x.npy", x)
    epochs = autoreject.read_epochs(tmp_path / "x.npy", sampling_hz=100.0)
    assert "x.npy" in shown(epochs)


def test_decode(recording: decode.Recording, model: decode.ContFragClusterlessClassifier) -> None:
    assert "simulation" in shown(recording)
    assert "Continuous" in shown(model)
    assert "not fitted" in shown(decode.NonLocalSortedSpikesDetector())
    tuning = decode.tune(recording, points=3, rounds=1, refine=0)
    assert "nats per held-out spike" in shown(tuning)
    online = decode.OnlineDecoder(model, start=float(recording.time[0]))
    assert repr(online).startswith("OnlineDecoder(['Continuous', 'Fragmented'], 0 bins")


def test_decode_results_without_xarray(
    monkeypatch: pytest.MonkeyPatch,
    recording: decode.Recording,
    model: decode.ContFragClusterlessClassifier,
) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    results = model.predict(
        recording.spike_times, recording.spike_waveform_features, recording.time
    )
    assert isinstance(results, Results)
    text = shown(results)
    assert "acausal_posterior" in text
    assert "time, state_bins" in text


def test_clifford() -> None:
    text = shown(clifford.Algebra("0+++"))
    assert "Cl(3,0,1)" in text
    assert "e01 e02 e03" in text
    assert "sgp" in shown(clifford.Op("sgp", "+++", normalize=False))
    pytest.importorskip("torch")
    layer = clifford.Layer(4, "+++")
    assert "gp_weight" in shown(layer)
    assert "<" in shown(clifford.MVGELU("+++"))


def test_recordings_pickle(recording: decode.Recording, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(recording))
    assert np.array_equal(again.time, recording.time)
    assert np.array_equal(again.spike_times[0], recording.spike_times[0])
    path = recording.save(tmp_path / "a.npz")
    read = decode.read_recording(path)
    text = pickle.dumps(read)
    assert len(text) < 1000
    assert np.array_equal(pickle.loads(text).position, recording.position)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"a\.npz"):
        pickle.loads(text)
    nowhere = decode.Recording(recording._handle)
    with pytest.raises(TypeError, match=r"recording\.save"):
        pickle.dumps(nowhere)


def test_epochs_of_files_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    x = dirty()
    np.save("x.npy", x)
    epochs = autoreject.read_epochs("x.npy", sampling_hz=123.0, bads="002")
    monkeypatch.chdir("/")
    text = pickle.dumps(epochs)
    again = pickle.loads(text)
    assert (again.sfreq, again.bads, again.shape) == (123.0, ["002"], epochs.shape)
    assert np.array_equal(again.get_data(1, 2), x[1:3])
    with pytest.raises(TypeError, match="read_epochs"):
        pickle.dumps(autoreject.EpochsFile(epochs._handle))

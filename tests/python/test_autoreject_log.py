"""Reject logs: files, text, figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from autoreject_data import mne_epochs, sphere
from tessera.autoreject import RejectLog, read_reject_log

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture
def log() -> RejectLog:
    labels = np.array([[0, 1, np.nan], [2, 0, np.nan], [1, 1, np.nan]])
    return RejectLog([False, False, True], labels, ["A", "B", "EOG"])


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


def test_lengths_must_agree() -> None:
    with pytest.raises(AssertionError, match="2 epochs"):
        RejectLog([False, True], np.zeros((3, 1)), ["A"])
    with pytest.raises(AssertionError, match="ch_names has 2"):
        RejectLog([False], np.zeros((1, 1)), ["A", "B"])


def test_round_trip(log: RejectLog, tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    log.save(path)
    assert read_reject_log(path) == log
    with pytest.raises(ValueError, match="overwrite=True"):
        log.save(path)
    log.bad_epochs[0] = True
    log.save(path, overwrite=True)
    assert read_reject_log(path).bad_epochs.tolist() == [True, False, True]
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.npz"]
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(ValueError, match="no regular file"):
        log.save(tmp_path / "folder.npz", overwrite=True)


def test_file_has_the_originals_arrays(log: RejectLog, tmp_path: Path) -> None:
    log.save(tmp_path / "log.npz")
    with np.load(tmp_path / "log.npz") as file:
        own = {"bad_epochs", "ch_names", "labels"}
        assert set(file.files) == {*own, "tessera_provenance"}
        assert file["labels"].dtype == np.float64
        assert file["bad_epochs"].dtype == bool
        assert file["ch_names"].tolist() == ["A", "B", "EOG"]


def test_an_edited_log_is_read(log: RejectLog, tmp_path: Path) -> None:
    path = tmp_path / "edited.json"
    whole: dict[str, Any] = {
        "schema": "tessera.autoreject.log/1",
        "ch_names": ["A", "B", "EOG"],
        "bad_epochs": [0, False, 1],
        "labels": [[0, 1, None], [2, 0, None], [1, 1, None]],
    }
    path.write_text(json.dumps(whole))
    assert read_reject_log(path) == log
    for key, wrong, match in (
        ("schema", "x", "its schema is 'x'"),
        ("labels", [[0, 1, None]], "do not fit together"),
        ("labels", [[0], [1, 2]], "no reject log"),
        ("bad_epochs", ["a"], "no reject log"),
    ):
        path.write_text(json.dumps(whole | {key: wrong}))
        with pytest.raises(ValueError, match=match):
            read_reject_log(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", labels=np.zeros((1, 1)))
    with pytest.raises(ValueError, match="lacks bad_epochs, ch_names"):
        read_reject_log(tmp_path / "x.npz")


def test_text(log: RejectLog) -> None:
    lines = log.text().splitlines()
    assert "1 epochs bad, 1 channels interpolated, 3 left bad" in lines[0]
    assert lines[1:] == ["     0     ·x", "     1     i·", "     2 BAD xx"]
    assert "1 more channels" in log.text(width=13)


@pytest.mark.parametrize("orientation", ["vertical", "horizontal"])
def test_plot(log: RejectLog, orientation: str) -> None:
    figure = log.plot(orientation, show=False)
    ax = figure.axes[0]
    image = np.ma.filled(ax.images[0].get_array(), np.nan)  # type: ignore[arg-type]
    want = log.labels if orientation == "vertical" else log.labels.T
    np.testing.assert_array_equal(image, want)
    assert len(ax.patches) == 1  # the frame of epoch 2
    named = ax.get_xticklabels() if orientation == "vertical" else ax.get_yticklabels()
    assert [label.get_text() for label in named] == ["A", "B", "EOG"]
    assert log.plot(orientation, show=False, ax=ax) is figure


def test_plot_names_some_of_many() -> None:
    log = RejectLog([False], np.zeros((1, 30)), [f"C{k}" for k in range(30)])
    labels = log.plot(show=False).axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == ["C0", "C5", "C10", "C15", "C20", "C25"]
    labels = log.plot(show=False, show_names=10).axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == ["C0", "C10", "C20"]


def test_plot_refuses(log: RejectLog) -> None:
    with pytest.raises(ValueError, match="'horizontal' or 'vertical'"):
        log.plot("diagonal")
    with pytest.raises(ValueError, match="show_names"):
        log.plot(show_names="some", show=False)


def test_plot_epochs_refuses_other_epochs(log: RejectLog) -> None:
    pytest.importorskip("mne")
    epochs = mne_epochs(np.zeros((2, 3, 9)), sphere(3))
    with pytest.raises(ValueError, match=r"before\* autoreject"):
        log.plot_epochs(epochs)
    epochs = mne_epochs(np.zeros((3, 2, 9)), sphere(2))
    with pytest.raises(ValueError, match="channels should match"):
        log.plot_epochs(epochs)


def test_plot_epochs_colors(log: RejectLog, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mne")
    import mne.viz

    seen: dict[str, Any] = {}
    monkeypatch.setattr(mne.viz, "plot_epochs", lambda epochs, **given: seen.update(given))
    log.plot_epochs(mne_epochs(np.zeros((3, 3, 9)), sphere(3)), title="x")
    grey = (0.6, 0.6, 0.6, 1.0)
    assert seen["epoch_colors"] == [["k", "r", "k"], [grey, "k", "k"], ["r", "r", "r"]]

"""autoreject on MNE's objects: what is kept, files, figures, errors of the edge cases."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from autoreject_data import dirty, mne_epochs, sphere
from tessera.autoreject import (
    AutoReject,
    Ransac,
    RejectLog,
    _AutoReject,
    compute_thresholds,
    fit_array,
    get_rejection_threshold,
    read_auto_reject,
    viz,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

mne = pytest.importorskip("mne")

FIT: dict[str, Any] = {
    "n_interpolate": [1, 2],
    "consensus": [0.2, 0.5, 0.8],
    "cv": 4,
    "random_state": 1,
    "verbose": False,
}


@pytest.fixture(scope="module")
def epochs() -> Any:
    return mne_epochs(dirty(), sphere(12))


@pytest.fixture(scope="module")
def fitted(epochs: Any) -> AutoReject:
    return AutoReject(**FIT).fit(epochs)


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


def _same_fit(a: AutoReject, b: AutoReject) -> None:
    assert a.threshes_ == b.threshes_
    assert (a.consensus_, a.n_interpolate_) == (b.consensus_, b.n_interpolate_)
    assert a.loss_.keys() == b.loss_.keys()
    for kind, loss in a.loss_.items():
        np.testing.assert_array_equal(loss, b.loss_[kind])
    assert a.picks_.tolist() == b.picks_.tolist()


def test_planted_artifacts_are_found(epochs: Any, fitted: AutoReject) -> None:
    log = fitted.get_reject_log(epochs)
    assert log.bad_epochs[[7, 13]].all()
    assert log.labels[4, 2] == 2
    assert log.labels[9, 5] == 2
    assert log.ch_names == epochs.ch_names
    assert fitted.seed_ == 1
    assert fitted.local_reject_["eeg"].threshes_ == fitted.threshes_


@pytest.mark.parametrize("change", [{"n_jobs": 2}, {"n_jobs": -1}, {"memory_limit": "64M"}])
def test_results_do_not_depend_on_threads_and_memory(
    epochs: Any, fitted: AutoReject, change: dict[str, Any]
) -> None:
    _same_fit(AutoReject(**FIT | change).fit(epochs), fitted)


def test_seeds_of_generators(epochs: Any) -> None:
    a = AutoReject(**FIT | {"random_state": np.random.RandomState(5)}).fit(epochs)
    b = AutoReject(**FIT | {"random_state": np.random.RandomState(5)}).fit(epochs)
    _same_fit(a, b)
    _same_fit(AutoReject(**FIT | {"random_state": a.seed_}).fit(epochs), a)
    c = AutoReject(**FIT | {"random_state": None}).fit(epochs)
    _same_fit(AutoReject(**FIT | {"random_state": c.seed_}).fit(epochs), c)


def test_folds_of_scikit_learn_and_ours_agree(epochs: Any, fitted: AutoReject) -> None:
    n = len(epochs)
    parts = np.array_split(np.arange(n), 4)
    listed = [(np.setdiff1d(np.arange(n), part), part) for part in parts]
    other = AutoReject(**FIT | {"cv": listed}).fit(epochs)
    np.testing.assert_allclose(other.loss_["eeg"], fitted.loss_["eeg"], rtol=1e-12)
    assert other.consensus_ == fitted.consensus_
    selection = pytest.importorskip("sklearn.model_selection")
    _same_fit(AutoReject(**FIT | {"cv": selection.KFold(4)}).fit(epochs), fitted)
    shuffled = selection.KFold(4, shuffle=True, random_state=1)
    AutoReject(**FIT | {"cv": shuffled}).fit(epochs)


def test_copies_after_fitting(epochs: Any, fitted: AutoReject) -> None:
    want = fitted.transform(epochs).get_data()
    for twin in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        _same_fit(twin, fitted)
        np.testing.assert_array_equal(twin.transform(epochs).get_data(), want)
        assert twin.seed_ == 1
    base = pytest.importorskip("sklearn.base")
    assert not hasattr(base.clone(fitted), "threshes_")


def test_hdf5(epochs: Any, fitted: AutoReject, tmp_path: Path) -> None:
    pytest.importorskip("h5io")
    path = tmp_path / "ar.h5"
    fitted.save(path)
    with pytest.raises(ValueError, match="overwrite=True"):
        fitted.save(path)
    twin = read_auto_reject(path)
    _same_fit(twin, fitted)
    assert twin.get_reject_log(epochs) == fitted.get_reject_log(epochs)
    assert twin.verbose is False
    assert twin.thresh_errors_ == fitted.thresh_errors_
    AutoReject(cv=3).save(path, overwrite=True)
    assert repr(read_auto_reject(path)) == repr(AutoReject(cv=3))
    odd = AutoReject(cv=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"cv: .* cannot be saved to HDF5"):
        odd.save(tmp_path / "odd.h5")


def test_hdf5_has_the_originals_layout(fitted: AutoReject, tmp_path: Path) -> None:
    h5io = pytest.importorskip("h5io")
    fitted.save(tmp_path / "ar.h5")
    state = h5io.read_hdf5(tmp_path / "ar.h5", title="autoreject")
    assert set(state) - {"tessera"} == {
        "consensus",
        "n_interpolate",
        "picks",
        "verbose",
        "n_jobs",
        "cv",
        "random_state",
        "thresh_method",
        "threshes_",
        "n_interpolate_",
        "consensus_",
        "dots",
        "picks_",
        "loss_",
        "local_reject_",
    }
    assert set(state["local_reject_"]["eeg"]) == {
        "consensus",
        "n_interpolate",
        "picks",
        "verbose",
        "threshes_",
        "n_interpolate_",
        "consensus_",
        "dots",
    }
    # Without our part it is a file of the original's.
    del state["tessera"]
    h5io.write_hdf5(tmp_path / "theirs.h5", state, title="autoreject")
    _same_fit(read_auto_reject(tmp_path / "theirs.h5"), fitted)


def test_json(epochs: Any, fitted: AutoReject, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    fitted.save(path)
    twin = read_auto_reject(path)
    _same_fit(twin, fitted)
    assert twin.get_reject_log(epochs) == fitted.get_reject_log(epochs)
    with pytest.raises(ValueError, match="fit"):
        AutoReject().save(tmp_path / "other.json")


def test_events_metadata_and_drop_log_follow() -> None:
    pandas = pytest.importorskip("pandas")
    epochs = mne_epochs(dirty(), sphere(12))
    epochs.metadata = pandas.DataFrame({"k": np.arange(len(epochs))})
    cleaned, log = AutoReject(**FIT).fit_transform(epochs, return_log=True)
    kept = np.flatnonzero(~log.bad_epochs)
    assert cleaned.metadata["k"].tolist() == kept.tolist()
    assert cleaned.events.tolist() == epochs.events[kept].tolist()
    assert cleaned.selection.tolist() == kept.tolist()
    assert cleaned.drop_log[7] == ("AUTOREJECT",)
    assert cleaned.drop_log[0] == ()


def test_an_edited_log_is_carried_out(epochs: Any, fitted: AutoReject) -> None:
    log = fitted.get_reject_log(epochs)
    log.bad_epochs[:] = False
    log.bad_epochs[3] = True
    log.labels[0, 1] = 2
    cleaned = fitted.transform(epochs, reject_log=log)
    assert cleaned.selection.tolist() == [k for k in range(len(epochs)) if k != 3]
    assert not np.array_equal(cleaned._data[0, 1], epochs._data[0, 1])
    with pytest.raises(ValueError, match="must be an instance of RejectLog"):
        fitted.transform(epochs, reject_log=3)  # type: ignore[call-overload]
    short = RejectLog(log.bad_epochs[:5], log.labels[:5], log.ch_names)
    with pytest.raises(ValueError, match="reject_log has 5 epochs"):
        fitted.transform(epochs, reject_log=short)
    other = RejectLog(log.bad_epochs, log.labels, ["X", *log.ch_names[1:]])
    with pytest.raises(ValueError, match=r"channel 0 is 'X', that of the epochs is .*give the log"):
        fitted.transform(epochs, reject_log=other)
    log.labels[0, 1] = 3
    with pytest.raises(ValueError, match=r"reject_log.labels: epoch 0, channel .* is 3; exp"):
        fitted.transform(epochs, reject_log=log)


def test_keep_and_drop(epochs: Any, fitted: AutoReject) -> None:
    log = fitted.get_reject_log(epochs)
    assert len(fitted.transform(epochs, drop=False)) == len(epochs)
    log.labels[[0, 20], 3] = 1
    partial = log.bad_epochs | (log.labels == 1).any(axis=1)
    assert partial.sum() > log.bad_epochs.sum()
    found = fitted.transform(epochs, reject_log=log, drop_partial=True)
    assert found.selection.tolist() == np.flatnonzero(~partial).tolist()


def test_arrays_give_what_mne_gives(epochs: Any, fitted: AutoReject) -> None:
    x = dirty()
    params = dict(FIT)
    other = fit_array(x, sphere(12), ch_names=epochs.ch_names, sfreq=100.0, **params)
    _same_fit(other, fitted)
    cleaned, log = other.transform_array(x, return_log=True)
    assert log == fitted.get_reject_log(epochs)
    np.testing.assert_array_equal(cleaned, fitted.transform(epochs).get_data())
    assert other.transform_array(x.astype(np.float32)).dtype == np.float32


def test_strided_and_single_precision_input(fitted: AutoReject) -> None:
    x = dirty()
    wide = np.zeros((30, 12, 80))
    wide[:, :, ::2] = x
    view = wide[:, :, ::2]
    other = fit_array(view, sphere(12), ch_names=list(fitted.threshes_), **FIT)
    _same_fit(other, fitted)
    rounded = fit_array(x.astype(np.float32), sphere(12), **FIT)
    again = fit_array(x, sphere(12), **FIT, precision="float32")
    assert list(rounded.threshes_.values()) == list(again.threshes_.values())
    np.testing.assert_allclose(
        sorted(rounded.threshes_.values()), sorted(fitted.threshes_.values()), rtol=1e-5
    )


def test_bads_and_other_types_are_left_alone() -> None:
    x = np.concatenate([dirty(), 1e-4 * np.ones((30, 1, 40))], axis=1)
    positions = np.concatenate([sphere(12), np.full((1, 3), np.nan)])
    types = ["eeg"] * 12 + ["eog"]
    epochs = mne_epochs(x, positions, types, bads=("E02",))
    with pytest.warns(UserWarning, match="1 channels are marked as bad"):
        ar = AutoReject(**FIT | {"verbose": True}).fit(epochs)
    ar.verbose = False
    assert "E02" not in ar.threshes_
    cleaned, log = ar.transform(epochs, return_log=True)
    assert np.isnan(log.labels[:, [1, 12]]).all()
    kept = ~log.bad_epochs
    np.testing.assert_array_equal(cleaned._data[:, 1], x[kept][:, 1])
    np.testing.assert_array_equal(cleaned._data[:, 12], x[kept][:, 12])
    explicit = AutoReject(**FIT | {"picks": np.arange(12)[::-1]}).fit(epochs)
    assert "E02" in explicit.threshes_
    assert explicit.picks_.tolist() == list(range(12))


def test_types_are_solved_by_themselves() -> None:
    x = np.concatenate([dirty(), dirty(seed=8)], axis=1)
    types = ["eeg"] * 12 + ["ecog"] * 12
    epochs = mne_epochs(x, np.concatenate([sphere(12)] * 2), types)
    ar = AutoReject(**FIT).fit(epochs)
    assert list(ar.loss_) == ["eeg", "ecog"]
    alone = AutoReject(**FIT | {"picks": "eeg"}).fit(epochs)
    assert {k: ar.threshes_[k] for k in alone.threshes_} == alone.threshes_
    np.testing.assert_array_equal(ar.loss_["eeg"], alone.loss_["eeg"])
    log = ar.get_reject_log(epochs)
    both = log.bad_epochs
    only = alone.get_reject_log(epochs).bad_epochs
    assert (both >= only).all()


def test_prints_what_the_original_prints(epochs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ar = AutoReject(**FIT | {"verbose": True}).fit(epochs)
    said = capsys.readouterr().out
    assert "Running autoreject on ch_type=eeg" in said
    want = f"Estimated consensus={ar.consensus_['eeg']:0.2f} and n_interpolate="
    assert want in said
    clean = mne_epochs(dirty()[14:], sphere(12))
    quiet = ar.transform(clean)
    assert len(quiet) == len(clean)
    assert "No bad epochs were found" in capsys.readouterr().out


def test_inner_class(epochs: Any) -> None:
    inner = _AutoReject(2, 0.5, verbose=False)
    inner.thresh_func = lambda e, **_: compute_thresholds(e, random_state=1, verbose=False)
    inner.fit(epochs)
    labels, counts = inner._vote_bad_epochs(epochs, picks=np.arange(12))
    delta = np.ptp(epochs.get_data(), axis=2)
    want = delta > np.array([inner.threshes_[name] for name in epochs.ch_names])
    np.testing.assert_array_equal(labels, want)
    np.testing.assert_array_equal(counts, want.sum(axis=1))
    repaired = inner._get_epochs_interpolation(epochs, labels.copy(), np.arange(12), 2, False)
    log = inner.get_reject_log(epochs)
    np.testing.assert_array_equal(repaired, log.labels)
    bad = inner._get_bad_epochs(counts, "eeg", np.arange(12))
    np.testing.assert_array_equal(bad, log.bad_epochs)
    cleaned = inner.transform(epochs)
    np.testing.assert_allclose(cleaned.get_data().mean(axis=0), inner.mean_, rtol=1e-12)
    assert inner.score(epochs) < 0
    strict = _AutoReject(2, 0.0, verbose=False, thresh_func=inner.thresh_func).fit(epochs)
    with pytest.raises(ValueError, match=r"All epochs are bad. Sorry."):
        strict.transform(epochs)


def test_ransac_transform_and_warning() -> None:
    rng = np.random.default_rng(1)
    source = rng.standard_normal((20, 1, 60))
    x = 1e-5 * (source + 0.05 * rng.standard_normal((20, 16, 60)))
    x[:, 5] = 1e-5 * rng.standard_normal((20, 60))
    names = mne.channels.make_standard_montage("biosemi16").ch_names
    epochs = mne_epochs(x, None, "eeg", names)
    epochs.set_montage("biosemi16")
    ransac = Ransac(verbose=False)
    cleaned = ransac.fit_transform(epochs)
    assert ransac.bad_chs_ == [names[5]]
    assert cleaned.info["bads"] == []
    assert np.abs(cleaned._data[:, 5] - 1e-5 * source[:, 0]).max() < 1e-5
    np.testing.assert_array_equal(cleaned._data[:, :5], x[:, :5])
    for n_jobs in (2, -1):
        other = Ransac(verbose=False, n_jobs=n_jobs).fit(epochs)
        np.testing.assert_array_equal(other.corr_, ransac.corr_)
    quiet = Ransac(min_corr=0.0, verbose=False).fit(epochs)
    with pytest.warns(UserWarning, match="No bad channels"):
        quiet.transform(epochs)


def _with_nonfinite(value: float) -> Any:
    x = dirty()
    x[3, 4, 5] = value
    x[8, 4, 5] = np.nan
    return x


def _two_at_zero() -> Any:
    positions = sphere(12)
    positions[[2, 7]] = 0
    return positions


# Epochs (as mne_epochs() takes them) and parameters that must be refused.
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nan": ({"x": _with_nonfinite(np.nan)}, {}),
    "inf": ({"x": _with_nonfinite(np.inf)}, {}),
    "few epochs": ({"x": dirty()[:3]}, {}),
    "no positions": ({"positions": np.full((12, 3), np.nan)}, {}),
    "zero positions": ({"positions": np.zeros((12, 3))}, {}),
    "two at zero": ({"positions": _two_at_zero()}, {}),
    "one channel": ({}, {"picks": [0]}),
    "three channels": ({}, {"picks": [0, 1, 2], "n_interpolate": None}),
    "stim": ({"types": ["eeg"] * 11 + ["stim"]}, {"picks": np.arange(12)}),
    "rho": ({}, {"n_interpolate": [12, 13]}),
    "less": ({}, {"n_interpolate": [-1]}),
    "fraction": ({}, {"n_interpolate": [1.5]}),
    "kappa": ({}, {"consensus": [0.5, 1.5]}),
    "empty": ({}, {"consensus": []}),
    "all inf": ({}, {"consensus": [0.1], "n_interpolate": [4]}),
    "method": ({}, {"thresh_method": "magic"}),
}


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("nan", ValueError, "epoch 3, channel 'E05', sample 5 is NaN; 2 of 30 epochs"),
        ("inf", ValueError, "epoch 3, channel 'E05', sample 5"),
        ("few epochs", ValueError, "n_splits=4 greater than the number of samples: n_samples=3"),
        ("no positions", RuntimeError, "Valid channel positions are needed"),
        ("zero positions", RuntimeError, "Valid channel positions are needed"),
        ("two at zero", ValueError, "Could not extract channel positions for 2 channels"),
        ("one channel", ValueError, "no pair is admissible for the 1 eeg"),
        ("three channels", ValueError, "Too few channels"),
        ("stim", ValueError, "E12"),
        ("rho", ValueError, "n_interpolate.*12"),
        ("less", ValueError, "n_interpolate.*-1"),
        ("fraction", ValueError, r"1\.5"),
        ("kappa", ValueError, r"between 0 and 1. You gave me 1\.5"),
        ("empty", ValueError, "consensus"),
        ("all inf", ValueError, "consensus"),
        ("method", ValueError, "not recognized"),
    ],
)
def test_refusals(name: str, error: type[Exception], match: str) -> None:
    given, params = WRONG[name]
    epochs = mne_epochs(**{"x": dirty(), "positions": sphere(12)} | given)
    with pytest.raises(error, match=match):
        AutoReject(**FIT | params).fit(epochs)


def test_a_named_device_fails_loudly(epochs: Any) -> None:
    from tessera.autoreject import backends

    if backends.detect_hardware()["cuda"]:
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match=r"(?i)cuda|nvidia"):
        AutoReject(**FIT, device="cuda").fit(epochs)


def test_objects_that_are_no_epochs(epochs: Any, fitted: AutoReject) -> None:
    raw = mne.io.RawArray(epochs._data[0], epochs.info, verbose="ERROR")
    with pytest.raises(ValueError, match=r"Only accepts MNE epochs objects."):
        AutoReject(**FIT).fit(raw)
    with pytest.raises(ValueError, match=r"Only accepts MNE epochs objects."):
        fitted.transform(epochs._data)
    events = np.stack([np.arange(0, 30, 10), np.zeros(3, int), np.ones(3, int)], axis=1)
    lazy = mne.Epochs(raw, events, tmin=0, tmax=0.05, baseline=None, verbose="ERROR")
    with pytest.raises(ValueError, match="preloaded"):
        AutoReject(**FIT).fit(lazy)


def test_other_channels_at_transform(epochs: Any, fitted: AutoReject) -> None:
    fewer = epochs.copy().pick(epochs.ch_names[:6])
    with pytest.raises((ValueError, IndexError), match="not present at fit-time"):
        fitted.transform(fewer)
    renamed = epochs.copy().rename_channels({"E01": "X"})
    with pytest.raises(ValueError, match="not present at fit-time"):
        fitted.transform(renamed)
    log = fitted.get_reject_log(epochs, picks=["E03", "E01"])
    assert np.isnan(log.labels[:, [1, *range(3, 12)]]).all()
    assert not np.isnan(log.labels[:, [0, 2]]).any()


def test_flat_channels_run_and_are_named() -> None:
    x = dirty()
    x[:, 3] = 0
    with pytest.warns(UserWarning, match="E04"):
        ar = AutoReject(**FIT | {"verbose": True}).fit(mne_epochs(x, sphere(12)))
    assert ar.threshes_["E04"] >= 0


def test_microvolts_are_noticed() -> None:
    epochs = mne_epochs(1e6 * dirty(), sphere(12))
    with pytest.warns(UserWarning, match="(?i)volt|unit"):
        AutoReject(**FIT | {"verbose": True}).fit(epochs)


def test_all_epochs_bad_is_an_empty_result(epochs: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Logged, not warned of: the original's own tests turn warnings into errors."""
    ar = AutoReject(**FIT).fit(epochs)
    ar.consensus_ = {"eeg": 0.0}
    cleaned = ar.transform(epochs)
    assert len(cleaned) == 0
    assert "all epochs are bad" in caplog.text


def test_another_rate_or_length_is_said(epochs: Any, fitted: AutoReject) -> None:
    other = mne_epochs(dirty(), sphere(12), sfreq=250.0)
    ar = copy.deepcopy(fitted)
    ar.verbose = True
    with pytest.warns(UserWarning, match="250 samples per second"):
        ar.get_reject_log(other)
    longer = mne_epochs(np.repeat(dirty(), 2, axis=2), sphere(12))
    with pytest.warns(UserWarning, match="have 80 samples, those of the fit had 40"):
        assert len(ar.transform(longer)) > 0


def test_global_threshold_words(epochs: Any) -> None:
    with pytest.raises(ValueError, match="ch_types must be of type None, list, or str"):
        get_rejection_threshold(epochs, ch_types=5, verbose=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'foo' does not exist"):
        get_rejection_threshold(epochs, ch_types=["foo"], verbose=False)
    with pytest.raises(ValueError, match="n_splits=31 greater"):
        get_rejection_threshold(epochs, cv=31, verbose=False)


def test_report(epochs: Any, fitted: AutoReject, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    fitted.transform(epochs, report=path)
    text = path.read_text()
    assert text.lstrip().lower().startswith("<!doctype html")
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "E05" in text
    with pytest.raises(FileExistsError):
        fitted.report(epochs, path)
    assert fitted.report(epochs, path, overwrite=True) == path


def test_figures(epochs: Any, fitted: AutoReject) -> None:
    cleaned, log = fitted.transform(epochs, return_log=True)
    figure = viz.plot_thresholds(fitted, show=False)
    heights = [bar.get_height() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(heights, [1e6 * v for v in fitted.threshes_.values()])
    figure = viz.plot_validation_curve(fitted, "E01", show=False)
    line = figure.axes[0].lines[0]
    np.testing.assert_allclose(line.get_xdata(), 1e6 * fitted.curves_["E01"][0])  # type: ignore[arg-type]
    figure = viz.plot_loss(fitted, show=False)
    shown = np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)  # type: ignore[arg-type]
    assert shown.shape == (3, 2)
    frame = figure.axes[0].patches[0]
    row, column = np.unravel_index(np.nanargmin(shown), shown.shape)
    assert frame.get_xy() == (column - 0.5, row - 0.5)  # type: ignore[attr-defined]
    figure = viz.plot_evoked(epochs, cleaned, show=False)
    assert [len(ax.lines) for ax in figure.axes] == [12, 12]
    figure = viz.plot_bad_sensors(log, epochs, show=False)
    share = figure.axes[0].collections[0].get_array()
    np.testing.assert_allclose(share, 100 * (log.labels > 0).mean(axis=0))  # type: ignore[arg-type]
    figure = viz.plot_dropped_epochs(log, show=False)
    assert "epochs dropped" in figure.axes[0].get_title()
    with pytest.raises(ValueError, match="not fitted"):
        viz.plot_loss(fitted, "mag", show=False)
    with pytest.raises(ValueError, match="no curve"):
        viz.plot_validation_curve(fitted, "nobody", show=False)


def test_profile_and_checkpoint(epochs: Any, fitted: AutoReject, tmp_path: Path) -> None:
    ar = AutoReject(**FIT, profile=True, checkpoint=tmp_path / "check").fit(epochs)
    _same_fit(ar, fitted)
    assert "autoreject" in ar.profile_
    _same_fit(AutoReject(**FIT, checkpoint=tmp_path / "check").fit(epochs), fitted)

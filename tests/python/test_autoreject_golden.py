"""The original's answers, through the Python classes; tolerances are those of the data's README."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autoreject_data import Arrays, g1, golden, mne_epochs, sphere, texts
from tessera.autoreject import (
    AutoReject,
    Ransac,
    compute_thresholds,
    get_rejection_threshold,
    utils,
    validation_curve,
)

mne = pytest.importorskip("mne")

THRESHOLD = 1e-9
LOSS = 1e-10
DATA = 1e-9
CORRELATION = 1e-9
SCORE = 1e-12


def _epochs(data: Arrays) -> Any:
    types = texts(data["ch_types"]) if "ch_types" in data else "eeg"
    bads = tuple(texts(data["bads"])) if "bads" in data else ()
    return mne_epochs(
        data["X"], data["pos"], types, texts(data["ch_names"]), float(data["sfreq"]), bads
    )


def _labels(log: Any) -> Any:
    return np.where(np.isnan(log.labels), -1, log.labels).astype(np.int8)


@pytest.fixture(params=["ar01", "ar02"], scope="module")
def whole(request: pytest.FixtureRequest) -> tuple[Arrays, Any]:
    data = golden(request.param)
    return data, _epochs(data)


def _fit(data: Arrays, epochs: Any, **params: Any) -> AutoReject:
    return AutoReject(
        n_interpolate=data["n_interpolate"],
        consensus=data["consensus"],
        cv=int(data["n_folds"]),
        random_state=int(data["seed"]),
        verbose=False,
        **params,
    ).fit(epochs)


def test_whole_fit(whole: tuple[Arrays, Any]) -> None:
    data, epochs = whole
    before = epochs._data.copy()
    ar = _fit(data, epochs)
    picks = data["picks"]
    names = np.array(epochs.ch_names)[picks]
    assert ar.picks_.tolist() == picks.tolist()
    assert list(ar.threshes_) == names.tolist()
    np.testing.assert_allclose(list(ar.threshes_.values()), data["thr_bo"], rtol=THRESHOLD)
    loss = ar.loss_["eeg"]
    np.testing.assert_array_equal(np.isinf(loss), np.isinf(data["loss"]))
    np.testing.assert_allclose(loss, data["loss"], rtol=LOSS)
    assert ar.consensus_ == {"eeg": float(data["kappa"])}
    assert ar.n_interpolate_ == {"eeg": int(data["rho"])}
    cleaned, log = ar.transform(epochs, return_log=True)
    np.testing.assert_array_equal(_labels(log), data["labels"])
    np.testing.assert_array_equal(log.bad_epochs, data["bad_epochs"].astype(bool))
    assert cleaned.selection.tolist() == data["kept"].tolist()
    found = cleaned.get_data()
    scale = np.abs(data["clean_first"]).max()
    np.testing.assert_allclose(found[:6], data["clean_first"], atol=DATA * scale, rtol=0)
    assert np.abs(found).sum() == pytest.approx(float(data["clean_sum_abs"]), rel=1e-10)
    assert all(
        cleaned.drop_log[k] == (("AUTOREJECT",) if bad else ())
        for k, bad in enumerate(log.bad_epochs)
    )
    np.testing.assert_array_equal(epochs._data, before)


def test_each_number_of_repairs_by_itself(whole: tuple[Arrays, Any]) -> None:
    data, epochs = whole
    ar = _fit(data, epochs, rho_mode="independent")
    np.testing.assert_allclose(ar.loss_["eeg"], data["loss_independent"], rtol=LOSS)
    assert ar.consensus_["eeg"] == float(data["kappa_independent"])
    assert ar.n_interpolate_["eeg"] == int(data["rho_independent"])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("thr_bo_noaug", {"augment": False}),
        ("thr_random", {"method": "random_search"}),
        ("thr_random_noaug", {"method": "random_search", "augment": False}),
        ("thr_exact", {"search": "exact"}),
        ("thr_exact", {"method": "exact"}),
    ],
)
def test_thresholds(whole: tuple[Arrays, Any], name: str, options: dict[str, Any]) -> None:
    data, epochs = whole
    found = compute_thresholds(epochs, random_state=int(data["seed"]), verbose=False, **options)
    np.testing.assert_allclose(list(found.values()), data[name], rtol=THRESHOLD)


def test_curves(whole: tuple[Arrays, Any]) -> None:
    data, epochs = whole
    ar = _fit(data, epochs)
    for k, name in enumerate(ar.threshes_):
        candidates, objective = ar.curves_[name]
        last = np.searchsorted(data["cand"][k], np.unique(data["cand"][k]), side="right") - 1
        np.testing.assert_allclose(candidates, data["cand"][k][last], rtol=THRESHOLD)
        np.testing.assert_allclose(objective, data["J"][k][last], rtol=THRESHOLD)


def test_leave_one_out(whole: tuple[Arrays, Any]) -> None:
    data, epochs = whole
    predicted = utils.clean_by_interp(epochs, verbose=False).get_data()[:, data["picks"]]
    scale = np.abs(data["X_aug"]).max()
    np.testing.assert_allclose(predicted, data["X_aug"], atol=DATA * scale, rtol=0)


def test_g1() -> None:
    """The case that the specification gives in print, from plain arrays."""
    x = g1()
    assert x[39, 15, 49] == pytest.approx(-9.97695754154605e-06, rel=1e-12)
    assert np.abs(x).sum() == pytest.approx(0.33941474039730535, rel=1e-12)
    ar = AutoReject(random_state=42, verbose=False).fit_array(x, sphere(16), sfreq=100.0)
    want = (
        "119.16977235 54.732715010 44.252994317 37.114811302 41.357046356 56.593247537 "
        "65.687001750 40.289779092 56.056995806 38.618247158 64.628046466 40.802199030 "
        "50.605962038 78.137023112 102.05106230 111.02677785"
    )
    np.testing.assert_allclose(
        [1e6 * v for v in ar.threshes_.values()], [float(v) for v in want.split()], rtol=1e-9
    )
    assert ar.n_interpolate is not None
    assert list(ar.n_interpolate) == [1, 4, 15]
    mean = 1e6 * ar.loss_["eeg"].mean(axis=2)
    assert mean[1, 0] == pytest.approx(4.21880206, rel=1e-8)
    np.testing.assert_allclose(mean[2:9, 0], 4.21066546, rtol=1e-8)
    np.testing.assert_allclose(mean[9:, 0], 4.31227304, rtol=1e-8)
    np.testing.assert_allclose(mean[3:9, 1], 4.21768533, rtol=1e-8)
    np.testing.assert_allclose(mean[9:, 1], 4.34340817, rtol=1e-8)
    assert mean[10, 2] == pytest.approx(4.46351196, rel=1e-8)
    assert np.isinf(mean).sum() == 33 - 10 - 8 - 1
    assert (ar.consensus_, ar.n_interpolate_) == ({"eeg": 0.2}, {"eeg": 1})
    cleaned, log = ar.transform_array(x, return_log=True)
    assert np.flatnonzero(log.bad_epochs).tolist() == [5, 12, 22]
    assert [int((log.labels == k).sum()) for k in range(3)] == [566, 41, 33]
    assert len(cleaned) == 37
    assert np.abs(cleaned).sum() == pytest.approx(0.2221925294831747, rel=1e-10)


@pytest.mark.parametrize("run", ["a", "b", "c"])
def test_ransac(run: str) -> None:
    data = golden("ar04")
    x = data["X"].copy()
    options: dict[str, Any] = {}
    bads: tuple[str, ...] = ()
    names = texts(data["ch_names"])
    if run == "b":
        options = {
            "n_resample": int(data["b_n_resample"]),
            "min_channels": float(data["b_min_channels"]),
            "min_corr": float(data["b_min_corr"]),
            "unbroken_time": float(data["b_unbroken_time"]),
            "random_state": int(data["b_seed"]),
        }
    if run == "c":
        options = {"n_resample": 11, "random_state": 7}
        x[:, int(data["c_X_flat"])] = 0
        bads = (names[int(data["c_marked_bad"])],)
    epochs = mne_epochs(x, data["pos"], "eeg", names, float(data["sfreq"]), bads)
    picks = data[f"{run}_picks"]
    ransac = Ransac(picks=picks, verbose=False, **options).fit(epochs)
    subsets = data[f"{run}_subsets"]
    chosen = np.array(names)[picks]
    assert ransac.ch_subsets_ == [[chosen[k] for k in row] for row in subsets]
    n = len(picks)
    for r in range(2):
        weights = ransac.mappings_[r * n : (r + 1) * n][:, subsets[r]]
        want = data[f"{run}_W{r}"]
        np.testing.assert_allclose(weights, want, atol=DATA * np.abs(want).max(), rtol=0)
    np.testing.assert_allclose(
        ransac.corr_, data[f"{run}_corr"], atol=CORRELATION, rtol=0, equal_nan=True
    )
    np.testing.assert_array_equal(ransac.bad_log, data[f"{run}_bad_log"])
    assert ransac.bad_chs_ == [chosen[k] for k in data[f"{run}_bad"]]
    assert ransac.ch_type == "eeg"
    assert ransac.picks.tolist() == picks.tolist()  # type: ignore[union-attr]


def test_global_thresholds() -> None:
    data = golden("ar05")
    epochs = _epochs(data)
    found = get_rejection_threshold(epochs, verbose=False)
    assert list(found) == ["eeg", "eog"]
    assert found["eeg"] == pytest.approx(float(data["thr_eeg"]), rel=THRESHOLD)
    assert found["eog"] == pytest.approx(float(data["thr_eog"]), rel=THRESHOLD)
    found = get_rejection_threshold(epochs, ch_types="eeg", cv=int(data["cv2"]), verbose=False)
    assert found == {"eeg": pytest.approx(float(data["thr_eeg_cv7"]), rel=THRESHOLD)}
    found = get_rejection_threshold(epochs, decim=int(data["decim"]), verbose=False)
    assert found["eeg"] == pytest.approx(float(data["thr_eeg_decim"]), rel=THRESHOLD)
    assert found["eog"] == pytest.approx(float(data["thr_eog_decim"]), rel=THRESHOLD)
    exact = get_rejection_threshold(epochs, verbose=False, search="exact")
    for kind in ("eeg", "eog"):
        best = data[f"cand_{kind}"][np.argmin(data[f"J_{kind}"])]
        assert exact[kind] == pytest.approx(best, rel=THRESHOLD)


def test_folds_in_python_are_the_librarys() -> None:
    data = golden("ar05")
    epochs = _epochs(data)
    n = len(epochs)
    parts = np.array_split(np.arange(n), 5)
    cv = [(np.setdiff1d(np.arange(n), part), part) for part in parts]
    for decim in (1, 2):
        plain = get_rejection_threshold(epochs, decim=decim, verbose=False)
        assert get_rejection_threshold(epochs, decim=decim, cv=cv, verbose=False) == plain


def test_validation_curves() -> None:
    data = golden("ar05")
    epochs = _epochs(data).pick("eeg")
    train, test, values = validation_curve(epochs, return_param_range=True)
    np.testing.assert_allclose(values, data["vc_range"], rtol=1e-14)
    np.testing.assert_allclose(train, data["vc_train"], rtol=SCORE)
    np.testing.assert_allclose(test, data["vc_test"], rtol=SCORE)
    train, test = validation_curve(epochs, param_range=data["vc2_range"], cv=int(data["vc2_cv"]))
    np.testing.assert_allclose(train, data["vc2_train"], rtol=SCORE)
    np.testing.assert_allclose(test, data["vc2_test"], rtol=SCORE)


def meg_epochs(data: Arrays) -> Any:
    types = texts(data["a_type"])
    epochs = mne_epochs(data["X"], data["a_loc"], types, [f"M{k:03d}" for k in range(72)])
    with epochs.info._unlock():
        for channel, coil in zip(epochs.info["chs"], data["a_coil_type"], strict=True):
            channel["coil_type"] = int(coil)
        epochs.info["dev_head_t"] = mne.transforms.Transform("meg", "head", data["dev_head_t"])
    return epochs


@pytest.mark.parametrize("dots", ["direct", "lut"])
def test_meg(dots: str) -> None:
    data = golden("ar06")
    epochs = meg_epochs(data)
    ar = AutoReject(
        data["n_interpolate"],
        data["consensus"],
        cv=int(data["cv"]),
        random_state=int(data["seed"]),
        verbose=False,
        meg_dots=dots,
    )
    cleaned, log = ar.fit_transform(epochs, return_log=True)
    found = np.array([ar.threshes_[name] for name in epochs.ch_names])
    np.testing.assert_allclose(found, data[f"{dots}_thr"], rtol=1e-8)
    for kind in ("grad", "mag"):
        np.testing.assert_allclose(ar.loss_[kind], data[f"{dots}_loss_{kind}"], rtol=1e-8)
        assert ar.consensus_[kind] == float(data[f"{dots}_kappa_{kind}"])
        assert ar.n_interpolate_[kind] == int(data[f"{dots}_rho_{kind}"])
    np.testing.assert_array_equal(_labels(log), data[f"{dots}_labels"])
    np.testing.assert_array_equal(log.bad_epochs, data[f"{dots}_bad_epochs"].astype(bool))
    got = cleaned.get_data()
    want = data[f"{dots}_clean_first2"]
    for kind in ("grad", "mag"):
        chosen = [k for k, t in enumerate(texts(data["a_type"])) if t == kind]
        scale = np.abs(want[:, chosen]).max()
        np.testing.assert_allclose(got[:2, chosen], want[:, chosen], atol=1e-8 * scale, rtol=0)
    sums = np.abs(got).sum(axis=(0, 2))
    np.testing.assert_allclose(sums, data[f"{dots}_clean_sum_abs_by_channel"], rtol=1e-8)


@pytest.mark.parametrize("dots", ["direct", "lut"])
def test_meg_ransac(dots: str) -> None:
    data = golden("ar06")
    epochs = meg_epochs(data)
    ransac = Ransac(n_resample=10, picks="mag", verbose=False, meg_dots=dots).fit(epochs)
    np.testing.assert_allclose(ransac.corr_, data[f"ransac_mag_corr_{dots}"], atol=1e-8, rtol=0)
    mags = [epochs.ch_names[k] for k in ransac.picks]  # type: ignore[union-attr]
    assert ransac.ch_type == "meg"
    assert ransac.bad_chs_ == [mags[k] for k in data["ransac_mag_bad"]]


@pytest.mark.parametrize("mode", ["fast", "accurate"])
@pytest.mark.parametrize("case", ["a_mag1", "a_grad3", "a_all5"])
def test_meg_interpolation(case: str, mode: str) -> None:
    data = golden("ar06")
    epochs = meg_epochs(data)
    source, target = data[f"{case}_from"], data[f"{case}_to"]
    want = data[f"{case}_W_direct_{mode}"] @ epochs._data[:, source]
    epochs.info["bads"] = [epochs.ch_names[k] for k in target]
    picks = np.sort(np.concatenate([source, target]))
    out = utils.interpolate_bads(epochs, picks, mode=mode)  # type: ignore[arg-type]
    assert out is epochs
    assert epochs.info["bads"] == []
    scale = np.abs(want).max(axis=(0, 2), keepdims=True)
    np.testing.assert_allclose(out._data[:, target] / scale, want / scale, atol=1e-8, rtol=0)

"""What scripts written for the original meet: channel types, lists, lazy epochs, warnings, names.

The choices in the tables are those of autoreject 0.5.1 with MNE 1.13 on the same epochs.
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoreject_data import dirty, mne_epochs, sphere
from tessera.autoreject import (
    AutoReject,
    Ransac,
    RejectLog,
    compute_thresholds,
    get_rejection_threshold,
    read_reject_log,
    validation_curve,
)
from tessera.autoreject.utils import clean_by_interp

mne = pytest.importorskip("mne")

Mix = tuple[tuple[str, int], ...]

SCALE = {"mag": 1e-12, "grad": 1e-11, "hbo": 1e-6, "hbr": 1e-6}
COILS = {"mag": 3024, "grad": 3012}
MEG_CENTRE = np.array([0, 0, 0.04])


def _meg_place(place: Any) -> Any:
    """Return position and axes of a coil that faces the centre of the head."""
    normal = place / np.linalg.norm(place)
    first = np.cross(normal, [0.3, 0.5, 0.8])
    first /= np.linalg.norm(first)
    return np.r_[1.2 * place + MEG_CENTRE, first, np.cross(normal, first), normal]


def mixed(mix: Mix, n_epoch: int = 20, n_time: int = 16) -> Any:
    """Make smooth fields with noise and a few bad segments on channels of several types."""
    types = [kind for kind, n in mix for _ in range(n)]
    names = [f"{kind}{k:02d}" for kind, n in mix for k in range(n)]
    places = [
        _meg_place(place) if kind in COILS else place for kind, n in mix for place in sphere(n)
    ]
    rng = np.random.RandomState(0)
    smooth = np.array([place[:3] for place in places]) @ rng.randn(n_epoch, 3, n_time)
    x = 15 * smooth + 0.5 * rng.randn(n_epoch, len(types), n_time)
    x[rng.rand(n_epoch, len(types)) < 0.06] *= 5
    x *= np.array([SCALE.get(kind, 1e-5) for kind in types])[:, np.newaxis]
    epochs = mne_epochs(x, places, types, names)
    for channel, kind in zip(epochs.info["chs"], types, strict=True):
        channel["coil_type"] = COILS.get(kind, channel["coil_type"])
    if COILS.keys() & set(types):
        with epochs.info._unlock():
            epochs.info["dev_head_t"] = mne.Transform("meg", "head", np.eye(4))
    return epochs


# Consensus and n_interpolate of every type, epochs dropped, channels labelled as repaired.
MIXES: dict[Mix, tuple[dict[str, tuple[float, int]], int, int]] = {
    (("hbo", 20), ("hbr", 20)): ({"hbo": (0.5, 1), "hbr": (0.2, 1)}, 13, 37),
    (("eeg", 32), ("ecog", 8)): ({"eeg": (0.4, 4), "ecog": (0.4, 1)}, 3, 83),
    (("eeg", 30), ("seeg", 20)): ({"eeg": (0.3, 4), "seeg": (0.3, 1)}, 0, 92),
    (("eeg", 5), ("ecog", 1)): ({"eeg": (0.9, 4), "ecog": (0.0, 1)}, 20, 19),
    (("eeg", 1), ("hbo", 5)): ({"eeg": (0.0, 1), "hbo": (0.3, 1)}, 20, 31),
    (("eeg", 2), ("hbr", 2)): ({"eeg": (0.6, 1), "hbr": (0.6, 1)}, 1, 16),
    (("ecog", 4),): ({"ecog": (0.3, 1)}, 1, 9),
    (("eeg", 4),): ({"eeg": (0.8, 1)}, 1, 20),
    (("mag", 8), ("grad", 6), ("ecog", 2)): (
        {"mag": (0.9, 4), "grad": (0.9, 4), "ecog": (0.6, 1)},
        2,
        145,
    ),
    (("eeg", 6), ("dbs", 3)): ({"eeg": (0.4, 1)}, 0, 12),
    (("grad", 12), ("eeg", 1), ("hbo", 3)): (
        {"grad": (0.6, 4), "eeg": (0.0, 1), "hbo": (0.4, 1)},
        20,
        70,
    ),
}


def _choices(ar: AutoReject) -> dict[str, tuple[float, int]]:
    return {
        kind: (round(float(ar.consensus_[kind] or 0), 1), int(ar.n_interpolate_[kind] or 0))
        for kind in ar.consensus_
    }


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: "+".join(f"{n}{kind}" for kind, n in mix))
@pytest.mark.filterwarnings("ignore:type .* no pair of consensus")
def test_defaults_on_mixed_types_are_the_originals(mix: Mix) -> None:
    epochs = mixed(mix)
    ar = AutoReject(cv=4, random_state=1, verbose=False).fit(epochs)
    log = ar.get_reject_log(epochs)
    choices, n_bad, n_repaired = MIXES[mix]
    assert _choices(ar) == choices
    assert (int(log.bad_epochs.sum()), int((log.labels == 2).sum())) == (n_bad, n_repaired)
    for kind in choices:
        assert ar.loss_[kind].shape == (11, 3, 4)


SOLVED = ("eeg", "ecog", "seeg", "hbo", "hbr", "mag", "grad")


@pytest.mark.filterwarnings("ignore")
def test_every_pair_of_types_is_fitted_and_cleaned() -> None:
    """Not one of them, in either order, is refused for its types or counts."""
    for a, b in itertools.permutations(SOLVED, 2):
        for n, m in ((6, 5), (9, 6)):
            epochs = mixed(((a, n), (b, m)), n_epoch=12, n_time=8)
            ar = AutoReject(cv=3, random_state=1, verbose=False).fit(epochs)
            assert set(ar.consensus_) == {a, b}
            ar.transform(epochs)


def test_a_type_without_an_admissible_pair_is_named() -> None:
    epochs = mixed((("eeg", 5), ("ecog", 1)), n_epoch=12)
    with pytest.warns(UserWarning, match="type ecog .* with which every epoch is bad"):
        ar = AutoReject(cv=3, random_state=1, verbose=False).fit(epochs)
    assert np.isinf(ar.loss_["ecog"]).all()
    ar = AutoReject([0, 1], cv=3, random_state=1, verbose=False).fit(epochs)  # the remedy
    assert _choices(ar)["ecog"][1] == 0
    assert _choices(ar)["ecog"][0] > 0


@pytest.mark.parametrize("mix", [(("eeg", 3),), (("grad", 8), ("mag", 1))])
def test_mixes_that_the_original_refuses(mix: Mix) -> None:
    with pytest.raises(ValueError, match=r"Too few channels|single mag channel"):
        AutoReject(cv=4, random_state=1, verbose=False).fit(mixed(mix))


@pytest.mark.parametrize(
    ("repairs", "choice"),
    [([4, 8, 16], (0.4, 4)), ([16, 4], (0.4, 4)), ([4, 16, 100], (0.4, 4)), ([0], (0.4, 0))],
)
def test_more_repairs_than_channels_are_skipped(repairs: list[int], choice: Any) -> None:
    epochs = mne_epochs(dirty(30, 16, 20), sphere(16))
    ar = AutoReject(repairs, cv=3, random_state=1, verbose=True)
    skipped = [str(n) for n in repairs if n >= 16]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ar.fit(epochs)
    notes = [str(w.message) for w in caught if "is skipped for type eeg" in str(w.message)]
    assert len(notes) == bool(skipped)
    assert not skipped or ", ".join(skipped) in notes[0]
    assert _choices(ar) == {"eeg": choice}
    assert np.isinf(ar.loss_["eeg"][:, [n >= 16 for n in repairs]]).all()


def test_a_default_that_is_too_large_for_a_type_is_nothing_to_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="n_interpolate")
        AutoReject(cv=3, random_state=1).fit(mixed((("hbo", 5), ("hbr", 30)), n_epoch=12))


def test_thresholds_of_one_electrode() -> None:
    """The original predicts it by zero."""
    epochs = mixed((("eeg", 1), ("hbo", 3)))
    found = compute_thresholds(epochs, random_state=1, verbose=False)
    assert found["eeg00"] == 0
    assert found["hbo00"] == pytest.approx(6.37392378271838e-06, rel=1e-9)


@pytest.fixture(scope="module")
def raw() -> Any:
    rng = np.random.RandomState(0)
    types = ["eeg"] * 8 + ["eog", "stim"]
    epochs = mne_epochs(1e-5 * rng.randn(1, 10, 3000), [*sphere(8), [0] * 3, [0] * 3], types)
    return mne.io.RawArray(epochs.get_data(copy=False)[0], epochs.info, verbose="ERROR")


def _cut(raw: Any, *, preload: bool, **options: Any) -> Any:
    events = np.zeros((41, 3), int)
    events[:, 0] = np.arange(50, 2900, 70)
    events[:, 2] = 1
    given = {"tmin": -0.13, "tmax": 0.31, "baseline": None} | options
    return mne.Epochs(raw, events, preload=preload, verbose="ERROR", **given)


@pytest.mark.parametrize(
    "options", [{}, {"baseline": (None, 0)}, {"decim": 2}, {"detrend": 1}, {"picks": "eeg"}]
)
def test_lazy_epochs(raw: Any, options: dict[str, Any]) -> None:
    """Whatever does not need preloaded data in the original does not need it here."""
    lazy, loaded = (_cut(raw, preload=preload, **options) for preload in (False, True))
    assert get_rejection_threshold(lazy, verbose=False) == get_rejection_threshold(
        loaded, verbose=False
    )
    for a, b in zip(validation_curve(lazy, cv=3), validation_curve(loaded, cv=3), strict=True):
        np.testing.assert_array_equal(a, b)
    ar = AutoReject(cv=3, random_state=1, verbose=False).fit(loaded)
    assert ar.get_reject_log(lazy) == ar.get_reject_log(loaded)
    assert not lazy.preload
    for refused in (ar.fit, ar.transform, Ransac(verbose=False).fit):
        with pytest.raises(ValueError, match="must be preloaded"):
            refused(lazy)


def test_decimation_keeps_time_zero(raw: Any) -> None:
    """The original leaves it to MNE."""
    for decim, tmin in itertools.product((2, 3, 4), (-0.13, 0.07)):
        epochs = _cut(raw, preload=True, tmin=tmin)
        decimated = epochs.copy().decimate(decim, verbose="ERROR")
        want = get_rejection_threshold(decimated, verbose=False)
        assert get_rejection_threshold(epochs, decim=decim, verbose=False) == want
        folds = [(np.arange(20), np.arange(20, 41)), (np.arange(20, 41), np.arange(20))]
        assert get_rejection_threshold(
            epochs, decim=decim, cv=folds, verbose=False
        ) == get_rejection_threshold(decimated, cv=folds, verbose=False)


def test_types_that_are_not_there_are_left_out(raw: Any) -> None:
    epochs = _cut(raw, preload=True)
    with pytest.warns(UserWarning, match="no mag channel"):
        found = get_rejection_threshold(epochs, ch_types=["mag", "eeg"], verbose=False)
    assert list(found) == ["eeg"]


def test_ransac_takes_one_type() -> None:
    epochs = mixed((("grad", 8), ("mag", 8), ("eeg", 8)))
    for picks in ("meg", None, [0, 9], ["grad", "eeg"]):
        with pytest.raises(ValueError, match="one type"):
            Ransac(picks=picks, verbose=False).fit(epochs)
    for picks in ("grad", "mag", "eeg"):
        assert Ransac(picks=picks, verbose=False).fit(epochs).ch_type in ("eeg", "meg")


def test_bads_are_warned_of_wherever_the_original_does() -> None:
    epochs = mne_epochs(dirty(), sphere(12), bads=("E03",))
    ar = AutoReject([1, 2], cv=3, random_state=1)
    ransac = Ransac()
    for call in (ar.fit, ar.transform, ransac.fit, compute_thresholds):
        with pytest.warns(UserWarning, match="1 channels are marked as bad"):
            call(epochs)
    ransac.bad_chs_ = []
    with (
        pytest.warns(UserWarning, match="1 channels are marked as bad"),
        pytest.warns(UserWarning, match="No bad channels were found"),
    ):
        ransac.transform(epochs)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*marked as bad")
        ar.get_reject_log(epochs)
        AutoReject([1, 2], cv=3, verbose=False).fit(epochs).transform(epochs)


def test_prediction_of_magnetometers_from_gradiometers() -> None:
    """One of each: the original predicts either from the other."""
    epochs = mixed((("mag", 3), ("grad", 3)))
    x = epochs.get_data()
    y = clean_by_interp(epochs, picks=[0, 4], verbose=False).get_data()
    np.testing.assert_allclose(y[:, 0] / x[:, 4], -0.0030825947868534, rtol=1e-6)
    np.testing.assert_array_equal(y[:, 1], x[:, 1])
    pair = mixed((("mag", 6), ("grad", 6)))
    total = np.abs(clean_by_interp(pair, verbose=False).get_data()).sum()
    assert total == pytest.approx(3.96296910360196e-08, rel=1e-6)


def test_names_of_a_log_that_was_read(tmp_path: Path) -> None:
    log = RejectLog([False, True], np.zeros((2, 3)), ["A", "B", "C"])
    log.save(tmp_path / "log.npz")
    read = read_reject_log(tmp_path / "log.npz")
    assert isinstance(read.ch_names, np.ndarray)
    assert read.ch_names.tolist() == log.ch_names == ["A", "B", "C"]
    assert read == log
    read.save(tmp_path / "again.npz")


def test_reports_replace_nothing_unless_told(tmp_path: Path) -> None:
    epochs = mixed((("hbo", 6), ("eeg", 6)))
    path = tmp_path / "report.html"
    path.write_text("mine")
    ar = AutoReject([1, 2], cv=3, random_state=1, verbose=False)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ar.fit_transform(epochs, report=path)
    assert not hasattr(ar, "threshes_")  # told before the work
    ar.fit(epochs)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ar.transform(epochs, report=path)
    assert path.read_text() == "mine"
    ar.transform(epochs, report=path, overwrite=True)
    assert "</html>" in path.read_text()


def test_reports_have_units_axes_and_names(tmp_path: Path) -> None:
    epochs = mixed((("mag", 8), ("grad", 8), ("eeg", 8), ("hbo", 8)))
    ar = AutoReject([1, 2], cv=3, random_state=1, verbose=False).fit(epochs)
    page = ar.report(epochs, tmp_path / "report.html").read_text()
    assert "ar.transform(epochs, reject_log=log)" in page  # a line of Python, not of the shell
    assert "tessera autoreject transform" not in page
    for kind, unit, scale in (
        ("mag", "fT", 1e15),
        ("grad", "fT/cm", 1e13),
        ("eeg", "µV", 1e6),
        ("hbo", "µM", 1e6),
    ):
        assert f"<figcaption>{kind}: threshold</figcaption>" in page
        name = f"{kind}03"
        threshold, error = (scale * x[name] for x in (ar.threshes_, ar.thresh_errors_))
        stated = f"{error:.0f}" if error >= 100 else f"{error:.2g}"  # never 1.5e+02
        cells = (kind, f"{threshold:.4g} {unit}", f"{stated} {unit}")
        row = "".join(f'<td class="n">{cell}</td>\n' for cell in cells)
        assert f"<td>{name}</td>\n{row}" in page
        assert f'text-anchor="middle">{name}</text>' in page  # on the head
    assert ">epoch</text>" in page

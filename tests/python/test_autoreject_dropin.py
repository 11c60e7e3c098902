"""What scripts written for the original meet: channel types, lists, lazy epochs, warnings, names.

The choices in the tables are those of autoreject 0.5.1 with MNE 1.13 on the same epochs.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from autoreject_data import dirty, mne_epochs, sphere
from tessera.autoreject import AutoReject, compute_thresholds

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

"""Helpers that scripts import from inside the original, against scikit-learn and our own fits.

All of them were also compared with autoreject 0.5.1 on simulated MEG and EEG: thresholds, votes and
subsets are the same, repairs and losses to 1e-12, correlations to 1e-11.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

import numpy as np
import pytest

import tessera.autoreject
from autoreject_data import dirty, mne_epochs, sphere
from tessera.autoreject import AutoReject, Ransac, bayesopt, utils

inside: Any = importlib.import_module("tessera.autoreject.autoreject")  # its names are private
mne = pytest.importorskip("mne")
selection = pytest.importorskip("sklearn.model_selection")
processes = pytest.importorskip("sklearn.gaussian_process")


@pytest.fixture(scope="module")
def epochs() -> Any:
    return mne_epochs(dirty(24, 10, 30), sphere(10))


class TestBayesopt:
    x = np.sort(np.random.RandomState(3).rand(60)) * 5

    def test_process_is_that_of_scikit_learn(self) -> None:
        known, values = self.x[::7, None], np.sin(self.x[::7])
        theirs = processes.GaussianProcessRegressor(optimizer=None).fit(known, values)
        ours = bayesopt.GaussianProcess().fit(known, values)
        for a, b in zip(
            ours.predict(self.x[:, None], return_std=True),
            theirs.predict(self.x[:, None], return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(ours.predict(known), ours.predict(known, return_std=True)[0])

    def test_expected_improvement(self) -> None:
        """At a known value nothing is expected but its distance, elsewhere less than at best."""
        process = bayesopt.GaussianProcess().fit(self.x[::20, None], np.sin(self.x[::20]))
        found = bayesopt.expected_improvement(process, -0.5, self.x)
        known = np.sin(self.x[::20])
        np.testing.assert_allclose(found[::20], np.maximum(known + 0.5, 0), atol=2e-5)
        assert (found >= 0).all()

    def test_the_best_is_found_and_infinite_values_are_left_out(self) -> None:
        tried: list[tuple[float, float]] = []

        def function(v: float) -> float:
            value = np.inf if v < 1 else (v - 2.2) ** 2
            tried.append((value, v))
            return value

        best, value = bayesopt.bayes_opt(
            function, self.x[::10], self.x, bayesopt.expected_improvement, max_iter=8
        )
        assert (value, best) == min(tried)
        assert len(tried) == 6 + 8
        with pytest.raises(ValueError, match="infinite at every one"):
            bayesopt.bayes_opt(
                lambda _: np.inf, self.x[::10], self.x, bayesopt.expected_improvement
            )

    def test_debug_prints(self, capsys: pytest.CaptureFixture[str]) -> None:
        bayesopt.bayes_opt(
            abs, self.x[::10], self.x, bayesopt.expected_improvement, max_iter=2, debug=True
        )
        assert capsys.readouterr().out.count("best_x") == 3


class TestOneChannel:
    rows = dirty(40, 10, 20)[:, 2]

    def _brute(self, thresh: float, cv: Any, y: Any = None) -> float:
        estimator = inside._ChannelAutoReject(thresh)
        return -float(selection.cross_val_score(estimator, self.rows, y, cv=cv).mean())

    def test_best_of_few_amplitudes(self) -> None:
        cv = selection.StratifiedShuffleSplit(6, test_size=0.2, random_state=3)
        y = np.repeat([0, 1], 20)
        found = inside._compute_thresh(self.rows, cv=cv, y=y)
        amplitudes = np.sort(np.ptp(self.rows, axis=1))
        every = [self._brute(a, cv, y) for a in amplitudes]
        # Forty amplitudes are all tried at first: nothing can be better.
        assert found == amplitudes[int(np.argmin(every))]

    def test_random_search_is_that_of_scikit_learn(self) -> None:
        stats = pytest.importorskip("scipy.stats")
        amplitudes = np.ptp(self.rows, axis=1)
        search = selection.RandomizedSearchCV(
            inside._ChannelAutoReject(),
            {"thresh": stats.uniform(amplitudes.min(), amplitudes.max())},
            n_iter=20,
            cv=5,
            random_state=7,
        ).fit(self.rows)
        found = inside._compute_thresh(self.rows, "random_search", cv=5, random_state=7)
        assert found == pytest.approx(search.best_params_["thresh"], rel=1e-12)

    def test_the_smallest_is_kept_in_any_case(self) -> None:
        fitted = inside._ChannelAutoReject(0.0).fit(self.rows)
        least = np.argmin(np.ptp(self.rows, axis=1))
        np.testing.assert_array_equal(fitted.mean_, self.rows[least])
        assert isinstance(fitted, inside.BaseAutoReject)

    def test_unknown_method(self) -> None:
        with pytest.raises(ValueError, match="not recognized"):
            inside._compute_thresh(self.rows, "guess")


def test_slicemean() -> None:
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(inside._slicemean(x, [1, 3], 0), [6, 7, 8])
    assert np.isnan(inside._slicemean(x, [], 0))


def test_a_global_estimator_without_epochs_scores_worst() -> None:
    x = dirty(30, 10, 10)
    nothing = inside._GlobalAutoReject(10, 10, thresh=0.0).fit(x)
    assert nothing.score(x) == -np.inf


def test_local_search_in_steps_is_that_of_the_library(epochs: Any) -> None:
    ar = AutoReject([1, 2, 4], [0.2, 0.5, 1.0], cv=4, random_state=1, verbose=False).fit(epochs)
    local, loss = inside._run_local_reject_cv(
        epochs,
        lambda *_, **__: ar.threshes_,
        ar.picks_,
        ar.n_interpolate,
        selection.KFold(4),
        ar.consensus,
        None,
        False,
    )
    np.testing.assert_allclose(loss, ar.loss_["eeg"], rtol=1e-10)
    assert local.threshes_ == ar.threshes_
    assert np.isinf(loss).any()
    assert np.isfinite(loss).any()


def test_repair_and_drop_in_steps_are_transform(epochs: Any) -> None:
    ar = AutoReject([2], [0.5], cv=4, random_state=1, verbose=False).fit(epochs)
    wanted, log = ar.transform(epochs, return_log=True)
    names = inside._get_interp_chs(log.labels, log.ch_names, ar.picks_)
    assert [len(each) for each in names] == (log.labels == 2).sum(axis=1).tolist()
    steps = epochs.copy()
    inside._apply_interp(log, steps, ar.threshes_, ar.picks_, None, False)
    inside._apply_drop(log, steps, ar.threshes_, ar.picks_, False)
    np.testing.assert_allclose(steps._data, wanted._data, rtol=1e-12, atol=1e-18)
    assert not np.array_equal(steps._data, epochs._data[~log.bad_epochs])
    with pytest.raises(ValueError, match="not present at fit-time: E01"):
        inside._check_fit(epochs, {}, [0])
    with pytest.raises(AssertionError):
        inside._get_interp_chs(log.labels, log.ch_names, ar.picks_[1:])


def test_votes_are_not_changed_by_choosing_repairs(epochs: Any) -> None:
    local = inside._AutoReject(
        1, 0.5, lambda e, **_: dict.fromkeys(e.ch_names, 5e-5), verbose=False
    )
    local.fit(epochs)
    votes, _ = local._vote_bad_epochs(epochs, local.picks_)
    before = votes.copy()
    chosen = local._get_epochs_interpolation(epochs, votes, local.picks_, 1)
    np.testing.assert_array_equal(votes, before)
    assert (chosen == 2).sum(axis=1).max() == 1
    assert local.mean_.shape == epochs._data.shape[1:]
    assert local.score(epochs) == local.score(epochs._data) < 0


def test_missing_channels_are_an_index_error_and_a_value_error(epochs: Any) -> None:
    ar = AutoReject([1], [0.5], cv=3, random_state=1, verbose=False).fit(epochs)
    few = epochs.copy().pick(epochs.ch_names[:5])
    for kind in (IndexError, ValueError):
        with pytest.raises(kind, match="missing now"):
            ar.transform(few)


def test_nothing_kept_in_any_fold_takes_the_first_pair(caplog: pytest.LogCaptureFixture) -> None:
    """As the original, which says nothing; its own test of fNIRS relies on it."""
    rng = np.random.default_rng(1)
    epochs = mne_epochs(1e-6 * rng.standard_normal((3, 13, 20)), sphere(13), "hbo")
    with caplog.at_level(logging.WARNING, "tessera"):
        ar = AutoReject(cv=3, consensus=[0.1], random_state=2, verbose=False).fit(epochs)
    assert "first pair" in caplog.text
    assert (ar.consensus_["hbo"], ar.n_interpolate_["hbo"]) == (0.1, 1)
    assert np.isinf(ar.loss_["hbo"]).all()


class TestRansacSteps:
    def test_steps_are_the_fit(self, epochs: Any) -> None:
        whole = Ransac(n_resample=6, random_state=5, verbose=False).fit(epochs)
        steps = Ransac(n_resample=6, random_state=5, picks=whole.picks, verbose=False)
        subsets = steps._get_random_subsets(epochs.info)
        assert subsets == whole.ch_subsets_
        steps.mappings_ = steps._get_mappings(epochs, subsets)
        np.testing.assert_allclose(steps.mappings_, whole.mappings_, rtol=1e-9, atol=1e-12)
        found = steps._iterate_epochs(epochs, [2, 5])
        np.testing.assert_allclose(found, whole.corr_[[2, 5]], rtol=1e-9)

    def test_a_generator_goes_on_as_in_the_original(self, epochs: Any) -> None:
        """The first fit of a fresh generator is that of its seed, the second draws what follows."""
        shared = np.random.RandomState(5)
        first, second = (
            Ransac(n_resample=6, random_state=shared, verbose=False).fit(epochs) for _ in range(2)
        )
        seeded = Ransac(n_resample=6, random_state=5, verbose=False).fit(epochs)
        assert first.ch_subsets_ == seeded.ch_subsets_
        np.testing.assert_array_equal(first.corr_, seeded.corr_)
        again = np.random.RandomState(5)
        drawn = [again.choice(epochs.ch_names, size=2, replace=False).tolist() for _ in range(12)]
        assert first.ch_subsets_ + second.ch_subsets_ == drawn
        assert second.corr_.shape == first.corr_.shape
        assert set(second.bad_chs_) <= set(epochs.ch_names)

    def test_too_many_bads(self, epochs: Any) -> None:
        info = epochs.copy().info
        info["bads"] = epochs.ch_names[:9]
        ransac = Ransac(min_channels=0.5, picks=np.arange(10), verbose=False)
        with pytest.raises(AssertionError, match="1 are left for subsets of 5"):
            ransac._get_random_subsets(info)


class TestUtils:
    def test_bad_eeg_channels_as_mne_predicts_them(self, epochs: Any) -> None:
        ours, theirs = epochs.copy(), epochs.copy()
        for each in (ours, theirs):
            each.info["bads"] = ["E03", "E08"]
        utils._interpolate_bads_eeg(ours)
        theirs.interpolate_bads(reset_bads=False, origin=(0.0, 0.0, 0.0), method={"eeg": "spline"})
        np.testing.assert_allclose(ours._data, theirs._data, rtol=1e-8, atol=1e-12)
        assert ours.info["bads"] == ["E03", "E08"]

    def test_types(self, epochs: Any) -> None:
        assert utils._get_channel_type(epochs, [0, 1]) == "eeg"
        kinds = ["mag", "grad", "eog", *["eeg"] * 7]
        other = mne_epochs(epochs._data, sphere(10), kinds)
        assert utils._get_channel_type(other, [0, 1]) == "meg"
        for picks in ([0, 5], [2, 5], []):
            with pytest.raises(ValueError, match=r"eeg|meg"):
                utils._get_channel_type(other, picks)
        assert issubclass(type(epochs), utils._get_epochs_type())
        assert utils._check_ch_locs(epochs.info["chs"])
        assert not utils._check_ch_locs([{"loc": np.zeros(12)}])

    def test_parts_of_dots(self) -> None:
        own, across = np.arange(16.0).reshape(4, 4), -np.arange(16.0).reshape(4, 4)
        first, second = utils._pick_dots((own, across), [0, 2], [3])
        np.testing.assert_array_equal(first, [[0, 2], [8, 10]])
        np.testing.assert_array_equal(second, [[-12, -14]])
        assert utils._pick_dots(None, [0], [1]) is None

    def test_text_of_parameters(self) -> None:
        text = utils._pprint({"b": 1.5, "a": "x", "long": "y" * 600}, offset=4)
        assert text.startswith("a='x', b=1.5,\n")
        assert len(text) < 450

    def test_bars(self) -> None:
        assert utils._pbar([1, 2], "things", verbose=False) == [1, 2]
        assert list(utils._pbar([1, 2], "things", verbose=True)) == [1, 2]
        with pytest.raises(ValueError, match="boolean"):
            utils._pbar([1], "things", verbose="blah")


def test_style_is_that_of_the_original() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    plt = importlib.import_module("matplotlib.pyplot")
    with matplotlib.rc_context():
        for style in ("ggplot", "default"):
            utils.set_matplotlib_defaults(plt, style=style)
            assert plt.rcParams["axes.labelsize"] == 19
            assert plt.rcParams["legend.fontsize"] == 17


def test_names_of_the_package() -> None:
    assert tessera.autoreject.detect_hardware()["cpu"]
    assert tessera.autoreject.get_backend("cpu").name == "cpu"
    assert tuple(map(int, tessera.autoreject.version("autoreject").split(".")[:2])) >= (0, 5)
    assert tessera.autoreject.version("numpy") == np.__version__
    with pytest.raises(ModuleNotFoundError):
        tessera.autoreject.version("no-such-package-here")


def test_a_gap_in_one_channel_is_filled_from_the_others(epochs: Any) -> None:
    whole = utils.clean_by_interp(epochs, verbose=False).get_data()
    broken = epochs.copy()
    broken.get_data(copy=False)[3, 4, 5] = np.nan
    got = utils.clean_by_interp(broken, verbose=False).get_data()
    is_gone = np.isnan(got)
    assert is_gone.sum() == is_gone[3, :, 5].sum() == len(epochs.ch_names) - 1
    assert not is_gone[3, 4, 5]  # it is predicted from channels that are there
    np.testing.assert_allclose(got[~is_gone], whole[~is_gone], rtol=0, atol=1e-18)

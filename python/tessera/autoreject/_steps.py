"""Steps of a fit that the original's tests and other people's pipelines call one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tessera._core import ArgumentError
from tessera.autoreject._base import _slicemean
from tessera.autoreject._epochs import samples_of
from tessera.autoreject._local import _AutoReject
from tessera.autoreject._mapping import predict_marked
from tessera.autoreject._sensors import resolve_picks, sensors_of


def _get_interp_chs(labels: Any, ch_names: Sequence[str], picks: Any) -> list[list[str]]:
    """Return for every epoch the names of the channels that are labelled 2.

    ``picks`` are the channels that have labels, all of them; others are NaN.
    """
    table = np.asarray(labels)
    if table.shape[1] != len(ch_names):
        raise AssertionError(f"labels has {table.shape[1]} columns for {len(ch_names)} channels")
    labelled = np.flatnonzero((~np.isnan(table)).any(axis=0))
    np.testing.assert_array_equal(picks, labelled)
    return [[ch_names[k] for k in np.flatnonzero(row == 2).tolist()] for row in table]


def _interpolate_bad_epochs(
    epochs: Any,
    interp_channels: Sequence[Sequence[str]],
    picks: Any,
    dots: object = None,
    verbose: Any = True,
) -> None:
    """Predict the named channels of every epoch from its other picks, in place.

    Without dots the MEG mapping is the accurate one, with them that of a fit, as in the original.
    """
    if len(epochs) != len(interp_channels):
        raise AssertionError(f"{len(interp_channels)} lists of names for {len(epochs)} epochs")
    sensors = sensors_of(epochs.info)
    chosen = np.unique(resolve_picks(sensors, picks))
    places = {name: k for k, name in enumerate(sensors.names)}
    marked = np.zeros((len(epochs), len(sensors.names)), bool)
    for row, names in zip(marked, interp_channels, strict=True):
        row[[places[name] for name in names]] = True
    predict_marked(sensors, epochs._data, chosen, marked, accurate=dots is None)


def _check_fit(epochs: Any, threshes_: Mapping[str, float], picks_: Any) -> None:
    """Refuse epochs whose picks have no thresholds."""
    unknown = [epochs.ch_names[k] for k in picks_ if epochs.ch_names[k] not in threshes_]
    if unknown:
        raise ArgumentError(
            f"You are passing channels which were not present at fit-time: {', '.join(unknown)}. "
            f"Fit again with them, or drop them"
        )


def _apply_interp(
    reject_log: Any, epochs: Any, threshes_: Any, picks_: Any, dots: object, verbose: Any
) -> None:
    """Repair what a log labels 2, in place."""
    _check_fit(epochs, threshes_, picks_)
    names = _get_interp_chs(reject_log.labels, reject_log.ch_names, picks_)
    _interpolate_bad_epochs(epochs, names, picks_, dots, verbose)


def _apply_drop(reject_log: Any, epochs: Any, threshes_: Any, picks_: Any, verbose: Any) -> None:
    """Drop the bad epochs of a log, in place."""
    _check_fit(epochs, threshes_, picks_)
    if np.any(reject_log.bad_epochs):
        epochs.drop(np.flatnonzero(reject_log.bad_epochs), reason="AUTOREJECT")
    elif verbose:
        print(
            "No bad epochs were found for your data. Returning a copy of the data you wanted to "
            "clean. Interpolation may have been done."
        )


def _run_local_reject_cv(
    epochs: Any,
    thresh_func: Callable[..., Mapping[str, float]] | None,
    picks_: Any,
    n_interpolate: Sequence[int],
    cv: Any,
    consensus: Sequence[float],
    dots: object,
    verbose: Any,
) -> tuple[_AutoReject, Any]:
    """Try every pair of consensus and n_interpolate on channels of one type.

    AutoReject does this in the C library; here the thresholds may come from any function.

    Returns
    -------
    local_reject : _AutoReject
        With thresholds; its consensus_ and n_interpolate_ are the last pair tried.
    loss : array, shape (n_consensus, n_interpolate, n_folds)
        Root mean square errors; inf where a pair is not admissible.
    """
    picks = np.asarray(picks_)
    local = _AutoReject(thresh_func=thresh_func, verbose=verbose, picks=picks, dots=dots)
    local.fit(epochs)
    (kind,) = local.consensus_
    labels, counts = local._vote_bad_epochs(epochs, picks=picks)
    sensors = sensors_of(epochs.info)
    data = samples_of(epochs)
    splits = list(cv.split(data[:, picks]))
    medians = [np.median(data[test][:, picks], axis=0) for _, test in splits]
    loss = np.full((len(consensus), len(n_interpolate), len(splits)), np.inf)
    for j, n_repair in enumerate(n_interpolate):
        local.n_interpolate_[kind] = n_repair
        labels = local._get_epochs_interpolation(epochs, labels, picks, n_repair)
        repaired = np.array(data)
        predict_marked(sensors, repaired, picks, labels == 2, accurate=dots is None)
        repaired = repaired[:, picks]
        for i, share in enumerate(consensus):
            if share * len(picks) <= n_repair:
                continue
            local.consensus_[kind] = share
            for fold, (train, _) in enumerate(splits):
                kept = ~local._get_bad_epochs(counts[train], kind, picks)
                rows = np.arange(len(data))[train][kept]
                local.mean_ = _slicemean(repaired, rows, axis=0)
                error = np.sqrt(np.mean((medians[fold] - local.mean_) ** 2))
                loss[i, j, fold] = np.inf if np.isnan(error) else error
    return local, loss

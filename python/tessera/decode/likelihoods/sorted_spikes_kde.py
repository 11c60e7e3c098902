"""Likelihoods of sorted units by kernel densities; the functions of the original's module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats
from tessera.decode.likelihoods import _fitted, _sorted
from tessera.decode.likelihoods._fitted import FittedEncoding
from tessera.decode.likelihoods.common import (
    EPS,
    KDEModel,
    get_position_at_time,
    get_spikecount_per_time_bin,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "KDEModel",
    "fit_sorted_spikes_kde_encoding_model",
    "get_position_at_time",
    "get_spikecount_per_time_bin",
    "predict_sorted_spikes_kde_log_likelihood",
]

_BANDWIDTH = 12.5**0.5  # cm, of the original's functions


@_fitted.takes_places_without_weights
def fit_sorted_spikes_kde_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    environment: Environment,
    weights: ArrayLike | None = None,
    sampling_frequency: float = 500,
    position_std: float | ArrayLike = _BANDWIDTH,
    block_size: int = 100,
    disable_progress_bar: bool = False,
    *,
    device: str | None = None,
) -> FittedEncoding:
    """Fit place fields by kernel densities.

    Parameters
    ----------
    position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.fit`.
    environment : Environment
        With bins.
    weights : array, shape (n_sample,), optional
        Weight of every sample.
    sampling_frequency, block_size, disable_progress_bar
        Accepted and not used.
    position_std : float or array
        Bandwidth, cm.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    dict
        ``predict_sorted_spikes_kde_log_likelihood(..., **model)`` works.
    """
    del sampling_frequency, block_size
    model = _fitted.fit(
        "sorted_spikes_kde",
        position_time,
        position,
        spike_times,
        None,
        environment,
        weights,
        {"position_std": position_std},
        device,
    )
    return FittedEncoding(model, disable_progress_bar=disable_progress_bar)


def predict_sorted_spikes_kde_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    environment: Environment | None = None,
    marginal_models: Sequence[KDEModel] | None = None,
    occupancy_model: KDEModel | None = None,
    occupancy: ArrayLike | None = None,
    mean_rates: ArrayLike | None = None,
    place_fields: ArrayLike | None = None,
    no_spike_part_log_likelihood: ArrayLike | None = None,
    is_track_interior: ArrayLike | None = None,
    disable_progress_bar: bool = False,
    is_local: bool = False,
    *,
    encoding_model: Mapping[str, Any] | None = None,
    device: str | None = None,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.predict`.
    environment, marginal_models, occupancy_model, occupancy, mean_rates, place_fields
        Entries of :func:`fit_sorted_spikes_kde_encoding_model`. As they were fitted, the library
        computes; where some were changed, NumPy does from what is given.
    no_spike_part_log_likelihood, is_track_interior
        The same.
    disable_progress_bar : bool, default False
        Accepted and not used.
    is_local : bool, default False
        At the animal's own position instead; one column.
    encoding_model : dict, optional
        All entries at once.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del disable_progress_bar
    entries: dict[str, Any] = {
        "environment": environment,
        "marginal_models": marginal_models,
        "occupancy_model": occupancy_model,
        "occupancy": occupancy,
        "mean_rates": mean_rates,
        "place_fields": place_fields,
        "no_spike_part_log_likelihood": no_spike_part_log_likelihood,
        "is_track_interior": is_track_interior,
    }
    model = _fitted.model_of(encoding_model, entries)
    if model is not None:
        _fitted.same_number(len(model.training["spike_times"]), spike_times=spike_times)
        where = (time, position_time, position, spike_times, None)
        return _fitted.predict(model, *where, is_local, device)
    _fitted.complete(entries, "predict_sorted_spikes_kde_log_likelihood")
    if not is_local:
        names = ("place_fields", "no_spike_part_log_likelihood", "is_track_interior")
        return _sorted.non_local(time, spike_times, *(entries[name] for name in names))
    here = get_position_at_time(
        np.asarray(position_time), np.asarray(position), time, entries["environment"]
    )
    there = np.asarray(entries["occupancy_model"].predict(here))

    def rate_of(unit: int) -> Floats:
        density = np.nan_to_num(np.asarray(entries["marginal_models"][unit].predict(here)))
        ratio = np.divide(density, there, out=np.full_like(density, EPS), where=there > 0)
        found: Floats = np.maximum(float(entries["mean_rates"][unit]) * ratio, EPS)
        return found

    return _sorted.local(time, spike_times, rate_of, len(entries["marginal_models"]))

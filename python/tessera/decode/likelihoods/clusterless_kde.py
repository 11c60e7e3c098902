"""Clusterless likelihoods by kernel densities; the functions of the original's module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera._lib import default
from tessera.decode._data import Array, Floats
from tessera.decode.likelihoods import _clusterless, _fitted
from tessera.decode.likelihoods._fitted import FittedEncoding
from tessera.decode.likelihoods._intensity import (
    block_estimate_log_joint_mark_intensity,
    estimate_log_joint_mark_intensity,
    kde_distance,
    log_kde_distance,
)
from tessera.decode.likelihoods.common import (
    KDEModel,
    as_std_array,
    get_position_at_time,
    get_spike_time_bin_ind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "block_estimate_log_joint_mark_intensity",
    "compute_local_log_likelihood",
    "estimate_log_joint_mark_intensity",
    "estimate_log_joint_mark_intensity_logspace",
    "estimate_log_joint_mark_intensity_vectorized",
    "fit_clusterless_kde_encoding_model",
    "get_position_at_time",
    "get_spike_time_bin_ind",
    "kde_distance",
    "kde_distance_vectorized",
    "log_kde_distance",
    "predict_clusterless_kde_log_likelihood",
]

_BANDWIDTH = 12.5**0.5  # cm, of the original's functions

# There is one way of computing here; the original's scripts compare three by these names.
estimate_log_joint_mark_intensity_logspace = estimate_log_joint_mark_intensity
estimate_log_joint_mark_intensity_vectorized = estimate_log_joint_mark_intensity
kde_distance_vectorized = kde_distance


@_fitted.takes_places_without_weights
def fit_clusterless_kde_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    environment: Environment,
    sampling_frequency: float = 500,
    weights: ArrayLike | None = None,
    position_std: float | ArrayLike = _BANDWIDTH,
    waveform_std: float | ArrayLike | None = None,
    block_size: int = 100,
    disable_progress_bar: bool = False,
    *,
    device: str | None = None,
    **params: Any,
) -> FittedEncoding:
    """Fit a clusterless encoding model.

    Parameters
    ----------
    position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.fit`.
    environment : Environment
        With bins.
    weights : array, shape (n_sample,), optional
        Weight of every sample.
    position_std, waveform_std : float or array
        Bandwidths, cm and uV.
    sampling_frequency, disable_progress_bar
        Accepted and not used.
    block_size : int, default 100
        Accepted; how the work is cut changes no result.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **params
        Other options of table ``decode.encoding``.

    Returns
    -------
    dict
        ``predict_clusterless_kde_log_likelihood(..., **model)`` works.
    """
    del sampling_frequency
    if waveform_std is None:
        waveform_std = default("decode.encoding", "waveform_std")
    # The original's rule; the relative one of many features is for models, which warn of it.
    params = {"floor": "absolute", **params}
    params.update(position_std=position_std, waveform_std=waveform_std)
    model = _fitted.fit(
        "clusterless_kde",
        position_time,
        position,
        spike_times,
        spike_waveform_features,
        environment,
        weights,
        params,
        device,
    )
    return FittedEncoding(model, block_size=block_size, disable_progress_bar=disable_progress_bar)


def _intensity(marks: Floats, electrode: int, entries: Mapping[str, Any]) -> Floats:
    learned = np.asarray(entries["encoding_spike_waveform_features"][electrode])
    places = np.asarray(entries["encoding_positions"][electrode])
    centers = _clusterless.interior_centers(entries["environment"])
    weights = entries.get("encoding_weights")
    return block_estimate_log_joint_mark_intensity(
        marks,
        learned,
        as_std_array(entries["waveform_std"], marks.shape[1]),
        entries["occupancy"],
        float(entries["mean_rates"][electrode]),
        kde_distance(centers, places, entries["position_std"]),
        entries["block_size"],
        None if weights is None else weights[electrode],
    )


def predict_clusterless_kde_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    occupancy: ArrayLike | None = None,
    occupancy_model: KDEModel | None = None,
    gpi_models: Sequence[KDEModel] | None = None,
    encoding_spike_waveform_features: Sequence[ArrayLike] | None = None,
    encoding_positions: Sequence[ArrayLike] | None = None,
    environment: Environment | None = None,
    mean_rates: ArrayLike | None = None,
    summed_ground_process_intensity: ArrayLike | None = None,
    position_std: float | ArrayLike | None = None,
    waveform_std: float | ArrayLike | None = None,
    is_local: bool = False,
    block_size: int = 100,
    disable_progress_bar: bool = False,
    *,
    encoding_model: Mapping[str, Any] | None = None,
    encoding_weights: Sequence[ArrayLike] | None = None,
    device: str | None = None,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.predict`.
    occupancy, occupancy_model, gpi_models, encoding_spike_waveform_features, encoding_positions
        Entries of :func:`fit_clusterless_kde_encoding_model`. As they were fitted, the library
        computes; where some were changed, NumPy does from what is given.
    environment, mean_rates, summed_ground_process_intensity, position_std, waveform_std
        The same.
    is_local : bool, default False
        At the animal's own position instead; one column.
    block_size : int, default 100
        Accepted; how the work is cut changes no result.
    disable_progress_bar : bool, default False
        Accepted and not used.
    encoding_model : dict, optional
        All entries at once.
    encoding_weights : list of arrays, optional
        Of the spikes that were learned.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del disable_progress_bar
    entries: dict[str, Any] = {
        "occupancy": occupancy,
        "occupancy_model": occupancy_model,
        "gpi_models": gpi_models,
        "encoding_spike_waveform_features": encoding_spike_waveform_features,
        "encoding_positions": encoding_positions,
        "environment": environment,
        "mean_rates": mean_rates,
        "summed_ground_process_intensity": summed_ground_process_intensity,
        "position_std": position_std,
        "waveform_std": waveform_std,
    }
    where = (time, position_time, position, spike_times, spike_waveform_features)
    model = None if encoding_weights is not None else _fitted.model_of(encoding_model, entries)
    if model is not None:
        return _fitted.predict(model, *where, is_local, device)
    _fitted.complete(entries, "predict_clusterless_kde_log_likelihood")
    entries.update(block_size=block_size, encoding_weights=encoding_weights)
    if is_local:
        return _clusterless.local(*where, entries, keeps_tails=False)
    return _clusterless.non_local(time, spike_times, spike_waveform_features, entries, _intensity)


def compute_local_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    occupancy_model: KDEModel,
    gpi_models: Sequence[KDEModel],
    encoding_spike_waveform_features: Sequence[ArrayLike],
    encoding_positions: Sequence[ArrayLike],
    environment: Environment,
    mean_rates: ArrayLike,
    position_std: float | ArrayLike,
    waveform_std: float | ArrayLike,
    block_size: int = 100,
    disable_progress_bar: bool = False,
) -> Array:
    """Compute how well the animal's own position explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.predict`.
    occupancy_model, gpi_models, encoding_spike_waveform_features, encoding_positions, environment
        Entries of :func:`fit_clusterless_kde_encoding_model`.
    mean_rates, position_std, waveform_std
        The same.
    block_size : int, default 100
        Spikes at a time.
    disable_progress_bar : bool, default False
        Accepted and not used.

    Returns
    -------
    ndarray, shape (n_time, 1)
        Log likelihood.
    """
    del disable_progress_bar
    entries: dict[str, Any] = {
        "occupancy_model": occupancy_model,
        "gpi_models": gpi_models,
        "encoding_spike_waveform_features": encoding_spike_waveform_features,
        "encoding_positions": encoding_positions,
        "environment": environment,
        "mean_rates": mean_rates,
        "position_std": position_std,
        "waveform_std": waveform_std,
        "block_size": block_size,
    }
    where = (time, position_time, position, spike_times, spike_waveform_features)
    return _clusterless.local(*where, entries, keeps_tails=False)

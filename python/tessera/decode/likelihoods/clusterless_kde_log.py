"""Clusterless likelihoods by kernel densities, with the keywords of the original's log module.

The numbers are those of :mod:`tessera.decode.likelihoods.clusterless_kde`: here both are computed
without underflow. What the keywords say of tiles and streaming is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.likelihoods import _clusterless, _fitted, clusterless_kde
from tessera.decode.likelihoods._fitted import FittedEncoding
from tessera.decode.likelihoods._intensity import (
    check_streaming,
    kde_distance,
    log_intensity,
    log_kde_distance,
    log_kde_distance_streaming,
    log_sums,
)
from tessera.decode.likelihoods.common import (
    EPS,
    LOG_EPS,
    KDEModel,
    as_std_array,
    block_log_kde,
    get_position_at_time,
    get_spike_time_bin_ind,
    safe_log,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "block_estimate_log_joint_mark_intensity",
    "block_log_kde",
    "compute_local_log_likelihood",
    "estimate_log_joint_mark_intensity",
    "fit_clusterless_kde_encoding_model",
    "get_position_at_time",
    "get_spike_time_bin_ind",
    "kde_distance",
    "log_kde_distance",
    "log_kde_distance_streaming",
    "predict_clusterless_kde_log_likelihood",
]

_BANDWIDTH = 12.5**0.5  # cm, of the original's functions


# By the original's name, of the kernel of marks; here it is computed as that of places is.
_compute_log_mark_kernel_gemm = log_kde_distance


def _compensated_linear_marginal(
    logK_mark: ArrayLike,  # noqa: N803
    log_position_distance: ArrayLike,
    log_w: float,
    occupancy: ArrayLike,
    mean_rate: float,
) -> Floats:
    """Return the log intensity from the tables of both kernels, by the original's name."""
    marks = _data.reals(logK_mark, "logK_mark") + float(log_w)
    sums = log_sums(marks, _data.reals(log_position_distance, "log_position_distance"))
    there = _data.vector(occupancy, "occupancy")
    found: Floats = np.where(there > 0, safe_log(mean_rate) + sums - safe_log(there), -np.inf)
    return found


def _linear(
    marks: ArrayLike,
    learned: ArrayLike,
    waveform_stds: ArrayLike,
    occupancy: ArrayLike,
    mean_rate: float,
    log_places: Floats,
) -> Floats:
    """Return the log intensity by plain products, as the original's reference has it."""
    table = kde_distance(marks, learned, waveform_stds)
    density = table.T @ np.exp(log_places) / max(len(table), 1)
    there = _data.vector(occupancy, "occupancy")
    ratio = np.divide(density, there, out=np.full_like(density, EPS), where=there > 0)
    return safe_log(mean_rate * ratio)


def estimate_log_joint_mark_intensity(
    decoding_spike_waveform_features: ArrayLike,
    encoding_spike_waveform_features: ArrayLike,
    waveform_stds: ArrayLike,
    occupancy: ArrayLike,
    mean_rate: float,
    log_position_distance: ArrayLike | None = None,
    use_gemm: bool = True,
    pos_tile_size: int | None = None,
    enc_tile_size: int | None = None,
    use_streaming: bool = False,
    encoding_positions: ArrayLike | None = None,
    position_eval_points: ArrayLike | None = None,
    position_std: ArrayLike | None = None,
) -> Floats:
    """Compute how often spikes with these marks occur in every place, as a logarithm.

    Parameters
    ----------
    decoding_spike_waveform_features : array, shape (n_spikes, n_features)
        Marks.
    encoding_spike_waveform_features : array, shape (n_encoding_spikes, n_features)
        Marks of the spikes that were learned.
    waveform_stds : array, shape (n_features,)
        Bandwidth of the marks.
    occupancy : array, shape (n_bins,)
        Density of the animal's positions.
    mean_rate : float
        Spikes per time bin.
    log_position_distance : array, shape (n_encoding_spikes, n_bins), optional
        Kernel of the places, see :func:`log_kde_distance`; not needed with ``use_streaming``.
    use_gemm : bool, default True
        False: by plain products, which underflow; for comparison.
    pos_tile_size, enc_tile_size : int, optional
        Accepted; how the work is cut changes no result.
    use_streaming : bool, default False
        Compute the kernel of the places here, from the next three.
    encoding_positions : array, shape (n_encoding_spikes, n_dim), optional
        Where the spikes that were learned happened.
    position_eval_points : array, shape (n_bins, n_dim), optional
        Centres of the bins.
    position_std : array, shape (n_dim,), optional
        Bandwidth of the places.

    Returns
    -------
    ndarray, shape (n_spikes, n_bins)
        Log intensity; minus infinity where the animal never was.
    """
    del pos_tile_size
    marks = (decoding_spike_waveform_features, encoding_spike_waveform_features)
    if use_streaming:
        n_encoding = len(_data.position(encoding_spike_waveform_features))
        needed = (encoding_positions, position_eval_points, position_std)
        check_streaming(enc_tile_size, n_encoding, needed)
        places = log_kde_distance_streaming(
            np.asarray(position_eval_points),
            np.asarray(encoding_positions),
            np.asarray(position_std),
        )
    elif log_position_distance is None:
        raise TypeError("estimate_log_joint_mark_intensity() needs log_position_distance")
    else:
        places = _data.reals(log_position_distance, "log_position_distance")
    if not use_gemm:
        return _linear(*marks, waveform_stds, occupancy, mean_rate, places)
    widths = np.maximum(_data.vector(waveform_stds, "waveform_stds"), EPS)
    return log_intensity(*marks, widths, occupancy, mean_rate, places)


def block_estimate_log_joint_mark_intensity(
    decoding_spike_waveform_features: ArrayLike,
    encoding_spike_waveform_features: ArrayLike,
    waveform_stds: ArrayLike,
    occupancy: ArrayLike,
    mean_rate: float,
    log_position_distance: ArrayLike | None = None,
    block_size: int = 100,
    use_gemm: bool = True,
    pos_tile_size: int | None = None,
    enc_tile_size: int | None = None,
    use_streaming: bool = False,
    encoding_positions: ArrayLike | None = None,
    position_eval_points: ArrayLike | None = None,
    position_std: ArrayLike | None = None,
) -> Floats:
    """Do what the other one does, some spikes at a time, and let no logarithm be below log(1e-15).

    Parameters
    ----------
    decoding_spike_waveform_features, encoding_spike_waveform_features, waveform_stds, occupancy
        As of :func:`estimate_log_joint_mark_intensity`.
    mean_rate, log_position_distance, use_gemm, pos_tile_size, enc_tile_size, use_streaming
        As there.
    encoding_positions, position_eval_points, position_std
        As there.
    block_size : int, default 100
        Spikes at a time.

    Returns
    -------
    ndarray, shape (n_spikes, n_bins)
        Log intensity.
    """
    marks = _data.position(decoding_spike_waveform_features)
    found = np.empty((len(marks), len(_data.vector(occupancy, "occupancy"))))
    for first in range(0, len(marks), block_size):
        rows = slice(first, first + block_size)
        found[rows] = estimate_log_joint_mark_intensity(
            marks[rows],
            encoding_spike_waveform_features,
            waveform_stds,
            occupancy,
            mean_rate,
            log_position_distance,
            use_gemm,
            pos_tile_size,
            enc_tile_size,
            use_streaming,
            encoding_positions,
            position_eval_points,
            position_std,
        )
    return np.maximum(found, LOG_EPS)


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
    enc_tile_size: int | None = None,
    pos_tile_size: int | None = None,
    use_streaming: bool = False,
    disable_progress_bar: bool = False,
    *,
    device: str | None = None,
    **params: Any,
) -> FittedEncoding:
    """Fit a clusterless encoding model.

    Parameters
    ----------
    position_time, position, spike_times, spike_waveform_features, environment
        As of :func:`tessera.decode.likelihoods.clusterless_kde.fit_clusterless_kde_encoding_model`.
    sampling_frequency, weights, position_std, waveform_std, block_size, disable_progress_bar
        As there.
    enc_tile_size, pos_tile_size, use_streaming
        Accepted; how the work is cut changes no result.
    device, **params
        As there.

    Returns
    -------
    dict
        ``predict_clusterless_kde_log_likelihood(..., **model)`` works.
    """
    fitted = clusterless_kde.fit_clusterless_kde_encoding_model(
        position_time,
        position,
        spike_times,
        spike_waveform_features,
        environment,
        sampling_frequency,
        weights,
        position_std,
        waveform_std,
        block_size,
        disable_progress_bar,
        device=device,
        **params,
    )
    fitted.update(
        enc_tile_size=enc_tile_size, pos_tile_size=pos_tile_size, use_streaming=use_streaming
    )
    return fitted


def _intensity(marks: Floats, electrode: int, entries: Mapping[str, Any]) -> Floats:
    learned = np.asarray(entries["encoding_spike_waveform_features"][electrode])
    places = np.asarray(entries["encoding_positions"][electrode])
    centers = _clusterless.interior_centers(entries["environment"])
    return block_estimate_log_joint_mark_intensity(
        marks,
        learned,
        as_std_array(entries["waveform_std"], marks.shape[1]),
        entries["occupancy"],
        float(entries["mean_rates"][electrode]),
        log_kde_distance(centers, places, entries["position_std"]),
        entries["block_size"],
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
    enc_tile_size: int | None = None,
    pos_tile_size: int | None = None,
    use_streaming: bool = False,
    *,
    encoding_model: Mapping[str, Any] | None = None,
    device: str | None = None,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.predict`.
    occupancy, occupancy_model, gpi_models, encoding_spike_waveform_features, encoding_positions
        Entries of :func:`fit_clusterless_kde_encoding_model`.
    environment, mean_rates, summed_ground_process_intensity, position_std, waveform_std
        The same.
    is_local : bool, default False
        At the animal's own position instead; one column.
    block_size, disable_progress_bar, enc_tile_size, pos_tile_size, use_streaming
        Accepted; how the work is cut changes no result.
    encoding_model : dict, optional
        All entries at once.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del disable_progress_bar, enc_tile_size, pos_tile_size, use_streaming
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
    model = _fitted.model_of(encoding_model, entries)
    if model is not None:
        return _fitted.predict(model, *where, is_local, device)
    _fitted.complete(entries, "predict_clusterless_kde_log_likelihood")
    entries["block_size"] = block_size
    if is_local:
        return _clusterless.local(*where, entries, keeps_tails=True)
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
    """Compute how well the animal's own position explains the spikes; tails are kept.

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
    return _clusterless.local(*where, entries, keeps_tails=True)

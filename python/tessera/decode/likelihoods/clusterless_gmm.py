"""Clusterless likelihoods by Gaussian mixtures; the functions of the original's module."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.exceptions import ValidationError
from tessera.decode.likelihoods import _clusterless, _fitted
from tessera.decode.likelihoods.common import (
    EPS,
    LOG_EPS,
    get_position_at_time,
    get_spike_time_bin_ind,
)
from tessera.decode.likelihoods.gmm import GaussianMixtureModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "EncodingModel",
    "compute_local_log_likelihood",
    "fit_clusterless_gmm_encoding_model",
    "predict_clusterless_gmm_log_likelihood",
]

_ITERATIONS = 200
# Densities below float32's count as none, as in the original; ratios stay where float32 has them.
_LOG_TINY = float(np.log(np.finfo(np.float32).tiny))
_LARGEST_LOG_RATIO = 80.0


@dataclass
class EncodingModel:
    """What a clusterless likelihood by mixtures is computed from; the original keeps it in a dict.

    Parameters
    ----------
    environment : Environment
        With bins.
    occupancy_model : GaussianMixtureModel
        Of the positions.
    interior_place_bin_centers : ndarray, shape (n_bins, n_dim)
        Where the likelihood is computed.
    occupancy_bins, log_occupancy_bins : ndarray, shape (n_bins,)
        Density of the positions there.
    gpi_models, joint_models : list of GaussianMixtureModel
        Of every electrode: places of its spikes; places and marks.
    mean_rates : ndarray, shape (n_electrodes,)
        Spikes per time bin.
    summed_ground_process_intensity : ndarray, shape (n_bins,)
        Expected spikes of all electrodes.
    position_time : ndarray, shape (n_sample,)
        Times of the positions.
    """

    environment: Environment
    occupancy_model: GaussianMixtureModel
    interior_place_bin_centers: Floats
    occupancy_bins: Floats
    log_occupancy_bins: Floats
    gpi_models: list[GaussianMixtureModel]
    joint_models: list[GaussianMixtureModel]
    mean_rates: Floats
    summed_ground_process_intensity: Floats
    position_time: Floats


def _mixture(
    x: Floats, n_components: int, kind: str, seed: int | None, weights: Floats | None
) -> GaussianMixtureModel:
    """Fit a density; never more components than there are samples with weight."""
    if weights is not None:
        x, weights = x[weights > 0], weights[weights > 0]
    model = GaussianMixtureModel(
        min(n_components, len(x)), covariance_type=kind, max_iter=_ITERATIONS, random_state=seed
    )
    return model.fit(x, sample_weight=weights)


def _ratio(log_above: Floats, log_below: Floats) -> Floats:
    """Return the density of spikes over that of the animal; next to none where it never was."""
    ratio = np.exp(np.minimum(log_above - log_below, _LARGEST_LOG_RATIO))
    return np.where(log_below > _LOG_TINY, ratio, EPS)


def fit_clusterless_gmm_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    environment: Environment,
    sampling_frequency: float = 500,
    weights: ArrayLike | None = None,
    *,
    gmm_components_occupancy: int = 32,
    gmm_components_gpi: int = 32,
    gmm_components_joint: int = 64,
    gmm_covariance_type_occupancy: str = "full",
    gmm_covariance_type_gpi: str = "full",
    gmm_covariance_type_joint: str = "full",
    gmm_random_state: int | None = 0,
    disable_progress_bar: bool = False,
    **ignored: Any,
) -> dict[str, Any]:
    """Fit a clusterless encoding model of Gaussian mixtures.

    Parameters
    ----------
    position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.fit`.
    environment : Environment
        With bins.
    sampling_frequency : float, default 500
        Accepted and not used: rates are per sample.
    weights : array, shape (n_sample,), optional
        Weight of every sample.
    gmm_components_occupancy, gmm_components_gpi, gmm_components_joint : int
        Gaussians of the positions, of the places of spikes, and of places and marks.
    gmm_covariance_type_occupancy, gmm_covariance_type_gpi, gmm_covariance_type_joint : str
        What their covariances may be.
    gmm_random_state : int, optional
        Seed.
    disable_progress_bar : bool, default False
        Accepted and not used.
    **ignored
        Options of kernel densities, accepted as the original does.

    Returns
    -------
    dict
        ``predict_clusterless_gmm_log_likelihood(..., **model)`` works.
    """
    del sampling_frequency, ignored
    if getattr(environment, "place_bin_centers_", None) is None:
        raise ValidationError(
            f"environment {environment.environment_name!r} has no bins yet",
            hint="call environment.fit_place_grid(position) first",
        )
    times, points = _data.vector(position_time, "position_time"), _data.position(position)
    each = np.ones(len(points)) if weights is None else _data.vector(weights, "weights")
    centers = _clusterless.interior_centers(environment)
    graph = environment.track_graph is not None and points.shape[1] > 1
    on_line = environment.linearize(points) if graph else points
    seed = gmm_random_state
    total = float(each.sum())
    if not total > 0:
        warnings.warn(
            "weights sum to 0: the occupancy is that of all samples, and no electrode has a rate",
            stacklevel=2,
        )
    occupancy = _mixture(
        on_line,
        gmm_components_occupancy,
        gmm_covariance_type_occupancy,
        seed,
        each if total > 0 else None,
    )
    log_occupancy = occupancy.score_samples(centers)
    gpi_models: list[GaussianMixtureModel | None] = []
    joint_models: list[GaussianMixtureModel | None] = []
    rates: list[float] = []
    ground = np.zeros(len(centers))
    for spikes, marks in zip(spike_times, spike_waveform_features, strict=True):
        when, values = _clusterless.inside(spikes, marks, times)
        heavy = np.interp(when, times, each) if len(when) else np.zeros(0)
        rates.append(float(heavy.sum()) / total if total > 0 else 0.0)
        if not rates[-1] > 0:
            gpi_models.append(None)
            joint_models.append(None)
            continue
        where = get_position_at_time(times, points, when, environment)
        gpi = _mixture(where, gmm_components_gpi, gmm_covariance_type_gpi, seed, heavy)
        both = np.concatenate((where, values), axis=1)
        joint = _mixture(both, gmm_components_joint, gmm_covariance_type_joint, seed, heavy)
        gpi_models.append(gpi)
        joint_models.append(joint)
        ground += rates[-1] * _ratio(gpi.score_samples(centers), log_occupancy)
    return {
        "environment": environment,
        "occupancy_model": occupancy,
        "interior_place_bin_centers": centers,
        "log_occupancy": log_occupancy,
        "gpi_models": gpi_models,
        "joint_models": joint_models,
        "mean_rates": np.array(rates),
        "summed_ground_process_intensity": np.maximum(ground, EPS),
        "disable_progress_bar": disable_progress_bar,
    }


def _log_joint(model: GaussianMixtureModel, points: Floats) -> Floats:
    """Return the log density of place and mark; a mark unlike any other weighs no more than EPS."""
    return np.maximum(model.score_samples(points), LOG_EPS)


def _intensity(marks: Floats, electrode: int, entries: Mapping[str, Any]) -> Floats:
    centers = _data.position(entries["interior_place_bin_centers"])
    model = entries["joint_models"][electrode]
    n, n_bin = len(marks), len(centers)
    found = np.zeros((n, n_bin))
    if model is None:
        return found
    logs = np.log(float(entries["mean_rates"][electrode])) - entries["log_occupancy"]
    size = int(entries["spike_block_size"])
    for first in range(0, n, size):
        part = marks[first : first + size]
        both = np.concatenate(
            (np.tile(centers, (len(part), 1)), np.repeat(part, n_bin, axis=0)), axis=1
        )
        found[first : first + size] = _log_joint(model, both).reshape(-1, n_bin) + logs
    return found


def predict_clusterless_gmm_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    environment: Environment | None = None,
    occupancy_model: GaussianMixtureModel | None = None,
    interior_place_bin_centers: ArrayLike | None = None,
    log_occupancy: ArrayLike | None = None,
    gpi_models: Sequence[GaussianMixtureModel | None] | None = None,
    joint_models: Sequence[GaussianMixtureModel | None] | None = None,
    mean_rates: ArrayLike | None = None,
    summed_ground_process_intensity: ArrayLike | None = None,
    is_local: bool = False,
    spike_block_size: int = 1000,
    bin_tile_size: int | None = None,
    disable_progress_bar: bool = False,
    *,
    encoding_model: Mapping[str, Any] | None = None,
    **ignored: Any,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.predict`.
    environment, occupancy_model, interior_place_bin_centers, log_occupancy, gpi_models
        Entries of :func:`fit_clusterless_gmm_encoding_model`.
    joint_models, mean_rates, summed_ground_process_intensity
        The same.
    is_local : bool, default False
        At the animal's own position instead; one column.
    spike_block_size : int, default 1000
        Spikes at a time.
    bin_tile_size, disable_progress_bar
        Accepted and not used.
    encoding_model : dict, optional
        All entries at once.
    **ignored
        Accepted as the original does.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del bin_tile_size, disable_progress_bar, ignored
    entries: dict[str, Any] = {
        "environment": environment,
        "occupancy_model": occupancy_model,
        "interior_place_bin_centers": interior_place_bin_centers,
        "log_occupancy": log_occupancy,
        "gpi_models": gpi_models,
        "joint_models": joint_models,
        "mean_rates": mean_rates,
        "summed_ground_process_intensity": summed_ground_process_intensity,
    }
    model = _fitted.model_of(encoding_model, entries)
    if model is not None:
        where = (time, position_time, position, spike_times, spike_waveform_features)
        return _fitted.predict(model, *where, is_local, None)
    _fitted.complete(entries, "predict_clusterless_gmm_log_likelihood")
    if is_local:
        names = ("environment", "occupancy_model", "gpi_models", "joint_models", "mean_rates")
        return compute_local_log_likelihood(
            time,
            np.asarray(position_time),
            np.asarray(position),
            spike_times,
            spike_waveform_features,
            *(entries[name] for name in names),
        )
    entries["spike_block_size"] = spike_block_size
    return _clusterless.non_local(time, spike_times, spike_waveform_features, entries, _intensity)


def compute_local_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    environment: Environment,
    occupancy_model: GaussianMixtureModel,
    gpi_models: Sequence[GaussianMixtureModel | None],
    joint_models: Sequence[GaussianMixtureModel | None],
    mean_rates: ArrayLike,
    disable_progress_bar: bool = False,
) -> Array:
    """Compute how well the animal's own position explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.predict`.
    environment, occupancy_model, gpi_models, joint_models, mean_rates
        Entries of :func:`fit_clusterless_gmm_encoding_model`.
    disable_progress_bar : bool, default False
        Accepted and not used.

    Returns
    -------
    ndarray, shape (n_time, 1)
        Log likelihood.
    """
    del disable_progress_bar
    rows = _data.vector(time, "time")
    here = get_position_at_time(position_time, position, rows, environment)
    log_here = occupancy_model.score_samples(here)
    rates = _data.vector(mean_rates, "mean_rates")
    _fitted.same_number(len(rates), spike_times=spike_times, features=spike_waveform_features)
    found = np.zeros(len(rows))
    for spikes, marks, rate, gpi, joint in zip(
        spike_times, spike_waveform_features, rates, gpi_models, joint_models, strict=True
    ):
        if gpi is None or joint is None:
            continue
        times, values = _clusterless.inside(spikes, marks, rows)
        if len(times):
            there = get_position_at_time(position_time, position, times, environment)
            logs = np.log(rate) + _log_joint(joint, np.concatenate((there, values), axis=1))
            logs -= occupancy_model.score_samples(there)
            np.add.at(found, get_spike_time_bin_ind(times, rows), logs)
        found -= rate * _ratio(gpi.score_samples(here), log_here)
    return found[:, np.newaxis]

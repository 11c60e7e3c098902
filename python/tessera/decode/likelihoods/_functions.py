"""Encoding models and likelihoods as functions, without a state space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera.decode import _data
from tessera.decode._data import Array
from tessera.decode._encoding import EncodingModel, encoding_options
from tessera.decode._session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

_BANDWIDTH = 12.5**0.5  # cm, of the original's functions


def fit(
    algorithm: str,
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    features: Sequence[ArrayLike] | None,
    environment: Environment,
    weights: ArrayLike | None,
    params: dict[str, Any],
    device: str | None,
) -> EncodingModel:
    """Fit an encoding model in an environment that has bins."""
    training = {
        "position_time": _data.vector(position_time, "position_time"),
        "position": _data.position(position),
        "spike_times": _data.spike_times(spike_times),
        "marks": None if features is None else _data.features(features),
        "is_training": None,
        "weights": None if weights is None else _data.vector(weights, "weights"),
    }
    model = EncodingModel(environment, training, encoding_options(algorithm, params))
    return model.fit(device=device)


def predict(
    model: EncodingModel,
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    features: Sequence[ArrayLike] | None,
    is_local: bool,
    device: str | None,
) -> Array:
    """Return (n_time, n_interior), or (n_time, 1) at the animal's own position."""
    observation = {
        "time": _data.vector(time, "time"),
        "spike_times": _data.spike_times(spike_times),
        "marks": None if features is None else _data.features(features),
        "position_time": None
        if position is None or position_time is None
        else _data.vector(position_time, "position_time"),
        "position": None if position is None else _data.position(position),
    }
    function = _core.decode_local_log_likelihood if is_local else _core.decode_log_likelihood
    dtype = "float64" if model.is_exact else "float32"
    handle = model.fit(device=device).handle
    with Session(device=device) as context:
        values, _ = function(context, handle, observation, dtype=dtype)
    found = np.asarray(values)
    return found[:, np.newaxis] if is_local else found


def fit_clusterless_kde_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    environment: Environment,
    sampling_frequency: float = 500,
    position_std: float | ArrayLike = _BANDWIDTH,
    waveform_std: float | ArrayLike | None = None,
    block_size: int = 100,
    disable_progress_bar: bool = False,
    *,
    device: str | None = None,
    **params: Any,
) -> EncodingModel:
    """Fit a clusterless encoding model.

    Parameters
    ----------
    position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.fit`.
    environment : Environment
        With bins.
    position_std, waveform_std : float or array
        Bandwidths, cm and uV.
    sampling_frequency, block_size, disable_progress_bar
        Accepted and not used.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **params
        Other options of table ``decode.encoding``; weights.

    Returns
    -------
    EncodingModel
        A mapping: ``predict_clusterless_kde_log_likelihood(..., **model)`` works.
    """
    del sampling_frequency, block_size, disable_progress_bar
    weights = params.pop("weights", None)
    params["position_std"] = position_std
    if waveform_std is None:
        waveform_std = default("decode.encoding", "waveform_std")
    params["waveform_std"] = waveform_std
    return fit(
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


def predict_clusterless_kde_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    spike_waveform_features: Sequence[ArrayLike],
    *,
    encoding_model: EncodingModel,
    is_local: bool = False,
    device: str | None = None,
    **entries: Any,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times, spike_waveform_features
        As in :meth:`tessera.decode.ClusterlessDetector.predict`.
    encoding_model : EncodingModel
        From :func:`fit_clusterless_kde_encoding_model`.
    is_local : bool, default False
        At the animal's own position instead; one column.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **entries
        The other entries of the model, where it is given as ``**model``.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del entries
    return predict(
        encoding_model,
        time,
        position_time,
        position,
        spike_times,
        spike_waveform_features,
        is_local,
        device,
    )


def fit_sorted_spikes_kde_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    environment: Environment,
    sampling_frequency: float = 500,
    position_std: float | ArrayLike = _BANDWIDTH,
    block_size: int = 100,
    disable_progress_bar: bool = False,
    weights: ArrayLike | None = None,
    *,
    device: str | None = None,
) -> EncodingModel:
    """Fit place fields by kernel densities.

    Parameters
    ----------
    position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.fit`.
    environment : Environment
        With bins.
    position_std : float or array
        Bandwidth, cm.
    weights : array, shape (n_sample,), optional
        Weight of every sample.
    sampling_frequency, block_size, disable_progress_bar
        Accepted and not used.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    EncodingModel
        A mapping: ``predict_sorted_spikes_kde_log_likelihood(..., **model)`` works.
    """
    del sampling_frequency, block_size, disable_progress_bar
    params = {"position_std": position_std}
    return fit(
        "sorted_spikes_kde",
        position_time,
        position,
        spike_times,
        None,
        environment,
        weights,
        params,
        device,
    )


def fit_sorted_spikes_glm_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    environment: Environment,
    *args: Any,
    emission_knot_spacing: float | None = None,
    l2_penalty: float | None = None,
    weights: ArrayLike | None = None,
    device: str | None = None,
    **ignored: Any,
) -> EncodingModel:
    """Fit place fields by Poisson regression.

    Parameters
    ----------
    position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.fit`.
    environment : Environment
        With bins.
    *args
        Accepted and not used.
    emission_knot_spacing : float, optional
        Distance of the knots of the splines, cm.
    l2_penalty : float, optional
        Of their coefficients.
    weights : array, shape (n_sample,), optional
        Weight of every sample.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **ignored
        Accepted and not used.

    Returns
    -------
    EncodingModel
        A mapping: ``predict_sorted_spikes_glm_log_likelihood(..., **model)`` works.
    """
    del args, ignored
    params = {"emission_knot_spacing": emission_knot_spacing, "l2_penalty": l2_penalty}
    return fit(
        "sorted_spikes_glm",
        position_time,
        position,
        spike_times,
        None,
        environment,
        weights,
        params,
        device,
    )


def predict_sorted_spikes_kde_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    *,
    encoding_model: EncodingModel,
    is_local: bool = False,
    device: str | None = None,
    **entries: Any,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.predict`.
    encoding_model : EncodingModel
        From :func:`fit_sorted_spikes_kde_encoding_model` or the like.
    is_local : bool, default False
        At the animal's own position instead; one column.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **entries
        The other entries of the model, where it is given as ``**model``.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del entries
    return predict(
        encoding_model, time, position_time, position, spike_times, None, is_local, device
    )


predict_sorted_spikes_glm_log_likelihood = predict_sorted_spikes_kde_log_likelihood


def predict_no_spike_log_likelihood(
    time: ArrayLike,
    spike_times: Sequence[ArrayLike],
    no_spike_rate: float | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Compute how well a tiny constant rate explains the spikes of every time bin.

    Parameters
    ----------
    time : array, shape (n_time,)
        Left edges of the time bins.
    spike_times : list of arrays
        One per electrode.
    no_spike_rate : float, optional
        Spikes per second.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    ndarray, shape (n_time, 1)
        Log likelihood.

    Examples
    --------
    >>> from tessera.decode.likelihoods import predict_no_spike_log_likelihood
    >>> found = predict_no_spike_log_likelihood([0.0, 1.0, 2.0], [[0.5]])
    >>> bool(found[0, 0] < found[1, 0])
    True
    """
    rate = default("decode.detector", "no_spike_rate") if no_spike_rate is None else no_spike_rate
    observation = {
        "time": _data.vector(time, "time"),
        "spike_times": _data.spike_times(spike_times),
    }
    with Session(device=device) as context:
        values = _core.decode_no_spike_log_likelihood(context, observation, float(rate), "float32")
    return np.asarray(values)[:, np.newaxis]

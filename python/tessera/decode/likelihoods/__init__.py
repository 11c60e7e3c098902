"""Encoding models and likelihoods as functions."""

from __future__ import annotations

from tessera.decode.likelihoods._functions import (
    fit_clusterless_kde_encoding_model,
    fit_sorted_spikes_glm_encoding_model,
    fit_sorted_spikes_kde_encoding_model,
    predict_clusterless_kde_log_likelihood,
    predict_no_spike_log_likelihood,
    predict_sorted_spikes_glm_log_likelihood,
    predict_sorted_spikes_kde_log_likelihood,
)

__all__ = [
    "fit_clusterless_kde_encoding_model",
    "fit_sorted_spikes_glm_encoding_model",
    "fit_sorted_spikes_kde_encoding_model",
    "predict_clusterless_kde_log_likelihood",
    "predict_no_spike_log_likelihood",
    "predict_sorted_spikes_glm_log_likelihood",
    "predict_sorted_spikes_kde_log_likelihood",
]

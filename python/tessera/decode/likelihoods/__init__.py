"""Encoding models and likelihoods as functions."""

from __future__ import annotations

from tessera.decode.likelihoods.clusterless_gmm import (
    fit_clusterless_gmm_encoding_model,
    predict_clusterless_gmm_log_likelihood,
)
from tessera.decode.likelihoods.clusterless_kde import (
    fit_clusterless_kde_encoding_model,
    predict_clusterless_kde_log_likelihood,
)
from tessera.decode.likelihoods.clusterless_kde_log import (
    fit_clusterless_kde_encoding_model as _fit_log,
)
from tessera.decode.likelihoods.clusterless_kde_log import (
    predict_clusterless_kde_log_likelihood as _predict_log,
)
from tessera.decode.likelihoods.no_spike import predict_no_spike_log_likelihood
from tessera.decode.likelihoods.sorted_spikes_glm import (
    fit_sorted_spikes_glm_encoding_model,
    predict_sorted_spikes_glm_log_likelihood,
)
from tessera.decode.likelihoods.sorted_spikes_kde import (
    fit_sorted_spikes_kde_encoding_model,
    predict_sorted_spikes_kde_log_likelihood,
)

__all__ = [
    "fit_clusterless_gmm_encoding_model",
    "fit_clusterless_kde_encoding_model",
    "fit_sorted_spikes_glm_encoding_model",
    "fit_sorted_spikes_kde_encoding_model",
    "predict_clusterless_gmm_log_likelihood",
    "predict_clusterless_kde_log_likelihood",
    "predict_no_spike_log_likelihood",
    "predict_sorted_spikes_glm_log_likelihood",
    "predict_sorted_spikes_kde_log_likelihood",
]

# Which pair of functions an algorithm's name means; the original's scripts look here.
_SORTED_SPIKES_ALGORITHMS = {
    "sorted_spikes_glm": (
        fit_sorted_spikes_glm_encoding_model,
        predict_sorted_spikes_glm_log_likelihood,
    ),
    "sorted_spikes_kde": (
        fit_sorted_spikes_kde_encoding_model,
        predict_sorted_spikes_kde_log_likelihood,
    ),
}
_CLUSTERLESS_ALGORITHMS = {
    "clusterless_gmm": (
        fit_clusterless_gmm_encoding_model,
        predict_clusterless_gmm_log_likelihood,
    ),
    "clusterless_kde": (
        fit_clusterless_kde_encoding_model,
        predict_clusterless_kde_log_likelihood,
    ),
    "clusterless_kde_log": (_fit_log, _predict_log),
}

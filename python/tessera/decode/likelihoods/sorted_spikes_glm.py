"""The functions of the original's module of this name."""

from __future__ import annotations

from tessera.decode.likelihoods._functions import (
    fit_sorted_spikes_glm_encoding_model,
    predict_sorted_spikes_glm_log_likelihood,
)

__all__ = [
    "fit_sorted_spikes_glm_encoding_model",
    "predict_sorted_spikes_glm_log_likelihood",
]

"""The functions of the original's module of this name."""

from __future__ import annotations

from tessera.decode.likelihoods._functions import (
    fit_clusterless_kde_encoding_model,
    predict_clusterless_kde_log_likelihood,
)

__all__ = [
    "fit_clusterless_kde_encoding_model",
    "predict_clusterless_kde_log_likelihood",
]

"""The functions of the original's module of this name."""

from __future__ import annotations

from tessera.decode.likelihoods._functions import (
    predict_no_spike_log_likelihood,
)

__all__ = [
    "predict_no_spike_log_likelihood",
]

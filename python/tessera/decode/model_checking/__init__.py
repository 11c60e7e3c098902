"""Checks of fitted models."""

from __future__ import annotations

from tessera.decode.model_checking.highest_posterior_density import (
    get_highest_posterior_threshold,
    get_HPD_spatial_coverage,
    isin_hpd,
)
from tessera.decode.model_checking.posterior_consistency import (
    posterior_consistency_hpd_overlap,
    posterior_consistency_kl_divergence,
)
from tessera.decode.model_checking.sorted_spikes import TimeRescaling

__all__ = [
    "TimeRescaling",
    "get_HPD_spatial_coverage",
    "get_highest_posterior_threshold",
    "isin_hpd",
    "posterior_consistency_hpd_overlap",
    "posterior_consistency_kl_divergence",
]

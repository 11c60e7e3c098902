"""Residuals of points in pieces, in NumPy or JAX: for a solver of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from logging import Logger
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._namespace import Array, array_module, namespace
from tessera.xpcs.core.jax_backend import compute_g2_scaled
from tessera.xpcs.utils.logging import get_logger

_NO_SIGMA = 1e-10
_DEFAULT_STEP = 0.001


def _check(chunks: Sequence[Any]) -> None:
    """Raise ValueError for pieces that do not all have the same angles."""
    if not chunks:
        raise ValueError("stratified_data.chunks is empty")
    wanted = set(np.round(np.asarray(chunks[0].phi), 6).tolist())
    for place, chunk in enumerate(chunks):
        n = len(chunk.g2)
        if n == 0:
            raise ValueError(f"Chunk {place} has no data points")
        if not n == len(chunk.phi) == len(chunk.t1) == len(chunk.t2):
            raise ValueError(f"Chunk {place} has inconsistent array shapes")
        found = set(np.round(np.asarray(chunk.phi), 6).tolist())
        if found != wanted:
            raise ValueError(
                f"Chunk {place} has inconsistent angles: Missing: {wanted - found}, "
                f"Extra: {found - wanted}"
            )


class StratifiedResidualFunction:
    """(data - model) / sigma of all points; 0 on the diagonal and where sigma is 0."""

    def __init__(
        self,
        stratified_data: Any,
        per_angle_scaling: bool,
        physical_param_names: Sequence[str],
        logger: Logger | None = None,
    ) -> None:
        chunks = stratified_data.chunks
        _check(chunks)
        self.per_angle_scaling = per_angle_scaling
        self.physical_param_names = list(physical_param_names)
        self.n_chunks = len(chunks)
        self._sizes = [len(chunk.g2) for chunk in chunks]
        self._angles = [len(np.unique(chunk.phi)) for chunk in chunks]
        self.n_total_points = sum(self._sizes)
        phi, t1, t2, self.g2_all = (
            np.concatenate([np.asarray(getattr(chunk, name)) for chunk in chunks])
            for name in ("phi", "t1", "t2", "g2")
        )
        self._phi, angle = np.unique(phi, return_inverse=True)
        self._t1, first = np.unique(t1, return_inverse=True)
        self._t2, second = np.unique(t2, return_inverse=True)
        self._places = (angle, first, second)
        self._setup = (float(chunks[0].q), float(chunks[0].L))
        self._dt = _DEFAULT_STEP if chunks[0].dt is None else float(chunks[0].dt)
        sigma = np.asarray(stratified_data.sigma, np.float64)
        grid = (len(self._phi), len(self._t1), len(self._t2))
        if sigma.size == self.n_total_points:  # one a point
            sigmas = sigma.reshape(-1)
        else:
            errors = np.broadcast_to(sigma, grid) if sigma.size == 1 else sigma.reshape(grid)
            sigmas = errors[self._places]
        used = (sigmas > _NO_SIGMA) & (np.abs(t1 - t2) > 1e-15)
        self._weights: Floats = np.where(used, 1.0 / np.where(used, sigmas, 1.0), 0.0)
        self.n_phi = len(self._phi)
        self.n_scaling_params = 2 * self.n_phi if per_angle_scaling else 2
        self.n_physical_params = len(self.physical_param_names)
        self.n_total_params = self.n_scaling_params + self.n_physical_params
        self.logger = logger or get_logger(__name__)

    def jax_residual(self, params: Array) -> Array:
        """Return residuals in the library of the parameters."""
        xp = namespace(params)
        values = xp.asarray(params)
        scaling, theta = values[: self.n_scaling_params], values[self.n_scaling_params :]
        half = self.n_scaling_params // 2
        contrast, offset = scaling[:half], scaling[half:]
        times = (xp.asarray(self._t1), xp.asarray(self._t2), xp.asarray(self._phi))
        plain = compute_g2_scaled(theta, *times, *self._setup, 1.0, 0.0, self._dt)
        angle = self._places[0] if self.per_angle_scaling else np.zeros_like(self._places[0])
        model = offset[angle] + contrast[angle] * plain[self._places]
        return (xp.asarray(self.g2_all) - model) * xp.asarray(self._weights)

    def __call__(self, params: npt.ArrayLike) -> Floats:
        """Return residuals."""
        return np.asarray(self.jax_residual(np.asarray(params, np.float64)))

    def validate_chunk_structure(self) -> bool:
        """Return True: pieces that do not fit were refused."""
        return True

    def get_diagnostics(self) -> dict[str, Any]:
        """Return sizes."""
        return {
            "n_chunks": self.n_chunks,
            "n_total_points": self.n_total_points,
            "n_angles": self.n_phi,
            "per_angle_scaling": self.per_angle_scaling,
            "chunk_sizes": self._sizes,
            "chunk_angle_counts": self._angles,
            "min_chunk_size": min(self._sizes),
            "max_chunk_size": max(self._sizes),
            "mean_chunk_size": float(np.mean(self._sizes)),
        }

    def log_diagnostics(self) -> None:
        """Log sizes."""
        self.logger.info(f"residuals: {self.get_diagnostics()}")


class StratifiedResidualFunctionJIT(StratifiedResidualFunction):
    """The same, giving arrays of JAX where it is installed, for its compiler."""

    @property
    def max_chunk_size(self) -> int:
        """Points of the largest piece."""
        return max(self._sizes)

    def get_diagnostics(self) -> dict[str, Any]:
        """Return sizes; nothing is padded."""
        return super().get_diagnostics() | {
            "n_real_points": self.n_total_points,
            "padding_overhead_pct": 0.0,
        }

    def __call__(self, params: npt.ArrayLike) -> Array:
        """Return residuals."""
        return self.jax_residual(array_module().asarray(params))


def create_stratified_residual_function(
    stratified_data: Any,
    per_angle_scaling: bool,
    physical_param_names: Sequence[str],
    logger: Logger | None = None,
    validate: bool = True,
) -> StratifiedResidualFunction:
    """Make residuals of points in pieces."""
    return StratifiedResidualFunction(
        stratified_data, per_angle_scaling, physical_param_names, logger
    )

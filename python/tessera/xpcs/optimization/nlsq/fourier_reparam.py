"""Contrast and offset as Fourier series over angles: fewer parameters than angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

Bounds = tuple[float, float]
_PAIRS = ("c0_bounds", "ck_bounds", "o0_bounds", "ok_bounds")


@dataclass
class FourierReparamConfig:
    """When there is a series, of which order, within which bounds."""

    mode: str = "auto"
    fourier_order: int = 2
    auto_threshold: int = 6
    c0_bounds: Bounds = (0.1, 0.8)
    ck_bounds: Bounds = (-0.2, 0.2)
    o0_bounds: Bounds = (0.5, 1.5)
    ok_bounds: Bounds = (-0.3, 0.3)

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> FourierReparamConfig:
        """Take what section ``anti_degeneracy`` says."""
        pairs: dict[str, Any] = {n: tuple(config_dict[n]) for n in _PAIRS if n in config_dict}
        return cls(
            mode=config_dict.get("per_angle_mode", "auto"),
            fourier_order=config_dict.get("fourier_order", 2),
            auto_threshold=config_dict.get("fourier_auto_threshold", 6),
            **pairs,
        )


def _vector(values: npt.ArrayLike, n: int, name: str, what: str) -> Floats:
    found = np.asarray(values, np.float64)
    if found.ndim != 1:
        raise ValueError(f"{name} must be 1D array, got shape {found.shape}")
    if len(found) != n:
        raise ValueError(f"Expected {n} {what}, got {len(found)}")
    return found


class FourierReparameterizer:
    """Goes from values of angles (in radians) to coefficients and back."""

    def __init__(self, phi_angles: npt.ArrayLike, config: FourierReparamConfig) -> None:
        self.phi_angles: Floats = np.asarray(phi_angles, np.float64)
        self.config = config
        self.n_phi = len(self.phi_angles)
        self.use_fourier = self._determine_mode()
        n_series = 1 + 2 * config.fourier_order
        self.n_coeffs_per_param = n_series if self.use_fourier else self.n_phi
        self.n_coeffs = 2 * self.n_coeffs_per_param
        self._basis_matrix = self._compute_basis_matrix() if self.use_fourier else None

    def _determine_mode(self) -> bool:
        if self.config.mode == "independent":
            return False
        enough = self.n_phi >= 1 + 2 * self.config.fourier_order
        if self.config.mode == "fourier":
            return enough
        return enough and self.n_phi > self.config.auto_threshold

    def _compute_basis_matrix(self) -> Floats:
        waves = [np.ones(self.n_phi)]
        for k in range(1, self.config.fourier_order + 1):
            waves += [np.cos(k * self.phi_angles), np.sin(k * self.phi_angles)]
        return np.stack(waves, axis=1)

    @property
    def order(self) -> int:
        """Of the series."""
        return self.config.fourier_order

    def get_basis_matrix(self) -> Floats | None:
        """Return the waves at the angles, or None without a series."""
        return self._basis_matrix

    def from_fourier(self, fourier_coeffs: npt.ArrayLike) -> Floats:
        """Return the values of one series."""
        given = _vector(fourier_coeffs, self.n_coeffs_per_param, "fourier_coeffs", "coefficients")
        return given.copy() if self._basis_matrix is None else self._basis_matrix @ given

    def to_fourier(self, per_angle_values: npt.ArrayLike) -> Floats:
        """Return the series nearest to values."""
        given = _vector(per_angle_values, self.n_phi, "per_angle_values", "values")
        if self._basis_matrix is None:
            return given.copy()
        found = np.linalg.lstsq(self._basis_matrix, given, rcond=None)[0]
        return np.asarray(found, np.float64)

    def fourier_to_per_angle(self, fourier_coeffs: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return contrasts and offsets."""
        given = _vector(fourier_coeffs, self.n_coeffs, "fourier_coeffs", "Fourier coefficients")
        first, second = np.split(given, 2)
        return self.from_fourier(first), self.from_fourier(second)

    def per_angle_to_fourier(self, contrast: npt.ArrayLike, offset: npt.ArrayLike) -> Floats:
        """Return the coefficients nearest to contrasts and offsets."""
        return np.concatenate(
            [
                self.to_fourier(_vector(contrast, self.n_phi, "contrast", "contrast values")),
                self.to_fourier(_vector(offset, self.n_phi, "offset", "offset values")),
            ]
        )

    def get_jacobian_transform(self) -> Floats:
        """Return the derivatives of all values by all coefficients."""
        if self._basis_matrix is None:
            return np.eye(self.n_coeffs)
        return np.asarray(np.kron(np.eye(2), self._basis_matrix), np.float64)

    def get_bounds(self) -> tuple[Floats, Floats]:
        """Return bounds of the coefficients."""
        own = self.config
        n = self.n_coeffs_per_param
        rest = (
            (own.ck_bounds, own.ok_bounds) if self.use_fourier else (own.c0_bounds, own.o0_bounds)
        )
        pairs = [own.c0_bounds, *[rest[0]] * (n - 1), own.o0_bounds, *[rest[1]] * (n - 1)]
        found = np.array(pairs, float)
        return found[:, 0], found[:, 1]

    def get_initial_coefficients(
        self, contrast_init: float | npt.ArrayLike, offset_init: float | npt.ArrayLike
    ) -> Floats:
        """Return the coefficients of one contrast and offset, or of one an angle."""
        first, second = (
            np.full(self.n_phi, float(value)) if np.isscalar(value) else np.asarray(value, float)  # type: ignore[arg-type]
            for value in (contrast_init, offset_init)
        )
        return self.per_angle_to_fourier(first, second)

    def get_coefficient_labels(self) -> list[str]:
        """Return the names of the coefficients."""
        if not self.use_fourier:
            return [f"{name}[{i}]" for name in ("contrast", "offset") for i in range(self.n_phi)]
        waves = ["c0", *(f"{w}{k}" for k in range(1, self.order + 1) for w in ("c", "s"))]
        return [f"{name}_{wave}" for name in ("contrast", "offset") for wave in waves]

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "use_fourier": self.use_fourier,
            "mode": self.config.mode,
            "n_phi": self.n_phi,
            "n_coeffs": self.n_coeffs,
            "n_coeffs_per_param": self.n_coeffs_per_param,
            "fourier_order": self.order if self.use_fourier else None,
            "reduction_ratio": self.n_coeffs / (2 * self.n_phi),
        }


def create_fourier_model_wrapper(
    model_fn: Callable[..., Any], fourier: FourierReparameterizer, n_physical: int
) -> Callable[..., Any]:
    """Return a model of coefficients for one of contrasts and offsets."""

    def wrapped(params: npt.ArrayLike, *args: Any, **kwargs: Any) -> Any:
        given = np.asarray(params, float)
        contrast, offset = fourier.fourier_to_per_angle(given[: len(given) - n_physical])
        physical = given[len(given) - n_physical :]
        return model_fn(np.concatenate([contrast, offset, physical]), *args, **kwargs)

    return wrapped

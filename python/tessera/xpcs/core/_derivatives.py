"""Exact first and second derivatives of the model on grids, without automatic differentiation.

First derivatives are written out. They stay right for complex parameters, so a step along the
imaginary axis gives the second ones to full precision: there is no difference to cancel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.core.physics_utils import safe_sinc

_Complex = npt.NDArray[Any]
_STEP = 1e-30  # times the size of a parameter; only its product with slopes has to be above 0
_LEAST = 1e-10


def _rates(times: _Complex, scale: Any, exponent: Any, shift: Any) -> tuple[_Complex, _Complex]:
    """Return a power law on safe times, and its derivatives by scale, exponent and shift."""
    step = abs(times[min(1, len(times) - 1)] - times[0])
    safe = np.maximum(times, max(0.5 * step, 1e-8))
    power = safe**exponent
    rate = scale * power + shift
    alive = rate.real > _LEAST
    slopes = np.stack([power, scale * power * np.log(safe), np.ones_like(power)])
    return np.where(alive, rate, _LEAST), np.where(alive, slopes, 0.0)


def _sums(values: _Complex) -> _Complex:
    out = np.zeros_like(values)
    out[..., 1:] = np.cumsum(0.5 * (values[..., :-1] + values[..., 1:]), axis=-1)
    return out


def _distances(rate: _Complex, slopes: _Complex) -> tuple[_Complex, _Complex]:
    """Return integrals between all times, and their derivatives (3, n, n)."""
    total, by = _sums(rate), _sums(slopes)
    difference = total[:, None] - total[None, :]
    size = np.sqrt(difference**2 + 1e-12)
    return size, difference / size * (by[:, :, None] - by[:, None, :])


def _sinc_slope(x: _Complex) -> _Complex:
    """Return the derivative of sin(x) / x."""
    near = np.abs(x) < 1e-2
    safe = np.where(near, 1.0, x)
    square = x * x
    series = -x / 3.0 * (1.0 - square / 10.0 + square**2 / 280.0 - square**3 / 15120.0)
    return np.where(near, series, (np.cos(safe) - np.sin(safe) / safe) / safe)


def value_and_slopes(
    theta: _Complex,
    times: npt.NDArray[np.float64],
    phi: npt.NDArray[np.float64],
    diffusion: float,
    shear: float,
    contrast: float,
) -> tuple[_Complex, _Complex]:
    """Return contrast g1^2 (n_angle, n, n) and its derivatives (n_angle, n, n, n_param)."""
    integral, by = _distances(*_rates(times, *theta[:3]))
    exponent = -diffusion * integral
    fading = np.exp(np.where(exponent.real > -700.0, exponent, -700.0))
    fading_by = np.where(exponent.real > -700.0, -diffusion * fading * by, 0.0)
    n_param = len(theta)
    shape = (len(phi), len(times), len(times))
    moving: _Complex = np.ones(shape, theta.dtype)
    moving_by = np.zeros((max(0, n_param - 3), *shape), theta.dtype)
    if n_param >= 7:
        integral, by = _distances(*_rates(times, *theta[3:6]))
        angle = (theta[6] - phi)[:, None, None] * (np.pi / 180.0)  # deg2rad refuses complex
        strength = shear * np.cos(angle)
        phase = strength * integral
        sinc = safe_sinc(phase)
        outer = 2.0 * sinc * _sinc_slope(phase)
        moving = sinc**2
        moving_by[:3] = outer * strength * by[:, None]
        moving_by[3] = outer * integral * shear * -np.sin(angle) * (np.pi / 180.0)
    g1 = fading * moving
    alive = g1.real > _LEAST
    slopes = np.concatenate([fading_by[:, None] * moving, fading * moving_by])
    g1 = np.where(alive, g1, _LEAST)
    slopes = np.where(alive, 2.0 * contrast * g1 * slopes, 0.0)
    return contrast * g1**2, np.moveaxis(slopes, 0, -1)


def curvatures(
    theta: npt.NDArray[np.float64],
    times: npt.NDArray[np.float64],
    phi: npt.NDArray[np.float64],
    diffusion: float,
    shear: float,
    contrast: float,
) -> npt.NDArray[np.float64]:
    """Return second derivatives (n_angle, n, n, n_param, n_param)."""
    rows = []
    for place, value in enumerate(theta):
        step = _STEP * max(abs(value), 1.0)
        moved = theta.astype(complex)
        moved[place] += 1j * step
        rows.append(value_and_slopes(moved, times, phi, diffusion, shear, contrast)[1].imag / step)
    return np.stack(rows, axis=-1)

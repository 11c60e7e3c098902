"""The diagonal of two-time correlations, which detectors spoil, put right by its neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._namespace import HAS_JAX, Array, array_module, is_jax, namespace

__all__ = [
    "apply_diagonal_correction",
    "apply_diagonal_correction_batch",
    "get_available_backends",
    "get_diagonal_correction_methods",
]


def _with_diagonal(matrix: Array, diagonal: Array) -> Array:
    """Return a copy with another diagonal."""
    if is_jax(matrix):
        places = np.arange(matrix.shape[-1])
        return matrix.at[..., places, places].set(diagonal)
    copy = np.array(matrix)
    places = np.arange(copy.shape[-1])
    copy[..., places, places] = diagonal
    return copy


def _from_side_bands(matrices: Array) -> Array:
    """Correct one matrix or many: each place gets the mean of what lies beside the diagonal."""
    if matrices.shape[-1] <= 1:
        return matrices if is_jax(matrices) else matrices.copy()
    xp = namespace(matrices)
    low, high = np.arange(matrices.shape[-1] - 1), np.arange(1, matrices.shape[-1])
    band = 0.5 * (matrices[..., low, high] + matrices[..., high, low])
    inner = 0.5 * (band[..., :-1] + band[..., 1:])
    return _with_diagonal(matrices, xp.concatenate([band[..., :1], inner, band[..., -1:]], axis=-1))


def _trimmed_mean(values: npt.NDArray[Any], fraction: float) -> float:
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return float("nan")
    cut = int(fraction * len(finite))
    return float(np.mean(finite[cut : len(finite) - cut]))


def _statistical(matrix: npt.NDArray[Any], config: dict[str, Any]) -> npt.NDArray[Any]:
    """Correct by a statistic of the row and the column within a window."""
    size = len(matrix)
    window = int(config.get("window_size", 3))
    fraction = float(config.get("trim_fraction", 0.2))
    name = config.get("estimator", "median")
    estimators: dict[str, Callable[[npt.NDArray[Any]], Any]] = {
        "mean": np.nanmean,
        "median": np.nanmedian,
        "trimmed_mean": lambda values: _trimmed_mean(values, fraction),
    }
    if name not in estimators:
        warnings.warn(f"estimator: {name!r} does not exist; the median is used", stacklevel=4)
    estimate = estimators.get(name, np.nanmedian)
    corrected = matrix.copy()
    for i in range(size):
        near = [
            j for j in range(max(0, i - window), min(size, i + window + 1)) if j != i and size > 1
        ]
        if near:
            corrected[i, i] = estimate(np.concatenate([matrix[near, i], matrix[i, near]]))
    return corrected


def _interpolated(matrix: npt.NDArray[Any], config: dict[str, Any]) -> npt.NDArray[Any]:
    """Correct by the mean of the two neighbours in the column, at the ends by the one."""
    size = len(matrix)
    if size > 2 and config.get("interpolation_method", "linear") == "cubic":
        raise NotImplementedError(
            "interpolation_method: 'cubic' does not exist, here or in the original; use 'linear'"
        )
    if size <= 1:
        return matrix.copy()
    places = np.arange(1, size - 1)
    pairs = np.stack([matrix[places - 1, places], matrix[places + 1, places]])
    inner = np.nanmean(pairs, axis=0) if size > 2 else np.empty(0)
    return np.asarray(
        _with_diagonal(matrix, np.concatenate([[matrix[0, 1]], inner, [matrix[-2, -1]]]))
    )


def _in_numpy(matrix: npt.NDArray[Any], method: str, config: dict[str, Any]) -> npt.NDArray[Any]:
    if method == "statistical":
        return _statistical(matrix, config)
    if method == "interpolation":
        return _interpolated(matrix, config)
    if method != "basic":
        warnings.warn(f"method: {method!r} does not exist; 'basic' is used", stacklevel=4)
    return np.asarray(_from_side_bands(matrix))


def _in_jax(matrices: npt.ArrayLike, backend: str, method: str) -> Array | None:
    """Return what JAX computes, if it is to."""
    if not (backend == "jax" or (backend == "auto" and is_jax(matrices))) or not HAS_JAX:
        return None
    if method != "basic":
        warnings.warn(f"method: {method!r} runs in NumPy only; 'basic' is used", stacklevel=4)
    return _from_side_bands(array_module().asarray(matrices))


def apply_diagonal_correction(
    c2_mat: npt.ArrayLike, method: str = "basic", backend: str = "auto", **config: object
) -> Array:
    """Replace the diagonal of a matrix by what its neighbours say.

    Parameters
    ----------
    c2_mat : array, shape (n, n)
        Correlations.
    method : {'basic', 'statistical', 'interpolation'}, default 'basic'
        'basic' takes the mean of the side bands.
    backend : {'auto', 'numpy', 'jax'}, default 'auto'
        'auto' is the library of the matrix. JAX does 'basic' only.
    **config
        ``window_size``, ``estimator`` ('median', 'mean', 'trimmed_mean') and ``trim_fraction`` of
        'statistical'; ``interpolation_method`` ('linear') of 'interpolation'.

    Returns
    -------
    array, shape (n, n)
        A copy.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.core.diagonal_correction import apply_diagonal_correction
    >>> apply_diagonal_correction(np.array([[9.0, 1.0], [1.0, 9.0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    found = _in_jax(c2_mat, backend, method)
    return _in_numpy(np.asarray(c2_mat), method, config) if found is None else found


def apply_diagonal_correction_batch(
    c2_matrices: npt.ArrayLike, method: str = "basic", backend: str = "auto", **config: object
) -> Array:
    """Replace the diagonals of many matrices; see :func:`apply_diagonal_correction`.

    Parameters
    ----------
    c2_matrices : array, shape (n_angle, n, n)
        Correlations.
    method, backend, **config
        As there.

    Returns
    -------
    array, shape (n_angle, n, n)
        Copies.
    """
    found = _in_jax(c2_matrices, backend, method)
    if found is not None:
        return found
    matrices = np.asarray(c2_matrices)
    if method == "basic":
        return _from_side_bands(matrices)
    corrected = np.empty_like(matrices)
    for matrix, out in zip(matrices, corrected, strict=True):
        out[...] = _in_numpy(matrix, method, config)
    return corrected


def get_diagonal_correction_methods() -> list[str]:
    """Return what ``method`` may be.

    Returns
    -------
    list of str
        Their names.
    """
    return ["basic", "statistical", "interpolation"]


def get_available_backends() -> list[str]:
    """Return what ``backend`` may be here.

    Returns
    -------
    list of str
        'numpy', and 'jax' where it is installed.
    """
    return ["numpy", "jax"] if HAS_JAX else ["numpy"]


_diagonal_correction_jax_core = _from_side_bands

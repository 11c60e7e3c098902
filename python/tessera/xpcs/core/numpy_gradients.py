"""Derivatives of any function by differences, for those who have no formula for them."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

__all__ = [
    "DifferentiationConfig",
    "DifferentiationMethod",
    "GradientResult",
    "NumericalStabilityError",
    "numpy_gradient",
    "numpy_hessian",
    "validate_gradient_accuracy",
]

EPS = float(np.finfo(float).eps)
SQRT_EPS = EPS**0.5
CBRT_EPS = EPS ** (1 / 3)
DEFAULT_STEP = SQRT_EPS
DEFAULT_N_WORKERS = min(8, os.cpu_count() or 4)

_Function = Callable[[Any], Any]


class DifferentiationMethod:
    """Names of methods."""

    FORWARD = "forward"
    BACKWARD = "backward"
    CENTRAL = "central"
    COMPLEX_STEP = "complex_step"
    RICHARDSON = "richardson"
    ADAPTIVE = "adaptive"


@dataclass
class DifferentiationConfig:
    """How derivatives are taken.

    Parameters
    ----------
    method : str, default 'adaptive'
        Of :class:`DifferentiationMethod`; 'adaptive' takes the complex step where the function
        allows it, else Richardson's extrapolation.
    step_size : float, optional
        Of all parameters; by default one is found for each.
    relative_step, min_step, max_step : float
        Where steps are looked for.
    richardson_terms : int, default 4
        Halvings of the step.
    error_tolerance, complex_step_threshold : float
        Accepted for scripts of the original.
    max_iterations, n_workers, chunk_size : int
        Accepted for scripts of the original.
    use_parallel : bool
        Accepted for scripts of the original: a function of Python does not run faster so.
    """

    method: str = DifferentiationMethod.ADAPTIVE
    step_size: float | None = None
    relative_step: float = SQRT_EPS
    min_step: float = 1e-15
    max_step: float = 1e-3
    richardson_terms: int = 4
    error_tolerance: float = 1e-8
    max_iterations: int = 20
    use_parallel: bool = True
    n_workers: int = DEFAULT_N_WORKERS
    chunk_size: int = 1000
    complex_step_threshold: float = 1e-12


@dataclass
class GradientResult:
    """Derivatives and how they were found.

    Parameters
    ----------
    gradient, step_sizes : ndarray
        Of every parameter.
    error_estimate : ndarray, optional
        Of every derivative.
    method_used : str
        Of :class:`DifferentiationMethod`.
    function_calls : int
        Evaluations.
    computation_time : float
        Seconds.
    warnings : list of str
        What went wrong.
    """

    gradient: Floats
    step_sizes: Floats
    error_estimate: Floats | None = None
    method_used: str = "unknown"
    function_calls: int = 0
    computation_time: float = 0.0
    warnings: list[str] | None = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.warnings is None:
            self.warnings = []


class NumericalStabilityError(Exception):
    """A function cannot be evaluated where its derivatives are wanted."""


def _steps(function: _Function, x: Floats, config: DifferentiationConfig) -> Floats:
    """Return a step for every parameter: where rounding and curvature weigh the same."""
    if config.step_size is not None:
        return np.full_like(x, config.step_size)
    first = np.clip(np.abs(x) * config.relative_step, config.min_step, config.max_step)
    found = first.copy()
    middle = function(x)
    for place, step in enumerate(first):
        try:
            high, low = (function(_moved(x, place, sign * step)) for sign in (1, -1))
            curvature = abs((high - 2 * middle + low) / step**2)
        except (ValueError, ArithmeticError):
            continue
        if curvature > 0:
            found[place] = (2 * EPS * max(abs(middle), 1e-12) / curvature) ** (1 / 3)
    return np.clip(found, config.min_step, config.max_step)


def _moved(x: npt.NDArray[Any], place: int, step: Any) -> npt.NDArray[Any]:
    out = x.astype(complex) if isinstance(step, complex) else x.copy()
    out[place] += step
    return out


def _central(function: _Function, x: Floats, place: int, step: float) -> float:
    high, low = (function(_moved(x, place, sign * step)) for sign in (1, -1))
    return float((high - low) / (2 * step))


def _richardson(
    function: _Function, x: Floats, place: int, step: float, terms: int
) -> tuple[float, float]:
    """Return a derivative extrapolated to a step of 0, and about how far it is off."""
    row = [_central(function, x, place, step / 2**k) for k in range(terms)]
    error = abs(row[1] - row[0]) if terms > 1 else np.inf
    for order in range(1, terms):
        row = [b + (b - a) / (4**order - 1) for a, b in itertools.pairwise(row)]
    return row[0], float(error)


def _one_sided(function: _Function, x: Floats, place: int, step: float) -> float:
    return float((function(_moved(x, place, step)) - function(x)) / step)


def _complex(function: _Function, x: Floats, steps: Floats) -> Floats | None:
    """Return derivatives by steps along the imaginary axis, if the function takes them."""
    try:
        found = [
            np.imag(function(_moved(x, place, complex(0, step)))) / step
            for place, step in enumerate(steps)
        ]
        return np.array([float(value) for value in found])
    except (TypeError, ValueError, ArithmeticError):
        return None


def _gradient(function: _Function, x: Floats, config: DifferentiationConfig) -> GradientResult:
    method = config.method
    known = [
        value for name, value in vars(DifferentiationMethod).items() if not name.startswith("_")
    ]
    if method not in known:
        raise ValueError(f"Unknown finite difference method: {method}")
    steps = _steps(function, x, config)
    n = len(x)
    if method in (DifferentiationMethod.ADAPTIVE, DifferentiationMethod.COMPLEX_STEP):
        found = _complex(function, x, steps)
        if found is not None:
            return GradientResult(found, steps, None, DifferentiationMethod.COMPLEX_STEP, n)
    if method in (DifferentiationMethod.ADAPTIVE, DifferentiationMethod.RICHARDSON):
        terms = config.richardson_terms
        pairs = [_richardson(function, x, i, step, terms) for i, step in enumerate(steps)]
        values, errors = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
        calls = 2 * n * terms
        return GradientResult(values, steps, errors, DifferentiationMethod.RICHARDSON, calls)
    if method in (DifferentiationMethod.FORWARD, DifferentiationMethod.BACKWARD):
        sign = 1 if method == DifferentiationMethod.FORWARD else -1
        values = np.array([_one_sided(function, x, i, sign * s) for i, s in enumerate(steps)])
        return GradientResult(values, steps, None, method, n + 1)
    values = np.array([_central(function, x, i, step) for i, step in enumerate(steps)])
    return GradientResult(values, steps, None, DifferentiationMethod.CENTRAL, 2 * n)


class _Flat:
    """A function of several arrays as one of a vector."""

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: Sequence[int],
        args: Sequence[Any],
        keywords: dict[str, Any],
    ) -> None:
        if len(args) <= max(argnums):
            raise ValueError(f"Not enough arguments: need {max(argnums) + 1}, got {len(args)}")
        self.function, self.argnums, self.args, self.keywords = function, argnums, args, keywords
        self.arrays = [np.asarray(args[place], float) for place in argnums]
        self.start = np.concatenate([array.reshape(-1) for array in self.arrays])

    def split(self, vector: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        ends = np.cumsum([array.size for array in self.arrays])[:-1]
        return [
            part.reshape(array.shape)
            for part, array in zip(np.split(vector, ends), self.arrays, strict=True)
        ]

    def __call__(self, vector: npt.NDArray[Any]) -> Any:
        args = list(self.args)
        for place, part in zip(self.argnums, self.split(vector), strict=True):
            args[place] = part
        value = np.asarray(self.function(*args, **self.keywords))
        if value.size != 1:
            raise TypeError(f"derivatives need a function of one value, got shape {value.shape}")
        return value.reshape(-1)[0]

    def check(self) -> None:
        name = getattr(self.function, "__name__", "function")
        try:
            value = self(self.start)
        except (ValueError, ArithmeticError) as error:
            raise NumericalStabilityError(f"{name} evaluation failed: {error}") from error
        if not np.isfinite(value):
            raise NumericalStabilityError(f"{name} returned non-finite values")


def _places(argnums: int | Sequence[int]) -> list[int]:
    return [argnums] if isinstance(argnums, int) else list(argnums)


def numpy_gradient(
    func: Callable[..., object],
    argnums: int | list[int] = 0,
    config: DifferentiationConfig | None = None,
) -> Callable[..., Floats | list[Floats]]:
    """Return a function of the derivatives of another, which gives one number.

    Parameters
    ----------
    func : callable
        The function.
    argnums : int or list of int, default 0
        By which of its arguments.
    config : DifferentiationConfig, optional
        How.

    Returns
    -------
    callable
        Takes the same arguments; gives an array, or a list of them for a list of arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.core.numpy_gradients import numpy_gradient
    >>> numpy_gradient(lambda x: (x**2).sum())(np.array([1.0, 3.0])).round(6).tolist()
    [2.0, 6.0]
    """
    own = config or DifferentiationConfig()
    places = _places(argnums)

    @functools.wraps(func)
    def gradient(*args: Any, **keywords: Any) -> Floats | list[Floats]:
        flat = _Flat(func, places, args, keywords)
        flat.check()
        begin = time.perf_counter()
        result = _gradient(flat, flat.start, own)
        result.computation_time = time.perf_counter() - begin
        parts = flat.split(result.gradient)
        return parts[0] if len(places) == 1 else parts

    return gradient


def numpy_hessian(
    func: Callable[..., object],
    argnums: int | list[int] = 0,
    config: DifferentiationConfig | None = None,
) -> Callable[..., Floats]:
    """Return a function of the second derivatives of another, which gives one number.

    Parameters
    ----------
    func, argnums, config
        As in :func:`numpy_gradient`.

    Returns
    -------
    callable
        Takes the same arguments; gives a matrix over all parameters.
    """
    own = config or DifferentiationConfig()
    places = _places(argnums)

    @functools.wraps(func)
    def hessian(*args: Any, **keywords: Any) -> Floats:
        flat = _Flat(func, places, args, keywords)
        flat.check()
        x = flat.start
        step = own.step_size
        # The fourth root of the precision balances rounding and curvature of second differences.
        steps = np.full_like(x, step) if step else EPS**0.25 * np.maximum(np.abs(x), 1e-2)
        n, middle = len(x), flat(x)
        found = np.empty((n, n))
        for i in range(n):
            high, low = (flat(_moved(x, i, sign * steps[i])) for sign in (1, -1))
            found[i, i] = (high - 2 * middle + low) / steps[i] ** 2
            for j in range(i):
                corners = [
                    a * b * flat(_moved(_moved(x, i, a * steps[i]), j, b * steps[j]))
                    for a in (1, -1)
                    for b in (1, -1)
                ]
                found[i, j] = found[j, i] = sum(corners) / (4 * steps[i] * steps[j])
        return found

    return hessian


def validate_gradient_accuracy(
    func: Callable[..., object],
    x: npt.ArrayLike,
    analytical_grad: npt.ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> dict[str, Any]:
    """Try all methods on a function, and compare with derivatives that are known.

    Parameters
    ----------
    func : callable
        Of one array, gives one number.
    x : array
        Where.
    analytical_grad : array, optional
        What the derivatives are.
    tolerance : float, default 1e-6
        Largest difference that is fine.

    Returns
    -------
    dict
        A dict for every method: ``gradient``, ``success`` and, if they are known, errors.
    """
    found: dict[str, Any] = {}
    for method in ("complex_step", "richardson", "central", "forward", "backward"):
        try:
            gradient = numpy_gradient(func, config=DifferentiationConfig(method=method))(x)
        except (NumericalStabilityError, ValueError, ArithmeticError, TypeError) as error:
            found[method] = {"success": False, "error": str(error), "method": method}
            continue
        entry: dict[str, Any] = {"gradient": gradient, "method": method, "success": True}
        if analytical_grad is not None:
            known = np.asarray(analytical_grad)
            error_sizes = np.abs(np.asarray(gradient) - known)
            entry |= {
                "absolute_error": error_sizes,
                "relative_error": error_sizes / (np.abs(known) + EPS),
                "max_error": np.nanmax(error_sizes),
                "accuracy_ok": bool(np.all(error_sizes < tolerance)),
            }
        found[method] = entry
    return found

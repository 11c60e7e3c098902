"""The original's other way to its solver; here both are the same."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._compat import NLSQWrapper
from tessera.xpcs.core.models import CombinedModel
from tessera.xpcs.optimization.nlsq.adapter_base import NLSQAdapterBase

if TYPE_CHECKING:
    from tessera.xpcs._result import Result

__all__ = [
    "AdapterConfig",
    "NLSQAdapter",
    "clear_model_cache",
    "get_adapter",
    "get_cache_stats",
    "get_or_create_model",
    "is_adapter_available",
]

ModelFunction = Callable[..., npt.NDArray[Any]]
_CACHE_MAX_SIZE = 64
_GAP = 1.0  # of the model functions, as in the original


@dataclass(frozen=True)
class ModelCacheKey:
    """What tells models apart."""

    analysis_mode: str
    phi_angles: tuple[float, ...]
    q: float
    per_angle_scaling: bool


@dataclass
class CachedModel:
    """A model that was made before."""

    model: Any
    model_func: ModelFunction
    created_at: float = field(default_factory=time.time)
    n_hits: int = 0


_model_cache: OrderedDict[ModelCacheKey, CachedModel] = OrderedDict()
_cache_stats: dict[str, int] = {"hits": 0, "misses": 0}


def _make_cache_key(
    analysis_mode: str, phi_angles: npt.ArrayLike, q: float, per_angle_scaling: bool
) -> ModelCacheKey:
    angles = tuple(float(angle) for angle in np.unique(np.asarray(phi_angles)))
    return ModelCacheKey(analysis_mode, angles, round(q, 10), per_angle_scaling)


def _model_function(
    model: CombinedModel, phi: npt.NDArray[Any], q: float, per_angle: bool
) -> ModelFunction:
    """Return c2 at rows of t1, t2 and the place of an angle."""
    n_phi, n_physical = len(phi), model.n_params

    def function(xdata: npt.NDArray[Any], *params: float) -> npt.NDArray[Any]:
        values = np.asarray(params, float)
        rows = np.asarray(xdata, float)
        places = rows[:, 2].astype(int)
        scaling, theta = values[: len(values) - n_physical], values[len(values) - n_physical :]
        if not (per_angle and len(scaling) == 2 * n_phi):
            scaling = np.repeat(values[:2], n_phi)
            theta = values[2:]
        g1 = model.compute_g1_batch(theta, rows[:, 0], rows[:, 1], phi[places], q, _GAP, None)
        found: npt.NDArray[Any] = scaling[n_phi:][places] + scaling[:n_phi][places] * g1**2
        return found

    return function


def get_or_create_model(
    analysis_mode: str,
    phi_angles: npt.ArrayLike,
    q: float,
    per_angle_scaling: bool = True,
    config: dict[str, Any] | None = None,
    enable_jit: bool = True,
) -> tuple[CombinedModel, ModelFunction, bool]:
    """Return a model and its function of points, made once.

    Parameters
    ----------
    analysis_mode : {'static', 'static_isotropic', 'laminar_flow'}
        The mode.
    phi_angles : array
        Degrees.
    q : float
        Wave vector.
    per_angle_scaling : bool, default True
        One contrast and offset an angle.
    config : dict, optional
        Accepted for scripts of the original.
    enable_jit : bool, default True
        Accepted for scripts of the original: nothing is compiled.

    Returns
    -------
    (CombinedModel, callable, bool)
        The last says whether it was made before.
    """
    if analysis_mode not in ("static_isotropic", "static", "laminar_flow"):
        raise ValueError(
            f"Invalid analysis_mode: {analysis_mode!r}; expected 'static_isotropic', 'static' or "
            "'laminar_flow'"
        )
    if np.size(phi_angles) == 0:
        raise ValueError("phi_angles cannot be empty")
    if q <= 0:
        raise ValueError(f"q must be positive, got {q}")
    mode = "static_isotropic" if analysis_mode == "static" else analysis_mode
    key = _make_cache_key(mode, phi_angles, q, per_angle_scaling)
    found = _model_cache.get(key)
    if found is not None:
        _cache_stats["hits"] += 1
        found.n_hits += 1
        return found.model, found.model_func, True
    _cache_stats["misses"] += 1
    model = CombinedModel(mode)
    function = _model_function(
        model, np.unique(np.asarray(phi_angles)), float(q), per_angle_scaling
    )
    while len(_model_cache) >= _CACHE_MAX_SIZE:
        _model_cache.popitem(last=False)
    _model_cache[key] = CachedModel(model, function)
    return model, function, False


def clear_model_cache() -> int:
    """Forget all models.

    Returns
    -------
    int
        How many there were.
    """
    n_cleared = len(_model_cache)
    _model_cache.clear()
    return n_cleared


def get_cache_stats() -> dict[str, int]:
    """Return how often models were found.

    Returns
    -------
    dict
        ``hits``, ``misses`` and ``size``.
    """
    return {**_cache_stats, "size": len(_model_cache)}


@dataclass
class AdapterConfig:
    """Options of the original's adapter.

    Parameters
    ----------
    enable_cache, enable_jit, enable_recovery, enable_stability : bool, default True
        Accepted for scripts of the original.
    goal, workflow : str
        Accepted for scripts of the original: results do not depend on how data are read.
    """

    enable_cache: bool = True
    enable_jit: bool = True
    enable_recovery: bool = True
    enable_stability: bool = True
    goal: str = "quality"
    workflow: str = "auto"


class NLSQAdapter(NLSQAdapterBase):
    """The same fits as :class:`tessera.xpcs.NLSQWrapper`, under the original's other name.

    Parameters
    ----------
    config : AdapterConfig, optional
        Options.
    """

    def __init__(self, config: AdapterConfig | None = None) -> None:
        self.config = config or AdapterConfig()
        self._wrapper = NLSQWrapper()

    def fit(self, *args: Any, **kwargs: Any) -> Result:
        """Fit; see :meth:`tessera.xpcs.NLSQWrapper.fit`.

        Parameters
        ----------
        *args, **kwargs
            As there.

        Returns
        -------
        Result
            As there.
        """
        kwargs.pop("anti_degeneracy_controller", None)
        if not kwargs.get("per_angle_scaling", True):
            raise ValueError("per_angle_scaling=False is removed from the original's adapter")
        return self._wrapper.fit(*args, **kwargs)

    def is_available(self) -> bool:
        """Return True.

        Returns
        -------
        bool
            True.
        """
        return True

    @property
    def workflow_available(self) -> bool:
        """False: there is nothing to choose."""
        return False


def get_adapter(config: AdapterConfig | None = None) -> NLSQAdapter:
    """Make an adapter.

    Parameters
    ----------
    config : AdapterConfig, optional
        Options.

    Returns
    -------
    NLSQAdapter
        The adapter.
    """
    return NLSQAdapter(config)


def is_adapter_available() -> bool:
    """Return True.

    Returns
    -------
    bool
        True.
    """
    return True

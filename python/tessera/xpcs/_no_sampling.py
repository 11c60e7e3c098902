"""Names of the original's samplers, which say that they are not here yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

REASON = (
    "sampling is not part of this version: posterior samples need homodyne itself; "
    "fit_nlsq_jax(...) gives 95 % intervals, of the profile where the valley is curved, and "
    "uncertainty='block_bootstrap' those of resampled data"
)


class SamplingError(NotImplementedError):
    """What was asked for needs a sampler, and there is none here."""


def no_sampling(name: str, module: str) -> Callable[..., NoReturn]:
    """Return a function of a name that raises when it is called."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise SamplingError(f"{name}: {REASON}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    refuse.__doc__ = f"""Raise: {name} of the original needs a sampler, and there is none here.

    Parameters
    ----------
    *args, **kwargs
        As in the original.

    Returns
    -------
    NoReturn
        It always raises :class:`NotImplementedError`.
    """
    return refuse

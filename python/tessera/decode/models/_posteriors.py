"""Posteriors summed over some of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tessera.decode.results import Results


def sum_over_position(results: Any) -> Any:
    """Return the posterior of the states, (time, state)."""
    if isinstance(results, Results):
        states = results.coords["state"]
        posterior = np.atleast_2d(results.acausal_posterior)
        return np.stack(
            [np.nansum(posterior[:, states == state], axis=1) for state in results.states], axis=1
        )
    posterior = results.acausal_posterior.unstack("state_bins")
    return posterior.sum([dim for dim in posterior.dims if str(dim).endswith("position")])


def conditional_posterior(results: Any, states: Sequence[str]) -> Any:
    """Return the posterior of position, given one of these states."""
    if isinstance(results, Results):
        of_bin = results.coords["state"]
        posterior = np.atleast_2d(results.acausal_posterior)
        total = sum(posterior[:, of_bin == state] for state in states)
        return total / np.nansum(total, axis=1, keepdims=True)
    total = sum(results.acausal_posterior.sel(state=state) for state in states)
    if "state_bins" in total.dims:
        total = total.unstack("state_bins")
    axes = [dim for dim in total.dims if str(dim).endswith("position")]
    return total / total.sum(axes)


class MovingMixin:
    """Models with states in which the represented position moves by itself."""

    _moving: ClassVar[tuple[str, ...]]

    @classmethod
    def get_conditional_non_local_posterior(cls, results: Any) -> Any:
        """Return the posterior of position, given that the state is one of the moving ones."""
        return conditional_posterior(results, cls._moving)


class StatesMixin:
    """Models whose states share the bins."""

    @staticmethod
    def get_posterior(results: Any) -> Any:
        """Return the posterior summed over position, (time, state)."""
        return sum_over_position(results)

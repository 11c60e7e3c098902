"""Posteriors summed over some of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tessera.decode.exceptions import ValidationError
from tessera.decode.results import Results

if TYPE_CHECKING:
    import xarray as xr

    from tessera.decode._types import ResultsLike


def sum_over_position(results: ResultsLike) -> Any:
    """Return the posterior of the states, (time, state)."""
    if isinstance(results, Results):
        states = results.coords["state"]
        posterior = np.atleast_2d(results.acausal_posterior)
        return np.stack(
            [np.nansum(posterior[:, states == state], axis=1) for state in results.states], axis=1
        )
    posterior = results.acausal_posterior.unstack("state_bins")
    return posterior.sum([dim for dim in posterior.dims if str(dim).endswith("position")])


def _named(results: Any, states: Sequence[str], n_state: int) -> Sequence[str]:
    """Return what the last states of a ready-made model are called in these results."""
    found = [str(name) for name in np.atleast_1d(np.asarray(results["states"]))]
    if set(states) <= set(found):
        return states
    if len(found) != n_state:
        raise ValidationError(
            f"results: expected the {n_state} states of this model, of which the last are "
            f"{', '.join(states)}, got {', '.join(found)}"
        )
    return found[-len(states) :]


def conditional_posterior(results: ResultsLike, states: Sequence[str]) -> Any:
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

    _moving: ClassVar[tuple[str, ...]]  # the last ones, as they are called unless told otherwise
    _n_state: ClassVar[int]

    @classmethod
    def get_conditional_non_local_posterior(cls, results: ResultsLike) -> xr.DataArray | Any:
        """Return the posterior of position, given that the state is one of the moving ones.

        Parameters
        ----------
        results : xarray.Dataset or Results
            Of this class; its states may have names of their own.

        Returns
        -------
        xarray.DataArray or ndarray, shape (n_time, n_position_bins)
            Sums to 1 at every time; NaN where no such state is possible.
        """
        return conditional_posterior(results, _named(results, cls._moving, cls._n_state))


class StatesMixin:
    """Models whose states share the bins."""

    @staticmethod
    def get_posterior(results: ResultsLike) -> xr.DataArray | Any:
        """Return the posterior summed over position.

        Parameters
        ----------
        results : xarray.Dataset or Results
            Of this class.

        Returns
        -------
        xarray.DataArray or ndarray, shape (n_time, n_states)
            Probability of every state.
        """
        return sum_over_position(results)

"""Where a state begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._data import Array, Floats
    from tessera.decode.environment import Environment
    from tessera.decode.observation_models import ObservationModel

__all__ = ["UniformInitialConditions", "estimate_initial_conditions"]


@dataclass
class UniformInitialConditions:
    """All interior bins of the state are equally likely.

    Examples
    --------
    >>> import tessera.decode as td
    >>> track = td.Environment(place_bin_size=1.0, position_range=[(0.0, 4.0)]).fit_place_grid()
    >>> td.UniformInitialConditions().make_initial_conditions(td.ObservationModel(), [track])
    array([0.25, 0.25, 0.25, 0.25])
    """

    def make_initial_conditions(
        self, observation_model: ObservationModel, environments: Sequence[Environment]
    ) -> Floats:
        """Return the probability of every bin of a state.

        Parameters
        ----------
        observation_model : ObservationModel
            Of the state: names its environment; a local or silent state has one bin.
        environments : sequence of Environment
            The environments of the model, with bins.

        Returns
        -------
        ndarray, shape (n_bins,)
            Sums to 1; 0 at non-interior bins.
        """
        import numpy as np

        from tessera.decode.environment import find_environment

        if observation_model.is_local or observation_model.is_no_spike:
            return np.ones(1)
        environment = find_environment(environments, observation_model.environment_name)
        if environment.is_track_interior_ is None:  # nothing is known of where it can be
            return np.ones(1)
        interior = environment.is_track_interior_.ravel().astype(np.float64)
        uniform: Floats = interior / interior.sum()
        return uniform


def estimate_initial_conditions(acausal_posterior: Array) -> Array:
    """Return the first row of a posterior, which is what expectation maximisation sets.

    Parameters
    ----------
    acausal_posterior : array, shape (n_time, n_bins)
        The smoothed posterior.

    Returns
    -------
    ndarray, shape (n_bins,)
        Where the states begin.
    """
    first: Array = acausal_posterior[0]
    return first

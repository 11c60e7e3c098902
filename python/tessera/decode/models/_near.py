"""What models add to likelihoods near the animal, as functions for those who look inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Floats
from tessera.decode.models._state_space import StateSpace

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike


class NearMixin(StateSpace):
    """The kernel of local states with many bins, and the penalty of non-local ones."""

    def _animal(
        self, time: ArrayLike, position_time: ArrayLike, position: ArrayLike, environment: Any
    ) -> Floats:
        from tessera.decode.likelihoods.common import get_position_at_time

        return get_position_at_time(position_time, position, time, environment)

    def _compute_local_position_kernel(
        self, time: ArrayLike, position_time: ArrayLike, position: ArrayLike, environment: Any
    ) -> Floats:
        """Return (n_time, n_interior): its exponentials sum to n_interior in every row."""
        assert self.local_position_std is not None
        animal = self._animal(time, position_time, position, environment)
        interior = np.flatnonzero(np.asarray(environment.is_track_interior_).ravel())
        lost = np.isnan(animal).any(axis=1)
        safe = np.where(np.isnan(animal), 0.0, animal)
        with np.errstate(divide="ignore"):
            if self.local_position_std == 0:
                at = np.asarray(environment.get_bin_ind(safe))[:, np.newaxis] == interior
                kernel = np.log(at.astype(np.float64))
            else:
                far = np.asarray(environment.get_distances_to_interior_bins(safe))
                kernel = -0.5 * (far / self.local_position_std) ** 2
                kernel = np.where(np.isfinite(far), kernel, -np.inf)
            total = np.logaddexp.reduce(kernel, axis=1)[:, np.newaxis]
        scaled: Floats = kernel - np.where(np.isfinite(total), total, 0.0) + np.log(len(interior))
        scaled[lost] = 0.0
        return scaled

    def _compute_non_local_position_penalty(
        self, time: ArrayLike, position_time: ArrayLike, position: ArrayLike, environment: Any
    ) -> Floats:
        """Return (n_time, n_interior): what is added to the log likelihood, 0 or less."""
        animal = self._animal(time, position_time, position, environment)
        far = np.asarray(environment.get_distances_to_interior_bins(animal))
        near = np.exp(-0.5 * (far / self.non_local_penalty_std) ** 2)
        penalty: Floats = -self.non_local_position_penalty * np.where(np.isfinite(far), near, 0.0)
        return penalty

"""How position moves from one time bin to the next, within a state or between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tessera import _core
from tessera.decode import _data
from tessera.decode._data import Floats
from tessera.decode._options import number, numbers
from tessera.decode._session import Session
from tessera.decode.environment import Environment, find_environment
from tessera.decode.exceptions import ShapeValidationError, ValidationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as NumpyArrayLike

    from tessera.decode._types import ArrayLike

__all__ = [
    "Discrete",
    "EmpiricalMovement",
    "Identity",
    "RandomWalk",
    "RandomWalkDirection1",
    "RandomWalkDirection2",
    "Uniform",
    "estimate_movement_var",
]

# kind, use_manifold, direction, variance, mean, matrix: what the library takes
Spec: TypeAlias = tuple[str, bool, int, float | None, Floats | None, Floats | None]

_DIRECTIONS = {None: 0, "inward": 1, "outward": 2}


class Movement:
    """Base of all movements; one of one's own needs :meth:`spec`."""

    environment_name: str = ""

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        raise NotImplementedError

    def check(self, where: str) -> None:
        """Refuse parameters no movement has.

        Parameters
        ----------
        where : str
            What the user calls this movement, for the message.
        """

    def pair(self, environments: Sequence[Environment]) -> tuple[Environment, Environment]:
        """Return where the movement starts and ends.

        Parameters
        ----------
        environments : sequence of Environment
            The environments of the model.

        Returns
        -------
        origin, destination : Environment
            The same one unless the movement names two.
        """
        environment = find_environment(environments, self.environment_name)
        return environment, environment

    def make_state_transition(
        self, environments: Sequence[Environment], *args: Any, **kwargs: Any
    ) -> Floats:
        """Return the matrix over all bins, from row to column.

        Parameters
        ----------
        environments : sequence of Environment
            The environments of the model, with bins.
        *args, **kwargs
            What other movements need.

        Returns
        -------
        ndarray, shape (n_bins, n_bins)
            Rows sum to 1; they are 0 at non-interior bins.
        """
        del args, kwargs
        origin, destination = self.pair(environments)
        for place in (origin, destination):
            if getattr(place, "place_bin_centers_", None) is None:
                raise ValidationError(
                    f"environment {place.environment_name!r} must have defined place bin centers",
                    hint="call its fit_place_grid(position) first",
                )
        with Session() as context:
            return np.asarray(
                _core.decode_movement_matrix(
                    context, self.spec(origin), origin._handle, destination._handle
                )
            )


def _axes(environment: Environment) -> int:
    return len(environment.edges_)


@dataclass
class RandomWalk(Movement):
    """A step to a near bin.

    Parameters
    ----------
    environment_name : str
        Where.
    movement_var : float or array, shape (n_dim, n_dim)
        Variance of a step, cm^2 per time bin.
    movement_mean : float or sequence of float
        Mean of a step, cm.
    use_manifold_distance : bool
        Distances along the interior instead of straight ones.
    direction : {None, 'inward', 'outward'}
        With use_manifold_distance: only steps towards the most central bin, or away from it.

    Examples
    --------
    >>> import tessera.decode as td
    >>> track = td.Environment(place_bin_size=1.0, position_range=[(0.0, 5.0)]).fit_place_grid()
    >>> td.RandomWalk(movement_var=1.0).make_state_transition([track]).round(2)[2]
    array([0.05, 0.24, 0.4 , 0.24, 0.05])
    """

    environment_name: str = ""
    movement_var: float | NumpyArrayLike = field(default_factory=_core.decode_movement_variance)
    movement_mean: float | Sequence[float] = 0.0
    use_manifold_distance: bool = False
    direction: str | None = None

    def check(self, where: str) -> None:
        """Refuse parameters no random walk has.

        Parameters
        ----------
        where : str
            What the user calls this movement, for the message.
        """
        if np.size(self.movement_var) == 1:
            number(np.asarray(self.movement_var).item(), f"{where}: movement_var", 0, above=True)
        elif not np.isfinite(_data.reals(self.movement_var, f"{where}: movement_var")).all():
            raise ValidationError(f"{where}: movement_var has values that are not finite")
        numbers(self.movement_mean, f"{where}: movement_mean", -np.inf)
        if self.direction not in _DIRECTIONS:
            raise ValidationError(
                f"{where}: direction must be 'inward' or 'outward', or None; got {self.direction!r}"
            )

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        self.check("RandomWalk")
        mean = np.broadcast_to(np.asarray(self.movement_mean, np.float64), (_axes(environment),))
        if np.size(self.movement_var) > 1:
            return ("matrix", False, 0, None, None, self._correlated(environment, mean))
        return (
            "random_walk",
            bool(self.use_manifold_distance),
            _DIRECTIONS[self.direction],
            float(np.asarray(self.movement_var).squeeze()),
            np.ascontiguousarray(mean),
            None,
        )

    def _correlated(self, environment: Environment, mean: Floats) -> Floats:
        """Return the matrix of steps with a covariance matrix, on a grid."""
        covariance = _data.reals(self.movement_var, "movement_var")
        n_axis = _axes(environment)
        if covariance.shape == (n_axis,):
            covariance = np.diag(covariance)
        if covariance.shape != (n_axis, n_axis) or self.use_manifold_distance:
            raise ShapeValidationError(
                f"movement_var: expected a number or a matrix ({n_axis}, {n_axis}) over straight "
                f"distances, got shape {covariance.shape}"
            )
        interior = environment.is_track_interior_.ravel()
        centers = environment.place_bin_centers_
        step = centers[np.newaxis] - centers[:, np.newaxis] - mean
        exponent = np.einsum("abi,ij,abj->ab", step, np.linalg.inv(covariance), step)
        matrix = np.exp(-0.5 * exponent) * interior * interior[:, np.newaxis]
        total = matrix.sum(axis=1, keepdims=True)
        normal: Floats = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
        return normal


@dataclass
class Uniform(Movement):
    """A jump to any interior bin.

    Parameters
    ----------
    environment_name : str
        Where from.
    environment2_name : str, optional
        Where to; default: the same.

    Examples
    --------
    >>> import tessera.decode as td
    >>> track = td.Environment(place_bin_size=1.0, position_range=[(0.0, 4.0)]).fit_place_grid()
    >>> td.Uniform().make_state_transition([track])[0]
    array([0.25, 0.25, 0.25, 0.25])
    """

    environment_name: str = ""
    environment2_name: str | None = None

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        del environment
        return ("uniform", False, 0, None, None, None)

    def pair(self, environments: Sequence[Environment]) -> tuple[Environment, Environment]:
        """Return where the movement starts and ends.

        Parameters
        ----------
        environments : sequence of Environment
            The environments of the model.

        Returns
        -------
        origin, destination : Environment
            The same one unless the movement names two.
        """
        origin = find_environment(environments, self.environment_name)
        if self.environment2_name is None:
            return origin, origin
        return origin, find_environment(environments, self.environment2_name)


@dataclass
class Identity(Movement):
    """No movement: position stays in its bin.

    Parameters
    ----------
    environment_name : str, default ''
        Where.

    Examples
    --------
    >>> import tessera.decode as td
    >>> track = td.Environment(place_bin_size=1.0, position_range=[(0.0, 3.0)]).fit_place_grid()
    >>> td.Identity().make_state_transition([track])[1]
    array([0., 1., 0.])
    """

    environment_name: str = ""

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        del environment
        return ("identity", False, 0, None, None, None)


@dataclass
class RandomWalkDirection1(Movement):
    """A random walk that never goes back to a lower bin.

    Parameters
    ----------
    environment_name : str, default ''
        Where.
    movement_var : float
        Variance of a step, cm^2 per time bin.
    """

    environment_name: str = ""
    movement_var: float = field(default_factory=_core.decode_movement_variance)

    def check(self, where: str) -> None:
        """Refuse a variance no random walk has.

        Parameters
        ----------
        where : str
            What the user calls this movement, for the message.
        """
        number(self.movement_var, f"{where}: movement_var", 0, above=True)

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        del environment
        return ("random_walk_direction1", False, 0, float(self.movement_var), None, None)


@dataclass
class RandomWalkDirection2(Movement):
    """A random walk that never goes on to a higher bin.

    Parameters
    ----------
    environment_name : str, default ''
        Where.
    movement_var : float
        Variance of a step, cm^2 per time bin.
    """

    environment_name: str = ""
    movement_var: float = field(default_factory=_core.decode_movement_variance)

    def check(self, where: str) -> None:
        """Refuse a variance no random walk has.

        Parameters
        ----------
        where : str
            What the user calls this movement, for the message.
        """
        number(self.movement_var, f"{where}: movement_var", 0, above=True)

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        del environment
        return ("random_walk_direction2", False, 0, float(self.movement_var), None, None)


@dataclass
class EmpiricalMovement(Movement):
    """Steps the animal made, counted.

    Parameters
    ----------
    environment_name : str
        Where.
    encoding_group : str or int
        Which samples (``encoding_group_labels``).
    speedup : int
        How many steps in one time bin.
    is_time_reversed : bool
        Count steps backwards.
    """

    environment_name: str = ""
    encoding_group: str | int = 0
    speedup: int = 1
    is_time_reversed: bool = False

    def check(self, where: str) -> None:
        """Refuse a number of steps that is none.

        Parameters
        ----------
        where : str
            What the user calls this movement, for the message.
        """
        number(self.speedup, f"{where}: speedup", 1)

    def spec(self, environment: Environment) -> Spec:
        """Refuse: there is nothing to take before the movement is counted.

        Parameters
        ----------
        environment : Environment
            Named in the message.

        Returns
        -------
        tuple
            Never.

        Raises
        ------
        ValidationError
            Always; fit() counts.
        """
        raise ValidationError(
            f"EmpiricalMovement in environment {environment.environment_name!r} is counted by fit()"
        )

    def make_state_transition(
        self,
        environments: Sequence[Environment],
        position: ArrayLike | None = None,
        is_training: ArrayLike | None = None,
        encoding_group_labels: ArrayLike | None = None,
        environment_labels: ArrayLike | None = None,
        **kwargs: Any,
    ) -> Floats:
        """Count the steps of a position series.

        Parameters
        ----------
        environments : sequence of Environment
            The environments of the model, with bins.
        position : array, shape (n_sample, n_dim)
            Positions.
        is_training : array of bool, shape (n_sample,), optional
            Samples that count; default: all.
        encoding_group_labels, environment_labels : array, shape (n_sample,), optional
            Only samples of this group and environment count.
        **kwargs
            What other movements need.

        Returns
        -------
        ndarray, shape (n_bins, n_bins)
            From row to column.
        """
        del kwargs
        environment = find_environment(environments, self.environment_name)
        points = _data.position(position)
        n = len(points)
        keep = _data.mask(is_training, "is_training")
        _data.same_length(keep, n, "is_training", "position")
        kept = np.ones(n, dtype=bool) if keep is None else keep.copy()
        groups = _data.labels(encoding_group_labels, n, "encoding_group_labels", "position")
        if groups is not None:
            kept &= groups == self.encoding_group
        places = _data.labels(environment_labels, n, "environment_labels", "position")
        if places is not None:
            kept &= places == self.environment_name
        with Session() as context:
            return np.asarray(
                _core.decode_empirical_movement(
                    context,
                    environment._handle,
                    points,
                    is_training=kept,
                    speedup=int(self.speedup),
                    time_reversed=bool(self.is_time_reversed),
                )
            )


@dataclass
class Discrete(Movement):
    """Into or out of a state of one bin."""

    def spec(self, environment: Environment) -> Spec:
        """Return what the library takes for this movement.

        Parameters
        ----------
        environment : Environment
            Where it happens, with bins.

        Returns
        -------
        tuple
            Kind, numbers and matrix.
        """
        del environment
        return ("discrete", False, 0, None, None, None)

    def make_state_transition(self, *args: Any, **kwargs: Any) -> Floats:
        """Return the only entry there is.

        Parameters
        ----------
        *args, **kwargs
            What other movements need.

        Returns
        -------
        ndarray, shape (1, 1)
            1.
        """
        del args, kwargs
        return np.ones((1, 1))


def estimate_movement_var(position: ArrayLike, sampling_frequency: float = 1) -> Floats:
    """Estimate the variance of a step per coordinate.

    Parameters
    ----------
    position : array, shape (n_sample, n_dim)
        Positions.
    sampling_frequency : float
        Samples per second; the result is per second then.

    Returns
    -------
    ndarray, shape (n_dim, n_dim)
        Covariance of the steps.
    """
    points = _data.position(position)
    points = points[~np.isnan(points).any(axis=1)]
    steps = np.diff(points, axis=0)
    return np.atleast_2d(np.cov(steps, rowvar=False)) * sampling_frequency

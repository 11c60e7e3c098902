"""Goodness of fit of clusterless models: rescaled intervals and rescaled marks.

Where the intensities are right, intervals between spikes and features of their waveforms become
uniform (Yousefi, Amidi, Nazari and Eden 2020, Neural Computation 32). Tests of that which the
original announces and has not written are here by name, and say what to use instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.exceptions import ShapeValidationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "discrepancy_test",
    "discrepency_test",
    "distance_to_boundary_test",
    "empirical_cdf",
    "interval_rescaling_transform",
    "ks_test",
    "mark_conditional_intensity_transform",
    "minimal_spanning_tree_test",
    "pearson_chi_squared_test",
    "ripley_stats_test",
    "rippley_stats_test",
    "rosenblatt_transform",
]


def interval_rescaling_transform(
    time: ArrayLike,
    electrode_spike_times: ArrayLike,
    electrode_spike_waveform_features: ArrayLike,
    ground_process_intensity: ArrayLike,
    joint_mark_intensity: ArrayLike,
    permute_waveform_features: bool = False,
) -> tuple[Floats, Floats]:
    """Make intervals and marks of an electrode uniform, if the intensities are right.

    Parameters
    ----------
    time : array, shape (n_time,)
        Of the ground intensity, seconds.
    electrode_spike_times : array, shape (n_spikes,)
        Seconds.
    electrode_spike_waveform_features : array, shape (n_spikes, n_features)
        One row per spike.
    ground_process_intensity : array, shape (n_time,)
        Expected spikes per sample of time, whatever their marks.
    joint_mark_intensity : array, shape (n_spikes, n_features)
        At the spikes, one column per feature.
    permute_waveform_features : bool
        Take the features in a random order.

    Returns
    -------
    uniform_rescaled_ground_process_isi : ndarray, shape (n_spikes,)
        Intervals; the first one begins with time.
    uniform_conditional_mark_intensity : ndarray, shape (n_spikes, n_features)
        Marks: the joint intensity over the ground intensity at the spike, as ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.decode.model_checking.clusterless import interval_rescaling_transform
    >>> isi, marks = interval_rescaling_transform(
    ...     np.arange(10.0), [2.0, 6.0], np.zeros((2, 1)), np.full(10, 0.5), [[1.0], [3.0]]
    ... )
    >>> isi.round(3), marks.ravel()
    (array([0.632, 0.865]), array([0.5, 1. ]))
    """
    times, spikes = _data.vector(time, "time"), _data.vector(electrode_spike_times, "spike times")
    ground = _data.vector(ground_process_intensity, "ground_process_intensity")
    joint = _data.position(joint_mark_intensity, "joint_mark_intensity")
    if len(ground) != len(times):
        raise ShapeValidationError(
            f"ground_process_intensity has {len(ground)} values, time has {len(times)}"
        )
    for name, n in (
        ("joint_mark_intensity", len(joint)),
        ("electrode_spike_waveform_features", len(np.asarray(electrode_spike_waveform_features))),
    ):
        if n != len(spikes):
            raise ShapeValidationError(
                f"{name} has {n} rows, electrode_spike_times has {len(spikes)}"
            )
    passed = np.concatenate(([0.0], np.cumsum((ground[1:] + ground[:-1]) / 2)))
    intervals = np.diff(np.interp(spikes, times, passed), prepend=0.0)
    conditional = joint / np.interp(spikes, times, ground)[:, np.newaxis]
    if permute_waveform_features:
        # NumPy's global state, so that np.random.seed() rules the order as it does there.
        conditional = conditional[:, np.random.permutation(joint.shape[1])]
    return -np.expm1(-intervals), rosenblatt_transform(conditional)


def empirical_cdf(sample: ArrayLike) -> tuple[Array, Floats]:
    """Return the distribution function of a sample.

    Parameters
    ----------
    sample : array, shape (n_samples,)
        Numbers.

    Returns
    -------
    x : ndarray, shape (n_unique,)
        The values, increasing.
    cdf : ndarray, shape (n_unique,)
        Share of the sample up to each.

    Examples
    --------
    >>> from tessera.decode.model_checking.clusterless import empirical_cdf
    >>> empirical_cdf([3, 1, 2, 2])
    (array([1, 2, 3]), array([0.25, 0.75, 1.  ]))
    """
    values = np.asarray(sample)
    x, counts = np.unique(values, return_counts=True)
    return x, np.cumsum(counts) / values.size


def rosenblatt_transform(samples: ArrayLike) -> Floats:
    """Replace values by their ranks, column by column.

    Parameters
    ----------
    samples : array, shape (n_samples, n_dims)
        Columns are taken to be independent of each other.

    Returns
    -------
    ndarray, shape (n_samples, n_dims)
        Shares of the column up to each value.

    Examples
    --------
    >>> from tessera.decode.model_checking.clusterless import rosenblatt_transform
    >>> rosenblatt_transform([[3.0], [1.0], [2.0], [9.0]]).ravel()
    array([0.75, 0.25, 0.5 , 1.  ])
    """
    values = np.asarray(samples, dtype=np.float64)
    columns = [np.interp(column, *empirical_cdf(column)) for column in values.T]
    return np.stack(columns, axis=1) if columns else values.copy()


def _missing(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"{name}() is not implemented, nor is it in the original; {instead}")


def mark_conditional_intensity_transform(spike_waveform_features: ArrayLike) -> Floats:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    spike_waveform_features : array, shape (n_spikes, n_features)
        One row per spike.

    Returns
    -------
    ndarray
        Never.
    """
    del spike_waveform_features
    _missing(
        "mark_conditional_intensity_transform",
        "interval_rescaling_transform() rescales marks by their intensities",
    )


def pearson_chi_squared_test(
    observed_counts: ArrayLike, expected_counts: ArrayLike, bins: ArrayLike | None = None
) -> tuple[float, float]:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    observed_counts, expected_counts : array, shape (n_bins,)
        Spikes.
    bins : array, shape (n_bins + 1,), optional
        Their edges.

    Returns
    -------
    tuple
        Never.
    """
    del observed_counts, expected_counts, bins
    _missing("pearson_chi_squared_test", "scipy.stats.chisquare(observed, expected) is that test")


def ks_test(rescaled_intervals: ArrayLike, distribution: str = "uniform") -> tuple[float, float]:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    rescaled_intervals : array, shape (n_intervals,)
        Rescaled.
    distribution : str
        What they should follow.

    Returns
    -------
    tuple
        Never.
    """
    del rescaled_intervals, distribution
    _missing("ks_test", "scipy.stats.kstest(rescaled_intervals, 'uniform') is that test")


def distance_to_boundary_test(
    spike_positions: ArrayLike,
    environment_boundaries: ArrayLike,
    test_statistic: str = "mean_distance",
) -> tuple[float, float]:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    spike_positions : array, shape (n_spikes, n_dim)
        Cm.
    environment_boundaries : array, shape (n_points, n_dim)
        Cm.
    test_statistic : str
        Which.

    Returns
    -------
    tuple
        Never.
    """
    del spike_positions, environment_boundaries, test_statistic
    _missing(
        "distance_to_boundary_test",
        "environment.get_track_boundary_points() gives the points to measure distances to",
    )


def discrepancy_test(
    observed_pattern: ArrayLike,
    simulated_patterns: ArrayLike,
    discrepancy_function: Callable[[Array, Array], float] | None = None,
) -> tuple[float, float]:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    observed_pattern : array
        Of the spikes.
    simulated_patterns : array
        Of the model.
    discrepancy_function : callable, optional
        Of two patterns.

    Returns
    -------
    tuple
        Never.
    """
    del observed_pattern, simulated_patterns, discrepancy_function
    _missing("discrepancy_test", "scipy.stats.monte_carlo_test is such a test")


def ripley_stats_test(
    spike_positions: ArrayLike,
    radii: ArrayLike,
    environment_area: float,
    edge_correction: str = "isotropic",
) -> tuple[Floats, Floats, Floats]:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    spike_positions : array, shape (n_spikes, 2)
        Cm.
    radii : array, shape (n_radii,)
        Cm.
    environment_area : float
        Square cm.
    edge_correction : str
        Which.

    Returns
    -------
    tuple
        Never.
    """
    del spike_positions, radii, environment_area, edge_correction
    _missing("ripley_stats_test", "astropy.stats.RipleysKEstimator has these statistics")


def minimal_spanning_tree_test(
    spike_positions: ArrayLike, n_simulations: int = 1000
) -> tuple[float, float, float]:
    """Not implemented: raises NotImplementedError, as the original does.

    Parameters
    ----------
    spike_positions : array, shape (n_spikes, n_dim)
        Cm.
    n_simulations : int
        How many.

    Returns
    -------
    tuple
        Never.
    """
    del spike_positions, n_simulations
    _missing(
        "minimal_spanning_tree_test", "scipy.sparse.csgraph.minimum_spanning_tree gives the tree"
    )


# Names of 0.6.9.
discrepency_test = discrepancy_test
rippley_stats_test = ripley_stats_test

"""Likelihoods of sorted units by Poisson regression; the functions of the original's module.

Called as the original is, with the edges of the bins, splines are patsy's, which has to be
installed; called without, they are the library's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats, Mask
from tessera.decode.likelihoods import _fitted, _sorted
from tessera.decode.likelihoods._fitted import FittedEncoding
from tessera.decode.likelihoods._spline import SplineDesign
from tessera.decode.likelihoods.common import (
    EPS,
    get_position_at_time,
    get_spikecount_per_time_bin,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "fit_poisson_regression",
    "fit_sorted_spikes_glm_encoding_model",
    "make_spline_design_matrix",
    "make_spline_predict_matrix",
    "predict_sorted_spikes_glm_log_likelihood",
]

_KNOTS = 2 * 12.5**0.5  # cm, of the original's functions
_PENALTY = 1e-3
_STEPS = 200  # of Newton's method, which needs about ten
_HALVINGS = 40
# What a likelihood at all bins is computed from.
_EVERYWHERE = ("place_fields", "no_spike_part_log_likelihood", "is_track_interior")


def make_spline_design_matrix(
    position: ArrayLike, place_bin_edges: ArrayLike, knot_spacing: float = _KNOTS
) -> Any:
    """Evaluate a basis of splines over places.

    Parameters
    ----------
    position : array, shape (n_time, n_dim)
        Where.
    place_bin_edges : array, shape (n_edges, n_dim)
        Between its least and its greatest, knots are laid.
    knot_spacing : float
        At most this far apart, in cm.

    Returns
    -------
    patsy.DesignMatrix, shape (n_time, n_basis)
        A constant, then natural cubic splines, centred; their products in more dimensions.
    """
    from patsy import dmatrix

    points, edges = _data.position(position), _data.position(place_bin_edges, "place_bin_edges")
    knots = []
    for where, ends in zip(points.T, edges.T, strict=False):
        n = int(np.ceil(np.ptp(ends) / knot_spacing))
        inner = np.linspace(ends.min(), ends.max(), n)[1:-1]
        knots.append(inner[(inner > where.min()) & (inner < where.max())])
    inner_knots = np.meshgrid(*knots, indexing="ij")
    terms = ", ".join(f"cr(x{i}, knots=inner_knots[{i}])" for i in range(points.shape[1]))
    data: dict[str, Any] = {f"x{i}": column for i, column in enumerate(points.T)}
    data["inner_knots"] = inner_knots
    return dmatrix(f'1 + te({terms}, constraints="center")', data)  # codespell:ignore te


def make_spline_predict_matrix(design_info: Any, position: ArrayLike) -> Floats:
    """Evaluate the same splines elsewhere.

    Parameters
    ----------
    design_info : patsy.DesignInfo
        Of what :func:`make_spline_design_matrix` returned, or the entry of a model.
    position : array, shape (n_points, n_dim)
        Where; NaN gives a row of NaN.

    Returns
    -------
    ndarray, shape (n_points, n_basis)
        The basis.
    """
    points = _data.position(position)
    lost: Mask = np.any(np.isnan(points), axis=1)
    known = np.where(lost[:, np.newaxis], 0.0, points)
    if isinstance(design_info, SplineDesign):
        matrix = design_info.matrix(known)
    else:
        from patsy import build_design_matrices

        data = {f"x{i}": column for i, column in enumerate(known.T)}
        matrix = np.array(build_design_matrices([design_info], data)[0])
    matrix[lost] = np.nan
    return matrix


def _objective(
    design: Floats, counts: Floats, weights: Floats, penalty: Floats, coefficients: Floats
) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        eta = design @ coefficients
        value = np.sum(weights * (np.exp(eta) - counts * eta)) / len(counts)
    value += np.sum(penalty * coefficients**2)
    return float(value) if np.isfinite(value) else np.inf


def fit_poisson_regression(
    design_matrix: ArrayLike,
    spikes: ArrayLike,
    weights: ArrayLike,
    l2_penalty: float = 1e-7,
) -> Floats:
    """Fit a Poisson regression by Newton's method.

    Parameters
    ----------
    design_matrix : array, shape (n_time, n_coefficients)
        The first column is the constant.
    spikes : array, shape (n_time,)
        Counts.
    weights : array, shape (n_time,)
        Of the times.
    l2_penalty : float, default 1e-7
        Of all coefficients but the first.

    Returns
    -------
    ndarray, shape (n_coefficients,)
        Where the mean log likelihood less the penalty is greatest.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.decode.likelihoods.sorted_spikes_glm import fit_poisson_regression
    >>> found = fit_poisson_regression(np.ones((4, 1)), [1, 2, 3, 2], np.ones(4))
    >>> np.exp(found).round(6)
    array([2.])
    """
    design = _data.position(design_matrix, "design_matrix")
    counts, each = _data.vector(spikes, "spikes"), _data.vector(weights, "weights")
    n = len(counts)
    penalty = np.full(design.shape[1], float(l2_penalty))
    penalty[0] = 0.0
    found = np.zeros(design.shape[1])
    found[0] = np.log(max(np.average(counts, weights=each), EPS))
    value = _objective(design, counts, each, penalty, found)
    for _ in range(_STEPS):
        rate = np.exp(design @ found)
        slope = design.T @ (each * (rate - counts)) / n + 2 * penalty * found
        bend = design.T @ (design * (each * rate)[:, np.newaxis]) / n
        bend[np.diag_indices_from(bend)] += 2 * penalty + EPS
        step = np.linalg.lstsq(bend, slope, rcond=None)[0]
        scale = 1.0
        for _ in range(_HALVINGS):
            lower = _objective(design, counts, each, penalty, found - scale * step)
            if lower <= value:
                break
            scale /= 2
        else:
            break
        found, gain, value = found - scale * step, value - lower, lower
        if gain <= EPS * max(1.0, abs(value)):
            break
    return found


@_fitted.takes_places_without_weights
def fit_sorted_spikes_glm_encoding_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    environment: Environment,
    place_bin_edges: ArrayLike | None = None,
    edges: Any = None,
    is_track_interior: ArrayLike | None = None,
    is_track_boundary: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    emission_knot_spacing: float | None = None,
    l2_penalty: float | None = None,
    disable_progress_bar: bool = False,
    sampling_frequency: float = 500.0,
    *,
    device: str | None = None,
) -> FittedEncoding | dict[str, Any]:
    """Fit place fields by Poisson regression.

    Parameters
    ----------
    position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.fit`.
    environment : Environment
        With bins.
    place_bin_edges : array, shape (n_edges, n_dim), optional
        As the original wants them: splines are patsy's, and their coefficients are entries.
        Default: the library's own splines.
    edges, is_track_interior, is_track_boundary, disable_progress_bar
        Accepted and not used: the environment knows its interior.
    weights : array, shape (n_sample,), optional
        Weight of every sample.
    emission_knot_spacing : float, optional
        Distance of the knots of the splines, cm.
    l2_penalty : float, optional
        Of their coefficients.
    sampling_frequency : float, default 500
        Of the positions, where they are that regular.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    dict
        ``predict_sorted_spikes_glm_log_likelihood(..., **model)`` works.
    """
    del edges, is_track_interior, is_track_boundary
    if place_bin_edges is None:
        params = {"emission_knot_spacing": emission_knot_spacing, "l2_penalty": l2_penalty}
        model = _fitted.fit(
            "sorted_spikes_glm",
            position_time,
            position,
            spike_times,
            None,
            environment,
            weights,
            params,
            device,
        )
        return FittedEncoding(model, disable_progress_bar=disable_progress_bar)
    points, times = _data.position(position), _data.vector(position_time, "position_time")
    each = np.ones(len(points)) if weights is None else _data.vector(weights, "weights")
    spacing = _KNOTS if emission_knot_spacing is None else emission_knot_spacing
    design = make_spline_design_matrix(points, place_bin_edges, spacing)
    inside = np.asarray(environment.is_track_interior_).ravel()
    basis = make_spline_predict_matrix(
        design.design_info, np.asarray(environment.place_bin_centers_)[inside]
    )
    penalty = _PENALTY if l2_penalty is None else l2_penalty
    rows = _rows(times, sampling_frequency)
    coefficients = np.stack(
        [
            fit_poisson_regression(
                np.asarray(design), get_spikecount_per_time_bin(spikes, rows), each, penalty
            )
            for spikes in spike_times
        ]
    )
    fields = np.zeros((len(coefficients), len(inside)))
    fields[:, inside] = np.maximum(np.exp(coefficients @ basis.T), EPS)
    return {
        "environment": environment,
        "coefficients": coefficients,
        "emission_design_info": design.design_info,
        "place_fields": fields,
        "no_spike_part_log_likelihood": fields.sum(axis=0),
        "is_track_interior": inside,
        "disable_progress_bar": disable_progress_bar,
    }


def _rows(times: Floats, sampling_frequency: float) -> Floats:
    """Return the bins spikes are counted in: one per position, which the original's may not be."""
    n = int(np.ceil((times[-1] - times[0]) * sampling_frequency))
    return times[0] + np.arange(n) / sampling_frequency if n == len(times) else times


def predict_sorted_spikes_glm_log_likelihood(
    time: ArrayLike,
    position_time: ArrayLike | None,
    position: ArrayLike | None,
    spike_times: Sequence[ArrayLike],
    environment: Environment | None = None,
    coefficients: ArrayLike | None = None,
    emission_design_info: Any = None,
    place_fields: ArrayLike | None = None,
    no_spike_part_log_likelihood: ArrayLike | None = None,
    is_track_interior: ArrayLike | None = None,
    disable_progress_bar: bool = False,
    is_local: bool = False,
    *,
    encoding_model: Mapping[str, Any] | None = None,
    device: str | None = None,
    **entries: Any,
) -> Array:
    """Compute how well every place explains the spikes of every time bin.

    Parameters
    ----------
    time, position_time, position, spike_times
        As in :meth:`tessera.decode.SortedSpikesDetector.predict`.
    environment, coefficients, emission_design_info, place_fields, no_spike_part_log_likelihood
        Entries of :func:`fit_sorted_spikes_glm_encoding_model`.
    is_track_interior : array of bool
        The same.
    disable_progress_bar : bool, default False
        Accepted and not used.
    is_local : bool, default False
        At the animal's own position instead; one column.
    encoding_model : dict, optional
        All entries at once.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **entries
        Others, where the model is given as ``**model``.

    Returns
    -------
    ndarray, shape (n_time, n_interior)
        Log likelihood of every interior bin.
    """
    del disable_progress_bar
    given = {
        **entries,
        "coefficients": coefficients,
        "emission_design_info": emission_design_info,
        "place_fields": place_fields,
        "no_spike_part_log_likelihood": no_spike_part_log_likelihood,
        "is_track_interior": is_track_interior,
    }
    model = _fitted.model_of(encoding_model, given)
    if model is not None:
        where = (time, position_time, position, spike_times, None)
        return _fitted.predict(model, *where, is_local, device)
    local, everywhere = ("coefficients", "emission_design_info"), _EVERYWHERE
    _fitted.complete(
        {name: given[name] for name in (local if is_local else everywhere)},
        "predict_sorted_spikes_glm_log_likelihood",
    )
    if not is_local:
        return _sorted.non_local(time, spike_times, *(given[name] for name in everywhere))
    if environment is None and encoding_model is not None:
        environment = encoding_model.get("environment")
    here = get_position_at_time(np.asarray(position_time), np.asarray(position), time, environment)
    basis = make_spline_predict_matrix(given["emission_design_info"], here)
    found = _data.position(given["coefficients"], "coefficients")
    rates = np.maximum(np.exp(found @ basis.T), EPS)
    return _sorted.local(time, spike_times, lambda unit: rates[unit], len(rates))

"""Transport and shear rates of any shape, and whether the power law does as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tessera import _core
from tessera._lib import Session, warn
from tessera._progress import ProgressLike, callback
from tessera._session import Lease
from tessera._tables import takes_options
from tessera.xpcs._arguments import Floats, ParamsLike, PathLike
from tessera.xpcs._fit import _Request

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._data import Data
    from tessera.xpcs._keywords import FitKeywords

__all__ = ["RateCurve", "RatesResult", "fit_rates"]

_SHAPES = ("smooth", "monotone")
_SPACINGS = ("auto", "log", "linear")


class RateCurve:
    """A rate over time, free and by the power law; part of a :class:`RatesResult`.

    Parameters
    ----------
    info : dict
        What the library says of it.

    Attributes
    ----------
    value, sd : array, shape (n_frame,)
        The rate and its standard deviation.
    low, high : array, shape (n_frame,)
        Its band of 95 %.
    power, power_sd : array, shape (n_frame,)
        The same rate by the power law with offset.
    knot_value, knot_sd : array, shape (n_knot,)
        The rate at the knots.
    smoothness : float
        Weight of squared second differences of the spline's coefficients.
    n_effective : float
        How many of the coefficients the data determine.
    """

    def __init__(self, info: Mapping[str, Any]) -> None:
        self.value: Floats = np.asarray(info["value"])
        self.sd: Floats = np.asarray(info["sd"])
        self.low: Floats = np.asarray(info["low"])
        self.high: Floats = np.asarray(info["high"])
        self.power: Floats = np.asarray(info["power"])
        self.power_sd: Floats = np.asarray(info["power_sd"])
        self.knot_value: Floats = np.asarray(info["knot_value"])
        self.knot_sd: Floats = np.asarray(info["knot_sd"])
        self.smoothness: float = info["smoothness"]
        self.n_effective: float = info["n_effective"]


class RatesResult:
    """Rates of any shape; made by :func:`fit_rates`.

    Parameters
    ----------
    handle : tessera._core.Handle
        Of the library; :func:`fit_rates` has it.

    Attributes
    ----------
    t : array, shape (n_frame,)
        Times of the frames in s.
    knots : array, shape (n_knot,)
        Times of the knots, even in ln t or in t as ``spacing`` says.
    transport : RateCurve
        D(t) in Å²/s.
    shear : RateCurve or None
        Shear rate in 1/s, where there is shear. The data do not know the sign of the whole; its
        mean is above 0.
    phi0, phi0_sd : float
        Direction of the flow in degrees; NaN where there is none, or no error.
    log_bayes_factor : float
        Above 0 where the data speak for free form, below 0 for the power law.
    log_evidence, log_evidence_power, log_evidence_power_error : float
        Of free form, and of the power law with its standard error: the mean of the next two.
    log_evidence_offset, log_evidence_plain : float
        Of the power law with offsets, as :func:`compare_models` has it, and with offsets 0.
    log_evidence_log, log_evidence_linear : float
        Of free form by the spacing of its knots; NaN where that was not tried.
    verdict : str
        A sentence that says which of them the data speak for, and how sure that is.
    noise, noise_power : float
        Standard deviation of a point by either.
    phi, contrast, offset : array, shape (n_angle,)
        Of the angles.
    success : bool
        Whether the fit converged.
    notes : list of str
        What to look at.
    """

    def __init__(self, handle: _core.Handle) -> None:
        info = _core.xpcs_rates_info(handle)
        self._handle = handle
        self.mode: str = info["mode"]
        self.shape: str = _SHAPES[info["shape"]]
        self.spacing: str = _SPACINGS[info["spacing"]]
        self.t: Floats = np.asarray(info["t"])
        self.knots: Floats = np.asarray(info["knots"])
        self.transport = RateCurve(info["transport"])
        self.shear: RateCurve | None = RateCurve(info["shear"]) if "shear" in info else None
        self.phi0: float = info["phi0"]
        self.phi0_sd: float = info["phi0_sd"]
        self.noise: float = info["noise"]
        self.noise_power: float = info["noise_power"]
        self.log_bayes_factor: float = info["log_bayes_factor"]
        self.log_evidence: float = info["log_evidence"]
        self.log_evidence_log: float = info["log_evidence_log"]
        self.log_evidence_linear: float = info["log_evidence_linear"]
        self.log_evidence_power: float = info["log_evidence_power"]
        self.log_evidence_power_error: float = info["log_evidence_power_error"]
        self.log_evidence_offset: float = info["log_evidence_offset"]
        self.log_evidence_plain: float = info["log_evidence_plain"]
        self.phi: Floats = np.asarray(info["phi"])
        self.contrast: Floats = np.asarray(info["contrast"])
        self.offset: Floats = np.asarray(info["offset"])
        self.n_pass: int = info["n_pass"]
        self.seconds: float = info["seconds"]
        self.success: bool = info["is_converged"]
        self.verdict: str = info["verdict"]
        self.notes: list[str] = info["notes"].splitlines()

    def save(self, folder: PathLike, *, overwrite: bool = False) -> Path:
        """Write ``rates.json``, ``rates.npz`` and ``report.html``.

        Parameters
        ----------
        folder : path
            Where to.
        overwrite : bool, default False
            Replace files that exist.

        Returns
        -------
        Path
            The folder.
        """
        with Session() as context:
            _core.xpcs_rates_write(context, self._handle, folder, overwrite=overwrite)
        return Path(folder)

    def __repr__(self) -> str:
        return (
            f"RatesResult({len(self.t)} frames, {len(self.knots)} knots, {self.shape}, "
            f"ln Bayes factor {self.log_bayes_factor:+.2f})"
        )


def _place(name: str, words: tuple[str, ...], said: Any) -> int:
    if said not in words:
        raise _core.ArgumentError(f"{name}: {said!r}; expected {', '.join(map(repr, words))}")
    return words.index(said)


@takes_options("xpcs.model", "xpcs.fit")
def fit_rates(
    data: Data | PathLike | Mapping[str, Any],
    config: ConfigLike = None,
    *,
    knots: int | None = None,
    shape: Literal["smooth", "monotone"] = "smooth",
    spacing: Literal["auto", "log", "linear"] = "auto",
    smoothness: float | None = None,
    start: ParamsLike | None = None,
    bounds: Mapping[str, tuple[float, float]] | tuple[ParamsLike, ParamsLike] | None = None,
    fixed: Mapping[str, float] | Iterable[str] | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[FitKeywords],
) -> RatesResult:
    """Fit D(t), and the shear rate, without a formula, and weigh the power law against that.

    ln D(t) and the shear rate are cubic splines whose second differences are normal a priori. How
    smooth they are is chosen by marginal likelihood. Points weigh alike, as in :func:`sample`.

    Parameters
    ----------
    data : Data, path or dict
        As in :func:`fit`.
    config : path, dict, Settings or ConfigManager, optional
        The original's configuration, or a dict of the options below. Keywords win over it.
    knots : int, optional
        Knots of each rate, 4 to 100 and no more than frames; by default 20, or as many as there are
        frames.
    shape : {'smooth', 'monotone'}
        Any smooth curve, or one that only falls or only rises, as the power law does.
    spacing : {'auto', 'log', 'linear'}
        Knots even in ln t, or in t; auto tries both and shows that of the larger evidence.
    smoothness : float, optional
        Weight of squared second differences of the coefficients; by default chosen.
    start, bounds
        Of the power law, as in :func:`fit`.
    fixed : dict or list of names, optional
        Only ``phi0`` can stay as it is.
    {options}
    threads, memory_limit, device, progress, context
        As in :func:`fit`; the device must be the CPU. Results do not depend on threads.

    Returns
    -------
    RatesResult
        Rates with bands, evidence of both, and a verdict in words.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> truth = {"D0": 1e4, "alpha": -0.5, "D_offset": 100.0}
    >>> data = tx.simulate(truth, n_angle=2, n_frame=60, dt=0.1, sigma=0.01)
    >>> rates = tx.fit_rates(data, mode="static_anisotropic", knots=10)
    >>> rates.transport.value.shape, rates.log_bayes_factor < 0
    ((59,), True)
    """
    request = _Request("fit_rates", data, config, options)
    vectors = request.start(start, fixed, None) | request.bounds(bounds)
    kind, axis = _place("shape", _SHAPES, shape), _place("spacing", _SPACINGS, spacing)
    if smoothness is not None and not smoothness > 0:
        raise _core.ArgumentError(
            f"smoothness: {smoothness!r}; expected a number above 0, or None to choose it"
        )
    with Lease(context, threads=threads, memory_limit=memory_limit, device=device) as ctx:
        handle = _core.xpcs_fit_rates(
            ctx,
            **request.handles(),
            **vectors,
            progress=callback(progress),
            knots=knots,
            shape=kind,
            spacing=axis,
            smoothness=smoothness,
        )
    result = RatesResult(handle)
    for note in result.notes:
        warn(note)
    return result

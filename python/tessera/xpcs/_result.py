"""What a fit found."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera._progress import ProgressLike, callback
from tessera._tables import tables
from tessera.xpcs._arguments import Floats, PathLike, angle_of
from tessera.xpcs._copies import Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tessera.xpcs._data import Data
    from tessera.xpcs._dicts import Basin

__all__ = ["Result"]


_MINIMA_SHOWN = 5  # where data leave a valley open there may be dozens, all alike


def _choice(name: str, place: int) -> str:
    """Return the word of a choice of table xpcs.fit."""
    for param in tables()["xpcs.fit"]:
        if param["name"] == name:
            return str(param["choices"]).split("|")[place]
    raise KeyError(name)


class Result(Shared):
    """What a fit found; arrays are views of the library's memory.

    Copies share it. A pickle has the data along, and is read by the same version of Tessera only:
    :meth:`save` is for what shall last.

    Vectors have contrasts, offsets, then physical parameters; ``names`` says which is which.

    Parameters
    ----------
    handle : tessera._core.Handle
        Of the library; :func:`fit` has it.
    data : Data
        What was fitted.
    model_options : dict
        Options of table ``xpcs.model`` in force.

    Attributes
    ----------
    parameters, uncertainties : ndarray, shape (2 n_angle + n_param,)
        Values and standard deviations; infinite where the data say nothing, 0 where fixed.
    covariance, correlation : ndarray, shape (2 n_angle + n_param, 2 n_angle + n_param)
        Of all of them.
    names, status : list of str
        Of each: 'free', 'fixed', 'at_lower_bound', 'at_upper_bound' or 'unidentified'.
    physical, physical_uncertainties : dict
        Physical parameters by name.
    contrast, offset, contrast_uncertainties, offset_uncertainties : ndarray, shape (n_angle,)
        Scaling of every angle.
    chi_squared, reduced_chi_squared, dof, n_used, n_masked
        ``chi2`` and ``reduced_chi2`` are the same numbers.
    convergence_status : {'converged', 'max_iter', 'failed'}
        A fit that stops early is a result, not an error.
    message : str
        Why it stopped.
    iterations, nfev, passes : int
        Accepted steps, evaluations, passes over the data.
    quality_flag : {'good', 'marginal', 'poor'}
        By reduced chi2; not to be trusted while ``sigma_is_default``.
    warnings, recovery_actions : list of str
        A sentence each.
    strategy, device, kernel, mode, scaling, loss, counting, precision, sigma_mode : str
        How it was computed.
    basins : list of dict
        Minima that were found, the best first: ``theta``, ``chi2``, ``excess`` (chi2 above that of
        the best, in units of reduced chi2), ``cost`` and ``n_start``, the starts that led there.
    intervals : dict of (float, float)
        95 % intervals of the physical parameters.
    interval_kinds : dict of str
        ``'straight'`` from the covariance or ``'profile'`` from how chi2 rises, by parameter.
    f_product : (float, float) or None
        Of two components f0 exp(-f1 f2), which is all that data know of f0 and f2, and its sd.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> result = tx.fit(data, mode="static_isotropic", sigma=0.01)
    >>> result.success, list(result.physical)
    (True, ['D0', 'alpha', 'D_offset'])
    >>> result.residuals(0).shape
    (39, 39)
    """

    def __init__(self, handle: _core.Handle, data: Data, model_options: dict[str, Any]) -> None:
        self._handle = handle
        self.data = data
        self.model_options = dict(model_options)
        info = _core.xpcs_result_info(handle)
        self._info = info
        self._take_vectors(info)
        self._take_words(info)
        self._take_numbers(info)

    def _take_vectors(self, info: dict[str, Any]) -> None:
        self.theta: Floats = np.asarray(info["theta"])
        self.theta_uncertainties: Floats = np.asarray(info["sd"])
        self.contrast: Floats = np.asarray(info["contrast"])
        self.contrast_uncertainties: Floats = np.asarray(info["contrast_sd"])
        self.offset: Floats = np.asarray(info["offset"])
        self.offset_uncertainties: Floats = np.asarray(info["offset_sd"])
        self.covariance: Floats = np.asarray(info["covariance"])
        self.correlation: Floats = np.asarray(info["correlation"])
        self.phi: Floats = np.asarray(info["phi"])
        self.q: Floats = np.asarray(info["q"])
        self.sigma: Floats = np.asarray(info["sigma"])
        self.start: Floats = np.asarray(info["start"])
        self.lower: Floats = np.asarray(info["lower"])
        self.upper: Floats = np.asarray(info["upper"])
        self.reduced_chi2_angle: Floats = np.asarray(info["reduced_chi2_angle"])
        self.n_used_angle = np.asarray(info["n_used_angle"])
        self.basins: list[Basin] = [
            {
                "n_start": entry["n_start"],
                "cost": entry["cost"],
                "chi2": entry["chi2"],
                "theta": np.asarray(entry["theta"]),
                "excess": (entry["chi2"] - info["basins"][0]["chi2"]) / info["reduced_chi2"],
            }
            for entry in info["basins"]
        ]
        self.bootstrap: Floats | None = (
            None if info["bootstrap"] is None else np.asarray(info["bootstrap"])
        )
        self.bootstrap_uncertainties: Floats | None = (
            None if info["bootstrap_sd"] is None else np.asarray(info["bootstrap_sd"])
        )

    def _take_words(self, info: dict[str, Any]) -> None:
        self.physical_names: list[str] = info["names"]
        self.mode: str = info["mode"]
        self.kernel: str = info["kernel"]
        self.strategy: str = info["strategy"]
        self.device: str = info["device"]
        self.scaling = _choice("scaling", info["scaling"])
        self.loss = _choice("loss", info["loss"])
        self.counting = _choice("counting", info["counting"])
        self.precision = _choice("precision", info["precision"])
        self.sigma_mode = _choice("sigma_mode", info["sigma_mode"])
        self.convergence_status: str = info["convergence"]
        self.message: str = info["message"]
        self.quality_flag: str = info["quality"]
        self.warnings: list[str] = info["warnings"].splitlines()
        self.recovery_actions: list[str] = info["recovery"].splitlines()
        self.data_path: str = info["data_path"]
        self.data_fingerprint: str = info["data_fingerprint"]
        self.config_hash: str = info["config_hash"]
        self.version: str = info["tessera_version"]

    def _take_numbers(self, info: dict[str, Any]) -> None:
        self.sigma_is_default = bool(info["sigma_is_default"])
        self.resumed = bool(info["resumed"])
        self.chi2: float = info["chi2"]
        self.reduced_chi2: float = info["reduced_chi2"]
        self.cost: float = info["cost"]
        self.aic: float = info["aic"]
        self.bic: float = info["bic"]
        self.condition: float = info["condition"]
        self.gradient_norm: float = info["gradient_norm"]
        self.dof: int = info["dof"]
        self.n_used: int = info["n_used"]
        self.n_masked: int = info["n_masked"]
        self.n_point: int = info["n_point"]
        self.n_free: int = info["n_free"]
        self.termination: int = info["termination"]
        self.iterations: int = info["n_iteration"]
        self.nfev: int = info["nfev"]
        self.passes: int = info["n_pass"]
        self.seconds: dict[str, float] = info["seconds"]
        self.throughput: float = info["points_per_s"]
        self.peak_bytes: int = info["peak_bytes"]
        self.seed: int = info["seed"]
        self.n_checkpoint: int = info["n_checkpoint"]

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of the physical parameters, within their bounds."""
        lower = np.asarray(self._info["interval_lower"]).tolist()
        upper = np.asarray(self._info["interval_upper"]).tolist()
        return dict(zip(self.physical_names, zip(lower, upper, strict=True), strict=True))

    @property
    def interval_kinds(self) -> dict[str, str]:
        """Where each interval comes from."""
        kinds = ("straight", "profile")
        of = np.asarray(self._info["interval_kind"]).tolist()
        return {name: kinds[kind] for name, kind in zip(self.physical_names, of, strict=True)}

    @property
    def f_product(self) -> tuple[float, float] | None:
        """f0 exp(-f1 f2) of two components and its standard deviation."""
        value, sd = np.asarray(self._info["f_product"]).tolist()
        return (value, sd) if self.mode == "two_component" else None

    @cached_property
    def names(self) -> list[str]:
        """Names in the order of the vectors."""
        n = range(len(self.contrast))
        return [
            *(f"contrast_{a}" for a in n),
            *(f"offset_{a}" for a in n),
            *self.physical_names,
        ]

    @cached_property
    def parameters(self) -> Floats:
        """Contrasts, offsets, physical parameters."""
        return np.concatenate([self.contrast, self.offset, self.theta])

    @cached_property
    def uncertainties(self) -> Floats:
        """Their standard deviations."""
        return np.concatenate(
            [self.contrast_uncertainties, self.offset_uncertainties, self.theta_uncertainties]
        )

    @cached_property
    def status(self) -> list[str]:
        """What became of each."""
        words = self._info["status_names"]
        keys = ("contrast_status", "offset_status", "status")
        return [words[k] for key in keys for k in np.asarray(self._info[key]).tolist()]

    @property
    def physical(self) -> dict[str, float]:
        """Physical parameters by name."""
        return dict(zip(self.physical_names, self.theta.tolist(), strict=True))

    @property
    def physical_uncertainties(self) -> dict[str, float]:
        """Their standard deviations by name."""
        return dict(zip(self.physical_names, self.theta_uncertainties.tolist(), strict=True))

    @cached_property
    def trace(self) -> dict[str, Floats]:
        """The course of the fit, one entry per evaluation."""
        rows = np.asarray(self._info["trace"])
        keys = ("iteration", "cost", "gradient_norm", "step_norm", "radius", "is_accepted")
        return {key: rows[:, k] for k, key in enumerate(keys)}

    # Names of the original's OptimizationResult.

    @property
    def chi_squared(self) -> float:
        """Weighted sum of squares."""
        return self.chi2

    @property
    def reduced_chi_squared(self) -> float:
        """The same by degree of freedom."""
        return self.reduced_chi2

    @property
    def success(self) -> bool:
        """Whether the fit converged."""
        return self.convergence_status == "converged"

    @property
    def execution_time(self) -> float:
        """Seconds of the whole fit."""
        return self.seconds["total"]

    @property
    def device_info(self) -> dict[str, Any]:
        """Where it was computed."""
        return {
            "device": self.device,
            "strategy": self.strategy,
            "precision": self.precision,
            "adapter": "NLSQWrapper",
            "fallback_occurred": False,
        }

    @property
    def n_batches(self) -> int:
        """Passes over the data, each of which the original would cut into batches."""
        return int(self.passes)

    @property
    def success_rate(self) -> float:
        """Share of the passes that went well: 1, for a pass that does not raises."""
        return 1.0

    @property
    def streaming_diagnostics(self) -> dict[str, Any] | None:
        """Passes of a fit that read its data piece by piece, else None."""
        if "stream" not in self.strategy:
            return None
        return {
            "n_batches": self.n_batches,
            "batch_success_rate": self.success_rate,
            "failed_batch_indices": [],
            "strategy": self.strategy,
        }

    @property
    def stratification_diagnostics(self) -> None:
        """None: every pass has all angles, and no order of points changes a bit."""
        return

    @property
    def nlsq_diagnostics(self) -> dict[str, Any]:
        """Evaluations, passes, termination and the state at the end."""
        return {
            "nfev": self.nfev,
            "passes": self.passes,
            "termination": self.termination,
            "message": self.message,
            "gradient_norm": self.gradient_norm,
            "condition": self.condition,
        }

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise KeyError(f"{name!r}; there are {', '.join(self.names)}")
        return float(self.parameters[self.names.index(name)])

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result as plain Python values.

        Returns
        -------
        dict
            Ready for ``json.dumps``; what is not finite is None.
        """
        with Session() as context:
            found: dict[str, Any] = json.loads(_core.xpcs_result_json(context, self._handle))
        return found

    def model(self, angle: int | None = None) -> Floats:
        """Compute the fitted correlations.

        Parameters
        ----------
        angle : int, optional
            One angle instead of all.

        Returns
        -------
        ndarray, shape (n_angle, n_frame, n_frame) or (n_frame, n_frame)
            On the grid that was fitted.
        """
        take = slice(None)
        if angle is not None:
            place = angle_of(angle, len(self.phi))
            take = slice(place, place + 1)
        with Session() as context:
            c2 = _core.xpcs_model(
                context,
                self.model_options,
                np.ascontiguousarray(self.theta),
                self.data.n_frame,
                np.ascontiguousarray(self.phi[take]),
                np.ascontiguousarray(self.q[take]),
                np.ascontiguousarray(self.contrast[take]),
                np.ascontiguousarray(self.offset[take]),
            )
        found: Floats = np.asarray(c2)
        return found if angle is None else found[0]

    def residuals(self, angle: int) -> Floats:
        """Return measured minus fitted correlations of an angle.

        Parameters
        ----------
        angle : int
            Index of the angle.

        Returns
        -------
        ndarray, shape (n_frame, n_frame)
            NaN where points were left out.
        """
        return self.data.matrix(angle) - self.model(angle)

    def save(
        self,
        folder: PathLike,
        *,
        overwrite: bool = False,
        surfaces: bool | None = None,
        figures: bool | None = None,
        hdf5: bool | None = None,
        report: bool | None = None,
        progress: ProgressLike = None,
    ) -> Path:
        """Write the files the original writes, and more if asked for.

        Parameters
        ----------
        folder : path
            Gets ``nlsq/parameters.json``, ``analysis_results_nlsq.json``,
            ``convergence_metrics.json`` and ``fitted_data.npz``.
        overwrite : bool, default False
            Replace files that exist.
        surfaces : bool, optional
            Fitted correlations in ``fitted_data.npz``; by default below 1e7 points.
        figures : bool, optional
            PNG maps of every angle.
        hdf5 : bool, optional
            ``result.h5`` with everything.
        report : bool, optional
            ``report.html``.
        progress : bool, str or callable, optional
            True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
            :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.

        Returns
        -------
        Path
            The folder.
        """
        with Session() as context:
            _core.xpcs_result_write(
                context,
                self._handle,
                self.data._handle,
                self.model_options,
                folder,
                overwrite=overwrite,
                surfaces=surfaces,
                figures=figures,
                hdf5=hdf5,
                report=report,
                progress=callback(progress),
            )
        return Path(folder)

    def report(self, path: PathLike, *, overwrite: bool = False) -> Path:
        """Write one self-contained HTML page.

        Parameters
        ----------
        path : path
            The file.
        overwrite : bool, default False
            Replace it if it exists.

        Returns
        -------
        Path
            The file.
        """
        with Session() as context:
            _core.xpcs_report(
                context, self._handle, self.data._handle, self.model_options, path, overwrite
            )
        return Path(path)

    def save_figures(self, folder: PathLike, *, overwrite: bool = False) -> Path:
        """Write a PNG of measured, fitted and residual correlations for every angle.

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
            _core.xpcs_figures(
                context, self._handle, self.data._handle, self.model_options, folder, overwrite
            )
        return Path(folder)

    def plot(self, angle: int = 0, axes: Sequence[Axes] | None = None) -> Figure:
        """Draw measured, fitted and residual correlations of an angle; needs matplotlib.

        Parameters
        ----------
        angle : int
            Index of the angle.
        axes : sequence of three matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib figure
            t1 to the right, t2 upwards.
        """
        from tessera.xpcs._plots import plot_maps

        return plot_maps(self, angle, axes)

    def plot_g2(self, angle: int = 0, ax: Axes | None = None) -> Figure:
        """Draw mean correlations by lag with the fit; needs matplotlib.

        Parameters
        ----------
        angle : int
            Index of the angle.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib figure
            The figure.
        """
        from tessera.xpcs._plots import plot_g2

        return plot_g2(self, angle, ax)

    def summary(self) -> str:
        """Return a table of the physical parameters and how the fit went.

        Returns
        -------
        str
            Lines for a person.
        """
        lines = [
            f"{self.mode}, {len(self.phi)} angles, {self.n_used} points: "
            f"{self.convergence_status} after {self.iterations} iterations, "
            f"reduced chi2 {self.reduced_chi2:.6g} ({self.quality_flag})"
        ]
        n = 2 * len(self.contrast)
        kinds = self.interval_kinds
        refits = self.bootstrap_uncertainties
        head = "" if refits is None else f"{'bootstrap':<12} "
        lines.append(f"  {'':<20} {'value':>14}    {'sd':<12} {head}95 % interval")
        for k, (name, (lower, upper)) in enumerate(self.intervals.items()):
            mark = " p" if kinds[name] == "profile" else ""
            interval = "" if self.status[n + k] == "fixed" else f"[{lower:.5g}, {upper:.5g}]{mark}"
            refit = "" if refits is None else f"{refits[k]:<12.3g} "
            lines.append(
                f"  {name:<20} {self.theta[k]:>14.6g} +- {self.theta_uncertainties[k]:<12.3g}"
                f" {refit}{interval:<25} {self.status[n + k]}"
            )
        if self.bootstrap is not None:
            lines.append(
                f"  bootstrap: standard deviation over {len(self.bootstrap)} refits to resampled "
                "blocks of frames"
            )
        if "profile" in kinds.values():
            lines.append("  p: where chi2, all else at its best, has risen by 3.84")
        shown = self.basins[1 : 1 + _MINIMA_SHOWN]
        for basin in shown:
            values = zip(self.physical_names, basin["theta"], strict=True)
            lines.append(
                f"  another minimum at chi2 {basin['chi2']:.8g}, above the best by "
                f"{basin['excess']:.3g} reduced chi2: "
                + ", ".join(f"{name} {value:.5g}" for name, value in values)
            )
        if len(self.basins) > 1 + len(shown):
            lines.append(f"  and {len(self.basins) - 1 - len(shown)} more, in basins")
        lines += [f"  {line}" for line in self.warnings]
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        content = _core.xpcs_result_pack(self._handle)
        return _restored, (type(self), content, self.data, self.model_options)

    def _repr_html_(self) -> str:
        from tessera.xpcs._html import of_result

        return of_result(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.physical.items())
        return f"Result({self.convergence_status}, {values}, chi2/dof={self.reduced_chi2:.4g})"


def _restored(
    cls: type[Result], content: bytes, data: Data, model_options: dict[str, Any]
) -> Result:
    with Session() as context:
        handle = _core.xpcs_result_unpack(context, content)
    return cls(handle, data, model_options)

"""What sampling found: draws, summaries, how well the chains mixed, files and figures."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tessera import _core
from tessera._npz import read_npz, write_npz
from tessera.xpcs import _chains
from tessera.xpcs._arguments import Floats, PathLike
from tessera.xpcs._priors import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from tessera.xpcs._data import Data
    from tessera.xpcs._dicts import Diagnostics

__all__ = ["Posterior"]

_SCHEMA = "tessera.xpcs.posterior/1"
# Arrays (chains, draws, ...), as the library names them.
DRAWS = ("theta", "noise", "contrast", "offset", "log_density", "energy", "accept")
STEPS = ("n_step", "depth", "diverged")
_FACTS = ("step", "phi", "q", "lower", "upper", "prior_mean", "prior_sd", "fit_theta", "fit_sd")
ARRAYS = (*DRAWS, *STEPS, *_FACTS)
_COLUMNS = ("mean", "sd", "median", "hdi_3%", "hdi_97%", "r_hat", "ess_bulk", "ess_tail")
_LOW_BFMI, _HIGH_R_HAT, _LOW_ESS = 0.3, 1.05, 400.0


class Posterior:
    """Draws from the posterior of a model, contrast and offset of every angle among them.

    Parameters
    ----------
    arrays : dict of ndarray
        The draws; :func:`sample` and :meth:`load` have them.
    facts : dict
        How they were made.
    packed : bytes, optional
        Of a shard what :func:`combine` needs.

    Attributes
    ----------
    theta : ndarray, shape (n_chain, n_draw, n_param)
        Physical parameters, in the order of ``physical_names``.
    contrast, offset : ndarray, shape (n_chain, n_draw, n_angle)
        Drawn given the others, within their bounds.
    noise, log_density, energy, accept : ndarray, shape (n_chain, n_draw)
        Standard deviation of a point; of every draw its density, energy and mean acceptance.
    n_step, depth, diverged : ndarray, shape (n_chain, n_draw)
        Steps and doublings of every path, and whether it had to be broken off.
    step : ndarray, shape (n_chain,)
        Step sizes.
    prior_mean, prior_sd, lower, upper : ndarray, shape (n_param,)
        Priors: normals between bounds.
    fit_theta, fit_sd : ndarray, shape (n_param,)
        The fit that sampling began from.
    facts : dict
        ``mode``, ``seed``, ``n_warmup``, ``priors``, ``n_evaluation``, ``seconds``, ``outside``
        (share of contrasts and offsets drawn outside their bounds, and drawn again), ``method``,
        ``log_evidence`` and ``pareto_k`` (of laplace), ``has_surrogate``, ``n_attempt`` and more.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> found = tx.sample(data, mode="static_isotropic", n_chain=2, n_warmup=200, n_draw=300)
    >>> found["D0"].shape
    (2, 300)
    >>> sorted(found.diagnostics)[:3]
    ['bfmi', 'contraction', 'converged']
    """

    theta: Floats
    noise: Floats
    contrast: Floats
    offset: Floats
    log_density: Floats
    energy: Floats
    accept: Floats
    n_step: Floats
    depth: Floats
    diverged: Floats
    step: Floats
    phi: Floats
    q: Floats
    lower: Floats
    upper: Floats
    prior_mean: Floats
    prior_sd: Floats
    fit_theta: Floats
    fit_sd: Floats

    def __init__(self, arrays: dict[str, Any], facts: dict[str, Any], packed: bytes = b"") -> None:
        self.packed = packed
        for name in ARRAYS:
            setattr(self, name, np.asarray(arrays[name]))
        self.facts = dict(facts)
        self.mode: str = facts["mode"]
        self.physical_names: list[str] = list(facts["names"])

    @property
    def f_product(self) -> tuple[float, float] | None:
        """Mean and standard deviation of f0 exp(-f1 f2) of two components."""
        if self.mode != "two_component":
            return None
        product = self["f0"] * np.exp(-self["f1"] * self["f2"])
        return float(product.mean()), float(product.std(ddof=1))

    @property
    def n_chain(self) -> int:
        """How many chains there are."""
        return int(self.theta.shape[0])

    @property
    def n_draw(self) -> int:
        """How many draws every chain has."""
        return int(self.theta.shape[1])

    @cached_property
    def names(self) -> list[str]:
        """Names of all that was drawn: contrasts, offsets, physical parameters, noise."""
        n = range(self.contrast.shape[2])
        return [
            *(f"contrast_{a}" for a in n),
            *(f"offset_{a}" for a in n),
            *self.physical_names,
            "noise",
        ]

    @cached_property
    def free_names(self) -> list[str]:
        """Names of the physical parameters that were not fixed, and the noise."""
        moved = np.ptp(self.theta, axis=(0, 1)) > 0
        free = [name for name, moves in zip(self.physical_names, moved, strict=True) if moves]
        return [*free, "noise"]

    def __getitem__(self, name: str) -> Floats:
        """Return the draws of a name, shape (n_chain, n_draw)."""
        if name not in self.names:
            raise KeyError(f"{name!r}; there are {', '.join(self.names)}")
        if name == "noise":
            return self.noise
        kind, _, place = name.partition("_")
        if kind in ("contrast", "offset"):
            drawn: Floats = getattr(self, kind)[:, :, int(place)]
            return drawn
        return self.theta[:, :, self.physical_names.index(name)]

    @cached_property
    def table(self) -> dict[str, dict[str, float]]:
        """Mean, standard deviation, median, 94 % interval, R-hat and sizes by name."""
        found = {}
        for name in self.names:
            values = self[name]
            low, high = _chains.interval(values, 0.94)
            mixed = _chains.summary(values)
            row = (
                values.mean(),
                values.std(ddof=1),
                np.median(values),
                low,
                high,
                mixed["r_hat"],
                mixed["ess_bulk"],
                mixed["ess_tail"],
            )
            found[name] = dict(zip(_COLUMNS, map(float, row), strict=True))
        return found

    def quantiles(
        self, name: str, levels: Sequence[float] = (0.05, 0.16, 0.5, 0.84, 0.95)
    ) -> Floats:
        """Return quantiles of the draws of a name.

        Parameters
        ----------
        name : str
            Any of ``names``.
        levels : sequence of float, default (0.05, 0.16, 0.5, 0.84, 0.95)
            Between 0 and 1.

        Returns
        -------
        ndarray
            One value for each.
        """
        found: Floats = np.quantile(self[name], levels)
        return found

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the physical parameters."""
        flat = self.theta.reshape(-1, self.theta.shape[2])
        return np.atleast_2d(np.cov(flat, rowvar=False))

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """How well the chains mixed, and how far the prior and the fit are."""
        free = self.free_names
        rows = [self.table[name] for name in free]
        place = {name: k for k, name in enumerate(self.physical_names)}
        contraction, distance = {}, {}
        for name in free[:-1]:
            k = place[name]
            sd = self.table[name]["sd"]
            prior = spread(
                self.prior_mean[k], self.prior_sd[k], float(self.lower[k]), float(self.upper[k])
            )
            contraction[name] = 1 - (sd / prior) ** 2
            distance[name] = (self.table[name]["mean"] - float(self.fit_theta[k])) / sd
        bfmi = _chains.bfmi(self.energy).tolist()
        deepest = int(self.facts["max_depth"])
        found = {
            "max_r_hat": max(row["r_hat"] for row in rows),
            "min_ess_bulk": min(row["ess_bulk"] for row in rows),
            "min_ess_tail": min(row["ess_tail"] for row in rows),
            "n_divergent": int(self.diverged.sum()),
            "divergence_rate": float(self.diverged.mean()),
            "bfmi": bfmi,
            "mean_accept": float(self.accept.mean()),
            "depth_limit_rate": float((self.depth >= deepest).mean()),
            "step": self.step.tolist(),
            "contraction": contraction,
            "fit_distance": distance,
            "outside": float(self.facts["outside"]),
            "n_evaluation": int(self.facts["n_evaluation"]),
            "seconds": float(self.facts["seconds"]),
        }
        said = str(self.facts.get("warnings", "")).splitlines()
        found["warnings"] = _sentences(found) + said
        found["converged"] = not found["warnings"]
        return cast("Diagnostics", found)

    def summary(self) -> str:
        """Return a table of the physical parameters and the noise, and what to know.

        Returns
        -------
        str
            Lines for a person.
        """
        facts = self.facts
        lines = [
            f"{self.mode}, {self.n_chain} chains of {self.n_draw} draws after "
            f"{facts['n_warmup']}: {facts['n_evaluation']} passes in {facts['seconds']:.2f} s"
        ]
        lines.append(
            f"  {'':<20} {'mean':>12} {'sd':>11} {'3 %':>12} {'97 %':>12} {'R-hat':>7} "
            f"{'bulk':>6} {'tail':>6}"
        )
        for name in [*self.physical_names, "noise"]:
            row = self.table[name]
            fixed = name not in self.free_names
            chain = (
                "  fixed"
                if fixed
                else f"{row['r_hat']:>7.3f} {row['ess_bulk']:>6.0f} {row['ess_tail']:>6.0f}"
            )
            lines.append(
                f"  {name:<20} {row['mean']:>12.6g} {row['sd']:>11.3g} {row['hdi_3%']:>12.6g} "
                f"{row['hdi_97%']:>12.6g} {chain}"
            )
        lines += [f"  {line}" for line in self.diagnostics["warnings"]]
        return "\n".join(lines)

    def _arrays(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ARRAYS}

    def save(self, path: PathLike) -> Path:
        """Write everything into one .npz file.

        Parameters
        ----------
        path : path
            The file; one that exists is replaced when the new one is complete.

        Returns
        -------
        Path
            The file.
        """
        content = json.dumps({"schema": _SCHEMA, **self.facts})
        packed = np.frombuffer(self.packed, np.uint8)
        arrays = {**self._arrays(), "facts": np.array(content), "packed": packed}
        write_npz(path, arrays, "xpcs.sample")
        return Path(path)

    @classmethod
    def load(cls, path: PathLike) -> Posterior:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Posterior
            The same.
        """
        arrays = read_npz(path)
        absent = [n for n in (*ARRAYS, "facts") if n not in arrays]
        if absent:
            raise _core.FormatError(f"{path}: no posterior of Posterior.save(): lacks {absent[0]}")
        facts = json.loads(str(arrays.pop("facts")))
        if facts.pop("schema", None) != _SCHEMA:
            raise _core.FormatError(f"{path}: another kind of posterior; expected {_SCHEMA}")
        return cls(arrays, facts, arrays.get("packed", np.empty(0, np.uint8)).tobytes())

    def to_arviz(self, data: Data | None = None) -> Any:
        """Return the draws as ArviZ has them; needs arviz.

        Parameters
        ----------
        data : Data, optional
            What the draws are of, for the group ``observed_data``.

        Returns
        -------
        arviz.InferenceData
            Groups ``posterior``, ``sample_stats`` and ``prior`` (draws before the data).
        """
        from tessera.xpcs._inference_data import to_arviz

        return to_arviz(self, data)

    def to_netcdf(self, path: PathLike, data: Data | None = None) -> Path:
        """Write a netCDF-4 file that ``arviz.from_netcdf`` opens; needs xarray and h5netcdf.

        Parameters
        ----------
        path : path
            The file; one that exists is replaced when the new one is complete.
        data : Data, optional
            What the draws are of, for the group ``observed_data``.

        Returns
        -------
        Path
            The file.
        """
        from tessera.xpcs._inference_data import to_netcdf

        return to_netcdf(self, path, data)

    def plot(self, kind: str = "trace", names: str | Sequence[str] | None = None) -> Figure:
        """Draw the posterior; needs matplotlib.

        Parameters
        ----------
        kind : str, default 'trace'
            'trace', 'rank', 'pair', 'forest', 'energy', 'autocorrelation', 'ess', 'prior' (against
            the posterior), 'diffusion' (the band of D(t)) or 'shear' (that of the shear rate).
        names : sequence of str, optional
            Which to draw, where that is asked; by default the free parameters and the noise.

        Returns
        -------
        matplotlib figure
            The figure.
        """
        from tessera.xpcs._posterior_plots import draw

        return draw(self, kind, names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._arrays(), self.facts, self.packed)

    def __repr__(self) -> str:
        rows = ((name, self.table[name]) for name in self.physical_names)
        values = ", ".join(f"{name}={row['mean']:.6g}±{row['sd']:.2g}" for name, row in rows)
        return f"Posterior({self.n_chain} x {self.n_draw}, {values})"


def _sentences(found: dict[str, Any]) -> list[str]:
    """Say what is wrong with chains, a sentence each."""
    lines = []
    if np.isnan(found["max_r_hat"]):
        lines.append("R-hat is not known: it takes two chains of four draws at least")
    elif not found["max_r_hat"] <= _HIGH_R_HAT:
        lines.append(
            f"R-hat reaches {found['max_r_hat']:.3f}: the chains do not agree; draw and warm up "
            "longer"
        )
    if not found["min_ess_bulk"] >= _LOW_ESS or not found["min_ess_tail"] >= _LOW_ESS:
        least = min(found["min_ess_bulk"], found["min_ess_tail"])
        lines.append(f"the draws are worth {least:.0f} independent ones; 400 are wanted")
    if found["n_divergent"]:
        lines.append(
            f"{found['n_divergent']} paths were broken off ({found['divergence_rate']:.2%}): raise "
            "target_accept"
        )
    if min(found["bfmi"]) < _LOW_BFMI:
        lines.append(f"E-BFMI is {min(found['bfmi']):.2f}: tails are hardly reached")
    if found["depth_limit_rate"] > 0.01:
        lines.append(f"{found['depth_limit_rate']:.1%} of the paths ended at max_depth")
    if found["outside"] > 0.01:
        lines.append(
            f"{found['outside']:.1%} of contrasts and offsets lay outside their bounds, which the "
            "density neglects: widen the bounds"
        )
    return lines

"""Figures of a posterior by matplotlib, which is asked for only here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tessera import _core
from tessera.xpcs import _chains
from tessera.xpcs._arguments import Floats
from tessera.xpcs._plots import _pyplot
from tessera.xpcs._priors import density

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tessera.xpcs._posterior import Posterior

_BINS = 40
_BAND_DRAWS = 400


def _rows(n: int, columns: int, height: float = 1.8) -> tuple[Any, Any]:
    return cast(
        "tuple[Any, Any]",
        _pyplot().subplots(
            n, columns, figsize=(4.5 * columns, height * n + 0.6), squeeze=False, layout="tight"
        ),
    )


def _trace(posterior: Posterior, names: Sequence[str]) -> Figure:
    figure, axes = _rows(len(names), 2)
    for (left, right), name in zip(axes, names, strict=True):
        for chain in posterior[name]:
            heights, edges = np.histogram(chain, _BINS, density=True)
            left.stairs(heights, edges)
            right.plot(chain, lw=0.4)
        broken = np.flatnonzero(posterior.diverged.any(axis=0))
        right.plot(broken, np.full(len(broken), posterior[name].min()), "k|", ms=6)
        left.set(ylabel=name, yticks=[])
    axes[-1][1].set(xlabel="draw")
    return cast("Figure", figure)


def _rank(posterior: Posterior, names: Sequence[str]) -> Figure:
    figure, axes = _rows(len(names), 1)
    n = posterior.n_chain * posterior.n_draw
    bins = min(20, posterior.n_draw)
    edges = np.linspace(0, n, bins + 1)
    for (ax,), name in zip(axes, names, strict=True):
        values = posterior[name]
        ranks = np.argsort(np.argsort(values, axis=None)).reshape(values.shape)
        for k, chain in enumerate(ranks):
            counts = np.histogram(chain, edges)[0]
            ax.bar(edges[:-1], counts / counts.mean() * 0.4, n / bins, bottom=k, align="edge")
            ax.axhline(k + 0.4, color="k", lw=0.5, ls=":")
        ax.set(title=name, ylabel="chain", yticks=range(posterior.n_chain))
    axes[-1][0].set(xlabel="rank among all draws; even chains are flat")
    return cast("Figure", figure)


def _pair(posterior: Posterior, names: Sequence[str]) -> Figure:
    n = len(names)
    figure, axes = _pyplot().subplots(
        n, n, figsize=(1.9 * n + 1, 1.9 * n + 1), squeeze=False, layout="tight"
    )
    broken = posterior.diverged.ravel()
    for row in range(n):
        for column in range(n):
            ax = axes[row][column]
            x, y = posterior[names[column]].ravel(), posterior[names[row]].ravel()
            if row == column:
                ax.hist(x, _BINS, histtype="step")
                ax.set_yticks([])
            elif column < row:
                ax.plot(x, y, ",", alpha=0.5)
                ax.plot(x[broken], y[broken], "r.", ms=3)
            else:
                ax.axis("off")
            if row == n - 1:
                ax.set_xlabel(names[column])
            if column == 0:
                ax.set_ylabel(names[row])
    return cast("Figure", figure)


def _forest(posterior: Posterior, names: Sequence[str]) -> Figure:
    figure, axes = _rows(len(names), 1, 0.3 * posterior.n_chain + 0.7)
    for (ax,), name in zip(axes, names, strict=True):
        every = [posterior[name].ravel(), *posterior[name]]
        for place, values in enumerate(every):
            low, high = _chains.interval(values, 0.94)
            quarters = np.quantile(values, [0.25, 0.5, 0.75])
            color = "k" if place == 0 else f"C{place - 1}"
            ax.plot([low, high], [-place, -place], color=color, lw=1)
            ax.plot(quarters[[0, 2]], [-place, -place], color=color, lw=3)
            ax.plot(quarters[1], -place, "o", color=color, ms=4)
        words = ["all", *(f"chain {k}" for k in range(posterior.n_chain))]
        ax.set(title=name, yticks=[-k for k in range(len(words))], yticklabels=words)
    axes[-1][0].set(xlabel="median, middle half, 94 % interval")
    return cast("Figure", figure)


def _energy(posterior: Posterior, names: Sequence[str]) -> Figure:
    del names
    figure, axes = _rows(1, 1, 3.2)
    ax = axes[0][0]
    centred = posterior.energy - posterior.energy.mean()
    for label, values in (("energy", centred), ("change", np.diff(posterior.energy, axis=1))):
        heights, edges = np.histogram(values, _BINS, density=True)
        ax.stairs(heights, edges, label=label)
    text = ", ".join(f"{value:.2f}" for value in _chains.bfmi(posterior.energy))
    ax.set(title=f"E-BFMI {text}", xlabel="energy from its mean", yticks=[])
    ax.legend()
    return cast("Figure", figure)


def _autocorrelation(posterior: Posterior, names: Sequence[str]) -> Figure:
    figure, axes = _rows(len(names), 1)
    shown = min(100, posterior.n_draw)
    for (ax,), name in zip(axes, names, strict=True):
        for chain in _chains.autocorrelation(posterior[name]):
            ax.plot(chain[:shown], lw=0.8)
        ax.axhline(0, color="k", lw=0.5)
        ax.set(ylabel=name, ylim=(-0.3, 1.05))
    axes[-1][0].set(xlabel="lag (draws)")
    return cast("Figure", figure)


def _ess(posterior: Posterior, names: Sequence[str]) -> Figure:
    figure, axes = _rows(len(names), 1)
    ends = np.unique(np.linspace(4, posterior.n_draw, 15).astype(int))
    for (ax,), name in zip(axes, names, strict=True):
        values = posterior[name]
        grown = [_chains.summary(values[:, :end]) for end in ends]
        for label in ("bulk", "tail"):
            sizes = [step[f"ess_{label}"] for step in grown]
            ax.plot(ends * posterior.n_chain, sizes, label=label)
        ax.axhline(400, color="k", lw=0.5, ls=":")
        ax.set(ylabel=name)
    axes[0][0].legend()
    axes[-1][0].set(xlabel="draws of all chains")
    return cast("Figure", figure)


def _prior(posterior: Posterior, names: Sequence[str]) -> Figure:
    physical = [name for name in names if name in posterior.physical_names]
    figure, axes = _rows(max(1, len(physical)), 1)
    for (ax,), name in zip(axes, physical, strict=True):
        k = posterior.physical_names.index(name)
        values = posterior[name].ravel()
        heights, edges = np.histogram(values, _BINS, density=True)
        middle, reach = values.mean(), 4 * values.std()
        at = np.linspace(middle - reach, middle + reach, 200)
        own = (posterior.prior_mean[k], posterior.prior_sd[k])
        ax.stairs(heights, edges, fill=True, alpha=0.5, label="posterior")
        ax.plot(
            at,
            density(*own, float(posterior.lower[k]), float(posterior.upper[k]), at),
            "k",
            label="prior",
        )
        ax.axvline(posterior.fit_theta[k], color="r", lw=0.8, label="fit")
        ax.set(title=name, yticks=[])
    axes[0][0].legend()
    return cast("Figure", figure)


def rate_bands(posterior: Posterior, first: int) -> tuple[Floats, Floats]:
    """Return times, and quantiles of amplitude * t**power + offset at them.

    The three parameters are those from place ``first`` on: of D(t), or of the shear rate.
    """
    facts = posterior.facts
    t = np.arange(1, facts["n_frame"] + 1) * facts["dt"]
    flat = posterior.theta.reshape(-1, posterior.theta.shape[2])
    take = np.linspace(0, len(flat) - 1, min(_BAND_DRAWS, len(flat))).astype(int)
    amplitude, power, offset = flat[take, first : first + 3].T[:, :, None]
    curves = amplitude * t**power + offset
    return t, np.quantile(curves, [0.03, 0.25, 0.5, 0.75, 0.97], axis=0)


def _band(posterior: Posterior, first: int, word: str) -> Figure:
    figure, axes = _rows(1, 1, 3.2)
    ax = axes[0][0]
    t, (low, lower, middle, upper, high) = rate_bands(posterior, first)
    ax.fill_between(t, low, high, alpha=0.25, label="94 %")
    ax.fill_between(t, lower, upper, alpha=0.4, label="50 %")
    ax.plot(t, middle, label="median")
    ax.set(xlabel="time (s)", ylabel=word, xscale="log")
    ax.legend()
    return cast("Figure", figure)


def _diffusion(posterior: Posterior, names: Sequence[str]) -> Figure:
    del names
    return _band(posterior, 0, "D(t) (Å²/s)")


def _shear(posterior: Posterior, names: Sequence[str]) -> Figure:
    del names
    if posterior.theta.shape[2] < 6:
        raise _core.ArgumentError(f"kind: {posterior.mode} has no shear rate; choose 'diffusion'")
    return _band(posterior, 3, "shear rate (1/s)")


KINDS: dict[str, Callable[[Posterior, Sequence[str]], Figure]] = {
    "trace": _trace,
    "rank": _rank,
    "pair": _pair,
    "forest": _forest,
    "energy": _energy,
    "autocorrelation": _autocorrelation,
    "ess": _ess,
    "prior": _prior,
    "diffusion": _diffusion,
    "shear": _shear,
}


def draw(posterior: Posterior, kind: str, names: Any) -> Figure:
    """Draw a kind of figure."""
    if kind not in KINDS:
        raise _core.ArgumentError(f"kind: {kind!r}; choose one of {', '.join(KINDS)}")
    wanted = [names] if isinstance(names, str) else list(names or posterior.free_names)
    for name in wanted:
        if name not in posterior.names:
            raise _core.ArgumentError(
                f"names: {name!r} was not drawn; there are {', '.join(posterior.names)}"
            )
    return KINDS[kind](posterior, wanted)

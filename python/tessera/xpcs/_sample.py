"""Sampling: from data, or from a fit of them, to the draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session, defaults, warn
from tessera._progress import ProgressLike, callback
from tessera._session import Lease
from tessera._tables import split_options, takes_options
from tessera.xpcs._arguments import names_of
from tessera.xpcs._config import Settings, is_options, settings_of
from tessera.xpcs._data import Data, as_data
from tessera.xpcs._fit import fit as fit_data
from tessera.xpcs._posterior import ARRAYS, Posterior
from tessera.xpcs._priors import named_priors
from tessera.xpcs._result import Result

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._arguments import PathLike
    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._keywords import SampleKeywords

__all__ = ["combine", "sample"]

# Options of a fit that say how to go over the data, which holds for sampling too.
_OF_PASSES = ("precision", "strategy", "chunk_tiles", "max_retries")


def _own_names(options: Mapping[str, Any], others: Mapping[str, int | None]) -> dict[str, Any]:
    """Return options by the names of the table; two names for one are an error."""
    found = dict(options)
    for name, value in others.items():
        if value is None:
            continue
        own = name.removesuffix("s")
        if own in found:
            raise _core.ArgumentError(f"{name}: the same as {own}, which is given too; give one")
        found[own] = value
    return found


def _check_model(said: Mapping[str, Any], fit: Result) -> None:
    for name, value in said.items():
        own = fit.model_options[name]
        if value is not None and value != own:
            raise _core.ArgumentError(
                f"{name}: {value!r}, but the fit has {own!r}; leave it out, or fit again"
            )


def _fitted(
    data: Any, config: Any, fit: Any, model: dict[str, Any], lease: dict[str, Any]
) -> Result:
    """Return the fit to begin from: as given, of the data, or made."""
    if isinstance(data, Result):
        if fit is not None:
            raise _core.ArgumentError("fit: data is a fit already; give data, or leave fit out")
        fit = data
    if isinstance(fit, Result):
        _check_model(model, fit)
        return fit
    if fit is not None and not isinstance(fit, Mapping):
        raise _core.ArgumentError(
            f"fit: expected a Result of tessera.xpcs.fit(), or a dict of its options, got {fit!r}"
        )
    made = fit_data(data, config, **{**lease, **model, **dict(fit or {})})
    if not made.success:
        warn("sampling begins where a fit stopped that did not converge")
    return made


def _with_settings(own: dict[str, Any], settings: Settings | None) -> dict[str, Any]:
    """Return options with those of a configuration beneath; a shard is a part of its consensus."""
    if settings is None:
        return own
    said = {name: value for name, value in own.items() if value is not None}
    found = {**settings.sampling, **said}
    if found.get("method") == "consensus" and (said.get("shard") or "n_shard" in said):
        found["method"] = said.get("method", "nuts")
    return found


def _with_priors(named: dict[str, Any], settings: Settings | None, mode: str) -> dict[str, Any]:
    """Return priors with those of a configuration where nothing else is said."""
    if settings is None:
        return named
    n = len(names_of(mode))
    found = dict(named)
    for name, said in settings.priors.items():
        if name.endswith("_prior"):
            found.setdefault(name, said)
        elif not np.isnan(said[:n]).all():
            given = named.get(name)
            found[name] = said[:n] if given is None else np.where(np.isnan(given), said[:n], given)
    return found


def _plain(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers and words of the library; None for a number that is not known."""
    found = {k: v for k, v in info.items() if isinstance(v, int | float | str)}
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in found.items()}


def _facts(fit: Result, options: Mapping[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    table = dict(defaults("xpcs.sample")) | {k: v for k, v in options.items() if v is not None}
    return {
        **table,
        **_plain(info),
        "mode": fit.mode,
        "kernel": fit.kernel,
        "names": fit.physical_names,
        "dt": fit._info["dt"],
        "gap": fit._info["gap"],
        "n_frame": fit.data.n_frame,
        "n_used": fit.n_used,
        "keep_t0": bool(fit.data.keep_t0),
        "fit_chi2": fit.chi2,
        "fit_reduced_chi2": fit.reduced_chi2,
        "data_fingerprint": fit.data_fingerprint,
        "version": fit.version,
    }


@takes_options("xpcs.model", "xpcs.sample")
def sample(
    data: Data | Result | PathLike | Mapping[str, Any],
    config: ConfigLike = None,
    *,
    fit: Result | Mapping[str, Any] | None = None,
    n_chains: int | None = None,
    n_draws: int | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    resume: bool | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[SampleKeywords],
) -> Posterior:
    """Draw from the exact posterior by NUTS, contrast and offset of every angle integrated out.

    All data count at every step. The same draws for any number of threads.

    Parameters
    ----------
    data : Data, Result, path or dict
        As in :func:`fit`; or a fit, whose data, model, bounds and fixed parameters hold.
    config : path, dict, Settings or ConfigManager, optional
        As in :func:`fit`; what ``optimization.mcmc`` and ``optimization.cmc`` say holds where no
        keyword says otherwise.
    fit : Result or dict, optional
        Where to begin, of a linear loss; or options for the fit that is made, such as
        ``{"bounds": {"alpha": (-2, 0)}, "n_start": 8}``.
    n_chains, n_draws : int, optional
        Other words for ``n_chain`` and ``n_draw``.
    prior : dict of (mean, sd), optional
        Normal priors by parameter, over what ``priors`` says; ``contrast`` and ``offset`` may be
        among them.
    {options}
    checkpoint, checkpoint_every, keep_checkpoints, resume
        As in :func:`fit`: a run that was stopped goes on to the same draws.
    threads, memory_limit, device, progress, context
        As in :func:`fit`.

    Returns
    -------
    Posterior
        Draws, and how well the chains mixed.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> fitted = tx.fit(data, mode="static_isotropic", sigma=0.01)
    >>> found = tx.sample(fitted, n_warmup=200, n_draw=250)
    >>> found.theta.shape, found.diagnostics["n_divergent"]
    ((4, 250, 3), 0)
    """
    if isinstance(config, Mapping) and is_options(config):
        options = {**config, **options}  # type: ignore[typeddict-item]
        config = None
    named = _own_names(options, {"n_chains": n_chains, "n_draws": n_draws})
    model, own = split_options("sample", named, "xpcs.model", "xpcs.sample")
    place: dict[str, Any] = {"threads": threads, "memory_limit": memory_limit, "device": device}
    lease = {**place, "context": context, "progress": progress}
    if fit is None and not isinstance(data, Result):
        settings = settings_of(config)
        data = as_data(data, settings)
    fitted = _fitted(data, config, fit, model, lease)
    given = as_data(data, settings_of(config)) if not isinstance(data, Result) else fitted.data
    settings = settings_of(config) or fitted.data.settings
    own = _with_settings(own, settings)
    priors = _with_priors(named_priors(prior, fitted.mode), settings, fitted.mode)
    if settings is not None and context is None:
        place = {
            name: getattr(settings, name) if value is None else value
            for name, value in place.items()
        }
    passes: Mapping[str, Any] = fit if isinstance(fit, Mapping) else {}
    if resume and checkpoint is None:
        raise _core.ArgumentError("resume: there is nothing to go on from without checkpoint=...")
    if resume is None and checkpoint is not None:
        resume = True
    with Lease(context, **place, ranks=True) as ctx:
        try:
            handle = _core.xpcs_sample(
                ctx,
                given._handle,
                fitted.model_options,
                fitted._handle,
                own,
                fit_options={name: passes[name] for name in _OF_PASSES if name in passes},
                settings=None if settings is None else settings._handle,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                keep_checkpoints=keep_checkpoints,
                resume=None if resume is None else int(resume),
                progress=callback(progress),
                **priors,
            )
        except BaseException as error:
            if checkpoint is not None and isinstance(error, KeyboardInterrupt | _core.Cancelled):
                error.add_note(f"To continue: sample the same data with checkpoint={checkpoint!r}")
            raise
    info = _core.xpcs_posterior_info(handle)
    return _posterior(handle, info, _facts(fitted, own, info))


def _posterior(handle: _core.Handle, info: dict[str, Any], facts: dict[str, Any]) -> Posterior:
    arrays = {name: np.asarray(info[name]) for name in ARRAYS}
    # Shards are combined elsewhere, perhaps: they keep what the library needs for that.
    packed = _core.xpcs_posterior_pack(handle) if facts["shard"] else b""
    return Posterior(arrays, facts, packed)


def combine(posteriors: Sequence[Posterior], *, robust_upstream: bool = False) -> Posterior:
    """Combine draws of all shards of one data set (``sample(..., shard=k, n_shard=n)``).

    Parameters
    ----------
    posteriors : list of Posterior
        Each shard once, sampled with the same options.
    robust_upstream : bool, default False
        As the original's robust_consensus_mc does, every parameter by itself; else by full
        covariances.

    Returns
    -------
    Posterior
        Draws of the whole; ``facts["method"]`` is 'consensus'.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=60, dt=0.1, sigma=0.01)
    >>> fitted = tx.fit(data, mode="static_isotropic", sigma=0.01)
    >>> options = {"n_warmup": 200, "n_draw": 250, "n_shard": 2}
    >>> shards = [tx.sample(fitted, shard=k, **options) for k in (1, 2)]
    >>> tx.combine(shards).theta.shape
    (4, 250, 3)
    """
    own = list(posteriors)
    if not own or not all(isinstance(p, Posterior) and p.packed for p in own):
        raise _core.ArgumentError(
            "posteriors: expected one or more of sample(..., shard=k, n_shard=n)"
        )
    with Session() as ctx:
        handle = _core.xpcs_combine(ctx, [p.packed for p in own], robust_upstream)
    info = _core.xpcs_posterior_info(handle)
    return _posterior(handle, info, {**own[0].facts, **_plain(info), "shard": 0})

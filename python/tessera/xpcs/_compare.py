"""Which model the data speak for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, cast

from tessera import _core
from tessera._progress import ProgressLike, callback
from tessera._session import Lease
from tessera._tables import split_options, takes_options
from tessera.xpcs._data import Data, as_data

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._arguments import PathLike
    from tessera.xpcs._keywords import SampleKeywords

__all__ = ["Evidence", "compare_models"]

_MODELS = ("static_isotropic", "static_anisotropic", "laminar_flow")


class Evidence(TypedDict):
    """What is known of one model; logarithms of densities of the data, NaN where there is none."""

    model: str
    log_evidence: float
    log_evidence_error: float
    probability: float
    log_bayes_factor: float
    log_bayes_factor_error: float
    bridge: float
    bridge_error: float
    importance: float
    importance_error: float
    pareto_k: float
    laplace: float
    r_hat: float
    chi2: float
    aic: float
    bic: float
    n_free: int
    verdict: str
    is_converged: bool
    is_doubtful: bool
    notes: str


@takes_options("xpcs.model", "xpcs.sample")
def compare_models(
    data: Data | PathLike | Mapping[str, Any],
    models: Iterable[str] = _MODELS,
    *,
    path: PathLike | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[SampleKeywords],
) -> list[Evidence]:
    """Weigh models of the same data by marginal likelihood.

    Every model is fitted and sampled with its own starts, bounds and priors. ``method`` nuts
    estimates by bridge sampling and by importance, laplace by importance alone.

    Parameters
    ----------
    data : Data, path or dict
        As in :func:`fit`.
    models : list of str
        Modes, each once.
    path : path, optional
        Write the table there: JSON where it ends with .json, else a page of HTML.
    overwrite : bool, default False
        Replace the file if it exists.
    {options}
    threads, memory_limit, device, progress, context
        As in :func:`fit`; results do not depend on threads.

    Returns
    -------
    list of dict
        By model: ``log_evidence`` with its error, ``probability`` (all models being as likely
        before), ``log_bayes_factor`` against the best and its ``verdict`` in words, both
        estimates, and why it ``is_doubtful`` (``notes``).

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=30, dt=0.1, gap=2e6)
    >>> static = ["static_isotropic", "static_anisotropic"]
    >>> rows = tx.compare_models(data, static, method="laplace", n_draw=200)
    >>> [row["verdict"] for row in rows][0]
    'the best'
    """
    if "mode" in options:
        raise _core.ArgumentError("mode: models are named by models=[...]")
    model, own = split_options("compare_models", options, "xpcs.model", "xpcs.sample")
    given = as_data(data, None)
    names = ",".join([models] if isinstance(models, str) else models)
    with Lease(context, threads=threads, memory_limit=memory_limit, device=device) as ctx:
        rows = _core.xpcs_compare(
            ctx,
            given._handle,
            names,
            model,
            own,
            progress=callback(progress),
            path=path,
            overwrite=overwrite,
        )
    return cast("list[Evidence]", rows)

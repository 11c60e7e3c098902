"""Whether the operations hold their promises on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tessera import _core
from tessera._lib import Session
from tessera._progress import ProgressLike, callback
from tessera._tables import split_options, takes_options
from tessera.clifford._spec import MetricLike, metric_text

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.clifford._keywords import CheckKeywords, Finding


@takes_options("clifford.check")
def check(
    metric: MetricLike,
    *,
    threads: int | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[CheckKeywords],
) -> list[Finding]:
    """Check equivariance, gradients and repeatability of the operations in an algebra.

    Parameters
    ----------
    metric : str, sequence of int or Algebra
        The algebra.
    {options}
    threads : int, optional
        Default: see :func:`tessera.set_num_threads`.
    device : str, optional
        'cpu', 'cuda' ...
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    context : tessera.Context, optional
        Used instead of threads and device.

    Returns
    -------
    list of dict
        ``name``, ``dtype``, ``error``, ``allowed``, ``is_control`` (a case that must exceed what
        is allowed) and ``passed``.

    Examples
    --------
    >>> import tessera.clifford as tc
    >>> all(entry["passed"] for entry in tc.check("+", rows=3, features=8))
    True
    """
    (own,) = split_options("check", options, "clifford.check")
    with Session(context, threads=threads, device=device) as ctx:
        found = _core.clifford_check(ctx, metric_text(metric), own, callback(progress))
    return cast("list[Finding]", found)

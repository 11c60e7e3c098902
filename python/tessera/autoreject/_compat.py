"""``import autoreject`` that finds this package, for pipelines which import the original."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tessera.compat import install


@contextmanager
def compat() -> Iterator[None]:
    """Let ``import autoreject`` find this package inside a ``with`` block.

    Code that is imported inside the block keeps what it imported. To do it for a whole program that
    is not yours, run ``python -m tessera.autoreject SCRIPT``, or import tessera.autoreject with
    TESSERA_AUTOREJECT_ALIAS=1 in the environment. ``tessera.compat.install`` does it for all of the
    originals.

    Returns
    -------
    context manager
        For ``with``.

    Examples
    --------
    >>> from tessera.autoreject import compat
    >>> with compat():
    ...     from autoreject import AutoReject
    >>> AutoReject.__module__
    'tessera.autoreject.autoreject'
    """
    with install("autoreject"):
        yield

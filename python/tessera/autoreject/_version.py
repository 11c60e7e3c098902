"""Versions: Tessera's, and that of the original whose interface is followed."""

from __future__ import annotations

from importlib import metadata

from tessera import __version__

__all__ = ["ORIGINAL", "__version__", "version"]

ORIGINAL = "0.5.1"


def version(distribution_name: str) -> str:
    """Return the version of an installed package.

    Parameters
    ----------
    distribution_name : str
        Name on PyPI.

    Returns
    -------
    str
        For 'autoreject', where it is not installed, the release whose names and answers are here:
        a script that asks whether it is new enough gets a true answer.

    Examples
    --------
    >>> from tessera.autoreject import version
    >>> version("autoreject").split(".")[0]
    '0'
    """
    try:
        return metadata.version(distribution_name)
    except metadata.PackageNotFoundError:
        if distribution_name == "autoreject":
            return ORIGINAL
        raise

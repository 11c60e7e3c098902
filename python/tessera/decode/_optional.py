"""Packages that only some functions need."""

from __future__ import annotations

import importlib
from typing import Any


def needed(package: str, purpose: str) -> Any:
    """Import a package that is no requirement of ours.

    Parameters
    ----------
    package : str
        Its name for import, which is pip's, too.
    purpose : str
        What it is needed for; the subject of the sentence that tells of its absence.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise ImportError(f"{purpose} needs {name} (pip install {name})") from None

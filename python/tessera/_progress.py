"""What ``progress=`` takes, for every system alike; :mod:`tessera._bars` draws."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal, TypeAlias

from tessera._core import ArgumentError, Progress

# The words of TESSERA_PROGRESS and of the command's --progress.
Style: TypeAlias = Literal["auto", "bar", "plain", "json", "none"]
ProgressLike: TypeAlias = bool | Style | Callable[[Progress], object] | None

_STYLES = ("auto", "bar", "plain", "json", "none")


def callback(progress: ProgressLike) -> Callable[[Progress], object] | None:
    """Turn what the user gave into a function, or None for silence.

    None leaves it to TESSERA_PROGRESS, without which a library is silent. True shows it in any
    case: as TESSERA_PROGRESS says, else as a bar where somebody watches and as lines in a log.
    """
    if callable(progress):
        return progress
    if progress is None:
        return _drawn(_from_environment() or "none")
    if progress is False:
        return None
    if progress is True:
        said = _from_environment()
        return _drawn(said if said in ("bar", "plain", "json") else _loud())
    return _drawn(_checked("progress", progress))


def callback_if_watched() -> Callable[[Progress], object] | None:
    """Return what a caller gets who has said neither yes nor no, but whose default is yes."""
    return _drawn(_from_environment() or "auto")


def is_watched() -> bool:
    """Say whether a person sees what is drawn: in a terminal, or in a notebook."""
    isatty = getattr(sys.stderr, "isatty", None)
    return (isatty is not None and isatty()) or is_notebook()


def is_notebook() -> bool:
    """Say whether this is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")


def _loud() -> str:
    return "bar" if is_watched() else "plain"


def _from_environment() -> str | None:
    said = os.environ.get("TESSERA_PROGRESS")
    return _checked("TESSERA_PROGRESS", said) if said else None


def _checked(name: str, style: object) -> str:
    if not isinstance(style, str) or style not in _STYLES:
        also = ", True, False, None or a function" if name == "progress" else ""
        raise ArgumentError(
            f"{name}: {style!r} is not known; choose one of {', '.join(_STYLES)}{also}"
        )
    return style


def _drawn(style: str) -> Callable[[Progress], object] | None:
    if style == "none" or (style == "auto" and not is_watched()):
        return None
    from tessera import _bars

    return _bars.make(style)

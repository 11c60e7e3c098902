"""Parameters that several calls share, written once: docstrings that are filled in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

_Thing = TypeVar("_Thing", bound=Callable[..., Any])

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def _entries(doc: str) -> list[tuple[list[str], str]]:
    """Return the names and the text of every entry of the section of parameters."""
    found = _SECTION.search(doc)
    if found is None:
        return []
    texts = [text.rstrip() for text in _ENTRY.split(found[1]) if text.strip()]
    return [(re.split(r",\s*", text.partition(" :")[0].split("\n")[0]), text) for text in texts]


def parameters_of(*others: Callable[..., Any]) -> Callable[[_Thing], _Thing]:
    """Put the parameters that a thing shares with others where its docstring has a line.

    The line is ``{parameters}``, alone. What stands in the docstring itself is not repeated, and
    the order is that of the signature.
    """

    def decorate(thing: _Thing) -> _Thing:
        doc = inspect.getdoc(thing)
        if not doc or "{parameters}" not in doc:  # absent under python -OO
            return thing
        names = [name for name in inspect.signature(thing).parameters if name != "self"]
        own = {name.lstrip("*") for entry, _ in _entries(doc) for name in entry}
        texts: dict[str, int] = {}
        for other in others:
            for entry, text in _entries(inspect.getdoc(other) or ""):
                bare = [name.lstrip("*") for name in entry]
                wanted = [name for name in bare if name in names and name not in own]
                if wanted:
                    kept = [name for name in entry if name.lstrip("*") in wanted]
                    texts[", ".join(kept) + text[len(", ".join(entry)) :]] = names.index(wanted[0])
                    own.update(wanted)
        ordered = sorted(texts, key=lambda text: texts[text])
        thing.__doc__ = doc.replace("{parameters}", "\n".join(ordered))
        return thing

    return decorate

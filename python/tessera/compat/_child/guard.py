"""Large files of the working folder are links to the user's; one that is written is replaced."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any


def protect_links(root: str) -> None:
    """Give a file of its own to whoever opens a link below `root` for writing, from now on."""
    inside = os.path.join(os.path.realpath(root), "")

    def before(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        flags = arguments[2] or 0
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if not writes or not path.startswith(inside) or not os.path.islink(path):
            return
        target = os.path.realpath(path)
        os.unlink(path)
        if not flags & os.O_TRUNC and os.path.isfile(target):
            shutil.copy2(target, path)

    sys.addaudithook(before)

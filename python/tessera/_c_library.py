"""Where programs in C find the library that comes with the package."""

from __future__ import annotations

from pathlib import Path

from tessera._core import NotFoundError


def _installed(folder: str, file: str) -> str:
    path = Path(__file__).resolve().parent / folder
    if not (path / file).is_file():
        raise NotFoundError(
            f"{path} has no {file}: this package is used from its source tree; install it with "
            "pip, or see include/ there"
        )
    return str(path)


def get_include() -> str:
    """Folder to give a C compiler with ``-I``.

    Returns
    -------
    str
        The folder that holds ``tessera/tessera.h``.
    """
    return _installed("include", "tessera/tessera.h")


def get_pkgconfig_dir() -> str:
    """Folder to put into ``PKG_CONFIG_PATH``, so that ``pkg-config --cflags --libs tessera`` works.

    Programs linked so find the library where pip has put it.

    Returns
    -------
    str
        The folder that holds ``tessera.pc``.
    """
    return _installed("lib/pkgconfig", "tessera.pc")

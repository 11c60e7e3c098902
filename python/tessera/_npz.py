"""Arrays in .npz files that are there whole or not at all, and never run anything."""

from __future__ import annotations

import json
import os
import secrets
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from socket import gethostname
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tessera import _core
from tessera._core import DTypeError, FormatError

_PROVENANCE = "tessera_provenance"
_PathLike = str | os.PathLike[str]

# What zipfile and NumPy make of damaged files.
_ODD = (
    ArithmeticError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


@contextmanager
def replacing(path: _PathLike) -> Iterator[str]:
    """Lend a name to write to, and give the file that is there its own name at the end.

    Parameters
    ----------
    path : path
        What the file is to be called. One that exists is replaced when the new one is complete and
        on disk; after an exception it is as it was.
    """
    # The library's pattern (tess_temp_name()), by which it sweeps what a killed process left.
    host = reduce(lambda total, byte: (31 * total + byte) & 0xFFFF, gethostname().encode(), 0)
    name = f"{os.fspath(path)}.tmp.{os.getpid()}.{host:04x}{secrets.token_hex(2)}"
    try:
        yield name
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def write_npz(
    path: _PathLike, arrays: dict[str, Any], stage: str, *, compress: bool = False
) -> None:
    """Write arrays by name, and what made them.

    Parameters
    ----------
    path : path
        Where to; an existing file is replaced.
    arrays : dict of array
        Objects, which NumPy would pickle, are refused.
    stage : str
        What the provenance says was done.
    compress : bool, default False
        Deflate.
    """
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise DTypeError(f"{name}: an array of objects, which a file cannot hold")
    provenance = {
        "schema": "tessera.provenance/1",
        "tessera": _core.version(),
        "commit": _core.build_commit(),
        "stage": stage,
    }
    write: Any = np.savez_compressed if compress else np.savez
    with replacing(path) as temporary, open(temporary, "wb") as file:
        write(file, **arrays, **{_PROVENANCE: json.dumps(provenance)})


def read_npz(path: _PathLike) -> dict[str, Any]:
    """Read all arrays of a file by name, but for its provenance."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name != _PROVENANCE}
    except _ODD as error:
        raise FormatError(f"{os.fspath(path)}: no .npz file, or a damaged one ({error})") from error

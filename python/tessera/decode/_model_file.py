"""Files of models and environments: arrays in an .npz, and a tree of objects that refers to them.

Nothing in a file is run. The arrays of a model that the command has, too, are under its names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tessera import _core
from tessera._core import FormatError
from tessera._npz import write_npz
from tessera.decode._data import Array
from tessera.decode._plain import Read, Reader, Writer
from tessera.decode._session import Session

_TREE = "python"
_SCHEMA = b"tessera.decode.python/1"
_DIGEST_BYTES = 16
_HDF5_NAMES = (".h5", ".hdf5", ".hdf", ".nc")
# What odd content of a file makes of our own code; messages of the library pass as they are.
_ODD = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save(
    value: Any, filename: str | Path, put: Callable[[Writer, Any], bool] | None = None
) -> None:
    """Write an object; what could not be read back is not written.

    Parameters
    ----------
    value : object
        Of a class of ours.
    filename : path
        Where to.
    put : callable, optional
        Adds arrays of another reader's, and returns whether there are any.
    """
    if os.fspath(filename).endswith(_HDF5_NAMES):
        raise FormatError(
            f"{filename}: model files of Python are .npz; choose another name, or write HDF5 with "
            "'tessera decode fit'"
        )
    writer = Writer()
    if put is None or not put(writer, value):
        writer.put(np.array([_SCHEMA]), "schema")
    text = writer.text(value)
    Reader(text, writer.arrays.__getitem__).root()
    tree = text.encode()
    writer.put(np.frombuffer(_digest(tree) + tree, dtype=np.uint8), _TREE)
    write_npz(filename, writer.arrays, "decode.model")


def load(filename: str | Path, foreign: Callable[[Read], Any] | None = None) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    filename : path
        Where from.
    foreign : callable, optional
        Makes an object of a file without a tree, from a function that reads arrays by name.
    """
    _refuse_pickle(filename)
    with Session() as context:
        found = _core.list_file(context, filename)["datasets"]
        known = {each["name"].lstrip("/"): each for each in found}
        read = _reader(context, filename, known)
        try:
            if _TREE not in known and foreign is not None:
                return foreign(read)
            return Reader(_tree(read(_TREE).tobytes()), read).root()
        except _core.Error as error:
            if os.fspath(filename) in str(error):
                raise
            raise type(error)(f"{filename}: {error}") from error
        except _ODD as error:
            raise FormatError(
                f"{filename}: no model file, or a damaged one ({type(error).__name__}: {error})"
            ) from error


def _digest(tree: bytes) -> bytes:
    return hashlib.blake2b(tree, digest_size=_DIGEST_BYTES).digest()


def _tree(content: bytes) -> str:
    digest, tree = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if _digest(tree) != digest:
        raise ValueError("its tree is not what was written")
    return tree.decode()


def _refuse_pickle(filename: str | Path) -> None:
    with open(filename, "rb") as file:
        start = file.read(2)
    if len(start) == 2 and start[0] == 0x80 and start[1] <= 0x10:
        raise FormatError(
            f"{filename}: is a pickle, which can run code when it is opened; Tessera reads none. "
            "Fit the model again and save it; or, if you trust whoever wrote the file, open it "
            "with pickle.load() yourself and call save_model() on what that gives"
        )


def _reader(context: _core.Context, filename: str | Path, known: dict[str, Any]) -> Read:
    """Return a function that reads an array by name."""

    def read(name: str) -> Array:
        if name not in known:
            raise KeyError(f"there is no data set {name!r}")
        array = np.asarray(_core.read_file(context, filename, known[name]["name"]))
        kind = {"bytes": "S", "ucs4": "U"}.get(known[name]["dtype"])
        if kind is None:
            return array
        width = array.shape[-1] // (1 if kind == "S" else 4)
        return array.view(f"{kind}{width}")[..., 0]

    return read

"""Objects of ours as plain data: numbers, texts, lists and arrays, nothing that could run.

An object becomes the name of its class and what the class's ``_state()`` says, or the fields of a
dataclass; ``_from_state()`` or the constructor makes it again. The tree is JSON; arrays are members
of the file beside it. Only classes of :mod:`tessera.decode` have names here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tessera import decode
from tessera.decode._data import Array
from tessera.decode.exceptions import ValidationError

Read: TypeAlias = Callable[[str], Array]  # an array by its name

_HIDDEN = {"EncodingModel": "_encoding", "Design": "_formula"}
_TYPES = frozenset("?bhilqBHILQfdSU")
_MAX_RANK = 5


def digest_of(array: Array) -> str:
    """Return what tells an array from others: of its type, its shape and its content."""
    found = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=16)
    found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _class_of(name: str) -> Any:
    """Return the class of a name, None if there is none that a file may hold."""
    home = _HIDDEN.get(name) or decode._MODULE_OF.get(name)
    if home is None:
        return None
    found = getattr(importlib.import_module(f"{decode.__name__}.{home}"), name)
    is_plain = hasattr(found, "_from_state") or dataclasses.is_dataclass(found)
    return found if isinstance(found, type) and is_plain else None


def _fields_of(value: Any) -> dict[str, Any]:
    if hasattr(value, "_state"):
        state: dict[str, Any] = value._state()
        return state
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


class Writer:
    """Turns objects into a tree, and gathers the arrays of a file."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._name_of: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._objects: list[Any] = []
        self._place_of: dict[int, int] = {}

    def put(self, array: Array, name: str | None = None) -> str:
        """Add an array; one with the same content is there once, under its first name."""
        array = np.ascontiguousarray(array)
        content = digest_of(array)
        if name is None and content in self._name_of:
            return self._name_of[content]
        name = name or f"array_{len(self.arrays)}"
        self._name_of.setdefault(content, name)
        self.arrays[name] = array
        self._digests[name] = content
        return name

    def text(self, root: Any) -> str:
        """Return an object and all it holds as JSON."""
        tree = self._plain(root, type(root).__name__)
        parts = {"arrays": self._digests, "objects": self._objects, "root": tree}
        return json.dumps(parts, allow_nan=False)

    def _plain(self, value: Any, where: str) -> Any:
        """Return a value as JSON has it; what JSON has not is a mapping of its kind to it."""
        is_finite = type(value) is float and math.isfinite(value)
        if value is None or type(value) in (bool, int, str) or is_finite:
            return value
        if isinstance(value, list):
            return [self._plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if type(value) is float:
            return {"float": repr(value)}
        return self._container(value, where)

    def _container(self, value: Any, where: str) -> Any:
        if type(value) is tuple:
            return {"tuple": self._plain(list(value), where)}
        if isinstance(value, range):
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, dict):
            pairs = [
                [self._plain(key, where), self._plain(item, f"{where}[{key!r}]")]
                for key, item in value.items()
            ]
            return {"dict": pairs}
        name = type(value).__name__
        if _class_of(name) is type(value):
            return {"object": self._object(name, value, where)}
        if hasattr(value, "__array__"):
            return self._array(np.asarray(value), where, is_scalar=isinstance(value, np.generic))
        raise ValidationError(
            f"{where} is a {name}, which a model file cannot hold: files have numbers, texts, "
            "arrays and Tessera's own classes; keep such a model by pickle.dump(model, file), and "
            "open only pickles you trust"
        )

    def _array(self, array: Array, where: str, *, is_scalar: bool) -> Any:
        if array.dtype.char not in _TYPES or array.ndim > _MAX_RANK:
            raise ValidationError(
                f"{where}: a model file cannot hold {array.dtype} with {array.ndim} axes"
            )
        if array.dtype.itemsize == 0:
            array = array.astype(f"{array.dtype.char}1")
        kind = "scalar" if is_scalar else "array" if array.ndim else "point"
        return {kind: self.put(array)}

    def _object(self, name: str, value: Any, where: str) -> int:
        """Return the place of an object, which is there once however often it is held."""
        if id(value) not in self._place_of:
            state = {
                key: self._plain(item, f"{where}.{key}") for key, item in _fields_of(value).items()
            }
            self._place_of[id(value)] = len(self._objects)
            self._objects.append([name, state])
        return self._place_of[id(value)]


class Reader:
    """Makes the objects of a tree again; anything odd in it ends in some usual exception.

    Parameters
    ----------
    text : str
        What :meth:`Writer.text` made.
    read : callable
        Returns the array of a name.
    """

    def __init__(self, text: str, read: Read) -> None:
        self._tree: dict[str, Any] = json.loads(text)
        self._read = read
        self._objects: list[Any] = []

    def root(self) -> Any:
        """Return the object the tree is of."""
        # An object comes after those it holds.
        for name, state in self._tree["objects"]:
            self._objects.append(self._object(name, state))
        return self._value(self._tree["root"])

    def _object(self, name: Any, state: Mapping[str, Any]) -> Any:
        found = _class_of(name)
        if found is None:
            raise ValueError(f"there is no class {name!r}")
        values = {key: self._value(item) for key, item in state.items()}
        return found._from_state(values) if hasattr(found, "_from_state") else found(**values)

    def _value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._value(item) for item in node]
        if not isinstance(node, dict):
            return node
        ((kind, content),) = node.items()
        return getattr(self, f"_make_{kind}")(content)

    def _make_float(self, text: str) -> float:
        return float(text)

    def _make_tuple(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(self._value(items))

    def _make_range(self, ends: list[int]) -> range:
        return range(*ends)

    def _make_dict(self, pairs: list[Any]) -> dict[Any, Any]:
        return {self._value(key): self._value(item) for key, item in pairs}

    def _make_object(self, place: int) -> Any:
        return self._objects[place]

    def _make_array(self, name: str) -> Array:
        array = self._read(name)
        if digest_of(array) != self._tree["arrays"][name]:
            raise ValueError(f"data set {name!r} is not what was written")
        return array

    def _make_point(self, name: str) -> Array:
        return self._make_array(name).reshape(())

    def _make_scalar(self, name: str) -> Any:
        return self._make_array(name)[0]

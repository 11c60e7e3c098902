"""What a script computed, as numbers and texts with names.

Arrays become files, everything else a row of JSON: interpreters of both sides need not have the
same packages, nor the same versions of them.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_MOST_LEAVES = 20_000
_MOST_ITEMS = 1_000
_DEEPEST = 8
# Attributes that tell how long something took.
_CLOCK = re.compile(
    r"((execution|elapsed|wall|run|fit|compute|computation|total|cpu)_?time|elapsed|timestamp"
    r"|duration|_seconds|_date)(_s|_ms)?$"
)
_SKIPPED = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type,
    np.random.Generator,
    np.random.RandomState,
    np.random.SeedSequence,
)


class Collector:
    """Walks over values and keeps their leaves."""

    def __init__(self, folder: Path, owners: tuple[str, ...], root: str) -> None:
        self._folder = folder
        self._owners = owners  # packages whose properties are results
        self._root = root  # where this side ran; differs between sides
        self._open: list[int] = []
        self._files: dict[int, tuple[str, Any]] = {}
        self.rows: list[dict[str, Any]] = []
        self.left_out = 0

    def add(self, name: str, value: Any, *, is_clock: bool = False) -> None:
        """Keep a value and what it holds."""
        if is_clock:
            self._row(name, kind="clock")
            return
        if id(value) in self._open or len(self._open) >= _DEEPEST:
            return
        self._open.append(id(value))
        try:
            self._add(name, value)
        except Exception as error:  # one value that cannot be read is no reason to lose the others
            if len(self._open) > 1:
                raise
            self._row(name, kind="unread", value=f"{type(error).__name__}: {error}")
        finally:
            self._open.pop()

    def _row(self, name: str, **facts: Any) -> None:
        if len(self.rows) >= _MOST_LEAVES:
            self.left_out += 1
        else:
            self.rows.append({"name": name, **facts})

    def _add(self, name: str, value: Any) -> None:
        if value is None or isinstance(value, str | bytes | bool | Path | slice):
            text = str(value).replace(self._root, "")
            self._row(name, kind="text", value=text[:100_000])
        elif isinstance(value, int | float | complex | np.generic):
            self._array(name, np.asarray(value))
        elif isinstance(value, _SKIPPED):
            return
        elif isinstance(value, np.ndarray):
            self._array(name, value)
        else:
            self._add_object(name, value)

    def _array(self, name: str, array: np.ndarray[Any, Any]) -> None:
        if array.dtype.names:
            for part in array.dtype.names:
                self._array(f"{name}[{part!r}]", array[part])
            return
        if isinstance(array, np.ma.MaskedArray):
            array = array.filled(np.nan) if array.dtype.kind == "f" else array.filled()
        if array.dtype.kind == "O":
            self._objects(name, array)
            return
        if array.dtype.kind in "USM":
            self._row(name, kind="texts", shape=list(array.shape), value=_texts(array))
            return
        if array.dtype.kind == "m":
            array = array.astype("m8[ns]").astype(np.int64)
        if array.dtype.kind not in "biufc":  # bfloat16 and other types of libraries
            array = array.astype(np.float64)
        found = self._files.get(id(array))
        if found is None:
            path = self._folder / f"{len(self._files)}.npy"
            np.save(path, array, allow_pickle=False)
            # The array is kept, so that its id stays its own.
            found = self._files.setdefault(id(array), (path.name, array))
        self._row(name, kind="array", file=found[0])

    def _objects(self, name: str, array: np.ndarray[Any, Any]) -> None:
        for index in list(np.ndindex(array.shape))[:_MOST_ITEMS]:
            at = ", ".join(map(str, index))
            self.add(f"{name}[{at}]" if at else name, array[index])

    def _add_object(self, name: str, value: Any) -> None:
        for is_kind, walk in _KINDS:
            if is_kind(value):
                for part, inner in walk(value):
                    self.add(name + part, inner, is_clock=bool(_CLOCK.search(part)))
                return
        self._sequence_or_object(name, value)

    def _sequence_or_object(self, name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in list(value.items())[:_MOST_ITEMS]:
                clock = isinstance(key, str) and bool(_CLOCK.search(key))
                self.add(f"{name}[{key!r}]", inner, is_clock=clock)
        elif isinstance(value, set | frozenset):
            self._row(name, kind="text", value=str(sorted(map(str, value))))
        elif isinstance(value, list | tuple | range):
            self._sequence(name, value)
        elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
            self._array(name, _as_array(value))
        else:
            for attribute, inner in self._attributes(value):
                self.add(f"{name}.{attribute}", inner, is_clock=bool(_CLOCK.search(attribute)))

    def _sequence(self, name: str, value: Any) -> None:
        fields = getattr(value, "_fields", None)
        if fields is not None and isinstance(value, tuple):
            for part, inner in zip(fields, value, strict=True):
                self.add(f"{name}.{part}", inner)
            return
        if value and all(isinstance(x, int | float | np.number) for x in value):
            self._array(name, np.asarray(value))
            return
        if value and all(isinstance(x, str) for x in value):
            texts = list(value[:_MOST_ITEMS])
            self._row(name, kind="texts", shape=[len(value)], value=texts)
            return
        self._row(f"len({name})", kind="text", value=str(len(value)))
        for i, inner in enumerate(value[:_MOST_ITEMS]):
            self.add(f"{name}[{i}]", inner)

    def _attributes(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield public attributes, and properties where the class is an original's or ours."""
        seen = set()
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
        else:
            names = list(getattr(value, "__dict__", ()))
        if _package(type(value)) in self._owners:
            names += [
                name
                for cls in type(value).__mro__
                if _package(cls) in self._owners
                for name, inner in vars(cls).items()
                if isinstance(inner, property) or type(inner).__name__ == "cached_property"
            ]
        for name in names:
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                try:
                    yield name, getattr(value, name)
                except Exception:  # a property may have nothing to say yet
                    continue


def _package(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _texts(array: np.ndarray[Any, Any]) -> list[str]:
    return [str(item) for item in array.ravel()[:_MOST_ITEMS]]


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError):
        return np.from_dlpack(value)


# ---- Kinds of other packages, known by name: none of them is imported for this ------------------


def _named(package: str, *names: str) -> Callable[[Any], bool]:
    def is_kind(value: Any) -> bool:
        return any(_package(c) == package and c.__name__ in names for c in type(value).__mro__)

    return is_kind


def _tensor(value: Any) -> Iterator[tuple[str, Any]]:
    plain = value.detach().cpu()
    if plain.is_sparse or str(plain.dtype) in ("torch.bfloat16", "torch.float16"):
        plain = plain.to_dense() if plain.is_sparse else plain.float()
    yield "", plain.resolve_conj().numpy()
    if value.grad_fn is None and value.requires_grad and value.grad is not None:
        yield ".grad", value.grad


def _module(value: Any) -> Iterator[tuple[str, Any]]:
    for name, tensor in value.state_dict().items():
        yield f".{name}", tensor
    for name, parameter in value.named_parameters():
        if parameter.grad is not None:
            yield f".{name}.grad", parameter.grad


def _frame(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".index", value.index.to_numpy()
    for position, column in enumerate(value.columns):
        yield f"[{column!r}]", value.iloc[:, position].to_numpy()


def _series(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".index", value.index.to_numpy()
    yield "", value.to_numpy()


def _index(value: Any) -> Iterator[tuple[str, Any]]:
    yield "", value.to_numpy()


def _dataset(value: Any) -> Iterator[tuple[str, Any]]:
    for name, variable in value.variables.items():
        yield f".{name}", variable.values
    for name, attribute in value.attrs.items():
        yield f".attrs[{name!r}]", attribute


def _data_array(value: Any) -> Iterator[tuple[str, Any]]:
    yield "", value.values
    for name, coordinate in value.coords.items():
        yield f".{name}", coordinate.values


def _graph(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".nodes", {str(node): dict(facts) for node, facts in value.nodes(data=True)}
    yield ".edges", {str((a, b)): dict(facts) for a, b, facts in value.edges(data=True)}


def _mne(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".get_data()", value.get_data()
    yield ".ch_names", list(value.ch_names)
    yield ".info['bads']", list(value.info["bads"])
    if hasattr(value, "selection"):
        yield ".selection", value.selection


def _nothing(value: Any) -> Iterator[tuple[str, Any]]:
    del value
    yield from ()


def _is_drawing(value: Any) -> bool:
    return _package(type(value)) in ("matplotlib", "logging", "argparse", "_io", "concurrent")


_KINDS: list[tuple[Callable[[Any], bool], Callable[[Any], Iterator[tuple[str, Any]]]]] = [
    (_is_drawing, _nothing),
    (_named("torch", "Tensor"), _tensor),
    (_named("torch", "Module"), _module),
    (_named("torch", "Optimizer", "Generator", "device", "dtype"), _nothing),
    (_named("pandas", "DataFrame"), _frame),
    (_named("pandas", "Series"), _series),
    (_named("pandas", "Index"), _index),
    (_named("xarray", "Dataset"), _dataset),
    (_named("xarray", "DataArray"), _data_array),
    (_named("networkx", "Graph"), _graph),
    (_named("mne", "BaseEpochs", "Evoked"), _mne),
    (_named("mne", "BaseRaw", "Info"), _nothing),
]

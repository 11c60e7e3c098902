"""Two sides' values and files by name: equal, how far apart, or not there."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tessera.compat._side import Answer

_BLOCK = 1 << 22
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

Leaf = dict[str, Any]


@dataclass
class Row:
    """One value of both sides."""

    name: str
    verdict: str
    """equal, close, differs, shape, kind, 'only ours', 'only the original' or clock."""
    absolute: float | None = None
    relative: float | None = None
    """Of the largest difference and the largest number of the original."""
    note: str = ""
    own: float | None = None
    """The same, of the original run twice."""
    decides: bool = True
    """False for settings and the like inside objects, of which each side has its own."""

    @property
    def is_bad(self) -> bool:
        """Whether it speaks against "the same results"."""
        return self.decides and self.verdict in (
            "differs", "shape", "kind", "only ours", "only the original"
        )  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Return it for JSON, which knows no infinities."""
        facts = asdict(self)
        return {
            key: value if not isinstance(value, float) or math.isfinite(value) else str(value)
            for key, value in facts.items()
        }


def _blocks(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    a, b = a.reshape(-1), b.reshape(-1)
    for begin in range(0, a.size, _BLOCK):
        yield np.asarray(a[begin : begin + _BLOCK]), np.asarray(b[begin : begin + _BLOCK])


def _wide(x: Any) -> Any:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _compare_arrays(name: str, a: Any, b: Any, tolerance: float) -> Row:
    if a.shape != b.shape:
        shapes = f"{a.shape} and {b.shape}" if a.ndim or b.ndim else ""
        return Row(name, "shape", note=shapes)
    largest = scale = 0.0
    n_off = n_nan = 0
    for x, y in _blocks(a, b):
        with np.errstate(all="ignore"):
            wide_x, wide_y = _wide(x), _wide(y)
            same = (wide_x == wide_y) | (np.isnan(wide_x) & np.isnan(wide_y))
            n_off += int(np.count_nonzero(~same))
            difference = np.abs(wide_x - wide_y)[~same]
            n_nan += int(np.count_nonzero(~np.isfinite(difference)))
            finite = np.abs(wide_y[np.isfinite(wide_y)])
        scale = max(scale, float(finite.max(initial=0.0)))
        largest = max(largest, float(difference[np.isfinite(difference)].max(initial=0.0)))
    if n_off == 0:
        return Row(name, "equal", 0.0, 0.0)
    relative = math.inf if n_nan or scale == 0 else largest / scale
    # Integers are counts and indices: one that is another is a difference.
    is_exact = a.dtype.kind in "biu" and b.dtype.kind in "biu"
    is_close = relative <= tolerance and not is_exact
    row = Row(name, "close" if is_close else "differs", largest, relative)
    if n_nan:
        row.note = f"{n_nan} of {a.size} are not finite on one side"
    elif not is_close and a.size > 1:
        most = 0.0 if is_exact else tolerance * scale
        row.note = f"{_n_beyond(a, b, most)} of {a.size} beyond the tolerance"
    return row


def _n_beyond(a: Any, b: Any, most: float) -> int:
    return sum(int(np.count_nonzero(np.abs(_wide(x) - _wide(y)) > most)) for x, y in _blocks(a, b))


def _load(answer: Answer, leaf: Leaf) -> Any:
    return np.load(answer.values_folder / leaf["file"], mmap_mode="r", allow_pickle=False)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _compare_texts(name: str, a: Leaf, b: Leaf) -> Row:
    if a["value"] == b["value"]:
        return Row(name, "equal")
    if a.get("shape") != b.get("shape"):
        return Row(name, "shape", note=f"{a.get('shape')} and {b.get('shape')}")
    if isinstance(a["value"], str):
        return Row(name, "differs", note=f"{_short(a['value'])!r} and {_short(b['value'])!r}")
    return Row(name, "differs", note="texts")


def _bare(name: str) -> str:
    """Return a name without the function that it is local to."""
    return name.removeprefix("len(").partition("().")[2] or name.removeprefix("len(")


def _is_part(name: str) -> bool:
    """Return whether this is inside of something: then a side may have more of them."""
    return bool(re.search(r"[.[]", _bare(name)))


def _is_attribute(name: str) -> bool:
    """Return whether this is an attribute of an object, or below one."""
    return "." in re.sub(r"\[.*?\]", "", _bare(name))


def compare_values(ours: Answer, other: Answer, tolerance: float) -> list[Row]:
    """Compare what the scripts' names stand for."""
    a = {leaf["name"]: leaf for leaf in ours.facts.get("values", ())}
    b = {leaf["name"]: leaf for leaf in other.facts.get("values", ())}
    rows = []
    for name in dict.fromkeys([*b, *a]):
        if name not in a or name not in b:
            where = "only ours" if name in a else "only the original"
            is_part = _is_part(name)
            note = "part of an object" if is_part else ""
            rows.append(Row(name, where, note=note, decides=not is_part))
        elif "clock" in (a[name]["kind"], b[name]["kind"]):
            rows.append(Row(name, "clock", note="not compared"))
        elif "unread" in (a[name]["kind"], b[name]["kind"]):
            why = a[name].get("value") if a[name]["kind"] == "unread" else b[name].get("value")
            rows.append(Row(name, "unread", note=f"not compared: {why}"))
        elif a[name]["kind"] != b[name]["kind"]:
            kinds = f"{a[name]['kind']} and {b[name]['kind']}"
            rows.append(Row(name, "kind", note=kinds, decides=not _is_attribute(name)))
        elif a[name]["kind"] == "array":
            rows.append(
                _compare_arrays(name, _load(ours, a[name]), _load(other, b[name]), tolerance)
            )
        else:
            row = _compare_texts(name, a[name], b[name])
            row.decides = not _is_attribute(name)
            rows.append(row)
    return rows


# ---- Files --------------------------------------------------------------------------------------


def _json_leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _json_leaves(f"{name}[{key!r}]", inner)
    elif isinstance(value, list) and value and not any(isinstance(x, bool | str) for x in value):
        try:
            yield name, np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            for i, inner in enumerate(value):
                yield from _json_leaves(f"{name}[{i}]", inner)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _json_leaves(f"{name}[{i}]", inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, np.asarray(value)
    else:
        yield name, str(value)


def _csv_leaves(name: str, path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for number, column in enumerate(zip(*rows, strict=True)):
        try:
            numbers = np.asarray(column[1:], dtype=np.float64)
            yield f"{name}[{column[0]!r}]", numbers
        except ValueError:
            yield f"{name} column {number}", "\n".join(column)


def _file_leaves(name: str, path: Path) -> dict[str, Any]:
    """Return what a file holds, by name; empty for kinds that are compared by their bytes."""
    ending = path.suffix.lower()
    if ending == ".npy":
        return {name: np.load(path, mmap_mode="r", allow_pickle=False)}
    if ending == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return {f"{name}[{key!r}]": file[key] for key in file.files}
    if ending == ".json":
        return dict(_json_leaves(name, json.loads(path.read_text(encoding="utf-8"))))
    if ending == ".csv":
        return dict(_csv_leaves(name, path))
    return {}


def _compare_leaves(name: str, a: Any, b: Any, tolerance: float) -> Row:
    if isinstance(a, str) or isinstance(b, str):
        if not (isinstance(a, str) and isinstance(b, str)):
            return Row(name, "kind", note="number and text")
        return _compare_texts(name, {"value": a}, {"value": b})
    if a.dtype.kind in "biufc" and b.dtype.kind in "biufc":
        return _compare_arrays(name, a, b, tolerance)
    is_equal = a.shape == b.shape and bool(np.all(a == b))
    return Row(name, "equal" if is_equal else "differs")


def _compare_file(name: str, a: Path, b: Path, tolerance: float) -> Iterator[Row]:
    if a.read_bytes() == b.read_bytes():
        yield Row(name, "equal", note="byte by byte")
        return
    try:
        ours, others = _file_leaves(name, a), _file_leaves(name, b)
    except (ValueError, OSError, csv.Error):
        ours = others = {}
    if not ours and not others:
        yield Row(name, "file", note="written by both, other bytes; this kind is not looked into")
    for leaf in dict.fromkeys([*others, *ours]):
        if leaf not in others:  # where it comes from, and the like: nothing is missing
            yield Row(leaf, "only ours", note="part of a file", decides=False)
        elif leaf not in ours:
            yield Row(leaf, "only the original")
        else:
            yield _compare_leaves(leaf, ours[leaf], others[leaf], tolerance)


def compare_files(ours: Answer, other: Answer, tolerance: float) -> list[Row]:
    """Compare what the scripts wrote into the working folder."""
    rows: list[Row] = []
    for name in sorted({*ours.written, *other.written}):
        if name not in ours.written or name not in other.written:
            rows.append(Row(name, "only ours" if name in ours.written else "only the original"))
        else:
            a, b = ours.folder.work / name, other.folder.work / name
            rows += _compare_file(name, a, b, tolerance)
    return rows


# ---- What was printed ---------------------------------------------------------------------------


def _same_line(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return all(math.isclose(float(x), float(y), rel_tol=tolerance, abs_tol=0) for x, y in pairs)


def compare_printed(ours: str, other: str, tolerance: float) -> tuple[int, int, tuple[str, str]]:
    """Return the number of lines, how many differ, and the first pair that does."""
    a, b = ours.splitlines(), other.splitlines()
    n_line = max(len(a), len(b))
    a += [""] * (n_line - len(a))
    b += [""] * (n_line - len(b))
    off = [(x, y) for x, y in zip(a, b, strict=True) if not _same_line(x, y, tolerance)]
    return n_line, len(off), off[0] if off else ("", "")

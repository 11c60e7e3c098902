"""EEGLAB's files as MATLAB writes them: MAT 5 of either byte order, and MAT 7.3."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("Fz", "Cz", "Pz", "Oz", "F3", "F4")
N_TIME, N_TRIAL, RATE = 20, 7, 128.0


def samples(seed: int, n_trial: int = N_TRIAL) -> np.ndarray:
    """Return microvolts [channel][time][trial], single precision."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 20, (len(NAMES), N_TIME, n_trial)).astype(np.float32)


def recording(data: Any, *, n_trial: int = N_TRIAL, name: str = "") -> dict[str, Any]:
    """Return struct EEG of what samples() gives, or of the name of a file that holds them."""
    angle = 2 * np.pi * np.arange(len(NAMES)) / len(NAMES)
    places = 85 * np.stack([np.cos(angle) * 0.8, np.sin(angle) * 0.8, np.full(len(angle), 0.6)])
    kinds = ["left" if e % 3 else "right" for e in range(n_trial)]
    eeg = {
        "setname": name,
        "nbchan": float(len(NAMES)),
        "pnts": float(N_TIME),
        "trials": float(n_trial),
        "srate": RATE,
        "xmin": -0.0625,
        "xmax": -0.0625 + (N_TIME - 1) / RATE,
        "data": data,
        "chanlocs": [
            {"labels": n, "type": "EEG", "X": x, "Y": y, "Z": z}
            for n, x, y, z in zip(NAMES, *places, strict=True)
        ],
        "event": [
            {"type": kind, "latency": float(e * N_TIME + 9), "duration": 0.0}
            for e, kind in enumerate(kinds)
        ],
        "icaweights": np.zeros((0, 0)),
        "times": np.arange(N_TIME) * 1e3 / RATE,
    }
    if n_trial > 1:
        eeg["epoch"] = [{"eventtype": [kind]} for kind in kinds]
    return eeg


_TYPES = {"f4": (7, 7), "f8": (9, 6)}  # type of storage, class


class Mat5:
    """Bytes of a MAT 5 file in one byte order ('<' or '>')."""

    def __init__(self, order: str) -> None:
        self.order = order

    def element(self, kind: int, data: bytes) -> bytes:
        """Return a tag with its data, padded; short ones inside the tag, as MATLAB has them."""
        if 0 < len(data) <= 4:
            return struct.pack(self.order + "I", len(data) << 16 | kind) + data.ljust(4, b"\0")
        return struct.pack(self.order + "II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    def matrix(self, kind: int, shape: tuple[int, ...], body: bytes, name: str = "") -> bytes:
        """Return an array with its header."""
        head = self.element(6, struct.pack(self.order + "II", kind, 0))
        head += self.element(5, struct.pack(f"{self.order}{len(shape)}i", *shape))
        head += self.element(1, name.encode())
        return struct.pack(self.order + "II", 14, len(head + body)) + head + body

    def value(self, value: Any, name: str = "") -> bytes:
        """Return any value: text, number, array, list of dicts (struct array), list (cell)."""
        if isinstance(value, str):
            chars = np.array([ord(c) for c in value], self.order + "u2")
            return self.matrix(4, (1, len(value)), self.element(4, chars.tobytes()), name)
        if isinstance(value, dict):
            value = [value]
        if isinstance(value, list) and isinstance(value[0], dict):
            fields = list(value[0])
            body = self.element(5, struct.pack(self.order + "i", 32))
            body += self.element(1, b"".join(f.encode().ljust(32, b"\0") for f in fields))
            body += b"".join(self.value(item[f]) for item in value for f in fields)
            return self.matrix(2, (1, len(value)), body, name)
        if isinstance(value, list):
            return self.matrix(1, (1, len(value)), b"".join(map(self.value, value)), name)
        array = np.atleast_2d(np.asarray(value))
        stored, kind = _TYPES[array.dtype.str[1:]]
        data = array.astype(self.order + array.dtype.str[1:]).tobytes(order="F")
        return self.matrix(kind, array.shape, self.element(stored, data), name)

    def write(self, path: Path, **variables: Any) -> Path:
        """Write the variables."""
        head = b"MATLAB 5.0 MAT-file, made by a test".ljust(124)
        head += struct.pack(self.order + "H", 0x0100) + (b"IM" if self.order == "<" else b"MI")
        path.write_bytes(head + b"".join(self.value(v, n) for n, v in variables.items()))
        return path


class Mat73:
    """A MAT 7.3 file by h5py: structs as groups, struct arrays and cells as references."""

    def __init__(self, path: Path) -> None:
        import h5py

        self.path = path
        self.h5py = h5py
        self.file = h5py.File(path, "w", userblock_size=512)
        self.refs = self.file.create_group("#refs#")
        self.n_ref = 0

    def _dataset(self, group: Any, name: str, data: Any, kind: str | None, **options: Any) -> Any:
        dataset = group.create_dataset(name, data=data, **options)
        if kind:
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
        return dataset

    def _references(self, group: Any, name: str, values: list[Any], kind: str | None) -> Any:
        items = []
        for value in values:
            self.n_ref += 1
            items.append(self.value(self.refs, f"r{self.n_ref}", value).ref)
        data = np.array(items, self.h5py.ref_dtype).reshape(-1, 1)
        return self._dataset(group, name, data, kind, dtype=self.h5py.ref_dtype)

    def _struct(self, group: Any, name: str, items: list[dict[str, Any]]) -> Any:
        made = group.create_group(name)
        made.attrs["MATLAB_class"] = np.bytes_("struct")
        for field in items[0]:
            if len(items) == 1:
                self.value(made, field, items[0][field])
            else:
                self._references(made, field, [item[field] for item in items], None)
        return made

    def value(self, group: Any, name: str, value: Any) -> Any:
        """Put any value, as Mat5 does."""
        if isinstance(value, dict):
            value = [value]
        if isinstance(value, list) and isinstance(value[0], dict):
            return self._struct(group, name, value)
        if isinstance(value, list):
            return self._references(group, name, value, "cell")
        if isinstance(value, str):
            array, kind = np.array([[ord(c) for c in value]], "<u2"), "char"
        else:
            array = np.atleast_2d(np.asarray(value))
            kind = "single" if array.dtype == np.float32 else "double"
        if array.size == 0:
            dataset = self._dataset(group, name, np.array(array.shape, np.uint64), kind)
            dataset.attrs["MATLAB_empty"] = np.uint8(1)
            return dataset
        packed = {"chunks": True, "compression": "gzip", "shuffle": True} if array.size > 99 else {}
        return self._dataset(group, name, array.transpose(), kind, **packed)

    def write(self, **variables: Any) -> Path:
        """Write the variables and MATLAB's header in front."""
        for name, value in variables.items():
            self.value(self.file, name, value)
        self.file.close()
        with self.path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
        return self.path

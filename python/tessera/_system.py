"""What the machine and the installation are."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from typing import Any, TextIO

from tessera import _core
from tessera._session import Lease

# Reported when installed, never imported for it.
_NEIGHBOURS = (
    "numpy",
    "scipy",
    "mne",
    "autoreject",
    "h5py",
    "xarray",
    "matplotlib",
    "torch",
    "jax",
)


def _installed() -> dict[str, str]:
    versions = {}
    for name in _NEIGHBOURS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def sys_info(*, paths: bool = False) -> dict[str, Any]:
    """Return what a bug report needs: build, machine, threads, devices, libraries, Python.

    Parameters
    ----------
    paths : bool, default False
        Include paths of files, which may tell more than you want to publish.

    Returns
    -------
    dict
        Ready for ``json.dumps``.
    """
    with Lease() as context:
        info: dict[str, Any] = json.loads(_core.sysinfo_json(context, paths=paths))
    info["python"] = {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "packages": _installed(),
    }
    if paths:
        info["python"]["executable"] = sys.executable
        info["python"]["extension"] = _core.__file__
    return info


def _one_line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return str(value)


def _lines(info: dict[str, Any], indent: str = "") -> list[str]:
    """Write one line per value; entries of lists stay on one, so that all fits a screen."""
    lines = []
    for key, value in info.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{indent}{key}:", *(f"{indent}  - {_one_line(item)}" for item in value)]
        else:
            lines.append(f"{indent}{key}: {value}")
    return lines


def show_versions(file: TextIO | None = None) -> None:
    """Print :func:`sys_info` for a person.

    Parameters
    ----------
    file : text file, optional
        Where to write; standard output by default.
    """
    print("\n".join(_lines(sys_info())), file=file)


def devices(*, benchmark: bool = False) -> list[_core.Device]:
    """List the devices computations can run on; ``id`` is what ``device=`` takes.

    Parameters
    ----------
    benchmark : bool, default False
        Measure bandwidth and flop ceilings too (key ``ceilings``, about a second per device).

    Returns
    -------
    list of dict
        One entry per device.
    """
    with Lease() as context:
        found = _core.devices(context)
        if benchmark:
            for device in found:
                device["ceilings"] = _core.device_benchmark(context, device["id"])
    return found


def info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Describe a data file: its format, data sets and, for results of Tessera, their provenance.

    Parameters
    ----------
    path : path
        A file of any format Tessera reads.

    Returns
    -------
    dict
        ``format``, ``datasets`` (name, shape, dtype, type) and ``provenance`` (dict or None).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tessera
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tessera.autoreject.simulate(pathlib.Path(folder) / "x.npy", epochs=2)
    ...     tessera.info(path)["datasets"][0]["shape"]
    (2, 64, 500)
    """
    with Lease() as context:
        found = _core.list_file(context, path)
    text = found["provenance"]
    return {
        "format": found["format"],
        "datasets": found["datasets"],
        "provenance": None if text is None else json.loads(text),
    }

"""Exceptions: one class per group of status codes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import _core
from tessera.autoreject import ptp, simulate

CLASSES = [
    cls for _, cls in inspect.getmembers(_core, inspect.isclass) if issubclass(cls, tessera.Error)
]

BUILTINS = {
    "ArgumentError": ValueError,
    "ShapeError": ValueError,
    "DTypeError": TypeError,
    "ConfigError": ValueError,
    "MemoryLimitError": MemoryError,
    "DeviceError": RuntimeError,
    "NotFoundError": FileNotFoundError,
    "FormatError": ValueError,
    "TruncatedError": ValueError,
    "FileError": OSError,
    "OutputExistsError": FileExistsError,
    "CheckpointError": ValueError,
    "NumericError": ValueError,
    "InternalError": RuntimeError,
}


def test_every_status_has_one_class() -> None:
    named = [status for cls in CLASSES for status in cls.statuses]
    assert sorted(named) == sorted(_core.statuses().keys() - {"TESS_OK"})


@pytest.mark.parametrize(("name", "builtin"), BUILTINS.items())
def test_classes_are_builtins_too(name: str, builtin: type[Exception]) -> None:
    cls = getattr(tessera, name)
    assert issubclass(cls, tessera.Error)
    assert issubclass(cls, builtin)
    assert cls.__module__ == "tessera"
    assert cls.__doc__


def test_all_classes_are_listed() -> None:
    assert {cls.__name__ for cls in CLASSES} == BUILTINS.keys() | {"Error", "Cancelled"}
    assert issubclass(tessera.TruncatedError, tessera.FormatError)


def test_status_and_exit_code() -> None:
    with pytest.raises(tessera.ShapeError) as caught:
        ptp(np.zeros(3))
    assert caught.value.status == "TESS_E_SHAPE"
    assert caught.value.exit_code == _core.statuses()["TESS_E_SHAPE"] == 65


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"nonfinite": "ignore"}, tessera.ArgumentError, "nonfinite.*ignore.*propagate"),
        ({"nonfinite": 1}, TypeError, "nonfinite.*text"),
        ({"tile_epochs": -1}, tessera.ArgumentError, "tile_epochs.*-1"),
        ({"tile_epochs": 1.5}, TypeError, "tile_epochs.*1.5"),
        ({"tile_epochs": True}, TypeError, "tile_epochs"),
        ({"tile_epochs": 10**30}, tessera.ArgumentError, "tile_epochs"),
        ({"threads": 0}, tessera.ArgumentError, "threads.*0"),
        ({"threads": -1}, tessera.ArgumentError, "threads"),
        ({"threads": 10**30}, tessera.ArgumentError, "threads"),
        ({"threads": "two"}, TypeError, "threads.*two"),
        ({"device": "abacus"}, tessera.Error, "abacus"),
        ({"device": 3}, TypeError, "device"),
        ({"context": 3}, TypeError, "context"),
        ({"x": None}, TypeError, "'x'"),
    ],
)
def test_arguments_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {"x": np.zeros((1, 1, 1))} | options
    with pytest.raises(error, match=message):
        ptp(arguments.pop("x"), **arguments)


def test_numpy_numbers_are_numbers() -> None:
    x = np.zeros((3, 1, 1))
    assert ptp(x, tile_epochs=np.int64(2), threads=np.int32(1)).shape == (3, 1)  # type: ignore[call-overload]
    assert (
        simulate(epochs=2, channels=2, samples=8, bad_fraction=float(np.float32(0.5))) is not None
    )


def test_context_or_settings() -> None:
    with tessera.Context() as context, pytest.raises(tessera.ArgumentError, match="context"):
        ptp(np.zeros((1, 1, 1)), context=context, threads=1)


def test_a_missing_backend_is_one_sentence() -> None:
    if any(device["backend"] == "cuda" for device in tessera.devices()):
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(tessera.DeviceError) as caught:
        ptp(np.zeros((1, 1, 1)), device="cuda")
    assert "cuda" in str(caught.value)
    assert caught.value.exit_code == 69


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tessera.nonsense


def test_core_functions_check_their_arguments() -> None:
    context = tessera.Context()
    x = np.zeros((1, 1, 1))
    with pytest.raises(TypeError, match="positional"):
        _core.autoreject_ptp(context, x, None, None, None, None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected"):
        _core.autoreject_ptp(context, x, color=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="twice"):
        _core.autoreject_ptp(context, x, x=x)  # type: ignore[misc]
    with pytest.raises(TypeError, match="needs argument 'x'"):
        _core.autoreject_ptp(context)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dict"):
        _core.autoreject_ptp(context, x, options=3)  # type: ignore[arg-type]
    with pytest.raises(tessera.ArgumentError, match="color: no option of"):
        _core.autoreject_ptp(context, x, options={"color": 1})
    with pytest.raises(TypeError, match="Context"):
        _core.autoreject_ptp(3, x)  # type: ignore[arg-type]

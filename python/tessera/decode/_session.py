"""Calls into the library, whose errors get the names of the original."""

from __future__ import annotations

import re
from types import TracebackType

from tessera import _lib
from tessera._core import ArgumentError, Context, DTypeError, Error, NumericError, ShapeError
from tessera.decode.exceptions import (
    DataError,
    NonLocalDetectorError,
    ShapeValidationError,
    TypeValidationError,
    ValidationError,
)

_NAMES: dict[type[BaseException], type[NonLocalDetectorError]] = {
    ArgumentError: ValidationError,
    ShapeError: ShapeValidationError,
    DTypeError: TypeValidationError,
    NumericError: DataError,
}


def check_device(device: object) -> None:
    """Refuse what names no device; whether this machine has it is seen when it is used."""
    if device is None or (
        isinstance(device, str) and re.fullmatch(r"cpu|auto|cuda(:[0-9]{1,4})?", device)
    ):
        return
    from tessera._system import devices

    found = ", ".join(["auto", *(each["id"] for each in devices())])
    raise ValidationError(f"device: {device!r:.60} does not exist; there are {found}")


class Session(_lib.Session):
    """A lease whose warnings become Python's, and whose errors the original's."""

    __slots__ = ()

    def __init__(
        self,
        context: Context | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        device: str | None = None,
        ranks: bool = False,
    ) -> None:
        check_device(device)
        super().__init__(
            context, threads=threads, memory_limit=memory_limit, device=device, ranks=ranks
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the context back, then warn or raise."""
        super().__exit__(kind, error, trace)
        named = None if kind is None else _NAMES.get(kind)
        if named is not None and isinstance(error, Error):
            found = named(str(error))
            found.status, found.exit_code = error.status, error.exit_code
            raise found.with_traceback(trace) from None

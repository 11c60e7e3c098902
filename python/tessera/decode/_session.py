"""Calls into the library, whose errors get the names of the original."""

from __future__ import annotations

from types import TracebackType

from tessera import _lib
from tessera._core import ArgumentError, DTypeError, Error, NumericError, ShapeError
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


class Session(_lib.Session):
    """A lease whose warnings become Python's, and whose errors the original's."""

    __slots__ = ()

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

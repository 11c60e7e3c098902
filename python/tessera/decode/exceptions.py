"""Errors by the names of the original; each is also the one of Tessera and of Python it was.

``except ValueError``, ``except tessera.ArgumentError`` and ``except ValidationError`` all catch a
parameter that is not allowed.
"""

from __future__ import annotations

from tessera._core import ArgumentError, DTypeError, Error, NumericError, ShapeError

__all__ = [
    "ConfigurationError",
    "ConvergenceError",
    "DataError",
    "FittingError",
    "NonLocalDetectorError",
    "ShapeValidationError",
    "TypeValidationError",
    "ValidationError",
]


def _with_hint(message: str, hint: str | None) -> str:
    return message if hint is None else f"{message}\n\nHint: {hint}"


class NonLocalDetectorError(Error):
    """Base of all errors of decode's models."""


class ValidationError(NonLocalDetectorError, ArgumentError):
    """A parameter or an argument has a value that is not allowed.

    Parameters
    ----------
    message : str
        What is wrong.
    expected, got, hint, example : str, optional
        What was wanted, what came, what to do, and how that looks; lines of their own.
    """

    def __init__(
        self,
        message: str,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
        example: str | None = None,
    ) -> None:
        lines = [message]
        for word, text in (("Expected", expected), ("Got", got), ("Hint", hint)):
            if text is not None:
                lines.append(f"{word}: {text}")
        if example is not None:
            lines.append(f"Example:\n{example}")
        super().__init__("\n".join(lines))


class ShapeValidationError(ShapeError, ValidationError):
    """An array or a list has the wrong shape or length.

    Parameters
    ----------
    message : str
        What is wrong.
    expected, got, hint, example : str, optional
        As in :class:`ValidationError`.
    """


class TypeValidationError(DTypeError, ValidationError):
    """A parameter or an argument is of a type that is not allowed.

    Parameters
    ----------
    message : str
        What is wrong.
    expected, got, hint, example : str, optional
        As in :class:`ValidationError`.
    """


class ConfigurationError(NonLocalDetectorError, ArgumentError):
    """Parameters do not go together, or one that is needed is missing.

    Parameters
    ----------
    message : str
        What is wrong.
    hint : str, optional
        What to do about it, on a line of its own.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(_with_hint(message, hint))


class FittingError(NonLocalDetectorError, NumericError):
    """A fit failed although its inputs are valid.

    Parameters
    ----------
    message : str
        What is wrong.
    hint : str, optional
        What to do about it, on a line of its own.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(_with_hint(message, hint))


class ConvergenceError(FittingError):
    """An iteration did not come to its end.

    Parameters
    ----------
    message : str
        What is wrong.
    iterations : int, optional
        How many there were.
    tolerance : float, optional
        What was asked for.
    hint : str, optional
        What to do about it, on a line of its own.
    """

    def __init__(
        self,
        message: str,
        iterations: int | None = None,
        tolerance: float | None = None,
        hint: str | None = None,
    ) -> None:
        if iterations is not None:
            message = f"{message} (iterations: {iterations})"
        if tolerance is not None:
            message = f"{message} (tolerance: {tolerance})"
        super().__init__(message, hint)


class DataError(NonLocalDetectorError, NumericError):
    """Data have values that cannot be: not finite, not increasing, of another clock or unit.

    Parameters
    ----------
    message : str
        What is wrong.
    data_name : str, optional
        Of which data.
    hint : str, optional
        What to do about it, on a line of its own.
    """

    def __init__(self, message: str, data_name: str | None = None, hint: str | None = None) -> None:
        if data_name is not None:
            message = f"{message} (data: {data_name})"
        super().__init__(_with_hint(message, hint))

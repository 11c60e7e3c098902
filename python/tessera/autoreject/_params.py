"""What scikit-learn expects of an estimator, without scikit-learn."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any, Self

import numpy as np


def _same(a: object, b: object) -> bool:
    if a is b:
        return True
    try:
        return bool(np.array_equal(a, b))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=12, separator=", ", max_line_width=10000)
    return repr(value)


class Params:
    """Parameters of the constructor: get, set, show."""

    # Of every class: parameters always shown; others only if they differ from their default.
    _shown: tuple[str, ...] = ()

    @classmethod
    def _signature(cls) -> dict[str, inspect.Parameter]:
        parameters = dict(inspect.signature(cls.__init__).parameters)
        parameters.pop("self")
        return parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor.

        Parameters
        ----------
        deep : bool, default True
            Accepted for scikit-learn; there is nothing nested.

        Returns
        -------
        dict
            By name.
        """
        return {name: getattr(self, name) for name in sorted(self._signature())}

    def set_params(self, **params: Any) -> Self:
        """Change parameters.

        Parameters
        ----------
        **params
            By name, as the constructor takes them.

        Returns
        -------
        self
        """
        known = self._signature()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}; valid parameters are "
                    f"{sorted(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        parts = []
        for name, parameter in sorted(self._signature().items()):
            value = getattr(self, name, parameter.default)
            if name in self._shown or not _same(value, parameter.default):
                parts.append(f"{name}={_short(value)}")
        text = f"{type(self).__name__}({', '.join(parts)})"
        return "\n".join(textwrap.wrap(text, 79, subsequent_indent="      "))

"""Parameters by name, the scikit-learn way."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Self


class Estimator:
    """What has parameters: every argument of ``__init__`` is an attribute of the same name."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Accepted for scikit-learn; there are no nested estimators.

        Returns
        -------
        dict
            Every argument of the constructor.
        """
        del deep
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; the model must be fitted again to make use of them.

        Parameters
        ----------
        **params
            By name, as the constructor takes them.

        Returns
        -------
        self
            This model.
        """
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{name!r} is no parameter of {type(self).__name__}; known are "
                    f"{', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def copy(self) -> Self:
        """Copy the model with all it has learned.

        Returns
        -------
        detector
            A deep copy.
        """
        return copy.deepcopy(self)

    def _repr_html_(self) -> str:
        from tessera.decode._html import of_model

        return of_model(self)

    def __repr__(self) -> str:
        names = self.__dict__.get("state_names")
        fitted = "fitted" if "encoding_model_" in self.__dict__ else "not fitted"
        return f"{type(self).__name__}({names}, {fitted})"

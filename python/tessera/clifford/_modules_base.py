"""What all modules of torch share: options as attributes, the call, sizes, text."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.compiler import is_compiling

from tessera import _core
from tessera.clifford import _functional, _torch_native
from tessera.clifford._spec import (
    MetricLike,
    algebra_of,
    make_spec,
    metric_text,
    operation,
    read_spec,
)

# What parameters were made for.
_FIXED = frozenset(
    [
        "kind",
        "metric",
        "spec",
        "n_component",
        "n_grade",
        "n_path",
        "n_features",
        "in_features",
        "out_features",
        "dims",
        "use_fc",
    ]
)


class CliffordModule(torch.nn.Module):
    """What all modules have: the operation as text, where the components are, a check.

    The options that a module was created with are attributes, and take effect when they are set;
    sizes, metric and kind, which the parameters were made for, are refused.
    """

    # Attributes of this class that are options, by the name that operations have for them.
    _options: ClassVar[Mapping[str, str]] = {}

    kind: str
    metric: str
    spec: str
    n_component: int
    n_grade: int
    n_path: int

    def __init__(
        self, kind: str, metric: MetricLike, axis: int, check_finite: bool, **options: Any
    ) -> None:
        super().__init__()
        algebra = algebra_of(metric_text(metric))
        self._fix("kind", kind)
        self._fix("metric", algebra["text"])
        self._fix("n_component", algebra["n_component"])
        self._fix("n_grade", algebra["n_grade"])
        self._fix("n_path", algebra["n_path"])
        for name, value in options.items():
            self._fix(name, value)
        self._fix("spec", self._make_spec({}))
        self.axis = axis
        self.check_finite = check_finite

    def _fix(self, name: str, value: Any) -> None:
        """Set an attribute whatever it is."""
        super().__setattr__(name, value)

    def _make_spec(self, changed: dict[str, Any]) -> str:
        """Write the operation as text, and complain about options now, not at the first call."""
        values = {of: changed.get(name, getattr(self, name)) for name, of in self._options.items()}
        spec = make_spec(self.metric, **values)
        operation(self.kind, spec)
        return spec

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute so that the next call heeds it, or refuse."""
        if name in self._options:
            self._fix("spec", self._make_spec({name: value}))
        elif name in _FIXED:
            raise AttributeError(
                f"{type(self).__name__}.{name} cannot be changed from "
                f"{getattr(self, name, None)!r} to {value!r}: parameters were made for it; create "
                "a new module"
            )
        elif name == "axis" and value not in (0, -1):
            raise _core.ArgumentError(
                f"axis: expected 0 or -1 (components first or last), got {value!r}"
            )
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled; 0.1 had most options in the text alone."""
        super().__setstate__(state)
        _, options, options["path_mask"] = read_spec(self.spec)
        for name, of in self._options.items():
            if name not in self.__dict__:
                self._fix(name, options.get(of))

    def _run(self, x: Tensor, y: Tensor | None = None, *weights: Tensor | None) -> Tensor:
        if not isinstance(x, Tensor):
            raise self._no_tensor("x", x)
        if self.kind in ("sgp", "fcgp") and not isinstance(y, Tensor):
            raise self._no_tensor("y", y)
        # Small networks are as fast as their calls: the everyday one goes straight to the node.
        is_everyday = x.ndim == 3 and self.axis == 0 and (y is None or y.ndim == 3)
        if is_everyday and not (self.check_finite or is_compiling()):
            z = _torch_native.forward(self.kind, self.spec, x, y, *weights)
            if z is not None:
                return z
        return _functional.run(
            self.kind, self.spec, x, y, *weights, axis=self.axis, check_finite=self.check_finite
        )

    def _no_tensor(self, name: str, value: Any) -> Exception:
        return _core.DTypeError(
            f"{type(self).__name__}: {name}: expected a tensor of torch, got "
            f"{type(value).__name__}; torch.as_tensor() makes one of an array"
        )

    def _sizes(self) -> list[str]:
        """Say what parameters were made for."""
        names = ("n_features", "in_features", "out_features")
        return [f"{name}={getattr(self, name)}" for name in names if hasattr(self, name)]

    def _repr_html_(self) -> str:
        from tessera.clifford._html import of_module

        return of_module(self)

    def extra_repr(self) -> str:
        """Show sizes, algebra and whatever is not the library's default.

        Returns
        -------
        str
            What stands between the brackets.
        """
        shown = [*self._sizes(), repr(self.metric)]
        for name in self._options:
            value = getattr(self, name)
            if value is not None:
                shown.append(f"{name}={value!r}")
        if self.axis != 0:
            shown.append(f"axis={self.axis}")
        if self.check_finite:
            shown.append("check_finite=True")
        return ", ".join(shown)


def same_names(*names: str) -> dict[str, str]:
    """Return the options of a class whose attributes are called as operations call them."""
    return {name: name for name in names}


def parameter_of(shape: tuple[int, ...], std: float, factory: dict[str, Any]) -> torch.nn.Parameter:
    """Return a parameter with numbers of that spread, or zeros."""
    parameter = torch.nn.Parameter(torch.empty(shape, **factory))
    with torch.no_grad():
        parameter.normal_(std=std) if std else parameter.zero_()
    return parameter


def positive(name: str, n: int) -> int:
    """Return a size, or complain."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise _core.ArgumentError(f"{name}: expected an integer of 1 or more, got {n!r}")
    return int(n)


def shape_of_cgenn(weight: Any, axes: str) -> tuple[int, ...]:
    """Return the shape of a weight of CGENN, which has these axes."""
    n_axis = axes.count(",") + 1
    if not isinstance(weight, Tensor) or weight.dim() != n_axis:
        got = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise _core.ShapeError(f"weight: expected a tensor of CGENN, ({axes}), got {got}")
    return tuple(weight.shape)

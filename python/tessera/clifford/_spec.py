"""Operations by name: a line of text says everything, and one object of the library serves it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tessera import _core

if TYPE_CHECKING:
    from tessera.clifford._algebra import Algebra

MetricLike: TypeAlias = "str | Iterable[int] | Algebra"

KINDS = ("gate", "norm", "sgp", "fcgp", "linear", "layer", "fc_layer")
SLOTS = ("x", "y", "weight", "linear_weight", "bias")

_SIGNS = {1: "+", -1: "-", 0: "0"}


def metric_text(metric: MetricLike) -> str:
    """Return the text of a metric: its own, or the signs of its numbers; an Algebra has one."""
    text = metric if isinstance(metric, str) else getattr(metric, "signs", None)
    if isinstance(text, str):
        if _is_cut(text):
            _core.clifford_algebra(_visible(text))  # complains
        return text
    try:
        return "".join([_SIGNS[square] for square in cast("Iterable[int]", metric)])
    except (TypeError, KeyError):
        raise _core.ArgumentError(
            f"metric: {metric!r} is none; give text such as '+++' or '0+++', or the squares of the "
            "symbols, each +1, -1 or 0, such as (1, 1, 1)"
        ) from None


def make_spec(
    metric: MetricLike,
    *,
    activation: str | None = None,
    normalize: bool | None = None,
    norm_metric: str | None = None,
    eps: float | None = None,
    bias_mode: str | None = None,
    precision: str | None = None,
    path_mask: int | None = None,
) -> str:
    """Write an operation's metric and options as text; what is None keeps the library's default.

    Compilers trace through this: text is a constant to them, and the same text the same operation.
    """
    text = metric_text(metric)
    if activation is not None:
        text += f"|activation={_word('activation', activation)}"
    if normalize is not None:
        text += f"|normalize={_truth('normalize', normalize)}"
    if norm_metric is not None:
        text += f"|norm_metric={_word('norm_metric', norm_metric)}"
    if eps is not None:
        text += f"|eps={_number('eps', eps)!r}"
    if bias_mode is not None:
        text += f"|bias_mode={_word('bias_mode', bias_mode)}"
    if precision is not None:
        text += f"|precision={_word('precision', precision)}"
    if path_mask is not None:
        text += f"|path_mask={_bits('path_mask', path_mask)}"
    return text


def _is_cut(text: str) -> bool:
    # What follows a bar would be read as an option, what follows a zero not at all.
    return "|" in text or "\0" in text


def _visible(text: str) -> str:
    return text.replace("\0", "\\0")


def _word(name: str, value: Any) -> str:
    word = str(value)
    if _is_cut(word):
        _core.clifford_op("gate", "+", {name: _visible(word)})  # complains
    return word


def _truth(name: str, value: Any) -> bool:
    # Numbers and NumPy's truth values have another text than True and False.
    if isinstance(value, str) or value not in (True, False):
        raise _core.ArgumentError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def _number(name: str, value: Any) -> float:
    # NumPy's numbers have a text that says so, which float() does not read.
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _core.ArgumentError(f"{name}: expected a number, got {value!r}") from None


def _bits(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or not 0 <= int(value) < 1 << 64:
        raise _core.ArgumentError(
            f"{name}: expected an integer of 64 bits, bit p for path p, got {value!r}"
        )
    return int(value)


def read_spec(spec: str) -> tuple[str, dict[str, Any], int | None]:
    """Return metric, options and path mask of an operation's text."""
    metric, *rest = spec.split("|")
    options: dict[str, Any] = dict(entry.split("=", 1) for entry in rest)
    path_mask = options.pop("path_mask", None)
    if "normalize" in options:
        options["normalize"] = options["normalize"] == "True"
    if "eps" in options:
        options["eps"] = float(options["eps"])
    return metric, options, None if path_mask is None else int(path_mask)


_algebras: dict[str, _core.CliffordAlgebra] = {}


def algebra_of(metric: str) -> _core.CliffordAlgebra:
    """Return the tables of an algebra, made once."""
    found = _algebras.get(metric)
    if found is None:
        found = _algebras[metric] = _core.clifford_algebra(metric)
    return found


def normalizes(kind: str, spec: str) -> bool:
    """Say whether an operation divides by row statistics."""
    return kind not in ("gate", "linear") and "|normalize=False" not in spec


class Operation:
    """A checked operation: its object for either precision, and the sizes callers need."""

    __slots__ = ("_by_precision", "kind", "n_component", "n_grade", "n_path", "normalizes", "spec")

    def __init__(self, kind: str, spec: str) -> None:
        metric, options, path_mask = read_spec(spec)
        algebra = algebra_of(metric)
        self.kind = kind
        self.spec = spec
        self.n_component = algebra["n_component"]
        self.n_grade = algebra["n_grade"]
        self.n_path = algebra["n_path"]
        self.normalizes = normalizes(kind, spec)
        wanted = options.pop("precision", None)
        precisions = ("highest", "high") if wanted is None else (wanted, wanted)
        self._by_precision = tuple(
            _core.clifford_op(kind, metric, {**options, "precision": precision}, path_mask)
            for precision in precisions
        )

    def native(self, fast_matmul: bool = False) -> _core.CliffordOp:
        """Return the library's object; fast_matmul is heeded where no precision was asked for."""
        return self._by_precision[fast_matmul]


_operations: dict[tuple[str, str], Operation] = {}


def operation(kind: str, spec: str) -> Operation:
    """Return an operation, made once."""
    found = _operations.get((kind, spec))
    if found is None:
        found = _operations[kind, spec] = Operation(kind, spec)
    return found


def mask_of(bits: Iterable[object]) -> int:
    """Return an integer whose bit i is the truth of entry i."""
    mask = 0
    for i, bit in enumerate(bits):
        if bit:
            mask |= 1 << i
    return mask

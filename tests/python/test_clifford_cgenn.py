"""CGENN's gates, norms and layer against their formulas, one number at a time."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import tessera  # noqa: E402
import tessera.clifford as tc  # noqa: E402
from clifford_networks import error, moved, random_versor  # noqa: E402

METRICS = ["+++", "+---", "0++"]
ROWS, FEATURES = 4, 3


def squares(algebra: Any, x: Any, b: int, n: int) -> list[float]:
    """Return the metric's square of every grade of one feature of one row."""
    eta = algebra._found["eta"]
    found = [0.0] * algebra.n_grade
    for k, g in enumerate(algebra.grade_of):
        found[g] += eta[k] * float(x[k, b, n]) ** 2
    return found


def by_hand(module: Any, algebra: Any, x: Any) -> Any:
    z = x.clone()
    for b in range(ROWS):
        sizes = [(sum(squares(algebra, x, b, n)) ** 2 + 1e-16) ** 0.25 for n in range(FEATURES)]
        for n in range(FEATURES):
            kappa = squares(algebra, x, b, n)
            for k, g in enumerate(algebra.grade_of):
                if isinstance(module, tc.MVLayerNorm):
                    z[k, b, n] *= module.a[0, n] / (sum(sizes) / FEATURES + 1e-6)
                    continue
                size = (kappa[g] ** 2 + 1e-16) ** 0.25
                if isinstance(module, tc.MVNormGate):
                    share = torch.sigmoid(module.a[n, g])
                    z[k, b, n] /= share * (size - 1) + 1 + 1e-6
                    continue
                i = float(x[0, b, n]) if g == 0 else kappa[g]
                i = size if g and module.invariant == "norm" else i
                z[k, b, n] *= torch.sigmoid(module.a[0, n, g] * i + module.b[0, n, g])
    return z


def modules(metric: str, axis: int = 0) -> list[Any]:
    torch.manual_seed(1)
    made = [
        tc.MVSiLU(FEATURES, metric, axis=axis),
        tc.MVSiLU(FEATURES, metric, "norm", axis=axis),
        tc.MVNormGate(FEATURES, metric, axis=axis),
        tc.MVLayerNorm(FEATURES, metric, axis=axis),
    ]
    with torch.no_grad():
        for module in made:
            for parameter in module.parameters():
                parameter.normal_()
    return [module.double() for module in made]


@pytest.mark.parametrize("metric", METRICS)
def test_formulas(metric: str) -> None:
    algebra = tc.Algebra(metric)
    x = torch.randn(algebra.n_component, ROWS, FEATURES, dtype=torch.float64)
    for module, last in zip(modules(metric), modules(metric, -1), strict=True):
        with torch.no_grad():
            want = by_hand(module, algebra, x)
            assert error(module(x), want) <= 1e-14
            assert error(last(x.movedim(0, -1)).movedim(-1, 0), want) <= 1e-14


def test_gradients_twice_also_of_zero() -> None:
    x = torch.randn(16, 2, FEATURES, dtype=torch.float64, requires_grad=True)
    for module in modules("+---"):
        assert torch.autograd.gradcheck(module, (x,))
        assert torch.autograd.gradgradcheck(module, (x,))
        zero = torch.zeros(16, 2, FEATURES, dtype=torch.float64, requires_grad=True)
        module(zero).sum().backward()
        assert zero.grad is not None
        assert zero.grad.isfinite().all()


def test_layer() -> None:
    torch.manual_seed(2)
    for first in (True, False):
        layer = tc.SteerableLayer(FEATURES, "+++", include_first_order=first).double()
        x = torch.randn(8, ROWS, FEATURES, dtype=torch.float64)
        y = layer.normalization(
            tc.linear(x, layer.linear_right.weight, None, "+++")
        )
        want = tc.sgp(x, y, layer.product.weight, "+++", normalize=False, activation="none")
        if first:
            left = layer.linear_left
            want = (tc.linear(x, left.weight, left.bias, "+++") + want) / math.sqrt(2)
        assert error(layer(x), want.detach()) <= 1e-14


@pytest.mark.parametrize("n_reflection", [1, 2])
def test_equivariance(n_reflection: int) -> None:
    generator = torch.Generator().manual_seed(8)
    versor = random_versor("+---", n_reflection, generator)
    x = torch.randn(ROWS, FEATURES, 16, dtype=torch.float64)
    layers = [*modules("+---", -1), tc.SteerableLayer(FEATURES, "+---", axis=-1).double()]
    for module in layers:
        with torch.no_grad():
            want = moved("+---", versor, module(x))
            assert error(module(moved("+---", versor, x)), want) <= 1e-11


def test_errors() -> None:
    with pytest.raises(tessera.Error, match="invariant: expected 'mag2' or 'norm'"):
        tc.MVSiLU(3, "+++", "size")  # type: ignore[arg-type]

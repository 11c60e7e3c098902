"""clifford on torch tensors: values and derivatives, compilers, transformations, autocast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import clifford_torch as plain
import tessera.clifford as tc
from clifford_support import (
    METRICS,
    OPS,
    TOLERANCE,
    assert_near,
    golden,
    layer_tolerance,
    relative,
)
from helpers import run_python
from tessera.clifford import _spec, _torch_call
from tessera.clifford.native._find import State

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def metric_of(name: str) -> str:
    return METRICS[name.split("_")[1]]


def squares(metric: str) -> tuple[int, ...]:
    return tuple({"+": 1, "-": -1, "0": 0}[sign] for sign in metric)


def tensors(name: str, names: str, dtype: torch.dtype, grad: bool = True) -> list[Tensor]:
    """Return inputs, which are exact in every type."""
    return [
        torch.from_numpy(golden(name)[key]).to(dtype).requires_grad_(grad) for key in names.split()
    ]


def numbers(t: Tensor | None) -> Any:
    assert t is not None
    return t.detach().double().cpu().numpy()


@pytest.fixture(params=["eager", "operators"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test around torch's dispatcher and through it."""
    if request.param == "operators":
        monkeypatch.setattr("tessera.clifford._torch._can_go_around", False)
    return str(request.param)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_golden_products(name: str, dtype: str, way: str) -> None:
    data, metric, tolerance = golden(name), metric_of(name), TOLERANCE[dtype]
    (gz,) = tensors(name, "gz", DTYPES[dtype], grad=False)
    for kind, of in (("sgp", "sgp"), ("fcgp", "matmul")):
        for normalize, word in ((False, "plain"), (True, "norm")):
            x, y, w = tensors(name, f"x y {kind}_w", DTYPES[dtype])
            function = tc.sgp if kind == "sgp" else tc.fcgp
            z = function(x, y, w, metric, normalize=normalize)
            z.backward(gz)
            assert z.dtype == x.dtype
            prefix = f"{kind}_{word}_"
            for got, what in ((z, "z"), (x.grad, "gx"), (y.grad, "gy")):
                assert_near(numbers(got), data[prefix + what], tolerance[of])
            assert_near(numbers(w.grad), data[prefix + "gw"], max(tolerance["gw"], tolerance[of]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_golden_layers(name: str, dtype: str, way: str) -> None:
    data, metric = golden(name), metric_of(name)
    (gz,) = tensors(name, "gz", DTYPES[dtype], grad=False)
    for kind, weight in (("layer", "sgp_w"), ("fclayer", "fcgp_w")):
        for mode in ("all", "scalar"):
            prefix = f"{kind}_{mode}_"
            if prefix + "z" not in data:
                continue
            x, w, lw, b = tensors(name, f"x {weight} lin_W lin_b", DTYPES[dtype])
            z = tc.layer(x, w, lw, b, metric, bias_mode=mode, use_fc=kind == "fclayer")
            z.backward(gz)
            for got, what in (
                (z, "z"),
                (x.grad, "gx"),
                (w.grad, "gw"),
                (lw.grad, "gW"),
                (b.grad, "gb"),
            ):
                assert_near(numbers(got), data[prefix + what], layer_tolerance(dtype, prefix, what))


@pytest.mark.parametrize("name", OPS)
def test_golden_second_derivatives(name: str, way: str) -> None:
    data, metric = golden(name), metric_of(name)
    for dtype in ("float64", "float32"):
        a, b, c = tensors(name, "dbl_a dbl_b dbl_c", DTYPES[dtype], grad=False)
        for normalize, word in ((False, "plain"), (True, "norm")):
            x, y, w, gz = tensors(name, "x y sgp_w gz", DTYPES[dtype])
            z = tc.sgp(x, y, w, metric, normalize=normalize)
            first = torch.autograd.grad(z, (x, y, w), gz, create_graph=True)
            found = torch.autograd.grad(first, (gz, x, y, w), (a, b, c))
            for got, what in zip(found, ("dgz", "dx", "dy", "dw"), strict=True):
                assert_near(numbers(got), data[f"dbl_{word}_{what}"], TOLERANCE[dtype]["double"])


def random_problem(
    kind: str, metric: str, n_row: int, n_in: int, n_out: int, dtype: torch.dtype, seed: int = 11
) -> tuple[Tensor, ...]:
    torch.manual_seed(seed)
    t = plain.table(squares(metric))

    def make(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=dtype, requires_grad=True)

    x = make(t.n_component, n_row, n_in)
    if kind in ("gate", "norm"):
        return (x,)
    if kind == "sgp":
        return x, make(t.n_component, n_row, n_in), make(n_in, t.n_path)
    if kind == "fcgp":
        return x, make(t.n_component, n_row, n_in), make(t.n_path, n_in, n_out)
    if kind == "linear":
        return x, make(t.n_grade, n_in, n_out), make(n_out)
    w = make(t.n_path, n_in, n_in) if kind == "fc_layer" else make(n_in, t.n_path)
    return x, w, make(t.n_grade, n_in, n_in), make(n_in)


def function_of(kind: str, metric: str, **options: Any) -> Callable[..., Tensor]:
    functions: dict[str, Callable[..., Tensor]] = {
        "gate": lambda x: tc.mv_gelu(x, metric, **options),
        "norm": lambda x: tc.rms_norm(x, metric, **options),
        "sgp": lambda x, y, w: tc.sgp(x, y, w, metric, **options),
        "fcgp": lambda x, y, w: tc.fcgp(x, y, w, metric, **options),
        "linear": lambda x, w, b: tc.linear(x, w, b, metric, **options),
        "layer": lambda x, w, lw, b: tc.layer(x, w, lw, b, metric, **options),
        "fc_layer": lambda x, w, lw, b: tc.layer(x, w, lw, b, metric, use_fc=True, **options),
    }
    return functions[kind]


KINDS = ("gate", "norm", "sgp", "fcgp", "linear", "layer", "fc_layer")
CASES = [
    ("gate", "+++", {"activation": "gelu_tanh"}),
    ("gate", "++", {"activation": "sigmoid"}),
    ("gate", "++", {}),
    ("norm", "+++", {}),
    ("norm", "+-", {"norm_metric": "abs"}),
    ("sgp", "+++", {}),
    ("sgp", "++", {"normalize": False}),
    ("sgp", "0++", {"activation": "none"}),
    ("fcgp", "++", {}),
    ("linear", "+++", {}),
    ("linear", "++", {"bias_mode": "all"}),
    ("layer", "++", {}),
    ("layer", "+++", {"bias_mode": "all"}),
    ("fc_layer", "++", {}),
]


@pytest.mark.parametrize(("kind", "metric", "options"), CASES)
def test_derivatives_by_differences(kind: str, metric: str, options: Any, way: str) -> None:
    problem = random_problem(kind, metric, 2, 3, 4, torch.float64)
    f = function_of(kind, metric, **options)
    assert torch.autograd.gradcheck(f, problem, eps=1e-6, atol=1e-6)
    assert torch.autograd.gradgradcheck(f, problem, eps=1e-6, atol=1e-5)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("metric", ["++", "+++", "0+++", "+---", "++++-", "-0+"])
def test_any_algebra_is_the_plain_formula(metric: str, normalize: bool) -> None:
    for kind in ("sgp", "fcgp"):
        x, y, w = random_problem(kind, metric, 3, 5, 5, torch.float64)
        formula = plain.gelu_sgp_norm if kind == "sgp" else plain.gelu_fcgp_norm
        norm = "euclid" if set(metric) == {"+"} else "abs"
        want = formula(x, y, w, squares(metric), normalize, norm_metric=norm)
        got = function_of(kind, metric, normalize=normalize)(x, y, w)
        gz = torch.randn_like(want)
        assert_near(numbers(got), numbers(want), 1e-13)
        for a, b in zip(
            torch.autograd.grad(got, (x, y, w), gz),
            torch.autograd.grad(want, (x, y, w), gz),
            strict=True,
        ):
            assert_near(numbers(a), numbers(b), 1e-12)


# A rounded z is off by up to 0.14 here, where the norm's gradient nearly cancels.
@pytest.mark.parametrize(("metric", "n_in", "n_out"), [("+-", 8, 8), ("++", 3, 2)])
def test_gradients_of_16_bits_do_not_come_from_rounded_results(
    metric: str, n_in: int, n_out: int, way: str
) -> None:
    for seed in range(12):
        for a, b in plain.bfloat16_gradients(tc.fcgp, metric, n_in, n_out, "cpu", seed):
            assert_near(numbers(a), numbers(b), TOLERANCE["bfloat16"]["matmul"])


# One in a hundred such problems is beyond these bounds where everything is computed in float32.
@pytest.mark.parametrize("kind", ["sgp", "fcgp", "layer", "fc_layer"])
def test_derivatives_of_few_features_in_float32(kind: str) -> None:
    allowed = TOLERANCE["float32"]
    formulas: dict[str, Callable[..., Tensor]] = {
        "sgp": plain.gelu_sgp_norm,
        "fcgp": plain.gelu_fcgp_norm,
        "layer": plain.layer,
        "fc_layer": partial(plain.layer, use_fc=True),
    }
    for seed in range(60):
        n = 2 + seed % 3
        problem = random_problem(kind, "++", 3, n, n, torch.float32, seed)
        exact = [t.detach().double().requires_grad_() for t in problem]
        results = []
        for z, inputs in (
            (function_of(kind, "++")(*problem), problem),
            (formulas[kind](*exact, (1, 1)), exact),
        ):
            torch.manual_seed(seed)
            first = torch.autograd.grad(
                z, inputs, torch.randn(z.shape).to(z.dtype), create_graph=True
            )
            cotangents = [torch.randn(t.shape).to(t.dtype) for t in first]
            results.append((first, torch.autograd.grad(first, inputs, cotangents)))
        (got, got_second), (want, want_second) = results
        for a, b in zip(got, want, strict=True):
            assert relative(numbers(a), numbers(b)) <= allowed["matmul"]
        for a, b in zip(got_second, want_second, strict=True):
            assert relative(numbers(a), numbers(b)) <= allowed["double"]


# Norms of few features, and squares of both signs under clamp, magnify what float32 rounds: up to
# 2e-3 of the gradients of 128 features.
@pytest.mark.parametrize("norm", ["euclid", "abs", "clamp"])
@pytest.mark.parametrize("kind", ["norm", "sgp", "fcgp", "layer", "fc_layer"])
def test_gradients_of_float32_under_every_norm(kind: str, norm: str) -> None:
    for metric in ("+", "0++", "+--", "-0+"):
        for n in (1, 16, 33, 128):
            for seed in range(2):
                _, error = plain.gradient_errors(tc, kind, metric, norm, n, "cpu", seed)
                assert error <= 5e-7, (metric, n, seed)


@pytest.mark.parametrize("kind", KINDS)
def test_opcheck(kind: str) -> None:
    problem = random_problem(kind, "++", 3, 4, 4, torch.float32)
    places = {
        "sgp": (0, 1, 2),
        "fcgp": (0, 1, 2),
        "linear": (0, 3, 4),
        "layer": (0, 2, 3, 4),
        "fc_layer": (0, 2, 3, 4),
    }.get(kind, (0,))
    inputs: list[Tensor | None] = [None] * 5
    for place, tensor in zip(places, problem, strict=True):
        inputs[place] = tensor
    ops = torch.ops.tessera
    has_statistics = kind not in ("gate", "linear")
    everything = has_statistics + 2 * ("layer" in kind)
    for keep in (everything, 0):
        arguments = (*inputs, "++", keep)
        # Fails for operators whose outputs share memory, lack a fake or lose a gradient.
        torch.library.opcheck(getattr(ops, f"clifford_{kind}").default, arguments)
    z, statistics, linear_out = getattr(ops, f"clifford_{kind}").default(*inputs, "++", everything)
    gz = torch.randn_like(z).requires_grad_()
    wanted = sum(1 << place for place in places)
    detached = (statistics.detach(), linear_out.detach(), z.detach()[:0, 0, 0])
    torch.library.opcheck(
        getattr(ops, f"clifford_{kind}_backward").default,
        (gz, *inputs, *detached, "++", wanted),
    )
    cotangents = [None if t is None else torch.randn_like(t) for t in inputs]
    plain_inputs = [None if t is None else t.detach() for t in inputs]
    torch.library.opcheck(
        getattr(ops, f"clifford_{kind}_jvp").default, (*inputs, *cotangents, "++")
    )
    torch.library.opcheck(
        getattr(ops, f"clifford_{kind}_double_backward").default,
        (gz.detach(), *plain_inputs, *cotangents, "++", 2 * wanted + 1),
    )


@pytest.fixture
def through_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiled node, whatever an earlier process has left in the cache."""
    monkeypatch.setattr(State, "module", None)
    monkeypatch.setattr(State, "is_settled", True)


@pytest.mark.usefixtures("through_python")
def test_only_wanted_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    true_backward = _torch_call.backward

    def backward(*args: Any) -> Any:
        asked.append(args[-1])
        return true_backward(*args)

    monkeypatch.setattr(_torch_call, "backward", backward)
    x, y, w = random_problem("sgp", "+++", 3, 4, 4, torch.float32)
    tc.sgp(x.detach(), y.detach(), w, "+++").sum().backward()
    tc.sgp(x, y.detach(), w.detach(), "+++").sum().backward()
    assert asked == [0b100, 0b001]
    assert y.grad is None


def test_third_derivatives_are_refused(way: str) -> None:
    x, y, w = random_problem("sgp", "++", 2, 3, 3, torch.float64)
    z = tc.sgp(x, y, w, "++")
    (first,) = torch.autograd.grad(z.square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="third"):
        torch.autograd.grad(second.square().sum(), x)


# The compiler's own imports.
COMPILES = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@COMPILES
def test_compiled_once_for_all_batches() -> None:
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    layer = tc.Layer(6, 3)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for n_row in range(2, 52):
        x = torch.randn(8, n_row, 6, requires_grad=True)
        got = compiled(x)
        (gx,) = torch.autograd.grad(got.sum(), x)
        want = layer(x)
        assert torch.equal(got, want)
        assert torch.equal(gx, torch.autograd.grad(want.sum(), x)[0])
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@COMPILES
def test_compiled_functions_and_modules() -> None:
    torch._dynamo.reset()

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = tc.MVLinear(4, 6, "0++")
            self.norm = tc.MVRMSNorm("0++")
            self.gate = tc.MVGELU("0++")
            self.product = tc.SGP(6, "0++")
            self.mix = tc.FCGP(6, 5, "0++")

        def forward(self, x: Tensor) -> Tensor:
            y = self.gate(self.norm(self.inner(x)))
            return self.mix(self.product(y, y), y)

    net = Net()
    x = torch.randn(8, 3, 4, requires_grad=True)
    want = net(x)
    got = torch.compile(net, fullgraph=True)(x)
    assert torch.equal(got, want)
    gz = torch.randn_like(want)
    parameters = [x, *net.parameters()]
    for a, b in zip(
        torch.autograd.grad(got, parameters, gz),
        torch.autograd.grad(want, parameters, gz),
        strict=True,
    ):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)


@COMPILES
def test_exported() -> None:
    layer = tc.Layer(4, 2)
    x = torch.randn(4, 3, 4)
    program = torch.export.export(layer, (x,))
    assert torch.equal(program.module()(x), layer(x))


@pytest.mark.parametrize("kind", KINDS)
def test_vmap(kind: str) -> None:
    problem = [t.detach() for t in random_problem(kind, "++", 3, 4, 4, torch.float64)]
    f = function_of(kind, "++")
    x = torch.randn(5, *problem[0].shape, dtype=torch.float64)
    rest = problem[1:]
    want = torch.stack([f(v, *rest) for v in x])
    assert torch.allclose(torch.vmap(lambda v: f(v, *rest))(x), want, atol=1e-13)
    moved = torch.vmap(lambda v: f(v, *rest), in_dims=2, out_dims=1)(x.movedim(0, 2))
    assert torch.allclose(moved.movedim(1, 0), want, atol=1e-13)
    # Gradients per item, of activations and of weights.
    everything = tuple(range(len(problem)))

    def loss(v: Tensor, *weights: Tensor) -> Tensor:
        return f(v, *weights).square().sum()

    per_item = torch.vmap(torch.func.grad(loss, everything), in_dims=(0, *[None] * len(rest)))
    for i, got in enumerate(per_item(x, *rest)):
        want = torch.stack([torch.func.grad(loss, everything)(v, *rest)[i] for v in x])
        assert torch.allclose(got, want, atol=1e-12)
    if rest:
        weights = torch.stack([rest[-1], 2 * rest[-1]])
        got = torch.vmap(lambda w: f(problem[0], *rest[:-1], w))(weights)
        assert torch.allclose(got[1], f(problem[0], *rest[:-1], weights[1]), atol=1e-13)


def test_vmap_with_components_last() -> None:
    layer = tc.Layer(4, 3, axis=-1)
    x = torch.randn(5, 3, 2, 4, 8)
    want = torch.stack([layer(v) for v in x])
    assert torch.allclose(torch.vmap(layer)(x), want, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_many_gradients_at_once(kind: str, way: str) -> None:
    problem = random_problem(kind, "++", 2, 3, 3, torch.float64)
    z = function_of(kind, "++")(*problem)
    gz = torch.randn(4, *z.shape, dtype=torch.float64)
    together = torch.autograd.grad(
        z, problem, gz, is_grads_batched=True, retain_graph=True, create_graph=True
    )
    for i, g in enumerate(gz):
        one = torch.autograd.grad(z, problem, g, retain_graph=True)
        for a, b in zip(together, one, strict=True):
            assert torch.allclose(a[i], b, atol=1e-13)
    (first,) = torch.autograd.grad(z.square().sum(), problem[0], create_graph=True)
    cotangents = torch.randn(3, *first.shape, dtype=torch.float64)
    (second,) = torch.autograd.grad(
        first, problem[0], cotangents, is_grads_batched=True, retain_graph=True
    )
    for a, c in zip(second, cotangents, strict=True):
        (b,) = torch.autograd.grad(first, problem[0], c, retain_graph=True)
        assert torch.allclose(a, b, atol=1e-12)


def test_hessian_by_functorch() -> None:
    x, y, w = (t.detach() for t in random_problem("sgp", "++", 1, 2, 2, torch.float64))

    def energy(v: Tensor) -> Tensor:
        return tc.sgp(v, y, w, "++").square().sum()

    def formula(v: Tensor) -> Tensor:
        return plain.gelu_sgp_norm(v, y, w, (1, 1)).square().sum()

    got = torch.func.jacrev(torch.func.grad(energy))(x)
    want = torch.func.jacrev(torch.func.grad(formula))(x)
    assert torch.allclose(got, want, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype: torch.dtype, way: str) -> None:
    layer = tc.Layer(8, 3)
    x = torch.randn(8, 5, 8, requires_grad=True)
    with torch.autocast("cpu", dtype=dtype):
        z = layer(x)
        direct = torch.ops.tessera.clifford_gate(x, None, None, None, None, "+++", 0)[0]
    assert z.dtype == direct.dtype == dtype
    z.float().square().sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in layer.parameters())
    want = layer(x.detach())
    assert_near(numbers(z), numbers(want), 2e-2)
    with torch.autocast("cpu", dtype=dtype):
        assert layer.double()(x.double()).dtype == torch.float64


def test_strides_and_layouts(way: str) -> None:
    x, y, w = random_problem("sgp", "+++", 6, 4, 4, torch.float32)
    want = tc.sgp(x, y, w, "+++")
    gz = torch.randn_like(want)
    gradients = torch.autograd.grad(want, (x, y, w), gz)
    last = tc.Algebra("+++", axis=-1)
    xl = x.detach().movedim(0, -1).contiguous().requires_grad_()
    z = last.sgp(xl, y.movedim(0, -1), w.t().contiguous().t())
    assert torch.equal(z, want.movedim(0, -1))
    assert torch.equal(
        torch.autograd.grad(z, xl, gz.movedim(0, -1))[0].movedim(-1, 0), gradients[0]
    )
    wide = torch.empty(8, 12, 8)
    wide[:, ::2, ::2] = x.detach()
    assert torch.equal(tc.sgp(wide[:, ::2, ::2], y, w, "+++"), want)
    one = torch.randn(8, 1, 4)
    spread = one.expand(8, 6, 4)
    assert torch.equal(tc.sgp(spread, y, w, "+++"), tc.sgp(spread.clone(), y, w, "+++"))
    # The gradient of a sum is one number seen everywhere.
    assert torch.allclose(
        torch.autograd.grad(tc.sgp(x, y, w, "+++").sum(), x)[0],
        torch.autograd.grad(tc.sgp(x, y, w, "+++"), x, torch.ones_like(want))[0],
    )


def test_derivatives_of_maps() -> None:
    algebra = tc.Algebra("0++")
    x = torch.randn(8, 2, 3, dtype=torch.float64, requires_grad=True)
    y = torch.randn(8, 2, 3, dtype=torch.float64, requires_grad=True)
    for f in (
        algebra.reverse,
        algebra.involution,
        algebra.conjugate,
        algebra.dual,
        algebra.left_complement,
        algebra.quadratic,
        lambda v: algebra.grade(v, 1, 2),
    ):
        want = f(x.detach().numpy())  # type: ignore[no-untyped-call]
        assert_near(numbers(f(x)), want, 1e-15)  # type: ignore[no-untyped-call]
        assert torch.autograd.gradcheck(f, (x,))
    for g in (algebra.join, algebra.regressive, algebra.inner, algebra.commutator):
        assert_near(numbers(g(x, y)), g(x.detach().numpy(), y.detach().numpy()), 1e-14)
        assert torch.autograd.gradcheck(g, (x, y))


def test_same_bits_again_and_with_any_threads() -> None:
    x, y, w = random_problem("sgp", "+++", 37, 28, 28, torch.float32)
    gz = torch.randn_like(x)
    first = None
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 2, 1):
            torch.set_num_threads(threads)
            z = tc.sgp(x, y, w, "+++")
            found = [z.detach(), *torch.autograd.grad(z, (x, y, w), gz)]
            first = first or found
            assert all(torch.equal(a, b) for a, b in zip(first, found, strict=True))
    finally:
        torch.set_num_threads(before)


def test_large_results_reuse_memory() -> None:
    x = torch.randn(8, 4096, 128)
    where = set()
    for _ in range(5):
        z = tc.mv_gelu(x, "+++")
        kept = z[0, 0].clone()
        where.add(z.data_ptr())
        assert torch.equal(kept, torch.nn.functional.gelu(x[0, 0])) or torch.allclose(
            kept, torch.nn.functional.gelu(x[0, 0]), atol=1e-6
        )
        del z
    assert len(where) == 1
    a, b = tc.mv_gelu(x, "+++"), tc.mv_gelu(x, "+++")
    assert a.data_ptr() != b.data_ptr()


@pytest.mark.filterwarnings("ignore")  # the tracer is deprecated
def test_traced_modules_compute() -> None:
    layer = tc.Layer(4, 3).requires_grad_(False)
    x = torch.randn(8, 3, 4)
    with torch.no_grad():
        traced = torch.jit.trace(layer, torch.randn(8, 3, 4))
    assert torch.equal(traced(x), layer(x))


def test_changed_inputs_are_noticed() -> None:
    x, y, w = random_problem("sgp", "++", 2, 3, 3, torch.float32)
    z = tc.sgp(x * 1, y, w, "++")
    changed = x * 1
    z = tc.sgp(changed, y, w, "++")
    changed.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    z = tc.sgp(x, y, w, "++")
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.sum().backward()


def test_checkpointing() -> None:
    from torch.utils.checkpoint import checkpoint

    layer = tc.Layer(4, 3)
    x = torch.randn(8, 3, 4, requires_grad=True)
    (want,) = torch.autograd.grad(layer(x).square().sum(), x)
    (got,) = torch.autograd.grad(checkpoint(layer, x, use_reentrant=False).square().sum(), x)
    assert torch.equal(got, want)


@pytest.mark.usefixtures("through_python")
def test_matmul_precision_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    true_native = _spec.Operation.native

    def native(self: Any, fast_matmul: bool = False) -> Any:
        asked.append(fast_matmul)
        return true_native(self, fast_matmul)

    monkeypatch.setattr(_spec.Operation, "native", native)
    x, w, b = random_problem("linear", "++", 2, 3, 3, torch.float32)
    before = torch.get_float32_matmul_precision()
    try:
        for word in ("highest", "high", "medium"):
            torch.set_float32_matmul_precision(word)
            tc.linear(x, w, b, "++")
    finally:
        torch.set_float32_matmul_precision(before)
    assert asked == [False, True, True]


def test_finite_check() -> None:
    x = torch.zeros(8, 3, 4)
    x[2, 1, 3] = float("inf")
    with pytest.raises(FloatingPointError, match=r"\(2, 1, 3\)"):
        tc.MVGELU("+++", check_finite=True)(x)


def test_threads_and_processes() -> None:
    import concurrent.futures

    x, y, w = (t.detach() for t in random_problem("sgp", "+++", 50, 16, 16, torch.float32))
    want = tc.sgp(x, y, w, "+++")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: tc.sgp(x, y, w, "+++"), range(40)):
            assert torch.equal(got, want)
    code = (
        "import os, torch, tessera.clifford as c\n"
        "x = torch.randn(8, 50, 16); w = torch.randn(16, 20)\n"
        "z = c.sgp(x, x, w, '+++')\n"
        "if os.fork() == 0:\n"
        "    os._exit(0 if torch.equal(c.sgp(x, x, w, '+++'), z) else 3)\n"
        "print(os.waitpid(-1, 0)[1])\n"
    )
    assert run_python(code).stdout == "0\n"


def test_older_versions_of_torch_lend_by_dlpack() -> None:
    code = (
        "import torch; del torch.Tensor.__dlpack_c_exchange_api__\n"
        "import tessera.clifford as c\n"
        "torch.manual_seed(0)\n"
        "layer = c.Layer(4, 3); x = torch.randn(8, 3, 4, requires_grad=True)\n"
        "(g,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)\n"
        "g.square().sum().backward(); print(float(x.grad.norm()) > 0)\n"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_signs_kept_elsewhere() -> None:
    x = torch.randn(8, 2, 3)
    assert torch.equal(tc.mv_gelu(torch._neg_view(x), "+++"), tc.mv_gelu(-x, "+++"))


def test_threads_end_when_their_number_changes() -> None:
    code = (
        "import os, torch, tessera, tessera.clifford as c\n"
        "torch.set_num_threads(1); x = torch.randn(8, 500, 16)\n"
        "def count():\n"
        "    c.mv_gelu(x, '+++'); c.mv_gelu(x.numpy(), '+++')\n"
        "    return len(os.listdir('/proc/self/task'))\n"
        "tessera.set_num_threads(1); least = count()\n"
        "tessera.set_num_threads(9); most = count()\n"
        "tessera.set_num_threads(1); print(most > least + 8, count() - least)\n"
        "tessera.set_num_threads(None); c.mv_gelu(x, '+++')\n"
        "least = len(os.listdir('/proc/self/task')); torch.set_num_threads(7)\n"
        "c.mv_gelu(x, '+++'); torch.set_num_threads(1); c.mv_gelu(x, '+++')\n"
        "print(len(os.listdir('/proc/self/task')) - least)\n"
    )
    assert run_python(code).stdout == "True 0\n0\n"


def test_meta_and_fake_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    layer = tc.Layer(4, 3, device="meta")
    assert layer(torch.empty(8, 5, 4, device="meta")).shape == (8, 5, 4)
    with FakeTensorMode():
        x = torch.empty(8, 5, 4)
        assert tc.fcgp(x, x, torch.empty(20, 4, 6), "+++").shape == (8, 5, 6)


def test_numpy_and_torch_agree() -> None:
    x, y, w = (t.detach() for t in random_problem("sgp", "0+++", 5, 6, 6, torch.float32))
    got = tc.sgp(x, y, w, "0+++")
    assert np.array_equal(got.numpy(), tc.sgp(x.numpy(), y.numpy(), w.numpy(), "0+++"))

"""clifford under compilers and transformations: nested ones, exported programs, fake tensors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import grad, jacrev, vmap
from torch.utils._python_dispatch import TorchDispatchMode

import clifford_torch as plain
import tessera.clifford as tc
import tessera.clifford._torch  # noqa: F401 # registers the operations

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the compiler's own imports


def layers(metric: str) -> Callable[[Tensor], Tensor]:
    """Every operation once, with weights from outside of a transformed function."""
    torch.manual_seed(2)
    net = torch.nn.Sequential(
        tc.MVLinear(3, 4, metric),
        tc.Layer(4, metric),
        tc.Layer(4, metric, use_fc=True),
        tc.MVRMSNorm(metric),
        tc.MVGELU(metric),
    ).double()
    product, mixing = tc.SGP(4, metric).double(), tc.FCGP(4, 2, metric).double()

    for module in (net, product, mixing):
        # Compilers trace a pass backward by what wants gradients, beyond the second derivative.
        module.requires_grad_(False)

    def f(x: Tensor) -> Tensor:
        y = net(x)
        return mixing(product(y, y.flip(-1)), y)

    return f


TRANSFORMS: dict[str, tuple[Callable[[Callable[..., Any]], Callable[..., Any]], int]] = {
    "grad": (lambda f: grad(lambda x: f(x).pow(3).sum()), 3),
    "grad_of_grad": (
        lambda f: grad(lambda x: grad(lambda v: f(v).pow(3).sum())(x).square().sum()),
        3,
    ),
    "jacrev": (lambda f: jacrev(lambda x: f(x).sum((0, 1))), 3),
    "vmap_of_grad": (lambda f: vmap(grad(lambda x: f(x).pow(3).sum())), 4),
    "grad_of_vmap": (lambda f: grad(lambda x: vmap(f)(x).pow(3).sum()), 4),
}


def by_autograd(f: Callable[..., Any], name: str, x: Tensor) -> Tensor:
    """Compute what a transformation computes, without it."""
    x = x.clone().requires_grad_()
    if name == "jacrev":
        y = f(x).sum((0, 1))
        return torch.stack([torch.autograd.grad(v, x, retain_graph=True)[0] for v in y])
    rows = x if x.dim() == 4 else x[None]
    energy = torch.stack([f(v).pow(3).sum() for v in rows]).sum()
    (first,) = torch.autograd.grad(energy, x, create_graph=name == "grad_of_grad")
    return torch.autograd.grad(first.square().sum(), x)[0] if name == "grad_of_grad" else first


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformations(name: str) -> None:
    transform, n_axis = TRANSFORMS[name]
    f = layers("++")
    torch.manual_seed(1)
    x = torch.randn((2, 4, 3, 3)[4 - n_axis :], dtype=torch.float64)
    want = by_autograd(f, name, x)
    assert want.abs().max() > 0.1
    assert torch.allclose(transform(f)(x), want, rtol=1e-9, atol=1e-9)
    torch._dynamo.reset()
    got = torch.compile(transform(f), fullgraph=True, backend="aot_eager")(x)
    assert torch.allclose(got, want, rtol=1e-9, atol=1e-9)


def test_third_derivatives_are_refused_under_transformations() -> None:
    x = torch.randn(4, 3, 3, dtype=torch.float64)

    def of(f: Callable[..., Any]) -> Any:
        return grad(lambda v: f(v).pow(3).sum())

    with pytest.raises(NotImplementedError, match="third"):
        of(of(of(lambda v: tc.mv_gelu(v, "++"))))(x)


def kept_bits(graph: Any) -> list[int]:
    """Return what the passes forward of a graph keep for backward."""
    return [
        node.args[-1]
        for node in graph.nodes
        if node.op == "call_function"
        and str(node.target).startswith("tessera.clifford")
        and "backward" not in str(node.target)
    ]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("use_fc", [False, True])
def test_exported_programs_keep_nothing_for_backward(use_fc: bool, strict: bool) -> None:
    layer = tc.Layer(4, 2, use_fc=use_fc)
    x = torch.randn(4, 3, 4)
    program = torch.export.export(layer, (x,), strict=strict)
    assert kept_bits(program.graph) == [0]
    module = program.module()
    assert torch.equal(module(x), layer(x))
    # It can be trained all the same.
    want = torch.autograd.grad(layer(x).square().sum(), list(layer.parameters()))
    got = torch.autograd.grad(module(x).square().sum(), list(module.parameters()))
    assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, want, strict=True))


def test_compiled_inference_keeps_nothing_for_backward() -> None:
    graphs = []

    def backend(module: Any, example: Any) -> Any:
        graphs.append(module.graph)
        return module.forward

    layer = tc.Layer(4, 2)
    x = torch.randn(4, 3, 4)
    torch._dynamo.reset()
    torch.compile(layer, fullgraph=True, backend=backend)(x)
    torch._dynamo.reset()
    torch.compile(layer.requires_grad_(False), fullgraph=True, backend=backend)(x)
    (trained,), (used,) = map(kept_bits, graphs)
    assert trained != 0
    assert used == 0


# --- Shapes that real kernels refuse, fake ones refuse

N_COMPONENT, N_GRADE, N_PATH, N_ROW, N_IN, N_OUT = 4, 3, 10, 3, 5, 6
PLACES = {
    "gate": (0,),
    "norm": (0,),
    "sgp": (0, 1, 2),
    "fcgp": (0, 1, 2),
    "linear": (0, 3, 4),
    "layer": (0, 2, 3, 4),
    "fc_layer": (0, 2, 3, 4),
}


def arguments(kind: str) -> dict[str, tuple[list[Any], tuple[Any, ...]]]:
    """Return tensors and the rest of what the three operators of a kind are called with."""
    is_mixing = kind in ("fcgp", "fc_layer")
    n_out = N_OUT if is_mixing or kind == "linear" else N_IN
    n_linear = n_out if kind == "linear" else N_IN
    shapes = [
        (N_COMPONENT, N_ROW, N_IN),
        (N_COMPONENT, N_ROW, N_IN),
        (N_PATH, N_IN, n_out) if is_mixing else (N_IN, N_PATH),
        (N_GRADE, N_IN, n_linear),
        (n_linear,),
    ]
    inputs = [torch.randn(s) if i in PLACES[kind] else None for i, s in enumerate(shapes)]
    gz = torch.randn(N_COMPONENT, N_ROW, n_out)
    nothing = torch.empty(0)
    statistics = nothing if kind in ("gate", "linear") else torch.rand(N_GRADE, N_ROW) + 1
    linear_out = torch.randn(shapes[0]) if "layer" in kind else nothing
    z = torch.randn_like(gz) if is_mixing else nothing
    cotangents = [None if t is None else torch.randn_like(t) for t in inputs]
    wanted = sum(1 << i for i in PLACES[kind])
    return {
        "": (inputs, ("++", 0)),
        "_backward": ([gz, *inputs, statistics, linear_out, z], ("++", wanted)),
        "_double_backward": ([gz, *inputs, *cotangents], ("++", 2 * wanted + 1)),
    }


def changed(t: Tensor | None, is_optional: bool) -> Iterator[tuple[str, Tensor | None]]:
    yield "as it was", t
    if t is None:
        yield "given", torch.randn(2, 3)
        yield "given as an activation", torch.randn(N_COMPONENT, N_ROW, N_IN)
        return
    if is_optional:
        yield "missing", None
    for axis in range(t.dim()):
        shape = list(t.shape)
        shape[axis] += 1
        yield f"axis {axis} longer", torch.randn(shape)
    yield "one axis more", t.unsqueeze(0)
    yield "one axis", t.flatten()
    yield "no axis", t.new_ones(())
    for dtype in (torch.float64, torch.int64, torch.bfloat16):
        yield str(dtype), t.to(dtype)


def error_of(f: Any, *args: Any) -> Any:
    try:
        f(*args)
    except (TypeError, ValueError) as error:
        return type(error)
    return None


@pytest.mark.parametrize("suffix", ["", "_backward", "_double_backward"])
@pytest.mark.parametrize("kind", PLACES)
def test_fake_kernels_refuse_what_real_ones_refuse(
    kind: str, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "torch._subclasses.fake_tensor")  # which logs every error
    op = getattr(torch.ops.tessera, f"clifford_{kind}{suffix}").default
    tensors, rest = arguments(kind)[suffix]
    first = 0 if suffix == "" else 1
    refused = 0
    mode = FakeTensorMode()
    for place, t in enumerate(tensors):
        is_optional = first < place < first + 5 or (suffix == "_double_backward" and place > 5)
        for what, wrong in changed(t, is_optional):
            args = [*tensors[:place], wrong, *tensors[place + 1 :], *rest]
            fakes = [mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args]
            real = error_of(op, *args)
            with mode:
                fake = error_of(op, *fakes)
            assert fake == real, f"argument {place} {what}: {fake}, not {real}"
            refused += real is not None
    assert refused > len(PLACES[kind])


def test_compilers_complain_of_shapes_while_they_trace() -> None:
    torch._dynamo.reset()
    x, w = torch.randn(4, 3, 5), torch.randn(5, 9)
    f = torch.compile(lambda x, w: tc.sgp(x, x, w, "++"), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=r"weight: expected \(5,10\)"):
        f(x, w)
    with pytest.raises(ValueError, match=r"weight: expected \(5,10\)"):
        tc.sgp(x.to("meta"), x.to("meta"), w.to("meta"), "++")


# --- Maps and forms of algebras

MAPS = ("reverse", "involution", "conjugate", "right_complement", "left_complement")
METRICS = ("+", "+++", "0+++", "+---", "++++-", "-0+")


class Recorder(TorchDispatchMode):
    """Write down what is called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_maps_bring_nothing_from_the_host() -> None:
    algebra = tc.Algebra("0+++")
    x = torch.randn(16, 2, 3)
    with Recorder() as recorder:
        for name in (*MAPS, "quadratic", "norm"):
            getattr(algebra, name)(x)
        algebra.grade(x, 1, 3)
        algebra.join(x, x)
    # What becomes of a Python list.
    assert "aten.lift_fresh.default" not in recorder.names


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("metric", METRICS)
def test_maps_of_tensors_are_those_of_arrays(metric: str, axis: int) -> None:
    algebra = tc.Algebra(metric, axis=axis)
    n = algebra.n_component
    torch.manual_seed(8)
    x = torch.randn((n, 2, 3) if axis == 0 else (2, 3, n), dtype=torch.float64)
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda v: [getattr(algebra, name)(v) for name in (*MAPS, "quadratic", "norm")],
        fullgraph=True,
        backend="eager",
    )
    for name, also in zip((*MAPS, "quadratic", "norm"), compiled(x), strict=True):
        found = getattr(algebra, name)(x)
        want = torch.from_numpy(getattr(algebra, name)(x.numpy()))
        assert torch.allclose(found, want, rtol=1e-14, atol=0), name
        assert torch.equal(also, found), name
    # What is dropped is dropped, whatever it was.
    x.select(axis, n - 1).fill_(float("inf"))
    assert torch.equal(algebra.grade(x, 0), torch.from_numpy(algebra.grade(x.numpy(), 0)))


@pytest.mark.parametrize("metric", METRICS)
def test_gradients_where_norms_vanish(metric: str) -> None:
    algebra = tc.Algebra(metric)
    n = algebra.n_component
    points = torch.zeros(n, 1, n + 2, dtype=torch.float64)
    points[:, 0, :n] = torch.eye(n)  # every blade, ideal ones too
    if "-" in metric and "+" in metric:  # a null vector
        points[1 + metric.index("+"), 0, n] = points[1 + metric.index("-"), 0, n] = 1
    x = points.clone().requires_grad_()
    size = algebra.norm(x)
    (first,) = torch.autograd.grad(size.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * torch.randn_like(first)).sum(), x)
    assert first.isfinite().all()
    assert second.isfinite().all()
    vanishes = (size == 0).squeeze(0)
    assert vanishes.sum() >= (n // 2 + 1 if "0" in metric else 1)
    assert not first[:, 0, vanishes].any()
    # Elsewhere it is the gradient that it was.
    y = torch.randn(n, 3, 2, dtype=torch.float64, requires_grad=True)
    eta = torch.tensor(plain.table(algebra.metric).eta, dtype=torch.float64)
    want = (eta[:, None, None] * y * y).sum(0).abs().sqrt()
    assert torch.allclose(algebra.norm(y), want)
    for f in (algebra.norm, algebra.quadratic, algebra.reverse, algebra.dual):
        assert torch.autograd.gradcheck(f, y)
        assert torch.autograd.gradgradcheck(f, y)


def test_what_maps_keep_is_fit_for_everybody() -> None:
    """Factors made in inference mode, for fake tensors or under a transformation stay there."""
    algebra = tc.Algebra("--+")
    x = torch.randn(8, 2, 3)
    with torch.inference_mode():
        want = algebra.reverse(x)
    with FakeTensorMode():
        algebra.conjugate(torch.empty(8, 2, 3))
    grad(lambda v: algebra.involution(v).sum())(x)
    for name in ("reverse", "conjugate", "involution"):
        v = x.clone().requires_grad_()
        getattr(algebra, name)(v).sum().backward()
    assert torch.equal(algebra.reverse(x), want.clone())
    assert torch.equal(vmap(algebra.reverse)(x.expand(3, -1, -1, -1))[1], algebra.reverse(x))

"""The compiled node of torch against the way through Python, which stays where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import tessera  # noqa: E402
import tessera.clifford as tc  # noqa: E402
from tessera.clifford import lgatr, native  # noqa: E402
from tessera.clifford.equivariant import _fused  # noqa: E402
from tessera.clifford.native import _compile  # noqa: E402
from tessera.clifford.native._find import State  # noqa: E402

pytestmark = [
    pytest.mark.skipif(_compile.compiler() is None, reason="no compiler of C++"),
    # Forward mode of torch scripts its decompositions.
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning"),
]

_N, _ROWS = 6, 7


@pytest.fixture(autouse=True, scope="module")
def _node() -> None:
    native.build()


@pytest.fixture
def through_python(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    module = State.module

    def switch(on: bool) -> None:
        monkeypatch.setattr(State, "module", None if on else module)
        monkeypatch.setattr(State, "is_settled", True)

    return switch


def _inputs(kind: str, dtype: Any, weight_dtype: Any = None) -> list[Any]:
    torch.manual_seed(3)
    of = weight_dtype or dtype

    def make(*shape: int, t: Any = dtype) -> Any:
        return torch.randn(*shape, dtype=torch.float64).to(t).requires_grad_()

    x, y = make(8, _ROWS, _N), make(8, _ROWS, _N)
    product, mixing = make(_N, 20, t=of), make(20, _N, 5, t=of)
    linear, bias = make(4, _N, _N, t=of), make(1, 1, _N, t=of)
    none = None
    return {
        "gate": [x, none, none, none, none],
        "norm": [x, none, none, none, none],
        "sgp": [x, y, product, none, none],
        "fcgp": [x, y, mixing, none, none],
        "linear": [x, none, none, linear, bias],
        "layer": [x, none, product, linear, bias],
        "fc_layer": [x, none, mixing, linear, bias],
    }[kind]


def _apply(kind: str, inputs: list[Any]) -> Any:
    from tessera.clifford import _torch

    return _torch.apply(kind, "+++", *inputs)


def _is_node(z: Any) -> bool:
    return z.grad_fn is not None and "TesseraClifford" in z.grad_fn.name()


_KINDS = ("gate", "norm", "sgp", "fcgp", "linear", "layer", "fc_layer")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", _KINDS)
def test_same_bits(kind: str, dtype: str, through_python: Callable[[bool], None]) -> None:
    found = []
    for on in (False, True):
        through_python(on)
        inputs = _inputs(kind, getattr(torch, dtype))
        given = [t for t in inputs if t is not None]
        z = _apply(kind, inputs)
        assert _is_node(z) != on
        torch.manual_seed(4)
        gradients = torch.autograd.grad(z, given, torch.randn_like(z))
        found.append([z, *gradients])
    for a, b in zip(*found, strict=True):
        assert (a.shape, a.stride()) == (b.shape, b.stride())
        assert torch.equal(a, b)


@pytest.mark.parametrize("kind", ["sgp", "linear", "fc_layer"])
def test_only_what_is_wanted(kind: str, through_python: Callable[[bool], None]) -> None:
    found = []
    for on in (False, True):
        through_python(on)
        inputs: list[Any] = _inputs(kind, torch.float32)
        inputs = [t if t is None else t.detach() for t in inputs]
        inputs[3 if kind == "linear" else 2].requires_grad_()
        _apply(kind, inputs).square().sum().backward()
        found.append([t if t is None else t.grad for t in inputs])
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        assert a is None or torch.equal(a, b)


@pytest.mark.parametrize("kind", _KINDS)
def test_second_derivatives(kind: str, through_python: Callable[[bool], None]) -> None:
    found = []
    for on in (False, True):
        through_python(on)
        inputs = _inputs(kind, torch.float64)
        given = [t for t in inputs if t is not None]
        z = _apply(kind, inputs)
        gz = torch.randn(z.shape, dtype=z.dtype, generator=torch.Generator().manual_seed(5))
        first = torch.autograd.grad(z, given, gz.requires_grad_(), create_graph=True)
        loss = sum(g.square().sum() for g in first)
        found.append(torch.autograd.grad(loss, [gz, *given], allow_unused=True))
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        assert a is None or torch.equal(a, b)


def test_autocast(through_python: Callable[[bool], None]) -> None:
    found = []
    for on in (False, True):
        through_python(on)
        inputs = _inputs("layer", torch.float32)
        with torch.autocast("cpu", torch.bfloat16):
            z = _apply("layer", inputs)
        z.float().square().sum().backward()
        found.append([z, *(t.grad for t in inputs if t is not None)])
        assert z.dtype == torch.bfloat16
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)


def test_without_gradients_nothing_is_kept() -> None:
    inputs = _inputs("layer", torch.float32)
    with torch.no_grad():
        assert _apply("layer", inputs).grad_fn is None
    with torch.inference_mode():
        assert _apply("layer", inputs).is_inference()


def test_what_is_watched_goes_the_way_of_python() -> None:
    x, w = torch.randn(8, 4, 3), torch.randn(3, 20)

    def f(x: Any) -> Any:
        return tc.sgp(x, x, w, "+++")

    want = f(x)
    assert torch.allclose(torch.vmap(f)(x.expand(2, 8, 4, 3))[1], want)
    g = torch.func.grad(lambda t: f(t).sum())(x)
    y = x.clone().requires_grad_()
    f(y).sum().backward()
    assert torch.allclose(g, y.grad)
    _, tangent = torch.func.jvp(f, (x,), (torch.ones_like(x),))
    assert tangent.shape == want.shape
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        got = torch.autograd.forward_ad.unpack_dual(f(dual)).tangent
    assert torch.equal(got, tangent)
    with torch.device("cpu"):
        assert torch.equal(f(x), want)


def test_many_gradients_at_once() -> None:
    x = torch.randn(8, 4, 3, dtype=torch.float64, requires_grad=True)
    z = tc.mv_gelu(x, "+++")
    assert _is_node(z)
    gz = torch.randn(5, *z.shape, dtype=z.dtype)
    (got,) = torch.autograd.grad(z, x, gz, is_grads_batched=True, retain_graph=True)
    want = torch.stack([torch.autograd.grad(z, x, g, retain_graph=True)[0] for g in gz])
    assert torch.equal(got, want)


def test_compilers_see_the_operator() -> None:
    layer = tc.Layer(4, 3)
    x = torch.randn(8, 5, 4, requires_grad=True)
    seen: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        seen.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    torch._dynamo.reset()
    z = torch.compile(layer, fullgraph=True, backend=backend)(x)
    assert any("clifford_layer" in str(target) for target in seen)
    assert torch.equal(z, layer(x))


def _loss_of(kind: str) -> tuple[Callable[[], Any], list[Any]]:
    if kind != "block":
        inputs = _inputs(kind, torch.float32)
        return lambda: _apply(kind, inputs).square().sum(), [t for t in inputs if t is not None]
    torch.manual_seed(8)
    block = lgatr.LGATrBlock(2, 5, {"num_heads": 2}, {"mlp_ratio": 2})
    x, scalars = torch.randn(2, 5, 2, 16, requires_grad=True), torch.randn(2, 5, 5)
    return lambda: block(x, scalars)[0].square().sum(), [x, *block.parameters()]


@pytest.mark.skipif(
    tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 11),
    reason="compiled autograd of this torch has no calls of nodes outside of programs",
)
# torch asks what it recorded for gradients, of its own operations as well.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("kind", ["layer", "fcgp", "block"])
def test_compiled_autograd(kind: str) -> None:
    torch._dynamo.reset()
    loss, given = _loss_of(kind)
    want = torch.autograd.grad(loss(), given)
    enabled = torch._dynamo.compiled_autograd._enable
    for _ in range(2):  # what is recorded, and that again with other tensors
        total = loss()
        with enabled(torch.compile(backend="eager")):
            total.backward()
        for t, g in zip(given, want, strict=True):
            assert torch.equal(t.grad, g)
            t.grad = None


def test_errors_are_the_same(through_python: Callable[[bool], None]) -> None:
    bad = [
        ("sgp", (torch.randn(8, 4, 3), torch.randn(8, 4, 2), None, None, None)),
        ("sgp", (torch.randn(7, 4, 3), torch.randn(7, 4, 3), None, None, None)),
        ("linear", (torch.randn(8, 4, 3), None, None, torch.randn(4, 3, 3).double(), None)),
        ("gate", (torch.ones(8, 4, 3, dtype=torch.int64), None, None, None, None)),
        ("linear", (torch.randn(8, 4, 3), None, None, None, None)),
        ("gate", (torch.tensor(1.0), None, None, None, None)),
    ]
    for kind, inputs in bad:
        said = []
        for on in (False, True):
            through_python(on)
            with pytest.raises(tessera.Error) as error:
                _apply(kind, list(inputs))
            said.append((type(error.value), str(error.value)))
        assert said[0] == said[1]


def test_a_failure_backward_keeps_its_type() -> None:
    x = torch.randn(8, 4, 3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t[..., :2]):
        z = tc.mv_gelu(x, "+++")
    with pytest.raises(tessera.ShapeError, match=r"expected \(8,4,2\)"):
        z.sum().backward()
    total = tc.mv_gelu(x, "+++").sum()
    total.backward()
    with pytest.raises(RuntimeError, match="second time"):
        total.backward()
    z = tc.mv_gelu(x, "+++")
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()


def test_hooks_see_all_that_is_kept() -> None:
    inputs = _inputs("fc_layer", torch.float32)
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        z = _apply("fc_layer", inputs)
    # x, two weights, bias, statistics, the linear map and z
    assert sorted(tuple(t.shape) for t in packed) == sorted(
        [(8, 7, 6), (20, 6, 5), (4, 6, 6), (1, 1, 6), (4, 7), (8, 7, 6), (8, 7, 5)]
    )
    z.sum().backward()
    want = [t.grad.clone() for t in inputs if t is not None]
    again = _inputs("fc_layer", torch.float32)
    torch.utils.checkpoint.checkpoint(
        lambda *t: _apply("fc_layer", list(t)), *again, use_reentrant=False
    ).sum().backward()
    for a, b in zip((t.grad for t in again if t is not None), want, strict=True):
        assert torch.equal(a, b)


# Scalars of which rows have none, few, and enough for torch's own norm.
@pytest.mark.parametrize("s", [0, 5, 12])
def test_parts_of_blocks(s: int, through_python: Callable[[bool], None]) -> None:
    torch.manual_seed(6)
    block = lgatr.LGATrBlock(2, s, {"num_heads": 2}, {"mlp_ratio": 2})
    found = []
    for on in (False, True):
        through_python(on)
        torch.manual_seed(7)
        x = torch.randn(2, 5, 2, 16, requires_grad=True)
        scalars = torch.randn(2, 5, s, requires_grad=True) if s else None
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            z, z_s = block(x, scalars)
        weights = [p for p in block.parameters() if p.requires_grad]
        inputs = [x, *weights, *([] if scalars is None else [scalars])]
        loss = z.square().sum() + (0 if z_s is None else z_s.square().sum())
        first = torch.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
        total = sum(g.square().sum() for g in first if g is not None)
        second = torch.autograd.grad(total, inputs, retain_graph=True, allow_unused=True)
        plain = torch.autograd.grad(loss, inputs, allow_unused=True)
        found.append([z, z_s, *first, *second, *plain])
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        assert a is None or torch.equal(a, b)


def test_rows_in_parts(
    through_python: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(10)
    block = lgatr.LGATrBlock(2, 3, {"num_heads": 2}, {"mlp_ratio": 2})
    x, scalars = torch.randn(3, 100, 2, 16, requires_grad=True), torch.randn(3, 100, 3)
    found = []
    for on, most in ((False, 1 << 20), (False, 1), (True, 1)):
        through_python(on)
        monkeypatch.setattr(_fused, "_CHUNK_BYTES", most)
        z, _ = block(x, scalars)
        found.append(torch.autograd.grad(z.square().sum(), [x, *block.parameters()]))
    for whole, parts, python in zip(*found, strict=True):
        assert torch.equal(parts, python)
        torch.testing.assert_close(parts, whole)


def test_parts_of_blocks_without_rows(through_python: Callable[[bool], None]) -> None:
    torch.manual_seed(9)
    block = lgatr.LGATrBlock(2, 3, {"num_heads": 2}, {"mlp_ratio": 2})
    for on in (False, True):
        through_python(on)
        z, _ = block(torch.randn(0, 5, 2, 16), torch.randn(0, 5, 3))
        for g in torch.autograd.grad(z.sum(), list(block.parameters()), allow_unused=True):
            assert g is None or not g.any()


def test_threads_change_no_bits() -> None:
    inputs = _inputs("layer", torch.float32)
    try:
        tessera.set_num_threads(1)
        want = _apply("layer", inputs)
        tessera.set_num_threads(2)
        assert torch.equal(_apply("layer", inputs), want)
    finally:
        tessera.set_num_threads(None)


def _python(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


_PROGRAM = """
import torch, tessera.clifford as tc
from tessera.clifford import native
x = torch.randn(8, 4, 3, requires_grad=True)
z = tc.mv_gelu(x, "+++")
z.sum().backward()
print(native.is_active(), z.grad_fn.name())
"""


def test_it_can_be_turned_off() -> None:
    assert _python(_PROGRAM).startswith("True TesseraClifford")
    assert _python(_PROGRAM, TESSERA_NATIVE="0").startswith("False CliffordForward")


def test_without_a_compiler_python_does_it(tmp_path: Path) -> None:
    cache = {"TESSERA_NATIVE_CACHE": str(tmp_path), "CXX": "no-such-compiler"}
    assert _python(_PROGRAM, TESSERA_NATIVE="1", **cache).startswith("False CliffordForward")
    cache["CXX"] = "false"  # one that fails, which is not tried again
    assert _python(_PROGRAM, TESSERA_NATIVE="1", **cache).startswith("False CliffordForward")
    assert {f.suffix for f in tmp_path.iterdir()} == {".lock", ".failed"}
    cache["CXX"] = "sleep"
    assert _python(_PROGRAM, TESSERA_NATIVE="1", **cache).startswith("False CliffordForward")


def test_a_compiler_may_complain_in_any_bytes(tmp_path: Path) -> None:
    program = tmp_path / "compiler"
    program.write_text("#!/bin/sh\nprintf 'error: \\221x\\222' >&2; exit 1\n")
    program.chmod(0o700)
    cache = {"TESSERA_NATIVE_CACHE": str(tmp_path / "cache"), "CXX": str(program)}
    assert _python(_PROGRAM, TESSERA_NATIVE="1", **cache).startswith("False CliffordForward")
    (said,) = (tmp_path / "cache").glob("*.failed")
    assert said.read_text("utf-8") == "error: \ufffdx\ufffd"


def test_processes_wait_for_the_first_that_compiles(tmp_path: Path) -> None:
    # A compiler that copies what is compiled already, slowly, and counts.
    program, calls = tmp_path / "compiler", tmp_path / "calls"
    program.write_text(
        f"#!/bin/sh\necho call >> {calls}\n"
        'while [ "$1" != "-o" ]; do shift; done\n'
        f'sleep 2; cp {_compile.target()} "$2"\n'
    )
    program.chmod(0o700)
    environment = {
        **os.environ,
        "TESSERA_NATIVE": "1",
        "TESSERA_NATIVE_CACHE": str(tmp_path / "cache"),
        "CXX": str(program),
    }
    command = [sys.executable, "-c", _PROGRAM]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    for process in both:
        assert process.communicate()[0].startswith(b"True TesseraClifford")
    assert calls.read_text() == "call\n"


def test_children_of_fork_can_compute() -> None:
    assert "fine" in _python(
        """
import os, torch, tessera.clifford as tc
x = torch.randn(8, 4, 3)
want = tc.mv_gelu(x, "+++")
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(tc.mv_gelu(x, "+++"), want) else 1)
print("fine" if os.waitpid(child, 0)[1] == 0 else "wrong")
"""
    )

"""Linear maps by pairs of components, in the library, against packed matrices."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from tessera import _core  # noqa: E402
from tessera.clifford import gatr, lgatr, native  # noqa: E402
from tessera.clifford.equivariant import _block, _linear, _packed  # noqa: E402
from tessera.clifford.equivariant._linear import EquivariantLinear  # noqa: E402
from tessera.clifford.equivariant._maps import LORENTZ, LORENTZ_FULL, PIN, Geometry  # noqa: E402
from tessera.clifford.native import _compile  # noqa: E402

pytestmark = pytest.mark.skipif(_compile.compiler() is None, reason="no compiler of C++")
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the library make them on the CPU, too, of any sizes."""
    native.build()

    def packs(rows: Any, *_: Any) -> bool:
        return rows.dtype == torch.float32 and not torch.compiler.is_compiling()

    for module in (_block, _linear):
        monkeypatch.setattr(module, "packs", packs)


def _is_there(t: Any) -> bool:
    return t is not None


def _grads(module: Any, inputs: list[Any], results: Any) -> list[Any]:
    torch.manual_seed(3)
    draws = [torch.randn(r.shape, dtype=torch.float64).to(r) for r in results if r is not None]
    loss = sum((r * g).sum() for r, g in zip(filter(_is_there, results), draws, strict=True))
    wanted = [*inputs, *module.parameters()]
    found = torch.autograd.grad(loss, wanted, allow_unused=True)
    return [torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True)]


def _all_of(module: Any, inputs: list[Any]) -> list[Any]:
    """Return results, then gradients."""
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    results = module(*leaves)
    return [r.detach() for r in results if r is not None] + _grads(module, leaves, results)


def _same(found: list[Any], wanted: list[Any], error: float = 2e-5) -> None:
    for a, b in zip(found, wanted, strict=True):
        size = float(b.norm())
        assert float((a.to(b) - b).norm()) <= error * size + 1e-7, (a.shape, size)


# Geometry, channels and scalars in and out, bias.
LINEARS = [
    (LORENTZ, 3, 5, 2, 4, True),
    (LORENTZ, 1, 1, 0, 0, True),
    (LORENTZ, 4, 2, 3, 0, False),
    (LORENTZ_FULL, 2, 3, 5, 1, True),
    (LORENTZ_FULL, 2, 2, 0, 3, True),
    (PIN, 3, 2, 4, 5, True),
    (PIN, 1, 4, 0, 0, False),
    (PIN, 2, 2, 0, 3, True),
]


@pytest.mark.parametrize("sizes", LINEARS)
@pytest.mark.usefixtures("always")
def test_linear_layers(sizes: tuple[Geometry, int, int, int, int, bool]) -> None:
    geometry, c_in, c_out, s_in, s_out, bias = sizes
    torch.manual_seed(1)
    layer = EquivariantLinear(c_in, c_out, geometry, s_in, s_out, bias)
    inputs = [torch.randn(4, 3, c_in, 16)] + ([torch.randn(4, 3, s_in)] if s_in else [])
    wanted = _all_of(copy.deepcopy(layer).double(), [t.double() for t in inputs])
    _same(_all_of(layer, inputs), wanted)
    assert layer._packed is not None


BLOCKS: list[Callable[[], Any]] = [
    lambda: lgatr.LGATrBlock(4, 3, {"num_heads": 2}, {}),
    lambda: lgatr.LGATrBlock(8, 8, {}, {}),
    lambda: lgatr.LGATrBlock(2, 6, {"num_heads": 1, "head_scale": True}, {"mlp_ratio": 3}),
    lambda: lgatr.LGATrBlock(4, 2, {"num_heads": 2, "multi_query": True}, {}),
    lambda: lgatr.LGATrBlock(4, 5, {"num_heads": 4, "attn_ratio": 2}, {}),
]


@pytest.mark.parametrize("make", BLOCKS)
@pytest.mark.usefixtures("always")
def test_blocks(make: Callable[[], Any]) -> None:
    torch.manual_seed(2)
    block = make()
    with torch.no_grad():
        for p in block.parameters():
            p.add_(0.1 * torch.randn_like(p))
    c, s = block.mlp.config.mv_channels, block.mlp.config.s_channels
    inputs = [torch.randn(3, 7, c, 16), torch.randn(3, 7, s)]
    wanted = _all_of(copy.deepcopy(block).double(), [t.double() for t in inputs])
    _same(_all_of(block, inputs), wanted, 2e-4)


@pytest.mark.usefixtures("always")
def test_second_gradients() -> None:
    torch.manual_seed(4)
    block = lgatr.LGATrBlock(4, 4, {"num_heads": 2}, {})

    def penalty(module: Any, inputs: list[Any]) -> list[Any]:
        leaves = [t.detach().clone().requires_grad_() for t in inputs]
        mv, s = module(*leaves)
        first = torch.autograd.grad(mv.square().sum() + s.sum(), leaves, create_graph=True)
        return _grads(module, leaves, first)

    inputs = [torch.randn(2, 5, 4, 16), torch.randn(2, 5, 4)]
    with sdpa_kernel(SDPBackend.MATH):  # the fused ones have no second derivative
        wanted = penalty(copy.deepcopy(block).double(), [t.double() for t in inputs])
        _same(penalty(block, inputs), wanted, 5e-4)


@pytest.mark.usefixtures("always")
def test_no_rows_and_frozen_parts() -> None:
    torch.manual_seed(5)
    layer = EquivariantLinear(2, 3, LORENTZ, 2, 2)
    mv, s = layer(torch.randn(0, 2, 16), torch.randn(0, 2))
    assert mv.shape == (0, 3, 16)
    assert s.shape == (0, 2)
    (mv.sum() + s.sum()).backward()
    assert all(float(p.grad.abs().sum()) == 0 for p in layer.parameters())
    layer.requires_grad_(False)
    x = torch.randn(4, 2, 16).requires_grad_()
    layer(x, torch.randn(4, 2))[0].sum().backward()
    assert x.grad is not None
    with torch.no_grad():
        assert layer(x, torch.randn(4, 2))[0].grad_fn is None


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.usefixtures("always")
def test_functions_of_torch_go_by_matrices() -> None:
    layer = EquivariantLinear(2, 3, LORENTZ, 2, 2)
    mv, s = torch.randn(5, 2, 16), torch.randn(5, 2)
    wanted = layer(mv, s)
    for a, b in zip(torch.func.vmap(layer)(mv, s), wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    tangents = torch.randn_like(mv), torch.randn_like(s)
    _, found = torch.func.jvp(lambda *t: layer(*t)[0], (mv, s), tangents)
    bias = layer(torch.zeros_like(mv), torch.zeros_like(s))[0]
    torch.testing.assert_close(found, layer(*tangents)[0] - bias, rtol=1e-4, atol=1e-5)


def test_states_and_copies() -> None:
    """Constants of maps are no part of states, and go where a module goes."""
    layer = EquivariantLinear(2, 3, PIN, 2, 2)
    before = set(layer.state_dict())
    layer.packed()
    assert set(layer.state_dict()) == before
    twin = copy.deepcopy(layer).double()
    assert twin.packed().items.dtype == torch.float64
    found = _packed.unpacked(twin.packed().items, twin.sizes)
    torch.testing.assert_close(found, twin.matrix(), rtol=0, atol=0)


MODULES: list[Callable[[], Any]] = [
    lambda: EquivariantLinear(2, 3, PIN, 2, 2),
    lambda: lgatr.LGATrBlock(2, 2, {"num_heads": 1}, {}),
]


@pytest.mark.parametrize("make", MODULES)
@pytest.mark.usefixtures("always")
def test_training_after_inference(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def to(self: Any, _: Any) -> Any:
        return self._apply(torch.clone)  # as to another device

    monkeypatch.setattr(_packed.Packed, "to", to)
    module = make()
    mv, s = torch.randn(5, 2, 16), torch.randn(5, 2)
    with torch.inference_mode():
        module(mv, s)
    sum(t.sum() for t in module(mv, s)).backward()
    assert all(p.grad is not None for p in module.parameters())


def test_states_assigned_in_inference() -> None:
    with torch.device("meta"):
        layer = EquivariantLinear(2, 3, LORENTZ, 2, 2)
    state = EquivariantLinear(2, 3, LORENTZ, 2, 2).state_dict()
    layer.load_state_dict(state, assign=True)
    layer.requires_grad_()
    mv, s = torch.randn(5, 2, 16), torch.randn(5, 2)
    with torch.inference_mode():
        layer(mv, s)
    layer(mv, s)[0].sum().backward()


@pytest.mark.parametrize("make", MODULES)
@pytest.mark.usefixtures("always")
def test_first_calls_from_threads(make: Callable[[], Any]) -> None:
    mv, s = torch.randn(5, 2, 16), torch.randn(5, 2)
    for _ in range(5):
        module = make()
        children = dict(module._modules)
        start = threading.Barrier(4)

        def call(_: int, module: Any = module, start: Any = start) -> Any:
            start.wait()
            return module(mv, s)

        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(call, range(4)))
        for found in results:
            torch.testing.assert_close(found, results[0], rtol=0, atol=0)
        # Parameters can be counted meanwhile: no dictionary grew.
        assert module._modules.keys() == children.keys()


@pytest.mark.parametrize("make", MODULES)
@pytest.mark.usefixtures("always")
def test_modules_pickled_before(make: Callable[[], Any]) -> None:
    """By releases that had no maps by pairs, or kept a place for them elsewhere."""
    module = make()
    mv, s = torch.randn(5, 2, 16), torch.randn(5, 2)
    wanted = module(mv, s)
    for is_known in (False, True):
        old = make()
        for part in old.modules():
            has_place = "_packed" in {**part.__dict__, **part._modules}
            part._modules.pop("_packed", None)
            part.__dict__.pop("_packed", None)
            if has_place and is_known:
                part.__dict__["_packed"] = None
        found = pickle.loads(pickle.dumps(old))
        found.load_state_dict(module.state_dict())
        torch.testing.assert_close(found(mv, s), wanted, rtol=0, atol=0)


def test_devices_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library without a module for a GPU, or a GPU without the memory: plain matrices."""
    asked = []

    def refuse(_: Any, numbers: Any, rows: Any, items: Any) -> Any:
        asked.append((rows.shape, items.shape))
        raise _core.DeviceError("stage clifford.maps: needs more shared memory")

    cpu = torch.device("cpu")
    monkeypatch.setattr(_packed, "_products", {})
    monkeypatch.setattr(_packed, "find", lambda _: SimpleNamespace(map=refuse))
    assert not _packed._has_products(cpu)
    assert not _packed._has_products(cpu)
    assert asked == [((0, 64), (len(_packed._order(_sizes_of_four())),))]
    monkeypatch.setattr(_packed, "_products", {})
    monkeypatch.setattr(_packed, "find", lambda _: None)
    assert not _packed._has_products(cpu)
    monkeypatch.undo()
    native.build()
    monkeypatch.setattr(_packed, "_products", {})
    assert _packed._has_products(cpu)


def _sizes_of_four() -> _packed.Sizes:
    row = _packed.Row(4, 0)
    return _packed.Sizes(row, row, is_null=False, has_bias=False)


@on_gpu
@pytest.mark.parametrize("channels", [16, 32, 20, 64])
@pytest.mark.parametrize("scalars", [8, 32, 40])
def test_blocks_on_a_gpu(channels: int, scalars: int) -> None:
    torch.manual_seed(6)
    block = lgatr.LGATrBlock(channels, scalars, {"num_heads": 2}, {}).cuda()
    shapes = (9, 37, channels, 16), (9, 37, scalars)
    inputs = [torch.randn(*shape, device="cuda") for shape in shapes]
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("highest")
        wanted = _all_of(block, inputs)
        torch.set_float32_matmul_precision("high")
        found = _all_of(block, inputs)
        again = _all_of(block, inputs)
    finally:
        torch.set_float32_matmul_precision(before)
    assert block._packed is not None
    _same(found, wanted, 5e-3)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))


@on_gpu
@pytest.mark.parametrize("sizes", [(8, 12, 4, 8), (16, 4, 0, 0), (40, 36, 12, 100)])
@pytest.mark.parametrize("geometry", [PIN, LORENTZ, LORENTZ_FULL])
def test_linear_layers_on_a_gpu(sizes: tuple[int, int, int, int], geometry: Geometry) -> None:
    c_in, c_out, s_in, s_out = sizes
    torch.manual_seed(7)
    layer = EquivariantLinear(c_in, c_out, geometry, s_in, s_out).cuda()
    inputs = [torch.randn(333, c_in, 16, device="cuda")]
    if s_in:
        inputs.append(torch.randn(333, s_in, device="cuda"))
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        found = _all_of(layer, inputs)
    finally:
        torch.set_float32_matmul_precision(before)
    assert layer._packed is not None
    _same(found, _all_of(layer.double(), [t.double() for t in inputs]), 2e-3)


def _misaligned(t: Any) -> Any:
    """Return the same numbers, four bytes behind where memory begins."""
    room = t.new_empty(t.numel() + 1)
    return room[1:].copy_(t.flatten()).view(t.shape)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=on_gpu)])
def test_slices_that_begin_anywhere(device: str) -> None:
    """Rows, items and gradients need not be aligned to what kernels read at a time."""
    torch.manual_seed(9)
    native.build()
    row = _packed.Row(4, 4)
    sizes = _packed.Sizes(row, row, is_null=True, has_bias=True)
    n_item = len(_packed._order(sizes))
    places: list[Callable[[Any], Any]] = [torch.clone, _misaligned]
    results = []
    for place in places:
        torch.manual_seed(10)
        rows = place(torch.randn(7, row.width, device=device)).requires_grad_()
        items = place(torch.randn(n_item, device=device)).requires_grad_()
        grad = place(torch.randn(7, row.width, device=device))
        z = _packed.times_packed(rows, _packed.PackedMap(items, sizes))
        results.append([z, *torch.autograd.grad(z, (rows, items), grad)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@on_gpu
def test_a_network_of_gatr_trains_by_them() -> None:
    torch.manual_seed(8)
    net = gatr.GATr(1, 1, 8, 4, 4, 16, num_blocks=2, attention={}, mlp={}).cuda()
    x, s = torch.randn(4, 30, 1, 16, device="cuda"), torch.randn(4, 30, 4, device="cuda")
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        found = _all_of(net, [x, s])
        torch.set_float32_matmul_precision("highest")
        wanted = _all_of(net, [x, s])
    finally:
        torch.set_float32_matmul_precision(before)
    _same(found[:2], wanted[:2], 1e-2)

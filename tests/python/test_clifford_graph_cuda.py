"""Sums over the edges of graphs on a CUDA device: every test here needs one."""

from __future__ import annotations

from typing import Any

import pytest

import tessera
import tessera.clifford as tc

torch: Any = pytest.importorskip("torch")

from tessera.clifford import _torch_graph  # noqa: E402

PART = 256  # edges of a row from which on it is added in parts


def _reason() -> str:
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if not any(device["backend"] == "cuda" for device in tessera.devices()):
        return "no usable CUDA device: " + str(tessera.sys_info().get("cuda"))
    return ""


_skip = _reason()
pytestmark = pytest.mark.skipif(bool(_skip), reason=_skip or "there is one")


def drawn(n_node: int, n_edge: int, seed: int = 1) -> Any:
    """Edges in any order with repeats and loops; about a third of the nodes has none."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, max(2 * n_node // 3, 1), (2, n_edge), generator=generator)


def both(edges: Any, n_node: int) -> tuple[tc.Graph, tc.Graph]:
    return tc.Graph(edges[0], edges[1], n_node), tc.Graph(edges[0].cuda(), edges[1].cuda(), n_node)


def of(*shape: int, dtype: Any, seed: int = 2) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("n_feature", [1, 3, 4, 32, 150])
@pytest.mark.parametrize("kind", ["none", "one", "each", "each_f32"])
def test_bits_of_the_cpu(dtype: Any, n_feature: int, kind: str) -> None:
    """Sums of rows that are added at once, and derivatives by scale, which are chains too."""
    if kind == "each_f32" and dtype.itemsize != 2:
        pytest.skip("f32 goes beside 16 bits")
    here, there = both(drawn(60, 900), 60)
    of_scale = torch.float32 if kind == "each_f32" else dtype
    tensors = [of(4, 60, n_feature, dtype=dtype)]
    if kind != "none":
        width = () if kind == "one" else (n_feature,)
        tensors.append(of(900, *width, dtype=of_scale, seed=3))
    by = of(4, 60, n_feature, dtype=dtype, seed=4)
    found = []
    for graph, device in ((here, "cpu"), (there, "cuda")):
        inputs = [t.to(device).requires_grad_() for t in tensors]
        z = tc.graph_sum(inputs[0], graph, *inputs[1:])
        found.append((z, *torch.autograd.grad(z, inputs, by.to(device))))
    for want, got in zip(*found, strict=True):
        assert got.dtype == want.dtype
        if kind == "one" and want is found[0][-1]:  # over features in f64, in another order
            s, r = here.senders, here.receivers
            terms = (tensors[0][:, s].double() * by[:, r].double()).abs().sum((0, 2))
            allowed = n_feature * torch.finfo(torch.float64).eps * terms
            allowed += torch.finfo(dtype).eps * want.double().abs()  # and may round to either side
            assert ((got.cpu().double() - want.double()).abs() <= allowed).all()
        else:
            assert torch.equal(got.cpu(), want)


@pytest.mark.parametrize("metric", ["+", "0+", "+++", "0+++", "+---", "++++-", "-++0"])
@pytest.mark.parametrize(("dtype", "allowed"), [
    (torch.float64, 1e-13), (torch.float32, 2e-6), (torch.bfloat16, 1e-2),
])  # fmt: skip
def test_products(metric: str, dtype: Any, allowed: float) -> None:
    here, there = both(drawn(50, 400), 50)
    algebra = tc.Algebra(metric)
    shapes = ((algebra.n_component, 50, 8),) * 2 + ((8, algebra.n_path), (400, 8))
    tensors = [of(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    found = []
    for graph, device in ((here, "cpu"), (there, "cuda")):
        x, y, weight, scale = inputs = [t.to(device).requires_grad_() for t in tensors]
        z = tc.graph_product(x, y, weight, graph, metric, scale=scale)
        found.append((z, *torch.autograd.grad(z.square().sum(), inputs)))
    for want, got in zip(*found, strict=True):
        miss = torch.linalg.norm(got.cpu().double() - want.double())
        assert miss <= allowed * torch.linalg.norm(want.double())


def rows_of(lengths: list[int], n_sender: int, seed: int = 5) -> tuple[Any, Any]:
    """Offsets and senders of receivers with so many edges."""
    generator = torch.Generator().manual_seed(seed)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    return offsets, torch.randint(0, n_sender, (int(offsets[-1]),), generator=generator)


# Around the length of a part, several parts, two in one stretch of edges, empty ones between.
LENGTHS = [
    [PART - 1, PART, PART + 1],
    [PART + 1, PART + 1, 0, 2 * PART, 2 * PART + 1, 3],
    [5, 10 * PART + 7, 0, 0, 3 * PART - 1, 1, PART + 1],
    [100_000, 1, 1000],
]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("n_feature", [3, 32])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_long_rows(lengths: list[int], n_feature: int, dtype: Any) -> None:
    """Whole numbers, whose sums are exact in any order: an edge left out or taken twice shows."""
    offsets, senders = rows_of(lengths, 70)
    generator = torch.Generator().manual_seed(6)
    x = torch.randint(-3, 4, (4, 70, n_feature), generator=generator).to(dtype)
    scale = torch.randint(-2, 3, (len(senders), n_feature), generator=generator).to(dtype)
    by = torch.randint(-3, 4, (4, len(lengths), n_feature), generator=generator).to(dtype)
    found = []
    for device in ("cpu", "cuda"):
        graph = tc.Graph.from_csr(offsets, senders.to(device), 70)
        inputs = [t.to(device).requires_grad_() for t in (x, scale)]
        z = tc.graph_sum(inputs[0], graph, inputs[1])
        found.append((z, *torch.autograd.grad(z, inputs, by.to(device))))
    for want, got in zip(*found, strict=True):
        assert torch.equal(got.cpu(), want)


def test_repeats() -> None:
    """The same bits every time, and wherever a row is among the others."""
    lengths = [5000, 300, 257, 40]
    offsets, senders = rows_of(lengths, 90)
    x = of(8, 90, 8, dtype=torch.float32).cuda().requires_grad_()
    scale = of(len(senders), 8, dtype=torch.float32, seed=7).cuda().requires_grad_()
    graph = tc.Graph.from_csr(offsets, senders.cuda(), 90)
    kept: Any = None
    for _ in range(5):
        z = tc.graph_sum(x, graph, scale)
        found = (z, *torch.autograd.grad(z.square().sum(), (x, scale)))
        kept = kept or found
        assert all(torch.equal(a, b) for a, b in zip(found, kept, strict=True))
    moved = tc.Graph.from_csr(
        torch.cat((torch.tensor([0, 77]), offsets[1:] + 77)),
        torch.cat((torch.zeros(77, dtype=torch.int64), senders)).cuda(), 90,
    )  # fmt: skip
    more = torch.cat((torch.ones(77, 8, device="cuda"), scale.detach()))
    assert torch.equal(tc.graph_sum(x, moved, more)[:, 1:], kept[0])
    exact = tc.graph_sum(x.cpu().double(), tc.Graph.from_csr(offsets, senders, 90),
                         scale.cpu().double())  # fmt: skip
    miss = torch.linalg.norm(kept[0].cpu().double() - exact)
    assert miss <= 1e-6 * torch.linalg.norm(exact)


@pytest.mark.parametrize("narrow", [False, True])
def test_derivatives(narrow: bool) -> None:
    _, graph = both(drawn(6, 12), 6)
    x = of(4, 6, 3, dtype=torch.float64).cuda().requires_grad_()
    y = of(4, 6, 3, dtype=torch.float64, seed=8).cuda().requires_grad_()
    scale = of(12, *(() if narrow else (3,)), dtype=torch.float64, seed=9).cuda().requires_grad_()

    def f(x: Any, y: Any, scale: Any) -> Any:
        return tc.graph_product(x, y, None, graph, "++", scale=scale)

    assert torch.autograd.gradcheck(f, (x, y, scale), fast_mode=True)
    assert torch.autograd.gradgradcheck(f, (x, y, scale), fast_mode=True)


def test_layouts() -> None:
    here, there = both(drawn(40, 300), 40)
    x = of(40, 6, 8, dtype=torch.float32)
    scale = of(8, 300, dtype=torch.float32, seed=3)
    for narrow in (x.permute(1, 0, 2), x.permute(1, 0, 2)[..., ::2], x.permute(1, 0, 2)[..., 1:5]):
        n = narrow.shape[2]
        want = tc.graph_sum(narrow, here, scale.T[:, :n])
        assert torch.equal(tc.graph_sum(narrow.cuda(), there, scale.cuda().T[:, :n]).cpu(), want)
        moved = x.cuda().permute(1, 0, 2)
        strided = {8: moved, 4: moved[..., ::2]}[n]
        assert torch.equal(tc.graph_sum(strided, there), tc.graph_sum(strided.contiguous(), there))


@pytest.mark.parametrize("n_node", [0, 4])
def test_no_edges(n_node: int) -> None:
    none = tc.Graph(torch.zeros(0, dtype=torch.int64, device="cuda"), [], n_node)
    x = torch.randn(8, n_node, 2, device="cuda", requires_grad=True)
    scale = torch.randn(0, 2, device="cuda", requires_grad=True)
    z = tc.graph_product(x, x, None, none, "+++", scale=scale)
    assert z.shape == x.shape
    assert not z.any()
    gx, gscale = torch.autograd.grad(z.sum(), (x, scale))
    assert not gx.any()
    assert gscale.shape == (0, 2)


@pytest.mark.parametrize("n_edge", [30, 3 * PART])
def test_wrong_lists(n_edge: int) -> None:
    """Nothing outside is read or written, and the receiver of a wrong number is NaN."""
    graph = tc.Graph.from_csr([0, 10, n_edge], torch.zeros(n_edge).long().cuda(), 5)
    lists = list(_torch_graph.lists_of(graph, torch.device("cuda:0")))
    x = torch.ones(4, 5, 4, device="cuda")
    scale = torch.ones(n_edge, 4, device="cuda")
    call = torch.ops.tessera.clifford_graph_sum.default
    assert call(x, scale, *lists)[0, :, 0].tolist() == [10.0, n_edge - 10.0]
    for which, at, value in (
        (1, 12, 5), (1, 12, -1), (1, n_edge - 1, 1 << 60), (2, 12, n_edge), (2, 12, -(1 << 60)),
        (0, 2, n_edge + 1), (0, 2, 9),
    ):  # fmt: skip
        wrong = [t.clone() for t in lists]
        wrong[which][at] = value
        found = call(x, scale, *wrong)
        assert found[:, 0].eq(10).all()
        assert found[:, 1].isnan().all()
        d = torch.ops.tessera.clifford_graph_dot.default(x, x[:, :2], *wrong, False, False)
        assert d.shape == (n_edge, 4)
        torch.cuda.synchronize()


def test_recorded() -> None:
    """Sums wait for nothing and take no memory of their own: CUDA graphs replay them."""
    offsets, senders = rows_of([1000, 3], 20)
    graph = tc.Graph.from_csr(offsets, senders.cuda(), 20)
    x = torch.randn(4, 20, 4, device="cuda")
    tc.graph_sum(x, graph)
    torch.cuda.synchronize()
    record = torch.cuda.CUDAGraph()
    with torch.cuda.graph(record):
        z = tc.graph_sum(x, graph)
    x.copy_(torch.randn(4, 20, 4))
    record.replay()
    assert torch.equal(z, tc.graph_sum(x, graph))


def test_layer() -> None:
    torch.manual_seed(4)
    here, there = both(drawn(40, 200), 40)
    layer = tc.GraphLayer(8, "+++", n_edge_features=1)
    x, known = torch.randn(8, 40, 8), torch.randn(200, 1)
    want = layer(x, here, known)
    found = layer.cuda()(x.cuda(), there, known.cuda())
    assert torch.linalg.norm(found.cpu() - want) <= 1e-5 * torch.linalg.norm(want)

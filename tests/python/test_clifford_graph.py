"""Products along the edges of graphs against plain loops over edges, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tessera  # noqa: E402
import tessera.clifford as tc  # noqa: E402
from clifford_networks import one_thread  # noqa: E402, F401

# Repeated edges, loops, and nodes without edges of either kind.
SENDERS = [0, 1, 2, 2, 3, 3, 1]
RECEIVERS = [1, 0, 1, 1, 1, 3, 4]
NODES, FEATURES = 6, 3


def graph() -> tc.Graph:
    return tc.Graph(SENDERS, RECEIVERS, NODES)


def inputs(metric: str, dtype: Any = torch.float64, grad: bool = True) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    algebra = tc.Algebra(metric)
    shapes = (
        (algebra.n_component, NODES, FEATURES),
        (algebra.n_component, NODES, FEATURES),
        (FEATURES, algebra.n_path),
        (len(SENDERS), FEATURES),
    )
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)
        for shape in shapes
    ]


def plain(x: Any, y: Any, weight: Any, scale: Any, metric: str) -> Any:
    """Every message on its own, one term after another."""
    algebra = tc.Algebra(metric)
    rows = torch.zeros(algebra.n_component, NODES, FEATURES, dtype=x.dtype)
    terms = tessera._core.clifford_algebra(metric)["terms"]
    for e, (s, r) in enumerate(zip(SENDERS, RECEIVERS, strict=True)):
        message = [torch.zeros(FEATURES, dtype=x.dtype)] * algebra.n_component
        for k, i, j, sign, path in terms:
            message[k] = message[k] + sign * x[i, s] * y[j, r] * weight[:, path]
        here = torch.zeros(NODES, dtype=x.dtype)
        here[r] = 1
        rows = rows + here[:, None] * (scale[e] * torch.stack(message))[:, None]
    return rows


@pytest.mark.parametrize("metric", ["+", "0+", "+++", "0+++", "+---", "-++0"])
def test_formulas(metric: str) -> None:
    tensors = inputs(metric)
    x, y, weight, scale = tensors
    want = plain(x, y, weight, scale, metric)
    found = tc.graph_product(x, y, weight, graph(), metric, scale=scale)
    assert torch.linalg.norm(found - want) <= 1e-13 * torch.linalg.norm(want)
    by = torch.randn(want.shape, dtype=torch.float64)
    wanted = torch.autograd.grad((want * by).sum(), tensors)
    for got, right in zip(torch.autograd.grad((found * by).sum(), tensors), wanted, strict=True):
        assert torch.linalg.norm(got - right) <= 1e-13 * torch.linalg.norm(right)


@pytest.mark.parametrize(("dtype", "allowed"), [
    (torch.float32, 1e-6), (torch.bfloat16, 6e-3), (torch.float16, 1e-3),
])  # fmt: skip
def test_types(dtype: Any, allowed: float) -> None:
    tensors = inputs("+++", dtype)
    x, y, weight, scale = tensors
    found = tc.graph_product(x, y, weight, graph(), "+++", scale=scale)
    assert found.dtype == dtype
    wide = [t.detach().double().requires_grad_() for t in tensors]
    want = tc.graph_product(wide[0], wide[1], wide[2], graph(), "+++", scale=wide[3])
    gradients = torch.autograd.grad(found.double().sum(), tensors)
    wanted = torch.autograd.grad(want.sum(), wide)
    for got, right in zip((found, *gradients), (want, *wanted), strict=True):
        assert got.dtype == dtype
        assert torch.linalg.norm(got.double() - right) <= allowed * torch.linalg.norm(right)


@pytest.mark.parametrize("narrow", [False, True])
def test_derivatives(narrow: bool) -> None:
    tensors = inputs("++")
    if narrow:
        tensors[3] = tensors[3][:, 0].detach().requires_grad_()

    def f(x: Any, y: Any, weight: Any, scale: Any) -> Any:
        return tc.graph_product(x, y, weight, graph(), "++", scale=scale)

    assert torch.autograd.gradcheck(f, tensors, fast_mode=True)
    assert torch.autograd.gradgradcheck(f, tensors, fast_mode=True)


def test_bits_for_any_threads() -> None:
    generator = torch.Generator().manual_seed(5)
    edges = torch.randint(0, 300, (2, 5000), generator=generator)
    many = tc.Graph(edges[0], edges[1], 300)
    x = torch.randn(8, 300, 7, generator=generator).requires_grad_()
    scale = torch.randn(5000, 7, generator=generator).requires_grad_()
    threads = torch.get_num_threads()
    kept = None
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            z = tc.graph_product(x, x, None, many, "+++", scale=scale)
            found = (z, *torch.autograd.grad(z.square().sum(), (x, scale)))
            kept = kept or found
            assert all(torch.equal(a, b) for a, b in zip(found, kept, strict=True))
    finally:
        torch.set_num_threads(threads)


def test_arrays_and_csr() -> None:
    tensors = inputs("+++", grad=False)
    x, y, weight, scale = (t.numpy() for t in tensors)
    left, right, by, numbers = tensors
    want = tc.graph_product(left, right, by, graph(), "+++", scale=numbers).numpy()
    assert np.array_equal(tc.graph_product(x, y, weight, graph(), "+++", scale=scale), want)
    order = np.argsort(RECEIVERS, kind="stable")
    offsets = np.searchsorted(np.sort(RECEIVERS), np.arange(NODES + 1))
    rows = tc.Graph.from_csr(offsets, np.array(SENDERS)[order])
    assert rows.receivers.tolist() == sorted(RECEIVERS)
    assert np.array_equal(
        tc.graph_product(x, y, weight, rows, "+++", scale=scale[order]), want
    )
    assert not want[:, 5].any()


@pytest.mark.parametrize("n_nodes", [0, 4])
def test_no_edges(n_nodes: int) -> None:
    none = tc.Graph([], [], n_nodes)
    assert tc.Graph(torch.zeros(0, dtype=torch.int64), [], n_nodes).n_edge == 0
    x = torch.randn(8, n_nodes, 2, requires_grad=True)
    scale = torch.randn(0, 2, requires_grad=True)
    z = tc.graph_product(x, x, None, none, "+++", scale=scale)
    assert z.shape == x.shape
    assert not z.any()
    gx, gscale = torch.autograd.grad(z.sum(), (x, scale))
    assert not gx.any()
    assert gscale.shape == (0, 2)
    assert tc.GraphLayer(2, "+++")(x, none).shape == x.shape


def test_other_senders() -> None:
    between = tc.Graph([4, 4, 0], [0, 1, 1], 2, 5)
    x = torch.randn(4, 5, 3)
    z = tc.graph_sum(x, between)
    assert torch.equal(z, torch.stack((x[:, 4], x[:, 4] + x[:, 0]), 1))
    assert between.reversed.reversed is between
    assert repr(between) == "<tessera.clifford.Graph of 3 edges, 5 senders, 2 receivers>"


@pytest.mark.parametrize("metric", ["+++", "+---", "0+++"])
def test_layer_is_equivariant(metric: str) -> None:
    torch.manual_seed(2)
    algebra = tc.Algebra(metric)
    layer = tc.GraphLayer(4, metric, n_edge_features=1).double()
    x = torch.randn(algebra.n_component, NODES, 4, dtype=torch.float64)
    known = torch.randn(len(SENDERS), 1, dtype=torch.float64)
    mirror = torch.zeros(algebra.n_component, 1, 1, dtype=torch.float64)
    mirror[1 : len(metric) + 1, 0, 0] = torch.tensor([2.0, 0.3, -0.7, 0.4])[: len(metric)]
    there = layer(algebra.sandwich(mirror, x), graph(), known)
    here = algebra.sandwich(mirror, layer(x, graph(), known))
    assert torch.linalg.norm(there - here) <= 1e-12 * torch.linalg.norm(here)
    assert torch.linalg.norm(there - layer(x, graph(), known)) > 1e-2


def test_edge_index_and_types_of_indices() -> None:
    x, y, weight, scale = inputs("+++", grad=False)
    want = tc.graph_product(x, y, weight, graph(), "+++", scale=scale)
    for dtype in (torch.int32, torch.int64, torch.uint8):
        edge_index = torch.tensor([SENDERS, RECEIVERS], dtype=dtype)
        made = tc.Graph.from_edge_index(edge_index, NODES)
        assert made.senders.dtype == torch.int64
        assert made.degrees.tolist() == graph().degrees.tolist()
        for edges in (edge_index, made):
            assert torch.equal(tc.graph_product(x, y, weight, edges, "+++", scale=scale), want)
    array = np.array([SENDERS, RECEIVERS], np.int32)
    left, right, by, numbers = (t.numpy() for t in (x, y, weight, scale))
    found = tc.graph_product(left, right, by, array, "+++", scale=numbers)
    assert np.array_equal(found, want.numpy())
    layer = tc.GraphLayer(FEATURES, "+++").double()
    assert torch.equal(layer(x, torch.from_numpy(array)), layer(x, graph()))


@pytest.mark.parametrize("as_tensors", [False, True])
def test_batches(as_tensors: bool) -> None:
    generator = torch.Generator().manual_seed(8)
    sizes, degrees = (4, 1, 0, 6), (7, 0, 0, 11)
    graphs, parts = [], []
    for n, n_edge in zip(sizes, degrees, strict=True):
        edges = torch.randint(0, max(n, 1), (2, n_edge), generator=generator)
        lists = edges if as_tensors else edges.numpy()
        graphs.append(tc.Graph(lists[0], lists[1], n))
        parts.append(torch.randn(4, n, 3, generator=generator))
    whole = tc.Graph.batch(graphs)
    assert whole.node_offsets == (0, 4, 5, 5, 11)
    x = torch.cat(parts, 1)
    each = [tc.graph_product(p, p, None, g, "++") for p, g in zip(parts, graphs, strict=True)]
    assert torch.equal(tc.graph_product(x, x, None, whole, "++"), torch.cat(each, 1))
    sums = torch.stack([p.sum(1) for p in parts], 1)
    torch.testing.assert_close(tc.graph_sum(x, whole.members), sums)
    assert tc.Graph.batch([]).n_receiver == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the checks' own imports
def test_transforms() -> None:
    """Forward mode, vmap and the checks of torch for operators."""
    x, y, _, scale = inputs("++")
    g = graph().to("cpu")

    def f(x: Any, scale: Any) -> Any:
        return tc.graph_sum(x, g, scale)

    jacobian = torch.func.jacfwd(f, (0, 1))(x, scale)
    for a, b in zip(jacobian, torch.func.jacrev(f, (0, 1))(x, scale), strict=True):
        torch.testing.assert_close(a, b)
    many = torch.stack((x, y, x - y))
    each = torch.stack([f(m, scale) for m in many])
    assert torch.equal(torch.vmap(f, (0, None))(many, scale), each)
    scales = torch.stack((scale, 2 * scale, 3 * scale))
    want = torch.stack([f(m, s) for m, s in zip(many, scales, strict=True)])
    assert torch.equal(torch.vmap(f)(many, scales), want)
    lists = g._tensors["cpu"]
    torch.library.opcheck(torch.ops.tessera.clifford_graph_sum.default, (x, scale, *lists))
    torch.library.opcheck(torch.ops.tessera.clifford_graph_dot.default, (x, y, *lists, True, False))


def test_lists_made_without_gradients_serve_with_them() -> None:
    graph = tc.Graph([0, 1, 2, 0], [1, 0, 1, 2], 3)
    x = torch.randn(4, 3, 2)
    with torch.inference_mode():
        want = tc.graph_sum(x, graph)
    leaf = x.clone().requires_grad_()
    z = torch.ops.tessera.clifford_graph_sum(leaf, None, *graph._tensors["cpu"])
    z.sum().backward()
    assert torch.equal(z, want)
    assert torch.equal(leaf.grad, torch.tensor([2.0, 1, 1])[:, None].expand(4, 3, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled() -> None:
    torch.manual_seed(4)
    layer = tc.GraphLayer(FEATURES, "++", n_edge_features=1)
    x = torch.randn(4, NODES, FEATURES, requires_grad=True)
    known = torch.randn(len(SENDERS), 1)
    g = graph().to("cpu")
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    found, want = (m(x, g, known) for m in (compiled, layer))
    torch.testing.assert_close(found, want)
    wanted = torch.autograd.grad(want.sum(), (x, *layer.parameters()))
    got = torch.autograd.grad(found.sum(), (x, *layer.parameters()))
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_autocast() -> None:
    torch.manual_seed(4)
    layer = tc.GraphLayer(FEATURES, "+++", n_edge_features=1)
    x = torch.randn(8, NODES, FEATURES, requires_grad=True)
    known = torch.randn(len(SENDERS), 1)
    want = layer(x, graph(), known)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x, graph(), known)
        assert tc.graph_sum(x, graph()).dtype == torch.bfloat16
    # Eight roundings to 8 bits, each of a part of the sum.
    assert torch.linalg.norm(found - want) <= 8 * 2**-9 * torch.linalg.norm(want)
    assert torch.isfinite(torch.autograd.grad(found.sum(), x)[0]).all()


def test_complaints() -> None:
    x, _, _, scale = inputs("+++", grad=False)
    g = graph()
    wrong: Any = (SENDERS, RECEIVERS)
    cases: list[tuple[Any, str]] = [
        (lambda: tc.Graph([0, 9], [0, 1], 6), "senders: 9 at 1 is out of range; there are 6"),
        (lambda: tc.Graph([0, 1], [0, -1], 6), "receivers: -1 at 1"),
        (lambda: tc.Graph([0], [0, 1], 6), "receivers: 2 beside 1 senders"),
        (lambda: tc.Graph(np.array([0.5]), [0], 6), "senders: is float64; expected integers"),
        (lambda: tc.Graph(np.array([[0]]), [0], 6), "senders: expected one axis"),
        (lambda: tc.Graph([0], [0], -1), "n_nodes: expected a number"),
        (lambda: tc.Graph(torch.tensor([0, 9]), torch.tensor([0, 1]), 6), "senders: 9 at 1 is out"),
        (lambda: tc.Graph(torch.tensor([0.5]), torch.tensor([0]), 6), "senders: is float32"),
        (lambda: tc.Graph(torch.tensor([[0]]), torch.tensor([0]), 6), "senders: expected one axis"),
        (lambda: tc.Graph.from_edge_index([[0, 1]], 6), r"edge_index: \(1, 2\), expected"),
        (lambda: tc.Graph.batch([tc.Graph([0], [0], 2, 1)]), "graphs: expected graphs between"),
        (lambda: graph().members, "members: this graph is no batch"),
        (lambda: tc.Graph.from_csr([0, 2, 1], [0]), "offsets: expected one number more"),
        (lambda: tc.graph_sum(x, wrong), "graph: expected a Graph or an edge_index"),
        (lambda: tc.graph_sum(x[:, :5], g), "x: "),
        (lambda: tc.graph_sum(x[0], g), "x: expected"),
        (lambda: tc.graph_sum(x, g, scale[:3]), "scale: "),
        (lambda: tc.graph_sum(x, g, scale.float()), "scale: is f32 beside x of f64"),
        (lambda: tc.graph_sum(x, g, scale.numpy()), "scale: is ndarray, but x is a tensor"),
        (lambda: tc.graph_sum(x.numpy()[0], g), "x: expected"),
        (lambda: tc.graph_sum(x, g, scale.to("meta")), "scale: is on meta, but x is on cpu"),
        (lambda: tc.GraphLayer(3, "+++", 2).double()(x, g), "edge_features: 0 per edge"),
    ]
    for call, part in cases:
        with pytest.raises(tessera.Error, match=part):
            call()


@pytest.mark.parametrize(
    ("x", "scale", "message"),
    [
        (np.zeros((8, 3, 2)), torch.ones(3, requires_grad=True), "scale: is a tensor of torch"),
        (np.zeros((8, 3, 2)), torch.ones(3, 2), "scale: is a tensor of torch, but x is ndarray"),
        (torch.zeros(8, 3, 2), np.ones(3), "scale: is ndarray, but x is a tensor of torch"),
        (torch.zeros(8, 3, 2), 2.0, "scale: is float, but x is a tensor of torch"),
        (torch.zeros(8, 3, 2), [1.0, 2.0, 3.0], "scale: is list, but x is a tensor of torch"),
        (np.zeros((8, 3, 2)), 2.0, r"scale: expected \(edge, feature\) or \(edge,\), got 0 axes"),
        (torch.zeros(8, 3, 2), torch.ones(()), r"scale: expected .*, got 0 axes"),
        (torch.zeros(8, 3, 2).to_sparse(), None, "x: is sparse_coo; dense tensors are taken"),
        (torch.zeros(8, 3, 2), torch.ones(3, 2).to_sparse(), "scale: is sparse_coo; dense"),
        (torch.zeros(8, 3, 2), torch.ones(3).to_sparse(), "scale: is sparse_coo; dense"),
    ],
)
def test_what_is_no_array_or_mixed_is_refused(x: Any, scale: Any, message: str) -> None:
    graph = tc.Graph([0, 1, 2], [1, 0, 1], 3)
    with pytest.raises(tessera.Error, match=message):
        tc.graph_sum(x, graph, scale)
    with pytest.raises(tessera.Error, match=message):
        tc.graph_product(x, x, None, graph, "+++", scale=scale)

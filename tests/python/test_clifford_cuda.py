"""clifford on a CUDA device through torch: every test here needs one.

``pytest -k cuda`` runs them together with the others that do.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.clifford as tc
from clifford_support import METRICS, OPS, TOLERANCE, assert_near, golden, layer_tolerance

torch: Any = pytest.importorskip("torch")
import clifford_torch as plain  # noqa: E402

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def _reason() -> str:
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if not any(device["backend"] == "cuda" for device in tessera.devices()):
        return "no usable CUDA device: " + str(tessera.sys_info().get("cuda"))
    return ""


_skip = _reason()
pytestmark = pytest.mark.skipif(bool(_skip), reason=_skip or "there is one")


def numbers(t: Any) -> Any:
    return t.detach().double().cpu().numpy()


def squares(metric: str) -> tuple[int, ...]:
    return tuple({"+": 1, "-": -1, "0": 0}[sign] for sign in metric)


def inputs(name: str, names: str, dtype: str) -> list[Any]:
    return [
        torch.from_numpy(golden(name)[key]).to("cuda", DTYPES[dtype]).requires_grad_()
        for key in names.split()
    ]


@pytest.fixture(autouse=True)
def _exact_products() -> Any:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_golden(name: str, dtype: str) -> None:
    data, metric, tolerance = golden(name), METRICS[name.split("_")[1]], TOLERANCE[dtype]
    gz = inputs(name, "gz", dtype)[0].detach()
    for kind, of in (("sgp", "sgp"), ("fcgp", "matmul")):
        for normalize, word in ((False, "plain"), (True, "norm")):
            x, y, w = inputs(name, f"x y {kind}_w", dtype)
            z = getattr(tc, kind)(x, y, w, metric, normalize=normalize)
            z.backward(gz)
            for got, what in ((z, "z"), (x.grad, "gx"), (y.grad, "gy"), (w.grad, "gw")):
                allowed = max(tolerance["gw"], tolerance[of]) if what == "gw" else tolerance[of]
                assert_near(numbers(got), data[f"{kind}_{word}_{what}"], allowed)
    # Between its stages a layer of 16-bit activations rounds to them once more. In f32 a row of one
    # golden layer nearly cancels: plain formulas are off by 1.6e-6 and 2.6e-6 there.
    more = 4 if dtype != "float64" else 1
    for mode in ("all", "scalar"):
        x, w, lw, b = inputs(name, "x sgp_w lin_W lin_b", dtype)
        z = tc.layer(x, w, lw, b, metric, bias_mode=mode)
        z.backward(gz)
        for got, what in (
            (z, "z"),
            (x.grad, "gx"),
            (w.grad, "gw"),
            (lw.grad, "gW"),
            (b.grad, "gb"),
        ):
            allowed = more * max(
                tolerance["matmul"], layer_tolerance(dtype, f"layer_{mode}_", what)
            )
            assert_near(numbers(got), data[f"layer_{mode}_{what}"], allowed)


@pytest.mark.parametrize("name", OPS)
def test_golden_second_derivatives(name: str) -> None:
    data, metric = golden(name), METRICS[name.split("_")[1]]
    for dtype in ("float64", "float32"):
        a, b, c = (t.detach() for t in inputs(name, "dbl_a dbl_b dbl_c", dtype))
        for normalize, word in ((False, "plain"), (True, "norm")):
            x, y, w, gz = inputs(name, "x y sgp_w gz", dtype)
            z = tc.sgp(x, y, w, metric, normalize=normalize)
            first = torch.autograd.grad(z, (x, y, w), gz, create_graph=True)
            found = torch.autograd.grad(first, (gz, x, y, w), (a, b, c))
            for got, what in zip(found, ("dgz", "dx", "dy", "dw"), strict=True):
                assert_near(numbers(got), data[f"dbl_{word}_{what}"], TOLERANCE[dtype]["double"])


@pytest.mark.parametrize("metric", ["++", "+++", "0+++", "+---", "++++-", "-0+"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_is_the_cpu(metric: str, dtype: str) -> None:
    torch.manual_seed(1)
    t = plain.table(squares(metric))
    for n_row, n_feature in ((1, 1), (3, 28), (37, 96), (5, 129)):
        x, y, gz = torch.randn(3, t.n_component, n_row, n_feature).to(DTYPES[dtype])
        w = torch.randn(n_feature, t.n_path).to(DTYPES[dtype])
        found = []
        for device in ("cpu", "cuda"):
            a, b, c = (v.to(device).requires_grad_() for v in (x, y, w))
            z = tc.sgp(a, b, c, metric)
            found.append([z, *torch.autograd.grad(z, (a, b, c), gz.to(device))])
        # Norms of few features magnify rounding: both compute those gradients of f32 in f64.
        more = 4 if n_feature <= 32 and dtype == "float32" else 2
        for got, want in zip(found[1], found[0], strict=True):
            assert_near(numbers(got), numbers(want), more * TOLERANCE[dtype]["gw"])


@pytest.mark.parametrize("norm", ["euclid", "abs", "clamp"])
@pytest.mark.parametrize("kind", ["norm", "sgp", "layer", "fcgp", "fc_layer"])
def test_gradients_of_float32_under_every_norm(kind: str, norm: str) -> None:
    worst: dict[str, float] = {}
    for metric in ("+", "++", "+++", "0+++", "+---", "++++-", "-0+"):
        for n in (1, 2, 7, 16, 17, 28, 32, 33, 64, 129, 512, 1000, 2048):
            if n > 512 and "fc" in kind:
                continue
            z, gradient = plain.gradient_errors(tc, kind, metric, norm, n, "cuda", 1)
            worst[f"z {metric} {n}"], worst[f"gradient {metric} {n}"] = z, gradient
    # Products of matrices add one more rounding.
    allowed = 5e-7 if kind in ("norm", "sgp") else 1e-6
    beyond = {case: error for case, error in worst.items() if not error <= allowed}
    assert not beyond


def test_maps_of_algebras_in_graphs() -> None:
    algebra = tc.Algebra("0+++")
    x = torch.randn(16, 32, 8, device="cuda")

    def f() -> list[Any]:
        found = [algebra.reverse(x), algebra.join(x, x.flip(1)), algebra.grade(x, 1, 2)]
        return [*found, algebra.quadratic(x), algebra.norm(x), algebra.left_complement(x)]

    # The first call of all is the recorded one: nothing may come from the host.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded = f()
    for _ in range(2):
        x.normal_()
        graph.replay()
        assert all(torch.equal(a, b) for a, b in zip(recorded, f(), strict=True))


def test_transformations_and_exports() -> None:
    layer = tc.Layer(8, 3).cuda()
    x = torch.randn(8, 16, 8, device="cuda")

    def energy(v: Any) -> Any:
        return layer(v).pow(3).sum()

    v = x.clone().requires_grad_()
    (want,) = torch.autograd.grad(energy(v), v)
    assert torch.allclose(torch.func.grad(energy)(x), want, rtol=1e-5, atol=1e-6)
    program = torch.export.export(layer, (x,))
    assert torch.equal(program.module()(x), layer(x))


# From a rounded z they would be off by up to 0.14, where the norm's gradient nearly cancels.
@pytest.mark.parametrize(("metric", "n_in", "n_out"), [("+-", 8, 8), ("++", 3, 2), ("+++", 40, 33)])
def test_gradients_of_16_bits_do_not_come_from_rounded_results(
    metric: str, n_in: int, n_out: int
) -> None:
    for seed in range(12):
        for a, b in plain.bfloat16_gradients(tc.fcgp, metric, n_in, n_out, "cuda", seed):
            assert_near(numbers(a), numbers(b), TOLERANCE["bfloat16"]["matmul"])


@pytest.mark.parametrize("precision", ["highest", "high"])
def test_matrix_products(precision: str) -> None:
    torch.manual_seed(2)
    allowed = 1e-6 if precision == "highest" else 6e-4
    x, y, gz = torch.randn(3, 8, 100, 200, device="cuda")
    w = torch.randn(20, 200, 200, device="cuda") / 200**0.5
    lw = torch.randn(4, 200, 200, device="cuda") / 200**0.5
    for kind, tensors in (("fcgp", (x, y, w)), ("linear", (x, lw))):
        exact: Any = [v.double().requires_grad_() for v in tensors]
        ours: Any = [v.clone().requires_grad_() for v in tensors]
        options: Any = {"metric": "+++", "precision": precision}
        if kind == "fcgp":
            want = plain.gelu_fcgp_norm(exact[0], exact[1], exact[2], (1, 1, 1))
            got = tc.fcgp(ours[0], ours[1], ours[2], **options)
        else:
            want = plain.linear(exact[0], exact[1], None, (1, 1, 1))
            got = tc.linear(ours[0], ours[1], None, **options)
        assert_near(numbers(got), numbers(want), allowed)
        for a, b in zip(
            torch.autograd.grad(got, ours, gz),
            torch.autograd.grad(want, exact, gz.double()),
            strict=True,
        ):
            assert_near(numbers(a), numbers(b), 2 * allowed)


@pytest.mark.parametrize(("metric", "n"), [("+++", 128), ("+++", 40), ("++", 96), ("++", 64)])
def test_small_layers(metric: str, n: int) -> None:
    torch.manual_seed(12)
    layer = tc.Layer(n, metric, bias="all", precision="high").cuda()
    layer.linear_bias.data.normal_()
    exact = copy.deepcopy(layer).double()
    for n_row in (1, 37, 1100):
        x = torch.randn(2 ** len(metric), n_row, n, device="cuda", requires_grad=True)
        wide = x.detach().double().requires_grad_()
        got, want = layer(x), exact(wide)
        assert_near(numbers(got), numbers(want), 2e-3)
        gz = torch.randn_like(got)
        for a, b in zip(
            torch.autograd.grad(got, [x, *layer.parameters()], gz),
            torch.autograd.grad(want, [wide, *exact.parameters()], gz.double()),
            strict=True,
        ):
            assert_near(numbers(a), numbers(b), 4e-3)
    with torch.no_grad():
        assert torch.equal(layer(x), got)  # the linear map is not kept
        assert torch.equal(layer(x[:, :21]), got[:, :21])


def test_second_run_has_the_same_bits() -> None:
    torch.manual_seed(3)
    layers = [tc.Layer(96, 3).cuda(), tc.Layer(96, 3, use_fc=True).cuda()]
    x = torch.randn(8, 300, 96, device="cuda", requires_grad=True)
    gz = torch.randn_like(x)
    for layer in layers:
        leaves = [x, *layer.parameters()]
        first: Any = None
        for _ in range(10):
            z = layer(x)
            found = [z.detach(), *torch.autograd.grad(z, leaves, gz)]
            first = first or found
            assert all(torch.equal(a, b) for a, b in zip(first, found, strict=True))
        part = layer(x[:, 17:50].contiguous())
        assert torch.equal(part, first[0][:, 17:50])


def test_streams() -> None:
    layer = tc.Layer(64, 3).cuda()
    x = torch.randn(8, 2000, 64, device="cuda")
    want = layer(x).detach()
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    found = []
    for i in range(12):
        with torch.cuda.stream(streams[i % 3]), torch.no_grad():
            y = x * 1  # still queued when ours is called
            found.append(layer(y))
    torch.cuda.synchronize()
    assert all(torch.equal(z, want) for z in found)


# The warm-up on a stream of its own is what torch asks for.
@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream")
def test_graphs() -> None:
    torch.manual_seed(4)
    for use_fc in (False, True):
        layer = tc.Layer(64, 3, use_fc=use_fc).cuda()
        x = torch.randn(8, 128, 64, device="cuda", requires_grad=True)
        gz = torch.randn(8, 128, 64, device="cuda")
        leaves = [x, *layer.parameters()]
        warm = torch.cuda.Stream()
        with torch.cuda.stream(warm):
            for _ in range(3):
                torch.autograd.grad(layer(x), leaves, gz)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            z = layer(x)
            gradients = torch.autograd.grad(z, leaves, gz)
        for _ in range(3):
            with torch.no_grad():
                x.normal_()
            graph.replay()
            want = layer(x)
            assert torch.equal(z, want)
            for a, b in zip(gradients, torch.autograd.grad(want, leaves, gz), strict=True):
                assert torch.equal(a, b)


def test_more_than_two_billion_items() -> None:
    free, _ = torch.cuda.mem_get_info()
    n_row, n_feature = 600_000, 512
    if free < 6 * 8 * n_row * n_feature * 4:
        pytest.skip(f"needs 59 GB of device memory, {free >> 30} GiB are free")
    x = torch.empty(8, n_row, n_feature, device="cuda").normal_()
    w = torch.randn(n_feature, 20, device="cuda", requires_grad=True)
    assert x.numel() > 2**31
    with torch.no_grad():
        z = tc.sgp(x, x, w, "+++")
    for rows in (slice(0, 64), slice(299_990, 300_100), slice(n_row - 64, n_row)):
        part = x[:, rows].contiguous()
        assert torch.equal(tc.sgp(part, part, w, "+++"), z[:, rows])
    del z
    y = x[:, :, :].detach().requires_grad_()
    (gy,) = torch.autograd.grad(tc.sgp(x, y, w.detach(), "+++"), y, x)
    rows = slice(n_row - 64, n_row)
    part = x[:, rows].contiguous()
    piece = part.clone().requires_grad_()
    (want,) = torch.autograd.grad(tc.sgp(part, piece, w.detach(), "+++"), piece, part)
    assert torch.equal(gy[:, rows], want)


def test_strides() -> None:
    x = torch.randn(8, 12, 64, device="cuda")
    w = torch.randn(32, 20, device="cuda")
    view = x[:, ::2, 1::2]
    # Kernels for dense rows add up in another order.
    dense = view.contiguous()
    assert torch.allclose(
        tc.sgp(view, view, w, "+++"), tc.sgp(dense, dense, w, "+++"), rtol=1e-5, atol=1e-6
    )
    last = tc.Algebra("+++", axis=-1)
    xl = x.movedim(0, -1).contiguous()
    wl = torch.randn(64, 20, device="cuda")
    want = tc.sgp(x, x, wl, "+++").movedim(0, -1)
    assert torch.allclose(last.sgp(xl, xl, wl), want, rtol=1e-5, atol=1e-6)


def test_autocast_trains() -> None:
    torch.manual_seed(5)
    net = torch.nn.Sequential(tc.Layer(32, 3), tc.Layer(32, 3, use_fc=True)).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    x = torch.randn(8, 256, 32, device="cuda")
    target = torch.zeros_like(x)
    target[0] = 1
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            z = net(x)
            assert z.dtype == torch.bfloat16
        loss = (z.float() - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated")
def test_compiled() -> None:
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    layer = tc.Layer(16, 3).cuda()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for n_row in range(2, 20):
        x = torch.randn(8, n_row, 16, device="cuda", requires_grad=True)
        got, want = compiled(x), layer(x)
        assert torch.equal(got, want)
        (a,) = torch.autograd.grad(got.sum(), x)
        assert torch.allclose(a, torch.autograd.grad(want.sum(), x)[0], atol=1e-6)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_opcheck() -> None:
    x, y = torch.randn(2, 4, 3, 5, device="cuda", requires_grad=True).unbind()
    w = torch.randn(5, 10, device="cuda", requires_grad=True)
    arguments = (x.detach().requires_grad_(), y.detach(), w, None, None, "++", 1)
    torch.library.opcheck(torch.ops.tessera.clifford_sgp.default, arguments)


def test_derivatives_by_differences() -> None:
    torch.manual_seed(6)
    x, y = (torch.randn(4, 2, 3, device="cuda", dtype=torch.float64, requires_grad=True),) * 2
    w = torch.randn(3, 10, device="cuda", dtype=torch.float64, requires_grad=True)

    def f(a: Any, c: Any) -> Any:
        return tc.sgp(a, y, c, "++")

    assert torch.autograd.gradcheck(f, (x, w), atol=1e-6)
    assert torch.autograd.gradgradcheck(f, (x, w), atol=1e-5)


def test_training_is_that_of_the_plain_formulas() -> None:
    torch.manual_seed(7)
    ours = torch.nn.Sequential(tc.Layer(16, 3), tc.Layer(16, 3)).cuda()
    twin = copy.deepcopy(ours)
    x = torch.randn(8, 256, 16, device="cuda")
    x[0] = 1
    target = torch.zeros_like(x)
    target[0] = torch.sin(x[1] * x[1].roll(1, -1))

    def formulas(v: Any) -> Any:
        for layer in twin:
            v = plain.layer(v, layer.gp_weight, layer.linear_weight, layer.linear_bias, (1, 1, 1))
        return v

    curves = []
    for forward, net in ((ours, ours), (formulas, twin)):
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        curve = []
        for _ in range(120):
            optimizer.zero_grad()
            loss = (forward(x) - target).square().mean()
            loss.backward()
            optimizer.step()
            curve.append(float(loss.detach()))
        curves.append(curve)
    assert curves[0][-1] < 0.9 * curves[0][0]
    assert curves[0] == pytest.approx(curves[1], rel=1e-3)


def test_devices_must_agree() -> None:
    x = torch.ones(8, 3, 5, device="cuda")
    w = torch.ones(5, 20)
    with pytest.raises(ValueError, match=r"weight"):
        tc.sgp(x, x, w, "+++")
    with pytest.raises(ValueError, match=r"y"):
        tc.sgp(x, x.cpu(), w.cuda(), "+++")
    with pytest.raises(ValueError, match=r"x|y"):
        tc.sgp(x.cpu(), x, w, "+++")


def test_other_device_than_the_current() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two devices")
    x = torch.randn(8, 30, 16, device="cuda:1")
    w = torch.randn(16, 20, device="cuda:1")
    want = tc.sgp(x.cpu(), x.cpu(), w.cpu(), "+++")
    assert torch.cuda.current_device() == 0
    assert_near(numbers(tc.sgp(x, x, w, "+++")), numbers(want), 1e-6)
    assert torch.cuda.current_device() == 0


def test_memory_of_a_training_step() -> None:
    x = torch.randn(8, 4096, 512, device="cuda", requires_grad=True)
    y = torch.randn(8, 4096, 512, device="cuda", requires_grad=True)
    w = torch.randn(512, 20, device="cuda", requires_grad=True)
    gz = torch.randn(8, 4096, 512, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    z = tc.sgp(x, y, w, "+++")
    torch.autograd.grad(z, (x, y, w), gz)
    peak = torch.cuda.max_memory_allocated() - before
    assert peak <= 3 * x.nbytes + w.nbytes + (16 << 20)


def test_arrays_of_other_libraries() -> None:
    cupy: Any = pytest.importorskip("cupy")
    x = cupy.random.standard_normal((8, 5, 6)).astype("float32")
    w = cupy.random.standard_normal((6, 20)).astype("float32")
    got = tc.sgp(x, x, w, "+++")
    want = tc.sgp(x.get(), x.get(), w.get(), "+++")
    assert np.allclose(got.get(), want, atol=1e-5)

"""Modules of clifford: parameters, checkpoints, training as with the plain formulas."""

from __future__ import annotations

import copy
import importlib
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import clifford_torch as plain
import tessera
import tessera.clifford as tc
from clifford_support import assert_near
from tessera.clifford.modules.layer import Layer as OriginalLayer


def numbers(t: Tensor) -> Any:
    return t.detach().double().numpy()


class PlainLayer(torch.nn.Module):
    """The layer as flash-clifford keeps it, computed by plain formulas."""

    def __init__(
        self, n_features: int, dims: int, normalize: bool, use_fc: bool, bias: str
    ) -> None:
        super().__init__()
        self.metric = (1,) * dims
        t = plain.table(self.metric)
        shape = (t.n_path, n_features, n_features) if use_fc else (n_features, t.n_path)
        self.gp_weight = torch.nn.Parameter(torch.empty(shape))
        self.linear_weight = torch.nn.Parameter(torch.empty(dims + 1, n_features, n_features))
        self.linear_bias = torch.nn.Parameter(torch.zeros(1, 1, n_features))
        self.register_buffer("weight_expansion", torch.tensor(t.grade))
        self.normalize, self.use_fc, self.bias = normalize, use_fc, bias
        fan = n_features if use_fc else n_features * (dims + 1)
        torch.nn.init.normal_(self.gp_weight, std=1 / math.sqrt(dims + 1))
        torch.nn.init.normal_(self.linear_weight, std=1 / math.sqrt(fan))

    def forward(self, x: Tensor) -> Tensor:
        return plain.layer(
            x,
            self.gp_weight,
            self.linear_weight,
            self.linear_bias,
            self.metric,
            self.normalize,
            self.bias,
            self.use_fc,
        )


def for_the_original(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Drop what tells a layer with the bias on the scalar from the original's."""
    return {key: value for key, value in state.items() if not key.endswith("bias_kind")}


@pytest.mark.parametrize("use_fc", [False, True])
@pytest.mark.parametrize("dims", [2, 3])
def test_layer_is_a_drop_in(dims: int, use_fc: bool) -> None:
    torch.manual_seed(5)
    theirs = PlainLayer(12, dims, True, use_fc, "all")
    torch.manual_seed(5)
    ours = OriginalLayer(12, dims, True, use_fc)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value)
        assert ours.state_dict()[name].dtype == value.dtype
    with torch.no_grad():
        theirs.linear_bias.normal_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.load_state_dict(theirs.state_dict(), strict=True)
        theirs.load_state_dict(ours.state_dict(), strict=True)
    x = torch.randn(2**dims, 9, 12)
    assert torch.allclose(ours(x), theirs(x), rtol=1e-5, atol=1e-5)


def test_initial_spread() -> None:
    torch.manual_seed(1)
    n = 64
    cases: list[tuple[Any, bool, float, float]] = [
        ("flash", False, 1 / 2, 1 / math.sqrt(4 * n)),
        ("flash", True, 1 / 2, 1 / math.sqrt(n)),
        ("cgenn", False, 1 / 2, 1 / math.sqrt(n)),
        ("cgenn", True, 1 / math.sqrt(4 * n), 1 / math.sqrt(n)),
    ]
    for init, use_fc, product, linear in cases:
        layer = tc.Layer(n, 3, use_fc=use_fc, init=init)
        assert float(layer.gp_weight.detach().std()) == pytest.approx(product, rel=0.05)
        assert float(layer.linear_weight.detach().std()) == pytest.approx(linear, rel=0.05)
        assert not layer.linear_bias.any()


def test_layers_of_any_algebra() -> None:
    for metric in ("0+++", "+---", (1, -1), tc.Algebra("++++-"), np.int64(3)):
        layer = tc.Layer(3, metric)
        n = layer.n_component
        assert layer(torch.randn(n, 2, 3)).shape == (n, 2, 3)
    assert "0+++" in repr(tc.Layer(3, "0+++"))
    for wrong in (1, 4, 7):
        with pytest.raises(ValueError, match="2 or 3"):
            tc.Layer(3, wrong)
    with pytest.raises(ValueError, match="n_features"):
        tc.Layer(0, 3)
    wrong_options: list[Any] = [{"bias": "none"}, {"init": "zeros"}, {"precision": "low"}]
    for options in wrong_options:
        with pytest.raises(ValueError, match=next(iter(options))):
            tc.Layer(4, 3, **options)


def versor_action(metric: tuple[int, ...], vectors: Tensor) -> Tensor:
    """Return the matrix of x -> u alpha^k(x) u^-1 for a product u of k vectors."""
    algebra = tc.Algebra(metric)
    n = algebra.n_component
    action = torch.eye(n, dtype=torch.float64)
    for vector in vectors:
        u = torch.zeros(n, 1, 1, dtype=torch.float64)
        u[1 : len(metric) + 1, 0, 0] = vector
        square = float(algebra.scalar_product(u, u)[0, 0, 0])
        basis = torch.eye(n, dtype=torch.float64).unsqueeze(1)  # (component, 1, item)
        turned = algebra.geometric_product(
            algebra.geometric_product(u.expand(n, 1, n), algebra.involution(basis)),
            u.expand(n, 1, n) / square,
        )
        action = turned[:, 0] @ action
    return action


@pytest.mark.parametrize("n_vector", [1, 2, 3])
@pytest.mark.parametrize("metric", [(1, 1), (1, 1, 1), (1, -1, -1, -1), (0, 1, 1, 1)])
def test_equivariance(metric: tuple[int, ...], n_vector: int) -> None:
    torch.manual_seed(n_vector)
    vectors = torch.randn(n_vector, len(metric), dtype=torch.float64)
    if -1 in metric:  # time-like vectors far from the cone, where a boost magnifies rounding
        vectors[:, 0] = 1 + vectors[:, 0].abs()
        vectors[:, 1:] *= 0.3
    action = versor_action(metric, vectors)
    n = action.shape[0]
    net = torch.nn.Sequential(
        tc.MVLinear(5, 6, metric), tc.Layer(6, metric), tc.Layer(6, metric, use_fc=True)
    ).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_()
    x = torch.randn(n, 101, 5, dtype=torch.float64)

    def turn(v: Tensor) -> Tensor:
        return torch.tensordot(action, v, 1)

    got, want = net(turn(x)), turn(net(x))
    errors = ((got - want).norm(dim=(0, 2)) / want.norm(dim=(0, 2))).detach()
    assert float(errors.median()) < 1e-14
    assert float(errors.max()) < 1e-11
    broken = torch.nn.Sequential(tc.Layer(5, metric, bias="all")).double()
    with torch.no_grad():
        broken[0].linear_bias.normal_()
    error = (broken(turn(x)) - turn(broken(x))).norm() / broken(x).norm()
    assert float(error.detach()) > 1e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("use_fc", [False, True])
def test_fifty_runs_have_the_same_bits(use_fc: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    layer = tc.Layer(48, 3, use_fc=use_fc, dtype=dtype)
    leaves = [torch.randn(8, 300, 48, dtype=dtype, requires_grad=True), *layer.parameters()]
    gz = torch.randn(8, 300, 48, dtype=dtype)
    first: list[Tensor] = []
    try:
        for run in range(50):
            tessera.set_num_threads(1 + run % 5)
            z = layer(leaves[0])
            found = [z.detach(), *torch.autograd.grad(z, leaves, gz)]
            first = first or found
            assert all(torch.equal(a, b) for a, b in zip(first, found, strict=True)), run
            rows = slice(run, 300 - 3 * run)
            assert torch.equal(layer(leaves[0][:, rows]), first[0][:, rows]), run
    finally:
        tessera.set_num_threads(None)


def test_weights_of_cgenn() -> None:
    metric = (1, 1, 1)
    t = plain.table(metric)
    torch.manual_seed(3)
    x, y = torch.randn(2, 8, 4, 5, dtype=torch.float64)
    # As CGENN writes them: (row, feature, component), weights per output feature.
    weight = torch.randn(6, 5, 4, dtype=torch.float64)
    bias = torch.randn(1, 6, 1, dtype=torch.float64)
    want = torch.einsum("kbm,nmk->kbn", x, weight[:, :, t.grade])
    want[0] += bias.view(-1)
    linear = tc.MVLinear.from_cgenn(weight, bias, "+++", dtype=torch.float64)
    assert_near(numbers(linear(x)), numbers(want), 1e-13)
    weight = torch.randn(5, 20, dtype=torch.float64)
    product = tc.SGP.from_cgenn(
        weight, "+++", activation="none", normalize=False, dtype=torch.float64
    )
    assert_near(numbers(product(x, y)), numbers(plain.sgp(x, y, weight, metric)), 1e-13)
    weight = torch.randn(6, 5, 20, dtype=torch.float64)
    mixing = tc.FCGP.from_cgenn(weight, "+++", activation="none", normalize=False)
    found = mixing.double()(x, y)
    want = plain.fcgp(x, y, weight.permute(2, 1, 0), metric)
    assert_near(numbers(found), numbers(want), 1e-6)  # the module was made in float32
    with pytest.raises(tessera.ShapeError, match="expected shape"):
        tc.SGP.from_cgenn(torch.randn(5, 10), "+++")
    for wrong in (
        lambda: tc.MVLinear.from_cgenn(torch.ones(3, 4), None, "+++"),
        lambda: tc.SGP.from_cgenn(torch.ones(3), "+++"),
        lambda: tc.FCGP.from_cgenn(torch.ones(3, 4), "+++"),
    ):
        with pytest.raises(tessera.ShapeError, match=r"weight: expected .*\(feature.*got \(3"):
            wrong()
    with pytest.raises(tessera.ShapeError, match="bias"):
        tc.MVLinear.from_cgenn(torch.ones(3, 4, 4), torch.ones(1, 4, 1), "+++")


def train(
    forward: Callable[[Tensor], Tensor],
    parameters: list[torch.nn.Parameter],
    x: Tensor,
    target: Tensor,
    steps: int,
) -> list[float]:
    optimizer = torch.optim.Adam(parameters, lr=3e-3, eps=1e-4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (forward(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize(("dims", "use_fc"), [(3, False), (2, True)])
def test_training_is_that_of_the_plain_formulas(dims: int, use_fc: bool) -> None:
    torch.manual_seed(9)
    ours = torch.nn.Sequential(*[tc.Layer(8, dims, use_fc=use_fc) for _ in range(2)])
    theirs = torch.nn.Sequential(*[PlainLayer(8, dims, True, use_fc, "scalar") for _ in range(2)])
    theirs.load_state_dict(for_the_original(ours.state_dict()), strict=True)
    # An invariant to learn from points.
    points = torch.randn(2**dims, 32, 8)
    points[0] = 1
    target = torch.zeros_like(points)
    target[0] = torch.sin(points[1] * points[1].roll(1, -1))
    got = train(ours, list(ours.parameters()), points, target, 110)
    want = train(theirs, list(theirs.parameters()), points, target, 110)
    assert got[-1] < 0.85 * got[0]
    # Steps amplify the rounding of float32, the same in both to 6e-8 at first.
    assert got[:20] == pytest.approx(want[:20], rel=1e-5)
    assert got == pytest.approx(want, rel=5e-3)


class Energy(torch.nn.Module):
    """An invariant of points in space: layers, then the squares of what they give."""

    def __init__(self, make: Callable[[], torch.nn.Module]) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([make() for _ in range(2)])
        self.scale = torch.nn.Parameter(torch.full((6,), 0.3))

    def forward(self, points: Tensor) -> Tensor:
        x = torch.cat(
            [torch.ones_like(points[:1]), points, torch.zeros_like(points).repeat(2, 1, 1)[:4]]
        )
        for layer in self.layers:
            x = layer(x)
        return (x[0] * self.scale).sum()


def force_curve(net: torch.nn.Module, points: Tensor, forces: Tensor, steps: int) -> list[float]:
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        x = points.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(net(x), x, create_graph=True)
        loss = (-gradient - forces).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def test_force_matching_follows_double_precision() -> None:
    torch.manual_seed(2)
    ours = Energy(lambda: tc.Layer(6, 3))
    reference = Energy(lambda: PlainLayer(6, 3, True, False, "scalar"))
    reference.load_state_dict(for_the_original(ours.state_dict()))
    points = torch.randn(3, 16, 6)
    forces = -points * torch.exp(-points.square().sum(0))
    exact = force_curve(reference.double(), points.double(), forces.double(), 50)
    assert exact[-1] < exact[0]
    in_double = force_curve(copy.deepcopy(ours).double(), points.double(), forces.double(), 50)
    assert in_double == pytest.approx(exact, rel=1e-10)
    # float32 itself is 6e-8: fifty steps may not amplify it to more than this.
    assert force_curve(ours, points, forces, 50) == pytest.approx(exact, rel=1e-5)


def test_modules_describe_themselves() -> None:
    for module, words in (
        (tc.MVGELU("++"), ["MVGELU('++')"]),
        (tc.MVRMSNorm("++", eps=1e-3), ["eps=0.001"]),
        (tc.MVLinear(2, 3, "++", bias=False), ["in_features=2", "out_features=3"]),
        (tc.SGP(2, "++", axis=-1), ["n_features=2", "axis=-1"]),
        (tc.FCGP(2, 3, "++", path_mask=7), ["in_features=2", "out_features=3", "path_mask=7"]),
        (tc.Layer(5, 2, use_fc=True), ["n_features=5", "use_fc=True", "bias='scalar'"]),
    ):
        assert "++" in repr(module)
        assert all(word in repr(module) for word in words), repr(module)
        assert type(module).__doc__
    assert tc.MVLinear(2, 3, "++", bias=False)(torch.ones(4, 1, 2)).shape == (4, 1, 3)


def test_names_of_the_original() -> None:
    from tessera.clifford.modules import Layer
    from tessera.clifford.ops import fused_gelu_sgp_norm_3d, gp_4d, gp_pga

    assert Layer is OriginalLayer
    assert issubclass(Layer, tc.Layer)
    assert fused_gelu_sgp_norm_3d is tc.fused_gelu_sgp_norm_3d
    # Its own scripts import from these.
    for name, function, n_weight in (
        ("p2m0", "fused_gelu_sgp_norm_2d", 10),
        ("p3m0", "fused_gelu_sgp_norm_3d", 20),
        ("fc_p2m0", "fused_gelu_fcgp_norm_2d", 10),
        ("fc_p3m0", "fused_gelu_fcgp_norm_3d", 20),
    ):
        module = importlib.import_module(f"tessera.clifford.ops.{name}")
        assert getattr(module, function) is getattr(tc, function)
        sizes = (module.NUM_GRADES, module.NUM_PRODUCT_WEIGHTS)
        assert sizes == (3 if n_weight == 10 else 4, n_weight)
    assert importlib.import_module("tessera.clifford.ops.p3m0n1").gp_4d is gp_4d
    assert gp_4d is gp_pga
    numbers_of_weights = (tc.P2M0_NUM_PRODUCT_WEIGHTS, tc.P3M0_NUM_PRODUCT_WEIGHTS)
    assert numbers_of_weights == (10, 20)
    assert (tc.P2M0_NUM_GRADES, tc.P3M0_NUM_GRADES) == (3, 4)
    assert set(dir(tc)) >= {"Layer", "sgp"}
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tc.nonsense

"""GATr: golden values and gradients, equivariance under Pin(3,0,1), geometry of the embeddings."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import tessera  # noqa: E402
import tessera.clifford as tc  # noqa: E402
from clifford_networks import (  # noqa: E402
    Case,
    case_of,
    error,
    leaves,
    moved,
    one_thread,
    random_versor,
)
from tessera.clifford import gatr  # noqa: E402

__all__ = ["one_thread"]

F64 = torch.float64
PREFIXES = {
    "left_": "linear_left.",
    "right_": "linear_right.",
    "jleft_": "linear_join_left.",
    "jright_": "linear_join_right.",
    "out_": "linear_out.",
}
_PARTS = {
    "weight": "weight",
    "bias": "bias",
    "s2mvs_weight": "s2mvs.weight",
    "s2mvs_bias": "s2mvs.bias",
    "mvs2s_weight": "mvs2s.weight",
    "mvs2s_bias": "mvs2s.bias",
    "s2s_weight": "s2s.weight",
}


def state_of(case: Case, start: str = "", prefix: str = "") -> dict[str, str]:
    """Return the names of the case's weights by those of a module's state."""
    return {prefix + to: start + n for n, to in _PARTS.items() if start + n in case}


def check(module: Any, case: Case, names: dict[str, str], *more: str) -> None:
    module.double()
    state = {k: case[v] for k, v in names.items()}
    for name, parameter in module.named_parameters():
        state[name] = state[name].reshape(parameter.shape)  # biases are columns
    module.load_state_dict(state, strict=True)
    x, s, *rest = leaves(case, F64, "x_mv", "x_s", *more)
    y, y_s = module(x, s, *rest)
    loss = (y * case["gy_mv"]).sum()
    assert error(y, case["y_mv"]) <= 1e-12
    if "y_s" in case:
        assert error(y_s, case["y_s"]) <= 1e-12
        loss = loss + (y_s * case["gy_s"]).sum()
    loss.backward()
    for leaf, key in zip((x, s, *rest), ("x_mv", "x_s", *more), strict=True):
        if leaf is not None:
            assert error(leaf.grad, case["d_" + key]) <= 1e-12, key
    for name, parameter in module.named_parameters():
        want = case["d_" + names[name]]
        assert error(parameter.grad.reshape(want.shape), want) <= 1e-12, name


@pytest.mark.parametrize("name", ["s", "nos", "in_s", "out_s"])
def test_linear(name: str) -> None:
    case = case_of("gatr_features", f"lin_{name}")
    layer = gatr.EquiLinear(
        4,
        6,
        5 if "x_s" in case else 0,
        3 if "y_s" in case else 0,
    )
    check(layer, case, state_of(case))


@pytest.mark.parametrize("name", ["norm", "norm_small"])
def test_norm(name: str) -> None:
    check(gatr.EquiLayerNorm(), case_of("gatr_features", name), {})


@pytest.mark.parametrize("name", ["gelu", "relu", "sigmoid"])
def test_gate(name: str) -> None:
    check(gatr.ScalarGatedNonlinearity(name), case_of("gatr_features", f"gate_{name}"), {})


@pytest.mark.parametrize("name", ["gp", "join", "ejoin"])
def test_products(name: str) -> None:
    algebra = tc.Algebra("0+++", axis=-1)
    case = case_of("gatr_features", name)
    functions: dict[str, Any] = {
        "gp": algebra.geometric_product,
        "join": algebra.join,
        "ejoin": gatr.equivariant_join,
    }
    names = ["a", "b", *(["ref"] if "ref" in case else [])]
    inputs = leaves(case, F64, *names)
    y = functions[name](*inputs)
    y.backward(case["gy_mv"])
    assert error(y, case["y_mv"]) <= 1e-12
    for leaf, key in zip(inputs, names, strict=True):
        assert leaf is not None
        assert error(leaf.grad, case["d_" + key]) <= 1e-12


@pytest.mark.parametrize("name", ["bil_s", "bil_nos"])
def test_bilinear(name: str) -> None:
    case = case_of("gatr_features", name)
    has_s = "x_s" in case
    layer = gatr.GeometricBilinear(4, 6, None, 5 if has_s else 0, 3 if has_s else 0)
    names: dict[str, str] = {}
    for start, prefix in PREFIXES.items():
        names |= state_of(case, start, prefix)
    check(layer, case, names, "ref")


@pytest.mark.parametrize("name", ["att_s", "att_nos"])
def test_attention(name: str) -> None:
    case = case_of("gatr_features", f"{name}_feat")
    q, k, qs, ks = inputs = leaves(case, F64, "q", "k", "qs", "ks")
    fq, fk = gatr.attention_features(q, k, qs, ks)
    assert error(fq, case["fq"]) <= 1e-12
    assert error(fk, case["fk"]) <= 1e-12
    ((fq * case["gfq"]).sum() + (fk * case["gfk"]).sum()).backward()
    for leaf, key in zip(inputs, ("q", "k", "qs", "ks"), strict=True):
        if leaf is not None:
            assert error(leaf.grad, case["d_" + key]) <= 1e-12
    case = case_of("gatr_features", name)
    names = ["q", "k", "v", "qs", "ks", "vs"]
    inputs = leaves(case, F64, *names)
    y, y_s = gatr.sdp_attention(*inputs)
    loss = (y * case["gy_mv"]).sum()
    assert error(y, case["y_mv"]) <= 1e-11
    if "y_s" in case:
        assert error(y_s, case["y_s"]) <= 1e-11
        loss = loss + (y_s * case["gy_s"]).sum()
    loss.backward()
    for leaf, key in zip(inputs, names, strict=True):
        if leaf is not None:
            assert error(leaf.grad, case["d_" + key]) <= 1e-11


def make_net() -> Any:
    torch.manual_seed(4)
    return gatr.GATr(2, 1, 4, 3, 2, 6, {"num_heads": 2}, {"mlp_ratio": 2}, num_blocks=1)


# Planes have offsets of the order of their normals: products of four move by some units, which the
# squares in attention magnify.
@pytest.mark.parametrize(("dtype", "allowed"), [("float64", 1e-11), ("float32", 1e-3)])
@pytest.mark.parametrize("n_reflection", [1, 2, 3, 4])
def test_equivariance(n_reflection: int, dtype: str, allowed: float) -> None:
    generator = torch.Generator().manual_seed(n_reflection)
    t = getattr(torch, dtype)
    net = make_net().to(t)
    x = torch.randn(3, 7, 2, 16, generator=generator).to(t)
    s = torch.randn(3, 7, 3, generator=generator).to(t)
    versor = random_versor("0+++", n_reflection, generator)
    y, y_s = net(x, s)
    z, z_s = net(moved("0+++", versor, x), s)
    assert error(z, moved("0+++", versor, y).detach().double()) <= allowed
    assert error(z_s, y_s.detach().double()) <= allowed


def test_equivariance_of_bfloat16() -> None:
    generator = torch.Generator().manual_seed(5)
    net = make_net().to(torch.bfloat16)
    x = torch.randn(3, 7, 2, 16, generator=generator).to(torch.bfloat16)
    s = torch.randn(3, 7, 3, generator=generator).to(torch.bfloat16)
    turn = gatr.embed_rotation(torch.tensor([0.0, 0.6, 0.0, 0.8], dtype=F64))
    y, y_s = net(x, s)
    z, z_s = net(moved("0+++", turn, x), s)
    # 2^-8 per rounding over ten stages.
    assert error(z, moved("0+++", turn, y).detach().double()) <= 10 * 2**-8
    assert error(z_s, y_s.detach().double()) <= 10 * 2**-8


def test_without_reference_reflections_are_lost() -> None:
    generator = torch.Generator().manual_seed(5)
    net = make_net().double()
    x = torch.randn(3, 7, 2, 16, generator=generator, dtype=F64)
    s = torch.randn(3, 7, 3, generator=generator, dtype=F64)
    versor = random_versor("0+++", 1, generator)
    y, _ = net(x, s, join_reference="canonical")
    z, _ = net(moved("0+++", versor, x), s, join_reference="canonical")
    assert error(z, moved("0+++", versor, y).detach()) > 1e-3
    with pytest.raises(tessera.Error, match="join_reference: expected"):
        net(x, s, join_reference="mean")


def test_second_derivatives() -> None:
    torch.manual_seed(0)
    block = gatr.GATrBlock(1, 1, {"num_heads": 1}, {"mlp_ratio": 2}).double()
    x = torch.randn(2, 1, 16, dtype=F64, requires_grad=True)
    s = torch.randn(2, 1, dtype=F64, requires_grad=True)

    def value(x: Any, s: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return block(x, s)[0][..., :3]

    assert torch.autograd.gradgradcheck(value, (x, s), atol=1e-4)


def test_geometry_of_embeddings() -> None:
    generator = torch.Generator().manual_seed(2)
    point, other, step, normal = torch.randn(4, 5, 3, generator=generator, dtype=F64)
    algebra = tc.Algebra("0+++", axis=-1)
    p = gatr.embed_point(point)
    torch.testing.assert_close(gatr.extract_point(-3 * p), point)
    line = gatr.embed_line(point, step)
    torch.testing.assert_close(line, algebra.join(p, gatr.embed_direction(step)))
    torch.testing.assert_close(line, algebra.join(p, gatr.embed_point(point + step)))
    direction, moment = gatr.extract_line(line)
    torch.testing.assert_close(direction, step)
    torch.testing.assert_close(moment, torch.linalg.cross(point, step))
    plane = gatr.embed_plane(normal, point)
    assert float(algebra.outer(plane, p).abs().max()) <= 1e-14
    assert float(algebra.outer(plane, gatr.embed_point(other)).abs().max()) > 1e-2
    found, distance = gatr.extract_plane(plane)
    torch.testing.assert_close(found, normal)
    torch.testing.assert_close(distance[..., 0], (normal * point).sum(-1))


def test_motions_move_points() -> None:
    generator = torch.Generator().manual_seed(2)
    point, other, step = torch.randn(3, 5, 3, generator=generator, dtype=F64)
    quaternion = torch.nn.functional.normalize(
        torch.randn(5, 4, generator=generator, dtype=F64), dim=-1
    )
    normal = torch.nn.functional.normalize(step, dim=-1)
    algebra = tc.Algebra("0+++", axis=-1)
    p = gatr.embed_point(point)
    far = algebra.sandwich(gatr.embed_translation(step), p)
    torch.testing.assert_close(gatr.extract_point(far), point + step)
    turned = gatr.extract_point(algebra.sandwich(gatr.embed_rotation(quaternion), p))
    axis, w = quaternion[:, :3], quaternion[:, 3:]
    inner = torch.linalg.cross(axis, point) + w * point
    torch.testing.assert_close(turned, point + 2 * torch.linalg.cross(axis, inner))
    mirrored = gatr.extract_point(algebra.sandwich(gatr.embed_reflection(normal, other), p))
    height = ((point - other) * normal).sum(-1, keepdim=True)
    torch.testing.assert_close(mirrored, point - 2 * height * normal)


def test_inverse_and_sandwich() -> None:
    generator = torch.Generator().manual_seed(2)
    for metric in ("+++", "+---", "++++-", "0+++"):
        algebra = tc.Algebra(metric)
        x = torch.randn(algebra.n_component, 4, 3, generator=generator, dtype=F64)
        one = torch.zeros_like(x)
        one[0] = 1
        for product in (
            algebra.geometric_product(x, algebra.inverse(x)),
            algebra.geometric_product(algebra.inverse(x), x),
        ):
            torch.testing.assert_close(product, one, atol=1e-8, rtol=0)
        array = algebra.inverse(x.numpy())
        torch.testing.assert_close(torch.from_numpy(array), algebra.inverse(x))
    algebra = tc.Algebra("+---")
    null = torch.zeros(16, 1, 1, dtype=F64)
    null[1], null[2] = 1, 1
    with pytest.raises(tessera.Error, match="have no inverse"):
        algebra.inverse(null)
    with pytest.raises(tessera.Error, match="have no inverse"):
        algebra.inverse(null.numpy())
    with pytest.raises(tessera.Error, match="versor: expected 16 components"):
        algebra.sandwich(null[:8], null)


@pytest.mark.parametrize(("n_value", "s"), [(1, 0), (2, 3), (5, 1)])
def test_scale_multiplies_the_inner_product(n_value: int, s: int) -> None:
    torch.manual_seed(1)
    q, k = torch.randn(2, 3, 2, 5, 1, 16, dtype=F64)
    v = torch.randn(3, 2, 5, n_value, 16, dtype=F64)
    scalars = [torch.randn(3, 2, 5, s, dtype=F64) for _ in range(3)] if s else [None] * 3
    inputs = (q, k, v, *scalars)
    mask = torch.rand(5, 5) > 0.3
    mask.fill_diagonal_(True)
    scale = (12 + s) ** -0.5
    for options in ({}, {"attn_mask": mask}, {"is_causal": True}, {"backend": "native"}):
        want = gatr.sdp_attention(*inputs, **options)[0]
        for same in (None, scale):
            got = gatr.sdp_attention(*inputs, scale=same, **options)[0]
            torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    features, keys = gatr.attention_features(q, k, *scalars[:2])
    logits = features @ keys.transpose(-2, -1)
    logits = logits * 0.4 * (12 + s) ** 0.5 / keys.shape[-1] ** 0.5
    want = torch.einsum("bhij,bhjcx->bhicx", logits.softmax(-1), v)
    torch.testing.assert_close(gatr.sdp_attention(*inputs, scale=0.4)[0], want)


@pytest.mark.parametrize("name", ["attention.qkv_module.in_linear", "attention.out_linear.s2mvs"])
def test_hooks_in_a_block_are_called(name: str) -> None:
    torch.manual_seed(1)
    block = gatr.GATrBlock(4, 6, {"num_heads": 2}).double()
    x, s = torch.randn(2, 5, 4, 16, dtype=F64), torch.randn(2, 5, 6, dtype=F64)
    want = block(x, s)
    seen = []
    block.get_submodule(name).register_forward_hook(lambda *_: seen.append(1))
    for a, b in zip(block(x, s), want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    assert seen == [1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_net()(torch.zeros(5, 2, 15)), r"multivectors: expected .*item, 2, 16\)"),
        (lambda: make_net()(torch.zeros(2, 16)), r"multivectors: expected .*item, 2, 16\)"),
        (lambda: make_net()(torch.zeros(5, 2, 16).numpy()), "multivectors: expected a tensor"),
        (lambda: gatr.mean_reference(torch.zeros(2, 15)), "multivectors: expected shape"),
        (
            lambda: make_net()(torch.zeros(5, 2, 16).double(), torch.zeros(5, 3).double()),
            "are float64, but the module is float32",
        ),
        (lambda: gatr.GATrBlock(4, 0, {"num_heads": 0}), "num_heads: expected an integer"),
        (lambda: gatr.GATr(1, 1, 4, num_blocks=-1), "num_blocks: expected an integer"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(tessera.Error, match=message):
        call()

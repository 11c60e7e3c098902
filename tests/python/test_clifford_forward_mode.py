"""Derivatives of clifford in forward mode: dual numbers, jvp, jacfwd and what nests with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

import tessera.clifford as tc  # noqa: E402
from test_clifford_torch import KINDS, function_of, random_problem  # noqa: E402


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():  # torch's own decompositions use what is deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.fixture
def energy() -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """A scalar function of x with second derivatives everywhere, and x."""
    x, y, w = (t.detach() for t in random_problem("sgp", "++", 2, 2, 2, torch.float64))
    return (lambda v: tc.sgp(v, y, w, "++").pow(2).sum()), x


@pytest.mark.parametrize("metric", ["++", "0+-"])
@pytest.mark.parametrize("kind", KINDS)
def test_tangents_are_differences(kind: str, metric: str) -> None:
    """Tangents of every input at once, by finite differences; batched ones by the single ones."""
    inputs = random_problem(kind, metric, 2, 2, 3, torch.float64)
    function = function_of(kind, metric)
    assert torch.autograd.gradcheck(
        function,
        inputs,
        check_forward_ad=True,
        check_backward_ad=False,
        check_batched_forward_grad=True,
        fast_mode=True,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_forward_over_backward_is_differences(kind: str) -> None:
    inputs = random_problem(kind, "++", 2, 2, 2, torch.float64)
    assert torch.autograd.gradgradcheck(
        function_of(kind, "++"),
        inputs,
        check_fwd_over_rev=True,
        check_rev_over_rev=False,
        check_undefined_grad=False,
        fast_mode=True,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_jacobian_both_ways(kind: str) -> None:
    inputs = tuple(t.detach() for t in random_problem(kind, "++", 2, 2, 3, torch.float64))
    function = function_of(kind, "++")
    everything = tuple(range(len(inputs)))
    for ahead, back in zip(
        torch.func.jacfwd(function, everything)(*inputs),
        torch.func.jacrev(function, everything)(*inputs),
        strict=True,
    ):
        torch.testing.assert_close(ahead, back, rtol=1e-11, atol=1e-11)
        assert ahead.abs().max() > 0.1


def test_second_derivatives_by_every_nesting(energy: Any) -> None:
    function, x = energy
    func = torch.func
    want = func.jacrev(func.jacrev(function))(x)
    for nested in (
        func.hessian(function),
        func.jacfwd(func.grad(function)),
        func.jacrev(func.jacfwd(function)),
    ):
        torch.testing.assert_close(nested(x), want, rtol=1e-11, atol=1e-11)
    along = torch.randn_like(x)
    slope = func.grad(lambda v: func.jvp(function, (v,), (along,))[1])(x)
    torch.testing.assert_close(slope, torch.einsum("abcdef,def", want, along))


def test_forward_twice_is_refused_not_lost(energy: Any) -> None:
    function, x = energy
    with pytest.raises(NotImplementedError, match="forward mode twice"):
        torch.func.jacfwd(torch.func.jacfwd(function))(x)
    with pytest.raises(NotImplementedError, match="third order"):
        torch.func.jacfwd(torch.func.jacrev(torch.func.jacrev(function)))(x)


def test_dual_numbers(energy: Any) -> None:
    function, x = energy
    along = torch.randn_like(x)
    want = (torch.func.grad(function)(x) * along).sum()
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(function(forward_ad.make_dual(x, along)))
        assert forward_ad.unpack_dual(function(x)).tangent is None
    torch.testing.assert_close(found.tangent, want)
    torch.testing.assert_close(found.primal, function(x))


def test_a_tangent_of_the_gradient_alone_is_not_lost() -> None:
    """A pass forward without tangents goes around the dispatcher; what comes back may have one."""
    x, y, w = random_problem("sgp", "++", 2, 2, 2, torch.float64)
    z = tc.sgp(x, y, w, "++")
    gz, along = torch.randn_like(z), torch.randn_like(z)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(gz, along)
        (found,) = torch.autograd.grad(z, x, dual, retain_graph=True)
        tangent = forward_ad.unpack_dual(found).tangent
    (want,) = torch.autograd.grad(z, x, along)
    torch.testing.assert_close(tangent, want)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 4e-2), (torch.float16, 5e-3)]
)
def test_other_types(dtype: Any, tolerance: float) -> None:
    inputs = [t.detach() for t in random_problem("fcgp", "+++", 3, 4, 4, torch.float64)]
    inputs = [t.to(dtype).double() for t in inputs]
    tangents = [torch.randn_like(t).to(dtype).double() for t in inputs]
    function = function_of("fcgp", "+++", normalize=False)
    want = torch.func.jvp(function, tuple(inputs), tuple(tangents))[1]
    low = [tuple(t.to(dtype) for t in each) for each in (inputs, tangents)]
    found = torch.func.jvp(function, *low)[1]
    assert found.dtype == dtype
    assert (found.double() - want).abs().max() <= tolerance * want.abs().max()


def test_modules_and_parameters() -> None:
    layer = tc.Layer(4, 3).double()
    x = torch.randn(8, 3, 4, dtype=torch.float64)
    parameters = dict(layer.named_parameters())
    along = {name: torch.randn_like(p) for name, p in parameters.items()}

    def function(given: Any) -> Tensor:
        return torch.func.functional_call(layer, given, (x,)).pow(2).sum()

    found = torch.func.jvp(function, (parameters,), (along,))[1]
    slopes = torch.func.grad(function)(parameters)
    want = torch.stack([(slopes[name] * along[name]).sum() for name in slopes]).sum()
    torch.testing.assert_close(found, want)
    assert found.abs() > 1e-3

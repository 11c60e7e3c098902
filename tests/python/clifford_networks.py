"""What the tests of GATr and L-GATr share: golden cases, group elements, networks run on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tessera.clifford as tc
from clifford_support import golden, relative

Case = dict[str, torch.Tensor]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Keep small matrix products from waiting for threads of a busy machine."""
    kept = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(kept)


def case_of(file: str, name: str) -> Case:
    """Return the members of a case of a golden file."""
    prefix = name + "."
    found = {
        key.removeprefix(prefix): torch.from_numpy(value)
        for key, value in golden(file).items()
        if key.startswith(prefix)
    }
    assert found
    return found


def error(got: Any, want: Any) -> float:
    """Return the relative L2 error."""
    return relative(got.detach().to(torch.float64).numpy(), want.numpy())


def leaves(case: Case, dtype: torch.dtype, *names: str) -> list[torch.Tensor | None]:
    """Return inputs of a case that want gradients; None for those it has not."""
    return [case[n].to(dtype).requires_grad_() if n in case else None for n in names]


def run_module(module: torch.nn.Module, case: Case, dtype: torch.dtype, **options: Any) -> float:
    """Load the state of a case, run it, and return the largest error of results and gradients."""
    state = {k.removeprefix("sd."): v for k, v in case.items() if k.startswith("sd.")}
    module.to(dtype).load_state_dict(state, strict=True)
    x, s = leaves(case, dtype, "x_mv", "x_s")
    assert x is not None
    y, y_s = module(x, s, **options)
    errors = [error(y, case["y_mv"])]
    loss = (y * case["gy_mv"].to(dtype)).sum()
    if "y_s" in case:
        errors.append(error(y_s, case["y_s"]))
        loss = loss + (y_s * case["gy_s"].to(dtype)).sum()
    loss.backward()
    errors.append(error(x.grad, case["d_x_mv"]))
    if s is not None:
        errors.append(error(s.grad, case["d_x_s"]))
    for name, parameter in module.named_parameters():
        errors.append(error(parameter.grad, case["dsd." + name]))
    return max(errors)


def random_versor(signs: str, n: int, generator: torch.Generator) -> torch.Tensor:
    """Return a product of n random vectors whose squares are not small, in float64."""
    algebra = tc.Algebra(signs, axis=-1)
    n_symbol = len(signs)
    u = torch.zeros(16, dtype=torch.float64)
    u[0] = 1
    for _ in range(n):
        square = torch.zeros(())
        while square.abs() < 0.3:
            v = torch.randn(n_symbol, generator=generator, dtype=torch.float64)
            if signs == "+---":
                v = 0.4 * v + torch.eye(4, dtype=torch.float64)[int(v[0] > 0)]
            square = (v * v * torch.tensor(algebra.metric)).sum()
        vector = torch.zeros(16, dtype=torch.float64)
        vector[1 : 1 + n_symbol] = v / square.abs().sqrt()
        u = algebra.geometric_product(u, vector)
    return u


def moved(signs: str, versor: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return x, (..., 16), moved by a versor."""
    algebra = tc.Algebra(signs, axis=-1)
    eye = torch.eye(16, dtype=torch.float64)
    matrix = algebra.sandwich(versor.expand(16, 16), eye)
    return (x.to(torch.float64) @ matrix).to(x.dtype)

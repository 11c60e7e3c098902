"""Gates: every component times a function of the scalar one, and that function of scalars."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from tessera import _core
from tessera.clifford import _functional
from tessera.clifford._spec import make_spec
from tessera.clifford.equivariant._maps import Geometry

__all__ = ["EquivariantGate", "gated"]

_SCALAR: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": partial(functional.gelu, approximate="tanh"),
    "silu": functional.silu,
}


def gated(
    multivectors: Tensor, scalars: Tensor | None, geometry: Geometry, nonlinearity: str
) -> tuple[Tensor, Tensor | None]:
    """Gate multivectors, (..., channel, 16), and scalars."""
    activation = "gelu_tanh" if nonlinearity == "gelu" else nonlinearity
    spec = make_spec(geometry.signs, activation=activation)
    z = _functional.run("gate", spec, multivectors, axis=-1)
    return z, None if scalars is None else _SCALAR[nonlinearity](scalars)


class EquivariantGate(nn.Module):
    """Multiply multivectors by a function of their scalar component, and apply it to scalars.

    Parameters
    ----------
    geometry : Geometry
        The algebra.
    nonlinearity : {'gelu', 'relu', 'sigmoid', 'tanh', 'silu'}
        The function; 'gelu' is its tanh form.
    """

    SETTINGS = ("nonlinearity",)

    def __init__(self, geometry: Geometry, nonlinearity: str = "gelu") -> None:
        super().__init__()
        if nonlinearity not in _SCALAR:
            raise _core.ArgumentError(
                f"nonlinearity: expected one of {', '.join(_SCALAR)}, got {nonlinearity!r}"
            )
        self.geometry = geometry
        self.nonlinearity = nonlinearity

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Gate.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., channel, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., channel), optional
            Scalars.

        Returns
        -------
        multivectors : torch.Tensor
            Like the input.
        scalars : torch.Tensor or None
            Like the input.
        """
        return gated(multivectors, scalars, self.geometry, self.nonlinearity)

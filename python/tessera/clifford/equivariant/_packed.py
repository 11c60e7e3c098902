"""Weights of equivariant maps by pairs of components, for the library's own products on a GPU.

What commutes with a group leaves eight pairs of components each to itself: of the matrix that
_dense spreads, seven items of eight are zero for ever. Here is which items are left, and in which
order the library takes them (tessera/clifford/maps.h).
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tessera import _core
from tessera.clifford import _torch, _torch_eager
from tessera.clifford.equivariant._dense import Labels, Places
from tessera.clifford.equivariant._differentiable import differentiable
from tessera.clifford.equivariant._maps import N_COMPONENT
from tessera.clifford.native._find import find

__all__ = ["Packed", "PackedMap", "Row", "Sizes", "packs", "times_packed", "unpacked"]

_MULTIPLE = 4  # channels and scalars: words of 16 bytes


class Row(NamedTuple):
    """What a packed row holds: equal groups, each its channels, then its scalars."""

    n_channel: int
    n_scalar: int
    n_group: int = 1

    @property
    def width(self) -> int:
        """Items."""
        return N_COMPONENT * self.n_channel + self.n_scalar

    @property
    def is_even(self) -> bool:
        """Whether the library's products on a GPU take such rows."""
        return not (self.n_channel % _MULTIPLE or self.n_scalar // self.n_group % _MULTIPLE)

    def columns(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return where channels begin, and where scalars are."""
        channels, scalars = self.n_channel // self.n_group, self.n_scalar // self.n_group
        width = N_COMPONENT * channels + scalars
        group = width * np.arange(self.n_group)[:, None]
        of_mv = (group + N_COMPONENT * np.arange(channels)).ravel()
        of_s = (group + N_COMPONENT * channels + np.arange(scalars)).ravel()
        return of_mv, of_s


class Sizes(NamedTuple):
    """A map of rows x to rows z."""

    x: Row
    z: Row
    is_null: bool  # pairs k and e0 k, instead of k and 15 - k
    has_bias: bool

    @property
    def numbers(self) -> tuple[int, ...]:
        """As the compiled node takes them."""
        return (*self.x, *self.z, int(self.is_null), int(self.has_bias))


class PackedMap(NamedTuple):
    """Items of a map, in the place of a packed matrix."""

    items: Tensor
    sizes: Sizes


@cache
def _pairs(is_null: bool) -> npt.NDArray[np.int64]:
    if is_null:
        found = [(0, 1), (2, 5), (3, 6), (4, 7), (8, 11), (9, 12), (10, 13), (14, 15)]
    else:
        found = [(k, N_COMPONENT - 1 - k) for k in range(N_COMPONENT // 2)]
    return np.array(found)


def _order(sizes: Sizes) -> npt.NDArray[np.int64]:
    """Return the place of every item in the packed matrix, whose last row is the bias."""
    pairs = _pairs(sizes.is_null)
    of_x, x_scalars = sizes.x.columns()
    of_z, z_scalars = sizes.z.columns()
    scalars = np.append(x_scalars, sizes.x.width)
    x = of_x[:, None] + pairs[:, None, :]  # pair, channel, component
    z = of_z[:, None] + pairs[:, None, :]
    width = sizes.z.width
    parts = (
        x[:, :, None, :, None] * width + z[:, None, :, None, :],
        scalars[:, None, None] * width + z[0].T[None],
        x[0][:, :, None] * width + z_scalars,
        scalars[:, None] * width + z_scalars,
    )
    return np.concatenate([part.ravel() for part in parts])


def packed_labels(labels: Labels, sizes: Sizes) -> Labels:
    """Return the labels of the items of a packed matrix.

    Parameters
    ----------
    labels : array of int, shape (x.width + 1, z.width)
        As _dense takes them.
    sizes : Sizes
        Of the map.

    Returns
    -------
    array of int
        One for every item.
    """
    found: Labels = labels.ravel()[_order(sizes)]
    assert np.count_nonzero(found) == np.count_nonzero(labels), "a map between pairs"
    return found


class Packed(torch.nn.Module):
    """Items of several maps of one list of weights, made at once.

    Parameters
    ----------
    labels : sequence of arrays of int
        Of packed matrices.
    sizes : sequence of Sizes
        Of the maps.
    n_weight : int
        How many weights there are.
    gains : sequence of arrays of int, optional
        Labels of factors of the rows of every matrix, from 1 on; the last one is the constant 1.
    n_gain : int
        How many there are, the constant counted.
    """

    def __init__(
        self,
        labels: list[Labels],
        sizes: list[Sizes],
        n_weight: int,
        gains: list[Labels] | None = None,
        n_gain: int = 0,
    ) -> None:
        super().__init__()
        self.sizes = sizes
        packed = [packed_labels(*one) for one in zip(labels, sizes, strict=True)]
        self.lengths = [len(one) for one in packed]
        flat = np.concatenate(packed)
        self.weights = Places(flat, n_weight)
        self.gains = None
        if gains is not None:
            factors = np.concatenate(
                [
                    np.broadcast_to(gain, one.shape).ravel()[_order(size)]
                    for gain, one, size in zip(gains, labels, sizes, strict=True)
                ]
            )
            # Where no weight is, no factor is: sums over their places are shorter.
            factors = np.where(flat != 0, factors, n_gain)
            self.gains = Places(factors, n_gain, n_constant=1)

    def forward(self, weights: list[Tensor], gains: list[Tensor]) -> list[PackedMap]:
        """Return the maps."""
        items = self.weights(weights)
        if self.gains is not None:
            items = items * self.gains(gains)
        parts = items.split(self.lengths)
        return [PackedMap(*one) for one in zip(parts, self.sizes, strict=True)]


_products: dict[torch.device, bool] = {}


def _has_products(device: torch.device) -> bool:
    """Say whether the library maps rows there: it has no module, or the GPU has not the memory."""
    found = _products.get(device)
    if found is None:
        node = find(True)
        if not hasattr(node, "map"):
            return False
        side = Row(_MULTIPLE, 0)
        sizes = Sizes(side, side, is_null=False, has_bias=False)
        with torch.inference_mode(False), torch.no_grad():
            rows = torch.empty(0, side.width, device=device, dtype=torch.float32)
            items = rows.new_empty(len(_order(sizes)))
        try:
            found = node.map(_gradients, sizes.numbers, rows, items) is not None
        except _core.MemoryLimitError:
            return False  # asked again by the next call: memory comes back
        except _core.Error:
            found = False
        _products[device] = found
    return found


def packs(rows: Tensor, *sides: Row) -> bool:
    """Say whether maps between such rows are the library's.

    Parameters
    ----------
    rows : torch.Tensor
        What is mapped first.
    *sides : Row
        Of all maps.

    Returns
    -------
    bool
        Whether they are.
    """
    return (
        rows.is_cuda
        and rows.dtype == torch.float32
        and not torch.compiler.is_compiling()
        and torch.get_float32_matmul_precision() != "highest"
        and all(side.is_even for side in sides)
        and _torch._is_plain((rows,))
        and not torch.is_autocast_enabled("cuda")
        and not _torch_eager.has_tangents((rows,))
        and _has_products(rows.device)
    )


def unpacked(items: Tensor, sizes: Sizes) -> Tensor:
    """Return the packed matrix of items, by an operation that has derivatives of any order."""
    n_item = sizes.x.width + 1, sizes.z.width
    found = items.new_zeros(n_item[0] * n_item[1])
    where = torch.as_tensor(_order(sizes), device=items.device)
    return found.index_put((where,), items).view(n_item)


def _plain(sizes: Sizes, rows: Tensor, items: Tensor) -> Tensor:
    matrix = unpacked(items, sizes)
    if sizes.has_bias:
        return torch.addmm(matrix[-1], rows, matrix[:-1])
    return torch.mm(rows, matrix[:-1])


def _gradients(
    rows: Tensor, items: Tensor, grad: Tensor, numbers: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return gradients that can be differentiated again, as the compiled node asks for them."""
    compute = partial(_plain, _sizes_of(numbers))
    wanted = rows.requires_grad, items.requires_grad
    return tuple(differentiable(compute, (rows, items), wanted, grad))


def _sizes_of(numbers: tuple[int, ...]) -> Sizes:
    return Sizes(Row(*numbers[:3]), Row(*numbers[3:6]), bool(numbers[6]), bool(numbers[7]))


def times_packed(rows: Tensor, packed: PackedMap) -> Tensor:
    """Map packed rows.

    Parameters
    ----------
    rows : torch.Tensor, shape (..., x.width)
        Rows.
    packed : PackedMap
        The map.

    Returns
    -------
    torch.Tensor, shape (..., z.width)
        Rows.
    """
    flat = rows.reshape(-1, packed.sizes.x.width)
    found: Tensor | None = find(True).map(
        _gradients, packed.sizes.numbers, flat.contiguous(), packed.items
    )
    if found is None:
        found = _plain(packed.sizes, flat, packed.items)
    return found.view(*rows.shape[:-1], packed.sizes.z.width)

"""The linear layer between multivectors and scalars that a group commutes with."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tessera import _core
from tessera.clifford._constants import Constants
from tessera.clifford.equivariant._dense import Labels, Places
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry
from tessera.clifford.equivariant._packed import (
    Packed,
    PackedMap,
    Row,
    Sizes,
    packs,
    times_packed,
)
from tessera.clifford.equivariant._parts import Parts

__all__ = ["EquivariantLinear", "Initialization", "check_count", "pack", "unpack"]

Initialization: TypeAlias = Literal["default", "small", "unit_scalar", "almost_unit_scalar"]
# Width of multivector outputs, of scalar outputs, and the mean of the scalar component.
_SCHEMES = {
    "default": (1.0, 1.0, 0.0),
    "small": (0.1, 0.1, 0.0),
    "unit_scalar": (0.1, 1.0, 1.0),
    "almost_unit_scalar": (0.5, 1.0, 1.0),
}
_MADE_LATER = ("_places", "_packed", "_own_places")
_SCALAR_MAPS = ("s2mvs", "mvs2s", "s2s")


def pack(multivectors: Tensor, scalars: Tensor | None) -> Tensor:
    """Join the components of all channels and the scalars to one row per item."""
    flat = multivectors.flatten(-2)
    return flat if scalars is None else torch.cat([flat, scalars], -1)


def unpack(rows: Tensor, n_channel: int, n_scalar: int) -> tuple[Tensor, Tensor | None]:
    """Return multivectors and scalars of packed rows, as views."""
    width = n_channel * N_COMPONENT
    multivectors = rows[..., :width].unflatten(-1, (n_channel, N_COMPONENT))
    return multivectors, rows[..., width:] if n_scalar else None


def check_count(name: str, value: int, least: int) -> int:
    """Raise where a number of channels, heads or layers is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _core.ArgumentError(f"{name}: expected an integer of at least {least}, got {value!r}")
    return value


class EquivariantLinear(Constants):
    """Mix channels by every linear map that commutes with the group, and scalars with them.

    Parameters
    ----------
    in_mv_channels, out_mv_channels : int
        Multivector channels.
    geometry : Geometry
        The maps.
    in_s_channels, out_s_channels : int
        Scalar channels; 0 for none.
    bias : bool
        Add a bias to the components that scalars mix with, and to scalars.
    initialization : {'default', 'small', 'unit_scalar', 'almost_unit_scalar'}
        Outputs about as wide as inputs; a tenth of that; about (1, 0, ...) and a tenth; about
        (1, 0, ...) and a half of that.
    is_part : bool
        Whether another module arranges the weights for itself.
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        geometry: Geometry,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
        bias: bool = True,
        initialization: Initialization = "default",
        is_part: bool = False,
    ) -> None:
        super().__init__()
        self.geometry = geometry
        self.in_mv_channels = check_count("in_mv_channels", in_mv_channels, 1)
        self.out_mv_channels = check_count("out_mv_channels", out_mv_channels, 1)
        self.in_s_channels = check_count("in_s_channels", in_s_channels, 0)
        self.out_s_channels = check_count("out_s_channels", out_s_channels, 0)
        n_mixed = len(geometry.scalars)
        self.weight = nn.Parameter(torch.empty(out_mv_channels, in_mv_channels, geometry.n_map))
        has_own_bias = bias and not in_s_channels
        self.bias = nn.Parameter(torch.zeros(out_mv_channels, 1)) if has_own_bias else None
        self.s2mvs = (
            nn.Linear(in_s_channels, n_mixed * out_mv_channels, bias=bias)
            if in_s_channels
            else None
        )
        self.mvs2s = (
            nn.Linear(n_mixed * in_mv_channels, out_s_channels, bias=bias)
            if out_s_channels
            else None
        )
        self.s2s = (
            nn.Linear(in_s_channels, out_s_channels, bias=False)
            if in_s_channels and out_s_channels
            else None
        )
        # Without, the last row of the packed matrix is zero for ever.
        self.has_bias = bool(bias)
        self._parts = Parts(self, *_SCALAR_MAPS)
        self.keep_later(*_MADE_LATER)
        if not is_part:
            self._places = self._make_places()
        # One over the squares of what the maps are multiplied by: integers, which no change of the
        # module's type rounds.
        squares = np.rint(np.abs(geometry.basis).max(axis=(1, 2)) ** -2).astype(np.int64)
        self._is_scaled = bool((squares != 1).any())
        if self._is_scaled:
            self.keep("_squares", squares)
        self.reset_parameters(initialization)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_parts" not in state:  # of an older version
            self._parts = Parts(self, *_SCALAR_MAPS)
        self.keep_later(*_MADE_LATER)

    def extra_repr(self) -> str:
        """Return the sizes.

        Returns
        -------
        str
            Channels, and how many maps there are.
        """
        return (
            f"in_mv_channels={self.in_mv_channels}, out_mv_channels={self.out_mv_channels}, "
            f"maps={self.geometry.n_map}, in_s_channels={self.in_s_channels}, "
            f"out_s_channels={self.out_s_channels}"
        )

    @property
    def n_in(self) -> int:
        """Width of a packed row of inputs."""
        return N_COMPONENT * self.in_mv_channels + self.in_s_channels

    @property
    def n_out(self) -> int:
        """Width of a packed row of outputs."""
        return N_COMPONENT * self.out_mv_channels + self.out_s_channels

    def reset_parameters(self, initialization: Initialization = "default") -> None:
        """Draw the weights.

        Parameters
        ----------
        initialization : str
            As of the class.
        """
        if initialization not in _SCHEMES:
            raise _core.ArgumentError(
                f"initialization: expected one of {', '.join(_SCHEMES)}, got {initialization!r}"
            )
        mv_width, s_width, shift = _SCHEMES[initialization]
        if shift and (self.s2mvs is None or self.s2mvs.bias is None):
            raise _core.ArgumentError(
                f"initialization: {initialization!r} needs scalar inputs and a bias"
            )
        bound = mv_width / math.sqrt(self.in_mv_channels)
        with torch.no_grad():
            for m, factor in enumerate(self.geometry.spread):
                self.weight[..., m].uniform_(-bound * factor, bound * factor)
            if self.s2mvs is not None:
                # Multivectors and scalars each give half of the variance of what they share.
                for m in {0, self.geometry.n_map - 1 if len(self.geometry.scalars) > 1 else 0}:
                    self.weight[..., m].mul_(1 / math.sqrt(2))
                half = mv_width / math.sqrt(2 * self.in_s_channels)
                self.s2mvs.weight.uniform_(-half, half)
                if self.s2mvs.bias is not None:
                    reach = 1 / math.sqrt(self.in_s_channels + self.in_mv_channels)
                    self.s2mvs.bias.uniform_(shift - reach, shift + reach)
            self._draw_scalars(s_width)

    def _draw_scalars(self, width: float) -> None:
        maps = [m for m in (self.s2s, self.mvs2s) if m is not None]
        for m in maps:
            bound = width / math.sqrt(m.in_features * len(maps))
            m.weight.uniform_(-bound, bound)
        if self.mvs2s is not None and self.mvs2s.bias is not None:
            bound = width / math.sqrt(sum(m.in_features for m in maps))
            self.mvs2s.bias.uniform_(-bound, bound)

    def _own_weights(self) -> list[Tensor]:
        """Return the weights between multivectors, and their bias."""
        weight = self.weight
        if self._is_scaled:
            weight = weight * self.constant("_squares", weight).to(weight.dtype).rsqrt()
        return [weight] if self.bias is None else [weight, self.bias]

    def weights(self) -> list[Tensor]:
        """Return what :meth:`labels` numbers, in its order.

        Returns
        -------
        list of torch.Tensor
            Weights, the first ones with the scale of their maps, and biases.
        """
        found = self._own_weights()
        for linear in (self.s2mvs, self.mvs2s, self.s2s):
            if linear is not None:
                found.append(linear.weight)
                if linear.bias is not None:
                    found.append(linear.bias)
        return found

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of :meth:`weights`, also where parametrizations keep other numbers."""
        n_mixed = len(self.geometry.scalars)
        c_in, c_out = self.in_mv_channels, self.out_mv_channels
        s_in, s_out = self.in_s_channels, self.out_s_channels
        found: dict[str, tuple[int, ...]] = {"weight": (c_out, c_in, self.geometry.n_map)}
        if self.has_bias and not s_in:
            found["bias"] = (c_out, 1)
        if s_in:
            found["s2mvs.weight"] = (n_mixed * c_out, s_in)
            if self.has_bias:
                found["s2mvs.bias"] = (n_mixed * c_out,)
        if s_out:
            found["mvs2s.weight"] = (s_out, n_mixed * c_in)
            if self.has_bias:
                found["mvs2s.bias"] = (s_out,)
        if s_in and s_out:
            found["s2s.weight"] = (s_out, s_in)
        return found

    def labels(self, first: int = 0) -> Labels:
        """Return the numbers of the weights in the packed matrix, whose last row is the bias.

        Parameters
        ----------
        first : int
            Number of the first of :meth:`weights`.

        Returns
        -------
        array of int, shape (n_in + 1, n_out)
            As :class:`Places` takes them.
        """
        numbers = {}
        at = first + 1
        for name, shape in self._shapes().items():
            n = math.prod(shape)
            numbers[name] = np.arange(at, at + n).reshape(shape)
            at += n
        c_in, c_out, mixed = self.in_mv_channels, self.out_mv_channels, self.geometry.scalars
        n_mv_in, n_mv_out = N_COMPONENT * c_in, N_COMPONENT * c_out
        labels = np.zeros((self.n_in + 1, self.n_out), np.int64)
        between = labels[:n_mv_in, :n_mv_out].reshape(c_in, N_COMPONENT, c_out, N_COMPONENT)
        for m, out, into in zip(*np.nonzero(self.geometry.basis), strict=True):
            sign = int(np.sign(self.geometry.basis[m, out, into]))
            between[:, into, :, out] = sign * numbers["weight"][..., m].T
        labels[:n_mv_in, :n_mv_out] = between.reshape(n_mv_in, n_mv_out)
        for q, k in enumerate(mixed):
            if "s2mvs.weight" in numbers:
                labels[n_mv_in:-1, k:n_mv_out:N_COMPONENT] = (
                    numbers["s2mvs.weight"][q :: len(mixed)].T
                )
            if "s2mvs.bias" in numbers:
                labels[-1, k:n_mv_out:N_COMPONENT] = numbers["s2mvs.bias"][q :: len(mixed)]
            if "mvs2s.weight" in numbers:
                labels[k:n_mv_in:N_COMPONENT, n_mv_out:] = (
                    numbers["mvs2s.weight"][:, q :: len(mixed)].T
                )
        if "bias" in numbers:
            labels[-1, :n_mv_out:N_COMPONENT] = numbers["bias"][:, 0]
        if "mvs2s.bias" in numbers:
            labels[-1, n_mv_out:] = numbers["mvs2s.bias"]
        if "s2s.weight" in numbers:
            labels[n_mv_in:-1, n_mv_out:] = numbers["s2s.weight"].T
        return labels

    def _make_places(self) -> Places:
        return Places(self.labels(), self.n_weight).to(self.weight.device)

    def _make_own_places(self) -> Places:
        """Arrange the weights between multivectors alone."""
        shapes = self._shapes()
        n = math.prod(shapes["weight"]) + math.prod(shapes.get("bias", (0,)))
        c_in, c_out = self.in_mv_channels, self.out_mv_channels
        rows = [*range(N_COMPONENT * c_in), self.n_in]
        labels = self.labels()[rows, : N_COMPONENT * c_out]
        return Places(np.where(np.abs(labels) <= n, labels, 0), n).to(self.weight.device)

    def _make_packed(self) -> Packed:
        found = Packed([self.labels()], [self.sizes], self.n_weight)
        return found.to(self.weight.device)

    @property
    def n_weight(self) -> int:
        """How many weights there are."""
        return sum(map(math.prod, self._shapes().values()))

    @property
    def sizes(self) -> Sizes:
        """What the library calls the map."""
        return Sizes(
            Row(self.in_mv_channels, self.in_s_channels),
            Row(self.out_mv_channels, self.out_s_channels),
            self.geometry.signs == "0+++",
            self.has_bias,
        )

    def packed(self) -> PackedMap:
        """Return the map by pairs of components.

        Returns
        -------
        PackedMap
            Its items.
        """
        (one,) = self.made("_packed", self._make_packed)(self.weights(), [])
        return one

    def matrix(self) -> Tensor:
        """Return the packed matrix.

        Returns
        -------
        torch.Tensor, shape (n_in + 1, n_out)
            Its last row is the bias.
        """
        found: Tensor = self.made("_places", self._make_places)(self.weights())
        return found

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Map.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., in_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., in_s_channels), optional
            Scalars; needed where the layer has scalar inputs.

        Returns
        -------
        multivectors : torch.Tensor, shape (..., out_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., out_s_channels), or None
            None without scalar outputs.
        """
        check_inputs(self, multivectors, scalars)
        if not self._parts.are_whole(self):
            return self._by_parts(multivectors, scalars)
        rows = pack(multivectors, scalars if self.in_s_channels else None)
        sizes = self.sizes
        is_packed = packs(rows, sizes.x, sizes.z)
        z = times(rows, self.packed() if is_packed else self.matrix(), self.has_bias)
        return unpack(z, self.out_mv_channels, self.out_s_channels)

    def _by_parts(self, multivectors: Tensor, scalars: Tensor | None) -> tuple[Tensor, Any]:
        """Map, and call the linear layers of scalars: somebody changed or watches them."""
        matrix = self.made("_own_places", self._make_own_places)(self._own_weights())
        z = times(multivectors.flatten(-2), matrix, self.bias is not None)
        mv, s = unpack(z, self.out_mv_channels, 0)
        mixed = self.geometry.scalars
        if self.s2mvs is not None:
            more = self.s2mvs(scalars).unflatten(-1, (self.out_mv_channels, len(mixed)))
            for q, k in enumerate(mixed):
                mv = mv + functional.pad(more[..., q : q + 1], (k, N_COMPONENT - 1 - k))
        if self.mvs2s is not None:
            s = self.mvs2s(torch.stack([multivectors[..., k] for k in mixed], -1).flatten(-2))
        if self.s2s is not None:
            s = s + self.s2s(scalars)
        return mv, s


def times(rows: Tensor, matrix: Tensor | PackedMap, has_bias: bool) -> Tensor:
    """Multiply packed rows with a packed matrix, or map them."""
    weights = matrix.items if isinstance(matrix, PackedMap) else matrix
    if rows.dtype != weights.dtype and not torch.is_autocast_enabled(rows.device.type):
        ours, theirs = (str(t.dtype).removeprefix("torch.") for t in (weights, rows))
        raise _core.DTypeError(
            f"multivectors, scalars: are {theirs}, but the module is {ours}; .to(torch.{ours}) of "
            f"the inputs or .to(torch.{theirs}) of the module makes them one"
        )
    if isinstance(matrix, PackedMap):
        return times_packed(rows, matrix)
    flat = rows.reshape(-1, rows.shape[-1])
    if has_bias:
        # In one step, whose gradient is one as well: the matrix is not filled with zeros twice.
        body, bias = matrix.split([matrix.shape[0] - 1, 1])
        z = torch.addmm(bias, flat, body)
    else:
        z = torch.mm(flat, matrix[:-1])
    return z.view(*rows.shape[:-1], z.shape[-1])


def check_inputs(
    linear: nn.Module,
    multivectors: Tensor,
    scalars: Tensor | None,
    has_items: bool = False,
) -> None:
    """Raise where types or shapes do not fit; has_items: whether there is an axis of them."""
    if not isinstance(linear, EquivariantLinear):  # another in its place, which knows what fits
        return
    for name, t in (("multivectors", multivectors), ("scalars", scalars)):
        if not isinstance(t, Tensor) and (t is not None or name == "multivectors"):
            raise _core.DTypeError(
                f"{name}: expected a tensor, got {type(t).__name__}; torch.as_tensor() makes one"
            )
    wanted = (linear.in_mv_channels, N_COMPONENT)
    if multivectors.dim() < 2 + has_items or tuple(multivectors.shape[-2:]) != wanted:
        raise _core.ShapeError(
            f"multivectors: expected shape (..., {'item, ' if has_items else ''}{wanted[0]}, "
            f"{wanted[1]}), got {tuple(multivectors.shape)}"
        )
    n_scalar = 0 if scalars is None else scalars.shape[-1]
    if n_scalar != linear.in_s_channels:
        raise _core.ShapeError(
            f"scalars: expected {linear.in_s_channels or 'none'} in the last axis, as the layer "
            f"was made with in_s_channels={linear.in_s_channels}, got "
            f"{None if scalars is None else tuple(scalars.shape)}"
        )
    if scalars is not None and n_scalar and scalars.shape[:-1] != multivectors.shape[:-2]:
        raise _core.ShapeError(
            f"scalars: {tuple(scalars.shape)}: expected the items of multivectors, "
            f"{tuple(multivectors.shape[:-2])}"
        )

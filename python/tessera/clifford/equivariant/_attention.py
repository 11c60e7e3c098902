"""Attention between items by the inner product of multivectors, over torch's fused kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tessera import _core
from tessera.clifford import _torch_signs
from tessera.clifford.equivariant._linear import pack, unpack
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry

__all__ = ["attend", "checked_options", "lorentz_attention", "pin_attention", "pin_features"]

_PLAIN = (0, 2, 3, 4, 8, 9, 10)  # components of PGA in the inner product, without e123
_TRIVECTOR = slice(11, 15)
_N_DISTANCE = 5
_ALIGNMENT = 8
_OPTIONS = ("attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
# What lgatr's other kernels are told by, which are packages and functions of their own there.
_BACKENDS = {
    "varlen": ("cu_seq_q", "cu_seq_k", "max_q", "max_k"),
    "xformers": ("attn_bias", "op"),
    "flex": ("score_mod", "block_mask"),
    "flash": ("cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k"),
}


def checked_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of scaled_dot_product_attention; raise where one is not among them."""
    for name, value in options.items():
        if name in _OPTIONS:
            continue
        if name == "backend":
            if value in (None, "native", "default"):
                continue
            raise _core.ArgumentError(
                f"backend: expected 'native', which is torch's scaled_dot_product_attention, got "
                f"{value!r}; attn_mask says who attends to whom"
            )
        owner = next((b for b, names in _BACKENDS.items() if name in names), None)
        whose = f"is of lgatr's backend {owner!r}, which is not here" if owner else "is unknown"
        raise _core.ArgumentError(f"{name}: {whose}; expected {', '.join(_OPTIONS)}")
    if "backend" in options:
        options = {name: value for name, value in options.items() if name != "backend"}
    return options


def attend(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """Call scaled_dot_product_attention on (..., head, item, feature).

    Its fused kernels take one axis of batches and as many heads of keys as of queries: axes are
    joined, keys and values of one head are shown to all, as views.
    """
    shape = q.shape
    if k.shape[:-2] != shape[:-2]:
        k = k.expand(*shape[:-2], *k.shape[-2:])
        v = v.expand(*shape[:-2], *v.shape[-2:])
    mask = options.get("attn_mask")
    if q.dim() != 4:
        n_set = math.prod(shape[:-3])  # without items torch could not tell
        if mask is not None and mask.dim() > 2:
            mask = mask.expand(*shape[:-2], *mask.shape[-2:])
            options["attn_mask"] = mask.reshape(n_set, *shape[-3:-2], *mask.shape[-2:])
        q, k, v = (t.reshape(n_set, *t.shape[-3:]) for t in (q, k, v))
    z = functional.scaled_dot_product_attention(q, k, v, **options)
    return z if len(shape) == 4 else z.reshape(*shape[:-1], z.shape[-1])


def _check(q_s: Tensor | None, k_s: Tensor | None, v_s: Tensor | None) -> None:
    if not (q_s is None) == (k_s is None) == (v_s is None):
        raise _core.ArgumentError("q_s, k_s, v_s: expected all three or none")


def lorentz_attention(
    q_mv: Tensor,
    k_mv: Tensor,
    v_mv: Tensor,
    q_s: Tensor | None = None,
    k_s: Tensor | None = None,
    v_s: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Attend with logits (sum of inner products of channels + scalar products) / sqrt(16 c + s).

    Parameters
    ----------
    q_mv, k_mv, v_mv : torch.Tensor, shape (..., item, channel, 16)
        Multivectors of Cl(1,3).
    q_s, k_s, v_s : torch.Tensor, shape (..., item, channel), optional
        Scalars, all or none.
    **options
        Of ``torch.nn.functional.scaled_dot_product_attention``: ``attn_mask``, ``is_causal``,
        ``dropout_p``, ``scale``; ``backend="native"`` is taken, too.

    Returns
    -------
    multivectors : torch.Tensor, shape (..., item, channel, 16)
        Of the values.
    scalars : torch.Tensor, shape (..., item, channel), or None
        Of the values.
    """
    from tessera.clifford.equivariant._maps import LORENTZ

    _check(q_s, k_s, v_s)
    signed = _torch_signs.multiply(q_mv, LORENTZ.eta, -1)
    options = checked_options(options)
    z = attend(pack(signed, q_s), pack(k_mv, k_s), pack(v_mv, v_s), **options)
    return unpack(z, v_mv.shape[-2], 0 if v_s is None else v_s.shape[-1])


def pin_features(
    q_mv: Tensor, k_mv: Tensor, q_s: Tensor | None = None, k_s: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return features whose scalar products are GATr's logits, up to their common scale.

    Seven components of the inner product per channel, five features per channel whose scalar
    products are minus the squared distance of points, then the scalars; zeros up to a multiple of
    eight, for which the keys make up.

    Parameters
    ----------
    q_mv, k_mv : torch.Tensor, shape (..., item, channel, 16)
        Multivectors of Cl(3,0,1).
    q_s, k_s : torch.Tensor, shape (..., item, channel), optional
        Scalars, both or none.

    Returns
    -------
    queries, keys : torch.Tensor, shape (..., item, feature)
        For scaled-dot-product attention.
    """
    _check(q_s, k_s, q_s)
    queries = [_plain(q_mv), _distances(q_mv, is_key=False)]
    keys = [_plain(k_mv), _distances(k_mv, is_key=True)]
    if q_s is not None and k_s is not None:
        queries.append(q_s)
        keys.append(k_s)
    width = sum(t.shape[-1] for t in queries)
    padded = -(-width // _ALIGNMENT) * _ALIGNMENT
    q = functional.pad(torch.cat(queries, -1), (0, padded - width))
    k = functional.pad(torch.cat(keys, -1), (0, padded - width))
    return q, k * math.sqrt(padded / width)


def _plain(x: Tensor) -> Tensor:
    parts = [x[..., :1], x[..., 2:5], x[..., 8:11]]
    return torch.cat(parts, -1).flatten(-2)


def _distances(x: Tensor, *, is_key: bool) -> Tensor:
    point = x[..., _TRIVECTOR]
    weight = point[..., 3:]
    point = point * (weight / (weight * weight + 0.001))
    where, weight = point[..., :3], point[..., 3:]
    square = where.square().sum(-1, keepdim=True)
    if is_key:
        parts = [-weight * weight, -square, 2 * where * weight]
    else:
        parts = [square, weight * weight, where * weight]
    return torch.cat(parts, -1).flatten(-2)


def pin_attention(
    q_mv: Tensor,
    k_mv: Tensor,
    v_mv: Tensor,
    q_s: Tensor | None = None,
    k_s: Tensor | None = None,
    v_s: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Attend as GATr does: inner products, distances of points and scalars, over sqrt(12 c + s).

    Parameters
    ----------
    q_mv, k_mv, v_mv : torch.Tensor, shape (..., item, channel, 16)
        Multivectors of Cl(3,0,1).
    q_s, k_s, v_s, **options
        As in :func:`lorentz_attention`.

    Returns
    -------
    multivectors, scalars
        As of :func:`lorentz_attention`.
    """
    _check(q_s, k_s, v_s)
    options = checked_options(options)
    q, k = pin_features(q_mv, k_mv, q_s, k_s)
    v = pack(v_mv, v_s)
    # The keys make up for zeros that torch's own scale counts, which no other scale does.
    width = (len(_PLAIN) + _N_DISTANCE) * q_mv.shape[-2] + (0 if q_s is None else q_s.shape[-1])
    scale = options.pop("scale", None)
    if scale is not None:
        options["scale"] = scale * math.sqrt(width / q.shape[-1])
    # Kernels want values as wide as keys; what is added is cut off again.
    wide = functional.pad(v, (0, q.shape[-1] - v.shape[-1])) if v.shape[-1] < q.shape[-1] else v
    if wide.shape[-1] > q.shape[-1]:
        more = wide.shape[-1] - q.shape[-1]
        options.setdefault("scale", 1 / math.sqrt(q.shape[-1]))
        q, k = functional.pad(q, (0, more)), functional.pad(k, (0, more))
    z = attend(q, k, wide, **options)[..., : v.shape[-1]]
    return unpack(z, v_mv.shape[-2], 0 if v_s is None else v_s.shape[-1])


def head_columns(n_part: int, n_head: int, c: int, s: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return which columns of a linear layer to (part, hidden, head) come in which order.

    The order wanted is (part, head, [channels of the head, then its scalars]), each head's features
    side by side, which fused attention reads without a copy.
    """
    n_mv = N_COMPONENT * n_part * c * n_head
    mv = np.arange(n_mv).reshape(n_part, c, n_head, N_COMPONENT).transpose(0, 2, 1, 3)
    scalars = n_mv + np.arange(n_part * s * n_head).reshape(n_part, s, n_head).transpose(0, 2, 1)
    return np.concatenate([mv.reshape(n_part, n_head, -1), scalars], axis=-1).ravel()


def head_rows(n_head: int, c: int, s: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return which rows of a linear layer from (head, hidden) are those of heads side by side."""
    n_mv = N_COMPONENT * n_head * c
    mv = np.arange(n_mv).reshape(n_head, -1)
    scalars = n_mv + np.arange(n_head * s).reshape(n_head, s)
    return np.concatenate([mv, scalars], axis=-1).ravel()


def query_signs(geometry: Geometry, n_part: int, n_head: int, c: int, s: int) -> Any:
    """Return the signs of columns ordered by head_columns: those of the metric, of queries."""
    signs = np.ones((n_part, n_head, N_COMPONENT * c + s), np.int64)
    signs[0, :, : N_COMPONENT * c] = np.tile(geometry.eta, c)
    return signs.ravel()

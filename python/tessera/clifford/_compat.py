"""Functions and constants of flash-clifford, with its names and argument order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera.clifford import _functional

if TYPE_CHECKING:
    from tessera.clifford._types import ArrayT, Weight

P2M0_NUM_PRODUCT_WEIGHTS = 10
P3M0_NUM_PRODUCT_WEIGHTS = 20
P2M0_NUM_GRADES = 3
P3M0_NUM_GRADES = 4


def fused_gelu_sgp_norm_2d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate, multiply in Cl(2,0) with a weight per feature and path, normalise.

    One function of flash-clifford, with its argument order.

    Parameters
    ----------
    x, y : array or tensor, shape (4, row, feature)
        Multivectors, gated by their own scalars.
    weight : array or tensor, shape (feature, 10)
        Of the product.
    normalize : bool, default True
        Divide by the root mean square of each grade.

    Returns
    -------
    array or tensor
        Like x.
    """
    return _functional.sgp(x, y, weight, "++", normalize=normalize)


def fused_gelu_sgp_norm_3d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate, multiply in Cl(3,0) with a weight per feature and path, normalise.

    One function of flash-clifford, with its argument order.

    Parameters
    ----------
    x, y : array or tensor, shape (8, row, feature)
        Multivectors, gated by their own scalars.
    weight : array or tensor, shape (feature, 20)
        Of the product.
    normalize : bool, default True
        Divide by the root mean square of each grade.

    Returns
    -------
    array or tensor
        Like x.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.clifford import P3M0_NUM_PRODUCT_WEIGHTS, fused_gelu_sgp_norm_3d
    >>> x = np.ones((8, 2, 4), np.float32)
    >>> weight = np.ones((4, P3M0_NUM_PRODUCT_WEIGHTS), np.float32)
    >>> fused_gelu_sgp_norm_3d(x, x, weight).shape
    (8, 2, 4)
    """
    return _functional.sgp(x, y, weight, "+++", normalize=normalize)


def fused_gelu_fcgp_norm_2d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate, multiply in Cl(2,0) with weights that mix features, normalise.

    One function of flash-clifford, with its argument order.

    Parameters
    ----------
    x, y : array or tensor, shape (4, row, feature)
        Multivectors, gated by their own scalars.
    weight : array or tensor, shape (10, feature, feature)
        Of the product.
    normalize : bool, default True
        Divide by the root mean square of each grade.

    Returns
    -------
    array or tensor
        Like x.
    """
    return _functional.fcgp(x, y, weight, "++", normalize=normalize)


def fused_gelu_fcgp_norm_3d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate, multiply in Cl(3,0) with weights that mix features, normalise.

    One function of flash-clifford, with its argument order.

    Parameters
    ----------
    x, y : array or tensor, shape (8, row, feature)
        Multivectors, gated by their own scalars.
    weight : array or tensor, shape (20, feature, feature)
        Of the product.
    normalize : bool, default True
        Divide by the root mean square of each grade.

    Returns
    -------
    array or tensor
        Like x.
    """
    return _functional.fcgp(x, y, weight, "+++", normalize=normalize)


def gp_pga(x: ArrayT, y: ArrayT) -> ArrayT:
    """Take the geometric product of Cl(3,0,1), without weights.

    Parameters
    ----------
    x, y : array or tensor, shape (16, row, feature)
        Multivectors.

    Returns
    -------
    array or tensor
        Like x.
    """
    return _functional.sgp(x, y, None, "0+++", activation="none", normalize=False)


gp_4d = gp_pga

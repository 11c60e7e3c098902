"""The layer of flash-clifford in plain torch: what :mod:`tessera.clifford.modules.layer` fuses."""

from __future__ import annotations

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford.modules import layer
from tessera.clifford.tests import baselines

__all__ = ["Layer"]

_FUSED_OPS = {
    (2, False): baselines.gelu_sgp_norm_2d_torch,
    (2, True): baselines.gelu_fcgp_norm_2d_torch,
    (3, False): baselines.gelu_sgp_norm_3d_torch,
    (3, True): baselines.gelu_fcgp_norm_3d_torch,
}


class Layer(torch.nn.Module):
    """Grade-wise linear map, gate, weighted product and norm, by torch's own operations.

    Parameters and their names are those of the fused layer, so that each loads the other's state.

    Parameters
    ----------
    n_features : int
        Features.
    dims : {2, 3}
        Cl(2,0) or Cl(3,0).
    normalize : bool, default True
        Divide by the root mean square of each grade.
    use_fc : bool
        Weights of the product mix features: (path, feature, feature).

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford.modules import baseline, layer
    >>> fused, plain = layer.Layer(4, 3), baseline.Layer(4, 3)
    >>> _ = plain.load_state_dict(fused.state_dict())
    >>> x = torch.randn(8, 5, 4)
    >>> torch.allclose(plain(x), fused(x), atol=1e-5)
    True
    """

    weight_expansion: Tensor

    def __init__(
        self, n_features: int, dims: int, normalize: bool = True, use_fc: bool = False
    ) -> None:
        super().__init__()
        if dims not in (2, 3):
            raise _core.ArgumentError(f"dims: {dims!r} is not supported; choose 2 or 3")
        fused = layer.Layer(n_features, dims, normalize, use_fc)  # shapes and first values
        self.normalize = normalize
        self.fused_op = _FUSED_OPS[dims, bool(use_fc)]
        self.gp_weight = torch.nn.Parameter(fused.gp_weight.detach().clone())
        self.linear_weight = torch.nn.Parameter(fused.linear_weight.detach().clone())
        self.linear_bias = torch.nn.Parameter(fused.linear_bias.detach().clone())
        self.register_buffer("weight_expansion", fused.weight_expansion.clone())

    def forward(self, x: Tensor) -> Tensor:
        """Multiply x with its linear map, gated and normalised.

        Parameters
        ----------
        x : torch.Tensor, shape (component, row, feature)
            Multivectors.

        Returns
        -------
        torch.Tensor
            Like x.
        """
        y = torch.bmm(x, self.linear_weight[self.weight_expansion]) + self.linear_bias
        return self.fused_op(x, y, self.gp_weight, self.normalize)

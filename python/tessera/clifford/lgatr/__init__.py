"""L-GATr: transformers of multivectors of spacetime that commute with the Lorentz group.

Names, options and states of what is here are those of the package lgatr 2.0, and checkpoints of its
LGATr load. All names are in this one module.

Not here: ConditionalLGATr, ConditionalLGATrBlock, CrossAttention and CrossAttentionConfig;
LGATrSlim, ConditionalLGATrSlim and the layers of slim networks; the function ``naive_amp`` (LGATr
has the option); the submodules layers, nets, primitives, interface and utils; attention by other
backends than torch's ``scaled_dot_product_attention`` ("native").

>>> import torch
>>> from tessera.clifford.lgatr import LGATr, embed_vector
>>> net = LGATr(1, 1, 1, 8, 0, 1, 4, attention={"num_heads": 2}, mlp={"mlp_ratio": 2})
>>> momenta = torch.randn(2, 5, 4)  # (event, particle, (E, px, py, pz))
>>> multivectors, scalars = net(embed_vector(momenta).unsqueeze(-2))
>>> scalars.shape
torch.Size([2, 5, 1])
"""

from tessera.clifford.equivariant._attention import lorentz_attention as sdp_attention
from tessera.clifford.equivariant._config import MLPConfig, PrimitivesConfig, SelfAttentionConfig
from tessera.clifford.equivariant._dropout import GradeDropout
from tessera.clifford.lgatr._embed import (
    embed_axialvector,
    embed_bivector,
    embed_pseudoscalar,
    embed_scalar,
    embed_vector,
    extract_axialvector,
    extract_bivector,
    extract_pseudoscalar,
    extract_scalar,
    extract_vector,
)
from tessera.clifford.lgatr._layers import (
    EquiLayerNorm,
    EquiLinear,
    GeometricBilinear,
    GeoMLP,
    ScalarGatedNonlinearity,
    SelfAttention,
)
from tessera.clifford.lgatr._net import LGATr, LGATrBlock
from tessera.clifford.lgatr._spurions import get_num_spurions, get_spurions

__all__ = [
    "EquiLayerNorm",
    "EquiLinear",
    "GeoMLP",
    "GeometricBilinear",
    "GradeDropout",
    "LGATr",
    "LGATrBlock",
    "MLPConfig",
    "PrimitivesConfig",
    "ScalarGatedNonlinearity",
    "SelfAttention",
    "SelfAttentionConfig",
    "embed_axialvector",
    "embed_bivector",
    "embed_pseudoscalar",
    "embed_scalar",
    "embed_vector",
    "extract_axialvector",
    "extract_bivector",
    "extract_pseudoscalar",
    "extract_scalar",
    "extract_vector",
    "get_num_spurions",
    "get_spurions",
    "sdp_attention",
]

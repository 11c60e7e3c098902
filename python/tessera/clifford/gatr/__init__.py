"""GATr: transformers of multivectors of projective geometry that commute with Pin(3,0,1).

>>> import torch
>>> from tessera.clifford.gatr import GATr, embed_point, extract_point
>>> net = GATr(1, 1, 8, hidden_s_channels=4, num_blocks=1, attention={"num_heads": 2})
>>> points = torch.randn(2, 5, 3)  # (scene, item, (x, y, z))
>>> multivectors, _ = net(embed_point(points).unsqueeze(-2))
>>> extract_point(multivectors[..., 0, :]).shape
torch.Size([2, 5, 3])
"""

from tessera.clifford.equivariant._attention import pin_attention as sdp_attention
from tessera.clifford.equivariant._attention import pin_features as attention_features
from tessera.clifford.equivariant._bilinear import mean_reference
from tessera.clifford.equivariant._config import MLPConfig, SelfAttentionConfig
from tessera.clifford.equivariant._dropout import GradeDropout
from tessera.clifford.gatr._embed import (
    embed_direction,
    embed_line,
    embed_plane,
    embed_point,
    embed_reflection,
    embed_rotation,
    embed_scalar,
    embed_translation,
    extract_direction,
    extract_line,
    extract_plane,
    extract_point,
    extract_scalar,
)
from tessera.clifford.gatr._layers import (
    EquiLayerNorm,
    EquiLinear,
    GeometricBilinear,
    GeoMLP,
    ScalarGatedNonlinearity,
    SelfAttention,
    equivariant_join,
)
from tessera.clifford.gatr._net import GATr, GATrBlock

__all__ = [
    "EquiLayerNorm",
    "EquiLinear",
    "GATr",
    "GATrBlock",
    "GeoMLP",
    "GeometricBilinear",
    "GradeDropout",
    "MLPConfig",
    "ScalarGatedNonlinearity",
    "SelfAttention",
    "SelfAttentionConfig",
    "attention_features",
    "embed_direction",
    "embed_line",
    "embed_plane",
    "embed_point",
    "embed_reflection",
    "embed_rotation",
    "embed_scalar",
    "embed_translation",
    "equivariant_join",
    "extract_direction",
    "extract_line",
    "extract_plane",
    "extract_point",
    "extract_scalar",
    "mean_reference",
    "sdp_attention",
]

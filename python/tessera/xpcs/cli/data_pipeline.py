"""What the original keeps under this name."""

__all__ = ["COMMON_XPCS_ANGLES"]

COMMON_XPCS_ANGLES = [0, 30, 45, 60, 90, 120, 135, 150, 180]

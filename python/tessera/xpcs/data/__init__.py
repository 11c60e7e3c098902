"""What the original keeps under this name."""

from tessera.xpcs.data.xpcs_loader import XPCSDataLoader, load_xpcs_data

__all__ = ["XPCSDataLoader", "load_xpcs_data"]

"""What the original keeps under this name."""

from tessera.xpcs._compat import XPCSDataLoader, load_xpcs_data

__all__ = ["XPCSDataLoader", "load_xpcs_data"]

"""What the original keeps under this name."""

from tessera.xpcs._config import ConfigManager

__all__ = ["ConfigManager"]

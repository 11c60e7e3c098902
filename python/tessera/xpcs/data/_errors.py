"""The original's errors of loading, which are ours, too."""

from __future__ import annotations

from tessera import _core


class XPCSDataFormatError(_core.FormatError):
    """A file, or what is in it, cannot be read."""


class XPCSDependencyError(_core.Error, ImportError):
    """A package is missing; none is needed to load data here."""


class XPCSConfigurationError(_core.ConfigError):
    """A configuration lacks something, or cannot be read."""


for _error in (XPCSDataFormatError, XPCSDependencyError, XPCSConfigurationError):
    _error.__module__ = "tessera.xpcs.data.xpcs_loader"

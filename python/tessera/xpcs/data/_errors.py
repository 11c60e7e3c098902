"""The original's errors of loading, which are ours, too."""

from __future__ import annotations

from tessera import _core


class XPCSDataFormatError(_core.FormatError):
    """A file, or what is in it, cannot be read."""


class XPCSDependencyError(_core.Error, ImportError):
    """A package is missing; none is needed to load data here."""


class XPCSConfigurationError(_core.ConfigError):
    """A configuration lacks something, or cannot be read."""


class XPCSMissingArrayError(XPCSDataFormatError, KeyError):
    """A cache lacks an array; the original raises a KeyError."""

    __str__ = XPCSDataFormatError.__str__  # a KeyError would show it in quotes


for _error in (
    XPCSDataFormatError,
    XPCSDependencyError,
    XPCSConfigurationError,
    XPCSMissingArrayError,
):
    _error.__module__ = "tessera.xpcs.data.xpcs_loader"

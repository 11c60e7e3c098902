"""Modules of flash-clifford, under the names they have there."""

from __future__ import annotations

from tessera.clifford.modules.layer import Layer

__all__ = ["Layer"]

"""The layer of flash-clifford, under the name it has there."""

from __future__ import annotations

from tessera.clifford._layer import Layer

__all__ = ["Layer"]

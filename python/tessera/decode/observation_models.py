"""Which environment and which data the spikes of a state are explained by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ObservationModel"]


@dataclass(order=True)
class ObservationModel:
    """How a discrete state explains spikes.

    Parameters
    ----------
    environment_name : str
        Environment the state lives in.
    encoding_group : str or int
        Which training samples (``encoding_group_labels``) its encoding model is made of.
    is_local : bool
        Spikes are explained by the animal's own position.
    is_no_spike : bool
        Spikes are explained by a tiny constant rate.

    Examples
    --------
    >>> from tessera.decode import ObservationModel
    >>> ObservationModel("track", is_local=True)
    ObservationModel(environment_name='track', encoding_group=0, is_local=True, is_no_spike=False)
    """

    environment_name: str = ""
    encoding_group: str | int = 0
    is_local: bool = False
    is_no_spike: bool = False

    def __eq__(self, other: object) -> bool:
        """Compare what the encoding model depends on: environment and group."""
        if not isinstance(other, ObservationModel):
            return NotImplemented
        return self._encoding() == other._encoding()

    def __hash__(self) -> int:
        """Agree with __eq__."""
        return hash(self._encoding())

    def _encoding(self) -> tuple[Any, Any]:
        return self.environment_name, self.encoding_group

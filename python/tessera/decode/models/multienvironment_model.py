"""Two environments, one state each."""

from __future__ import annotations

from typing import Any

from tessera._documented import parameters_of
from tessera.decode.models import _ready
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["MultiEnvironmentClusterlessClassifier", "MultiEnvironmentSortedSpikesClassifier"]


@parameters_of(SortedSpikesDetector)
class MultiEnvironmentSortedSpikesClassifier(SortedSpikesDetector):
    """Two environments, one state each: which of them is represented; sorted units.

    ``environment_labels`` of :meth:`fit` say where every sample was taken; states jump from one to
    the other.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> model = td.MultiEnvironmentSortedSpikesClassifier()
    >>> [environment.environment_name for environment in model.environments]
    ['env1', 'env2']
    """

    _kind = _ready.MULTI_ENVIRONMENT


@parameters_of(ClusterlessDetector)
class MultiEnvironmentClusterlessClassifier(ClusterlessDetector):
    """Two environments, one state each: which of them is represented.

    ``environment_labels`` of :meth:`fit` say where every sample was taken; states jump from one to
    the other.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> model = td.MultiEnvironmentClusterlessClassifier()
    >>> [environment.environment_name for environment in model.environments]
    ['env1', 'env2']
    """

    _kind = _ready.MULTI_ENVIRONMENT


def __getattr__(name: str) -> Any:
    """Find the original's names of the defaults."""
    return _ready.module_default(_ready.MULTI_ENVIRONMENT, __name__, name)

"""Types of what calls take and return, for type checkers; never imported at run time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import mne
import numpy as np
from numpy.typing import ArrayLike

from tessera.autoreject._epochs import EpochsFile

Verbose: TypeAlias = bool | Literal["tqdm", "tqdm_notebook", "progressbar"] | None
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
Picks: TypeAlias = str | slice | Sequence[str] | Sequence[int] | ArrayLike | None
Origin: TypeAlias = Literal["auto"] | tuple[float, float, float] | ArrayLike | None
EpochsLike: TypeAlias = mne.BaseEpochs | EpochsFile
# The class of MNE's that went in comes out.
EpochsT = TypeVar("EpochsT", bound=mne.BaseEpochs)

# Epochs, or their mean.
InstT = TypeVar("InstT", bound=mne.BaseEpochs | mne.Evoked)


class Splitter(Protocol):
    """What scikit-learn's cross-validators are."""

    def split(self, X: Any, /) -> Iterator[tuple[Any, Any]]: ...  # noqa: N803


CrossValidation: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None

"""Arguments that several entry points share: seeds, threads, verbosity, folds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera._core import ArgumentError, Progress
from tessera._progress import callback, callback_if_watched

_BARS = ("tqdm", "tqdm_notebook", "progressbar")


def seed_of(random_state: Any) -> int:
    """Return the seed that a random_state stands for.

    An integer is the seed; None takes one from the operating system; a generator gives 31 bits.
    """
    if random_state is None:
        return int.from_bytes(os.urandom(4), "little")
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if random_state is np.random:
        return int(np.random.mtrand._rand.randint(2**31 - 1))
    try:
        seed = int(random_state.__index__())
    except (AttributeError, TypeError):
        raise ArgumentError(
            f"random_state: expected an integer, None or a numpy.random.RandomState, got "
            f"{random_state!r}"
        ) from None
    if not 0 <= seed < 2**32:
        raise ArgumentError(f"random_state: Seed must be between 0 and 2**32 - 1, got {seed}")
    return seed


def threads_of(n_jobs: int | None) -> int | None:
    """Return the number of threads of an n_jobs; None: all there are."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Real) or not np.isfinite(n_jobs):
        raise ArgumentError(
            f"n_jobs: expected a number of threads, or -1 for all cores, got {n_jobs!r}"
        )
    if n_jobs == 0:
        raise ArgumentError("n_jobs: expected 1 or more, or -1 for all cores, got 0")
    if n_jobs > 0:
        return int(n_jobs)
    if n_jobs == -1:
        return None
    return max(1, len(os.sched_getaffinity(0)) + 1 + int(n_jobs))


def check_verbose(verbose: Any) -> None:
    """Refuse what is neither a boolean nor the name of a bar."""
    if isinstance(verbose, bool | int | np.bool_) or verbose is None:
        return
    if isinstance(verbose, str) and verbose in _BARS:
        return
    raise ArgumentError(
        f"verbose must be a boolean value, or one of {', '.join(_BARS)}. Got {verbose!r}"
    )


def bars(verbose: Any) -> Callable[[Progress], object] | None:
    """Return the progress callback of a verbosity; None: silent.

    True, which is the default of the original, shows bars where somebody watches; the name of a bar
    asks for it.
    """
    check_verbose(verbose)
    if not verbose:
        return None
    if not isinstance(verbose, str):
        return callback_if_watched()
    try:
        if verbose == "tqdm_notebook":
            from tqdm.notebook import tqdm
        else:
            from tqdm import tqdm
    except ImportError:
        return callback("bar")
    from tessera._bars import of_tqdm

    return of_tqdm(tqdm)


class KFold:
    """Contiguous folds, as scikit-learn's class of this name makes them by default."""

    def __init__(self, n_splits: int) -> None:
        self.n_splits = n_splits

    def get_n_splits(self, *_: Any) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, x: Any, *_: Any) -> Any:
        """Yield training and test indices."""
        n = len(x)
        for test in np.array_split(np.arange(n), self.n_splits):
            yield np.setdiff1d(np.arange(n), test), test

    def __repr__(self) -> str:
        return f"KFold(n_splits={self.n_splits}, random_state=None, shuffle=False)"


def splits_of(n_splits: Any, cv: Any) -> int:
    """Return the splits of the threshold search; 0: as many as the choice asks for."""
    auto = (isinstance(value, str) and value == "auto" for value in (n_splits, cv))
    if any(auto):
        return 0
    if isinstance(n_splits, str) or int(n_splits) < 1:
        raise ArgumentError(f"n_splits: expected 'auto' or a number from 1 on, got {n_splits!r}")
    return int(n_splits)


def cv_of(cv: Any, *, default: int) -> Any:
    """Return an object with split(): scikit-learn's KFold where it is installed, else ours."""
    if cv is None or (isinstance(cv, str) and cv == "auto"):  # "auto" is of the splits
        cv = default
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ArgumentError(f"cv: k-fold cross-validation needs at least 2 folds, got {cv}")
        if sys.modules.get("sklearn") is not None:
            from sklearn.model_selection import KFold as SklearnKFold

            return SklearnKFold(int(cv))
        return KFold(int(cv))
    if hasattr(cv, "split") and not isinstance(cv, str | bytes | np.ndarray):
        return cv
    if hasattr(cv, "__iter__") and not isinstance(cv, str | bytes):
        return _Splits(list(cv))
    raise ArgumentError(
        f"cv: expected a number of folds, an object with split() or a list of (train, test) "
        f"indices, got {cv!r}"
    )


class _Splits:
    def __init__(self, splits: list[Any]) -> None:
        self._splits = splits

    def split(self, *_: Any) -> Any:
        return iter(self._splits)

    def get_n_splits(self, *_: Any) -> int:
        return len(self._splits)


def _indices(given: Any) -> Any:
    """Return indices; a mask stays one, and nothing is no index."""
    found = np.asarray(given)
    return found.astype(np.int64) if found.size == 0 else found


def fold_masks(cv: Any, n_epoch: int) -> npt.NDArray[np.uint8]:
    """Return the folds of a cv object, (n_fold, n_epoch): 1 train, 2 test, 0 neither."""
    n_fold = getattr(cv, "n_splits", None)
    if n_fold is not None and not hasattr(cv, "n_repeats") and type(cv).__name__ == "KFold":
        check_folds(int(n_fold), n_epoch)
    rows = []
    for split in cv.split(np.zeros((n_epoch, 1))):
        train, test = (_indices(part) for part in split)
        for part in (train, test):
            out = [] if part.dtype == bool else part[(part < -n_epoch) | (part >= n_epoch)]
            if len(out) > 0:
                raise ArgumentError(
                    f"cv: a split names epoch {out[0]}; there are {n_epoch}, from 0 on"
                )
        row = np.zeros(n_epoch, np.uint8)
        row[train] = 1
        if row[test].any():
            raise ArgumentError("cv: an epoch is in the training and the test part of one split")
        row[test] = 2
        if not (row == 1).any() or not (row == 2).any():
            raise ArgumentError("cv: a split has no epochs to train on, or none to test on")
        rows.append(row)
    if not rows:
        raise ArgumentError("cv: it yields no split")
    return np.array(rows)


def check_folds(n_fold: int, n_epoch: int) -> None:
    """Refuse more folds than epochs before anything is computed."""
    if n_fold > n_epoch:
        lower = f"Lower cv to {n_epoch} or less, or give" if n_epoch > 1 else "Give"
        raise ArgumentError(
            f"Cannot have number of splits n_splits={n_fold} greater than the number of samples: "
            f"n_samples={n_epoch}. {lower} {n_fold} epochs or more."
        )

"""What the estimators of one threshold share: the score, and a mean of nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.autoreject._params import Params

__all__ = ["BaseAutoReject"]


def _slicemean(obj: Any, this_slice: Any, axis: int) -> Any:
    """Return the mean of a part of an array along an axis; NaN if the part is empty."""
    part = obj[this_slice]
    return np.mean(part, axis=axis) if len(part) > 0 else np.nan


class BaseAutoReject(Params):
    """Base of the estimators: how near the mean of what is kept is to the median of other epochs.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject.autoreject import _ChannelAutoReject
    >>> x = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 90.0]])
    >>> _ChannelAutoReject(thresh=5.0).fit(x).score(x)
    -0.7071067811865476
    """

    mean_: Any

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Return the negative distance of the median of some epochs from the mean; -inf without it.

        Parameters
        ----------
        X : array
            Epochs to compare with.
        y : optional
            Ignored.

        Returns
        -------
        float
        """
        data = np.asarray(X)
        n_channels, n_times = (getattr(self, name, None) for name in ("n_channels", "n_times"))
        if n_channels is not None and n_times is not None:
            data = data.reshape(-1, n_channels, n_times)
        if np.any(np.isnan(self.mean_)):
            return -np.inf
        return -float(np.sqrt(np.mean((np.median(data, axis=0) - self.mean_) ** 2)))

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn assumes of an estimator; only it calls this."""
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()

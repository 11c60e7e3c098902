"""AutoReject: thresholds for every sensor, bad epochs dropped, bad sensors repaired."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.autoreject import _files
from tessera.autoreject._arguments import check_verbose, seed_of
from tessera.autoreject._base import BaseAutoReject, _slicemean  # noqa: F401
from tessera.autoreject._channel import _ChannelAutoReject, _compute_thresh  # noqa: F401
from tessera.autoreject._clean import TransformMixin
from tessera.autoreject._epochs import EpochsFile, check_epochs, check_sensors, recording_of
from tessera.autoreject._fit import FitRequest, Settings, run_fit
from tessera.autoreject._local import _AutoReject
from tessera.autoreject._sensors import resolve_picks
from tessera.autoreject._steps import (  # noqa: F401 (the original has them here)
    _apply_drop,
    _apply_interp,
    _check_fit,
    _get_interp_chs,
    _interpolate_bad_epochs,
    _run_local_reject_cv,
)
from tessera.autoreject.bayesopt import bayes_opt, expected_improvement
from tessera.autoreject.global_threshold import (
    _GlobalAutoReject,
    get_rejection_threshold,
    validation_curve,
)
from tessera.autoreject.reject_log import RejectLog, read_reject_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, Unpack

    from numpy.typing import ArrayLike

    from tessera.autoreject._keywords import AutoRejectKeywords
    from tessera.autoreject._types import (
        CrossValidation,
        EpochsLike,
        Origin,
        Picks,
        RandomState,
        Verbose,
    )

__all__ = [
    "AutoReject",
    "BaseAutoReject",
    "RejectLog",
    "_AutoReject",
    "_GlobalAutoReject",
    "bayes_opt",
    "compute_thresholds",
    "expected_improvement",
    "fit_array",
    "get_rejection_threshold",
    "read_auto_reject",
    "read_reject_log",
    "validation_curve",
]

_PathLike = str | os.PathLike[str]


class AutoReject(TransformMixin):
    """Find and repair bad sensors per epoch, and drop epochs that are beyond repair.

    Parameters
    ----------
    n_interpolate : array of int or None
        Values to try of the number of sensors repaired per epoch. None: 1, 4 and 32, or one less
        than the number of picks if that is smaller. Those that are not less than the number of
        channels of a type are skipped for that type, with a warning if they were given.
    consensus : array of float or None
        Values to try of the share of bad sensors from which on an epoch is dropped. None: 0, 0.1,
        ... 1.
    thresh_func : callable or None
        Accepted and ignored, as the original does.
    cv : int, object with split(), list of (train, test), or 'auto'
        Folds of the search for the two above. 'auto': 10, and ``n_splits='auto'``.
    picks : str, list, slice or None
        Channels, as MNE reads them. None: all data channels that are not marked bad.
    thresh_method : {'bayesian_optimization', 'random_search', 'exact'}
        How a threshold is searched for.
    n_jobs : int
        Threads; -1 for all cores. Results do not depend on it. Where a GPU computes, the default 1
        leaves all cores to the host's part, unless ``tessera.set_num_threads`` bounds them.
    random_state : int, numpy.random.RandomState or None
        Seed of the splits of the threshold search. None takes one from the operating system; it is
        kept in ``seed_``. The splits are the same for every candidate and channel.
    verbose : bool or {'tqdm', 'tqdm_notebook', 'progressbar'}
        Show progress and what was found.
    search : {'compat', 'grid', 'exact'}
        The original's search, its 41 quantiles alone, or the best of all candidates.
    rho_mode : {'cumulative', 'independent'}
        Repairs carried over from one value of n_interpolate to the next, as the original does, or
        each value by itself, as published.
    n_splits : int or 'auto'
        Splits of the threshold search. 100 make thresholds nearly independent of the seed. 'auto',
        or ``cv='auto'``: 10, 20, 40 ... 160, until consensus and n_interpolate are the same three
        times in a row; ``n_splits_`` tells how many it took.
    device : {'auto', 'cpu', 'cuda', 'cuda:1', ...}
        Where to compute. 'auto': a GPU where there is one and the epochs are 64 MB or more in
        double precision, or are there already; else the CPU. Thresholds, losses and decisions have
        the same bits on both.
    precision : {'float64', 'float32'}
        'float32' rounds the samples first; all sums are in double precision in either case.
    meg_dots : {'direct', 'lut'}
        MEG field mapping by direct evaluation, or by the rounded table of MNE up to 1.12.
    origin : None, 'auto' or (x, y, z)
        Centre the EEG positions are taken from: the head frame's, as the original does, that of a
        sphere fitted to the digitised points, or a given one in metres.
    memory_limit : int or str or None
        Bytes, or text such as '4G'. Larger epochs go through a scratch file.
    profile : bool
        Keep a table of times, bytes and flops per stage in ``profile_``.
    checkpoint : path or None
        Folder from which an interrupted fit is continued by fitting again.

    Attributes
    ----------
    picks_ : array of int
        Channels used, ascending.
    dots : tuple of array or None
        Dot products of the lead fields of MEG channels.
    threshes_ : dict
        Threshold of every channel.
    thresh_errors_ : dict
        Its standard error: how far it would lie with as many other epochs and another seed.
    consensus_, n_interpolate_ : dict
        The choice for every channel type.
    loss_ : dict
        For every channel type (n_consensus, n_interpolate, n_folds): the root mean square error;
        inf where a pair is not admissible.
    local_reject_ : dict
        For every channel type an object that holds the choice.
    curves_ : dict
        For every channel its candidates and the objective at each.
    seed_ : int
        What was used.

    Notes
    -----
    Differs from the package autoreject in these points. Thresholds, consensus and n_interpolate are
    those of the original with the defaults; ``search='exact'`` finds the best of all candidates
    instead of 41. The splits of the threshold search are the same for every candidate. Epochs
    larger than memory go through a scratch file. ``verbose=True`` draws bars only where somebody
    watches.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject import AutoReject
    >>> x = 1e-5 * np.random.default_rng(1).standard_normal((30, 8, 50))
    >>> x[4, 2] *= 20
    >>> angle = np.arange(8) * np.pi / 4
    >>> positions = 0.09 * np.stack([np.cos(angle), np.sin(angle), np.cos(3 * angle) / 2], axis=1)
    >>> ar = AutoReject(n_interpolate=[1, 2], cv=5, random_state=1, verbose=False)
    >>> clean, log = ar.fit_array(x, positions).transform_array(x, return_log=True)
    >>> clean.shape, sorted(ar.consensus_)
    ((30, 8, 50), ['eeg'])
    """

    _shown = (
        "consensus",
        "cv",
        "n_interpolate",
        "n_jobs",
        "picks",
        "random_state",
        "thresh_method",
        "verbose",
    )

    def __init__(
        self,
        n_interpolate: ArrayLike | None = None,
        consensus: ArrayLike | None = None,
        thresh_func: Callable[..., object] | None = None,
        cv: CrossValidation | Literal["auto"] = 10,
        picks: Picks | None = None,
        thresh_method: str = "bayesian_optimization",
        n_jobs: int = 1,
        random_state: RandomState | None = None,
        verbose: Verbose = True,
        *,
        search: str = "compat",
        rho_mode: str = "cumulative",
        n_splits: int | Literal["auto"] = 10,
        device: str = "auto",
        precision: str = "float64",
        meg_dots: str = "direct",
        origin: Origin | None = None,
        memory_limit: int | str | None = None,
        profile: bool = False,
        checkpoint: _PathLike | None = None,
    ) -> None:
        self.n_interpolate = n_interpolate
        self.consensus = consensus
        self.thresh_func = thresh_func
        self.cv = cv
        self.picks = picks
        self.thresh_method = thresh_method
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.search = search
        self.rho_mode = rho_mode
        self.n_splits = n_splits
        self.device = device
        self.precision = precision
        self.meg_dots = meg_dots
        self.origin = origin
        self.memory_limit = memory_limit
        self.profile = profile
        self.checkpoint = checkpoint

    def save(self, fname: _PathLike, overwrite: bool = False) -> None:
        """Save this object.

        Parameters
        ----------
        fname : path
            .json for the plain model that the command line reads too; anything else is HDF5 in the
            original's layout, which needs h5io.
        overwrite : bool, default False
            Replace an existing file.
        """
        if os.path.exists(fname) and not overwrite:
            raise ValueError(
                f"{os.fspath(fname)} already exists. Please make overwrite=True if you want to "
                f"overwrite this file"
            )
        _files.save(self, fname)

    def _repr_html_(self) -> str:
        from tessera.autoreject._html import of_fit

        return of_fit(self)

    def __getstate__(self) -> dict[str, Any]:
        return _files.state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        _files.set_state(self, state)


class Thresholds(dict[str, float]):
    """Thresholds by the names of channels: a dict that notebooks show as a table."""

    def _repr_html_(self) -> str:
        from tessera.autoreject._html import of_thresholds

        return of_thresholds(self)


def compute_thresholds(
    epochs: EpochsLike,
    method: str = "bayesian_optimization",
    random_state: RandomState | None = None,
    picks: Picks | None = None,
    augment: bool = True,
    verbose: Verbose = True,
    n_jobs: int = 1,
    *,
    search: str = "compat",
    n_splits: int = 10,
    device: str = "auto",
    precision: str = "float64",
    meg_dots: str = "direct",
    origin: Origin | None = None,
    memory_limit: int | str | None = None,
    dots: object = None,
) -> dict[str, float]:
    """Find the peak-to-peak threshold of every channel.

    Parameters
    ----------
    epochs : mne.Epochs or EpochsFile
        Not changed.
    method : {'bayesian_optimization', 'random_search', 'exact'}
        How a threshold is searched for.
    random_state : int, numpy.random.RandomState or None
        Seed of the splits.
    picks : str, list, slice or None
        Channels.
    augment : bool, default True
        Let the search also see every channel predicted from the others; needs positions.
    verbose : bool or str
        Show progress.
    n_jobs : int
        Threads; -1 for all cores.
    search, n_splits, device, precision, meg_dots, origin, memory_limit
        As :class:`AutoReject` takes them.
    dots : optional
        Accepted for the original's scripts; the library computes its own.

    Returns
    -------
    dict
        Threshold by name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = ta.simulate(pathlib.Path(folder.name) / "x.npy", epochs=20, channels=6, samples=50)
    >>> epochs = ta.read_epochs(path, sampling_hz=100.0)
    >>> thresholds = ta.compute_thresholds(epochs, augment=False, random_state=1, verbose=False)
    >>> len(thresholds), min(thresholds.values()) > 0
    (6, True)
    >>> folder.cleanup()
    """
    check_verbose(verbose)
    if not isinstance(epochs, EpochsFile):
        epochs.info  # noqa: B018 (as AutoReject.fit)
        check_epochs(epochs)
    settings = Settings(
        n_jobs,
        verbose,
        search,
        n_splits=n_splits,
        device=device,
        precision=precision,
        meg_dots=meg_dots,
        origin=origin,
        memory_limit=memory_limit,
    )
    recording = recording_of(epochs)
    sensors = recording.sensors
    chosen = np.unique(resolve_picks(sensors, picks))
    check_sensors(sensors, chosen, check_loc=augment, verbose=verbose)
    seed = seed_of(random_state)
    request = FitRequest(chosen, seed, method, augment, thresholds_only=True)
    fits, _ = run_fit(recording, request, settings)
    return Thresholds(
        (sensors.names[k], float(value))
        for fit in fits
        for k, value in zip(fit.channels, fit.thresholds, strict=True)
    )


def _compute_thresholds(
    epochs: EpochsLike,
    method: str = "bayesian_optimization",
    random_state: RandomState | None = None,
    picks: Picks | None = None,
    augment: bool = True,
    dots: object = None,
    verbose: Verbose = True,
    n_jobs: int = 1,
) -> dict[str, float]:
    """Do what :func:`compute_thresholds` does, with the dots where the original has them."""
    return compute_thresholds(
        epochs, method, random_state, picks, augment, verbose, n_jobs, dots=dots
    )


def fit_array(
    X: ArrayLike,  # noqa: N803
    positions: ArrayLike,
    ch_types: str | Sequence[str] = "eeg",
    *,
    ch_names: Sequence[str] | None = None,
    bads: Sequence[str] = (),
    sfreq: float = 1.0,
    coil_types: Sequence[int] | None = None,
    device_to_head: ArrayLike | None = None,
    **params: Unpack[AutoRejectKeywords],
) -> AutoReject:
    """Fit epochs that are a plain array; needs no MNE.

    Parameters
    ----------
    X, positions, ch_types, ch_names, bads, sfreq, coil_types, device_to_head
        As :meth:`AutoReject.fit_array` takes them.
    **params
        Of :class:`AutoReject`.

    Returns
    -------
    AutoReject
        Fitted; ``transform_array(X)`` cleans.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject import fit_array
    >>> x = 1e-5 * np.random.default_rng(1).standard_normal((20, 6, 40))
    >>> positions = 0.09 * np.eye(6, 3) + 0.01 * np.arange(18).reshape(6, 3) / 18
    >>> ar = fit_array(x, positions, n_interpolate=[1], cv=4, random_state=1, verbose=False)
    >>> len(ar.threshes_)
    6
    """
    return AutoReject(**params).fit_array(
        X,
        positions,
        ch_types,
        ch_names=ch_names,
        bads=bads,
        sfreq=sfreq,
        coil_types=coil_types,
        device_to_head=device_to_head,
    )


def read_auto_reject(fname: _PathLike) -> AutoReject:
    """Read what :meth:`AutoReject.save` wrote, here, by the original or the command line.

    Parameters
    ----------
    fname : path
        HDF5 in the original's layout (needs h5io), or a JSON model.

    Returns
    -------
    AutoReject
        Fitted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> x = 1e-5 * np.random.default_rng(1).standard_normal((20, 6, 40))
    >>> positions = 0.09 * np.eye(6, 3) + 0.01 * np.arange(18).reshape(6, 3) / 18
    >>> ar = ta.fit_array(x, positions, n_interpolate=[1], cv=4, random_state=1, verbose=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ar.save(pathlib.Path(folder) / "model.json")
    ...     again = ta.read_auto_reject(pathlib.Path(folder) / "model.json")
    >>> again.consensus_ == ar.consensus_
    True
    """
    out = AutoReject()
    _files.load(out, fname)
    return out

"""Bandwidths by the likelihood of held-out spikes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import Session, defaults
from tessera._progress import ProgressLike, callback
from tessera.decode import _data
from tessera.decode._data import Floats
from tessera.decode.recordings import Recording, read_recording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from tessera.decode._keywords import TuneKeywords
    from tessera.decode._types import ArrayLike

__all__ = ["Tuning", "tune"]


@dataclass(frozen=True, repr=False)
class Tuning:
    """Chosen bandwidths, and everything that was tried.

    Parameters
    ----------
    position_std, waveform_std, score, start_position_std, start_waveform_std, start_score
        What :func:`tune` found, and where it began.
    has_waveform, position_at_end, waveform_at_end, n_fold, n_sample, n_spike, n_held, elapsed_s
        How it went.
    candidates : list of dict
        Everything that was tried.

    Attributes
    ----------
    position_std, waveform_std : float
        The choice, cm and microvolts; waveform_std is NaN for sorted spikes.
    score, start_score : float
        Nats per held-out spike of the choice, and of the bandwidths it started from.
    candidates : list of dict
        ``sweep``, ``is_position``, ``position_std``, ``waveform_std``, ``score``, ``below_best``
        and its ``standard_error``, in order of time.
    position_at_end, waveform_at_end : bool
        The best was the last one tried on its side: start from there again.
    """

    position_std: float
    waveform_std: float
    score: float
    start_position_std: float
    start_waveform_std: float
    start_score: float
    has_waveform: bool
    position_at_end: bool
    waveform_at_end: bool
    n_fold: int
    n_sample: int
    n_spike: int
    n_held: int
    elapsed_s: float
    candidates: list[dict[str, Any]]

    def __repr__(self) -> str:
        waveform = f", waveform_std={self.waveform_std:.4g}" if self.has_waveform else ""
        return (
            f"Tuning(position_std={self.position_std:.4g}{waveform}, score={self.score:.5g}, "
            f"{len(self.candidates)} candidates in {self.n_fold} folds)"
        )

    def _repr_html_(self) -> str:
        from tessera.decode._html import of_tuning

        return of_tuning(self)

    def algorithm_params(self) -> dict[str, float]:
        """Return the choice as models take it.

        Returns
        -------
        dict
            position_std and, unless spikes are sorted, waveform_std: for
            ``clusterless_algorithm_params``.
        """
        chosen = {"position_std": self.position_std}
        return chosen | {"waveform_std": self.waveform_std} if self.has_waveform else chosen

    def curve(self, name: str, sweep: int | None = None) -> tuple[Floats, Floats, Floats]:
        """Return bandwidths, scores and standard errors of a sweep, by rising bandwidth.

        Parameters
        ----------
        name : str
            'position_std' or 'waveform_std'.
        sweep : int, optional
            Which one; the last if not given.

        Returns
        -------
        tuple of ndarray
            Bandwidths, nats per held-out spike, standard errors of the distance from the best.
        """
        if name not in ("position_std", "waveform_std"):
            raise ValueError(f"name: {name!r} is neither 'position_std' nor 'waveform_std'")
        mine = [c for c in self.candidates if c["is_position"] == (name == "position_std")]
        last = max((c["sweep"] for c in mine), default=0) if sweep is None else sweep
        rows = sorted(
            (c[name], c["score"], c["standard_error"]) for c in mine if c["sweep"] == last
        )
        values = np.array(rows, dtype=float).reshape(-1, 3)
        return values[:, 0], values[:, 1], values[:, 2]


def _write_arrays(
    path: Path,
    position_time: Any,
    position: Any,
    spike_times: Sequence[Any],
    features: Sequence[Any] | None,
    is_training: Any,
) -> None:
    """Put arrays into a recording file."""
    arrays: dict[str, Any] = {
        "position_time": _data.reals(position_time, "position_time"),
        "position": _data.reals(position, "position"),
    }
    if is_training is not None:
        arrays["is_training"] = _data.mask(is_training, "is_training")
    times = _data.spike_times(spike_times)
    arrays["spike_times"] = np.concatenate([*times, np.empty(0)])
    arrays["spike_offsets"] = np.cumsum([0, *map(len, times)])
    if features is not None:
        marks = _data.features(features)
        if len(marks) != len(times):
            raise ValueError(
                f"spike_waveform_features has {len(marks)} electrodes, spike_times has {len(times)}"
            )
        for e, (each, mine) in enumerate(zip(times, marks, strict=True)):
            if len(mine) != len(each):
                raise ValueError(
                    f"electrode {e}: {len(each)} spike times but {len(mine)} feature rows"
                )
        arrays["n_feature"] = [each.shape[1] for each in marks]
        arrays["marks"] = np.concatenate([*(m.ravel() for m in marks), np.empty(0)])
    np.savez(path, **arrays)


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate options of the search from those of the encoding model."""
    known = [*defaults("decode.tune"), *defaults("decode.encoding")]
    for name in options:
        if name not in known:
            raise TypeError(f"tune() has no option {name!r}; it has {', '.join(known)}")
    search = {name: value for name, value in options.items() if name in defaults("decode.tune")}
    return search, {name: value for name, value in options.items() if name not in search}


def tune(
    recording: Recording | str | os.PathLike[str] | None = None,
    *,
    position_time: ArrayLike | None = None,
    position: ArrayLike | None = None,
    spike_times: Sequence[ArrayLike] | None = None,
    spike_waveform_features: Sequence[ArrayLike] | None = None,
    is_training: ArrayLike | None = None,
    report: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: ProgressLike = None,
    device: str | None = None,
    **options: Unpack[TuneKeywords],
) -> Tuning:
    """Choose position_std and waveform_std by the likelihood of held-out spikes.

    Training time is cut into contiguous blocks. For each candidate a model of all blocks but one
    predicts the spikes of that one at the animal's position, as a marked point process; the score
    is the log likelihood per held-out spike.

    Parameters
    ----------
    recording : Recording or path, optional
        What to tune on; or the arrays below.
    position_time, position, spike_times, spike_waveform_features, is_training : optional
        As for ``fit``; without spike_waveform_features the spikes are sorted, a unit each.
    report : path, optional
        HTML page with the curves.
    overwrite : bool
        Replace the page if it exists.
    threads : int, optional
        Results do not depend on it.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.
    **options
        Options of tables ``decode.tune`` (folds, points, span, refine, rounds, max_spikes) and
        ``decode.encoding`` (algorithm, mode, floor, the bandwidths to start from ...).

    Returns
    -------
    Tuning
        The choice and every candidate.

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("small")
    >>> found = td.tune(rec, points=3, rounds=1, refine=0)
    >>> found.score >= found.start_score
    True
    """
    search, encoding = _split(options)
    arrays = (position_time, position, spike_times)
    if (recording is None) == all(array is None for array in arrays) or (
        recording is None and any(array is None for array in arrays)
    ):
        raise ValueError(
            "pass either a recording, or position_time, position and spike_times together"
        )
    if recording is not None:
        made = recording if isinstance(recording, Recording) else read_recording(recording)
        is_sorted = not made.encoding_spike_waveform_features
    else:
        assert spike_times is not None
        is_sorted = spike_waveform_features is None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "recording.npz"
            _write_arrays(
                path, position_time, position, spike_times, spike_waveform_features, is_training
            )
            made = read_recording(path)
    if is_sorted:
        encoding.setdefault("algorithm", "sorted_spikes_kde")
    with Session(threads=threads, device=device) as context:
        found = _core.decode_tune(
            context, made._handle, encoding, search, report, overwrite, callback(progress)
        )
    return Tuning(**found)

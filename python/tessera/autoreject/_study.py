"""Whole studies: every recording of a BIDS tree fitted and repaired, and the group told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tessera import _core
from tessera._lib import Session, warn
from tessera._progress import ProgressLike, callback
from tessera.autoreject.reject_log import RejectLog

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tessera.autoreject.autoreject import AutoReject

_WARNING = re.compile(r" \[autoreject\.[a-z-]+\]$")
_PathLike = str | os.PathLike[str]
_Labels = str | int | Iterable[str | int] | None


@dataclass(frozen=True)
class StudyRecording:
    """One recording of a study: where it stands, and where its results are.

    Made by :func:`study`. Shares are NaN and ``n_kept`` is -1 until it is done.

    Parameters
    ----------
    name, path : str
        What its results are called by, and the file.
    subject, session, task, acquisition, run, datatype, folder : str
        Its labels, '' where there is none, and the folder of its results below the output.
    state, message : str
        'to do', 'done', 'done already' or 'failed'; why it failed, or what was noted.
    n_epochs, n_channels, n_times, n_kept : int
        Shape of what was fitted, and the epochs that stay.
    bad_epochs, bad_channels, repaired_channels : float
        Shares of epochs, and of channels in single epochs.
    memory_bytes : int
        What its fit takes.
    output : path
        Folder of the study.
    """

    name: str
    path: str
    subject: str
    session: str
    task: str
    acquisition: str
    run: str
    datatype: str
    folder: str
    state: str
    message: str
    n_epochs: int
    n_channels: int
    n_times: int
    n_kept: int
    bad_epochs: float
    bad_channels: float
    repaired_channels: float
    memory_bytes: int
    output: Path

    def file(self, what: str) -> Path:
        """Return the path of a result.

        Parameters
        ----------
        what : str
            'epo.fif', 'epo.json', 'log.tsv', 'model.json' or 'report.html'.

        Returns
        -------
        path
        """
        return self.output / self.folder / f"{self.name}_desc-autoreject_{what}"

    def epochs(self, **options: Any) -> Any:
        """Read the repaired epochs by MNE.

        Parameters
        ----------
        **options
            Passed on to ``mne.read_epochs``.

        Returns
        -------
        mne.Epochs
        """
        import mne

        return mne.read_epochs(self.file("epo.fif"), **options)

    def reject_log(self) -> RejectLog:
        """Read the reject log.

        Returns
        -------
        RejectLog
        """
        with open(self.file("log.tsv"), encoding="utf-8") as file:
            heads = file.readline().rstrip("\n").split("\t")
            rows = [line.rstrip("\n").split("\t") for line in file]
        first = heads.index("n_repaired") + 1
        bad = heads.index("bad")
        numbers = {"0": 0.0, "1": 1.0, "2": 2.0, "n/a": np.nan}
        labels = [[numbers[cell] for cell in row[first:]] for row in rows]
        return RejectLog([row[bad] == "1" for row in rows], labels, heads[first:])

    def model(self) -> AutoReject:
        """Read the model, to transform other epochs by it.

        Returns
        -------
        AutoReject
        """
        from tessera.autoreject.autoreject import read_auto_reject

        return read_auto_reject(self.file("model.json"))


@dataclass(frozen=True)
class Study:
    """What :func:`study` found or did: its recordings, in the order of their names.

    Parameters
    ----------
    output : path
        Folder of the derivatives.
    recordings : list of StudyRecording
        Also by iteration and index; by name or subject, ``result["01"]``.
    outliers, notes : list of str
        Who stands out; what was passed over.
    at_a_time, memory_bytes, limit_bytes : int
        Recordings at a time, what these take at most, and the limit.
    """

    output: Path
    recordings: list[StudyRecording]
    outliers: list[str]
    notes: list[str]
    at_a_time: int
    memory_bytes: int
    limit_bytes: int

    @property
    def failed(self) -> list[StudyRecording]:
        """The recordings that failed."""
        return [r for r in self.recordings if r.state == "failed"]

    @property
    def report(self) -> Path:
        """The page of the group."""
        return self.output / "group_desc-autoreject_report.html"

    @property
    def table(self) -> Path:
        """The table of the recordings, TSV; that of the sensors lies beside it."""
        return self.output / "group_desc-autoreject_recordings.tsv"

    def __len__(self) -> int:
        """Return the number of recordings."""
        return len(self.recordings)

    def __iter__(self) -> Iterator[StudyRecording]:
        """Step through the recordings."""
        return iter(self.recordings)

    def __getitem__(self, name: int | str) -> StudyRecording:
        """Return a recording by number, or by its name ('sub-01_task-rest') or subject."""
        if not isinstance(name, str):
            return self.recordings[name]
        found = [r for r in self.recordings if name in (r.name, r.subject, f"sub-{r.subject}")]
        if len(found) != 1:
            there = ", ".join(r.name for r in found or self.recordings)
            raise KeyError(f"{name!r} names {len(found)} recordings; choose one of {there}")
        return found[0]

    def __repr__(self) -> str:
        """Return a line: a study of hundreds would fill pages."""
        states = [r.state for r in self.recordings]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
        return f"<Study of {len(states)} recordings | {counts} | {self.output}>"


def _joined(name: str, labels: _Labels) -> str | None:
    """Return labels as the engine reads them: numbers are of runs and codes of events."""
    if labels is None or isinstance(labels, str):
        return labels
    several: list[Any] = list(labels) if isinstance(labels, Iterable) else [labels]
    if not several:  # no labels would mean all of them
        raise _core.ArgumentError(f"{name}: the list is empty; leave it out to take all")
    for label in several:
        if not isinstance(label, (str, int, np.integer)) or isinstance(label, bool):
            raise _core.ArgumentError(f"{name}: expected text or a list of texts, got {label!r}")
        if isinstance(label, str) and "," in label:
            raise _core.ArgumentError(
                f"{name}: {label!r} has a comma, which parts labels; name what has none"
            )
    return ",".join(str(label) for label in several)


def _folds(cv: int | str | None, n_splits: int | str | None) -> tuple[Any, Any]:
    """Return folds and splits as the engine takes them: 'auto' is 0 splits."""
    if isinstance(cv, str):
        if cv != "auto":
            raise _core.ArgumentError(f"cv: expected 'auto' or a number from 2 on, got {cv!r}")
        cv, n_splits = None, "auto"
    if isinstance(n_splits, str):
        if n_splits != "auto":
            raise _core.ArgumentError(
                f"n_splits: expected 'auto' or a number from 1 on, got {n_splits!r}"
            )
        n_splits = 0
    return cv, n_splits


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _result(output: Path, info: dict[str, Any]) -> Study:
    return Study(
        output=output,
        recordings=[StudyRecording(output=output, **entry) for entry in info["recordings"]],
        outliers=list(info["outliers"]),
        notes=info["notes"].splitlines(),
        at_a_time=info["at_a_time"],
        memory_bytes=info["memory_bytes"],
        limit_bytes=info["limit_bytes"],
    )


def study(
    bids_dir: _PathLike,
    output: _PathLike,
    *,
    subjects: _Labels = None,
    sessions: _Labels = None,
    task: _Labels = None,
    acquisition: _Labels = None,
    run: _Labels = None,
    datatype: _Labels = None,
    picks: _Labels = None,
    event: _Labels = None,
    stim: str | None = None,
    montage: str | None = None,
    types: str | None = None,
    bads: _Labels = None,
    baseline: tuple[float | None, float | None] | Literal["none"] | None = None,
    tmin: float | None = None,
    tmax: float | None = None,
    window: float | None = None,
    overlap: float | None = None,
    sampling_hz: float | None = None,
    keep_annotated: bool | None = None,
    proj: bool | None = None,
    consensus: ArrayLike | None = None,
    n_interpolate: ArrayLike | None = None,
    cv: int | Literal["auto"] | None = None,
    n_splits: int | Literal["auto"] | None = None,
    search: str | None = None,
    rho_mode: str | None = None,
    augment: bool | None = None,
    meg_dots: str | None = None,
    compat_types: bool | None = None,
    seed: int | None = None,
    keep_bad: bool | None = None,
    drop_partial: bool | None = None,
    double_precision: bool | None = None,
    with_reports: bool | None = None,
    report_epochs: int | None = None,
    report_size: int | str | None = None,
    at_a_time: int | None = None,
    outlier_z: float | None = None,
    overwrite: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    checkpoint: _PathLike | None = None,
    checkpoint_every: float | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
) -> Study:
    """Fit and repair every recording of a BIDS tree, and write its derivatives.

    Recordings (FIF, EDF, BDF, BrainVision, EEGLAB of ``eeg`` and ``meg``) are cut by their
    events.tsv, take types and bad channels from channels.tsv and positions from electrodes.tsv.
    Several are worked on at a time within the memory limit. What fails is reported and does not
    stop the rest. Defaults are those of ``tessera autoreject study``: the exact search, and each
    n_interpolate by itself.

    Parameters
    ----------
    bids_dir : path
        Root of the tree.
    output : path
        Folder of the derivatives: not there yet, empty, or of an earlier study.
    subjects, sessions, task, acquisition, run, datatype : str or list of str, optional
        Labels to take; default: all. Runs may be numbers.
    picks : str or list of str, optional
        Channels by name or type.
    event : str, int or list of these, optional
        Names (trial_type) or codes of the events to keep.
    stim, montage, types : str, optional
        As of :func:`read_epochs`.
    bads : str or list of str, optional
        Channels to mark bad besides the files' own.
    baseline : (start, end), 'none' or None
        As of :func:`read_epochs`.
    tmin, tmax, window, overlap : float, optional
        Seconds of an epoch around its event, or of windows one after another.
    sampling_hz : float, optional
        Sampling rate of files that do not say it.
    keep_annotated : bool, optional
        Keep epochs that touch an annotation starting with bad.
    proj : bool, optional
        Apply the projectors of the files, as MNE does; default True.
    consensus, n_interpolate : array, optional
        Values to try.
    cv, n_splits : int or 'auto', optional
        Folds of the search for these; splits of the threshold search. 'auto' as of
        :class:`AutoReject`.
    search : {'exact', 'compat', 'grid', 'random'}, optional
        How thresholds are searched for.
    rho_mode : {'independent', 'cumulative'}, optional
        As of :class:`AutoReject`.
    augment : bool, optional
        Let the threshold search also see every channel predicted from the others; default True.
    meg_dots : {'direct', 'table'}, optional
        As of :class:`AutoReject`.
    compat_types : bool, optional
        Treat hbo, hbr, ecog and seeg as the original does.
    seed : int, optional
        Of the splits.
    keep_bad, drop_partial : bool, optional
        Keep bad epochs in the files; drop those, too, that keep bad channels after repair.
    double_precision : bool, optional
        Store samples in double precision.
    with_reports : bool, optional
        Write a page for each recording; default True.
    report_epochs : int, optional
        Epochs that a page shows sample by sample.
    report_size : int or str, optional
        About how many bytes, or text such as '8M', of a page these may take.
    at_a_time : int, optional
        Recordings worked on at a time; default: as many as threads and memory allow.
    outlier_z : float, optional
        Robust z beyond which a recording or sensor is named.
    overwrite, resume : bool
        What to do with an earlier study in the folder: do it again, or keep what is finished.
    dry_run : bool
        Only find the recordings and plan.
    checkpoint : path, optional
        Folder where the state of long fits is kept, too.
    checkpoint_every : float, optional
        Least seconds between two of these; default 60.
    threads : int, optional
        Default: see :func:`tessera.set_num_threads`. Results do not depend on it.
    memory_limit : int or str, optional
        Bytes, or text such as '4G', of all recordings at work together.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'.
    progress : bool, str or callable, optional
        As of :func:`ptp`; counts recordings.

    Returns
    -------
    Study
        Recordings with their states and shares; a failed one raises nothing here.

    Examples
    --------
    >>> import tessera.autoreject as ta
    >>> result = ta.study("bids", "derivatives", task="rest", window=2.0)  # doctest: +SKIP
    >>> result["01"].epochs().average()  # doctest: +SKIP
    """
    folds, splits = _folds(cv, n_splits)
    options = {
        "study": _given(with_reports=with_reports, at_a_time=at_a_time, outlier_z=outlier_z),
        "epochs": _given(
            tmin=tmin,
            tmax=tmax,
            window=window,
            overlap=overlap,
            sampling_hz=sampling_hz,
            keep_annotated=keep_annotated,
            proj=proj,
        ),
        "fit": _given(
            search=search,
            rho_mode=rho_mode,
            augment=augment,
            meg_dots=meg_dots,
            compat_types=compat_types,
            n_split=splits,
            n_fold=folds,
            seed=seed,
        ),
        "transform": _given(
            keep_bad=keep_bad, drop_partial=drop_partial, double_precision=double_precision
        ),
        "report": _given(report_epochs=report_epochs, report_size=report_size),
    }
    texts = {
        "subjects": _joined("subjects", subjects),
        "sessions": _joined("sessions", sessions),
        "task": _joined("task", task),
        "acquisition": _joined("acquisition", acquisition),
        "run": _joined("run", run),
        "datatype": _joined("datatype", datatype),
        "picks": _joined("picks", picks),
        "event": _joined("event", event),
        "stim": stim,
        "montage": montage,
        "types": types,
        "bads": _joined("bads", bads),
    }
    grids = (
        None if consensus is None else np.ascontiguousarray(consensus, np.float64),
        None if n_interpolate is None else np.ascontiguousarray(n_interpolate, np.int64),
    )
    show = callback(progress)
    with Session(threads=threads, memory_limit=memory_limit, device=device, ranks=True) as context:
        handle = _core.autoreject_study_open(
            context,
            bids_dir,
            output,
            options=options,
            texts=texts,
            baseline=() if baseline == "none" else baseline,
            consensus=grids[0],
            n_interpolate=grids[1],
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            overwrite=overwrite,
            resume=resume,
            progress=show,
        )
        if not dry_run:
            _core.autoreject_study_run(context, handle, progress=show)
        result = _result(Path(output), _core.autoreject_study_info(handle))
    for note in result.notes:
        if _WARNING.search(note):
            warn(note)
    return result

"""Progress as people and programs see it: tqdm's bars where it is installed, lines, JSON."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from tessera._core import Progress

__all__ = ["label", "make", "of_tqdm"]

# What the original package calls its bars, by how the stages of the library begin. Stages of the
# others go by the names that logs, traces and the command have for them.
_LABELS = {
    "autoreject.read": "Creating augmented epochs",
    "autoreject.augment": "Creating augmented epochs",
    "autoreject.mapping": "Creating augmented epochs",
    "autoreject.thresholds": "Computing thresholds ...",
    "autoreject.local": "n_interp",
    "autoreject.transform": "Repairing epochs",
    "autoreject.repair": "Repairing epochs",
    "autoreject.global": "Fold",
    "autoreject.ransac": "Iterating epochs",
}


def label(stage: str) -> str:
    """Return what the bar of a stage is called."""
    for prefix, name in _LABELS.items():
        if stage.startswith(prefix):
            return name
    return stage


class _Display:
    """One thing to draw per stage. Those that come again and again, as passes do, are counted.

    A stage that is done is not closed before the next begins or the call is over, which is when
    nobody holds this any more: the passes of a fit share a line.
    """

    interval_s = 0.1

    def __init__(self) -> None:
        self._now: Progress | None = None
        self._shown: Progress | None = None
        self._round = 1

    def __call__(self, now: Progress) -> None:
        last = self._now
        if last is not None and now.stage != last.stage:
            self._end()
            self._round = 1
        elif last is not None and now.elapsed_s < last.elapsed_s:
            self._round += 1
        self._now = now
        is_due = (
            self._shown is None
            or now.elapsed_s < self._shown.elapsed_s
            or now.elapsed_s - self._shown.elapsed_s >= self.interval_s
        )
        if is_due:
            self._shown = now
            self.draw(now, self._title(now))

    def __del__(self) -> None:
        if self._now is not None:
            self._end()

    def _title(self, now: Progress) -> str:
        return label(now.stage) + f" {self._round}" * (self._round > 1)

    def _end(self) -> None:
        assert self._now is not None
        if self._shown is not self._now:
            self.draw(self._now, self._title(self._now))
        self._shown = None
        self.end()

    def draw(self, now: Progress, title: str) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """Leave the line of a stage."""


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _text(now: Progress, title: str, bar: str = "|") -> str:
    """Write a state as tqdm does with the format below, without its bar."""
    share = 100 * now.done // now.total if now.total else 100
    rate = f"{now.done / now.elapsed_s:.2f}" if now.elapsed_s > 0 else "?"
    return (
        f"{title}: {share:3.0f}%{bar} {now.done}/{now.total} {now.unit} "
        f"[{_clock(now.elapsed_s)}<{_clock(now.remaining_s)}, {rate} {now.unit}/s]"
    )


class _Line(_Display):
    """A bar on one line of stderr, drawn anew; where tqdm is not installed."""

    width = 30
    length = 0

    def draw(self, now: Progress, title: str) -> None:
        filled = self.width * now.done // now.total if now.total else self.width
        line = _text(now, title, f"|{'#' * filled:<{self.width}}|")
        _write(f"\r{line:<{self.length}}")
        self.length = len(line)

    def end(self) -> None:
        _write("\n")
        self.length = 0


class _Lines(_Display):
    """A line now and then, for logs."""

    interval_s = 1.0

    def draw(self, now: Progress, title: str) -> None:
        _write(f"{_text(now, title, ' |')}\n")


class _Json(_Display):
    """An object on a line of its own, as the command writes them, for programs."""

    def draw(self, now: Progress, title: str) -> None:
        import json

        state = {
            "schema": "tessera.progress/1",
            "stage": now.stage,
            "unit": now.unit,
            "done": now.done,
            "total": now.total,
            "done_bytes": now.done_bytes,
            "elapsed_s": round(now.elapsed_s, 3),
            "remaining_s": None if now.remaining_s is None else round(now.remaining_s, 3),
            "memory_bytes": now.memory_bytes,
        }
        _write(json.dumps(state) + "\n")


class _Tqdm(_Display):
    """Bars of tqdm."""

    interval_s = 0.0  # tqdm thins out by itself
    layout = (
        "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit} "
        "[{elapsed}<{remaining}, {rate_fmt}]"
    )

    def __init__(self, tqdm: Any) -> None:
        super().__init__()
        self._tqdm = tqdm
        self._bar: Any = None
        self._bar_round = 1

    def draw(self, now: Progress, title: str) -> None:
        if self._bar is None:
            self._bar = self._tqdm(
                desc=title,
                total=now.total,
                unit=f" {now.unit}",
                bar_format=self.layout,
                file=sys.stderr,
            )
        elif self._round != self._bar_round:
            self._bar.reset(now.total)
            self._bar.set_description_str(title, refresh=False)
        self._bar_round = self._round
        self._bar.update(now.done - self._bar.n)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _write(text: str) -> None:
    stream: TextIO | None = sys.stderr
    if stream is not None:  # as under pythonw, or while the interpreter ends
        stream.write(text)
        stream.flush()


def of_tqdm(tqdm: Any) -> _Display:
    """Return bars of one of tqdm's classes."""
    return _Tqdm(tqdm)


def make(style: str) -> _Display:
    """Return what draws in a style of TESSERA_PROGRESS but 'none'."""
    if style == "plain":
        return _Lines()
    if style == "json":
        return _Json()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)

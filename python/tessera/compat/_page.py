"""What a comparison says: as text, as JSON, as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tessera import __version__
from tessera._html import Card, Table, escape, size_text
from tessera.compat._compare import Row
from tessera.compat._originals import ORIGINALS
from tessera.compat._side import Answer

_MOST_ROWS = 30
_ORDER = ("differs", "shape", "kind", "only the original", "only ours", "file", "close", "equal")


@dataclass
class Outcome:
    """Both sides, and what was found."""

    script: Path
    tolerance: float
    ours: Answer
    wanted: list[str]
    other: Answer | None = None
    absent: list[str] = field(default_factory=list)
    absent_from: str = ""
    rows: list[Row] = field(default_factory=list)
    printed: tuple[int, int, tuple[str, str]] = (0, 0, ("", ""))
    twice: Answer | None = None

    @property
    def bad(self) -> list[Row]:
        """What speaks against "the same results"."""
        return [row for row in self.rows if row.is_bad and not _as_the_original(row)]

    @property
    def exit_code(self) -> int:
        """Return the exit code, as docs/exit-codes.md has them."""
        other = self.other
        if self.ours.is_late or (other is not None and other.is_late):
            return 75
        if self.ours.failed:
            return 65 if other is not None and other.ran and other.failed else 1
        if other is None:
            return int(self.ours.facts["exit_code"] != 0)
        if other.failed:
            return 2
        if self.ours.facts["exit_code"] != other.facts["exit_code"] or self.bad:
            return 1
        # Where a script leaves nothing but lines, they are its result.
        return int(not self.compared and self.printed[1] > 0)

    @property
    def compared(self) -> list[Row]:
        """Return the rows of which both sides have a value."""
        return [row for row in self.rows if row.verdict in ("equal", "close", "differs", "shape")]

    @property
    def verdict(self) -> str:
        """Return the last line of the page."""
        code = self.exit_code
        ours = self.ours
        if code == 75:
            said = "time limit reached"
        elif ours.failed:
            sides = "both" if code == 65 else self.label
            said = (
                f"the script fails with {sides}: {ours.facts.get('error_class', 'it was killed')}"
            )
        elif self.other is None:
            said = f"runs with {self.label}"
            if ours.facts["exit_code"] != 0:
                said = f"ends with {ours.facts['exit_code']} with {self.label}"
        elif code == 2:
            said = "runs with ours; the original fails, so nothing was compared"
        elif code == 1:
            said = "not the same results"
        elif not self.compared and not self.printed[0]:
            said = "runs with both; it left nothing to compare"
        else:
            said = "the same results, within the tolerance"
        return said

    @property
    def label(self) -> str:
        """Return what the side that was run first is called."""
        return "ours" if self.ours.label == "ours" else "the original"


def _as_the_original(row: Row) -> bool:
    """Whether the original differs from itself as much."""
    return row.own is not None and row.relative is not None and row.relative <= 2 * row.own


def _seconds(answer: Answer) -> str:
    return f"{answer.facts['seconds']:.3g} s" if answer.ran else "-"


def _peak(answer: Answer) -> str:
    return size_text(answer.facts["peak_bytes"]) if answer.ran else "-"


def _end(answer: Answer) -> str:
    if answer.is_late:
        return "stopped: time limit"
    if "error_class" in answer.facts:
        return str(answer.facts["error_class"])
    if not answer.ran:
        return f"killed ({answer.facts.get('status')})"
    return f"exit code {answer.facts['exit_code']}"


def _original_label(outcome: Outcome) -> str:
    assert outcome.other is not None
    versions = outcome.other.facts.get("versions", {})
    named = [f"{name} {versions.get(name, '')}".strip() for name in outcome.wanted]
    return ", ".join(named) or "original"


def _ratio(a: float, b: float, smaller: str) -> str:
    if a <= 0 or b <= 0:
        return ""
    return f"{b / a:.3g} times {smaller}" if b >= a else f"{a / b:.3g} times as much"


def side_rows(outcome: Outcome) -> list[tuple[str, str, str, str]]:
    """Return what, ours, the original's, and the comparison."""
    ours, other = outcome.ours, outcome.other
    if other is None:
        return [
            ("time", _seconds(ours), "", ""),
            ("peak memory", _peak(ours), "", ""),
            ("ended with", _end(ours), "", ""),
        ]
    both = ours.ran and other.ran
    a, b = ours.facts, other.facts
    return [
        (
            "time",
            _seconds(ours),
            _seconds(other),
            _ratio(a["seconds"], b["seconds"], "faster") if both else "",
        ),
        (
            "peak memory",
            _peak(ours),
            _peak(other),
            _ratio(a["peak_bytes"], b["peak_bytes"], "less") if both else "",
        ),
        ("ended with", _end(ours), _end(other), ""),
    ]


def result_rows(outcome: Outcome) -> list[tuple[str, str, str, str, str]]:
    """Return name, verdict, relative and absolute difference, note; the worst first."""

    def key(row: Row) -> tuple[int, float]:
        place = _ORDER.index(row.verdict) if row.verdict in _ORDER else len(_ORDER)
        behind = row.verdict not in ("equal", "close") and not row.decides
        return place + 10 * behind, -(row.relative or 0)

    def number(value: float | None) -> str:
        return "" if value is None or value == 0 else f"{value:.2g}"

    rows = []
    for row in sorted(outcome.rows, key=key):
        note = row.note
        if row.own and row.relative:
            note = f"{note}; " * bool(note) + f"the original differs from itself by {row.own:.2g}"
        rows.append((row.name, row.verdict, number(row.relative), number(row.absolute), note))
    return rows


def _counts(outcome: Outcome) -> str:
    counts: dict[str, int] = {}
    for row in outcome.rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    words = [
        f"{counts[verdict]} {verdict}"
        for verdict in (*_ORDER, "clock", "unread")
        if verdict in counts
    ]
    return ", ".join(words) or "nothing to compare"


def notes(outcome: Outcome) -> Iterator[str]:
    """Yield what a reader has to know beside the tables."""
    for name in outcome.absent:
        yield (
            f"{name} is not installed in {outcome.absent_from}: there is nothing to compare with. "
            "Install it there, or say where it is with --original-python."
        )
    for answer in (outcome.ours, outcome.other):
        module = answer.facts.get("absent_module") if answer is not None else None
        if answer is not None and module is not None:
            yield (
                f"the script imports {module}, which is not installed in "
                f"{answer.facts.get('python')}: install it there, or name a Python that has all "
                "that the script needs (TESSERA_PYTHON, --original-python)"
            )
        for name in answer.folder.overwritten() if answer is not None else ():
            yield f"the script overwrote {name} in the working folder itself"
    n_line, n_off, (ours, other) = outcome.printed
    if n_off:
        yield (
            f"{n_off} of {n_line} printed lines differ; ours: {ours.strip()!r}, "
            f"the original's: {other.strip()!r}"
        )
    left = outcome.ours.facts.get("left_out", 0)
    if left:
        yield f"{left} more values were left out"


def _columns(rows: list[tuple[str, ...]], indent: str = "  ") -> Iterator[str]:
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
        yield (indent + "  ".join(cells)).rstrip()


def _errors(outcome: Outcome) -> Iterator[tuple[str, str]]:
    for title, answer in ((outcome.label, outcome.ours), ("the original", outcome.other)):
        if answer is None or not answer.failed:
            continue
        text = answer.facts.get("error") or answer.complaints[-3000:] or answer.printed[-1000:]
        yield title, answer.shown(text).rstrip()


def _lacking(outcome: Outcome) -> list[str]:
    return list(outcome.ours.facts.get("lacked", ()))


def _manuals(outcome: Outcome) -> str:
    return ", ".join(ORIGINALS[name].manual for name in outcome.wanted)


def text(outcome: Outcome) -> str:
    """Return the page for a terminal."""
    header = ("", outcome.label, _original_label(outcome) if outcome.other else "", "")
    lines = [f"{outcome.script}: {', '.join(outcome.wanted) or 'none of the originals'}", ""]
    lines += _columns([header, *side_rows(outcome)])
    for title, error in _errors(outcome):
        lines += ["", f"with {title}:", *(f"  {line}" for line in error.splitlines())]
    if _lacking(outcome):
        lines += ["", "calls that Tessera lacks:", *(f"  {name}" for name in _lacking(outcome))]
        lines += [f"  (what there is instead: {_manuals(outcome)})"]
    if outcome.other is not None and not outcome.other.failed and not outcome.ours.failed:
        lines += ["", f"results: {_counts(outcome)} (tolerance {outcome.tolerance:g})"]
        # Settings that one side alone has are told by their number.
        rows = [row for row in result_rows(outcome) if not row[4].startswith("part of")]
        if rows:
            head = ("name", "", "relative", "absolute", "")
            lines += _columns([head, *rows[:_MOST_ROWS]])
        rest = len(outcome.rows) - min(len(rows), _MOST_ROWS)
        if rest:
            lines.append(f"  and {rest} more; --json and --html have them all")
    said = list(notes(outcome))
    if said:
        lines += ["", *(f"note: {line}" for line in said)]
    return "\n".join([*lines, "", outcome.verdict, ""])


def _side_facts(answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    kept = (
        "python", "seconds", "cpu_seconds", "peak_bytes", "exit_code", "error", "error_class",
        "error_message", "versions",
    )  # fmt: skip
    facts = {key: answer.facts[key] for key in kept if key in answer.facts}
    if "error" in facts:
        facts["error"] = answer.shown(facts["error"])
    return {**facts, "is_late": answer.is_late, "written": answer.written}


def as_json(outcome: Outcome) -> str:
    """Return the page for programs."""
    n_line, n_off, first = outcome.printed
    return json.dumps(
        {
            "schema": "tessera.try/1",
            "tessera": __version__,
            "script": str(outcome.script),
            "originals": outcome.wanted,
            "absent": outcome.absent,
            "tolerance": outcome.tolerance,
            "verdict": outcome.verdict,
            "exit_code": outcome.exit_code,
            "ours": _side_facts(outcome.ours),
            "original": _side_facts(outcome.other),
            "lacking": _lacking(outcome),
            "results": [row.plain() for row in outcome.rows],
            "printed": {"lines": n_line, "differ": n_off, "first": list(first) if n_off else None},
            "notes": list(notes(outcome)),
        },
        indent=2,
    )


def as_html(outcome: Outcome) -> str:
    """Return the page for a browser, in one file."""
    code = outcome.exit_code
    label = _original_label(outcome) if outcome.other else ""
    tables = [Table(("", "ours", label, ""), side_rows(outcome))]
    if outcome.rows:
        header = ("name", "verdict", "relative", "absolute", "")
        tables.append(Table(header, result_rows(outcome), f"results: {_counts(outcome)}"))
    if _lacking(outcome):
        rows = [(name,) for name in _lacking(outcome)]
        tables.append(Table((f"lacking; instead: {_manuals(outcome)}",), rows))
    card = Card(
        f"{outcome.script.name} with Tessera {__version__}",
        {"tolerance": outcome.tolerance},
        badge=outcome.verdict,
        verdict="good" if code == 0 else "poor",
        tables=tables,
        warnings=list(notes(outcome)),
    )
    errors = "".join(
        f"<h4>with {title}</h4><pre>{escape(error)}</pre>" for title, error in _errors(outcome)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(outcome.script.name)}</title></head><body>{card.html()}{errors}"
        "</body></html>\n"
    )

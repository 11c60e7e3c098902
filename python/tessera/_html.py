"""Cards that notebooks show for results: one style for all systems, nothing from elsewhere.

Text and lines take the colours of the page they stand in, so that a card is readable in any theme,
light or dark; what comes from data is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_MOST_ROWS = 40
_STYLE = (
    "<style>"
    ".tess-card{font:13px/1.45 system-ui,sans-serif;color:inherit;max-width:60em;"
    "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.6em .9em;margin:.3em 0;"
    "overflow-x:auto}"
    ".tess-card h4{margin:0 0 .4em;font-size:14px;color:inherit}"
    ".tess-card table{border-collapse:collapse;margin:.5em 0;color:inherit;font-size:inherit}"
    ".tess-card caption{text-align:left;opacity:.75;padding:.2em 0}"
    ".tess-card th,.tess-card td{text-align:left;padding:.1em .9em .1em 0;border:0;"
    "background:none;color:inherit;vertical-align:top}"
    ".tess-card thead th{border-bottom:1px solid rgba(128,128,128,.4);font-weight:600}"
    ".tess-card td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".tess-card .b{border-radius:9px;padding:.05em .6em;margin-left:.5em;font-size:12px;"
    "font-weight:600;color:#fff;background:#6e7781}"
    ".tess-card .good{background:#1a7f37}.tess-card .fair{background:#9a6700}"
    ".tess-card .poor{background:#cf222e}"
    ".tess-card ul{margin:.4em 0;padding-left:1.3em}"
    ".tess-card .w::marker{content:'! ';font-weight:700}"
    "</style>"
)


def escape(value: object) -> str:
    """Return text that a page shows as it is."""
    return html.escape(str(value))


@dataclass
class Table:
    """Rows of a card; numbers are aligned, and only the first rows shown."""

    header: Sequence[str]
    rows: Iterable[Sequence[object]]
    caption: str = ""

    def html(self) -> str:
        rows = list(self.rows)
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:_MOST_ROWS])
        if len(rows) > _MOST_ROWS:
            rest = f"and {len(rows) - _MOST_ROWS} more"
            body += f'<tr><td colspan="{len(self.header)}">{rest}</td></tr>'
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _cell(value: object) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = ' class="n"' if is_number else ""
    return f"<td{kind}>{escape(_text(value))}</td>"


@dataclass
class Card:
    """What a notebook shows of an object.

    ``verdict`` is a word with a colour: 'good', 'fair', 'poor' or anything else, which is grey.
    """

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    badge: str = ""
    verdict: str = ""
    tables: Sequence[Table] = ()
    warnings: Sequence[str] = ()

    def html(self) -> str:
        verdict = self.verdict if self.verdict in ("good", "fair", "poor") else ""
        badge = f'<span class="b {verdict}">{escape(self.badge)}</span>' if self.badge else ""
        parts = [_STYLE, f'<div class="tess-card"><h4>{escape(self.title)}{badge}</h4>']
        if self.warnings:
            lines = "".join(f'<li class="w">{escape(line)}</li>' for line in self.warnings)
            parts.append(f"<ul>{lines}</ul>")
        if self.facts:
            rows = "".join(
                f'<tr><th scope="row">{escape(name)}</th><td>{escape(_text(value))}</td></tr>'
                for name, value in self.facts.items()
            )
            parts.append(f"<table><tbody>{rows}</tbody></table>")
        parts += [table.html() for table in self.tables]
        return "".join([*parts, "</div>"])


def size_text(n_bytes: float) -> str:
    """Return bytes as people write them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024 or unit == "GiB":
            return f"{n_bytes:.3g} {unit}" if unit != "B" else f"{int(n_bytes)} B"
        n_bytes /= 1024
    raise AssertionError

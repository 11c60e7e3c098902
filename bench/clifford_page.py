"""The page of a sweep: maps against torch.compile in the frame of the library's reports.

Script and style are those every report carries, as the build made them; a map is what figure.c
writes, and its still picture a coloured table.
"""

import base64
import hashlib
import html
import json
import math
import struct
import sys
from pathlib import Path

GENERATED = Path(__file__).resolve().parents[1] / "build/release/generated"
GREY = (160, 160, 160)

# Title, label, unit, value of a row or None, and whether below 1 is a loss.
MAPS = [
    ("Speed-up over torch.compile", "speed-up", "x", lambda r: r["peer_s"] / r["ours_s"], True),
    ("Peak memory of torch.compile over ours", "memory saved", "x",
     lambda r: r["more"].get("MiB") and r["more"]["peer MiB"] / r["more"]["MiB"], True),
    ("Ours", "time", "ms", lambda r: r["ours_s"] * 1e3, False),
    ("torch.compile", "time", "ms", lambda r: r["peer_s"] * 1e3, False),
    ("Peak memory", "memory", "MiB", lambda r: r["more"].get("MiB"), False),
]


def rising(fraction):
    """Return the colour that colour.c has for a share of the scale."""
    if not 0 <= fraction <= 1:
        return GREY
    light, chroma = 0.22 + 0.70 * fraction, 0.088 + 0.10 * fraction**4
    hue = math.radians(300 - 195 * fraction)
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    lms = [(light + x * a + y * b) ** 3 for x, y in
           ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728),
            (-0.0894841775, -1.2914855480))]
    linear = [sum(k * v for k, v in zip(row, lms, strict=True)) for row in
              ((4.0767416621, -3.3077115913, 0.2309699292),
               (-1.2684380046, 2.6097574011, -0.3413193965),
               (-0.0041960863, -0.7034186147, 1.7076147010))]
    cut = [min(max(v, 0), 1) for v in linear]
    return tuple(round(255 * (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055))
                 for v in cut)


class Page:
    """Parts of a page, and the bytes its plots read."""

    def __init__(self):
        self.parts, self.badges, self.warnings, self.contents, self.n_blob = [], [], [], [], 0
        palette = bytes(v for i in range(255) for v in rising(i / 254)) + bytes(GREY)
        self.palette = self.blob(palette)

    def blob(self, data):
        self.n_blob += 1
        text = base64.b64encode(data).decode()
        self.parts.append(
            f'<script type="application/octet-stream" id="b{self.n_blob}">{text}</script>')
        return self.n_blob

    def heading(self, text):
        self.contents.append(text)
        self.parts.append(f'<h2 id="s{len(self.contents)}">{html.escape(text)}</h2>')

    def map(self, title, label, unit, values, batches, features, is_ratio):
        """values[batch, features] may lack sizes; nothing is drawn where it lacks all."""
        known = [v for v in values.values() if v]
        if not known:
            return
        low, high = min(known), max(max(known), 1.001 * min(known))
        cells = [values.get((b, n)) or math.nan for n in features for b in batches]
        axis = {"unit": "", "log": False}
        spec = {
            "title": title, "height": 30 * len(batches), "square": False, "series": [], "names": [],
            "x": {"label": "features", "low": 0, "high": len(features), **axis},
            "y": {"label": "batch", "low": len(batches), "high": 0, **axis},
            "map": {"values": self.blob(struct.pack(f"<{len(cells)}f", *cells)), "bits": 32,
                    "n_column": len(features), "n_row": len(batches), "palette": self.palette,
                    "label": label, "unit": unit, "low": low, "high": high, "log": True,
                    "columns": [str(n) for n in features], "rows": [str(b) for b in batches],
                    "numbers": True},
        }
        if is_ratio:
            spec["map"].update(lost=1, lost_name="below 1: we lose")
        text = json.dumps(spec).replace("<", "\\u003c")
        self.parts.append(
            f'<figure class="live"><div class="still">{still(spec, cells)}</div>'
            f'<script type="application/json" class="plot">{text}</script></figure>')

    def table(self, heads, rows):
        def line(cells, tag):
            inner = "".join(f'<{tag}{" class=n" if i else ""}>{html.escape(str(c))}</{tag}>'
                            for i, c in enumerate(cells))
            return f"<tr>{inner}</tr>"

        body = "\n".join(line(row, "td") for row in rows)
        self.parts.append(f'<div class="table"><table class="sort"><thead>{line(heads, "th")}'
                          f"</thead><tbody>{body}</tbody></table></div>")

    def text(self, title, facts):
        if not GENERATED.is_dir():
            sys.exit(f"{GENERATED}: not there; build first: ./dev build")
        style, script = ((GENERATED / name).read_text(encoding="utf-8")
                         for name in ("style.txt", "script.txt"))
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        items = "".join(f'<li><a href="#s{i}">{html.escape(t)}</a></li>'
                        for i, t in enumerate(self.contents, 1))
        warnings = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        badges = "".join(f'<span class="{grade}">{html.escape(t)}</span>\n'
                         for grade, t in self.badges)
        return "\n".join([
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            f"style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'\">",
            f"<title>{html.escape(title)}</title><style>{style}</style></head><body>",
            f'<header><h1>{html.escape(title)}</h1><p class="badges">{badges}</p>',
            f'<ul class="warnings">{warnings}</ul>' if warnings else "", "</header>",
            f"<nav><details open><summary>Contents</summary><ol>{items}</ol></details></nav>",
            '<main><svg width="0" height="0"></svg>', f"<p>{html.escape(facts)}</p>", *self.parts,
            f"</main><script>{script}</script></body></html>\n"])


def still(spec, cells):
    """Return the map as a table of coloured cells."""
    m = spec["map"]
    n = m["n_row"]

    def cell(value):
        share = math.log(value / m["low"]) / math.log(m["high"] / m["low"]) if value > 0 else -1
        red, green, blue = rising(min(max(share, 0), 1) if value > 0 else -1)
        ink = "#000" if 299 * red + 587 * green + 114 * blue > 140000 else "#fff"
        frame = ";outline:3px solid #d9483b;outline-offset:-3px" if value < m.get("lost", 0) else ""
        return (f'<td class="n" style="background:rgb({red},{green},{blue});color:{ink}{frame}">'
                f"{value:.3g}</td>")

    heads = "".join(f'<th class="n">{c}</th>' for c in m["columns"])
    lines = [f'<tr><th class="n">{b}</th>'
             + "".join(cell(cells[c * n + r]) for c in range(m["n_column"])) + "</tr>"
             for r, b in enumerate(m["rows"])]
    named = f'{spec["title"]}: {m["label"]} ({m["unit"]})'
    return (f'<div class="table"><table><caption>{html.escape(named)}</caption>'
            f"<tr><th>batch \\ features</th>{heads}</tr>{''.join(lines)}</table></div>")


def make(rows, batches, features, command):
    """Return the whole page of a sweep's rows."""
    page = Page()
    for op, way in dict.fromkeys((row["op"], row["way"]) for row in rows):
        these = [row for row in rows if (row["op"], row["way"]) == (op, way)]
        page.heading(f"{op}, {way}")
        for title, label, unit, value, is_ratio in MAPS:
            values = {(row["batch"], row["features"]): value(row) for row in these}
            page.map(title, label, unit, values, batches, features, is_ratio)
        lost = [row for row in these if row["peer_s"] < row["ours_s"]]
        won = f"faster at {len(these) - len(lost)} of {len(these)} sizes"
        page.badges.append(("check" if lost else "good", f"{op} {way}: {won}"))
        page.warnings += [
            f"{op} {way}, batch {r['batch']}, {r['features']} features: "
            f"{r['peer_s'] / r['ours_s']:.2f} of torch.compile's speed" for r in lost]
    page.heading("All sizes")
    page.table(
        ["operation", "batch", "features", "ours (ms)", "torch.compile (ms)", "speed-up (x)",
         "error"],
        [[f"{r['op']} {r['way']}", r["batch"], r["features"], f"{r['ours_s'] * 1e3:.4g}",
          f"{r['peer_s'] * 1e3:.4g}", f"{r['peer_s'] / r['ours_s']:.3g}", f"{r['error']:.1e}"]
         for r in rows])
    return page.text("Clifford operations against torch.compile",
                     f"{rows[0]['more']['device']}; {command}")

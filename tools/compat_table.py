#!/usr/bin/env python3
"""Writes the manual's tables of the originals' names: what is here, the same, different, missing.

Usage: compat_table.py [--check] [ORIGINAL...]      (--check: exit 1 if a table is not up to date)

docs/migrate/names/*.tsv hold the originals' names and signatures (compat_names.py), and
docs/migrate/notes/*.csv what only a person can say: where something is instead, in what an answer
differs. The rest is found by importing our modules. Run it where NumPy, torch and Tessera are
installed, or with PYTHONPATH=python.
"""

import argparse
import ast
import csv
import importlib
import inspect
import io
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from tessera.compat._originals import ORIGINALS

FOLDER = Path(__file__).resolve().parent.parent / "docs/migrate"
VERSIONS = {
    "non_local_detector": "0.6.9, and what the main branch adds (5b9e258)",
    "homodyne": "2.23.3",
    "autoreject": "0.5.1",
    "flash-clifford": "main",
}
HEADER = ("original", "here", "", "what differs")
NOTHING = "not in this version"
# Values that stand for "nothing was given", and say nothing of a default.
UNKNOWN = object()


@dataclass
class Name:
    """A line of the list of an original's names."""

    module: str
    name: str
    kind: str
    signature: str
    version: str

    @property
    def shown(self):
        """The name without the package, as the tables have it."""
        root, _, rest = self.module.partition(".")
        module = self.module if root in ("ops", "modules", "tests") else rest
        return f"{module}.{self.name}" if module else self.name


@dataclass
class Finding:
    """What is known of a name here."""

    here: str = ""
    verdict: str = "missing"
    texts: list = field(default_factory=list)

    def row(self, shown):
        here = f"`{self.here}`" if self.here.startswith("tessera.") else self.here
        return (f"`{shown}`", here, self.verdict, "; ".join(text for text in self.texts if text))


def read_names(original):
    with (FOLDER / f"names/{original}.tsv").open(encoding="utf-8", newline="") as file:
        return [Name(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def read_notes(original):
    """Return the notes of every name; one of the name missing, one of it being there."""
    notes = {}
    with (FOLDER / f"notes/{original}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["when"] not in ("missing", "same", "differs"):
                raise SystemExit(f"notes/{original}.csv: {row['original']}: when {row['when']!r}?")
            notes.setdefault(row["original"], []).append(row)
    return notes


def note_of(notes, shown, is_missing):
    found = [n for n in notes.get(shown, ()) if (n["when"] == "missing") == is_missing]
    return found[0] if found else None


# ---- Ours ---------------------------------------------------------------------------------------


def our_name(original, module):
    root, dot, rest = module.partition(".")
    home = ORIGINALS[original.replace("-", "_")].roots.get(root)
    return home and home + dot + rest


def resolve(name):
    """Return what a dotted name of ours stands for; raises LookupError."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if error.name and not error.name.startswith("tessera"):
                raise SystemExit(f"{name} needs {error.name}, which is not installed") from None
            continue
        for part in parts[cut:]:
            fields = getattr(value, "__dataclass_fields__", {})
            if not hasattr(value, part) and part not in fields:
                raise LookupError(name)
            value = getattr(value, part, None)
        return value
    raise LookupError(name)


# ---- Signatures ---------------------------------------------------------------------------------


def literal(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN


def original_parameters(text):
    """Return (name, kind, default) of every parameter of "(a, b=1, *, c)"."""
    arguments = ast.parse(f"def f{text}: pass").body[0].args
    plain = [*arguments.posonlyargs, *arguments.args]
    n_bare = len(plain) - len(arguments.defaults)
    for i, argument in enumerate(plain):
        default = inspect.Parameter.empty if i < n_bare else literal(arguments.defaults[i - n_bare])
        yield argument.arg, "positional", default
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        given = inspect.Parameter.empty if default is None else literal(default)
        yield argument.arg, "keyword", given


def our_parameters(value):
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None
    return [parameter for parameter in found if parameter.name not in ("self", "cls")]


def same_default(theirs, ours):
    if theirs in (UNKNOWN, None, ...) or ours is None or repr(ours) == "<factory>":
        return True  # None stands for what the table of the engine, or the original's code, says
    try:
        return bool(theirs == ours) or isinstance(ours, str) != isinstance(theirs, str)
    except ValueError:  # arrays
        return True


def name_list(names):
    return ", ".join(f"`{name}`" for name in names)


def differences(text, value, only_names=False):
    """Return what is lacking or other, and what there is more, both as sentences."""
    ours = our_parameters(value)
    if ours is None or not text:
        return [], []
    kinds = inspect.Parameter
    named = {p.name: p for p in ours if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)}
    takes_any = any(p.kind is kinds.VAR_KEYWORD for p in ours)
    theirs = list(original_parameters(text))
    said = []
    lacking = [name for name, _, _ in theirs if name not in named]
    if lacking and not takes_any:
        said.append(f"lacks {name_list(lacking)}")
    if not only_names:
        said += other_defaults(theirs, named)
        aside = getattr(value, "places_without", None)  # arguments that both places are taken of
        said += other_places(theirs, [p for p in ours if p.name != aside])
    more = [name for name in named if name not in {n for n, _, _ in theirs}]
    is_more = more and not only_names and not lacking
    return said, [f"more: {name_list(more)}"] if is_more else []


def other_defaults(theirs, named):
    empty = inspect.Parameter.empty
    for name, _, default in theirs:
        ours = named.get(name)
        if ours is None or default is empty:
            continue
        if ours.default is empty:
            yield f"`{name}` has no default here"
        elif not same_default(default, ours.default):
            yield f"`{name}` is {ours.default!r}, there {default!r}"


def other_places(theirs, ours):
    places = [p.name for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in ours):
        return
    wanted = [name for name, kind, _ in theirs if kind == "positional"]
    moved = [n for i, n in enumerate(wanted) if n in places and places.index(n) != i]
    by_name = [n for n in wanted if n not in places and n in {p.name for p in ours}]
    if moved:
        yield f"{name_list(moved)} in another place"
    if by_name:
        yield f"{name_list(by_name)} by name only"


# ---- Rows ---------------------------------------------------------------------------------------


def find(original, name):
    """Return what there is here of one name."""
    home = our_name(original, name.module)
    if home is None:
        return Finding()
    here = f"{home}.{name.name}"
    try:
        value = resolve(here)
    except LookupError:
        return Finding()
    finding = Finding(here, "same")
    if name.kind == "constant":
        wanted = literal(ast.parse(name.signature, mode="eval").body)
        if wanted not in (UNKNOWN, ...) and same_default(wanted, value) is False:
            finding.texts.append(f"{value!r}, there {wanted!r}")
    elif name.kind != "export":
        is_later = name.version == "later"
        said, more = differences(name.signature, value, only_names=is_later)
        finding.texts += [*said, *more]
        finding.verdict = "differs" if said else "same"
        return finding
    finding.verdict = "differs" if finding.texts else "same"
    return finding


def noted(finding, note):
    """Add what a person said."""
    if note is None:
        return finding
    finding.texts.append(note["note"])
    if finding.verdict != "missing":
        finding.verdict = "differs" if note["when"] == "differs" else finding.verdict
    elif note["here"]:
        finding.here, finding.verdict = note["here"], "instead"
    return finding


def is_minor(name, finding):
    """Whether a row would tell nothing beyond that of its class or module."""
    if finding.verdict != "same":
        return False
    return not any(finding.texts) and ("." in name.name or name.kind in ("export", "keywords"))


def is_told_elsewhere(name, finding, pairs):
    """Whether a package hands on what is missing where it is defined, too."""
    if name.kind != "export" or finding.verdict != "missing":
        return False
    return any(
        n.name == name.name and n.kind != "export" and f.verdict == "missing" for n, f in pairs
    )


def module_note(module, notes):
    """Return the note of a module or of one above it."""
    while module:
        note = note_of(notes, module, is_missing=True)
        if note is not None:
            return note
        module = module.rpartition(".")[0]
    return None


def merge(names):
    """Join what a later version adds to a name's keywords to its line."""
    by_key = {(n.module, n.name): n for n in names if n.kind != "keywords"}
    added = {(n.module, n.name): n for n in names if n.kind == "keywords"}
    return by_key, added


def findings(original):
    """Yield every name with what there is of it."""
    names, added = merge(read_names(original))
    for key, name in names.items():
        finding = find(original, name)
        more = added.get(key)
        if more is not None and finding.verdict != "missing":
            said, _ = differences(more.signature, resolve(finding.here), only_names=True)
            if said and said[0] not in finding.texts:
                finding.texts.append(f"of the main branch: {said[0]}")
                finding.verdict = "differs"
        yield name, finding


def grouped(all_findings, notes):
    """Yield rows; modules of which nothing is here have one for all their names."""
    by_module = {}
    for name, finding in all_findings:
        by_module.setdefault(name.module, []).append((name, finding))
    for pairs in by_module.values():
        own = [(n, f) for n, f in pairs if n.kind != "export"] or pairs
        is_absent = all(
            f.verdict == "missing" and not note_of(notes, n.shown, is_missing=True) for n, f in own
        )
        shown = own[0][0].shown.removesuffix(f".{own[0][0].name}")
        if is_absent and len(own) > 1 and shown != own[0][0].name:
            n_name = len([n for n, _ in own if "." not in n.name])
            note = module_note(shown, notes) or {"here": "", "note": ""}
            text = note["note"] or NOTHING
            verdict = "instead" if note["here"] else "missing"
            count = f"{n_name} names" if n_name != 1 else "1 name"
            yield Finding(note["here"], verdict, [f"{count}: {text}"]).row(shown)
        else:
            yield from module_rows(own + [(n, f) for n, f in pairs if n.kind == "export"], notes)


def module_rows(pairs, notes):
    seen = set()
    absent = {n.name for n, f in pairs if f.verdict == "missing" and n.kind == "class"}
    for name, finding in pairs:
        note = note_of(notes, name.shown, finding.verdict == "missing")
        finding = noted(finding, note)
        if name.name.partition(".")[0] in absent and "." in name.name and note is None:
            continue  # the class is missing already
        if is_minor(name, finding) or name.shown in seen:
            continue
        seen.add(name.shown)
        if finding.verdict == "missing" and not any(finding.texts):
            finding.texts = [(module_note(name.shown, notes) or {}).get("note") or NOTHING]
        yield finding.row(name.shown)


def check_notes(original, notes, pairs):
    """A note of something that no list has would be lost without a word."""
    shown = {name.shown for name, _ in pairs}
    for note in notes:
        if note not in shown and not any(name.startswith(f"{note}.") for name in shown):
            raise SystemExit(f"notes/{original}.csv: {note} is no name of the original")


def table(original):
    """Return the rows of a table, and how many names are the same, differ and are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = list(findings(original))
    notes = read_notes(original)
    pairs = [pair for pair in pairs if not is_told_elsewhere(*pair, pairs)]
    check_notes(original, notes, pairs)
    rows = list(grouped(pairs, notes))
    counts = {"same": 0, "differs": 0, "instead": 0, "missing": 0}
    for name, finding in pairs:
        if "." not in name.name:  # methods count with their class
            counts[finding.verdict] += 1
    return sorted(rows, key=lambda row: row[0].strip("`").lower()), counts


def as_csv(header, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *rows])
    return text.getvalue()


def tables(originals):
    """Return the text of every file, by path."""
    found = {}
    lines = []
    for original in originals:
        rows, counts = table(original)
        found[FOLDER / f"{original}.csv"] = as_csv(HEADER, rows)
        lines.append((original, VERSIONS[original], sum(counts.values()), *counts.values()))
    if set(originals) == set(VERSIONS):
        header = ("original", "version", "names", "same", "differ", "instead", "missing")
        found[FOLDER / "counts.csv"] = as_csv(header, lines)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("original", nargs="*", choices=[[], *VERSIONS], default=[])
    arguments = parser.parse_args()
    code = 0
    for path, text in tables(arguments.original or list(VERSIONS)).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if arguments.check:
            print(f"{path.name} is not up to date: run tools/compat_table.py")
            code = 1
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.name}")
    return code


if __name__ == "__main__":
    sys.exit(main())

"""``tessera try`` and ``python -m tessera.compat``: the command line, and the order of events."""

from __future__ import annotations

import argparse
import ast
import contextlib
import math
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from tessera.compat import _page, _uses
from tessera.compat._child.script import read_source
from tessera.compat._compare import compare_files, compare_printed, compare_values
from tessera.compat._originals import ORIGINALS
from tessera.compat._page import Outcome
from tessera.compat._side import Answer, Job, default_python, run_side

_DESCRIPTION = """\
Run an unchanged script of non_local_detector, homodyne, autoreject or flash-clifford on Tessera,
then with the original where it is installed, and say how far apart the results are.

Each side runs in an interpreter and a working folder of its own. The folder looks like this one:
files are found as always, what the script writes is compared and thrown away. Names at the script's
top level and of its main function are compared, and the files npy, npz, json and csv.
"""
_EXIT_CODES = """\
exit codes: 0 the same within the tolerance, or run with ours alone; 1 not the same, or the script
fails with ours; 2 usage, or nothing could be compared; 65 the script fails with both; 66 no such
script; 69 no such Python; 75 time limit; 130 stopped by Ctrl-C
"""


class UsageError(Exception):
    """A sentence and the exit code that goes with it."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(2, f"{message} (see 'tessera try --help')")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tessera try",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--only", choices=("ours", "original"), help="run one side alone")
    add("--original-python", metavar="PYTHON", help="interpreter that has the original")
    add("--tolerance", type=_positive, default=1e-4, metavar="X",
        help="largest difference, as a share of the largest number (default 1e-4)")  # fmt: skip
    add("--twice", action="store_true", help="run the original twice: how far is it from itself?")
    add("--time-limit", type=_positive, metavar="SECONDS", help="for each side")
    add("--seed", type=int, default=0, help="of generators that the script leaves unseeded")
    add("--json", action="store_true", help="print one JSON object on stdout")
    add("--html", action="store_true", help="print a page for a browser on stdout")
    add("-v", "--verbose", action="count", default=0, help="print what the scripts print, too")
    add("-q", "--quiet", action="store_true", help="print the verdict alone")
    add("script", metavar="SCRIPT", help="a script, or a notebook (.ipynb)")
    add("arguments", nargs=argparse.REMAINDER, help="of the script")
    return parser


def _python(name: str | None) -> str:
    if name is None:
        return default_python()
    found = shutil.which(name)
    if found is None:
        raise UsageError(69, f"--original-python {name}: there is no such program")
    return os.path.abspath(found)  # the folder changes; a link of a venv stays what it is


def _source(script: Path) -> str:
    if not script.is_file():
        raise UsageError(66, f"{script}: there is no such script")
    try:
        source = read_source(script)
        ast.parse(source, str(script))
    except SyntaxError as error:
        line = f": {error.text.strip()}" if error.text else ""
        raise UsageError(65, f"{script}: {error}{line}") from None
    except (ValueError, KeyError) as error:
        raise UsageError(65, f"{script}: {error}") from None
    return source


def _show(answer: Answer) -> None:
    for name, text in (("stdout", answer.printed), ("stderr", answer.complaints)):
        for line in answer.shown(text).splitlines():
            print(f"{answer.label} {name}| {line}", file=sys.stderr)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a folder that is gone afterwards, however this ends."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = [(number, signal.signal(number, stop)) for number in (signal.SIGTERM, signal.SIGHUP)]
    folder = tempfile.mkdtemp(prefix="tessera-try-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for number, handler in before:
            signal.signal(number, handler)


def _compare(outcome: Outcome, other: Answer) -> None:
    ours, tolerance = outcome.ours, outcome.tolerance
    outcome.rows = compare_values(ours, other, tolerance) + compare_files(ours, other, tolerance)
    if not ours.failed and not other.failed:
        outcome.printed = compare_printed(ours.printed, other.printed, tolerance)


def _spread(outcome: Outcome, first: Answer, second: Answer) -> None:
    """Note how far the original is from itself."""
    own = compare_values(first, second, 0.0) + compare_files(first, second, 0.0)
    by_name = {row.name: row.relative for row in own}
    for row in outcome.rows:
        row.own = by_name.get(row.name)


def _run(arguments: argparse.Namespace, source: str, place: Path) -> Outcome:
    def side(label: str, python: str, wanted: Sequence[str]) -> Answer:
        if not arguments.quiet and sys.stderr.isatty():
            print(f"tessera: running with {label} ...", file=sys.stderr)
        job = Job(
            script=Path(arguments.script),
            arguments=arguments.arguments,
            python=python,
            seed=arguments.seed,
            time_limit=arguments.time_limit or None,
        )
        answer = run_side(label, job, list(wanted), place / label.replace(" ", "-"))
        if arguments.verbose:
            _show(answer)
        return answer

    original = _python(arguments.original_python)
    wanted = _uses.originals_of(source, everyday=arguments.only == "original")
    if arguments.only == "original":
        answer = side("original", original, wanted)
        outcome = Outcome(Path(arguments.script), arguments.tolerance, answer, wanted)
        outcome.absent, outcome.absent_from = answer.facts.get("missing", []), original
        return outcome
    ours = side("ours", default_python(), wanted)
    wanted = list(dict.fromkeys([*wanted, *ours.facts.get("used", ())]))
    outcome = Outcome(Path(arguments.script), arguments.tolerance, ours, wanted)
    if arguments.only == "ours" or not wanted or ours.is_late:
        return outcome
    other = side("original", original, wanted)
    outcome.absent, outcome.absent_from = other.facts.get("missing", []), original
    if outcome.absent:
        return outcome
    outcome.other = other
    _compare(outcome, other)
    if arguments.twice and not other.failed:
        outcome.twice = side("original again", original, wanted)
        _spread(outcome, other, outcome.twice)
    return outcome


def _write(outcome: Outcome, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(_page.as_json(outcome))
    elif arguments.html:
        print(_page.as_html(outcome), end="")
    elif arguments.quiet:
        print(outcome.verdict)
    else:
        print(_page.text(outcome), end="")


def run(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; return the exit code."""
    words: Any = _parser().parse_args(arguments)
    source = _source(Path(words.script))
    with _scratch() as place:
        outcome = _run(words, source, place)
        _write(outcome, words)
        if not outcome.wanted:
            names = ", ".join(ORIGINALS)
            raise UsageError(2, f"{words.script} imports none of the originals: {names}")
        if words.only == "original" and outcome.absent:
            return 69
        return outcome.exit_code


def main() -> None:
    """Run as a program."""
    try:
        code = run()
        sys.stdout.flush()
    except UsageError as error:
        print(f"tessera: {error}", file=sys.stderr)
        code = error.code
    except KeyboardInterrupt:
        print("tessera: stopped", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        code = 141
    except OSError as error:  # a full disk, a folder that cannot be read
        print(f"tessera: {error}", file=sys.stderr)
        code = 74
    sys.exit(code)

#!/usr/bin/env python3
"""Sizes a reader can hold: files, headers and functions of C sources stay below fixed limits.

Usage: check_sizes.py [ROOT]      (exit 1 and one line per violation)

clang-format puts a function's braces in column 0, which is all this needs to find one.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("include", "src", "cli", "python", "tests")
FILE_LINES = 600
HEADER_LINES = 300
FUNCTION_LINES = 60
KERNEL_LINES = 100
COLUMNS = 100


def functions(lines):
    """(name, first line number, number of lines) of every function."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line.startswith("}") and begin is not None:
            head = " ".join(lines[max(0, begin - 4) : begin - 1])
            names = re.findall(r"(\w+)\s*\)?\s*\(", head)
            yield (names[-1] if names else "?"), begin, number - begin + 1
            begin = None


def check_file(path, text):
    lines = text.splitlines()
    limit = HEADER_LINES if path.suffix == ".h" else FILE_LINES
    if len(lines) > limit:
        yield f"{path}: {len(lines)} lines, at most {limit}: split it by topic"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{path}:{number}: {len(line)} columns, at most {COLUMNS}"
    most = KERNEL_LINES if path.parts[:2] == ("src", "kernels") else FUNCTION_LINES
    for name, number, length in functions(lines):
        if length > most:
            yield f"{path}:{number}: {name} has {length} lines, at most {most}"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root)
            if file.suffix not in {".c", ".h", ".cu", ".cuh"}:
                continue
            problems += check_file(path, file.read_text(encoding="utf-8"))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Holds every place that names the version against include/tessera/base.h, or sets a new one.

Usage: check_version.py                 (exit 1 and one line per place that differs)
       check_version.py --set 0.2.0     (writes it everywhere; CHANGELOG.md is for people)

CMake, the wheel and the Debian packages read the header; the rest cannot.
"""

import argparse
import re
import sys
from pathlib import Path

HEADER = Path("include/tessera/base.h")
EXPECTED = Path("tests/cli/expected")

# Of every file the text around a version.
PLACES = [
    (HEADER, '#define TESS_VERSION "VERSION"'),
    (HEADER, '/** "VERSION" of the library that is loaded'),
    (Path("CITATION.cff"), "\nversion: VERSION\n"),
    (EXPECTED / "version.txt", "tessera VERSION"),
    (EXPECTED / "cite_all.txt", "version = {VERSION}"),
    (EXPECTED / "cite_autoreject.txt", "version = {VERSION}"),
    (EXPECTED / "config_init.txt", "Settings of Tessera VERSION,"),
]
NUMBERS = ("MAJOR", "MINOR", "PATCH")


def pattern_of(around):
    """A pattern with three groups, the version in the second."""
    before, after = (re.escape(part) for part in re.split(r"\bVERSION\b", around))
    return re.compile(rf"({before})([0-9]+(?:\.[0-9]+)*)({after})")


def numbers_of(version):
    """Patterns of the header's three numbers, and what these must be."""
    return [(re.compile(f"(#define TESS_VERSION_{name} )([0-9]+)()"), value)
            for name, value in zip(NUMBERS, version.split("."), strict=True)]


def wanted(version):
    yield from ((path, pattern_of(around), version) for path, around in PLACES)
    yield from ((HEADER, pattern, value) for pattern, value in numbers_of(version))


def check(version):
    """Sentences about places that say something else."""
    found = []
    for path, pattern, value in wanted(version):
        match = pattern.search(path.read_text())
        if match is None:
            found.append(f"{path}: no version where {pattern.pattern} is expected")
        elif match[2] != value:
            found.append(f"{path}: {match[2]} where the version is {version}")
    return found


def write(version):
    for path, pattern, value in wanted(version):
        path.write_text(pattern.sub(lambda match, value=value: match[1] + value + match[3],
                                    path.read_text(), count=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", metavar="VERSION", help="three numbers: 0.2.0")
    new = parser.parse_args().set
    if new is not None:
        if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", new):
            sys.exit(f"check_version.py: '{new}' is not three numbers such as 0.2.0")
        write(new)
    version = pattern_of(PLACES[0][1]).search(HEADER.read_text())[2]
    found = check(version)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

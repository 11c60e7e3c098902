#!/usr/bin/env python3
"""Who may know whom: compares every #include, and with a build every call, with the floors.

Usage: check_floors.py [--build DIR] [ROOT]      (exit 1 and one line per violation)

    5  cli  python  bench                     public headers only
    4  systems/*                              numerics, page, document, runtime, stage, base;
                                              no other system
    3  numerics  io  page  document  backend/cpu
                                              runtime, base (+ stage; + kernels for backend/cpu)
    3' backend/cuda                           public headers and stage only
    3' comm/*                                 public headers only
    2  runtime                                base, stage
    1  kernels   stage                        base types; no allocation, threads, log or I/O
    0  base                                   C11, POSIX

include/tessera is visible to all. src/tessera.c alone may reach across floors 2 to 4. A public
header does not tell where its functions are defined: calls are checked by the symbols of the
object files, and those of floor 5 go to exported functions.
"""

import argparse
import re
import sys
from pathlib import Path

from objects import calls, read_objects

# Folder -> folders its files may include besides their own and include/tessera.
MAY_INCLUDE = {
    "src/base": set(),
    "src/stage": {"src/base"},
    "src/kernels": {"src/base"},
    "src/runtime": {"src/base", "src/stage"},
    "src/numerics": {"src/base", "src/stage", "src/runtime"},
    "src/io": {"src/base", "src/runtime"},
    "src/page": {"src/base", "src/runtime"},
    "src/document": {"src/base", "src/runtime"},
    "src/backend/cpu": {"src/base", "src/stage", "src/runtime", "src/kernels"},
    "src/backend/cuda": {"src/stage"},
    "src/comm": set(),
    "src/systems": {
        "src/base", "src/stage", "src/runtime", "src/numerics", "src/page", "src/document",
    },
    "src/tessera.c": {
        "src/base", "src/runtime", "src/io", "src/document", "src/numerics", "src/backend/cpu",
        "src/systems",
    },
    "cli": set(),
    "python": set(),
    "bench": set(),
    "examples": set(),
}

# The ways in: they call what the library exports.
ENTRANCES = {"cli", "python", "bench", "examples"}

# Kernels are pure functions: what these headers offer has no place in them.
FORBIDDEN_IN_KERNELS = {
    "stdio.h", "stdlib.h", "malloc.h", "pthread.h", "threads.h", "unistd.h", "fcntl.h",
    "base/memory.h", "base/log.h", "base/file.h", "base/span.h",
}

# Made by the build: what it found, and the tables of tools/clifford_tables.py.
GENERATED = {"tess_features.h", "clifford/algebras.h", "font_table.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"(?P<ours>[^"]+)"|<(?P<system>[^>]+)>|(?P<macro>\w+))')
SOURCES = {".c", ".h", ".cu", ".cuh", ".def", ".inc"}


def folder_of(path):
    """The key of MAY_INCLUDE a file belongs to, systems told apart by name; None if unknown."""
    parts = path.parts
    if parts[:2] == ("src", "systems") and len(parts) > 3:
        return f"src/systems/{parts[2]}"
    for key in MAY_INCLUDE:
        key_parts = tuple(key.split("/"))
        if parts[: len(key_parts)] == key_parts:
            return key
    return None


def resolve(root, including, text):
    """The included file relative to root, or None if no folder on the include path has it."""
    for base in (including.parent, Path("src"), Path("include")):
        candidate = (root / base / text).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    return None


def allowed(source_folder, target):
    """True if a file of source_folder may include target (relative to the root)."""
    if target.parts[0] == "include":
        return True
    target_folder = folder_of(target)
    if target_folder == source_folder:
        return True
    rule = "src/systems" if source_folder.startswith("src/systems/") else source_folder
    if target_folder is not None and target_folder.startswith("src/systems/"):
        return rule == "src/tessera.c"
    return target_folder in MAY_INCLUDE[rule]


def violation(root, path, folder, match):
    """One sentence if the include breaks a rule, else None."""
    in_kernels = folder == "src/kernels"
    if match["macro"]:
        # Term lists of the algebras, expanded by kernels.
        is_expanded = in_kernels or folder == "src/backend/cuda"
        return None if is_expanded else "include through a macro cannot be checked"
    text = match["ours"] or match["system"]
    if in_kernels and text in FORBIDDEN_IN_KERNELS:
        return f"kernels may not include {text}: no allocation, threads, log or I/O inside them"
    if match["system"] or text in GENERATED or text.startswith("clifford/cl"):
        return None
    target = resolve(root, path, text)
    if target is None:
        return f'"{text}" is in none of the folder itself, src/ and include/'
    if not allowed(folder, target):
        return f"{folder} may not include {target}"
    return None


def check(root):
    """All violations below root, as lines."""
    root = root.resolve()
    problems = []
    for top in sorted({key.split("/")[0] for key in MAY_INCLUDE}):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root)
            if file.suffix not in SOURCES:
                continue
            folder = folder_of(path)
            if folder is None:
                problems.append(f"{path}: stands on no floor; add its folder to the rules")
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                problem = match and violation(root, path, folder, match)
                if problem:
                    problems.append(f"{path}:{number}: {problem}")
    return problems


def check_calls(root, build):
    """All calls of a build that break a rule, as lines."""
    root = root.resolve()
    exported = set((root / "tests/abi/symbols.txt").read_text(encoding="utf-8").split())
    problems = set()
    for caller, name, home in calls(read_objects(root, build)):
        folder = folder_of(caller)
        is_public = folder in ENTRANCES and name in exported
        if folder is not None and not is_public and not allowed(folder, home):
            problems.add(f"{caller}: {folder} may not call {name} of {home}")
    return sorted(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--build", type=Path, help="check the calls of this build instead")
    options = parser.parse_args()
    if options.build:
        problems = check_calls(options.root, options.build)
    else:
        problems = check(options.root)
    for problem in problems:
        print(problem)
    if problems:
        what = "calls" if options.build else "includes"
        print(f"{len(problems)} {what} break the floors; see CONTRIBUTING.md, 'The house'")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

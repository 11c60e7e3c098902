"""Compares the exported symbols and the public structs with what is on record.

    check_abi.py symbols --nm NM LIBRARY LIST    exported symbols are exactly those of LIST
    check_abi.py module --nm NM MODULE           exports the query and its entry, nothing else
    check_abi.py structs INCLUDE FOLDER          every public struct is pinned in a *.c of FOLDER

A new symbol is added to the list by hand, in the commit that adds it; a removed one is a break.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path


def exported(nm, library):
    """Names of defined dynamic symbols, without what every ELF file has."""
    lines = subprocess.run(
        [nm, "--dynamic", "--defined-only", "--format=posix", library],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()
    return {line.split()[0] for line in lines} - {"_init", "_fini"}


def check_symbols(args):
    have = exported(args.nm, args.library)
    want = set(Path(args.list).read_text().split())
    problems = [f"{name}: exported without the prefix tess_" for name in sorted(have)
                if not name.startswith("tess_")]
    problems += [f"{name}: exported but not in symbols.txt" for name in sorted(have - want)]
    problems += [f"{name}: in symbols.txt but not exported" for name in sorted(want - have)]
    return problems


def check_module(args):
    have = exported(args.nm, args.library)
    wanted = [{"tess_module_query", f"tess_{kind}_entry"} for kind in ("backend", "comm")]
    return [] if have in wanted else [f"a module exports {sorted(wanted[0])}, not {sorted(have)}"]


def check_structs(args):
    sources = "".join(file.read_text() for file in sorted(Path(args.folder).glob("*.c")))
    pinned = set(re.findall(r"^SIZE\((\w+),", sources, re.MULTILINE))
    problems = []
    for header in sorted(Path(args.include).rglob("*.h")):
        for name in re.findall(r"struct (\w+) \{", header.read_text()):
            if name not in pinned:
                problems.append(f"{header.name}: struct {name} is not pinned in tests/abi")
    return problems


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for name, function, has_list in (("symbols", check_symbols, True),
                                     ("module", check_module, False)):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("--nm", default="nm")
        command.add_argument("library")
        if has_list:
            command.add_argument("list")
    command = commands.add_parser("structs")
    command.set_defaults(function=check_structs)
    command.add_argument("include")
    command.add_argument("folder")
    args = parser.parse_args()

    problems = args.function(args)
    print("\n".join(problems) if problems else "as recorded")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

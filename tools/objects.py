"""Object files of a build: which source each is of, what it defines and what it needs."""

import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple


class Object(NamedTuple):
    """The outer symbols of one compiled source, given relative to the root."""

    source: Path
    defined: frozenset
    undefined: frozenset


def read_objects(root, build):
    """Every object of the compile commands that lies below root; raises if one is missing."""
    root = root.resolve()
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    sources = {}
    for entry in commands:
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(root) and source.suffix == ".c":
            output = re.search(r" -o (\S+)", entry["command"])[1]
            sources[str(Path(entry["directory"], output))] = source.relative_to(root)
    missing = [path for path in sources if not Path(path).is_file()]
    if missing:
        raise SystemExit(f"{missing[0]} is not there: build all of {build} first")
    # -A: the object's name at every line; -P: name, type, ...; -g: no static symbols.
    listing = subprocess.run(
        ["nm", "-A", "-P", "-g", *sources], capture_output=True, text=True, check=True
    ).stdout
    defined = {path: set() for path in sources}
    undefined = {path: set() for path in sources}
    for line in listing.splitlines():
        path, _, rest = line.partition(": ")
        name, kind = rest.split()[:2]
        (undefined if kind in "Uwv" else defined)[path].add(name)
    return [
        Object(source, frozenset(defined[path]), frozenset(undefined[path]))
        for path, source in sources.items()
    ]


def calls(objects):
    """(caller, name, home) of every call from one source to another of the same program.

    What is linked with what: the sources of src/ with each other, those of any other folder with
    its own and with src/.
    """
    homes = {}
    for each in objects:
        for name in each.defined:
            homes.setdefault(name, []).append(each.source)
    for each in objects:
        for name in each.undefined:
            for home in homes.get(name, ()):
                if home != each.source and home.parts[0] in (each.source.parts[0], "src"):
                    yield each.source, name, home

"""Every source of the release build through clang's front end, warnings as errors.

Warnings come from the front end, so that nothing is generated: this takes a fraction of a build.
"""

import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WITH_VALUE = {"-o", "-MF", "-MT", "-MQ"}
ALONE = {"-MD", "-MMD", "-c"}
NOT_CLANGS = {"-fcf-protection=none"}


def words_of(entry):
    """The command line of a compilation, as clang is to check it."""
    words = shlex.split(entry["command"]) if "command" in entry else list(entry["arguments"])
    while words and not words[0].startswith("-"):
        words.pop(0)  # the compiler, and what launches it
    kept = ["clang", "-fsyntax-only"]
    skip = False
    for word in words:
        if skip or word in WITH_VALUE:
            skip = not skip
        elif word not in ALONE and word not in NOT_CLANGS and word != entry["file"]:
            kept.append(word)
    return [*kept, entry["file"]]


def check(entry):
    result = subprocess.run(words_of(entry), cwd=entry["directory"], capture_output=True,
                            text=True, check=False)
    return result.returncode, result.stderr


def main():
    database = Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    n_job = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    entries = json.loads((database / "compile_commands.json").read_text())
    entries = [entry for entry in entries if entry["file"].endswith(".c")]
    n_failed = 0
    with ThreadPoolExecutor(n_job) as pool:
        for code, text in pool.map(check, entries):
            n_failed += code != 0
            sys.stderr.write(text)
    print(f"{len(entries)} sources, {n_failed} refused")
    return 1 if n_failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())

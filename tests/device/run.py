#!/usr/bin/env python3
"""Run tests with a device: a GPU (./dev gpu), or one that is emulated on the CPU (./dev emulate).

Usage: run.py LIST BUILD PYTHON [WORD...]

LIST is gpu.txt or emulated.txt beside this file, BUILD a folder like build/release. With words,
tests of these kinds, or whose line has one of the words, also those that are else left out. A test
that takes longer than its limit has failed. JOBS=n runs n at a time; what is timed runs last, one
after the other.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
KINDS = ("self", "backend", "program", "generic", "c", "sweep", "python", "targets")


@dataclass
class Test:
    """A line of a list: KIND[+SANITIZER] NAME SECONDS [OPTIONS]."""

    kind: str
    tool: str  # of compute-sanitizer, or none
    name: str
    limit: int
    rest: str  # options; of C programs: which of their tests; of what is slow: why it is left out
    is_slow: bool

    def title(self) -> str:
        parts = (self.kind, self.tool, self.name, "" if self.is_slow else self.rest)
        return " ".join(part for part in parts if part)


def listed(path: Path) -> list[Test]:
    """Return the tests of a list."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            kind, name, limit, *rest = line.split(maxsplit=3)
            kind, _, tool = kind.partition("+")
            if tool and tool not in SANITIZERS:
                raise SystemExit(f"error: {path.name}: no tool {tool} of compute-sanitizer")
            is_slow = kind.startswith("slow")
            kind = {"slow": "c"}.get(kind, kind.removeprefix("slow-"))
            found.append(Test(kind, tool, name, int(limit), rest[0] if rest else "", is_slow))
    return found


class Runner:
    """Runs tests with the module of a build."""

    def __init__(self, is_emulated: bool, build: Path, python: str) -> None:
        self.build, self.python = build, python
        folder = build / ("emulated" if is_emulated else "plugins")
        self.module = folder / "tessera-backend-cuda.so"
        self.environment = {
            **os.environ,
            "TESSERA_CUDA_PLUGIN": str(self.module),
            "TESSERA_PLUGIN_PATH": str(build / "plugins"),
            "TESS_TEST_QUICK": "1",
        }
        self.sanitized = {}
        if is_emulated:
            self.environment["TESSERA_DEVICE_CACHE"] = "0"  # every array an allocation of its own
            if build.name == "dev":  # Python itself is not: the sanitizer has to be there first
                found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                                       text=True, check=True)  # fmt: skip
                self.sanitized = {"LD_PRELOAD": found.stdout.strip(),
                                  "ASAN_OPTIONS": "detect_leaks=0"}  # fmt: skip

    def command(self, test: Test) -> list[str]:
        """Return what runs a test."""
        tests = self.build / "tests"
        own = {
            "self": [str(tests / "emulated" / test.name)],
            "backend": [str(tests / "backend" / test.name), "--backend", str(self.module)],
            "program": [str(tests / "backend" / test.name)],
            "generic": [str(tests / "backend" / test.name)],
            "c": [str(tests / "unit" / f"test_{test.name}")],
            "sweep": [self.python, str(TREE / "tests" / "emulated" / "sweep.py"), test.name],
            "python": [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                       "-p", "no:benchmark", str(TREE / "tests" / "python" / f"{test.name}.py")],
            "targets": [self.python, str(TREE / "bench" / f"{test.name}_targets.py")],
        }[test.kind]  # fmt: skip
        # Calls that must fail are part of the tests, hence no report on errors of the API.
        tool = ["compute-sanitizer", "--tool", test.tool, "--report-api-errors", "no",
                "--error-exitcode", "9"] if test.tool else []  # fmt: skip
        options = [] if test.is_slow or test.kind == "c" else shlex.split(test.rest)
        return [*tool, *own, *options]

    def own_environment(self, test: Test) -> dict[str, str]:
        """Return the variables that a kind of test wants."""
        if test.kind in ("python", "sweep"):
            return self.sanitized
        if test.kind == "targets":
            return {"TESSERA_COMMAND": str(self.build / "bin" / "tessera")}
        found = {"TESSERA_DEVICE": "cuda"}
        if test.kind == "generic":
            found["TESSERA_CUDA_GENERIC"] = "1"
        if test.kind == "c" and not test.is_slow:
            found["TESS_TEST_ONLY"] = test.rest
        return found

    def run(self, test: Test) -> tuple[str, str]:
        """Return 'ok', 'skipped' or what is wrong, and all that was printed."""
        if test.tool and not shutil.which("compute-sanitizer"):
            return "skipped", "compute-sanitizer was not found"
        try:
            done = subprocess.run(
                self.command(test), env={**self.environment, **self.own_environment(test)},
                timeout=test.limit, check=False, cwd=TREE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"").decode(errors="replace")
            return f"FAILED: longer than {test.limit} s", text
        text = done.stdout.decode(errors="replace")
        if done.returncode == 0 and re.search(r"^\d+ skipped in", text, re.M):
            return "skipped", text
        return "ok" if done.returncode == 0 else f"FAILED: exit {done.returncode}", text

    def report(self, test: Test) -> str:
        """Run a test, say how it went; return 'passed', 'failed' or 'skipped'."""
        begin = time.monotonic()
        result, text = self.run(test)
        seconds = time.monotonic() - begin
        kept = {"ok": "passed", "skipped": "skipped"}.get(result, "failed")
        shown = ""
        if kept == "failed" or test.kind == "targets" or "--bench" in test.rest:
            shown = "\n" + text[-6000:]
        elif counts := re.findall(r"^\d+ passed.*$", text, re.M):
            shown = "  " + counts[-1]
        print(f"{result:8s} {test.title()} ({seconds:.1f} s){shown}", flush=True)
        return kept


def chosen(test: Test, words: list[str], is_sanitized: bool) -> bool:
    """Return whether a test runs here."""
    if is_sanitized and test.kind == "python":
        return False
    return not words or any(
        (word == test.kind and not test.tool) if word in KINDS else word in test.title()
        for word in words
    )


def main() -> int:
    path, build, words = Path(sys.argv[1]), TREE / sys.argv[2], sys.argv[4:]
    is_emulated = path.stem == "emulated"
    runner = Runner(is_emulated, build, sys.argv[3])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    together, alone = [], []
    for test in listed(path):
        if not chosen(test, words, is_emulated and build.name == "dev"):
            continue
        if test.is_slow and not words:
            counts["skipped"] += 1
        elif test.kind == "targets" or "--bench" in test.rest:
            alone.append(test)
        else:
            together.append(test)
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        for kept in pool.map(runner.report, together):
            counts[kept] += 1
    for test in alone:
        counts[runner.report(test)] += 1
    print(", ".join(f"{n} {word}" for word, n in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

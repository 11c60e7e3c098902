#!/usr/bin/env python3
"""Run tests with a device that is emulated on the CPU. Called by ./dev emulate.

Usage: run.py BUILD PYTHON [WORD...]      (BUILD: build/release or build/dev)

tests.txt beside this file lists them. With words, those whose name has one of them, also of those
that are else left out. A test that takes longer than its limit has failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent


def listed() -> list[tuple[str, str, int, str]]:
    """Return kind, name, seconds, and what follows: options, or why it is left out."""
    rows = []
    for line in (HERE / "tests.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            kind, name, limit, *rest = line.split(maxsplit=3)
            rows.append((kind, name, int(limit), rest[0] if rest else ""))
    return rows


def command(kind: str, name: str, options: str, build: Path, module: Path) -> list[str]:
    """Return what runs a test."""
    programs = {
        "self": [str(build / "tests" / "emulated" / name)],
        "backend": [str(build / "tests" / "backend" / name), "--backend", str(module)],
        "c": [str(build / "tests" / "unit" / f"test_{name}")],
        "sweep": [sys.argv[2], str(HERE / "sweep.py"), name],
        "python": [sys.argv[2], "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   str(TREE / "tests" / "python" / f"{name}.py")],
    }  # fmt: skip
    return [*programs[kind], *options.split()]


def run(words: list[str], limit: int, environment: dict[str, str]) -> tuple[str, str]:
    """Return 'ok', 'skipped' or what is wrong, and all that was printed."""
    try:
        done = subprocess.run(
            words, env=environment, timeout=limit, check=False, cwd=TREE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return f"FAILED: longer than {limit} s", (late.stdout or b"").decode(errors="replace")
    text = done.stdout.decode(errors="replace")
    if done.returncode == 0 and re.search(r"^\d+ skipped in", text, re.M):
        return "skipped", text
    return "ok" if done.returncode == 0 else f"FAILED: exit {done.returncode}", text


def main() -> int:
    build, words = TREE / sys.argv[1], sys.argv[3:]
    module = build / "emulated" / "tessera-backend-cuda.so"
    environment = {
        **os.environ,
        "TESSERA_CUDA_PLUGIN": str(module),
        "TESSERA_PLUGIN_PATH": str(build / "plugins"),
        "TESSERA_DEVICE_CACHE": "0",  # every array an allocation of its own
        "TESS_TEST_QUICK": "1",
    }
    is_sanitized = build.name == "dev"
    sanitized = {}
    if is_sanitized:  # Python itself is not: the sanitizer has to be there first
        found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                               text=True, check=True)  # fmt: skip
        sanitized = {"LD_PRELOAD": found.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for kind, name, limit, rest in listed():
        is_slow = kind.startswith("slow")
        kind = {"slow": "c", "slow-python": "python"}.get(kind, kind)
        needs_python = kind in ("python", "sweep")
        is_named = any(word in name for word in words)
        if (kind == "python" and is_sanitized) or (words and not is_named):
            continue
        if is_slow and not is_named:
            counts["skipped"] += 1
            continue
        begin = time.monotonic()
        own = sanitized if needs_python else {"TESSERA_DEVICE": "cuda"}
        options = "" if is_slow else rest
        call = command(kind, name, options, build, module)
        result, text = run(call, limit, {**environment, **own})
        seconds = time.monotonic() - begin
        print(f"{result:8s} {kind} {name} ({seconds:.1f} s)", flush=True)
        kept = "passed" if result == "ok" else "skipped" if result == "skipped" else "failed"
        counts[kept] += 1
        if kept == "failed":
            print(text[-6000:], flush=True)
    print(", ".join(f"{n} {word}" for word, n in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

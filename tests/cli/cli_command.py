"""The command under test, for tests and fixtures alike."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TESSERA_COMMAND", ROOT / "build/release/bin/tessera")).resolve()
INJECTOR = BINARY.parents[1] / "tests/faults/tess_fault_inject.so"


class Command:
    """The command in a directory of its own, with an environment that changes nothing."""

    binary = str(BINARY)

    def __init__(self, directory):
        self.directory = directory
        kept = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH")
        self.environment = {key: os.environ[key] for key in kept if key in os.environ}
        self.environment |= {"PATH": "/usr/bin:/bin", "HOME": str(directory), "COLUMNS": "80"}

    def faulty(self, **fault):
        """The environment in which a call fails, or a signal comes before it.

        The keywords are those of tests/faults/fault_inject.c; the report is fault.report.
        """
        assert INJECTOR.exists(), f"{INJECTOR} is missing: build the target tess_fault_inject"
        report = self.directory / "fault.report"
        report.unlink(missing_ok=True)
        environment = {f"TESS_FAULT_{key.upper()}": str(value) for key, value in fault.items()}
        environment |= {"LD_PRELOAD": str(INJECTOR), "TESS_FAULT_REPORT": str(report)}
        if b"__asan_init" in BINARY.read_bytes():
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        return environment

    def popen(self, *words, **keywords):
        environment = self.environment | keywords.pop("environment", {})
        return subprocess.Popen(
            [self.binary, *words], cwd=self.directory, env=environment, **keywords
        )

    def __call__(self, *words, **keywords):
        keywords.setdefault("stdin", subprocess.DEVNULL)
        environment = self.environment | keywords.pop("environment", {})
        return subprocess.run(
            [self.binary, *words],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **keywords,
        )

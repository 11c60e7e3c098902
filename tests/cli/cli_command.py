"""The command under test, for tests and fixtures alike."""

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "faults"))
import injector

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TESSERA_COMMAND", ROOT / "build/release/bin/tessera")).resolve()


class Command:
    """The command in a directory of its own, with an environment that changes nothing."""

    binary = str(BINARY)

    def __init__(self, directory):
        self.directory = directory
        kept = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH")
        self.environment = {key: os.environ[key] for key in kept if key in os.environ}
        self.environment |= {"PATH": "/usr/bin:/bin", "HOME": str(directory), "COLUMNS": "80"}

    def faulty(self, **fault):
        """The environment of a fault; fault.report has the counts."""
        base = self.environment | {"ASAN_OPTIONS": "detect_leaks=0"}
        return injector.environment(BINARY, self.directory / "fault.report", base, **fault)

    def counted(self, *words, **fault):
        """Calls, faults and renames of a run that has to end well."""
        result = self(*words, environment=self.faulty(**fault))
        assert result.returncode == 0, result.stderr
        return self.counts()

    def counts(self):
        """Those of the last run that had a fault."""
        found = injector.counts(self.directory / "fault.report")
        (self.directory / "fault.report").unlink(missing_ok=True)
        return found

    def held(self, *words, environment=None, **fault):
        """A run that has stopped itself at a call; SIGCONT lets it go on."""
        process = self.popen(
            *words,
            environment=(environment or {}) | self.faulty(signal=signal.SIGSTOP, **fault),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        injector.wait_until_stopped(process)
        (self.directory / "fault.report").unlink()
        return process

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

"""Runs the command with faults, stops and limits, and says what a clean outcome is."""

import functools
import hashlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import injector
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TESSERA_BIN", ROOT / "build/release/bin/tessera")).resolve()
INJECTOR = BINARY.parents[1] / "tests/faults/tess_fault_inject.so"
FULL = os.environ.get("TESS_FAULT_FULL") == "1"


@functools.cache
def sanitizer():
    """'address', 'thread' or '': what the binary was built with."""
    content = BINARY.read_bytes()
    return next((s for s in ("address", "thread") if f"__{s[0]}san_init".encode() in content), "")


class Command:
    """The command in a directory of its own, with an environment that changes nothing."""

    def __init__(self, directory):
        self.directory = Path(directory)
        kept = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH")
        self.environment = {key: os.environ[key] for key in kept if key in os.environ}
        self.environment |= {"PATH": "/usr/bin:/bin", "HOME": str(directory)}

    def popen(self, *words, environment=None, **keywords):
        keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | keywords
        return subprocess.Popen(
            [str(BINARY), *map(str, words)],
            cwd=self.directory,
            env=self.environment | (environment or {}),
            stdin=subprocess.DEVNULL,
            **keywords,
        )

    def __call__(self, *words, timeout=300, **keywords):
        with self.popen(*words, **keywords) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def ptp(self, *words, **keywords):
        return self("autoreject", "ptp", *words, "-q", **keywords)

    def simulate(self, name, epochs, channels, samples, dtype="f32"):
        words = ["--epochs", epochs, "--channels", channels, "--samples", samples]
        result = self("autoreject", "simulate", "-o", name, *words, "--dtype", dtype, "-q")
        assert result.returncode == 0, result.stderr
        return self.directory / name

    def with_fault(self, fault, *words):
        """Runs ptp as :meth:`faulty` does."""
        return self.faulty(fault, "autoreject", "ptp", *words, "-q")

    def faulty(self, fault, *words):
        """Runs the command under the injector; the result, and how many calls and faults."""
        result = self(*words, environment=self.fault(**fault))
        n_call, n_fault, self.n_rename = injector.counts(self.report)
        self.report.unlink(missing_ok=True)
        return result, n_call, n_fault

    def fault(self, **fault):
        """The environment of a fault."""
        if sanitizer() == "thread":
            pytest.skip("the fault injector does not work behind ThreadSanitizer")
        return injector.environment(BINARY, self.report, self.environment, **fault)

    @property
    def report(self):
        return self.directory / "fault.report"


class Killer:
    """Kills runs of a command before random calls of theirs until one gets through.

    Files change by calls alone: before each of them is every instant that leaves other files.
    """

    def __init__(self, tessera, rng, *words):
        """words: an undisturbed run, whose calls are counted."""
        self.tessera = tessera
        self.rng = rng
        self.n_killed = 0
        result, self.n_call, _ = tessera.faulty({"kind": "any", "at": 0}, *words)
        assert result.returncode == 0, result.stderr

    def finish(self, words, after_kill=lambda: None):
        """Returns the run that got through; words() are those of the next one.

        The first run has everything before it and is killed within the calls of a whole one;
        those that resume have more than they need, or they would never end.
        """
        most = self.n_call
        while True:
            fault = {"kind": "any", "at": self.rng.randint(1, most), "mode": "kill"}
            result, _, _ = self.tessera.faulty(fault, *words())
            if result.returncode != -signal.SIGKILL:
                return result
            self.n_killed += 1
            after_kill()
            most = 2 * self.n_call


def killed_after_a_checkpoint(tessera, *words, number=signal.SIGKILL, at=2):
    """A run that gets a signal before its at-th rename, by which all but the last name checkpoints.

    Its folder of work has to be a new one.
    """
    fault = {"kind": "rename", "signal": number, "at": at, "after": "lock"}
    result, _, n_fault = tessera.faulty(fault, *words)
    assert n_fault == 1, f"there are fewer than {at} renames: {result.stderr}"
    assert any((tessera.directory / "work").glob("*.ckpt")), result.stderr
    return result


def assert_asked_for_checkpoints(tessera, *words):
    """SIGUSR1 before every call brings the checkpoints of --checkpoint-every 0.

    Its folder of work and what it writes have to be new, or to be replaced.
    """
    n_rename = []
    for every, at in ((0, 0), (3600, 1)):
        fault = {"kind": "any", "signal": signal.SIGUSR1, "mode": "signals", "at": at}
        line = [*words, "--checkpoint", "work", "--checkpoint-every", every]
        result, _, _ = tessera.faulty(fault | {"after": "lock"}, *line)
        assert result.returncode == 0, result.stderr
        assert not (tessera.directory / "work").exists()
        n_rename.append(tessera.n_rename)
    assert n_rename[0] == n_rename[1] > 3, words


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def leftovers(directory):
    """Temporary files anywhere below."""
    return sorted(str(p.relative_to(directory)) for p in Path(directory).rglob("*.tmp.*"))


def checkpoints(directory):
    """Checkpoint files, oldest first."""
    return sorted(Path(directory).glob("*.ckpt"))


def remove(*paths):
    for path in map(Path, paths):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def messages(result):
    return [line for line in result.stderr.splitlines() if line]


def assert_one_message(result, label):
    """One line for a person, nothing from a sanitizer, no death by signal."""
    assert result.returncode >= 0, f"{label}: killed by signal {-result.returncode}"
    lines = messages(result)
    assert len(lines) == 1, f"{label}: exit {result.returncode}, stderr:\n{result.stderr}"
    assert lines[0].startswith("tessera: "), f"{label}: {lines}"
    assert len(lines[0]) > 20, f"{label}: {lines}"


def poisoned(dtype, shape=(37, 5, 211), seed=3):
    """Epochs with NaN, infinities, denormals and both zeros in known places."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    x[0, 0] = 0.0
    x[0, 0, 7] = -0.0
    x[1, 1] = -0.0
    x[2, 2, 100] = np.nan
    x[3, 3, 0] = np.inf
    x[4, 4, -1] = -np.inf
    x[5, 0, 3:5] = np.inf, -np.inf
    x[6, 1] = np.inf  # inf - inf
    x[7, 2] = rng.integers(-9, 9, shape[2]).astype(dtype) * tiny
    x[8, 3] = np.finfo(dtype).max
    x[8, 3, 5] = np.finfo(dtype).min  # the difference overflows
    x[9, 4, 50] = -np.nan
    return x

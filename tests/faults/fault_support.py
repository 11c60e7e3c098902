"""Runs the command with faults, stops and limits, and says what a clean outcome is."""

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TESSERA_BIN", ROOT / "build/release/bin/tessera")).resolve()
INJECTOR = BINARY.parents[1] / "tests/faults/tess_fault_inject.so"
FULL = os.environ.get("TESS_FAULT_FULL") == "1"


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

    def __call__(self, *words, timeout=60, **keywords):
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
        report = self.directory / "fault.report"
        report.unlink(missing_ok=True)
        environment = {f"TESS_FAULT_{key.upper()}": str(value) for key, value in fault.items()}
        environment |= {"LD_PRELOAD": str(INJECTOR), "TESS_FAULT_REPORT": str(report)}
        if sanitizer() == "address":
            options = self.environment.get("ASAN_OPTIONS", "")
            environment["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"
        result = self(*words, environment=environment)
        counts = report.read_text().split() if report.exists() else ("0", "0")
        report.unlink(missing_ok=True)
        return result, int(counts[0]), int(counts[1])


class Killer:
    """Kills runs of a command at random instants until one gets through."""

    def __init__(self, rng, whole_s):
        self.rng = rng
        self.whole_s = whole_s  # what an undisturbed run takes; the shortest seen
        self.n_killed = 0

    def finish(self, start, after_kill=lambda: None):
        """Returns the exit code and messages of the run that got through.

        The first run has everything before it and is killed within the time a whole one takes;
        those that resume have more time than they need, or they would never end.
        """
        limit = self.rng.uniform(0, self.whole_s)
        resumed = False
        while True:
            begin = time.monotonic()
            process = start()
            try:
                _, stderr = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.n_killed += 1
                after_kill()
                limit = self.rng.uniform(0, 2 * self.whole_s + 0.3)
                resumed = True
                continue
            if not resumed:
                self.whole_s = min(self.whole_s, time.monotonic() - begin)
            return process.returncode, stderr


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

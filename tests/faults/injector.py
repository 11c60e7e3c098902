"""Starts a command so that a call of its own brings the fault, the signal or the stop.

What comes at the k-th call comes at the same place on a fast machine and on a slow one; a signal
that a test sends after it has seen something may find the command over. fault_inject.c has the
words.
"""

import os
from pathlib import Path


def environment(binary, report, base, **fault):
    """What is added to the environment `base` of `binary`; `report` gets the counts."""
    library = Path(binary).parents[1] / "tests/faults/tess_fault_inject.so"
    assert library.exists(), f"{library} is missing: build the target tess_fault_inject"
    Path(report).unlink(missing_ok=True)
    found = {f"TESS_FAULT_{key.upper()}": str(value) for key, value in fault.items()}
    if "signal" in fault:
        numbers = fault["signal"] if isinstance(fault["signal"], tuple) else (fault["signal"],)
        found["TESS_FAULT_SIGNAL"] = ",".join(str(int(number)) for number in numbers)
        found.setdefault("TESS_FAULT_MODE", "signal")
    found |= {"LD_PRELOAD": str(library), "TESS_FAULT_REPORT": str(report)}
    if b"__asan_init" in Path(binary).read_bytes():
        options = base.get("ASAN_OPTIONS", "")
        found["ASAN_OPTIONS"] = f"{options}:verify_asan_link_order=0"
    return found


def counts(report):
    """Calls, faults and renames of a command that has ended, or was hit."""
    words = Path(report).read_text().split() if Path(report).exists() else ("0", "0", "0")
    return tuple(map(int, words))


def wait_until_stopped(process):
    """Returns when a child that brings SIGSTOP on itself has stopped; SIGCONT lets it go on."""
    found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert found.si_code == os.CLD_STOPPED, f"it has ended: {found}"

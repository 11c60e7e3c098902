"""Damaged HDF5 files and a helper that fails: exit 65 and a sentence, never a signal."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from fault_support import BINARY, INJECTOR, assert_one_message, leftovers, sanitizer
from injector import wait_until_stopped

HELPER = BINARY.parents[1] / "plugins/tessera-hdf5"
HOSTILE = sorted((Path(__file__).parents[1] / "io/hostile").glob("*.h5"))
COMMANDS = [
    ["info"],
    ["xpcs", "inspect"],
    ["autoreject", "info"],
    ["decode", "run", "-o", "out.h5", "--overwrite"],
    ["autoreject", "ptp", "-o", "out.npy", "--overwrite"],
]

pytestmark = pytest.mark.skipif(not HELPER.exists(), reason="built without HDF5")


def state_and_parent(folder):
    """What /proc says of a helper; None of any other process."""
    try:
        name, rest = (folder / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
    except OSError:
        return None
    state, parent = rest.split()[:2]
    return (state, int(parent)) if name == "tessera-hdf5" else None


def task_state(folder):
    try:
        return (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:  # it has ended
        return ""


def children(pid):
    """Helpers that live below a process."""
    found = {int(folder.name): state_and_parent(folder) for folder in Path("/proc").glob("[0-9]*")}
    return [own for own, what in found.items() if what and what[1] == pid and what[0] != "Z"]


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    return None


@pytest.fixture
def checked(folder):
    """Epochs with checksums, which only HDF5 itself reads, in some pieces."""
    h5py = pytest.importorskip("h5py")
    path = folder / "checked.h5"
    with h5py.File(path, "w") as file:
        shape = (64, 64, 4000)
        data = file.create_dataset("x", shape, "f4", chunks=(1, *shape[1:]), fletcher32=True)
        block = np.random.default_rng(1).standard_normal((16, *shape[1:])).astype("f4")
        for i in range(0, 64, 16):
            data[i : i + 16] = block
    return path


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:2]))
@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_files_that_crash_libhdf5(tessera, path, words):
    result = tessera(*words, path, environment={"MALLOC_PERTURB_": "65"})
    assert result.returncode == 65, result.stderr
    assert_one_message(result, path.name)
    assert f"{path.name}: is damaged: HDF5 could not read it" in result.stderr
    assert leftovers(tessera.directory) == []


def test_file_that_loops(tessera):
    """An object of the heap without length: HDF5 1.10 looks for the next one for ever."""
    content = bytearray((HOSTILE[0].parents[1] / "data/latest.h5").read_bytes())
    at = content.index(b"GCOL") + 24
    content[at : at + 8] = bytes(8)
    (tessera.directory / "loops.h5").write_bytes(content)
    result = tessera("info", "loops.h5", environment={"TESSERA_HDF5_TIMEOUT": "1"})
    assert result.returncode == 65
    assert "loops.h5: is damaged" in result.stderr
    assert "HDF5 could not read it within 1 s" in result.stderr


def reading(tessera, checked, environment=None, **keywords):
    """A run that wants data of a helper which has been stopped, and the helper.

    The run stops itself when it makes the memory that both share, and goes on to ask when the
    helper cannot answer any more: one that ends between two questions is started anew.
    """
    held = tessera.fault(kind="ftruncate", signal=signal.SIGSTOP, at=1)
    process = tessera.popen(
        *("autoreject", "ptp", checked, "-o", "out.npy", "-q"),
        environment=held | (environment or {}),
        **keywords,
    )
    wait_until_stopped(process)
    (helper,) = children(process.pid)
    os.kill(helper, signal.SIGSTOP)
    assert wait_for(lambda: state_and_parent(Path(f"/proc/{helper}"))[0] == "T")
    process.send_signal(signal.SIGCONT)
    # It has asked when all of its threads wait: for each other, and one of them for the helper.
    tasks = Path(f"/proc/{process.pid}/task")
    assert wait_for(lambda: {task_state(folder) for folder in tasks.iterdir()} == {"S"})
    return process, helper


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_killed_while_reading(tessera, checked, signal_number):
    process, helper = reading(tessera, checked)
    os.kill(helper, signal_number)
    with suppress(ProcessLookupError):  # a SIGKILL needs no more, and who is waited for is gone
        os.kill(helper, signal.SIGCONT)  # to its end
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 65, stderr
    assert "checked.h5: is damaged: HDF5 could not read it and stopped with signal" in stderr
    assert not (tessera.directory / "out.npy").exists()
    assert leftovers(tessera.directory) == []


def test_hangs_while_reading(tessera, checked):
    process, helper = reading(tessera, checked, {"TESSERA_HDF5_TIMEOUT": "5"})
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 65, stderr
    assert "HDF5 could not read it within 5 s" in stderr
    assert wait_for(lambda: not Path(f"/proc/{helper}").exists())


def test_ends_with_the_command(tessera, checked):
    process, helper = reading(tessera, checked)
    os.kill(helper, signal.SIGCONT)
    process.kill()
    process.communicate()
    assert wait_for(lambda: helper not in children(1) and helper not in children(os.getpid()))


def test_interrupt_is_the_commands(tessera, checked):
    """Ctrl-C goes to all of the terminal's group: the helper must not die of it first."""
    process, helper = reading(tessera, checked, start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)
    os.kill(helper, signal.SIGCONT)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130, stderr
    assert "damaged" not in stderr


def test_little_memory(tessera, checked):
    """Enough to start and not to read: the helper's end, not ours."""
    if sanitizer():
        pytest.skip("sanitizers map the whole address space")
    wrapper = tessera.directory / "little"
    codes = set()
    for kilobytes in (20_000, 40_000, 60_000, 80_000, 120_000):
        wrapper.write_text(f'#!/bin/sh\nulimit -v {kilobytes}\nexec {HELPER} "$@"\n')
        wrapper.chmod(0o700)
        result = tessera.ptp(
            checked, "-o", "out.npy", "--overwrite",
            environment={"TESSERA_HDF5_PLUGIN": str(wrapper)},
        )
        codes.add(result.returncode)
        if result.returncode:
            assert_one_message(result, f"{kilobytes} kB")
            assert "checked.h5" in result.stderr
    assert codes <= {0, 65, 69, 71}
    assert codes & {65, 69, 71}


@pytest.mark.parametrize(
    ("kind", "error", "last"),
    [("malloc", "ENOMEM", 3000), ("read", "EIO", 12), ("write", "ENOSPC", 12)],
)
@pytest.mark.parametrize("mode", ["once", "from"])
def test_faults_of_the_helper(tessera, epochs, kind, error, last, mode):
    """Its allocations, reads and writes fail, one by one: libhdf5 survives some of it."""
    if sanitizer():
        pytest.skip("a sanitizer has its own allocator, and does not work behind a library")
    codes = {}
    for at in [*range(1, 40, 3), *range(40, last, last // 12)]:
        result = tessera.ptp(
            "in.h5", "-o", "out.h5", "--overwrite",
            environment={
                "LD_PRELOAD": str(INJECTOR),
                "TESS_FAULT_HELPER": "1",
                "TESS_FAULT_KIND": kind,
                "TESS_FAULT_ERROR": error,
                "TESS_FAULT_MODE": mode,
                "TESS_FAULT_AT": str(at),
            },
        )
        codes[result.returncode] = codes.get(result.returncode, 0) + 1
        assert result.returncode in {0, 65, 66, 69, 71, 73, 74}, f"{kind} {at}: {result.stderr}"
        if result.returncode:
            assert_one_message(result, f"{kind} {at}")
        assert leftovers(tessera.directory) == []
    print(f"{kind} {error} {mode}: exit codes {codes}")
    assert set(codes) != {0}


@pytest.fixture
def epochs(folder):
    h5py = pytest.importorskip("h5py")
    x = np.random.default_rng(1).standard_normal((6, 3, 40)).astype(np.float32)
    with h5py.File(folder / "in.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(2, 3, 40), fletcher32=True)
    return x


def test_by_hand():
    """Started by a person it says what it is."""
    result = subprocess.run([HELPER], capture_output=True, text=True, check=False)
    assert result.returncode == 64
    assert "reads HDF5 files for libtessera" in result.stderr

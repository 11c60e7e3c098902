"""Threads, callbacks, cancelling, signals, forks, logging."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import signal
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from helpers import Floats, assert_same_bits, endless, numpy_ptp, python_env, run_python
from tessera import _session
from tessera.autoreject import ptp, ptp_file

MAX_LATENCY_S = 2.0


def test_progress_reaches_the_end(many_epochs: Floats) -> None:
    seen: list[tessera.Progress] = []
    ptp(many_epochs, tile_epochs=50, progress=seen.append)
    last = seen[-1]
    assert (last.stage, last.unit) == ("autoreject.ptp", "epochs")
    assert last.done == last.total == len(many_epochs)
    assert last.done_bytes == many_epochs.nbytes
    assert last.strategy in ("STANDARD", "LARGE")
    assert last.remaining_s is None or last.remaining_s >= 0
    assert all(a.done <= b.done for a, b in itertools.pairwise(seen))


def test_progress_bar(many_epochs: Floats, capsys: pytest.CaptureFixture[str]) -> None:
    ptp(many_epochs, progress=True)
    line = capsys.readouterr().err
    assert "autoreject.ptp" in line
    assert "1000/1000 epochs" in line
    ptp(many_epochs, progress=False)
    assert capsys.readouterr() == ("", "")


def test_what_the_callback_returns_is_ignored(many_epochs: Floats) -> None:
    assert_same_bits(ptp(many_epochs, progress=lambda _: True), numpy_ptp(many_epochs))


def test_exception_in_callback_stops_and_comes_through() -> None:
    calls = []

    def stop(progress: tessera.Progress) -> None:
        calls.append(progress)
        raise LookupError("enough")

    start = time.monotonic()
    with pytest.raises(LookupError, match="enough"):
        ptp(endless(), progress=stop)
    assert time.monotonic() - start < MAX_LATENCY_S
    assert len(calls) == 1


def test_next_call_works_after_a_stop(epochs: Floats) -> None:
    def stop(progress: tessera.Progress) -> None:
        raise LookupError

    with tessera.Context() as context:
        with pytest.raises(LookupError):
            ptp(endless(), progress=stop, context=context)
        assert_same_bits(ptp(epochs, context=context), numpy_ptp(epochs))


def test_cancel_from_another_thread(epochs: Floats) -> None:
    with tessera.Context() as context, ThreadPoolExecutor() as pool:
        running = pool.submit(ptp, endless(), context=context)
        time.sleep(0.3)
        start = time.monotonic()
        context.cancel()
        with pytest.raises(tessera.Cancelled) as caught:
            running.result(timeout=30)
        assert time.monotonic() - start < MAX_LATENCY_S
        assert caught.value.exit_code == 130
        assert_same_bits(ptp(epochs, context=context), numpy_ptp(epochs))


def test_the_gil_is_released() -> None:
    with tessera.Context(threads=1) as context, ThreadPoolExecutor() as pool:
        running = pool.submit(ptp, endless(), context=context)
        # A held GIL would stop this loop for as long as the call lasts.
        for _ in range(100):
            time.sleep(0.001)
        assert not running.done()
        context.cancel()
        with pytest.raises(tessera.Cancelled):
            running.result(timeout=30)


def test_many_threads_one_context(epochs: Floats) -> None:
    want = numpy_ptp(epochs)
    with tessera.Context(threads=2) as context, ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: ptp(epochs, context=context), range(200)):
            assert_same_bits(got, want)


def test_many_threads_own_contexts(epochs: Floats) -> None:
    want = numpy_ptp(epochs)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda i: ptp(epochs, threads=1 + i % 3), range(200)):
            assert_same_bits(got, want)


def test_callback_may_use_another_context_only(epochs: Floats, many_epochs: Floats) -> None:
    with tessera.Context() as context:
        inner = []
        ptp(many_epochs, context=context, progress=lambda _: inner.append(ptp(epochs)))
        assert_same_bits(inner[-1], numpy_ptp(epochs))
        with pytest.raises(RuntimeError, match="busy"):
            ptp(many_epochs, context=context, progress=lambda _: ptp(epochs, context=context))


def test_closed_context(epochs: Floats) -> None:
    context = tessera.Context()
    context.close()
    context.close()
    context.cancel()
    for use in (lambda: ptp(epochs, context=context), lambda: context.info):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_context_says_what_it_decided() -> None:
    with tessera.Context(threads=3, memory_limit="512M") as context:
        info = context.info
        assert info["threads"] == 3
        assert info["memory_limit"] == 512 << 20
        assert info["device"] == "cpu"
        assert info["isa"]
        assert context.profile() == ""
        now, peak = context.memory()
        assert 0 <= now <= peak
    with pytest.raises(tessera.ArgumentError, match=r"memory_limit.*lots"):
        tessera.Context(memory_limit="lots")
    with pytest.raises(tessera.Error, match="abacus"):
        tessera.Context(isa="abacus")


def test_profile_and_trace(many_epochs: Floats, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with tessera.Context(profile=True, trace=trace) as context:
        ptp(many_epochs, context=context)
        assert "ptp" in context.profile()
    assert "traceEvents" in trace.read_text()


def test_device_memory_limit() -> None:
    with tessera.Context(device_memory_limit="2G") as context:
        assert context.info["device"] == "cpu"
        assert context.info["device_memory_limit"] == 0  # the CPU has no memory of its own
        assert context.info["device_memory_limit_origin"] is None
    try:
        tessera.set_device_memory_limit("2G")
        assert tessera.get_num_threads() >= 1
        assert _session._Defaults.device_memory_limit == "2G"
        assert all(key[-1] == "2G" for key in _session._idle)
        with pytest.raises(tessera.ArgumentError, match=r"device_memory_limit.*lots"):
            tessera.set_device_memory_limit("lots")
        assert _session._Defaults.device_memory_limit == "2G"
    finally:
        tessera.set_device_memory_limit(None)


def test_set_num_threads() -> None:
    tessera.set_num_threads(3)
    try:
        assert tessera.get_num_threads() == 3
    finally:
        tessera.set_num_threads(None)
    assert tessera.get_num_threads() >= 1
    with pytest.raises(tessera.ArgumentError, match="threads"):
        tessera.set_num_threads(0)


@pytest.fixture
def talkative(epochs: Floats, tmp_path: Path) -> Path:
    """Return a file whose reader logs that its checksum is right."""
    np.savez(tmp_path / "x.npz", data=epochs)
    return tmp_path / "x.npz"


def test_log_goes_to_the_logger(
    talkative: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    ptp_file(talkative)
    assert caplog.records
    assert {record.name for record in caplog.records} == {"tessera"}
    assert str(talkative) in caplog.text
    caplog.clear()
    tessera.set_log_level("WARNING")
    try:
        ptp_file(talkative)
    finally:
        tessera.set_log_level("INFO")
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
    with pytest.raises(tessera.ArgumentError, match="LOUD"):
        tessera.set_log_level("LOUD")


def test_failing_log_callback_is_reported_not_raised(
    talkative: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    def fail(level: int, line: str) -> None:
        raise LookupError(line)

    with tessera.Context(log=fail, log_level=3) as context:
        assert isinstance(ptp_file(talkative, context=context), np.ndarray)
    assert unraisable
    assert all(entry.exc_type is LookupError for entry in unraisable)


# A shell that starts the tests in the background makes them ignore the signal.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, time, tessera
from tessera.autoreject import ptp, ptp_file
x = np.broadcast_to(np.zeros((1, 1, 1 << 20), np.float32), (1 << 20, 1, 1 << 20))
print("ready", flush=True)
try:
    ptp(x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(ptp(np.zeros((2, 2, 2))).shape)
"""


def test_ctrl_c() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], env=python_env(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < MAX_LATENCY_S
        assert process.stdout.readline() == "(2, 2)\n"
        assert process.wait(timeout=30) == 0


def child_ptp(x: Floats) -> Floats:
    return ptp(x, threads=2)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_processes(method: str) -> None:
    x = np.random.default_rng(3).standard_normal((300, 20, 50))
    want = ptp(x, threads=2)  # its threads do not exist in a forked child
    with multiprocessing.get_context(method).Pool(2) as pool:
        for got in pool.map(child_ptp, [x] * 4):
            assert_same_bits(got, want)


def test_threads_and_contexts_at_exit() -> None:
    code = (
        "import numpy as np, tessera, threading\n"
        "from tessera.autoreject import ptp\n"
        "keep = tessera.Context(threads=4)\n"
        "x = np.zeros((100, 10, 100))\n"
        "ptp(x, context=keep)\n"
        "thread = threading.Thread(target=ptp, args=(x,))\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = run_python(code, "-X", "dev", "-W", "error")
    assert (done.returncode, done.stderr) == (0, "")


def test_context_in_a_cycle_is_collected() -> None:
    class Sink:
        context: tessera.Context

        def log(self, level: int, line: str) -> None: ...

    sink = Sink()
    sink.context = tessera.Context(log=sink.log)
    alive = weakref.ref(sink)
    del sink
    gc.collect()
    assert alive() is None


def thread_count() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_no_threads_before_the_first_call(many_epochs: Floats) -> None:
    before = thread_count()
    with tessera.Context(threads=8) as context:
        assert thread_count() == before
        ptp(many_epochs, context=context)
        assert thread_count() > before
    assert thread_count() == before

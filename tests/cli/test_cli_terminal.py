"""What the command does with terminals, pipes, locales and read-only directories."""

import json
import os
import pty
import re
import signal
import subprocess
import time

import numpy as np
from cli_command import injector

# Progress is shown when a tenth of a second is over: a run held for so long has some to show.
DUE_S = 0.2


def in_terminal(tessera, *words, environment=None):
    """Output of the command when stderr is a terminal."""
    leader, follower = pty.openpty()
    process = tessera.popen(
        *words,
        stdout=subprocess.PIPE,
        stderr=follower,
        environment={"TERM": "xterm"} | (environment or {}),
    )
    os.close(follower)
    if environment and "TESS_FAULT_SIGNAL" in environment:
        injector.wait_until_stopped(process)
        time.sleep(DUE_S)
        process.send_signal(signal.SIGCONT)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    process.communicate(timeout=300)
    os.close(leader)
    assert process.returncode == 0
    return b"".join(chunks).decode()


# A run that waits for a moment in its middle is watched on the fastest machine.
WATCHED = ["autoreject", "ptp", "big.npy", "--tile-epochs=8"]
N_WATCHED = 128
MIDDLE = {"kind": "read", "at": 50, "after": "big.npy"}


BAR = r"autoreject\.ptp \[#*\.*\] +\d+ %  [\d.]+ GB/s  ETA \d:\d\d  [\d.]+ [KM]iB"


def test_bar_on_a_terminal_only(tessera, big):
    big(N_WATCHED)
    held = tessera.faulty(signal=signal.SIGSTOP, **MIDDLE)
    shown = in_terminal(tessera, *WATCHED, environment=held)
    bars = [part.split("\033[K")[0] for part in shown.split("\r") if " %  " in part]
    assert bars
    for line in bars:
        assert re.fullmatch(BAR, line) and len(line) < 80, line
    assert "\r\033[K\033[1mtessera:" in shown or shown.endswith("\r\033[K")
    piped = tessera(*WATCHED)
    assert "%" not in piped.stderr and "\r" not in piped.stderr


def test_bar_is_silenced(tessera, big):
    big(N_WATCHED)
    for extra, environment in [
        (["--no-progress"], {}),
        (["--progress=none"], {}),
        (["-q"], {}),
        ([], {"TESSERA_PROGRESS": "none"}),
        ([], {"TERM": "dumb"}),
    ]:
        held = tessera.faulty(signal=signal.SIGSTOP, **MIDDLE)
        shown = in_terminal(tessera, *WATCHED, *extra, environment=environment | held)
        assert "ETA" not in shown, (extra, environment)


def test_no_colour(tessera, epochs):
    words = ["autoreject", "ptp", "epochs.npy"]
    assert "\033[1m" in in_terminal(tessera, *words)
    assert "\033[1m" not in in_terminal(tessera, *words, environment={"NO_COLOR": "1"})
    assert "\033" not in tessera(*words).stderr


def test_progress_as_json_lines(tessera, big):
    big(N_WATCHED)
    result = tessera(*WATCHED, "--progress=json")
    states = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    assert states[-1]["done"] == states[-1]["total"] == N_WATCHED
    assert all(state["schema"] == "tessera.progress/1" for state in states)


def in_shell(tessera, script):
    """The script with "$0" as the command."""
    return subprocess.run(
        ["bash", "-c", script, tessera.binary],
        cwd=tessera.directory,
        env=tessera.environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_closed_stdout_is_an_error_but_the_file_is_written(tessera, epochs, tmp_path):
    result = in_shell(tessera, '"$0" autoreject ptp epochs.npy -q -o p.npy >&-')
    assert result.returncode == 74
    assert result.stderr == "tessera: cannot write to standard output: Bad file descriptor\n"
    assert np.load(tmp_path / "p.npy").shape == (20, 4)


def test_full_stdout_is_an_error(tessera):
    result = in_shell(tessera, '"$0" cite > /dev/full')
    assert result.returncode == 74
    assert result.stderr == "tessera: cannot write to standard output: No space left on device\n"


def test_closed_stderr_changes_nothing(tessera, epochs, tmp_path):
    result = in_shell(tessera, '"$0" autoreject ptp epochs.npy -o p.npy 2>&-')
    assert result.returncode == 0
    assert "median         1\n" in result.stdout
    assert np.load(tmp_path / "p.npy").shape == (20, 4)


def test_messages_never_reach_a_file_that_took_a_closed_descriptor(tessera, epochs, tmp_path):
    assert tessera("autoreject", "ptp", "epochs.npy", "-o", "p.npy").returncode == 0
    for closed in ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]:
        in_shell(tessera, f'"$0" autoreject ptp epochs.npy -vv -o q.npy --overwrite {closed}')
        assert (tmp_path / "q.npy").read_bytes() == (tmp_path / "p.npy").read_bytes(), closed


def test_reader_that_goes_away_is_silent(tessera):
    result = in_shell(tessera, '"$0" help --all | head -1; echo "${PIPESTATUS[0]}"')
    assert result.stdout.splitlines()[-1] in ("141", "0")  # 0: everything fitted into the pipe
    assert result.stderr == ""
    write = 'until [ -e closed ]; do sleep 0.01; done; "$0" help --all'
    result = in_shell(tessera, f"set -o pipefail; ({write}) | (exec <&-; : >closed)")
    assert (result.returncode, result.stderr) == (141, "")


def test_reader_that_goes_away_during_a_run_leaves_nothing_behind(tessera, big, tmp_path):
    big(N_WATCHED)
    process = tessera.held(*WATCHED, "-o", "p.npy", "--progress=json", **MIDDLE)
    process.stderr.close()
    process.stdout.close()
    time.sleep(DUE_S)
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=300) == 141
    (tmp_path / "fault.report").unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["big.npy"]


def test_decimal_comma_locales_change_nothing(tessera, epochs):
    words = ["autoreject", "ptp", "epochs.npy", "--json", "--checkpoint-every", "1.5"]
    plain = tessera(*words)
    german = tessera(*words, environment={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
    assert german.returncode == 0
    assert json.loads(german.stdout)["result"] == json.loads(plain.stdout)["result"]


def test_read_only_directory(tessera, epochs, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    tessera.directory = locked
    result = tessera("autoreject", "ptp", "../epochs.npy")
    assert result.returncode == 0, result.stderr
    if os.geteuid() != 0:  # root may write anywhere
        result = tessera("autoreject", "ptp", "../epochs.npy", "-o", "p.npy")
        assert result.returncode == 73
    result = tessera("demo", "--dir", "/proc/tessera-demo")
    assert result.returncode == 73

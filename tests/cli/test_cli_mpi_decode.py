"""Decoding over ranks: the bytes of one process for any number of them, also when resumed."""

import itertools
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from decode_recordings import track
from test_cli_mpi import hold, mpirun, pytestmark  # noqa: F401

RUN = ["decode", "run", "rec.npz"]
ALL = ["--want", "filter,predictive-posterior,log-likelihood,path"]


def digests(path):
    """Every file of a result; the details beside it tell when and how fast it was made."""
    return {item.name: item.read_bytes() for item in sorted(Path(path).iterdir())}


@pytest.fixture(scope="module")
def recording(tessera_at, tmp_path_factory):
    tessera = tessera_at(tmp_path_factory.mktemp("decode"))
    data = track()
    data["position"][130:140] = np.nan  # not tracked
    np.savez(tessera.directory / "rec.npz", **data)
    spans = "".join(f"{start},{start + 0.33}\n" for start in (4.01, 4.5, 5.2, 6.0, 7.4))
    (tessera.directory / "spans.csv").write_text(spans)
    return tessera


@pytest.mark.parametrize(("n_rank", "threads", "words"), [
    (2, 2, [*ALL, "--chunks", "7"]),
    (3, 1, [*ALL, "--model", "non-local", "--dtype", "f32", "--mode", "exact"]),
    (5, 1, ["--want", "path", "--intervals", "spans.csv", "--chunks", "11"])])
def test_ranks_give_the_bytes_of_one(recording, n_rank, threads, words):
    folder = recording.directory
    one = recording(*RUN, *words, "-o", f"one{n_rank}", "--json")
    assert one.returncode == 0, one.stderr
    result = mpirun(recording, n_rank, *RUN, *words, "-o", f"r{n_rank}", "--threads", threads,
                    "--json")
    assert result.returncode == 0, result.stderr
    assert len(digests(folder / f"one{n_rank}")) > 4
    assert digests(folder / f"r{n_rank}") == digests(folder / f"one{n_rank}")
    want, got = (json.loads(text) for text in (one.stdout, result.stdout))
    assert got["score"] == want["score"]
    assert got["result"] == want["result"] | {"path": f"r{n_rank}"}


def bunched():
    """Nearly all spikes that are decoded lie in one time bin: some ranks have no row."""
    data = track()
    times = data["spike_times"].copy()
    late = times > 4.2
    times[late] = np.linspace(5.0001, 5.0099, late.sum())
    for begin, end in itertools.pairwise(data["spike_offsets"]):
        times[begin:end] = np.sort(times[begin:end])
    return data | {"spike_times": times}


def test_ranks_without_rows(recording):
    np.savez(recording.directory / "bunched.npz", **bunched())
    words = ["decode", "run", "bunched.npz", *ALL, "--threads", "1"]
    one = recording(*words, "-o", "bunched1", "--json")
    assert one.returncode == 0, one.stderr
    result = mpirun(recording, 5, *words, "-o", "bunched5", "--json")
    assert result.returncode == 0, result.stderr
    folder = recording.directory
    assert digests(folder / "bunched5") == digests(folder / "bunched1")
    want, got = (json.loads(text)["result"] for text in (one.stdout, result.stdout))
    assert got == want | {"path": "bunched5"}


def test_another_number_of_ranks_goes_on(recording):
    """Three ranks are stopped as soon as something is kept; two go on."""
    words = [*RUN, *ALL, "--chunks", "200", "--threads", "1", "--checkpoint", "work", "--resume",
             "-o", "stopped"]
    job, ranks = hold(recording, 3, *words, "--checkpoint-every", "0", kind="rename", at=4,
                      after="lock")
    with job:
        job.terminate()
        os.kill(ranks[0], signal.SIGCONT)
        job.communicate(timeout=300)
    assert job.returncode != 0
    assert any(recording.directory.glob("work/*.ckpt"))
    result = mpirun(recording, 2, *words)
    assert result.returncode == 0, result.stderr
    assert "resumed from" in result.stderr
    whole = recording(*RUN, *ALL, "-o", "whole")
    assert whole.returncode == 0, whole.stderr
    assert digests(recording.directory / "stopped") == digests(recording.directory / "whole")
    assert not (recording.directory / "work").exists()
    again = mpirun(recording, 2, *words)  # it is done
    assert again.returncode == 0, again.stderr


def test_a_result_in_the_way_is_said_once(recording):
    (recording.directory / "there").mkdir()
    result = mpirun(recording, 3, *RUN, "-o", "there")
    assert result.returncode != 0
    assert "exists" in result.stderr


def test_shuffles_of_events(recording):
    """Tables but for their first line, the provenance; then one that was stopped goes on."""
    folder = recording.directory
    counts = ["--electrodes", "4", "--encoding-spikes", "3000", "--decoding-spikes", "4000"]
    made = recording("decode", "simulate", "day-1d", "-o", "ev.npz", "--time-bins", "20000",
                     *counts, "-q")
    assert made.returncode == 0, made.stderr
    words = ["decode", "events", "ev.npz", "--shuffles", "41", "--threads", "1"]
    one = recording(*words, "-o", "one.csv")
    assert one.returncode == 0, one.stderr
    want = (folder / "one.csv").read_text().splitlines()[1:]
    assert len(want) > 5
    for n_rank in (2, 5):
        result = mpirun(recording, n_rank, *words, "-o", f"r{n_rank}.csv")
        assert result.returncode == 0, result.stderr
        assert (folder / f"r{n_rank}.csv").read_text().splitlines()[1:] == want
        assert result.stdout.count("shuffle time") == 1
    kept = [*words, "--checkpoint", "tests", "--checkpoint-every", "0", "--resume", "-o", "go.csv"]
    stopped = mpirun(recording, 3, *kept, "--time-limit", "0.01")
    assert stopped.returncode in (0, 2, 75), stopped.stderr
    result = mpirun(recording, 2, *kept)
    assert result.returncode == 0, result.stderr
    assert (folder / "go.csv").read_text().splitlines()[1:] == want
    assert not (folder / "tests").exists()

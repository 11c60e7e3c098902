"""Decoding over ranks: the bytes of one process for any number of them, also when resumed."""

import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from decode_recordings import track
from test_cli_mpi import command, environment, mpirun, pytestmark  # noqa: F401

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


def test_another_number_of_ranks_goes_on(recording):
    """Three ranks are stopped as soon as something is kept; two go on."""
    words = [*RUN, *ALL, "--chunks", "25", "--threads", "1", "--checkpoint", "work",
             "--checkpoint-every", "0", "--resume", "-o", "stopped"]
    with subprocess.Popen(command(3, *words), cwd=recording.directory, text=True,
                          env=environment(recording), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as job:
        while job.poll() is None and not any(recording.directory.glob("work/*.ckpt")):
            time.sleep(0.002)
        job.terminate()
        job.communicate(timeout=30)
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

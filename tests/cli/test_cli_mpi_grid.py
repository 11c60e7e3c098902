"""Commands that divide their work, by ranks and by threads: the bytes of one process.

The table says what there is; every number of ranks and threads is tried on every line of it with
TESSERA_MPI_GRID=all (./dev mpi), and there a rank of each is killed, too. Otherwise each line has
one cell of the grid, of which none has the ranks of its neighbours.
"""

import itertools
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from decode_recordings import track
from test_cli_mpi import contents, mpirun, pytestmark, ranks_of, start  # noqa: F401
from test_cli_mpi_study import digests

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from study_trees import tree

ALL = os.environ.get("TESSERA_MPI_GRID") == "all"
RANKS = (1, 2, 3, 5)
THREADS = (1, 2)


def rows(path):
    """A table but for its first line, which names the command."""
    return path.read_text().splitlines()[1:]


@dataclass(frozen=True)
class Line:
    """A command, its result and how to read that; more words make it last, for a kill."""

    words: list
    out: str = "{}"
    read: object = contents
    longer: tuple = ()
    kept: str = "{}-work/**/*.ckpt"  # what is there when work is kept
    checkpoint: bool = True


FIT = ["xpcs", "fit", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004"]
DRAW = ["xpcs", "mcmc", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004", "--n-chains",
        "2", "--n-warmup", "20", "--min-ess", "0", "--max-rhat", "99"]
DECODE = ["decode", "run", "rec.npz", "--want", "filter,predictive-posterior,log-likelihood,path"]
EVENTS = ["decode", "events", "ev.npz"]
STUDY = ["autoreject", "study", "bids", "--tmin", "-0.05", "--tmax", "0.3", "--n-interpolate",
         "1,3", "--consensus", "0.3,0.6", "--n-fold", "4"]
TABLE = {
    "fit": Line(FIT, longer=("--uncertainty", "block_bootstrap", "--n-bootstrap", "150")),
    "streamed fit": Line([*FIT, "--strategy", "streaming"],
                         longer=("--uncertainty", "block_bootstrap", "--n-bootstrap", "60")),
    "profile": Line([*FIT, "--uncertainty", "profile", "--n-start", "3"]),
    "draws": Line([*DRAW, "--n-samples", "20"], longer=("--n-samples", "60"),
                  kept="{}-work/draws/*.ckpt"),
    "decode": Line(DECODE, read=digests, longer=("--chunks", "200")),
    "events": Line([*EVENTS, "--shuffles", "11"], out="{}.csv", read=rows,
                   longer=("--shuffles", "200")),
    "study": Line(STUDY, read=digests, kept="{}/sub-*/eeg/*.json", checkpoint=False),
}
CELLS = list(itertools.product(RANKS, THREADS))
GRID = ([(name, *cell) for name in TABLE for cell in CELLS] if ALL else
        [(name, *CELLS[(3 * k + 2) % len(CELLS)]) for k, name in enumerate(TABLE)])


@pytest.fixture(scope="module")
def inputs(tessera_at, tmp_path_factory):
    tessera = tessera_at(tmp_path_factory.mktemp("grid"))
    tree(tessera.directory / "bids", n_subject=6)
    np.savez(tessera.directory / "rec.npz", **track())
    lines = [["xpcs", "simulate", "-o", "s.txc2", *FIT[3:5], "--n-angle", "2", "--n-frame", "240",
              *FIT[5:]],
             ["decode", "simulate", "day-1d", "-o", "ev.npz", "--time-bins", "20000",
              "--electrodes", "4", "--encoding-spikes", "3000", "--decoding-spikes", "4000"]]
    for line in lines:
        made = tessera(*line, "-q")
        assert made.returncode == 0, made.stderr
    tessera.whole = {}
    return tessera


def whole(inputs, name, more=()):
    """What one process makes of it, once."""
    line, key = TABLE[name], (name, more)
    if key not in inputs.whole:
        out = line.out.format(f"whole{len(inputs.whole)}")
        result = inputs(*line.words, *more, "-o", out, "--threads", "1")
        assert result.returncode == 0, result.stderr
        inputs.whole[key] = line.read(inputs.directory / out)
        assert len(inputs.whole[key]) > 0
    return inputs.whole[key]


@pytest.mark.parametrize(("name", "n_rank", "threads"), GRID)
def test_the_bytes_of_one_process(inputs, name, n_rank, threads):
    line = TABLE[name]
    out = line.out.format(f"{name.split()[0]}{n_rank}x{threads}{len(name)}")
    result = mpirun(inputs, n_rank, *line.words, "-o", out, "--threads", threads)
    assert result.returncode == 0, result.stderr
    assert line.read(inputs.directory / out) == whole(inputs, name)


def kill_one(inputs, line, own, words):
    """A rank of three, as soon as there is something to go on from."""
    with start(inputs, 3, *words) as job:
        end = time.monotonic() + 60
        while not any(inputs.directory.glob(line.kept.format(own))):
            assert job.poll() is None, job.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.001)
        os.kill(ranks_of(job, 3)[2], signal.SIGKILL)
        begin = time.monotonic()
        _, errors = job.communicate(timeout=60)
        assert time.monotonic() - begin < 10
        assert job.returncode == 137, errors


@pytest.mark.skipif(not ALL, reason="./dev mpi runs it")
@pytest.mark.parametrize("name", [n for n, line in TABLE.items()
                                  if line.longer or not line.checkpoint])
def test_killed_with_three_it_goes_on_with_two(inputs, name):
    line = TABLE[name]
    own = f"killed-{name.split()[0]}{len(name)}"
    out = line.out.format(own)
    words = [*line.words, *line.longer, "-o", out, "--threads", "1"]
    keep = ["--resume", *(["--checkpoint", f"{own}-work"] if line.checkpoint else [])]
    often = ["--checkpoint-every", "0"] if line.checkpoint else []
    kill_one(inputs, line, own, [*words, *keep, *often])
    result = mpirun(inputs, 2, *words, *keep)
    assert result.returncode == 0, result.stderr
    assert ("resumed from" in result.stderr) == line.checkpoint
    assert line.read(inputs.directory / out) == whole(inputs, name, line.longer)

"""Commands that divide their work, by ranks and by threads: the bytes of one process.

The table says what there is; every number of ranks and threads is tried on every line of it with
TESSERA_MPI_GRID=all (./dev mpi), and there a rank of each is killed, too. Otherwise each line has
one cell of the grid, of which none has the ranks of its neighbours.
"""

import itertools
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from decode_recordings import track
from test_cli_mpi import contents, hold, mpirun, pytestmark  # noqa: F401
from test_cli_mpi_study import digests

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from study_trees import tree

ALL = os.environ.get("TESSERA_MPI_GRID") == "all"
RANKS = (1, 2, 3, 5)
THREADS = (1, 2)


def rows(path):
    """A table but for its first line, which names the command."""
    return path.read_text().splitlines()[1:]


def bare(path):
    """A model, which knows neither when nor how fast it was made."""
    return path.read_bytes()


def epochs():
    """Noise on sixteen electrodes of a cap, larger here and there."""
    rng = np.random.default_rng(4)
    angle = np.linspace(0.2, 5.9, 16)
    place = 0.09 * np.stack([np.cos(angle), np.sin(angle), np.linspace(0.1, 0.8, 16)], axis=1)
    x = rng.normal(0, 1e-5, (50, 16, 800))
    x[rng.random((50, 16)) < 0.06] *= 8
    return {"data": x, "pos": place, "sfreq": 250.0,
            "ch_names": np.array([f"E{i}" for i in range(16)])}


@dataclass(frozen=True)
class Line:
    """A command, its result and how to read that; more words make it last, for a kill."""

    words: list
    out: str = "{}"
    read: object = contents
    longer: tuple = ()
    kept: str = "{}-work/**/*.ckpt"  # what is there when work is kept
    lock: str = "lock"  # the end of its path: from then on work is kept
    checkpoint: bool = True


FIT = ["xpcs", "fit", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004"]
DRAW = ["xpcs", "mcmc", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004", "--n-chains",
        "2", "--n-warmup", "20", "--min-ess", "0", "--max-rhat", "99"]
DECODE = ["decode", "run", "rec.npz", "--want", "filter,predictive-posterior,log-likelihood,path"]
EVENTS = ["decode", "events", "ev.npz"]
STUDY = ["autoreject", "study", "bids", "--tmin", "-0.05", "--tmax", "0.3", "--n-interpolate",
         "1,3", "--consensus", "0.3,0.6", "--n-fold", "4"]
LEARN = ["autoreject", "fit", "epochs.npz", *STUDY[7:]]
TABLE = {
    "fit": Line(FIT, longer=("--uncertainty", "block_bootstrap", "--n-bootstrap", "150")),
    "streamed fit": Line([*FIT, "--strategy", "streaming"],
                         longer=("--uncertainty", "block_bootstrap", "--n-bootstrap", "60")),
    "profile": Line([*FIT, "--uncertainty", "profile", "--n-start", "3"]),
    "draws": Line([*DRAW, "--n-samples", "20"], longer=("--n-samples", "24"),
                  kept="{}-work/draws/*.ckpt", lock="draws/lock"),
    "decode": Line(DECODE, read=digests, longer=("--chunks", "200")),
    "events": Line([*EVENTS, "--shuffles", "11"], out="{}.csv", read=rows,
                   longer=("--shuffles", "200")),
    "thresholds": Line(["autoreject", "thresholds", "epochs.npz"], out="{}.json", read=bare),
    "learn": Line(LEARN, out="{}.json", read=bare,
                  longer=("--memory-limit", "9M", "--n-split", "40")),
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
    np.savez(tessera.directory / "epochs.npz", **epochs())
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
    """A rank of three, when there is something to go on from: before the third rename."""
    after = line.lock if line.checkpoint else ""
    job, ranks = hold(inputs, 3, *words, kind="rename", at=3, after=after)
    has_kept = any(inputs.directory.glob(line.kept.format(own)))
    with job:
        os.kill(ranks[2], signal.SIGKILL)
        os.kill(ranks[0], signal.SIGCONT)
        _, errors = job.communicate(timeout=300)
        assert job.returncode == 137, errors
    assert has_kept


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


def test_thresholds_that_one_process_began_three_ranks_finish(inputs):
    """Killed in the middle of a pass, whose sums are then divided."""
    words = ["autoreject", "thresholds", "epochs.npz", "--n-split", "60", "-o", "begun.json",
             "--threads", "1", "--checkpoint", "begun"]
    fault = inputs.faulty(kind="rename", mode="kill", at=6)  # before the sixth checkpoint is there
    killed = inputs(*words, "--checkpoint-every", "0", "-q", environment=fault)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert any(inputs.directory.glob("begun/*.ckpt"))
    result = mpirun(inputs, 3, *words, "--resume")
    assert result.returncode == 0, result.stderr
    assert "resumed from" in result.stderr
    assert inputs(*words[:5], "-o", "at_once.json").returncode == 0
    assert bare(inputs.directory / "begun.json") == bare(inputs.directory / "at_once.json")

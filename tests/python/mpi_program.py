"""What ranks of test_distributed_mpi.py run: calls that divide their work, and what came of them.

Writes the digests of every result to OUT/RANK.json; without MPI as rank 0. The second word says how
the ranks work together: alone, world, halves (two communicators that each do all of it), broken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tessera
import tessera.decode as td
import tessera.distributed
from study_trees import tree
from tessera import autoreject, xpcs


def digest(*arrays: Any) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def xpcs_results() -> dict[str, str]:
    data = xpcs.simulate(mode="static_isotropic", n_angle=2, n_frame=240, dt=0.1, sigma=0.01)
    fitted = xpcs.fit(data, mode="static_isotropic", sigma=0.01)
    drawn = xpcs.sample(fitted, n_chains=2, n_warmup=6, n_draws=6, min_ess=0, max_rhat=99.0)
    return {
        "fit": digest(fitted.theta, fitted.covariance),
        "draws": digest(*(drawn[name] for name in drawn.names)),
    }


def decode_results(out: Path) -> dict[str, str]:
    rng = np.random.default_rng(3)
    time = np.arange(0, 60, 0.01)
    x = np.where(time < 40, 20 + 20 * np.sin(time), 20.0)[:, None]
    times, marks = [], []
    for e in range(4):
        near = np.exp(-(((x[:, 0] - 8.0 * e - 6) / 6) ** 2))
        rest = np.concatenate([t + np.sort(rng.random(6)) * 0.16 for t in np.arange(42, 50, 2.0)])
        run = time[rng.random(len(time)) < 0.4 * near]
        times.append(np.sort(np.concatenate([run[run < 40], rest])))
        marks.append(rng.normal(60 + 20 * e, 15, (len(times[-1]), 2)))
    model = td.ContFragClusterlessClassifier(
        environments=td.Environment(place_bin_size=4.0),
        clusterless_algorithm_params={"position_std": 4.0, "waveform_std": 20.0},
        sampling_frequency=100,
    )
    model.fit(time, x, times, marks, is_training=time < 40)
    found = model.predict(times, marks, time=time, n_chunks=7)
    events = np.array([[t, t + 0.16] for t in np.arange(42, 50, 2.0)])
    tested, _ = td.events.shuffle_test(
        model, events, times, marks, position_time=time, position=x, shuffles=2
    )
    numbers = tested.select_dtypes("number").to_numpy()
    model.predict_file(out / "day", times, marks, time=time)
    kept = sorted((out / "day").iterdir())
    return {
        "predict": digest(found["acausal_posterior"].values),
        "events": digest(numbers),
        "file": digest(*(np.frombuffer(p.read_bytes(), np.uint8) for p in kept)),
    }


def study_results(bids: Path, out: Path) -> dict[str, str]:
    found = autoreject.study(
        bids, out / "study", tmin=-0.05, tmax=0.3, n_interpolate=[1], cv=4, consensus=[0.3, 0.6]
    )
    log = [recording.reject_log().labels for recording in found]
    return {"study": digest(*log, *(list(r.model().threshes_.values()) for r in found))}


def all_results(bids: Path, out: Path) -> dict[str, str]:
    return xpcs_results() | decode_results(out) | study_results(bids, out)


def own_error(comm: Any) -> str:
    """Return what the others hear of an error that one rank found in Python."""
    with tessera.Context(comm=f"mpi:{comm.py2f()}") as context:
        try:
            context.leave(tessera.ArgumentError("theta is not mine") if comm.rank == 1 else None)
        except tessera.Error as error:
            return str(error)
    return "nothing"


def other_steps(is_second: bool, *, has_chunks: bool) -> str:
    """Return what is said where the second predicts in other steps, or other spikes."""
    time = np.arange(0, 4, 0.01)
    x = 20 + 20 * np.sin(time)[:, None]
    times, marks = [time[::9]], [np.ones((len(time[::9]), 1))]
    model = td.ContFragClusterlessClassifier(
        environments=td.Environment(place_bin_size=4.0),
        clusterless_algorithm_params={"position_std": 4.0, "waveform_std": 20.0},
        sampling_frequency=100,
    )
    model.fit(time, x, times, marks)
    n_chunk = 2 + 2 * (is_second and has_chunks)
    marks = [marks[0] + (is_second and not has_chunks)]
    try:
        model.predict(times, marks, time=time, n_chunks=n_chunk)
    except tessera.Error as error:
        return str(error)
    return "nothing"


def broken(comm: Any) -> dict[str, str]:
    """One rank wants something else: all hear of it, and go on together."""
    chunks = other_steps(comm.rank == 1, has_chunks=True)
    rows = other_steps(comm.rank == 1, has_chunks=False)
    own = own_error(comm)
    data = xpcs.simulate(mode="static_isotropic", n_angle=2, n_frame=240, dt=0.1, sigma=0.01)
    try:
        xpcs.fit(data, mode="static_isotropic", sigma=0.01, n_start=1 + comm.rank)
        said = "nothing"
    except tessera.Error as error:
        said = f"{type(error).__name__}: {error}"
    fitted = xpcs.fit(data, mode="static_isotropic", sigma=0.01)
    return {"said": said, "chunks": chunks, "rows": rows, "own": own, "fit": digest(fitted.theta)}


def main() -> None:
    out, how = Path(sys.argv[1]), sys.argv[2]
    rank = 0
    with contextlib.ExitStack() as stack:
        if how != "alone":
            from mpi4py import MPI

            comm: MPI.Comm = MPI.COMM_WORLD
            rank = comm.rank
            if rank == 0:
                tree(out / "bids")
            comm.Barrier()
            if how == "halves":
                comm = comm.Split(rank % 2, rank)
            part = out / f"part{rank % 2}" if how == "halves" else out
            if comm.rank == 0:
                part.mkdir(exist_ok=True)
            comm.Barrier()
            ranks = stack.enter_context(tessera.distributed.use(comm))
            assert (ranks.rank, ranks.size) == (comm.rank, comm.size)
        else:
            part = out
            tree(out / "bids")
        found = broken(comm) if how == "broken" else all_results(out / "bids", part)
    (out / f"{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()

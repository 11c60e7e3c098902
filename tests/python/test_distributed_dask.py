"""Tasks of Dask: a local cluster gives what a loop gives, and errors say where."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import python_env
from study_trees import tree
from tessera import ArgumentError, autoreject, xpcs

dask: Any = pytest.importorskip("dask")
distributed: Any = pytest.importorskip("distributed")

from tessera.distributed import dask as tasks  # noqa: E402


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def peaks(path: str, scale: float) -> Any:
    return scale * autoreject.ptp(np.load(path))


def test_recordings(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    paths = [tmp_path / f"{name}.npy" for name in "abc"]
    for path in paths:
        np.save(path, rng.normal(size=(5, 4, 50)))
    made = tasks.per_recording(peaks, paths, threads=1, scale=2.0)
    found = dask.compute(made)[0]
    assert list(found) == [str(path) for path in paths]
    for path in paths:
        np.testing.assert_array_equal(found[str(path)], peaks(str(path), 2.0))


def test_an_error_names_its_recording(client: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", np.zeros((2, 3, 4)))
    missing = tmp_path / "missing.npy"
    made = tasks.per_recording(peaks, [tmp_path / "good.npy", missing], scale=1.0)
    with pytest.raises(tasks.TaskError, match=r"missing\.npy: FileNotFoundError: ") as caught:
        dask.compute(made)
    assert (caught.value.task, caught.value.kind) == (str(missing), "FileNotFoundError")
    assert made[str(tmp_path / "good.npy")].compute().shape == (2, 3)


def test_tasks_are_called_after_what_they_do(tmp_path: Path) -> None:
    """Where a worker dies (of want of memory, say) Dask has nothing but the name of the task."""
    named = tasks.per_recording(peaks, ["a.npz", "b.npz"], scale=1.0)
    again = tasks.per_recording(peaks, ["a.npz"], scale=2.0)
    assert named["b.npz"].key.startswith("b.npz-")
    assert named["a.npz"].key != again["a.npz"].key
    by_q = tasks.per_q(tmp_path / "run.hdf", [0.01])
    assert by_q[0.01].key.startswith(f"{tmp_path / 'run.hdf'}, q 0.01-")


def test_wave_vectors(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.hdf"
    xpcs.simulate_file(path, n_angle=3, n_frame=30)
    q = float(xpcs.load(path, gap=2e6).q[0])
    made = tasks.per_q(path, [q], load={"gap": 2e6}, mode="static_isotropic")
    found = dask.compute(made)[0][q]
    alone = xpcs.fit(xpcs.load(path, gap=2e6), mode="static_isotropic")
    np.testing.assert_array_equal(found.theta, alone.theta)
    for wrong in (0.0, -1.0, float("nan"), "0.1"):
        with pytest.raises(ArgumentError, match="positive numbers in 1/Å"):
            tasks.per_q(path, [wrong])  # type: ignore[list-item]


def test_subjects(client: Any, tmp_path: Path) -> None:
    bids = tree(tmp_path / "bids")
    options: dict[str, Any] = {"tmin": -0.05, "tmax": 0.3, "n_interpolate": [1], "cv": 4}
    found = tasks.per_subject(bids, tmp_path / "tasks", consensus=[0.3, 0.6], **options).compute()
    alone = autoreject.study(bids, tmp_path / "alone", consensus=[0.3, 0.6], **options)
    assert [r.name for r in found] == [r.name for r in alone]
    assert {r.state for r in found} == {"done already"}  # the tasks did them
    assert sorted(p.name for p in tmp_path.iterdir()) == ["alone", "bids", "tasks"]
    for ours, want in zip(found, alone, strict=True):
        assert ours.model().threshes_ == want.model().threshes_
        np.testing.assert_array_equal(ours.reject_log().labels, want.reject_log().labels)
    group = "group_desc-autoreject_recordings.tsv"
    assert (tmp_path / "tasks" / group).read_bytes() == (tmp_path / "alone" / group).read_bytes()
    with pytest.raises(ArgumentError, match="dry_run"):
        tasks.per_subject(bids, tmp_path / "tasks", dry_run=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((peaks, []), "the list is empty"),
        ((peaks, "a.npy"), r"write \['a.npy'\]"),
        ((peaks, ["a", "a"]), "a is there twice"),
        ((None, ["a"]), "cannot be called"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        tasks.per_recording(*arguments)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_bad_threads(threads: Any) -> None:
    with pytest.raises(ArgumentError, match="threads: a number from 1 on"):
        tasks.per_recording(peaks, ["a"], threads=threads)


def test_without_dask() -> None:
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "import tessera.distributed\n"
        "try: tessera.distributed.dask\n"
        "except ImportError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env=python_env(), capture_output=True, text=True, check=True
    )
    assert "pip install 'dask[distributed]'" in said.stdout

"""Files in and out: .npy, .npz and HDF5, tiles, limits, checkpoints, reports."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from helpers import Floats, assert_same_bits, numpy_ptp, run_python
from tessera.autoreject import ptp_file, simulate
from tessera.decode import read_recording, simulate_recording

h5py = pytest.importorskip("h5py", reason="h5py writes and checks the HDF5 files")

FORMATS = ["npy", "npz", "npz-deflated", "h5", "h5-chunked"]


@functools.cache
def why_no_hdf5() -> str:
    """Return what a build without HDF5 says of an HDF5 file; empty if it reads them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.h5"
        with h5py.File(path, "w") as file:
            file["data"] = [1.0]
        try:
            tessera.info(path)
        except tessera.DeviceError as error:
            return str(error)
    return ""


def need(name: str) -> None:
    if "h5" in name and why_no_hdf5():
        pytest.skip(why_no_hdf5())


def write(path: Path, kind: str, x: Any) -> Path:
    need(kind)
    path = path / f"x.{kind.partition('-')[0]}"
    if kind == "npy":
        np.save(path, x)
    elif kind == "npz":
        np.savez(path, data=x)
    elif kind == "npz-deflated":
        np.savez_compressed(path, data=x)
    else:
        chunked = {"chunks": (2, 3, 64), "compression": "gzip"} if kind == "h5-chunked" else {}
        with h5py.File(path, "w") as file:
            file.create_dataset("data", data=x, **chunked)
    return path


def read(path: Path, name: str = "data") -> Any:
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        with np.load(path) as members:
            return members[name]
    with h5py.File(path) as file:
        return file[name][...]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("tile_epochs", [0, 2])
def test_formats_in(epochs: Floats, tmp_path: Path, kind: str, tile_epochs: int) -> None:
    path = write(tmp_path, kind, epochs)
    got = ptp_file(path, tile_epochs=tile_epochs)
    assert isinstance(got, np.ndarray)
    assert_same_bits(got, numpy_ptp(epochs))


@pytest.mark.parametrize("suffix", ["npy", "npz", "h5"])
def test_formats_out(epochs: Floats, tmp_path: Path, suffix: str) -> None:
    need(suffix)
    path = write(tmp_path, "npy", epochs)
    output = tmp_path / f"ptp.{suffix}"
    assert ptp_file(path, output, tile_epochs=2) == output
    assert_same_bits(read(output), numpy_ptp(epochs))
    info = tessera.info(output)
    assert info["datasets"][0]["shape"] == epochs.shape[:2]
    assert tessera.__version__ in str(info["provenance"])


@pytest.mark.parametrize("suffix", ["npy", "npz", "h5"])
def test_result_of_one_run_is_input_of_the_next(tmp_path: Path, suffix: str) -> None:
    need(suffix)
    made = simulate(tmp_path / f"x.{suffix}", epochs=5, channels=4, samples=33, seed=7)
    in_memory = simulate(epochs=5, channels=4, samples=33, seed=7)
    assert isinstance(made, Path)
    assert isinstance(in_memory, np.ndarray)
    assert_same_bits(read(made), in_memory)
    got = ptp_file(made)
    assert isinstance(got, np.ndarray)
    assert_same_bits(got, numpy_ptp(in_memory))


@pytest.mark.parametrize("kind", FORMATS)
def test_big_endian(epochs: Floats, tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind, epochs.astype(epochs.dtype.newbyteorder(">")))
    got = ptp_file(path)
    assert isinstance(got, np.ndarray)
    assert_same_bits(got, numpy_ptp(epochs))


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_fortran_order(epochs: Floats, tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind, np.asfortranarray(epochs))
    got = ptp_file(path, tile_epochs=3)
    assert isinstance(got, np.ndarray)
    assert_same_bits(got, numpy_ptp(epochs))


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_several_datasets(epochs: Floats, tmp_path: Path, suffix: str) -> None:
    need(suffix)
    path = tmp_path / f"many.{suffix}"
    if suffix == "npz":
        np.savez(path, first=epochs, second=epochs * 2)
    else:
        with h5py.File(path, "w") as file:
            file["first"] = epochs
            file["second"] = epochs * 2
    with pytest.raises(tessera.Error, match=r"first.*second"):
        ptp_file(path)
    with pytest.raises(tessera.Error, match="nonsense"):
        ptp_file(path, dataset="nonsense")
    got = ptp_file(path, dataset="second")
    assert isinstance(got, np.ndarray)
    assert_same_bits(got, numpy_ptp(epochs * 2))
    assert len(tessera.info(path)["datasets"]) == 2


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_output_dataset(epochs: Floats, tmp_path: Path, suffix: str) -> None:
    need(suffix)
    path = write(tmp_path, "npy", epochs)
    output = ptp_file(path, tmp_path / f"ptp.{suffix}", output_dataset="amplitude")
    assert isinstance(output, Path)
    assert_same_bits(read(output, "amplitude"), numpy_ptp(epochs))


def test_text_bytes_and_unicode_paths(epochs: Floats, tmp_path: Path) -> None:
    folder = tmp_path / "Ärger & 雪"
    folder.mkdir()
    path = write(folder, "npy", epochs)
    assert ptp_file(str(path), str(folder / "out.npy")) == folder / "out.npy"
    with pytest.raises(TypeError):
        ptp_file(3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="null"):
        ptp_file("a\0b")


def test_missing_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy") as caught:
        ptp_file("nowhere.npy")
    assert isinstance(caught.value, tessera.NotFoundError)
    assert caught.value.exit_code == 66


def test_not_a_data_file(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_text("this is no array")
    with pytest.raises(tessera.FormatError, match=r"x\.npy"):
        ptp_file(path)


@pytest.mark.parametrize("kind", ["npy", "h5"])
def test_truncated_file(tmp_path: Path, kind: str) -> None:
    x = np.random.default_rng(4).standard_normal((8, 4, 100))
    path = write(tmp_path, kind, x)
    os.truncate(path, path.stat().st_size - x.nbytes // 4)
    with pytest.raises(tessera.FormatError, match=rf"x\.{kind}") as caught:
        ptp_file(path)
    assert caught.value.exit_code == 65
    if kind == "npy":
        assert isinstance(caught.value, tessera.TruncatedError)
        got = ptp_file(path, allow_truncated=True)
        assert isinstance(got, np.ndarray)
        assert_same_bits(got, numpy_ptp(x[:6]))


def test_wrong_shape_and_type_in_files(tmp_path: Path) -> None:
    with pytest.raises(tessera.ShapeError):
        ptp_file(write(tmp_path, "npy", np.zeros((2, 3))))
    with pytest.raises(tessera.DTypeError):
        ptp_file(write(tmp_path, "npz", np.zeros((2, 3, 4), np.int16)))


def test_existing_output_is_kept(epochs: Floats, tmp_path: Path) -> None:
    path = write(tmp_path, "npy", epochs)
    output = tmp_path / "ptp.npy"
    output.write_text("precious")
    with pytest.raises(FileExistsError) as caught:
        ptp_file(path, output)
    assert isinstance(caught.value, tessera.OutputExistsError)
    assert output.read_text() == "precious"
    ptp_file(path, output, overwrite=True)
    assert_same_bits(np.load(output), numpy_ptp(epochs))


def test_output_folder_missing(epochs: Floats, tmp_path: Path) -> None:
    path = write(tmp_path, "npy", epochs)
    with pytest.raises(OSError, match="nowhere"):
        ptp_file(path, tmp_path / "nowhere" / "ptp.npy")


LIMITED = """
import sys
from tessera.autoreject import ptp_file
seen = []
ptp_file(sys.argv[1], sys.argv[2], memory_limit="96M", progress=seen.append)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seen[-1].strategy, int(peak.split()[1]) * 1024)
"""


def test_memory_limit(tmp_path: Path) -> None:
    x = np.random.default_rng(6).standard_normal((2500, 64, 250), np.float32)
    path = write(tmp_path, "npy", x)
    assert path.stat().st_size > 150 << 20
    # A process of its own: this one holds the data already.
    done = run_python(LIMITED, arguments=[str(path), str(tmp_path / "ptp.npy")])
    assert done.stderr == ""
    strategy, peak = done.stdout.split()
    assert strategy in ("CHUNKED", "STREAMING")
    assert int(peak) < 96 << 20
    assert_same_bits(np.load(tmp_path / "ptp.npy"), numpy_ptp(x))


def test_memory_limit_too_small(epochs: Floats, tmp_path: Path) -> None:
    with pytest.raises(tessera.MemoryLimitError, match=r"limit"):
        ptp_file(write(tmp_path, "npy", epochs), memory_limit=4096)


def test_stopped_run_leaves_nothing(epochs: Floats, tmp_path: Path) -> None:
    path = write(tmp_path, "npy", epochs)

    def stop(progress: tessera.Progress) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        ptp_file(path, tmp_path / "ptp.npy", tile_epochs=1, progress=stop)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]


def stop_late(progress: tessera.Progress) -> None:
    if progress.done > progress.total // 2:
        raise KeyboardInterrupt


def checkpointed(folder: Path) -> dict[str, Any]:
    return {"tile_epochs": 10, "checkpoint": folder / "checkpoint", "checkpoint_every": 0}


def test_resume_gives_the_same_bits(many_epochs: Floats, tmp_path: Path) -> None:
    path = write(tmp_path, "npy", many_epochs)
    output = tmp_path / "ptp.npy"
    with pytest.raises(KeyboardInterrupt) as caught:
        ptp_file(path, output, **checkpointed(tmp_path), progress=stop_late)
    assert "resume=True" in caught.value.__notes__[0]
    assert not output.exists()
    done: list[int] = []
    ptp_file(
        path,
        output,
        **checkpointed(tmp_path),
        resume=True,
        progress=lambda progress: done.append(progress.done),
    )
    assert done[0] > len(many_epochs) // 2
    assert_same_bits(np.load(output), numpy_ptp(many_epochs))


def test_checkpoint_of_other_data_is_refused(many_epochs: Floats, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    path = write(tmp_path, "npy", many_epochs)
    other = write(tmp_path / "other", "npy", many_epochs + 1)
    with pytest.raises(KeyboardInterrupt):
        ptp_file(path, tmp_path / "ptp.npy", **checkpointed(tmp_path), progress=stop_late)
    with pytest.raises(tessera.CheckpointError):
        ptp_file(other, tmp_path / "ptp.npy", **checkpointed(tmp_path), resume=True)


def test_resume_needs_a_checkpoint(epochs: Floats, tmp_path: Path) -> None:
    with pytest.raises(tessera.ArgumentError, match=r"resume.*checkpoint"):
        ptp_file(write(tmp_path, "npy", epochs), resume=True)


@pytest.mark.parametrize("output", [None, "ptp.h5"])
def test_report(epochs: Floats, tmp_path: Path, output: str | None) -> None:
    path = write(tmp_path, "npy", epochs)
    need(output or "")
    report = tmp_path / "report.html"
    ptp_file(path, None if output is None else tmp_path / output, report=report)
    text = report.read_text()
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "http://" not in text.replace("http://www.w3.org", "")
    with pytest.raises(tessera.OutputExistsError):
        ptp_file(path, report=report)


def test_simulate_is_reproducible() -> None:
    a = simulate(epochs=6, channels=5, samples=40, seed=1, threads=1)
    b = simulate(epochs=6, channels=5, samples=40, seed=1, threads=3)
    c = simulate(epochs=6, channels=5, samples=40, seed=2)
    d = simulate(epochs=3, channels=5, samples=40, seed=1, dtype="f64")
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    assert isinstance(c, np.ndarray)
    assert isinstance(d, np.ndarray)
    assert a.shape == (6, 5, 40)
    assert a.tobytes() == b.tobytes()
    assert not np.array_equal(a, c)
    assert d.dtype == np.float64
    assert np.all(np.isfinite(a))
    assert 0 < np.abs(a).max() < 1  # volts


def test_simulate_checks_its_numbers() -> None:
    with pytest.raises(tessera.ArgumentError, match="bad_fraction"):
        simulate(bad_fraction=2.0)
    with pytest.raises(tessera.ArgumentError, match="dtype"):
        simulate(dtype="f16")  # type: ignore[call-overload]


def test_resume_of_a_finished_job(tmp_path: Path) -> None:
    """A job killed after its output got its name is complete: resuming it succeeds."""
    x = np.random.default_rng(0).standard_normal((6, 3, 10))
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "y.npy"
    work = tmp_path / "work"
    ptp_file(tmp_path / "x.npy", out, checkpoint=work)
    assert ptp_file(tmp_path / "x.npy", out, checkpoint=work, resume=True) == out
    np.testing.assert_array_equal(np.load(out), x.max(-1) - x.min(-1))
    with pytest.raises(FileExistsError):
        ptp_file(tmp_path / "x.npy", out, checkpoint=work, resume=True, nonfinite="error")


def names_of(path: Path) -> list[Path]:
    """Return the file's name, a link to it and a second name."""
    link, hard = (path.with_name(f"{kind}-{path.name}") for kind in ("link", "hard"))
    link.symlink_to(path.name)
    os.link(path, hard)
    return [path, link, hard]


def test_what_is_read_is_never_replaced(tmp_path: Path) -> None:
    x = np.random.default_rng(3).standard_normal((6, 3, 20))
    np.save(tmp_path / "x.npy", x)
    recording = simulate_recording("tiny")
    recording.save(tmp_path / "rec.npz")
    again = read_recording(tmp_path / "rec.npz")
    writers: dict[str, Callable[[Path], object]] = {
        "x.npy": lambda name: ptp_file(tmp_path / "x.npy", name, overwrite=True),
        "rec.npz": lambda name: again.save(name, overwrite=True),
    }
    for file, write_to in writers.items():
        before = (tmp_path / file).read_bytes()
        for name in names_of(tmp_path / file):
            with pytest.raises(ValueError, match="which is read"):
                write_to(name)
        assert (tmp_path / file).read_bytes() == before

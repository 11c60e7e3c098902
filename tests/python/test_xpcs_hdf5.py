"""Files of two-time correlations against h5py: ours in its hands, its in ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

h5py = pytest.importorskip("h5py")

MATRICES = {"aps-u": "xpcs/twotime/correlation_map", "aps-legacy": "exchange/C2T_all"}


def half_matrices(n: int, frames: int, seed: int) -> Any:
    """Return upper triangles with a spike on the diagonal and zeros below."""
    rng = np.random.default_rng(seed)
    c2 = np.triu(1 + 0.1 * rng.random((n, frames, frames)), 1)
    return (c2 + 2 * np.eye(frames)).astype(np.float32)


def full(c2: Any) -> Any:
    return np.triu(c2, 1) + np.swapaxes(np.triu(c2, 1), -1, -2)


def write_aps_u(path: Path, c2: Any, **compression: Any) -> None:
    """Write a grid of 2 q x 3 phi with one empty point, in an order of its own."""
    with h5py.File(path, "w") as f:
        qmap = f.create_group("xpcs/qmap")
        qmap["dynamic_v_list_dim0"] = [0.004, 0.0054]
        qmap["dynamic_v_list_dim1"] = [-30.0, 10.0, 95.0]
        qmap["dynamic_index_mapping"] = [0, 2, 3, 4, 5]
        qmap.create_dataset("map_names", data=["q", "phi"], dtype=h5py.string_dtype())
        f["xpcs/twotime/processed_bins"] = [3, 4, 5, 2][: len(c2)]
        f["xpcs/twotime/config/stride_frame"] = 3
        f["xpcs/twotime/config/avg_frame"] = 2
        f["entry/instrument/detector_1/frame_time"] = 0.01
        # What else is in such files: links that lead nowhere, texts, tables.
        f["xpcs/gone"] = h5py.ExternalLink("gone.h5", "/data")
        f["xpcs/twotime/lost"] = h5py.SoftLink("/nowhere")
        f["entry/title"] = "a measurement"
        for k, matrix in enumerate(c2):
            f.create_dataset(
                f"{MATRICES['aps-u']}/c2_{k + 1:05d}",
                data=matrix,
                chunks=matrix.shape if compression else None,
                **compression,
            )


@pytest.mark.parametrize("filter_", ["lzf", "deflate", "none"])
@pytest.mark.parametrize("layout", ["aps-u", "aps-legacy"])
def test_h5py_reads_our_files(tmp_path: Path, layout: str, filter_: str) -> None:
    path = tmp_path / "simulated.hdf"
    options: dict[str, Any] = {"n_angle": 4, "n_frame": 40, "dt": 0.1, "gap": 2e6, "seed": 7}
    xpcs.simulate_file(path, layout=layout, filter=filter_, **options)
    data = xpcs.load(path, dt=0.1)
    with h5py.File(path) as f:
        group = f[MATRICES[layout]]
        c2 = np.array([group[key][()] for key in sorted(group)])
        first = group[sorted(group)[0]]
        assert first.compression == {"lzf": "lzf", "deflate": "gzip", "none": None}[filter_]
        assert first.chunks == (None if filter_ == "none" else (40, 40))
    assert c2.shape == (4, 40, 40)
    assert c2.dtype == np.float32
    assert not np.tril(c2, -1).any()
    ours = np.array([data.matrix(k) for k in range(4)])
    off_diagonal = ~np.eye(39, dtype=bool)
    assert np.array_equal(ours[:, off_diagonal], full(c2)[:, 1:, 1:][:, off_diagonal])


@pytest.mark.parametrize(
    "compression",
    [{}, {"compression": "lzf"}, {"compression": "gzip", "shuffle": True}],
    ids=["none", "lzf", "gzip"],
)
def test_we_read_h5pys_files(tmp_path: Path, compression: dict[str, Any]) -> None:
    path = tmp_path / "measured.hdf"
    c2 = half_matrices(4, 30, seed=3)
    write_aps_u(path, c2, **compression)
    found = xpcs.inspect(path)
    assert [(b["number"], b["q"], b["phi"]) for b in found["bins"]] == [
        (3, 0.0054, -30.0),
        (4, 0.0054, 10.0),
        (5, 0.0054, 95.0),
        (2, 0.004, 95.0),
    ]
    assert found["dt"] == pytest.approx(0.06, rel=1e-14)
    data = xpcs.load(path, q=0.0054, keep_t0=True)
    assert data.n_angle == 3
    off_diagonal = ~np.eye(30, dtype=bool)
    for k in range(3):
        assert np.array_equal(data.matrix(k)[off_diagonal], full(c2[k])[off_diagonal])


def test_unknown_filters_are_named(tmp_path: Path) -> None:
    path = tmp_path / "packed.hdf"
    write_aps_u(path, half_matrices(2, 8, seed=1))
    with h5py.File(path, "r+") as f:
        name = f"{MATRICES['aps-u']}/c2_00001"
        del f[name]
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((8, 8))
        creation.set_filter(32008, h5py.h5z.FLAG_OPTIONAL, (0,))
        space = h5py.h5s.create_simple((8, 8))
        h5py.h5d.create(f.id, name.encode(), h5py.h5t.IEEE_F32LE, space, creation)
    with pytest.raises(tessera.DeviceError, match=r"c2_00001.*filter 32008 \(bitshuffle\)"):
        xpcs.load(path, q=0.0054)


PACKINGS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "one chunk": {"chunks": (50, 50), "compression": "gzip", "shuffle": True},
    "odd chunks": {"chunks": (7, 13), "compression": "lzf"},
    "not packed": {"chunks": (16, 50)},
    "fletcher": {"chunks": (25, 50), "compression": "gzip", "fletcher32": True},
    "wider chunks": {"chunks": (60, 80), "maxshape": (80, 80), "compression": "gzip"},
}


def write_legacy(path: Path, c2: Any, **storage: Any) -> None:
    with h5py.File(path, "w") as f:
        f["xpcs/dqlist"] = np.full(len(c2), 0.0054)
        f["xpcs/dphilist"] = np.arange(len(c2)) * 10.0
        for k, matrix in enumerate(c2):
            f.create_dataset(f"{MATRICES['aps-legacy']}/g2_{k + 1:05d}", data=matrix, **storage)


@pytest.mark.parametrize("packing", PACKINGS)
def test_several_readers_read_what_one_does(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "measured.hdf"
    c2 = half_matrices(7, 50, seed=11)
    write_legacy(path, c2, **PACKINGS[packing])
    off_diagonal = ~np.eye(50, dtype=bool)
    for threads in (1, 2, 3, 16):
        data = xpcs.load(path, keep_t0=True, threads=threads, phi_ranges=[(-5, 55)])
        assert data.n_angle == 6
        for k in range(6):
            assert np.array_equal(data.matrix(k)[off_diagonal], full(c2[k])[off_diagonal])


def test_several_readers_stay_within_memory(tmp_path: Path) -> None:
    path = tmp_path / "measured.hdf"
    write_legacy(path, half_matrices(12, 400, seed=4), compression="gzip")
    limit = 4 << 20
    for threads in (1, 8):
        context = tessera.Context(threads=threads, memory_limit=limit)
        data = xpcs.load(path, keep_t0=True, context=context)
        assert data.n_angle == 12
        assert context.memory()[1] <= limit


def damage_chunk(path: Path, matrix: int) -> int:
    """Break the packed bytes of a matrix and return where they lie."""
    with h5py.File(path) as f:
        names = sorted(f[MATRICES["aps-legacy"]])
        info = f[f"{MATRICES['aps-legacy']}/{names[matrix]}"].id.get_chunk_info(0)
    with path.open("r+b") as raw:
        raw.seek(info.byte_offset + info.size // 2)
        raw.write(b"\xff" * (info.size // 4))
    return int(info.byte_offset)


@pytest.mark.parametrize("threads", [1, 8])
def test_the_first_damaged_matrix_is_named_for_any_threads(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "damaged.hdf"
    write_legacy(path, half_matrices(9, 50, seed=2), chunks=(50, 50), compression="gzip")
    damage_chunk(path, 8)
    offset = damage_chunk(path, 3)
    with pytest.raises(tessera.FormatError, match=rf"g2_00004.*byte {offset} is damaged"):
        xpcs.load(path, threads=threads)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_truncated_file_is_refused_for_any_threads(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "short.hdf"
    write_legacy(path, half_matrices(9, 50, seed=2))
    with path.open("r+b") as raw:
        raw.truncate(path.stat().st_size // 2)
    with pytest.raises(tessera.FormatError, match="truncated"):
        xpcs.load(path, threads=threads)


@pytest.mark.parametrize(
    "storage",
    [
        {"chunks": (4, 50, 37), "compression": "gzip", "shuffle": True},
        {"chunks": (1, 160, 160), "compression": "lzf"},
        {"chunks": (3, 7, 160)},
        {"chunks": (6, 11, 13), "compression": "gzip", "fletcher32": True},
    ],
    ids=["slabs", "layers", "not packed", "fletcher"],
)
def test_several_threads_unpack_one_data_set(tmp_path: Path, storage: dict[str, Any]) -> None:
    path = tmp_path / "stack.h5"
    rng = np.random.default_rng(8)
    half = np.triu(1 + rng.random((6, 160, 160)), 1)
    half[:, 130:] = 0
    with h5py.File(path, "w") as f:
        data = f.create_dataset("c2", half.shape, half.dtype, **storage)
        data[:, :130] = half[:, :130]  # the rest of the chunks was never written
    off_diagonal = ~np.eye(160, dtype=bool)
    options: dict[str, Any] = {"c2_path": "c2", "phi": [0.0, 1, 2, 3, 4, 5], "q": 0.01}
    for threads in (1, 2, 3, 16):
        found = xpcs.load(path, threads=threads, keep_t0=True, dt=0.1, **options)
        for k in range(6):
            assert np.array_equal(found.matrix(k)[off_diagonal], full(half[k])[off_diagonal])

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

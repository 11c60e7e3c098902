"""Files that contradict themselves, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

GOLDEN = Path(__file__).parents[1] / "golden" / "xpcs"
CACHE = GOLDEN / "cached_c2_q0.0054_frames_1_-1.npz"


def changed_cache(path: Path, meta: dict[str, Any], **arrays: Any) -> Path:
    with np.load(CACHE) as file:
        members = dict(file)
    told = json.loads(str(members["cache_metadata_json"])) | meta
    members["cache_metadata_json"] = np.asarray(json.dumps(told))
    np.savez(path, **(members | arrays))
    return path


def test_a_cache_that_agrees_with_itself_is_read(tmp_path: Path) -> None:
    data = xpcs.load(changed_cache(tmp_path / "a.npz", {}), gap=2e6)
    assert data.layout == "cache"
    silent = {"phi_count": None, "actual_wavevector_q": None, "end_frame": None}
    assert xpcs.load(changed_cache(tmp_path / "b.npz", silent)).n_angle == data.n_angle


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({"phi_count": 99}, "phi_count is 99, but there are"),
        ({"end_frame": 7}, "end_frame is 7, but from start_frame 1 on"),
        ({"start_frame": 2}, "end_frame is .* start_frame 2"),
        ({"actual_wavevector_q": 0.01}, r"actual_wavevector_q is 0\.01, but q of the matrices"),
    ],
)
def test_metadata_that_contradict_the_arrays(
    tmp_path: Path, meta: dict[str, Any], text: str
) -> None:
    path = changed_cache(tmp_path / "a.npz", meta)
    for call in (xpcs.load, xpcs.inspect):
        with pytest.raises(tessera.FormatError, match=rf"a\.npz: its metadata contradict .*{text}"):
            call(path)


def test_old_caches_are_bad_input(tmp_path: Path) -> None:
    t = np.zeros((4, 4))
    for extra in ({"t1": t, "t2": t}, {"cache_metadata": np.zeros(2)}):
        path = changed_cache(tmp_path / "a.npz", {}, **extra)
        for call in (xpcs.load, xpcs.inspect):
            with pytest.raises(tessera.FormatError, match="delete and regenerate"):
                call(path)


def with_group(file: Any, place: str) -> None:
    del file[place]
    file.create_group(place)["frames"] = np.zeros(3)


DAMAGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "group": (
        lambda file: with_group(file, "xpcs/twotime/correlation_map/c2_00002"),
        "'/xpcs/twotime/correlation_map/c2_00002' is a group; expected a matrix",
    ),
    "list": (
        lambda file: file["xpcs/twotime/correlation_map"].create_dataset("c2_00000", data=[1.0]),
        "'/xpcs/twotime/correlation_map/c2_00000' has 1 axes",
    ),
    "text": (
        lambda file: file["xpcs/twotime/correlation_map"].create_dataset(
            "c2_00000", data=np.full((20, 20), b"x")
        ),
        "c2_00000' is ",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_stands_where_a_matrix_should(tmp_path: Path, damage: str) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    xpcs.simulate_file(path, n_angle=3, n_frame=20, dt=0.1, gap=2e6)
    change, text = DAMAGES[damage]
    with h5py.File(path, "r+") as file:
        change(file)
    for call in (xpcs.load, xpcs.inspect):
        with pytest.raises(ValueError if damage != "text" else TypeError, match=text):
            call(path)

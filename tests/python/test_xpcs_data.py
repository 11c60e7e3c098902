"""Correlations of xpcs: arrays, files, simulations, the original's dicts."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import xpcs_numpy as reference
from tessera import xpcs

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "xpcs"
STATIC: dict[str, Any] = {"mode": "static_isotropic", "dt": 0.1}


def matrices(n_angle: int = 3, n: int = 20, dtype: Any = np.float64) -> Any:
    c2 = np.random.default_rng(7).normal(1.2, 0.1, (n_angle, n, n))
    return ((c2 + c2.transpose(0, 2, 1)) / 2).astype(dtype)


def off_diagonal(n: int) -> Any:
    return ~np.eye(n, dtype=bool)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_come_back(dtype: Any) -> None:
    c2 = matrices(dtype=dtype)
    data = xpcs.Data.from_arrays(c2, [0, 30, 200], 0.0054, dt=0.1, gap=2e6)
    assert (data.n_angle, data.n_frame, data.n_used) == (3, 19, 3 * 19 * 18 // 2)
    assert (data.dt, data.gap, data.residency, data.layout) == (0.1, 2e6, "memory", "array")
    assert data.dtype == np.dtype(dtype).name
    assert data.phi.tolist() == [0, 30, -160]
    assert not data.keep_t0
    assert np.allclose(data.t, 0.1 * np.arange(1, 20))
    there = off_diagonal(19)
    assert np.array_equal(data.c2[:, there], c2[:, 1:, 1:][:, there].astype(np.float64))
    kept = xpcs.Data.from_arrays(c2, [0, 30, 200], 0.0054, dt=0.1, keep_t0=True)
    assert kept.n_frame == 20
    assert kept.t[0] == 0


def test_the_diagonal_is_interpolated() -> None:
    c2 = matrices(1, 12)
    c2[:, range(12), range(12)] = 99.0
    got = xpcs.Data.from_arrays(c2, [0.0], 0.0054, dt=0.1, keep_t0=True).matrix(0)
    side = np.diagonal(c2[0], 1)
    want = np.concatenate([side[:1], (side[:-1] + side[1:]) / 2, side[-1:]])
    assert np.allclose(np.diagonal(got), want, rtol=1e-15)


def test_strides_do_not_matter() -> None:
    c2 = matrices(3, 16)
    wide = np.zeros((3, 32, 48))
    wide[:, ::2, ::3] = c2
    straight = xpcs.Data.from_arrays(c2, [0, 1, 2], 0.0054, dt=0.1)
    crooked = xpcs.Data.from_arrays(wide[:, ::2, ::3], [0, 1, 2], 0.0054, dt=0.1)
    assert np.array_equal(straight.c2, crooked.c2)


def test_points_that_are_not_finite_are_left_out() -> None:
    c2 = matrices(2, 16)
    c2[0, 3, 5] = c2[0, 5, 3] = np.nan
    data = xpcs.Data.from_arrays(c2, [0, 1], 0.0054, dt=0.1, keep_t0=True)
    assert data.n_used == 2 * 120 - 1
    assert data.n_finite.tolist() == [119, 120]
    assert np.isnan(data.matrix(0)[3, 5])
    bad = xpcs.Data.from_arrays(c2, [0, 1], 0.0054, dt=0.1, keep_t0=True, bad_frames=[2])
    assert np.isnan(bad.matrix(1)[1, 3:]).all()


def test_selection_of_arrays() -> None:
    c2 = matrices(4, 20)
    data = xpcs.Data.from_arrays(
        c2, [-80, -5, 5, 80], 0.0054, dt=0.1, phi_ranges=[(-10, 10)], start_frame=3, end_frame=12
    )
    assert data.phi.tolist() == [-5, 5]
    assert data.n_frame == 9
    there = off_diagonal(9)
    assert np.array_equal(data.c2[:, there], c2[1:3, 3:12, 3:12][:, there])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda c2: xpcs.Data.from_arrays(c2, [0, 1], 0.0054, dt=0.1), tessera.ShapeError, "c2"),
        (lambda c2: xpcs.Data.from_arrays(c2, [0, 1, 2], 0.0054, dt=0.0), ValueError, "dt"),
        (lambda c2: xpcs.Data.from_arrays(c2, [0, 1, 2], -1.0, dt=0.1), ValueError, "q"),
        (
            lambda c2: xpcs.Data.from_arrays(c2[:, :, :5], [0, 1, 2], 0.0054, dt=0.1),
            ValueError,
            "square",
        ),
        (
            lambda c2: xpcs.Data.from_arrays(c2.astype(complex), [0, 1, 2], 0.0054, dt=0.1),
            TypeError,
            "c2",
        ),
        (
            lambda c2: xpcs.Data.from_arrays(c2, [0, 1, 2], 0.0054, dt=0.1, phi_ranges=[(50, 60)]),
            tessera.Error,
            "no angle lies in 50..60",
        ),
        (
            lambda c2: xpcs.Data.from_arrays(c2, [0, 1, 2], 0.0054, dt=0.1, end_frame=21),
            ValueError,
            "21",
        ),
        (
            lambda c2: xpcs.Data.from_arrays(np.full_like(c2, np.nan), [0, 1, 2], 0.0054, dt=0.1),
            ValueError,
            "finite|NaN|left",
        ),
    ],
)
def test_mistakes_are_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(matrices())


def asymmetric(c2: Any) -> Any:
    changed = c2.copy()
    changed[1, 2, 5] += 0.1
    return changed


ARRAYS: list[tuple[str, dict[str, Any], str]] = [
    ("asymmetric", {"c2": asymmetric}, r"c2: matrix not symmetric: 'c2\[1\]' \(phi 30\) .* 3, 6"),
    ("sigma asymmetric", {"sigma": lambda c2: asymmetric(0 * c2 + 1)}, r"sigma: .* 'sigma\[1\]'"),
    ("q of another unit", {"q": 54.0}, "q of matrix 0 .* 54 .*unit"),
    ("q too small", {"q": [0.0054, 1e-9, 0.0054]}, "q of matrix 1 "),
    ("gap below zero", {"gap": -2e6}, "gap: .* above 0, got -2"),
    ("gap zero", {"gap": 0}, "gap: .* above 0, got 0"),
    ("gap NaN", {"gap": np.nan}, "gap: .* got nan"),
    ("parts of frames", {"bad_frames": [1.5]}, "bad_frames: expected whole numbers"),
    ("ranges of three", {"phi_ranges": [(1, 2, 3)]}, "phi_ranges: .* shape"),
    ("sigma negative", {"sigma": lambda c2: -np.ones_like(c2)}, "sigma: -1 at"),
]


@pytest.mark.parametrize(
    ("change", "text"), [case[1:] for case in ARRAYS], ids=[c[0] for c in ARRAYS]
)
def test_arrays_are_checked_as_files_are(change: dict[str, Any], text: str) -> None:
    c2 = matrices()
    given: dict[str, Any] = {"c2": c2, "phi": [0, 30, 60], "q": 0.0054, "dt": 0.1} | {
        name: value(c2) if callable(value) else value for name, value in change.items()
    }
    with pytest.raises(ValueError, match=text):
        xpcs.Data.from_arrays(given.pop("c2"), given.pop("phi"), given.pop("q"), **given)


def test_one_half_is_enough_and_both_are_averaged() -> None:
    c2 = matrices()
    whole = xpcs.Data.from_arrays(c2, [0, 1, 2], 0.0054, dt=0.1)
    for half in (np.triu(c2), np.tril(c2)):
        other = xpcs.Data.from_arrays(half, [0, 1, 2], 0.0054, dt=0.1)
        assert np.array_equal(other.c2, whole.c2)
    near = c2.copy()
    near[1, 3, 6] *= 1 + 2e-4
    there = xpcs.Data.from_arrays(near, [0, 1, 2], 0.0054, dt=0.1, keep_t0=True).matrix(1)
    assert there[3, 6] == 0.5 * (near[1, 3, 6] + near[1, 6, 3])
    assert near[1, 3, 6] != near[1, 6, 3]  # the caller's array is left alone


def test_notes_say_what_is_odd() -> None:
    c2 = matrices()
    c2[1, 3, :] = c2[1, :, 3] = np.nan
    c2[2, 1:5, 7] = c2[2, 7, 1:5] = np.inf
    data = xpcs.Data.from_arrays(c2, [0, 30, 30], 2.0, dt=0.1, keep_t0=True)
    notes = "\n".join(data.notes)
    n = c2.shape[1]
    all_of = n * (n - 1) // 2
    assert f"ignored: {n - 1} of {all_of} at phi 30, 4 of {all_of} at phi 30" in notes
    assert "q 2 1/Å is outside 0.0001 to 1" in notes
    assert "1 matrices have an angle and q that another has" in notes


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"t1": np.arange(10) * 0.1}, "t1: 10 times, but c2_exp has"),
        ({"t1": np.arange(20.0) ** 2}, "t1: .* equal steps"),
        ({"t2": np.arange(20) * 0.2}, "t2: expected the times of t1"),
        ({"wavevector_q_list": [0.0054, 0.1]}, "wavevector_q_list: .* got 2"),
        ({"wavevector_q_list": [54.0]}, "q of matrix 0 .* 54"),
        ({"L": -5.0}, "gap: .* got -5"),
    ],
)
def test_the_originals_dict_is_checked(change: dict[str, Any], text: str) -> None:
    c2 = matrices()
    assert c2.shape[1] == 20
    data = {
        "c2_exp": c2,
        "phi_angles_list": [0, 1, 2],
        "wavevector_q_list": [0.0054],
        "t1": np.arange(20) * 0.1,
        "t2": np.arange(20) * 0.1,
    }
    assert xpcs.Data.from_dict(data).dt == 0.1
    with pytest.raises(ValueError, match=text):
        xpcs.Data.from_dict(data | change)
    with pytest.warns(UserWarning, match=r"dt is set to 0\.2 s"):
        xpcs.Data.from_dict(data | {"dt": 0.2})


def test_quantile_scaling_is_golden() -> None:
    for name in ("fit_laminar", "fit_static"):
        g = np.load(GOLDEN / f"{name}.npz")
        contrast, offset = xpcs.quantile_scaling(golden_data(g))
        assert np.allclose(contrast, g["quantile_contrast"], rtol=0, atol=1e-12)
        assert np.allclose(offset, g["quantile_offset"], rtol=0, atol=1e-12)


def golden_data(g: Any) -> xpcs.Data:
    n = int(g["n"])
    i, j = reference.pairs(n)
    # The frame that was dropped is put back: it is dropped again.
    c2 = np.ones((len(g["phi"]), n + 1, n + 1))
    c2[:, i + 1, j + 1] = g["y"]
    c2[:, j + 1, i + 1] = g["y"]
    return xpcs.Data.from_arrays(c2, g["phi"], float(g["q"]), dt=float(g["dt"]), gap=float(g["L"]))


def test_noise_is_estimated() -> None:
    data = xpcs.simulate(n_angle=3, n_frame=200, sigma=0.013, dtype="f64", **STATIC)
    assert np.allclose(xpcs.estimate_sigma(data), 0.013, rtol=0.05)


def test_simulation_follows_the_model() -> None:
    theta = (9000.0, -0.8, 40.0)
    data = xpcs.simulate(
        theta, phi=[10.0, 50.0], contrast=[0.2, 0.3], offset=1.05, n_frame=30, sigma=0.0,
        dtype="f64", **STATIC,
    )  # fmt: skip
    want = xpcs.model(theta, 29, [10, 50], 0.0054, dt=0.1, contrast=[0.2, 0.3], offset=1.05)
    there = off_diagonal(29)
    assert data.layout == "simulation"
    assert np.max(np.abs(data.c2 - want)[:, there]) <= 2e-14


def test_simulated_noise_has_its_size_and_depends_on_the_seed() -> None:
    options: dict[str, Any] = {
        "n_angle": 2,
        "n_frame": 150,
        "sigma": 0.02,
        "dtype": "f64",
        **STATIC,
    }
    clean = xpcs.simulate(**{**options, "sigma": 0.0}).c2
    first, again, other = (xpcs.simulate(seed=seed, **options).c2 for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    i, j = reference.pairs(149)
    noise = (first - clean)[:, i, j]
    assert abs(noise.std() / 0.02 - 1) < 0.02
    assert abs(noise.mean()) < 5 * 0.02 / np.sqrt(noise.size)


def test_generated_points_are_those_in_memory() -> None:
    options: dict[str, Any] = {"n_angle": 2, "n_frame": 80, "seed": 5, **STATIC}
    made = xpcs.simulate(in_memory=False, **options)
    assert made.residency == "generated"
    assert np.array_equal(made.c2, xpcs.simulate(**options).c2)


def test_txc2_round_trip(tmp_path: Path) -> None:
    data = xpcs.simulate(n_angle=2, n_frame=70, seed=5, gap=2e6, dt=0.1)
    path = data.save(tmp_path / "a.txc2")
    with pytest.raises(FileExistsError):
        data.save(path)
    again = xpcs.load(path)
    assert again.layout == "txc2"
    assert np.array_equal(again.c2, data.c2)
    assert np.array_equal(again.phi, data.phi)
    assert (again.dt, again.gap) == (data.dt, data.gap)
    with pytest.raises(FileNotFoundError):
        xpcs.load(tmp_path / "b.txc2")


def test_an_angle_is_data_of_its_own(tmp_path: Path) -> None:
    made = xpcs.simulate(
        mode="laminar_flow", n_angle=3, n_frame=41, dt=0.1, gap=2e6, dtype="f64", seed=3
    )
    made = xpcs.load(made.save(tmp_path / "all.txc2"))
    for a in range(3):
        one = made.angle(a)
        assert (one.n_angle, one.n_frame, one.dt, one.gap) == (1, made.n_frame, made.dt, made.gap)
        assert (one.phi[0], one.q[0]) == (made.phi[a], made.q[a])
        assert (one.residency, one.path) == ("memory", made.path)
        np.testing.assert_array_equal(one.matrix(0), made.matrix(a))
        other = pickle.loads(pickle.dumps(one))
        np.testing.assert_array_equal(other.matrix(0), made.matrix(a))
    alone = xpcs.Data.from_arrays(
        made.matrix(1), made.phi[1:2], made.q[1:2], dt=made.dt, gap=made.gap, without_t0=True
    )
    options: dict[str, Any] = {"mode": "static_anisotropic", "n_start": 1}
    assert xpcs.fit(made.angle(1), **options).chi2 == xpcs.fit(alone, **options).chi2
    for wrong in (3, -1, 1.5):
        with pytest.raises(tessera.Error, match="angle: "):
            made.angle(wrong)  # type: ignore[arg-type]

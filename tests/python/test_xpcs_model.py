"""The model of xpcs: golden values, NumPy, derivatives, arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import xpcs_numpy as reference
from tessera import xpcs

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "xpcs"
LAMINAR = ("laminar_typical", "laminar_floor", "laminar_strong")
STATIC = ("static_typical", "static_floor")
THETA = {
    "D0": 48000.0,
    "alpha": -1.1,
    "D_offset": 1600.0,
    "gamma_dot_t0": 3.3e-3,
    "beta": -0.25,
    "gamma_dot_t_offset": -4e-4,
    "phi0": 2.5,
}


def golden(name: str) -> Any:
    return np.load(GOLDEN / f"model_{name}.npz")


def at_pairs(g: Any, **options: Any) -> tuple[Any, Any]:
    return xpcs.model_pairs(
        g["theta"],
        int(g["n"]),
        g["phi"],
        float(g["q"]),
        g["pair_i"],
        g["pair_j"],
        float(g["L"]) if len(g["theta"]) == 7 else None,
        float(g["dt"]),
        contrast=g["contrast"],
        offset=g["offset"],
        **options,
    )


def column_error(got: Any, want: Any) -> float:
    return float(np.max(np.abs(got - want).max((0, 1)) / np.abs(want).max((0, 1))))


@pytest.mark.parametrize("kernel", list(reference.KERNELS))
@pytest.mark.parametrize("name", LAMINAR)
def test_laminar_golden(name: str, kernel: str) -> None:
    g = golden(name)
    c2, jacobian = at_pairs(g, kernel=kernel)
    assert np.max(np.abs(c2 - g[f"c2_{kernel}"])) <= 2e-14
    assert column_error(jacobian, g[f"dc2_{kernel}"]) <= 1e-12


@pytest.mark.parametrize("name", STATIC)
def test_static_golden(name: str) -> None:
    g = golden(name)
    c2, jacobian = at_pairs(g)
    assert np.max(np.abs(c2 - g["c2"])) <= 2e-14
    assert column_error(jacobian, g["dc2"]) <= 1e-12
    c2, nothing = at_pairs(g, keep_t0=True, jacobian=False)
    assert nothing is None
    assert np.max(np.abs(c2 - g["c2_t0kept"])) <= 2e-14


def test_golden_of_compat_eps_and_t0() -> None:
    g = golden("laminar_typical")
    assert np.max(np.abs(at_pairs(g, compat_eps=True)[0] - g["c2_upstream_eps"])) <= 2e-14
    assert np.max(np.abs(at_pairs(g, keep_t0=True)[0] - g["c2_upstream_t0kept"])) <= 2e-14


@pytest.mark.parametrize("kernel", list(reference.KERNELS))
def test_surface_is_numpys(kernel: str) -> None:
    rng = np.random.default_rng(3)
    phi = rng.uniform(-180, 180, 5)
    q = rng.uniform(0.003, 0.008, 5)
    contrast, offset = rng.uniform(0.1, 0.5, 5), rng.uniform(0.9, 1.1, 5)
    problem = reference.Problem(64, 0.1, phi, q, 2e6, kernel)
    want = reference.surface(problem, list(THETA.values()), contrast, offset)
    got = xpcs.model(
        THETA,
        64,
        phi,
        q,
        L=2e6,
        dt=0.1,
        contrast=contrast,
        offset=offset,
        kernel=kernel,  # type: ignore[arg-type]
    )
    assert got.shape == (5, 64, 64)
    assert np.max(np.abs(got - want)) <= 1e-13
    assert np.array_equal(got, got.transpose(0, 2, 1))


def test_times_say_dt_and_t0() -> None:
    static = (1e4, -0.5, 10.0)
    by_number = xpcs.model(static, 20, [0.0], 0.0054, dt=0.1)
    assert np.allclose(xpcs.model(static, 0.1 * np.arange(1, 21), [0.0], 0.0054), by_number)
    kept = xpcs.model(static, 20, [0.0], 0.0054, dt=0.1, keep_t0=True)
    assert np.allclose(xpcs.model(static, 0.1 * np.arange(20), [0.0], 0.0054), kept)
    assert not np.allclose(kept, by_number)
    with pytest.raises(tessera.ArgumentError, match="equal steps"):
        xpcs.model(static, [0.1, 0.2, 0.4], [0.0], 0.0054)


def test_threads_change_no_bit() -> None:
    one, three = (xpcs.model(THETA, 300, [0.0, 40.0], 0.0054, 2e6, 0.1, threads=n) for n in (1, 3))
    assert np.array_equal(one, three)


def test_grids_are_golden() -> None:
    g = golden("laminar_typical")
    found = xpcs.grids(g["theta"], int(g["n"]), float(g["dt"]), gap=float(g["L"]))
    for name, key in (
        ("t", "t"),
        ("diffusion", "D"),
        ("diffusion_sum", "C_D"),
        ("diffusion_derivatives", "dC_D"),
        ("shear", "G"),
        ("shear_sum", "C_G"),
        ("shear_derivatives", "dC_G"),
    ):
        assert found[name].shape == g[key].shape
        assert np.allclose(found[name], g[key], rtol=1e-13, atol=0), name


def test_parameters_have_bounds_and_aliases() -> None:
    table = xpcs.parameters("laminar_flow")
    assert [p["name"] for p in table] == list(THETA)
    assert table[0]["lower"] == 100
    assert table[0]["upper"] == 1e5
    assert [p["name"] for p in xpcs.parameters("static_isotropic")] == list(THETA)[:3]
    renamed = {("phi_0" if k == "phi0" else k): v for k, v in THETA.items()}
    assert np.array_equal(
        xpcs.model(renamed, 9, [3.0], 0.0054, 2e6, 0.1),
        xpcs.model(THETA, 9, [3.0], 0.0054, 2e6, 0.1),
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: xpcs.parameters("steady"), tessera.ArgumentError, "static_isotropic"),
        (
            lambda: xpcs.model((1.0, 2.0), 9, [0.0], 0.0054, 2e6, 0.1),
            tessera.ShapeError,
            "7 parameters",
        ),
        (
            lambda: xpcs.model({"D0": 1.0, "alpha": 0.0}, 9, [0.0], 0.0054, dt=0.1),
            tessera.ArgumentError,
            "D_offset",
        ),
        (
            lambda: xpcs.model({"D_zero": 1.0}, 9, [0.0], 0.0054, dt=0.1),
            tessera.ArgumentError,
            "D_zero",
        ),
        (
            lambda: xpcs.model(THETA, 9, [0.0, 1.0], [0.005, 0.005, 0.005], 2e6, 0.1),
            tessera.ShapeError,
            "2 angles",
        ),
        (
            lambda: xpcs.model(THETA, 9, [0.0], 0.0054, 2e6, 0.1, kernl="physical"),  # type: ignore[call-arg]
            tessera.ArgumentError,
            "did you mean 'kernel'",
        ),
        (lambda: xpcs.model(THETA, 9, [0.0], 0.0054, 2e6), ValueError, "dt"),
        (lambda: xpcs.model(THETA, 9, [0.0], 0.0054, dt=0.1), ValueError, "gap"),
        (lambda: xpcs.model(THETA, 9, [0.0], -1.0, 2e6, 0.1), ValueError, "q"),
        (
            lambda: xpcs.model_pairs(THETA, 9, [0.0], 0.0054, [0, 1], [1], 2e6, 0.1),
            tessera.ShapeError,
            "second",
        ),
        (
            lambda: xpcs.model_pairs(THETA, 9, [0.0], 0.0054, [0], [9], 2e6, 0.1),
            ValueError,
            "9",
        ),
    ],
)
def test_mistakes_are_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_options_are_documented() -> None:
    for function in (xpcs.model, xpcs.fit, xpcs.simulate, xpcs.load):
        doc = function.__doc__ or ""
        assert "{options}" not in doc
    assert "upstream_v1" in (xpcs.model.__doc__ or "")
    assert "soft_l1" in (xpcs.fit.__doc__ or "")


def test_rates_need_no_gap() -> None:
    params = {"D0": 1e4, "alpha": -1.0, "D_offset": 0.0, "gamma_dot_t0": 1e-3, "beta": 0.1,
              "gamma_dot_t_offset": 0.0, "phi0": 1.0}  # fmt: skip
    without = xpcs.grids(params, 8, 0.1)
    with_gap = xpcs.grids(params, 8, 0.1, gap=3e6)
    for name, values in without.items():
        assert np.array_equal(values, with_gap[name]), name
    with pytest.raises(tessera.Error, match="gap"):
        xpcs.grids(params, 8, 0.1, gap=1.0)

"""Joint fits of xpcs: SciPy's answer, truths, ties, tests of sharing, threads, stopping, files."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from scipy.optimize import least_squares

import tessera
import xpcs_numpy as reference
from tessera import xpcs

MODE: Final = "static_anisotropic"
TRUTH = {"D0": 1e4, "alpha": -0.5, "D_offset": 300.0}
Q = (0.004, 0.006, 0.009)
Q_REF = 0.006


def members(
    exponent: float = 0.3, seed: int = 0, n_frame: int = 40, **more: Any
) -> list[xpcs.Data]:
    """Data whose D0 is a power of q."""
    return [
        xpcs.simulate(
            TRUTH | {"D0": TRUTH["D0"] * (q / Q_REF) ** exponent},
            q=q,
            n_angle=2,
            n_frame=n_frame,
            dt=0.1,
            sigma=0.01,
            seed=100 * seed + k,
            **more,
        )
        for k, q in enumerate(Q)
    ]


def joint(data: Any, **options: Any) -> xpcs.JointResult:
    own: dict[str, Any] = {"mode": MODE, "sigma": 0.01, "q_ref": Q_REF, "absolute_sigma": True}
    return xpcs.fit_joint(data, **(own | options))


def residuals(data: list[xpcs.Data], x: Any) -> Any:
    """Of every pair, by plain NumPy: D0 a power, alpha shared, D_offset each, scaling each."""
    found = []
    for m, one in enumerate(data):
        problem = reference.Problem(
            n_frame=one.n_frame, dt=one.dt, phi=np.asarray(one.phi), q=np.asarray(one.q)
        )
        i, j = reference.pairs(one.n_frame)
        theta = [x[0] * (Q[m] / Q_REF) ** x[1], x[2], x[3 + m]]
        scaling = x[6 + 4 * m : 10 + 4 * m].reshape(2, 2)
        model = reference.squared_correlation(problem, theta, i, j)
        y = np.array([one.matrix(a)[i, j] for a in range(2)])
        found.append(((y - scaling[1][:, None] - scaling[0][:, None] * model) / 0.01).ravel())
    return np.concatenate(found)


def test_scipy_finds_the_same() -> None:
    data = members()
    found = joint(data, power="D0", per_q=["D_offset"])
    start = [1e4, 0.3, -0.5, 300, 300, 300]
    for contrast, offset in zip(found.contrast, found.offset, strict=True):
        start += [*(1.02 * contrast), *(offset - 0.001)]
    told = least_squares(
        lambda x: residuals(data, x),
        start,
        jac="3-point",
        x_scale="jac",
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-15,
    )
    sd = np.sqrt(np.diag(np.linalg.inv(told.jac.T @ told.jac)))
    mine = np.array([u["value"] for u in found.unknowns])
    assert np.abs((mine - told.x[:6]) / sd[:6]).max() < 1e-4
    assert np.allclose([u["sd"] for u in found.unknowns], sd[:6], rtol=1e-3)
    scaling = np.concatenate([[*c, *o] for c, o in zip(found.contrast, found.offset, strict=True)])
    errors = np.concatenate(
        [[*c, *o] for c, o in zip(found.contrast_sd, found.offset_sd, strict=True)]
    )
    assert np.abs((scaling - told.x[6:]) / sd[6:]).max() < 1e-3
    assert np.allclose(errors, sd[6:], rtol=1e-3)
    assert found.chi2.sum() == pytest.approx(2 * told.cost, rel=1e-10)
    assert found.success


def test_truths_are_within_errors() -> None:
    deviations = []
    for seed in range(6):
        found = joint(members(seed=seed, n_frame=60), power="D0")
        assert found.success
        assert found.excess_p > 1e-4
        told = [*found.values.items(), ("exponent", found.exponents["D0"])]
        truth = TRUTH | {"exponent": 0.3}
        deviations += [(value - truth[name]) / sd for name, (value, sd) in told]
    assert np.abs(deviations).max() < 4
    assert 0.5 < np.std(deviations) < 1.6


def test_nothing_in_common_is_the_fits_alone() -> None:
    data = members()
    found = joint(data, per_q=["D0", "alpha", "D_offset"], absolute_sigma=False)
    alone = [xpcs.fit(one, mode=MODE, sigma=0.01) for one in data]
    for m, one in enumerate(alone):
        sd = np.array([one.physical_uncertainties[name] for name in found.names])
        theta = np.array([one.physical[name] for name in found.names])
        assert np.abs((found.theta[m] - theta) / sd).max() < 1e-4
        assert np.allclose(found.sd[m], sd, rtol=1e-4)
        assert np.allclose(found.contrast_sd[m], one.uncertainties[:2], rtol=1e-4)
    assert found.excess_dof == 0
    assert abs(found.excess) < 1e-6


def test_wrong_sharing_is_told() -> None:
    data = members(exponent=1.0, n_frame=60)
    found = joint(data)
    assert found.excess_p < 1e-6
    assert found.quality_flag == "marginal"
    assert "freeing D0 would help most" in found.warnings[0]
    assert found.ties["D0"]["p"] < 1e-6
    freed = joint(data, per_q="D0")
    gained = (found.chi2 - freed.chi2).sum()
    assert found.ties["D0"]["gain"] == pytest.approx(gained, rel=0.3)
    assert found.n_start == 4  # they disagree


def test_threads_change_no_bit() -> None:
    data = members()
    one, two = (joint(data, power="D0", threads=n) for n in (1, 2))
    for name in ("theta", "sd", "covariance", "chi2"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_where_the_data_lie_changes_no_bit(tmp_path: Path) -> None:
    data = members(n_frame=300)
    held = joint(data, power="D0")
    paths = [one.save(tmp_path / f"{k}.txc2") for k, one in enumerate(data)]
    read = joint(paths, power="D0", strategy="streaming", memory_limit="24M")
    for name in ("theta", "sd", "covariance", "chi2"):
        assert getattr(held, name).tobytes() == getattr(read, name).tobytes()
    with pytest.raises(tessera.Error, match="memory limit"):
        joint(paths, power="D0", memory_limit="1M")


def test_order_of_members_changes_nothing_but_order() -> None:
    data = members()
    one = joint(data, power="D0")
    two = joint(data[::-1], power="D0")
    assert np.abs((one.theta - two.theta[::-1]) / one.sd).max() < 1e-6


def test_frames_angles_and_times_may_differ() -> None:
    data = members()
    data[1] = xpcs.simulate(TRUTH, q=Q[1], n_angle=3, n_frame=50, dt=0.05, sigma=0.01, seed=9)
    found = joint(data, power="D0")
    assert [len(c) for c in found.contrast] == [2, 3, 2]
    assert found.success
    assert abs(found.exponents["D0"][0] - 0.3) < 5 * found.exponents["D0"][1]


def test_fixed_parameters_stay() -> None:
    found = joint(members(), power="D0", fixed={"alpha": -0.5})
    assert (found.theta[:, 1] == -0.5).all()
    assert (found.sd[:, 1] == 0).all()
    assert "alpha" not in found.values


def test_a_stopped_fit_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    data = members(n_frame=700)
    whole = joint(data, power="D0")
    stopped = []
    for limit in (1, 4, 10):  # after a member's own fit, and between evaluations of all

        def stop(p: tessera.Progress, limit: int = limit) -> None:
            if p.stage == "xpcs.joint" and p.done > limit:
                stopped.append(p.done)
                raise KeyboardInterrupt

        folder = tmp_path / str(limit)
        with contextlib.suppress(KeyboardInterrupt):
            joint(data, power="D0", checkpoint=folder, checkpoint_every=0, progress=stop, threads=1)
            continue
        assert list(folder.glob("*.ckpt"))
        again = joint(data, power="D0", checkpoint=folder)
        assert again.resumed
        assert again.theta.tobytes() == whole.theta.tobytes()
        assert again.covariance.tobytes() == whole.covariance.tobytes()
        assert again.n_evaluation == whole.n_evaluation
        assert not list(folder.glob("*.ckpt"))
    assert len(stopped) >= 2


def test_a_checkpoint_of_other_ties_is_refused(tmp_path: Path) -> None:
    data = members(n_frame=160)

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        joint(data, power="D0", checkpoint=tmp_path, checkpoint_every=0, progress=stop)
    with pytest.raises(tessera.Error, match="shares other parameters"):
        joint(data, checkpoint=tmp_path)


def test_files(tmp_path: Path) -> None:
    found = joint(members(), power="D0", per_q="D_offset")
    folder = found.save(tmp_path / "out")
    told = json.loads((folder / "joint.json").read_text())
    assert told["parameters"]["D0"]["exponent"]["value"] == found.exponents["D0"][0]
    assert told["members"][2]["parameters"]["D_offset"] == found.theta[2, 2]
    assert told["sharing"]["degrees_of_freedom"] == found.excess_dof
    arrays = np.load(folder / "joint.npz")
    assert (arrays["theta"] == found.theta).all()
    assert (np.split(arrays["contrast"], arrays["first_angle"][1:-1])[1] == found.contrast[1]).all()
    lines = (folder / "joint.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [float(row["D0"]) for row in rows] == found.theta[:, 0].tolist()
    assert float(rows[1]["alpha_alone_sd"]) == found.sd_alone[1, 1]
    page = (folder / "report.html").read_text()
    assert "Parameters against q" in page
    assert "nan" not in page.split("<main")[-1].split("<script")[0].lower().split()
    with pytest.raises(tessera.Error, match="exists already"):
        found.save(folder)
    found.save(folder, overwrite=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": "D9"}, "no parameter 'D9'"),
        ({"share": "D0", "power": ["D0"]}, "both name 'D0'"),
        ({"power": "alpha", "per_q": "alpha"}, "both name 'alpha'"),
        ({"q_ref": -1.0}, "q_ref"),
        ({"q_ref": np.nan}, "q_ref"),
        ({"exponent_bounds": (2, 1)}, "bounds of exponents"),
        ({"power": "D0", "fixed": {"D0": 1e4}}, "is fixed and cannot be a power"),
        ({"fixed": TRUTH}, "every parameter is fixed"),
        ({"loss": "huber"}, "loss"),
        ({"counting": "full"}, "counting"),
        ({"uncertainty": "block_bootstrap"}, "uncertainty"),
        ({"noise": "frames"}, "noise"),
        ({"resume": True}, "resume"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises((tessera.Error, ValueError), match=words):
        joint(members(n_frame=12), **options)


def test_members_that_cannot_be_are_refused() -> None:
    data = members(n_frame=12)
    with pytest.raises(tessera.Error, match="two at least"):
        joint(data[:1])
    with pytest.raises(tessera.Error, match="expected a list"):
        joint(data[0])
    with pytest.raises(tessera.Error, match=r"members 0 and 2 .* are the same data"):
        joint([data[0], data[1], data[0]])
    same = [
        xpcs.simulate(TRUTH, q=0.005, n_angle=2, n_frame=12, dt=0.1, sigma=0.01, seed=seed)
        for seed in (1, 2)
    ]
    with pytest.raises(tessera.Error, match="no power of q follows"):
        joint(same, power="D0")
    spread = xpcs.simulate(
        TRUTH, q=[0.004, 0.009], n_angle=2, n_frame=12, dt=0.1, sigma=0.01, seed=3
    )
    with pytest.raises(tessera.Error, match="a member is one q"):
        joint([spread, data[0]])

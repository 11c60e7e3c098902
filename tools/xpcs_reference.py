"""Compares xpcs fits with scipy on fresh data, and counts how often their errors hold.

    python tools/xpcs_reference.py check [--seed N] [--rounds N] [--case NAME]
    python tools/xpcs_reference.py coverage [--draws N] [--seed N] [--case NAME] [--threads N]

`./dev reference xpcs` does the first in .venv-bench. The original's own numbers are no reference:
it counts every measurement twice, and its reported chi2 is none below 1e6 points. So the model is
written again in NumPy from the equations (tests/python/xpcs_numpy.py), its derivatives are complex
steps, and scipy's trust-region reflective least squares fits the points i < j with contrasts and
offsets as explicit parameters. `coverage` draws noise many times and counts how often the nominal
95 % interval of a parameter contains the truth.
"""

import argparse
import dataclasses
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

import xpcs_numpy as reference  # noqa: E402

import tessera.xpcs as xpcs  # noqa: E402

# Largest differences: x in standard deviations, cost relative, covariance by sd_i sd_j.
TOLERANCES = {"x at 1e-8": 1e-4, "x at 1e-12": 1e-5, "cost": 1e-9, "covariance": 1e-6}
COVERAGE = (0.92, 0.98)
Z95 = 1.959963984540054
Q, DT, GAP = 0.0054, 0.1, 2e6


@dataclasses.dataclass(frozen=True)
class Kind:
    """What is fitted: a mode, how it scales, which kernel."""

    mode: str
    scaling: str = "individual"
    kernel: str = "upstream"
    n_angle: int = 4
    n_frame: int = 50
    sigma: float = 0.02
    scatter: float = 0.1
    keep_t0: bool = False
    theta: tuple = ()


KINDS = {
    "static_isotropic": Kind("static_isotropic", "averaged", n_angle=3, n_frame=60, sigma=0.01,
                             scatter=0.0),
    "static_anisotropic": Kind("static_anisotropic", n_angle=3, n_frame=60, sigma=0.01),
    "static_t0": Kind("static_anisotropic", n_angle=2, n_frame=50, sigma=0.01, keep_t0=True,
                      theta=(2000.0, 0.2, 50.0)),
    "static_growing": Kind("static_anisotropic", n_angle=2, n_frame=60, sigma=0.01,
                           theta=(6000.0, 0.3, 100.0)),
    "static_floor": Kind("static_anisotropic", n_angle=2, n_frame=60, sigma=0.003,
                         theta=(16000.0, -0.9, -4000.0)),
    "laminar": Kind("laminar_flow", n_angle=8),
    "laminar_averaged": Kind("laminar_flow", "averaged", n_angle=8, scatter=0.0),
    "laminar_constant": Kind("laminar_flow", "constant", n_angle=8),
    "laminar_fourier": Kind("laminar_flow", "fourier", n_angle=9),
    "laminar_v1": Kind("laminar_flow", kernel="upstream_v1", n_angle=8),
    "laminar_physical": Kind("laminar_flow", kernel="physical", n_angle=8),
    "laminar_two_angles": Kind("laminar_flow", n_angle=2, n_frame=80, sigma=0.01),
}


@dataclasses.dataclass
class Draw:
    """One data set and its truth."""

    kind: Kind
    problem: reference.Problem
    theta: np.ndarray
    contrast: np.ndarray
    offset: np.ndarray
    y: np.ndarray  # (n_angle, n_pair)

    def c2(self):
        n = self.problem.n_frame
        i, j = reference.pairs(n)
        c2 = np.full((len(self.y), n, n), 1.0)
        c2[:, i, j] = self.y
        c2[:, j, i] = self.y
        return c2

    def data(self):
        # The frames are those of the problem already: none is dropped.
        kept = self.kind.keep_t0
        return xpcs.Data.from_arrays(self.c2(), self.problem.phi, self.problem.q, dt=DT, gap=GAP,
                                     keep_t0=kept, without_t0=not kept)


def truth_of(kind, rng, spread):
    if kind.theta:
        return np.array(kind.theta) * (1 + spread * rng.uniform(-0.05, 0.05, 3))
    if kind.mode == "laminar_flow":
        theta = np.array([48000.0, -1.1, 1600.0, 3.3e-3, -0.25, -4e-4, 2.5])
        if kind.kernel != "upstream":
            theta[[3, 5]] /= np.pi if kind.kernel == "upstream_v1" else 2.2
    else:
        theta = np.array([16918.0, -1.3, 300.0])
    return theta * (1 + spread * rng.uniform(-0.1, 0.1, len(theta)))


def angles_of(kind, rng, spread):
    if kind.n_angle == 2:
        return np.array([0.0, 90.0]) + (rng.uniform(-3, 3, 2) if spread else 0)
    phi = np.linspace(-85, 85, kind.n_angle)
    return phi + spread * rng.uniform(-4, 4, kind.n_angle)


def draw_of(kind, seed, spread=1.0):
    """Random truth (with spread) and noise."""
    rng = np.random.default_rng(seed)
    phi = angles_of(kind, rng, spread)
    problem = reference.Problem(kind.n_frame, DT, phi, np.full(kind.n_angle, Q), GAP, kind.kernel,
                                kind.keep_t0)
    fixed = np.random.default_rng(99 if spread == 0 else seed + 1)
    contrast = 0.3 * (1 + kind.scatter * fixed.standard_normal(kind.n_angle))
    offset = 1.0 + 0.1 * kind.scatter * fixed.standard_normal(kind.n_angle)
    if kind.scaling == "fourier":
        contrast, offset = 0.3 + 0.02 * np.cos(np.deg2rad(phi)), 1 + 0.01 * np.sin(np.deg2rad(phi))
    theta = truth_of(kind, fixed, spread)
    i, j = reference.pairs(kind.n_frame)
    m = reference.squared_correlation(problem, theta, i, j)
    y = offset[:, None] + contrast[:, None] * m
    y = y + kind.sigma * rng.standard_normal(y.shape)
    return Draw(kind, problem, theta, contrast, offset, y)


def scaling_basis(kind, phi):
    """Columns that make the scaling of every angle out of free coefficients; none if fixed."""
    n = len(phi)
    if kind.scaling == "individual":
        return np.eye(n)
    if kind.scaling == "averaged":
        return np.ones((n, 1))
    if kind.scaling == "fourier":
        r = np.deg2rad(phi)
        return np.stack([np.ones(n), np.cos(r), np.sin(r), np.cos(2 * r), np.sin(2 * r)], axis=1)
    return np.zeros((n, 0))


class Explicit:
    """Residuals and Jacobian with every parameter explicit, for scipy."""

    def __init__(self, draw, contrast, offset):
        self.draw = draw
        self.basis = scaling_basis(draw.kind, draw.problem.phi)
        self.i, self.j = reference.pairs(draw.problem.n_frame)
        self.fixed = contrast, offset  # of constant scaling

    def scaling(self, x):
        k = self.basis.shape[1]
        if k == 0:
            return self.fixed
        return self.basis @ x[:k], self.basis @ x[k:2 * k]

    def residual(self, x):
        contrast, offset = self.scaling(x)
        theta = x[2 * self.basis.shape[1]:]
        m = reference.squared_correlation(self.draw.problem, theta, self.i, self.j)
        return ((offset[:, None] + contrast[:, None] * m - self.draw.y)
                / self.draw.kind.sigma).ravel()

    def jacobian(self, x):
        k = self.basis.shape[1]
        contrast, _ = self.scaling(x)
        theta = x[2 * k:]
        m = reference.squared_correlation(self.draw.problem, theta, self.i, self.j)
        dm = reference.complex_step(self.draw.problem, theta, self.i, self.j)
        columns = [m[:, :, None] * self.basis[:, None, :],
                   np.broadcast_to(self.basis[:, None, :], m.shape + (k,)),
                   contrast[:, None, None] * dm]
        return np.concatenate(columns, axis=-1).reshape(-1, 2 * k + len(theta)) \
            / self.draw.kind.sigma


def our_fit(draw, tolerance=1e-8, **more):
    kind = draw.kind
    if kind.scaling == "constant":
        # Quantile estimates are biased, and the minimum may lie on a bound.
        more |= {"contrast": draw.contrast, "offset": draw.offset}
    return xpcs.fit(draw.data(), mode=kind.mode, kernel=kind.kernel, scaling=kind.scaling,
                    sigma=kind.sigma, absolute_sigma=True, ftol=tolerance, xtol=tolerance,
                    gtol=tolerance, **more)


def scipy_fit(draw, ours):
    """scipy's minimum, from our rounded one: what is compared is the minimum, not the path."""
    from scipy.optimize import least_squares

    explicit = Explicit(draw, np.array(ours.contrast), np.array(ours.offset))
    k = explicit.basis.shape[1]
    pick, *_ = np.linalg.lstsq(explicit.basis, np.stack([ours.contrast, ours.offset], axis=1),
                               rcond=None) if k else (np.zeros((0, 2)),)
    mine = np.concatenate([pick[:, 0], pick[:, 1], ours.theta])
    start = mine * (1 + 1e-2 * np.random.default_rng(5).uniform(-1, 1, len(mine)))
    table = xpcs.parameters(draw.kind.mode)
    low = np.concatenate([np.full(k, -2.0), np.full(k, -3.0), [p["lower"] for p in table]])
    high = np.concatenate([np.full(k, 2.0), np.full(k, 3.0), [p["upper"] for p in table]])
    found = least_squares(explicit.residual, np.clip(start, low, high), explicit.jacobian,
                          (low, high), method="trf", x_scale="jac", ftol=1e-15, xtol=1e-15,
                          gtol=1e-15, max_nfev=500)
    # Where ours is: the two minima are some 1e-7 sd apart, and the curvature differs between them.
    jacobian = explicit.jacobian(mine)
    scale = np.linalg.norm(jacobian, axis=0)
    inverse = np.linalg.inv((jacobian / scale).T @ (jacobian / scale)) / np.outer(scale, scale)
    return found, inverse, k


def compare(draw):
    """Differences between ours and scipy's, by what is compared."""
    ours, tight = our_fit(draw), our_fit(draw, 1e-12)
    found, covariance, k = scipy_fit(draw, tight)
    theta, sd = found.x[2 * k:], np.sqrt(np.diag(covariance))[2 * k:]
    mine = np.array(tight.covariance)[-len(theta):, -len(theta):]
    return {
        "x at 1e-8": np.max(np.abs(ours.theta - theta) / sd),
        "x at 1e-12": np.max(np.abs(tight.theta - theta) / sd),
        "cost": abs(tight.cost / found.cost - 1),
        "covariance": np.max(np.abs(mine - covariance[2 * k:, 2 * k:]) / np.outer(sd, sd)),
    }


def check(args):
    failures = 0
    for name, kind in selected(args.case):
        for seed in range(args.seed, args.seed + args.rounds):
            found = compare(draw_of(kind, seed))
            wrong = [key for key, limit in TOLERANCES.items() if not found[key] <= limit]
            failures += bool(wrong)
            text = ", ".join(f"{key} {value:.1e}" for key, value in found.items())
            print(f"{'FAIL' if wrong else 'ok  '} {name:<20} seed {seed}: {text}", flush=True)
    print(f"{failures} failed" if failures else "all agree")
    return 1 if failures else 0


COVERED = ("static_isotropic", "static_anisotropic", "laminar", "laminar_averaged",
           "laminar_physical", "laminar_fourier")
# Intervals are those of a linear model: shear needs as many points as make it one near the minimum.
COVERED_LAMINAR = {"n_frame": 120, "sigma": 0.01}


def coverage(args):
    """Nominal 95 % intervals, over draws of the noise; the truth stays."""
    failures = 0
    for name, kind in selected(args.case, COVERED):
        if kind.mode == "laminar_flow":
            kind = dataclasses.replace(kind, **COVERED_LAMINAR)
        inside, pulls = [], []
        for k in range(args.draws):
            draw = draw_of(kind, args.seed + 1000 * k, spread=0.0)
            found = our_fit(draw, threads=args.threads)
            truth = np.concatenate([draw.contrast, draw.offset, draw.theta])
            pull = (found.parameters - truth) / found.uncertainties
            free = np.array(found.status) == "free"
            pulls.append(np.where(free, pull, np.nan))
            inside.append(np.where(free, np.abs(pull) <= Z95, np.nan))
        share = np.nanmean(inside, axis=0)[-len(draw.theta):]
        sd = np.nanstd(pulls, axis=0)[-len(draw.theta):]
        pooled = np.nanmean(inside)
        good = COVERAGE[0] <= pooled <= COVERAGE[1]
        # The share of one parameter scatters: two standard errors more.
        slack = 2 * np.sqrt(0.05 * 0.95 / args.draws)
        good &= bool(np.all((share > COVERAGE[0] - slack) & (share < COVERAGE[1] + slack)))
        failures += not good
        each = ", ".join(f"{n} {s:.3f} (pull sd {w:.2f})" for n, s, w in
                         zip(found.physical_names, share, sd))
        print(f"{'ok  ' if good else 'FAIL'} {name:<20} {args.draws} draws: {pooled:.3f} of "
              f"intervals hold; {each}", flush=True)
    return 1 if failures else 0


def selected(case, names=None):
    names = names or KINDS
    if case is not None:
        names = [name for name in KINDS if case in name]
        if not names:
            raise SystemExit(f"no case has {case!r} in its name; there are {', '.join(KINDS)}")
    return [(name, KINDS[name]) for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", nargs="?", choices=("check", "coverage"), default="check")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--case", help="only cases whose name contains this")
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check(args) if args.verb == "check" else coverage(args)


if __name__ == "__main__":
    sys.exit(main())

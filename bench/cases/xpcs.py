"""xpcs against JAX: the pass that every iteration of a fit is made of, whole fits, sampling.

A pass gives cost, gradient and the matrix of the normal equations at one point; ours goes over the
pairs i < j with contrast and offset eliminated, the peer (`_xpcs_peer.py`) over whole matrices as
the original does, on all cores. `more` says how fast the peer is on the pairs i < j alone, which
no program we know does. Agreement is checked on the eliminated equations. Data of `-f32` cases are
stored in single precision; we compute in double all the same, their peer in single.
"""

import functools
import importlib
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import tessera
from cases import (
    _xpcs_gpu,
    _xpcs_joint,
    _xpcs_overhead,
    _xpcs_rates,
    _xpcs_sampling,
    _xpcs_two,
)
from cases._case import Case
from cases._xpcs_peer import Peer, eliminated

TRUTH = {
    "laminar_flow": (68481.0, -1.327, 1708.0, 1.991e-3, -0.212, -6.07e-4, 2.0),
    "static_isotropic": (16918.0, -1.572, 3.05),
}
# Where the pass is timed: away from the optimum, inside the bounds.
POINT = {
    "laminar_flow": (5e4, -1.2, 1000.0, 2.5e-3, -0.1, -3e-4, 1.0),
    "static_isotropic": (1.2e4, -1.4, 10.0),
}
Q, DT, GAP, SIGMA = 0.0054, 0.1, 2e6, 0.02
FLOP = {"laminar_flow": 115, "static_isotropic": 8}  # of a point; exp 20, sine and cosine 34
ORIGINAL_STREAMING = 618e3  # points/s that the original's performance guide claims

NAMES = {"laminar_flow": "laminar", "static_isotropic": "static"}


class Prepared:
    """Simulated data of one size, and the peer's functions on them."""

    def __init__(self, mode, n_angle, n_frame, dtype, **more):
        xpcs = importlib.import_module("tessera.xpcs")
        self.mode = mode
        self.dtype = dtype
        self.options = {"mode": mode, "scaling": "averaged", "sigma": SIGMA}
        # The frame at time zero is dropped.
        self.data = xpcs.simulate(TRUTH[mode], mode=mode, n_angle=n_angle, n_frame=n_frame + 1,
                                  q=Q, dt=DT, gap=GAP, sigma=SIGMA, dtype=dtype, **more)
        self.point = np.array(POINT[mode])
        self.peers = {}

    def sums(self, threads, level=2, theta=None, device="cpu"):
        xpcs = importlib.import_module("tessera.xpcs")
        return xpcs.accumulate(self.data, self.point if theta is None else theta, level=level,
                               threads=threads, device=device, **self.options)

    def peer(self, half=False, dtype="float64"):
        key = half, dtype
        if key not in self.peers:
            self.peers[key] = Peer(self.data.c2, np.array(self.data.phi), Q, DT, GAP, SIGMA,
                                   n_param=2 + len(self.point), half=half, dtype=dtype)
        return self.peers[key]

    @functools.cached_property
    def peer_point(self):
        """The point with the contrast and offset that are best there."""
        found = self.sums(None)
        return np.concatenate([[found["contrast"][0], found["offset"][0]], self.point])


prepared = functools.cache(Prepared)


def pass_error(ours, theirs):
    """The largest of the differences of cost, gradient and matrix, each by its own scale."""
    cost, gradient, matrix = eliminated(*theirs)
    scale = np.sqrt(np.diag(matrix))
    return float(max(
        abs(ours["cost"] / cost - 1),
        np.max(np.abs(ours["gradient"] - gradient) / (scale * np.sqrt(cost))),
        np.max(np.abs(ours["hessian"] - matrix) / np.outer(scale, scale)),
    ))


def median_time(run, seconds=1.0, patience=20.0):
    times = []
    while len(times) < 3 or sum(times) < seconds:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
        if sum(times) > patience:
            break
    return statistics.median(times)


def throughput(data, seconds):
    """What a pass does in a second."""
    n = data.data.n_used
    size = 4 if data.dtype == "f32" else 8
    return {
        "points/s": n / seconds,
        "GB/s": n * size / seconds / 1e9,
        "GFLOP/s": n * FLOP[data.mode] / seconds / 1e9,
    }


def pass_case(mode, n_angle, n_frame, dtype, with_peer=True):
    single = dtype == "f32"
    kind = "float32" if single else "float64"
    name = f"pass-{NAMES[mode]}"
    if (n_angle, n_frame, dtype) != (23, 1000, "f64"):
        name += f"-{n_angle}x{n_frame}-{dtype}"

    def more(data, threads, seconds):
        said = throughput(data, seconds) if seconds else {}
        if with_peer and data.peers:
            x = data.peer_point
            half = data.peer(half=True, dtype=kind)
            half.normal(x)
            half_s = median_time(lambda: half.normal(x))
            said |= {"peer on i<j ms": half_s * 1e3,
                     "ratio on i<j": half_s / seconds if seconds else None}
        return said

    def times(data, threads):
        peer = data.peer(dtype=kind)
        peer.normal(data.peer_point)
        return (median_time(lambda: data.sums(threads)),
                median_time(lambda: peer.normal(data.peer_point)))

    n_used = n_angle * n_frame * (n_frame - 1) // 2
    return Case(
        name=name,
        sizes={"n_angle": n_angle, "n_frame": n_frame, "dtype": dtype},
        peer_name="jax" if with_peer else None,
        tolerance=1e-9,  # rounding of sums of 1e7 terms
        make=functools.partial(prepared, mode, n_angle, n_frame, dtype),
        ours=lambda data, threads: data.sums(threads),
        # Agreement is with the peer in double: in single it loses digits in its sums of squares.
        peer=lambda data: data.peer().normal(data.peer_point),
        error=pass_error,
        times=times if with_peer and single else None,
        bytes_read=n_used * (4 if dtype == "f32" else 8) if mode == "static_isotropic" else 0,
        more=more,
        all_threads_only=True,
    )


def our_fit(data, threads, device="cpu", **options):
    xpcs = importlib.import_module("tessera.xpcs")
    return xpcs.fit(data.data, threads=threads, device=device, **(data.options | options))



def peer_fit(data):
    """scipy's trust-region reflective fit over the compiled residuals and Jacobian (i < j)."""
    optimize = importlib.import_module("scipy.optimize")
    xpcs = importlib.import_module("tessera.xpcs")
    peer = data.peer(half=True)
    table = xpcs.parameters(data.mode)
    low = [0.0, 0.5, *(p["lower"] for p in table)]
    high = [1.0, 1.5, *(p["upper"] for p in table)]
    start = [0.3, 1.0, *(p["start"] for p in table)]
    if data.mode == "laminar_flow":
        start[2:] = [4e4, -1.2, 1000.0, 2e-3, -0.1, -3e-4, 1.0]  # the default start loses its way
    begin = time.perf_counter()
    found = optimize.least_squares(
        lambda x: np.asarray(peer.residual(x)), start, lambda x: np.asarray(peer.jacobian(x)),
        (low, high), method="trf", x_scale="jac", ftol=1e-10, xtol=1e-10, gtol=1e-10)
    return found, time.perf_counter() - begin


def fit_error(ours, theirs):
    """Largest difference of a physical parameter in standard deviations."""
    found, _ = theirs
    return float(np.max(np.abs(ours.theta - found.x[2:]) / ours.theta_uncertainties))


def fit_case(n_angle, n_frame):
    mode = "laminar_flow"

    def times(data, threads):
        return median_time(lambda: our_fit(data, threads)), peer_fit(data)[1]

    def more(data, threads, seconds):
        found = our_fit(data, threads)
        default = our_fit(data, threads, scaling="individual")
        return {"passes": found.passes, "chi2/dof": found.reduced_chi2,
                "individual scaling ms": 1e3 * default.execution_time,
                "its passes": default.passes}

    return Case(
        name=f"fit-laminar-{n_angle}x{n_frame}",
        sizes={"n_angle": n_angle, "n_frame": n_frame, "dtype": "f64"},
        peer_name="jax",
        tolerance=1e-3,  # standard deviations; both stop by their own tolerances
        make=functools.partial(prepared, mode, n_angle, n_frame, "f64"),
        ours=our_fit,
        peer=peer_fit,
        error=fit_error,
        times=times,
        more=more,
        all_threads_only=True,
    )


def large_fit_case(n_angle, n_frame, device="cpu"):
    """A fit too large for the peer's solver here: its time is its pass times our passes.

    On a GPU the peer is where JAX puts it: on the GPU too, if it is built for one. Ours counts the
    way of the data there in every fit.
    """
    mode = "laminar_flow"
    fit = functools.partial(our_fit, device=device)

    def times(data, threads):
        peer = data.peer()
        x = data.peer_point
        peer.normal(x)
        found = fit(data, threads)
        return (median_time(lambda: fit(data, threads)),
                median_time(lambda: peer.normal(x)) * found.passes)

    def more(data, threads, seconds):
        found = fit(data, threads)
        return {"passes": found.passes, "chi2/dof": found.reduced_chi2,
                "peer": "its pass times our passes, not a fit"}

    return Case(
        name="fit-laminar" if device == "cpu" else f"fit-laminar-{device}",
        sizes={"n_angle": n_angle, "n_frame": n_frame, "dtype": "f64"},
        peer_name="jax",
        tolerance=1e-9,
        make=functools.partial(prepared, mode, n_angle, n_frame, "f64"),
        ours=lambda data, threads: data.sums(threads, device=device),
        peer=lambda data: data.peer().normal(data.peer_point),
        error=pass_error,
        times=times,
        more=more,
        all_threads_only=True,
    )


@functools.cache
def streamed(n_angle, n_frame):
    """The same data in a file that is read in every pass."""
    data = Prepared("laminar_flow", n_angle, n_frame, "f32")
    folder = tempfile.TemporaryDirectory()
    xpcs = importlib.import_module("tessera.xpcs")
    path = data.data.save(Path(folder.name) / "stream.txc2")
    data.folder = folder  # goes with the data
    data.data = xpcs.load(path, memory_limit="128M")
    data.options["strategy"] = "streaming"
    return data


def stream_case(n_angle, n_frame):
    def our_pass(data, threads):
        with tessera.Context(threads=threads, memory_limit="128M") as context:
            xpcs = importlib.import_module("tessera.xpcs")
            return xpcs.accumulate(data.data, data.point, level=2, context=context,
                                   **data.options)

    def more(data, threads, seconds):
        if not seconds:
            return {}
        xpcs = importlib.import_module("tessera.xpcs")
        with tessera.Context(threads=threads, memory_limit="128M") as context:
            found = xpcs.fit(data.data, context=context, **data.options)
        # As the original counts: points of whole matrices, seconds of a whole fit.
        whole = data.data.n_point / found.execution_time
        return throughput(data, seconds) | {
            "in": data.data.residency, "fit s": found.execution_time, "passes": found.passes,
            "fit points/s": whole, "the original's guide claims": ORIGINAL_STREAMING}

    return Case(
        name=f"stream-laminar-{n_angle}x{n_frame}-f32",
        sizes={"n_angle": n_angle, "n_frame": n_frame, "dtype": "f32"},
        peer_name=None,
        tolerance=0.0,
        make=functools.partial(streamed, n_angle, n_frame),
        ours=our_pass,
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0,
        more=more,
        all_threads_only=True,
    )


def cases():
    laminar, static = TRUTH
    has_gpu = any(device["backend"] == "cuda" for device in tessera.devices())
    return [
        pass_case(laminar, 23, 1000, "f64"),
        pass_case(static, 23, 1000, "f64"),
        pass_case(laminar, 23, 1000, "f32"),
        pass_case(static, 23, 1000, "f32"),
        pass_case(laminar, 23, 250, "f64"),
        pass_case(static, 23, 250, "f64"),
        pass_case(laminar, 3, 100, "f64"),
        pass_case(laminar, 23, 3000, "f32", with_peer=False),
        fit_case(23, 200),
        large_fit_case(23, 1000),
        stream_case(23, 2085),
        _xpcs_sampling.nuts_case("static_anisotropic", 4, 40, 0.01),
        _xpcs_sampling.nuts_case("laminar_flow", 3, 24, 0.01, is_informed=True),
        _xpcs_sampling.whole_case(23, 200),
        *_xpcs_joint.cases(),
        *_xpcs_two.cases(),
        *_xpcs_rates.cases(),
        *_xpcs_overhead.cases(),
        *([large_fit_case(23, 1000, "cuda"), *_xpcs_gpu.cases()] if has_gpu else []),
    ]

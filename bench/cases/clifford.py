"""clifford against torch.compile of the same formulas, on the GPU if torch sees one, else the CPU.

The peer is `tests/python/clifford_torch.py`: gates, product and norm written out component by
component (not as a dense contraction), in two ways of which the faster counts, compiled for the
exact shape, on all cores. Both sides get the same tensors, their gradients by every input, and
nothing is accumulated. `fwd` runs without gradients, `fwdbwd` is forward and backward with a random
gradient of the result.

On a GPU times are medians from events, inputs rotate over more memory than the caches hold, and the
device is given work ahead so that the host is never waited for; `host` in the line below a row is
the time a call keeps the host. Matrix products are at torch's precision "high" (TF32) there, on
both sides. On the CPU everything is at "highest".

Where lgatr is installed there are rows of whole blocks against its own (`_clifford_lgatr.py`).
"""

import functools
import importlib
import importlib.util
import statistics
import sys
import time
from pathlib import Path

from cases import _flash_clifford
from cases._case import Case

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))

SYMBOLS = {2: (1, 1), 3: (1, 1, 1)}
COMPONENTS = {2: 4, 3: 8}
PATHS = {2: 10, 3: 20}
PAIRS = {2: 14, 3: 44}
SIZES = {"": (4096, 512), "-small": (1024, 128)}
ROTATED_BYTES = 256 << 20
EVENTS = 50
SETTLE_S = 0.02
TURN_S = 0.08


@functools.cache
def modules():
    """Torch, ours and the plain formulas, with the precision both sides use."""
    torch = importlib.import_module("torch")
    torch.set_float32_matmul_precision("high" if torch.cuda.is_available() else "highest")
    return torch, importlib.import_module("tessera.clifford"), importlib.import_module(
        "clifford_torch")


def relative(found, wanted):
    """Largest relative error, in the Euclidean norm, of any tensor."""
    return max(float((a.double() - b.double()).norm() / b.double().norm())
               for a, b in zip(found, wanted, strict=True))


def turn_of(run):
    """Seconds of the calls of a turn.

    Short calls are many, and the first do not count: the other side's threads wait for work by
    spinning, and on few cores that is what would be measured.
    """
    begin = time.perf_counter()
    times = []
    while not times or time.perf_counter() < begin + TURN_S:
        start = time.perf_counter()
        run()
        stop = time.perf_counter()
        if stop >= begin + SETTLE_S:
            times.append(stop - start)
    return times


class Prepared:
    """Tensors of one operation and size, and both sides' ways to compute it."""

    def __init__(self, op, dims, batch, features, dtype, backward):
        torch, _, _ = modules()
        torch.manual_seed(7)
        self.op, self.dims, self.backward = op, dims, backward
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        shape = (COMPONENTS[dims], batch, features)
        kind = {"dtype": getattr(torch, dtype), "device": self.device}

        def draw(*size):
            return torch.randn(*size, **kind)

        item = torch.empty(0, **kind).element_size()
        n_set = max(1, min(8, ROTATED_BYTES // (3 * shape[0] * batch * features * item) + 1))
        self.sets = []
        for _ in range(n_set if self.device == "cuda" else 1):
            activations = [draw(*shape)] + ([draw(*shape)] if op != "layer" else [])
            self.sets.append((activations, draw(*shape)))
        if op == "layer":
            self.weights = [draw(features, PATHS[dims]),
                            draw(dims + 1, features, features) / features**0.5,
                            0.1 * draw(features)]
        elif op == "fcgp":
            self.weights = [draw(PATHS[dims], features, features) / features**0.5]
        else:
            self.weights = [draw(features, PATHS[dims])]
        for tensor in [t for a, _ in self.sets for t in a] + self.weights:
            tensor.requires_grad_(backward)

    def ways(self):
        """The plain formulas in every way they are written."""
        _, _, formulas = modules()
        metric = SYMBOLS[self.dims]
        products = (formulas.gelu_sgp_norm, formulas.gelu_sgp_norm_apart)
        if self.op == "fcgp":
            return [lambda x, y, w: formulas.gelu_fcgp_norm(x, y, w, metric)]
        if self.op == "sgp":
            return [functools.partial(lambda f, x, y, w: f(x, y, w, metric), f) for f in products]

        def layer(product, x, w, linear_weight, bias):
            return product(x, formulas.linear(x, linear_weight, bias, metric), w, metric)

        return [functools.partial(layer, f) for f in products]

    @functools.cached_property
    def plain(self):
        """The plain formulas, compiled for this shape: the way that comes out fastest.

        Or the original's kernels, where the user has them.
        """
        if _flash_clifford.has(self.op, self.dims):
            return _flash_clifford.operation(self.op, self.dims)
        torch, _, _ = modules()
        torch._dynamo.reset()
        compiled = [torch.compile(way, dynamic=False) for way in self.ways()]
        return min(compiled, key=self.seconds_of) if len(compiled) > 1 else compiled[0]

    def seconds_of(self, function):
        """Median of three warm passes."""
        torch, _, _ = modules()
        samples = []
        for _ in range(5):
            start = time.perf_counter()
            self.run(function)
            if self.device == "cuda":
                torch.cuda.synchronize()
            samples.append(time.perf_counter() - start)
        return statistics.median(samples[2:])

    def fused(self, *tensors):
        """Ours."""
        _, clifford, _ = modules()
        if self.op == "layer":
            return clifford.layer(*tensors, metric=SYMBOLS[self.dims])
        name = f"fused_gelu_{self.op}_norm_{self.dims}d"
        return getattr(clifford, name)(*tensors)

    def run(self, function, turn=0):
        """One pass over a set of inputs: the result, or it and all gradients."""
        torch, _, _ = modules()
        activations, gradient = self.sets[turn % len(self.sets)]
        inputs = [*activations, *self.weights]
        if not self.backward:
            with torch.no_grad():
                return [function(*inputs)]
        result = function(*inputs)
        return [result.detach(), *torch.autograd.grad(result, inputs, gradient)]

    def ours(self, threads):
        """Our pass with so many threads."""
        importlib.import_module("tessera").set_num_threads(threads)
        return self.run(self.fused)

    def peer(self):
        """The peer's pass."""
        return self.run(self.plain)

    def on_cpu(self, threads, has_peer):
        """Median seconds of both, taking turns."""
        sides = [lambda: self.ours(threads)] + ([self.peer] if has_peer else [])
        times = [[] for _ in sides]
        end = time.perf_counter() + 3
        while len(times[0]) < 5 or time.perf_counter() < end:
            for run, list_of_times in zip(sides, times, strict=True):
                list_of_times += turn_of(run)
        return [statistics.median(t) for t in times]

    def on_gpu(self, function):
        """Median seconds between events around a pass."""
        torch, _, _ = modules()
        for turn in range(len(self.sets) + 3):
            self.run(function, turn)
        samples = []
        for _ in range(4):
            events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)]
                      for _ in range(EVENTS)]
            torch.cuda.synchronize()
            torch.cuda._sleep(100_000_000)  # cycles: the host gets ahead
            for turn, (start, stop) in enumerate(events):
                start.record()
                self.run(function, turn)
                stop.record()
            torch.cuda.synchronize()
            samples += [start.elapsed_time(stop) * 1e-3 for start, stop in events]
        return statistics.median(samples)

    def times(self, threads):
        """Ours and the peer's."""
        if self.device == "cpu":
            return tuple(self.on_cpu(threads, True))
        return self.on_gpu(self.fused), self.on_gpu(self.plain)

    def more(self):
        """What a pass keeps of memory, and of the host."""
        torch, _, _ = modules()
        facts = {"device": torch.cuda.get_device_name() if self.device == "cuda" else "cpu"}
        if self.device == "cuda":
            activations, gradient = self.sets[0]
            inputs = sum(t.nbytes for t in [*activations, gradient, *self.weights])
            for name, function in (("MiB", self.fused), ("peer MiB", self.plain)):
                self.run(function)
                torch.cuda.synchronize()
                # Other sets, and results that were compared, do not belong to a pass.
                before = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
                self.run(function)
                more = torch.cuda.max_memory_allocated() - before
                facts[name] = (inputs + more) / 2**20
            torch.cuda.synchronize()
            start = time.perf_counter()
            for turn in range(EVENTS):
                self.run(self.fused, turn)
            facts["host ms"] = (time.perf_counter() - start) / EVENTS * 1e3
            torch.cuda.synchronize()
        return facts


def least_bytes(op, dims, batch, features, backward, item):
    """What has to come from and go to memory at least."""
    activations = COMPONENTS[dims] * batch * features * item
    n_input = 1 if op == "layer" else 2
    forward = (n_input + 1) * activations
    return forward + (2 * n_input + 1) * activations if backward else forward


def flop(op, dims, batch, features, backward):
    """Of matrix products."""
    matrices = {"sgp": 0, "fcgp": PAIRS[dims], "layer": COMPONENTS[dims]}[op]
    return 2.0 * matrices * batch * features**2 * (3 if backward else 1)


def make_case(op, dims, way, suffix, dtype="float32"):
    batch, features = SIZES[suffix]
    backward = way == "fwdbwd"
    item = 4 if dtype == "float32" else 2
    tolerance = 2e-3 if op != "sgp" else 2e-6
    # The ceilings of the bench are the CPU's.
    has_ceiling = not modules()[0].cuda.is_available()
    is_matrix = op == "fcgp"
    if dtype != "float32":
        tolerance = 2e-2
    return Case(
        name=f"{op}{dims}-{way}{suffix}" + ("" if dtype == "float32" else f"-{dtype}"),
        sizes={"dims": dims, "batch": batch, "features": features, "dtype": dtype},
        peer_name="torch",
        peer_label="flash-clifford, with torch" if _flash_clifford.has(op, dims) else "torch",
        tolerance=tolerance,
        make=lambda: Prepared(op, dims, batch, features, dtype, backward),
        ours=lambda data, threads: data.ours(threads),
        peer=lambda data: data.peer(),
        error=relative,
        times=lambda data, threads: data.times(threads),
        more=lambda data, threads, ours_s: data.more(),
        bytes_read=has_ceiling * (not is_matrix)
        * least_bytes(op, dims, batch, features, backward, item),
        flop=has_ceiling * is_matrix * flop(op, dims, batch, features, backward),
        all_threads_only=True,
    )


def cases():
    for suffix in SIZES:
        for op, dims in (("sgp", 2), ("sgp", 3), ("fcgp", 2), ("fcgp", 3), ("layer", 2),
                         ("layer", 3)):
            for way in ("fwd", "fwdbwd"):
                yield make_case(op, dims, way, suffix)
    torch, _, _ = modules()
    if torch.cuda.is_available():
        for way in ("fwd", "fwdbwd"):
            yield make_case("sgp", 3, way, "", "bfloat16")
            yield make_case("fcgp", 3, way, "", "bfloat16")
    if importlib.util.find_spec("lgatr") is not None:
        yield from importlib.import_module("cases._clifford_lgatr").cases()

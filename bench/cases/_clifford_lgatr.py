"""One block of L-GATr against that of lgatr, with lgatr's defaults and the same parameters.

The peer runs call by call and under torch.compile; the faster counts. Twice as many scalar as
multivector channels; gradients by the inputs and all parameters.
"""

import functools
import importlib

from cases import clifford
from cases._case import Case

# (events, items, channels): the sizes of GPUs take minutes a pass on a CPU.
SIZES = {"cuda": ((128, 64, 16), (128, 128, 32)), "cpu": ((4, 64, 16), (4, 128, 32))}


class Blocks(clifford.Prepared):
    """The same block of both packages, and inputs."""

    def __init__(self, events, items, channels, backward):
        torch, _, _ = clifford.modules()
        torch.manual_seed(7)
        self.backward = backward
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        theirs, ours = (importlib.import_module(f"{package}lgatr")
                        for package in ("", "tessera.clifford."))
        layers = importlib.import_module("lgatr.layers")
        self.mine = ours.LGATrBlock(channels, 2 * channels, ours.SelfAttentionConfig(),
                                    ours.MLPConfig())
        self.other = layers.LGATrBlock(channels, 2 * channels, theirs.SelfAttentionConfig(),
                                       theirs.MLPConfig(), theirs.PrimitivesConfig())
        self.mine.load_state_dict(self.other.state_dict())
        self.mine.to(self.device)
        self.other.to(self.device)
        shapes = ((events, items, channels, 16), (events, items, 2 * channels))
        draw = functools.partial(torch.randn, device=self.device)
        inputs = [draw(*shape).requires_grad_(backward) for shape in shapes]
        self.sets = [(inputs, [draw(*shape) for shape in shapes])]
        self.weights = []


    @functools.cached_property
    def plain(self):
        torch, _, _ = clifford.modules()
        torch._dynamo.reset()
        return min((self.other, torch.compile(self.other, dynamic=False)), key=self.seconds_of)

    def fused(self, *tensors):
        return self.mine(*tensors)

    def run(self, function, turn=0):
        """Both results, or they and all gradients, parameters in the order of the state."""
        torch, _, _ = clifford.modules()
        inputs, gradients = self.sets[0]
        if not self.backward:
            with torch.no_grad():
                return list(function(*inputs))
        results = function(*inputs)
        block = self.mine if function == self.fused else self.other
        parameters = [p for _, p in sorted(block.named_parameters())]
        found = torch.autograd.grad(results, [*inputs, *parameters], gradients)
        return [r.detach() for r in results] + list(found)

    def more(self):
        facts = super().more() if self.device == "cuda" else {}
        facts["peer"] = "call by call" if self.plain is self.other else "compiled"
        return facts


def cases():
    torch, _, _ = clifford.modules()
    for events, items, channels in SIZES["cuda" if torch.cuda.is_available() else "cpu"]:
        for way in ("fwd", "fwdbwd"):
            yield Case(
                name=f"lgatr-{way}-{events}x{items}x{channels}",
                sizes={"events": events, "items": items, "channels": channels},
                peer_name="lgatr",
                tolerance=2e-3 if torch.cuda.is_available() else 2e-5,
                make=functools.partial(Blocks, events, items, channels, way == "fwdbwd"),
                ours=lambda data, threads: data.ours(threads),
                peer=lambda data: data.peer(),
                error=clifford.relative,
                times=lambda data, threads: data.times(threads),
                more=lambda data, threads, ours_s: data.more(),
                all_threads_only=True,
            )

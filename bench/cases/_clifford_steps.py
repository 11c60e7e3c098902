"""Whole training steps of clifford on a GPU, by the clock: what a user waits for."""

import time

WARM, ROUNDS, STEPS = 10, 5, 30


def best_ms(torch, step):
    """Milliseconds of a step: the best of some rounds of many, host and device together."""
    for _ in range(WARM):
        step()
    found = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - start) / STEPS)
    return 1e3 * min(found)


class Stack:
    """Eight 3D layers of 128 features on 1024 rows, forward and backward."""

    def __init__(self, torch, clifford):
        torch.manual_seed(0)
        self.torch = torch
        self.net = torch.nn.Sequential(*[clifford.Layer(128, 3) for _ in range(8)]).cuda()
        self.x, self.gradient = torch.randn(2, 8, 1024, 128, device="cuda")

    def _step(self, net):
        for parameter in self.net.parameters():
            parameter.grad = None
        net(self.x).backward(self.gradient)

    def eager(self):
        return best_ms(self.torch, lambda: self._step(self.net))

    def graph(self):
        """The step recorded in a CUDA graph."""
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step(self.net)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(self.net)
        return best_ms(torch, graph.replay)

    def compiled(self):
        """The step under torch.compile(mode="reduce-overhead")."""
        torch = self.torch
        net = torch.compile(self.net, mode="reduce-overhead")

        def step():
            torch.compiler.cudagraph_mark_step_begin()
            self._step(net)

        return best_ms(torch, step)


class Block:
    """One block of L-GATr with lgatr's defaults and 32 scalars."""

    def __init__(self, torch, events, tokens, channels, scalars=32):
        from tessera.clifford import lgatr

        torch.manual_seed(0)
        self.torch = torch
        self.block = lgatr.LGATrBlock(channels, scalars, {}, {}).cuda()
        shapes = ((events, tokens, channels, 16), (events, tokens, scalars))
        self.inputs = [torch.randn(*s, device="cuda", requires_grad=True) for s in shapes]
        self.gradients = [torch.randn_like(t) for t in self.inputs]

    def forward(self):
        with self.torch.no_grad():
            return best_ms(self.torch, lambda: self.block(*self.inputs))

    def _step(self):
        for t in [*self.block.parameters(), *self.inputs]:
            t.grad = None
        self.torch.autograd.backward(self.block(*self.inputs), self.gradients)

    def both(self):
        return best_ms(self.torch, self._step)

    def megabytes(self):
        """What a step has at most, parameters, inputs and gradients included."""
        self._step()
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()
        self._step()
        return self.torch.cuda.max_memory_allocated() / 1e6

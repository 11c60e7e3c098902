"""What clifford's operations and networks are held to on an H200, measured: one line each.

    python bench/clifford_targets.py [WORD ...]    (those whose name has a word; exit 1: one misses)

Needs torch with CUDA. Times of operations are GPU times, as bench/cases/clifford.py takes them;
those of steps, in milliseconds, are the clock's; memory is what a pass has at most, inputs and
gradients included.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import _clifford_steps as steps
from cases import clifford
from cases._targets import check

WIDE = (4096, 512)
SMALL = (1024, 128)


def seconds(op, dims, size, dtype, backward):
    """Of ours."""
    data = clifford.Prepared(op, dims, *size, dtype, backward)
    return data.on_gpu(data.fused)


def gain_of_bfloat16(op):
    """How many times as fast as f32 a pass with gradients is."""
    return seconds(op, 3, WIDE, "float32", True) / seconds(op, 3, WIDE, "bfloat16", True)


def gain_of_layer(dims):
    """How many times as fast as torch.compile a small layer is."""
    data = clifford.Prepared("layer", dims, *SMALL, "float32", False)
    return data.on_gpu(data.plain) / data.on_gpu(data.fused)


def mebibytes():
    return clifford.Prepared("fcgp", 3, *WIDE, "float32", True).more()["MiB"]


def stack():
    torch, ours, _ = clifford.modules()
    return steps.Stack(torch, ours)


def small_block():
    return steps.Block(clifford.modules()[0], 128, 64, 16)


def large_block():
    return steps.Block(clifford.modules()[0], 128, 128, 32)


# What it is, how it is measured, what is asked for, and whether more is better.
TARGETS = [
    ("sgp 3D with gradients, bf16 against f32", lambda: gain_of_bfloat16("sgp"), 1.7, True),
    ("fcgp 3D with gradients, bf16 against f32", lambda: gain_of_bfloat16("fcgp"), 1.0, True),
    ("layer 2D 1024 x 128 against torch.compile", lambda: gain_of_layer(2), 1.0, True),
    ("layer 3D 1024 x 128 against torch.compile", lambda: gain_of_layer(3), 1.0, True),
    ("fcgp 3D with gradients, MiB", mebibytes, 430.0, False),
    ("8 layers, a step, ms", lambda: stack().eager(), 0.9, False),
    ("8 layers, a step in a CUDA graph, ms", lambda: stack().graph(), 0.45, False),
    ("8 layers, a step under reduce-overhead, ms", lambda: stack().compiled(), 0.6, False),
    ("L-GATr block 128 x 64 x 16 forward, ms", lambda: small_block().forward(), 1.3, False),
    ("L-GATr block 128 x 64 x 16, a step, ms", lambda: small_block().both(), 3.0, False),
    ("L-GATr block 128 x 128 x 32 forward, ms", lambda: large_block().forward(), 3.0, False),
    ("L-GATr block 128 x 128 x 32, a step, ms", lambda: large_block().both(), 6.5, False),
    ("L-GATr block 128 x 128 x 32, a step, MB", lambda: large_block().megabytes(), 1000.0, False),
]


def main():
    torch, _, _ = clifford.modules()
    if not torch.cuda.is_available():
        raise SystemExit("bench/clifford_targets.py: torch sees no GPU: run it where one is")
    return check(TARGETS, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

"""What clifford's small and 16-bit operations are held to on a GPU, measured: one line each.

    python bench/clifford_targets.py          (exit 1 where one misses; needs torch with CUDA)

Times are GPU times, as bench/cases/clifford.py takes them; memory is what a pass has at most,
inputs and gradients included.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import clifford

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


# What it is, how it is measured, what is asked for, and whether more is better.
TARGETS = [
    ("sgp 3D with gradients, bf16 against f32", lambda: gain_of_bfloat16("sgp"), 1.7, True),
    ("fcgp 3D with gradients, bf16 against f32", lambda: gain_of_bfloat16("fcgp"), 1.0, True),
    ("layer 2D 1024 x 128 against torch.compile", lambda: gain_of_layer(2), 1.0, True),
    ("layer 3D 1024 x 128 against torch.compile", lambda: gain_of_layer(3), 1.0, True),
    ("fcgp 3D with gradients, MiB", mebibytes, 430.0, False),
]


def main():
    torch, _, _ = clifford.modules()
    if not torch.cuda.is_available():
        raise SystemExit("bench/clifford_targets.py: torch sees no GPU: run it where one is")
    n_missed = 0
    for name, measure, asked, more_is_better in TARGETS:
        found = measure()
        missed = found < asked if more_is_better else found > asked
        n_missed += missed
        print(f"{name:<44} {found:8.2f}  asked {'>=' if more_is_better else '<='} {asked:g}"
              f"{'   MISSED' if missed else ''}", flush=True)
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())

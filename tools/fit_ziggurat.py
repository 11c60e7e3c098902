#!/usr/bin/env python3
"""Finds the strips of NumPy's ziggurat for normals from what it draws.

    python tools/fit_ziggurat.py > src/base/rng_ziggurat.h

A normal is, 99 times in 100, m * x[i] / 2**52 with the strip i in the lowest eight bits of a word
and m in bits 9 to 60. x[i] solves x[i] * (f(x[i-1]) - f(x[i])) = area, but NumPy's last bits carry
the rounding of the program that once computed them; every draw narrows them down until one double
is left.
"""

import math
from fractions import Fraction

import numpy as np

N_STRIP = 256
N_DRAW = 400_000
TAIL_START = 3.6541528853610088


def approximate():
    """The strips to within a few units in the last place."""
    tail = math.sqrt(math.pi / 2) * math.erfc(TAIL_START / math.sqrt(2))
    area = TAIL_START * math.exp(-(TAIL_START**2) / 2) + tail
    x = [0.0] * (N_STRIP - 1) + [TAIL_START]
    for i in range(N_STRIP - 2, 0, -1):
        x[i] = math.sqrt(-2 * math.log(area / x[i + 1] + math.exp(-(x[i + 1] ** 2) / 2)))
    x[0] = area / math.exp(-(TAIL_START**2) / 2)
    return x


def observe():
    """Bounds of x[i] from draws that ended with their first word's value."""
    near = approximate()
    bits = np.random.PCG64(1)
    normal = np.random.Generator(bits)
    low = [Fraction(0)] * N_STRIP
    high = [Fraction(10)] * N_STRIP
    for _ in range(N_DRAW):
        before = bits.state
        word = int(bits.random_raw())
        bits.state = before
        x = abs(float(normal.standard_normal()))
        m = word >> 9 & (2**52 - 1)
        i = word & 255
        if abs(x * 2**52 - m * near[i]) > 1e-12 * m * near[i]:
            continue
        half = Fraction(np.spacing(x)) / 2
        low[i] = max(low[i], (Fraction(x) - half) * 2**52 / m)
        high[i] = min(high[i], (Fraction(x) + half) * 2**52 / m)
    return low, high


def pick(low, high):
    """The one double between two bounds."""
    x = float((low + high) / 2)
    around = [np.nextafter(x, 0), x, np.nextafter(x, 10)]
    fits = [y for y in around if low <= Fraction(float(y)) <= high]
    assert len(fits) == 1, "draw more"
    return float(fits[0])


def main():
    low, high = observe()
    strips = [pick(*bounds) for bounds in zip(low, high, strict=True)]
    print("// Made by tools/fit_ziggurat.py: right ends of the 256 strips of NumPy's normals;")
    print("// [0] is the base strip's, made as wide as its area with the tail.")
    print("#ifndef TESS_BASE_RNG_ZIGGURAT_H\n#define TESS_BASE_RNG_ZIGGURAT_H\n")
    print("static const double ziggurat_x[256] = {")
    for i in range(0, N_STRIP, 4):
        print("    " + " ".join(f"{x.hex()}," for x in strips[i : i + 4]))
    print("};\n\n#endif")


if __name__ == "__main__":
    main()

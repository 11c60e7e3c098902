#!/usr/bin/env python3
"""Fit the polynomials of src/kernels/simd/math_body.h and print math_coefficients.h.

    python3 tools/fit_polynomials.py > src/kernels/simd/math_coefficients.h

Weighted minimax by the Remez exchange in multiple precision (needs mpmath), then rounding of each
coefficient to the target format. The weight turns an error of the polynomial into an error of the
function relative to its value, so the figure printed beside each table is comparable with half
an ulp (2^-24 for f32, 2^-53 for f64).
"""
import struct

from mpmath import atanh, cos, erf, erfc, exp, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.prec = 260


def remez(function, weight, low, high, degree, n_round=12):
    """Coefficients, lowest first, that minimise max |weight * (polynomial - function)|."""
    n = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    grid = [middle - half * cos(pi * k / (24 * n)) for k in range(24 * n + 1)]
    values = [function(x) for x in grid]
    weights = [weight(x) for x in grid]
    nodes = [24 * k * n // (n - 1) for k in range(n)]
    for _ in range(n_round):
        system = matrix(n, n)
        right = matrix(n, 1)
        for row, k in enumerate(nodes):
            for column in range(degree + 1):
                system[row, column] = grid[k] ** column
            system[row, degree + 1] = (-1) ** row / weights[k]
            right[row] = values[k]
        solution = lu_solve(system, right)
        coefficients = [solution[k] for k in range(degree + 1)]
        error = [w * (horner(coefficients, x) - f) for x, f, w in zip(grid, values, weights)]
        moved = alternating_extremes(error, n)
        if moved == nodes or len(moved) < n:
            break
        nodes = moved
    return coefficients, max(abs(e) for e in error)


def horner(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def alternating_extremes(error, n):
    """Grid indices of n extremes of alternating sign: the largest of each run of one sign."""
    runs = []
    for k, e in enumerate(error):
        if runs and (error[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(error[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > n:
        runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
    return runs


def rounded(value, bits):
    if bits == 32:
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    return float(value)


def literal(value, bits):
    digits, exponent = float(value).hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent + ("f" if bits == 32 else "")


def print_table(name, bits, what, coefficients, error):
    kind = "float" if bits == 32 else "double"
    print(f"// {what}; relative error 2^{float(log(error, 2)):.1f}.")
    print(f"static const {kind} {name}_f{bits}[] = {{")
    for c in reversed(coefficients):  # highest first: the order Horner's rule wants
        print(f"    {literal(rounded(c, bits), bits)},")
    print("};")


def print_constant(name, bits, value):
    kind = "float" if bits == 32 else "double"
    print(f"static const {kind} {name}_f{bits} = {literal(rounded(value, bits), bits)};")


def print_split(name, bits, value, widths):
    """value as a sum of parts, the k-th of widths[k] significant bits."""
    for k, width in enumerate(widths):
        unit = mpf(2) ** (mp.floor(log(abs(value), 2)) - width + 1)
        part = mp.nint(value / unit) * unit
        print_constant(f"{name}_{k + 1}", bits, part)
        value -= part


def sqrt_argument(function):
    return lambda z: function(sqrt(z))


def print_functions(bits):
    full = {32: 24, 64: 53}[bits]
    degree = {32: dict(exp=5, log=2, sine=2, cosine=3, near=6, far=6, half=6, tail=9),
              64: dict(exp=9, log=6, sine=5, cosine=6, near=12, far=17, half=11, tail=23)}[bits]
    tiny = mpf(2) ** -40
    reduced = log(2) / 2 * mpf("1.0001")
    print_table("exp_tail", bits, "(exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2", *remez(
        lambda r: (exp(r) - 1 - r) / r**2, lambda r: r**2 / exp(r),
        -reduced, reduced * mpf("1.0003"), degree["exp"]))
    s_max = (sqrt(2) - 1) / (sqrt(2) + 1)
    print_table("log_tail", bits, "(2 atanh(s) - 2 s) / s^3 in z = s^2", *remez(
        sqrt_argument(lambda s: (2 * atanh(s) - 2 * s) / s**3),
        sqrt_argument(lambda s: s**3 / (2 * atanh(s))), tiny, s_max**2, degree["log"]))
    quarter = (pi / 4) * mpf("1.0001")
    print_table("sin_tail", bits, "(sin(r) - r) / r^3 in z = r^2 on |r| <= pi / 4", *remez(
        sqrt_argument(lambda r: (sin(r) - r) / r**3),
        sqrt_argument(lambda r: r**3 / sin(r)), tiny, quarter**2, degree["sine"]))
    print_table("cos_tail", bits, "(cos(r) - 1) / r^2 in z = r^2 on |r| <= pi / 4", *remez(
        sqrt_argument(lambda r: (cos(r) - 1) / r**2),
        sqrt_argument(lambda r: r**2 / cos(r)), tiny, quarter**2, degree["cosine"]))
    print_table("erf_near", bits, "(erf(x) - x) / x in z = x^2 on |x| <= 1", *remez(
        sqrt_argument(lambda x: (erf(x) - x) / x),
        sqrt_argument(lambda x: x / erf(x)), tiny, mpf(1), degree["near"]))
    last = mpf({32: "3.95", 64: "5.95"}[bits])
    print_table("erf_far", bits, f"log(erfc(1 + u)) on 0 <= u <= {float(last) - 1:.2f}", *remez(
        lambda u: log(erfc(1 + u)), lambda u: erfc(1 + u) / erf(1 + u), mpf(0), last - 1,
        degree["far"]))
    print_constant("erf_last", bits, last)
    # The normal distribution's tail beyond a is exp(-a^2 / 2) s G(q) with s = 1 / (a + pole) and
    # q = 1 - 2 pole s.
    pole, end = {32: (mpf("2.5"), mpf("14.6")), 64: (mpf(4), mpf(39))}[bits]

    def tail(q):
        a = 2 * pole / (1 - q) - pole
        return (a + pole) * erfc(a / sqrt(2)) * exp(a * a / 2) / 2

    at = f"{float(pole):g}"
    what = f"(a + {at}) Q(a) exp(a^2 / 2) in q = (a - {at}) / (a + {at}), a <= {float(end):g}"
    last = 1 - 2 * pole / (end + pole)
    print_table("normal_tail", bits, what,
                *remez(tail, lambda q: 1 / tail(q), mpf(-1), last, degree["tail"]))
    print_table("exp_half", bits, "exp(-u / 2) on |u| <= ln(2)", *remez(
        lambda u: exp(-u / 2), lambda u: exp(u / 2), -2 * reduced, 2 * reduced, degree["half"]))
    print_constant("normal_pole", bits, pole)
    print_constant("normal_end", bits, end)
    print_constant("normal_peak", bits, 1 / sqrt(2 * pi))
    print_constant("log2_e", bits, 1 / log(2))
    print_constant("half_log2_e", bits, 1 / (2 * log(2)))
    print_constant("twice_ln2", bits, 2 * log(2))
    print_constant("twice_ln2_rest", bits, 2 * log(2) - rounded(2 * log(2), bits))
    # k * ln2_1 must be exact for every exponent k (8 and 11 bits).
    print_split("ln2", bits, log(2), {32: (15, 24), 64: (41, 53)}[bits])
    root = rounded(sqrt(mpf(0.5)), bits)
    print_constant("sqrt_half", bits, root)
    pattern = struct.pack(">f" if bits == 32 else ">d", root).hex()
    print(f"static const uint{bits}_t sqrt_half_bits_f{bits} = 0x{pattern};")
    print_constant("two_over_pi", bits, 2 / pi)
    print_split("half_pi", bits, pi / 2, (full, full, full))


print("// Written by tools/fit_polynomials.py, which says how; do not edit.")
print("//")
print("// Coefficients stand highest power first.")
print("// clang-format off")
print("#ifndef TESS_KERNELS_SIMD_MATH_COEFFICIENTS_H")
print("#define TESS_KERNELS_SIMD_MATH_COEFFICIENTS_H")
print("\n#include <stdint.h>")
for width in (32, 64):
    print()
    print_functions(width)
print("\n#endif")

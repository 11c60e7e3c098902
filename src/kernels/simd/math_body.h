// The elementary functions for one dtype; included by math.h only, which says what they promise.
//
// Adding ROUND_MAGIC (1.5 * 2^mantissa) rounds to a whole number that then sits, as an integer, in
// the low bits of the sum.
#include "kernels/simd/dtype.h"

#define SIGN_BIT ((UINT)1 << (T_MANTISSA == 23 ? 31 : 63))

// Horner's rule, times a factor; it and n are constants, so the loop unrolls.
static inline VF V(polynomial)(VF x, const SCALAR *coefficient, size_t n, SCALAR factor)
{
    VF sum = V(set1)(factor * coefficient[0]);
    for (size_t k = 1; k < n; k++) {
        sum = V(fma)(sum, x, V(set1)(factor * coefficient[k]));
    }
    return sum;
}
#define POLYNOMIAL_TIMES(factor, name, x)                                                          \
    V(polynomial)((x), T_NAME(name), sizeof(T_NAME(name)) / sizeof(SCALAR), (factor))
#define POLYNOMIAL(name, x) POLYNOMIAL_TIMES(1, name, x)
#define CONSTANT(name) V(set1)(T_NAME(name))

static inline VF V(only_nan_where)(VM mask, VF otherwise)
{
    return V(select)(mask, V(set1)((SCALAR)NAN), otherwise);
}

#ifndef V_HAS_SCALE
// 2^k for a whole k within the exponents of normal numbers.
static inline VF V(power_of_two)(VF k)
{
    const VU biased = V(bits)(V(add)(k, V(set1)(ROUND_MAGIC + T_BIAS)));
    return V(from_bits)(U(shl)(biased, T_MANTISSA));
}

// x * 2^k. In two steps, because 2^k alone may not be a normal number; the first is exact.
static inline VF V(scale)(VF x, VF k)
{
    const VF magic = V(set1)(ROUND_MAGIC);
    const VF half = V(sub)(V(fma)(k, V(set1)((SCALAR)0.5), magic), magic);
    return V(mul)(V(mul)(x, V(power_of_two)(half)), V(power_of_two)(V(sub)(k, half)));
}
#endif

// exp(x) = 2^k exp(r), |r| <= ln(2) / 2, and exp(r) = 1 + r + r^2 tail(r). What the sum 1 + r loses
// is added with the tail: rounding r^2 tail(r) + r first would cost a quarter of an ulp.
static inline VF V(exp)(VF x)
{
    const VF magic = V(set1)(ROUND_MAGIC);
    const VF inside = V(min)(V(max)(x, V(set1)(EXP_LOWEST)), V(set1)(EXP_HIGHEST));
    const VF k = V(sub)(V(fma)(inside, CONSTANT(log2_e), magic), magic);
    const VF r = V(fnma)(k, CONSTANT(ln2_2), V(fnma)(k, CONSTANT(ln2_1), inside));
    const VF one = V(set1)(1);
    const VF sum = V(add)(one, r);
    const VF lost = V(sub)(r, V(sub)(sum, one));
    const VF tail = V(fma)(V(mul)(r, r), POLYNOMIAL(exp_tail, r), lost);
    const VF y = V(scale)(V(add)(sum, tail), k);
    return V(only_nan_where)(V(isnan)(x), y);
}

// log(x) = k ln(2) + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2), with s = f / (2 + f) and
//     log(1 + f) = 2 atanh(s) = f - (f^2 / 2 - s (f^2 / 2 + s^2 tail(s^2))),
// where the terms after f are small, so that their rounding errors are too.
static inline VF V(log)(VF x)
{
    const SCALAR denormal_scale = (SCALAR)((uint64_t)1 << (T_MANTISSA + 1));
    const VM is_denormal = V(lt)(x, V(set1)(NORMAL_LEAST));
    const VF normal = V(select)(is_denormal, V(mul)(x, V(set1)(denormal_scale)), x);

    // Shifted so that the exponent field steps at sqrt(1/2), not at 1.
    const VU root = V(bits)(CONSTANT(sqrt_half));
    const VU up = U(set1)(((UINT)T_BIAS << T_MANTISSA) - T_NAME(sqrt_half_bits));
    const VU shifted = U(add)(V(bits)(normal), up);
    const VU mantissa = U(and)(shifted, U(set1)(((UINT)1 << T_MANTISSA) - 1));
    const VF f = V(sub)(V(from_bits)(U(add)(mantissa, root)), V(set1)(1));

    // An integer below 2^mantissa, or-ed into that power of two, becomes a float by subtraction.
    const SCALAR power = (SCALAR)((UINT)1 << T_MANTISSA);
    const VU field = U(shr)(shifted, T_MANTISSA);
    const VF k_biased = V(from_bits)(U(or)(field, V(bits)(V(set1)(power))));
    const VF bias =
        V(select)(is_denormal, V(set1)(power + T_BIAS + T_MANTISSA + 1), V(set1)(power + T_BIAS));
    const VF k = V(sub)(k_biased, bias);

    const VF s = V(div)(f, V(add)(f, V(set1)(2)));
    const VF z = V(mul)(s, s);
    const VF half_square = V(mul)(V(mul)(f, V(set1)((SCALAR)0.5)), f);
    const VF tail = V(fma)(z, POLYNOMIAL(log_tail, z), half_square);
    const VF small = V(sub)(half_square, V(fma)(s, tail, V(mul)(k, CONSTANT(ln2_2))));
    VF y = V(fma)(k, CONSTANT(ln2_1), V(sub)(f, small));

    const VF zero = V(set1)(0);
    const VF infinity = V(set1)((SCALAR)INFINITY);
    y = V(select)(V(eq)(x, infinity), infinity, y);
    y = V(select)(V(eq)(x, zero), V(set1)(-(SCALAR)INFINITY), y);
    return V(only_nan_where)(V(mask_or)(V(lt)(x, zero), V(isnan)(x)), y);
}

// Sine and cosine of the lanes above SINCOS_LAST, by the C library.
static inline void V(sincos_far)(VF x, VF *sine, VF *cosine)
{
    SCALAR in[V_MAX_BYTES / sizeof(SCALAR)];
    SCALAR s[V_MAX_BYTES / sizeof(SCALAR)];
    SCALAR c[V_MAX_BYTES / sizeof(SCALAR)];
    V(store)(in, x);
    V(store)(s, *sine);
    V(store)(c, *cosine);
    for (size_t lane = 0; lane < V(len)(); lane++) {
        if (isinf(in[lane])) {
            s[lane] = c[lane] = (SCALAR)NAN;
        } else if (in[lane] > SINCOS_LAST || in[lane] < -SINCOS_LAST) {
            s[lane] = (SCALAR)sin((double)in[lane]);
            c[lane] = (SCALAR)cos((double)in[lane]);
        }
    }
    *sine = V(load)(s);
    *cosine = V(load)(c);
}

// |x| = k pi/2 + r, |r| <= pi/4. The first step of the reduction is exact (its operands are
// multiples of the last bit of pi/2, and the fused product is not rounded), the second rounds
// relative to r itself, the third matters where r nearly vanishes.
static inline void V(sincos)(VF x, VF *sine, VF *cosine)
{
    const VF size = V(abs)(x);
    const VF shifted = V(fma)(size, CONSTANT(two_over_pi), V(set1)(ROUND_MAGIC));
    const VF k = V(sub)(shifted, V(set1)(ROUND_MAGIC));
    VF r = V(fnma)(k, CONSTANT(half_pi_1), size);
    r = V(fnma)(k, CONSTANT(half_pi_2), r);
    r = V(fnma)(k, CONSTANT(half_pi_3), r);

    const VF z = V(mul)(r, r);
    const VF s = V(fma)(V(mul)(z, POLYNOMIAL(sin_tail, z)), r, r);
    const VF c = V(fma)(z, POLYNOMIAL(cos_tail, z), V(set1)(1));

    // Quadrant q = k mod 4: odd ones swap sine and cosine; bit 1 of q and of q + 1 are their signs.
    const VU q = V(bits)(shifted);
    const VU two = U(set1)(2);
    const VU sign_bit = U(set1)(SIGN_BIT);
    const int to_sign = T_MANTISSA == 23 ? 30 : 62;
    const VM swap = V(test)(q, U(set1)(1));
    const VU sine_sign = U(xor)(U(shl)(U(and)(q, two), to_sign), U(and)(V(bits)(x), sign_bit));
    const VU cosine_sign = U(shl)(U(and)(U(add)(q, U(set1)(1)), two), to_sign);
    const VM is_nan = V(isnan)(x);
    *sine =
        V(only_nan_where)(is_nan, V(from_bits)(U(xor)(V(bits)(V(select)(swap, c, s)), sine_sign)));
    *cosine = V(only_nan_where)(is_nan,
                                V(from_bits)(U(xor)(V(bits)(V(select)(swap, s, c)), cosine_sign)));

    if (V(any)(V(lt)(V(set1)(SINCOS_LAST), size))) {
        V(sincos_far)(x, sine, cosine);
    }
}

// Up to 1 a polynomial in x^2; beyond, 1 - exp(log(erfc(x))) with a polynomial for the logarithm:
// erfc is small there, so that its relative error hardly counts. A vector wholly on one side skips
// the other; the bits do not depend on that.
static inline VF V(erf)(VF x)
{
    const VF one = V(set1)(1);
    const VF size = V(abs)(x);
    const VF z = V(mul)(size, size);
    const VM is_far = V(lt)(one, size);
    VF y = V(fma)(size, POLYNOMIAL(erf_near, z), size);
    if (V(any)(is_far)) {
        const VF u = V(sub)(V(min)(size, CONSTANT(erf_last)), one);
        y = V(select)(is_far, V(sub)(one, V(exp)(POLYNOMIAL(erf_far, u))), y);
    }
    const VU sign = U(and)(V(bits)(x), U(set1)(SIGN_BIT));
    return V(only_nan_where)(V(isnan)(x), V(from_bits)(U(or)(V(bits)(y), sign)));
}

// exp(-t / 2), t >= 0, times 2^NORMAL_SHIFT: that is a normal number for all t that are asked for,
// so its power of two is made in one step. Constants that it is multiplied with take the shift
// back. An error of t is small beside t, which is all that the normal distribution asks for; 2
// ln(2) happens to be an f32 to 28 bits, but as an f64 it needs the rest.
#ifdef V_HAS_SCALE
#define NORMAL_SHIFT 0
#define NORMAL_BACK ((SCALAR)1)
#else
#define NORMAL_SHIFT (T_MANTISSA == 23 ? 64 : 128)
#define NORMAL_BACK ((SCALAR)(T_MANTISSA == 23 ? 0x1p-64 : 0x1p-128))
#endif

static inline VF V(exp_half)(VF t)
{
    const VF magic = V(set1)(ROUND_MAGIC);
    const VF shifted = V(fnma)(t, CONSTANT(half_log2_e), magic);
    const VF k = V(sub)(shifted, magic);
    VF u = V(fma)(k, CONSTANT(twice_ln2), t);
    u = T_MANTISSA == 23 ? u : V(fma)(k, CONSTANT(twice_ln2_rest), u);
    const VF y = POLYNOMIAL(exp_half, u);
#ifdef V_HAS_SCALE
    return V(scale)(y, k);
#else
    const VU biased = V(bits)(V(add)(shifted, V(set1)(T_BIAS + NORMAL_SHIFT)));
    return V(mul)(y, V(from_bits)(U(shl)(biased, T_MANTISSA)));
#endif
}

// |x|, but no further than where the tail is 0.
static inline VF V(normal_distance)(VF x)
{
    return V(at_most)(V(abs)(x), CONSTANT(normal_end));
}

// Phi(x) below 0, and 1 - Phi(-x) above, is exp(-a^2 / 2), a = |x|, times a function of a that
// falls slowly: a polynomial in (a - pole) / (a + pole), divided by a + pole. s is that divisor's
// inverse.
static inline VF V(normal_by)(VF x, VF a, VF s, VF *density)
{
    const VF one = V(set1)(1);
    const VF e = V(exp_half)(V(mul)(a, a));
    const VF q = V(fnma)(V(set1)(2 * T_NAME(normal_pole)), s, one);
    const VF tail = V(mul)(e, V(mul)(s, POLYNOMIAL_TIMES(NORMAL_BACK, normal_tail, q)));
    *density = V(mul)(e, V(set1)(NORMAL_BACK * T_NAME(normal_peak)));
    return V(select)(V(lt)(V(set1)(0), x), V(sub)(one, tail), tail);
}

static inline VF V(normal)(VF x, VF *density)
{
    const VF a = V(normal_distance)(x);
    return V(normal_by)(x, a, V(inverse)(V(add)(a, CONSTANT(normal_pole))), density);
}

// Of two vectors: one inverse does for both.
static inline void V(normal_pair)(VF x, VF y, VF *phi_x, VF *phi_y, VF *density_x, VF *density_y)
{
    const VF a = V(normal_distance)(x), b = V(normal_distance)(y);
    const VF by_a = V(add)(a, CONSTANT(normal_pole)), by_b = V(add)(b, CONSTANT(normal_pole));
    const VF inverse = V(inverse)(V(mul)(by_a, by_b));
    *phi_x = V(normal_by)(x, a, V(mul)(inverse, by_b), density_x);
    *phi_y = V(normal_by)(y, b, V(mul)(inverse, by_a), density_y);
}

#undef SIGN_BIT
#undef POLYNOMIAL
#undef POLYNOMIAL_TIMES
#undef NORMAL_SHIFT
#undef NORMAL_BACK
#undef CONSTANT

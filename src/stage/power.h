// Powers with the same bits on every machine, for code of the CPU and of GPUs. Products and sums
// must not be contracted: -ffp-contract=off, --fmad=false.
#ifndef TESS_STAGE_POWER_H
#define TESS_STAGE_POWER_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define TESS_ANYWHERE static inline __host__ __device__
#define TESS_TABLE constexpr double
#else
#define TESS_ANYWHERE static inline
#define TESS_TABLE static const double
#endif

// A number as a sum: high is it rounded, low what is missing.
typedef struct tess_parts {
    double high;
    double low;
} tess_parts;

// ln(2): the first part has 33 bits, so that its product with an exponent is exact.
#define TESS_LN2_HIGH 0x1.62e42feep-1
#define TESS_LN2_LOW 0x1.a39ef35793c76p-33
#define TESS_LOG2_E 0x1.71547652b82fep+0

// Horner's rule, highest power first.
TESS_ANYWHERE double tess_polynomial(const double *coefficient, size_t n, double x)
{
    double sum = coefficient[0];
    for (size_t k = 1; k < n; k++) {
        sum = sum * x + coefficient[k];
    }
    return sum;
}
#define TESS_POLYNOMIAL(table, x) tess_polynomial((table), sizeof(table) / sizeof *(table), (x))

// floor(x), |x| < 2^31, without a call: grids take thousands of powers a pass.
TESS_ANYWHERE double tess_floor_of_small(double x)
{
    const double k = (int)x;
    return k > x ? k - 1 : k;
}

// x 2^k for x in [1/2, 2]: by a factor where that is exact.
TESS_ANYWHERE double tess_scaled(double x, int k)
{
    if (k < -1000 || k > 1000) {
        return ldexp(x, k);
    }
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return x * factor;
}

// exp(high + low) = 2^k exp(r), |r| <= ln(2) / 2, r in two parts.
TESS_ANYWHERE double tess_exp_of_parts(double high, double low)
{
    TESS_TABLE tail[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                         1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                         1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
    if (!(high < 710)) {
        return high + (double)INFINITY; // NaN stays NaN
    }
    if (high < -746) {
        return 0;
    }
    const double k = tess_floor_of_small(high * TESS_LOG2_E + 0.5);
    const double first = high - k * TESS_LN2_HIGH; // exact
    const double second = low - k * TESS_LN2_LOW;
    const double r = first + second;
    const double r_low = second - (r - first);
    const double sum = 1 + r;
    const double lost = r - (sum - 1);
    return tess_scaled(sum + (lost + r_low + r * r * TESS_POLYNOMIAL(tail, r)), (int)k);
}

TESS_ANYWHERE double tess_power_inline(tess_parts log_x, double exponent)
{
    const double high = exponent * log_x.high;
    return tess_exp_of_parts(high, fma(exponent, log_x.high, -high) + exponent * log_x.low);
}

#endif

#include "numerics/elementary.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// ln(2): the first part has 33 bits, so that its product with an exponent is exact.
static const double LN2_HIGH = 0x1.62e42feep-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;
static const double LOG2_E = 0x1.71547652b82fep+0;
// pi / 180
static const double DEGREE_HIGH = 0x1.1df46a2529d39p-6;
static const double DEGREE_LOW = 0x1.5c1d8becdd291p-62;

// Horner's rule, highest power first.
static double polynomial(const double *coefficient, size_t n, double x)
{
    double sum = coefficient[0];
    for (size_t k = 1; k < n; k++) {
        sum = sum * x + coefficient[k];
    }
    return sum;
}
#define POLYNOMIAL(table, x) polynomial((table), sizeof(table) / sizeof *(table), (x))

// ln(x) = k ln(2) + 2 atanh(s), s = (m - 1) / (m + 1), 0.7 < m < 1.42. s is needed to more than
// double precision, the higher powers (at most 1 % of it) are not.
tess_parts tess_log_parts(double x)
{
    static const double tail[] = {2.0 / 29, 2.0 / 27, 2.0 / 25, 2.0 / 23, 2.0 / 21,
                                  2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                  2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
    int exponent = 0;
    double m = frexp(x, &exponent);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        exponent--;
    }
    const double top = m - 1; // exact
    const double bottom = m + 1;
    const double bottom_low = m - (bottom - 1);
    const double s = top / bottom;
    const double s_low = (fma(-s, bottom, top) - s * bottom_low) / bottom;
    const double square = s * s;

    const double k_high = exponent * LN2_HIGH; // exact
    const double sum = k_high + 2 * s;
    const double lost = 2 * s - (sum - k_high);
    const double low =
        lost + (exponent * LN2_LOW + 2 * s_low + s * square * POLYNOMIAL(tail, square));
    const double high = sum + low;
    return (tess_parts){high, low - (high - sum)};
}

// floor(x), |x| < 2^31, without a call: grids take thousands of powers a pass.
static double floor_of_small(double x)
{
    const double k = (int)x;
    return k > x ? k - 1 : k;
}

// x 2^k for x in [1/2, 2]: by a factor where that is exact.
static double scaled(double x, int k)
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
static double exp_of_parts(double high, double low)
{
    static const double tail[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                  1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                  1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
    if (!(high < 710)) {
        return high + (double)INFINITY; // NaN stays NaN
    }
    if (high < -746) {
        return 0;
    }
    const double k = floor_of_small(high * LOG2_E + 0.5);
    const double first = high - k * LN2_HIGH; // exact
    const double second = low - k * LN2_LOW;
    const double r = first + second;
    const double r_low = second - (r - first);
    const double sum = 1 + r;
    const double lost = r - (sum - 1);
    return scaled(sum + (lost + r_low + r * r * POLYNOMIAL(tail, r)), (int)k);
}

double tess_power(tess_parts log_x, double exponent)
{
    const double high = exponent * log_x.high;
    return exp_of_parts(high, fma(exponent, log_x.high, -high) + exponent * log_x.low);
}

void tess_sin_cos_degrees(double degrees, double *sine, double *cosine)
{
    static const double sine_tail[] = {
        1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
        1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
    static const double cosine_tail[] = {
        1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
        1.0 / 40320,          -1.0 / 720,         1.0 / 24};
    const double inside = remainder(degrees, 360); // exact, as is the rest
    if (isnan(inside)) {
        *sine = inside;
        *cosine = inside;
        return;
    }
    const double quarter = floor(inside / 90 + 0.5);
    const double rest = inside - 90 * quarter;

    const double x = rest * DEGREE_HIGH;
    const double x_low = fma(rest, DEGREE_HIGH, -x) + rest * DEGREE_LOW;
    const double square = x * x;
    const double half = 0.5 * square;
    const double s = x + (x * square * POLYNOMIAL(sine_tail, square) + x_low * (1 - half));
    const double w = 1 - half;
    const double c =
        w + (1 - w - half + (square * square * POLYNOMIAL(cosine_tail, square) - x * x_low));
    switch ((int)quarter & 3) {
    case 0:
        *sine = s;
        *cosine = c;
        break;
    case 1:
        *sine = c;
        *cosine = -s;
        break;
    case 2:
        *sine = -s;
        *cosine = -c;
        break;
    default:
        *sine = -c;
        *cosine = s;
        break;
    }
}

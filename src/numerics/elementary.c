#include "numerics/elementary.h"

#include <math.h>

// pi / 180
static const double DEGREE_HIGH = 0x1.1df46a2529d39p-6;
static const double DEGREE_LOW = 0x1.5c1d8becdd291p-62;

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

    const double k_high = exponent * TESS_LN2_HIGH; // exact
    const double sum = k_high + 2 * s;
    const double lost = 2 * s - (sum - k_high);
    const double low =
        lost + (exponent * TESS_LN2_LOW + 2 * s_low + s * square * TESS_POLYNOMIAL(tail, square));
    const double high = sum + low;
    return (tess_parts){high, low - (high - sum)};
}

double tess_power(tess_parts log_x, double exponent)
{
    return tess_power_inline(log_x, exponent);
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
    const double s = x + (x * square * TESS_POLYNOMIAL(sine_tail, square) + x_low * (1 - half));
    const double w = 1 - half;
    const double c =
        w + (1 - w - half + (square * square * TESS_POLYNOMIAL(cosine_tail, square) - x * x_low));
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

#include "numerics/quantiles.h"

#include <float.h>
#include <math.h>

enum { MAX_STEP = 100, MAX_TERM = 100000 };

// Of an upper tail q <= 1/2: Halley's steps from a guess that is right to 0.02 in the middle, and
// below the root far out, where the steps converge from that side.
static double upper_quantile(double q)
{
    static const double root_half = 0.70710678118654752440;
    static const double root_2pi = 2.50662827463100050242;
    double x = 5.5556 * (1 - pow(q / (1 - q), 0.1186));
    for (int i = 0; i < MAX_STEP; i++) {
        const double u = (q - 0.5 * erfc(x * root_half)) * root_2pi * exp(0.5 * x * x);
        const double step = u / (1 + 0.5 * x * u);
        x -= step;
        if (fabs(step) <= 4 * DBL_EPSILON * fabs(x)) {
            break;
        }
    }
    return x;
}

double tess_normal_quantile(double p)
{
    if (!(p > 0 && p < 1)) {
        return p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : (double)NAN;
    }
    if (p == 0.5) {
        return 0;
    }
    return p < 0.5 ? -upper_quantile(p) : upper_quantile(1 - p);
}

// The continued fraction of the incomplete beta function by Lentz's method; converges fast for
// x < (a + 1) / (a + b + 2).
static double beta_fraction(double x, double a, double b)
{
    static const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < MAX_TERM; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) {
            break;
        }
    }
    return value;
}

double tess_beta_below(double x, double a, double b)
{
    if (!(x > 0) || !(x < 1)) {
        return x >= 1 ? 1 : isnan(x) ? x : 0;
    }
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                     : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double tess_beta_quantile(double p, double a, double b)
{
    if (!(p >= 0 && p <= 1) || !(a > 0) || !(b > 0) || isinf(a) || isinf(b)) {
        return (double)NAN;
    }
    double low = 0;
    double high = 1;
    double x = a / (a + b);
    for (int i = 0; i < 2 * MAX_STEP && high - low > DBL_EPSILON * high; i++) {
        const double error = tess_beta_below(x, a, b) - p;
        low = error <= 0 ? x : low;
        high = error >= 0 ? x : high;
        const double log_slope =
            lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * log(x) + (b - 1) * log1p(-x);
        const double step = error * exp(-log_slope);
        if (fabs(step) <= DBL_EPSILON * x) {
            break;
        }
        // Newton's step where it stays between what is known, else the middle.
        const double next = x - step;
        x = next > low && next < high ? next : 0.5 * (low + high);
    }
    return x;
}

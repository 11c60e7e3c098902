#include "numerics/chi2.h"

#include <math.h>

enum { MOST_TERMS = 100000 };

static const double precision = 1e-16;

// The lower incomplete gamma function by its series, for x below a + 1.
static double lower_part(double a, double x)
{
    double term = 1 / a;
    double sum = term;
    for (int k = 1; k < MOST_TERMS && term > precision * sum; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

// The upper one by its continued fraction (Lentz), for x above that.
static double upper_part(double a, double x)
{
    static const double tiny = 1e-300;
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / b;
    double product = d;
    for (int k = 1; k < MOST_TERMS; k++) {
        const double numerator = -(double)k * ((double)k - a);
        b += 2;
        d = numerator * d + b;
        d = fabs(d) < tiny ? 1 / tiny : 1 / d;
        c = b + numerator / c;
        c = fabs(c) < tiny ? tiny : c;
        product *= d * c;
        if (fabs(d * c - 1) < precision) {
            break;
        }
    }
    return product * exp(a * log(x) - x - lgamma(a));
}

double tess_chi2_tail(double chi2, double dof)
{
    const double a = 0.5 * dof;
    const double x = 0.5 * chi2;
    if (isnan(x) || !(a > 0)) {
        return (double)NAN;
    }
    if (x <= 0) {
        return 1;
    }
    return x < a + 1 ? 1 - lower_part(a, x) : upper_part(a, x);
}

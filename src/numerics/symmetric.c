#include "numerics/symmetric.h"

#include <float.h>
#include <math.h>

enum { SWEEPS = 50 };

// x, y := c x - s y, s x + c y for n pairs, stride apart.
static void turn(double *x, double *y, int64_t n, int64_t stride, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        const double a = x[i * stride];
        const double b = y[i * stride];
        x[i * stride] = c * a - s * b;
        y[i * stride] = s * a + c * b;
    }
}

// Makes a[p][q] zero. False if it was small against the diagonal.
static int rotate(double *a, int64_t n, int64_t p, int64_t q, double *vectors)
{
    const double off = a[p * n + q];
    if (fabs(off) <= DBL_EPSILON * sqrt(fabs(a[p * n + p] * a[q * n + q])) || off == 0) {
        return 0;
    }
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1);
    const double s = t * c;
    turn(a + p, a + q, n, n, c, s);
    turn(a + p * n, a + q * n, n, 1, c, s);
    turn(vectors + p * n, vectors + q * n, n, 1, c, s);
    a[p * n + q] = a[q * n + p] = 0;
    return 1;
}

void tess_symmetric_eigen(double *a, int64_t n, double *values, double *vectors)
{
    for (int64_t i = 0; i < n * n; i++) {
        vectors[i] = i % (n + 1) == 0;
    }
    for (int sweep = 0, rotated = 1; rotated && sweep < SWEEPS; sweep++) {
        rotated = 0;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                rotated |= rotate(a, n, p, q, vectors);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = a[i * n + i];
    }
}

// Eigenvalues of larger symmetric matrices: Householder's reflections to a tridiagonal matrix, then
// implicit QL steps. Both work on rows of the transposed vectors, which lie one after another.
#include "numerics/symmetric.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS = 60 }; // QL steps per eigenvalue; 3 are usual

// y := y + s x.
static void add(double *y, const double *x, int64_t n, double s)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += s * x[i];
    }
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

// Reflects what follows column k of row k onto its first entry: w of length m in place, with
// |w|^2 = 2. Returns the entry that is left.
static double reflector(double *w, int64_t m)
{
    double largest = 0;
    for (int64_t i = 0; i < m; i++) {
        largest = fmax(largest, fabs(w[i]));
    }
    if (largest == 0 || m == 1) {
        const double left = w[0];
        memset(w, 0, (size_t)m * sizeof *w);
        return left;
    }
    for (int64_t i = 0; i < m; i++) {
        w[i] /= largest;
    }
    const double length = sqrt(dot(w, w, m));
    const double left = w[0] > 0 ? -length : length;
    const double first = w[0] - left;
    // |w - left e|^2 = 2 length (length + |w_0|)
    const double unit = 1 / sqrt(length * fabs(first));
    w[0] = first;
    for (int64_t i = 0; i < m; i++) {
        w[i] *= unit;
    }
    return left * largest;
}

// a := Q^T a Q tridiagonal; the reflectors stay in the rows of a, right of the diagonal. work [n].
static void tridiagonalise(double *a, int64_t n, double *diagonal, double *off, double *work)
{
    for (int64_t k = 0; k + 1 < n; k++) {
        const int64_t m = n - k - 1;
        double *w = a + k * n + k + 1;
        double *rest = a + (k + 1) * n + k + 1; // [m][m], stride n
        diagonal[k] = a[k * n + k];
        off[k] = reflector(w, m);
        for (int64_t i = 0; i < m; i++) {
            work[i] = dot(rest + i * n, w, m);
        }
        add(work, w, m, -0.5 * dot(work, w, m));
        for (int64_t i = 0; i < m; i++) {
            add(rest + i * n, work, m, -w[i]);
            add(rest + i * n, w, m, -work[i]);
        }
    }
    diagonal[n - 1] = a[n * n - 1];
    off[n - 1] = 0;
}

// Rows of vectors := the columns of Q, the product of the reflectors.
static void gather(const double *a, int64_t n, double *vectors)
{
    for (int64_t i = 0; i < n * n; i++) {
        vectors[i] = i % (n + 1) == 0;
    }
    for (int64_t k = n - 2; k >= 0; k--) {
        const int64_t m = n - k - 1;
        const double *w = a + k * n + k + 1;
        for (int64_t i = k + 1; i < n; i++) {
            double *row = vectors + i * n + k + 1;
            add(row, w, m, -dot(row, w, m));
        }
    }
}

// One implicit QL step on rows first..last, from the bottom up.
static void ql_step(double *d, double *e, int64_t n, int64_t first, int64_t last, double *vectors)
{
    const double half = (d[first + 1] - d[first]) / (2 * e[first]);
    const double r = hypot(half, 1);
    double g = d[last] - d[first] + e[first] / (half + copysign(r, half));
    double s = 1;
    double c = 1;
    double p = 0;
    for (int64_t i = last - 1; i >= first; i--) {
        const double f = s * e[i];
        const double b = c * e[i];
        const double length = hypot(f, g);
        e[i + 1] = length;
        if (length == 0) {
            d[i + 1] -= p;
            e[last] = 0;
            return;
        }
        s = f / length;
        c = g / length;
        g = d[i + 1] - p;
        const double t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        double *x = vectors + i * n;
        double *y = x + n;
        for (int64_t k = 0; k < n; k++) {
            const double v = y[k];
            y[k] = s * x[k] + c * v;
            x[k] = c * x[k] - s * v;
        }
    }
    d[first] -= p;
    e[first] = g;
    e[last] = 0;
}

void tess_symmetric_eigen_ql(double *a, int64_t n, double *values, double *vectors, double *work)
{
    if (n == 0) {
        return;
    }
    double *off = work;
    tridiagonalise(a, n, values, off, work + n);
    gather(a, n, vectors);
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(values[i]) + fabs(off[i]));
    }
    for (int64_t first = 0; first < n; first++) {
        for (int step = 0; step < STEPS; step++) {
            int64_t last = first;
            while (last + 1 < n && fabs(off[last]) > DBL_EPSILON * largest) {
                last++;
            }
            if (last == first) {
                break;
            }
            ql_step(values, off, n, first, last, vectors);
        }
    }
}

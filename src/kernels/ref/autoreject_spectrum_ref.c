// Solutions in the space of the largest eigenvalues, as plainly as they can be said: by Jacobi's
// rotations, the eigenvectors formed.

#include "kernels/isa.h"
#include "kernels/spectrum.h"

#include <float.h>
#include <math.h>

static double item(const double *a, size_t n, size_t i, size_t j)
{
    return i > j ? a[i * n + j] : a[j * n + i];
}

static void set_item(double *a, size_t n, size_t i, size_t j, double value)
{
    a[i > j ? i * n + j : j * n + i] = value;
}

// Makes a[p][q] zero and turns rows p and q of b, the coordinates in the basis of a, along.
static void rotate(double *a, size_t n, size_t p, size_t q, double *v)
{
    const double off = item(a, n, p, q);
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1);
    const double s = t * c;
    for (size_t i = 0; i < n; i++) {
        if (i != p && i != q) {
            const double x = item(a, n, i, p);
            const double y = item(a, n, i, q);
            set_item(a, n, i, p, c * x - s * y);
            set_item(a, n, i, q, s * x + c * y);
        }
        const double x = v[p * n + i];
        const double y = v[q * n + i];
        v[p * n + i] = c * x - s * y;
        v[q * n + i] = s * x + c * y;
    }
    a[p * n + p] -= t * off;
    a[q * n + q] += t * off;
    set_item(a, n, p, q, 0);
}

// The eigenvalues on the diagonal of a, the vectors in rows of v. 0: not finite.
static int diagonalise(double *a, size_t n, double *v)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            v[i * n + j] = i == j;
            size += fabs(item(a, n, i, j));
        }
    }
    if (!(size > 0) || isinf(size)) {
        return 0;
    }
    const double least = DBL_EPSILON * DBL_EPSILON * size;
    for (int rotated = 1, sweep = 0; rotated && sweep < 60; sweep++) {
        rotated = 0;
        for (size_t p = 0; p < n; p++) {
            for (size_t q = p + 1; q < n; q++) {
                if (fabs(item(a, n, p, q)) > least) {
                    rotate(a, n, p, q, v);
                    rotated = 1;
                }
            }
        }
    }
    return 1;
}

void TESS_KFN(spectrum_solve)(double *restrict a, size_t n, double *restrict b, size_t n_rhs,
                              double miss, double *restrict work, size_t *restrict rank)
{
    double *v = work;
    double *solution = work + n * n; // [n]
    double *left = solution + n;     // eigenvalues not taken yet
    *rank = 0;
    if (!diagonalise(a, n, v)) {
        return;
    }
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        left[i] = fabs(a[i * n + i]);
        total += left[i];
    }
    for (double sum = 0; sum / total < 1 - miss && *rank < n;) {
        size_t most = 0;
        for (size_t i = 1; i < n; i++) {
            most = left[i] > left[most] ? i : most;
        }
        sum += left[most];
        left[most] = -1;
        ++*rank;
    }
    for (size_t r = 0; r < n_rhs; r++) {
        double *row = b + r * n;
        for (size_t i = 0; i < n; i++) {
            solution[i] = 0;
        }
        for (size_t k = 0; k < n; k++) {
            double part = 0;
            for (size_t i = 0; left[k] < 0 && i < n; i++) {
                part += v[k * n + i] * row[i];
            }
            for (size_t i = 0; left[k] < 0 && i < n; i++) {
                solution[i] += part / a[k * n + k] * v[k * n + i];
            }
        }
        for (size_t i = 0; i < n; i++) {
            row[i] = solution[i];
        }
    }
}

#include "numerics/cholesky.h"

#include <math.h>

bool tess_cholesky(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double *row = a + j * n;
        for (int64_t k = 0; k < j; k++) {
            double sum = row[k];
            for (int64_t i = 0; i < k; i++) {
                sum -= row[i] * a[k * n + i];
            }
            row[k] = sum / a[k * n + k];
        }
        double pivot = row[j];
        for (int64_t i = 0; i < j; i++) {
            pivot -= row[i] * row[i];
        }
        if (!(pivot > 0) || isinf(pivot)) {
            return false;
        }
        row[j] = sqrt(pivot);
    }
    return true;
}

void tess_lower_solve(const double *l, int64_t n, double *b)
{
    for (int64_t j = 0; j < n; j++) {
        double sum = b[j];
        for (int64_t i = 0; i < j; i++) {
            sum -= l[j * n + i] * b[i];
        }
        b[j] = sum / l[j * n + j];
    }
}

void tess_cholesky_solve(const double *l, int64_t n, double *b)
{
    tess_lower_solve(l, n, b);
    for (int64_t j = n - 1; j >= 0; j--) {
        b[j] /= l[j * n + j];
        for (int64_t i = 0; i < j; i++) {
            b[i] -= l[j * n + i] * b[j];
        }
    }
}

void tess_cholesky_solve_rows(const double *l, int64_t n, double *b, int64_t m)
{
    for (int64_t j = 0; j < n; j++) {
        double *row = b + j * m;
        for (int64_t i = 0; i < j; i++) {
            const double by = l[j * n + i];
            for (int64_t t = 0; t < m; t++) {
                row[t] -= by * b[i * m + t];
            }
        }
        for (int64_t t = 0; t < m; t++) {
            row[t] /= l[j * n + j];
        }
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        double *row = b + j * m;
        for (int64_t t = 0; t < m; t++) {
            row[t] /= l[j * n + j];
        }
        for (int64_t i = 0; i < j; i++) {
            const double by = l[j * n + i];
            for (int64_t t = 0; t < m; t++) {
                b[i * m + t] -= by * row[t];
            }
        }
    }
}

void tess_cholesky_inverse(double *l, int64_t n, double *inverse)
{
    // l becomes l^-1, row by row from those above, and the inverse is its square.
    for (int64_t j = 0; j < n; j++) {
        double *row = l + j * n;
        double *sum = inverse + j * n; // of l_ji (l^-1)_i, i < j
        for (int64_t t = 0; t < n; t++) {
            sum[t] = 0;
        }
        for (int64_t i = 0; i < j; i++) {
            const double by = row[i];
            for (int64_t t = 0; t <= i; t++) {
                sum[t] += by * l[i * n + t];
            }
        }
        for (int64_t t = 0; t < j; t++) {
            row[t] = -sum[t] / row[j];
            sum[t] = 0;
        }
        row[j] = 1 / row[j];
    }
    for (int64_t j = 0; j < n; j++) {
        const double *row = l + j * n;
        for (int64_t i = 0; i <= j; i++) {
            const double by = row[i];
            for (int64_t t = 0; t <= i; t++) {
                inverse[i * n + t] += by * row[t];
            }
        }
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < j; i++) {
            inverse[i * n + j] = inverse[j * n + i];
        }
    }
}

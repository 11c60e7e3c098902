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

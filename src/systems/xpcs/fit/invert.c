// Inverses of nearly singular matrices that say which of their parameters are lost.
#include "numerics/symmetric.h"
#include "systems/xpcs/fit/covariance.h"

#include <math.h>
#include <string.h>

enum { JACOBI_MOST = 24 };

// Eigenvalues below this fraction of the largest are rounding: sums of products keep 1e-15.
static const double lost_value = 1e-14;
// Parameters with more than this part in such a direction are lost.
static const double lost_part = 0.05;

typedef struct room {
    double *scaled;
    double *vectors;
    double *values;
    double *scale;
    double *work; // [2 n]
} room;

static void decompose(const room *r, const double *matrix, int64_t n, const uint8_t *is_lost)
{
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t row = i / n;
        const int64_t column = i % n;
        const bool is_out = is_lost[row] || is_lost[column];
        r->scaled[i] = is_out ? 0 : matrix[i] * r->scale[row] * r->scale[column];
    }
    for (int64_t i = 0; i < n; i++) {
        r->scaled[i * (n + 1)] = 1; // of what is lost, out of everybody's way
    }
    if (n <= JACOBI_MOST) {
        tess_symmetric_eigen(r->scaled, n, r->values, r->vectors);
    } else {
        tess_symmetric_eigen_ql(r->scaled, n, r->values, r->vectors, r->work);
    }
}

// Marks parameters that lie in directions without curvature.
static void mark_lost(const room *r, int64_t n, double least, uint8_t *is_lost)
{
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t v = 0; v < n; v++) {
            const double part = r->vectors[v * n + i];
            square += r->values[v] < least ? part * part : 0;
        }
        is_lost[i] = is_lost[i] || sqrt(square) > lost_part;
    }
}

double tess_xp_invert(double *matrix, int64_t n, double *inverse, uint8_t *is_lost, double *work)
{
    const room r = {work, work + n * n, work + 2 * n * n, work + 2 * n * n + n,
                    work + 2 * n * n + 2 * n};
    double largest = 0;
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t i = 0; i < n; i++) {
        const double square = matrix[i * (n + 1)];
        is_lost[i] = !(square > 0) || !isfinite(square);
        r.scale[i] = is_lost[i] ? 0 : 1 / sqrt(square);
    }
    decompose(&r, matrix, n, is_lost);
    for (int64_t v = 0; v < n; v++) {
        largest = fmax(largest, r.values[v]);
    }
    const double least = lost_value * largest;
    double smallest = largest;
    for (int64_t v = 0; v < n; v++) {
        if (r.values[v] < least) {
            continue;
        }
        smallest = fmin(smallest, r.values[v]);
        for (int64_t i = 0; i < n * n; i++) {
            inverse[i] += r.vectors[v * n + i / n] * r.vectors[v * n + i % n] / r.values[v];
        }
    }
    for (int64_t i = 0; i < n * n; i++) {
        inverse[i] *= r.scale[i / n] * r.scale[i % n];
    }
    mark_lost(&r, n, least, is_lost);
    return n == 0 ? 1 : smallest > 0 ? largest / smallest : (double)INFINITY;
}

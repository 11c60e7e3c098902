#include "systems/autoreject/interpolation/spline.h"

#include "numerics/cholesky.h"

#include <string.h>

static const double LAMBDA = 1e-5;
static const double PI = 3.14159265358979323846;
enum { TERMS = 50, LANES = 16 };

typedef struct series {
    double c[TERMS + 1];     // of P_n
    double up[TERMS + 1];    // (2n + 1) / (n + 1)
    double twice[TERMS + 1]; // (n + 1) / (n + 2)
} series;

static void series_init(series *s)
{
    for (int n = 0; n <= TERMS; n++) {
        const double m = n + 1.0;
        const double square = n * m * (n * m);
        s->c[n] = n > 0 ? (2 * n + 1) / (4 * PI * square * square) : 0;
        s->up[n] = (2 * n + 1) / m;
        s->twice[n] = m / (n + 2);
    }
}

// Clenshaw's sums of LANES arguments side by side.
static void series_sum(const series *s, const double *x, double *out)
{
    double b1[LANES] = {0};
    double b2[LANES] = {0};
    for (int n = TERMS; n >= 0; n--) {
        for (int i = 0; i < LANES; i++) {
            const double b = s->c[n] + s->up[n] * x[i] * b1[i] - s->twice[n] * b2[i];
            b2[i] = b1[i];
            b1[i] = b;
        }
    }
    memcpy(out, b1, sizeof b1);
}

void tess_ar_spline_kernel(double *x, int64_t n)
{
    series s;
    series_init(&s);
    double in[LANES] = {0};
    double out[LANES];
    series_sum(&s, in, out);
    const double at_zero = out[0];
    for (int64_t first = 0; first < n; first += LANES) {
        const int64_t count = n - first < LANES ? n - first : LANES;
        memcpy(in, x + first, (size_t)count * sizeof *in);
        series_sum(&s, in, out);
        for (int64_t i = 0; i < count; i++) {
            x[first + i] = out[i] - at_zero;
        }
    }
}

void tess_ar_spline_matrix(const double *a, int64_t n_a, const double *b, int64_t n_b, double *out)
{
    // The cosines of a matrix with itself are computed once: the kernel takes most of the time.
    const bool is_symmetric = a == b && n_a == n_b;
    for (int64_t i = 0; i < n_a; i++) {
        const double *u = a + 3 * i;
        const int64_t n = is_symmetric ? i + 1 : n_b;
        for (int64_t j = 0; j < n; j++) {
            const double *v = b + 3 * j;
            out[i * n_b + j] = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        }
        tess_ar_spline_kernel(out + i * n_b, n);
    }
    for (int64_t i = 0; is_symmetric && i < n_a; i++) {
        for (int64_t j = 0; j < i; j++) {
            out[j * n_b + i] = out[i * n_b + j];
        }
    }
}

bool tess_ar_spline_inverse(double *g, int64_t n, double *h)
{
    for (int64_t i = 0; i < n; i++) {
        g[i * n + i] += LAMBDA;
    }
    if (!tess_cholesky(g, n)) {
        return false;
    }
    tess_cholesky_inverse(g, n, h);
    double *sums = g; // used up
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        sums[i] = 0;
        for (int64_t j = 0; j < n; j++) {
            sums[i] += h[i * n + j];
        }
        total += sums[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const double by = sums[i] / total;
        for (int64_t j = 0; j < n; j++) {
            h[i * n + j] -= by * sums[j];
        }
    }
    return true;
}

bool tess_ar_spline_direct(double *g_from, double *g_cross, int64_t n_from, int64_t n_to, double *w)
{
    const int64_t m = n_to + 1;
    // w holds the columns of g_cross until they are solved for.
    for (int64_t i = 0; i < n_from; i++) {
        g_from[i * n_from + i] += LAMBDA;
        g_cross[i * m + n_to] = 1;
        for (int64_t j = 0; j < n_to; j++) {
            w[j * n_from + i] = g_cross[i * m + j];
        }
    }
    if (!tess_cholesky(g_from, n_from)) {
        return false;
    }
    tess_cholesky_solve_rows(g_from, n_from, g_cross, m);
    double total = 0; // of the bias column s = G^-1 1
    for (int64_t i = 0; i < n_from; i++) {
        total += g_cross[i * m + n_to];
    }
    for (int64_t j = 0; j < n_to; j++) {
        double *row = w + j * n_from;
        double dot = 0;
        for (int64_t i = 0; i < n_from; i++) {
            dot += row[i] * g_cross[i * m + n_to];
        }
        const double by = (1 - dot) / total;
        for (int64_t i = 0; i < n_from; i++) {
            row[i] = g_cross[i * m + j] + by * g_cross[i * m + n_to];
        }
    }
    return true;
}

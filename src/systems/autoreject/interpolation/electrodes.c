#include "systems/autoreject/interpolation/electrodes.h"

#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/autoreject/interpolation/spline.h"

#include <string.h>

static tess_status not_definite(void)
{
    TESS_FAIL(TESS_E_NUMERIC, "the matrix of the splines is not positive definite; positions of "
                              "electrodes must be finite numbers");
}

static size_t square_bytes(int64_t n)
{
    return (size_t)(n * n) * sizeof(double);
}

tess_status tess_ar_electrodes_create(tess_context *ctx, const double *directions, int64_t n,
                                      tess_ar_electrodes *e)
{
    *e = (tess_ar_electrodes){.heap = &ctx->heap, .n = n};
    e->g = tess_heap_alloc(e->heap, square_bytes(n), TESS_TAG_PLAN, "the splines' matrix");
    e->h = tess_heap_alloc(e->heap, square_bytes(n), TESS_TAG_PLAN, "the splines' inverse");
    double *work = tess_heap_alloc(e->heap, square_bytes(n), TESS_TAG_SCRATCH, "a matrix");
    if (!e->g || !e->h || !work) {
        tess_heap_free(e->heap, work, square_bytes(n), TESS_TAG_SCRATCH);
        return TESS_E_MEMORY;
    }
    tess_ar_spline_matrix(directions, n, directions, n, e->g);
    memcpy(work, e->g, square_bytes(n));
    const bool is_definite = tess_ar_spline_inverse(work, n, e->h);
    tess_heap_free(e->heap, work, square_bytes(n), TESS_TAG_SCRATCH);
    return is_definite ? TESS_OK : not_definite();
}

void tess_ar_electrodes_destroy(tess_ar_electrodes *e)
{
    tess_heap_free(e->heap, e->g, square_bytes(e->n), TESS_TAG_PLAN);
    tess_heap_free(e->heap, e->h, square_bytes(e->n), TESS_TAG_PLAN);
}

void tess_ar_electrodes_leave_one_out(const tess_ar_electrodes *e, double *r)
{
    for (int64_t c = 0; c < e->n; c++) {
        const double *row = e->h + c * e->n;
        for (int64_t i = 0; i < e->n; i++) {
            r[c * e->n + i] = -row[i] / row[c];
        }
        r[c * e->n + c] = 0;
    }
}

// Beyond half of the channels the sources are fewer than the bad ones: their own system is smaller.
static bool is_many(const tess_ar_electrodes *e, int64_t n_bad)
{
    return n_bad > e->n / 2;
}

size_t tess_ar_electrodes_map_scratch(const tess_ar_electrodes *e, int64_t n_from, int64_t n_to)
{
    (void)e;
    return square_bytes(n_from) + (size_t)(n_from * (n_to + 1)) * sizeof(double);
}

tess_status tess_ar_electrodes_map(const tess_ar_electrodes *e, const int32_t *from, int64_t n_from,
                                   const int32_t *to, int64_t n_to, double *scratch,
                                   double *weights)
{
    double *g_from = scratch;
    double *g_cross = scratch + n_from * n_from;
    for (int64_t i = 0; i < n_from; i++) {
        const double *row = e->g + from[i] * e->n;
        for (int64_t j = 0; j < n_from; j++) {
            g_from[i * n_from + j] = row[from[j]];
        }
        for (int64_t j = 0; j < n_to; j++) {
            g_cross[i * (n_to + 1) + j] = row[to ? to[j] : j];
        }
    }
    return tess_ar_spline_direct(g_from, g_cross, n_from, n_to, weights) ? TESS_OK : not_definite();
}

size_t tess_ar_electrodes_scratch(const tess_ar_electrodes *e, int64_t n_bad)
{
    const size_t few = square_bytes(is_many(e, n_bad) ? e->n / 2 : n_bad);
    if (!is_many(e, n_bad)) {
        return few;
    }
    // More bad channels leave fewer sources: the largest system is that of the fewest of "many".
    const int64_t n_good = e->n - (e->n / 2 + 1) > 0 ? e->n - (e->n / 2 + 1) : 1;
    const size_t many = tess_ar_electrodes_map_scratch(e, n_good, n_bad) +
                        (size_t)(n_good * (1 + n_bad)) * sizeof(double);
    return few > many ? few : many;
}

// From the sources alone, their columns then spread among all.
static tess_status weights_of_many(const tess_ar_electrodes *e, const int32_t *bad, int64_t n_bad,
                                   double *scratch, double *weights)
{
    const int64_t n_good = e->n - n_bad;
    int32_t *good = (int32_t *)scratch;
    double *w = scratch + n_good;
    int64_t n = 0;
    for (int32_t c = 0, k = 0; c < e->n; c++) {
        if (k < n_bad && bad[k] == c) {
            k++;
        } else {
            good[n++] = c;
        }
    }
    TESS_TRY(tess_ar_electrodes_map(e, good, n_good, bad, n_bad, w + n_bad * n_good, w));
    memset(weights, 0, (size_t)(n_bad * e->n) * sizeof *weights);
    for (int64_t k = 0; k < n_bad; k++) {
        for (int64_t i = 0; i < n_good; i++) {
            weights[k * e->n + good[i]] = w[k * n_good + i];
        }
    }
    return TESS_OK;
}

tess_status tess_ar_electrodes_weights(const tess_ar_electrodes *e, const int32_t *bad,
                                       int64_t n_bad, double *scratch, double *weights)
{
    if (is_many(e, n_bad)) {
        return weights_of_many(e, bad, n_bad, scratch, weights);
    }
    // W = -(H_BB)^-1 H_BA
    for (int64_t k = 0; k < n_bad; k++) {
        const double *row = e->h + bad[k] * e->n;
        for (int64_t i = 0; i < e->n; i++) {
            weights[k * e->n + i] = -row[i];
        }
        for (int64_t j = 0; j < n_bad; j++) {
            scratch[k * n_bad + j] = row[bad[j]];
        }
    }
    if (!tess_cholesky(scratch, n_bad)) {
        return not_definite();
    }
    tess_cholesky_solve_rows(scratch, n_bad, weights, e->n);
    for (int64_t k = 0; k < n_bad; k++) {
        for (int64_t j = 0; j < n_bad; j++) {
            weights[k * e->n + bad[j]] = 0;
        }
    }
    return TESS_OK;
}

// Scaling by quantiles and estimates of the noise.
#include "unit_golden.h"
#include "xpcs_matrices.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// NumPy's percentile of values, which get sorted.
static double percentile(double *values, int64_t n, double fraction)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    const double position = (double)(n - 1) * fraction;
    const int64_t k = (int64_t)floor(position);
    const double t = position - floor(position);
    const double a = values[k];
    const double b = values[k + 1 < n ? k + 1 : k];
    return t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
}

typedef struct pairs {
    double *lag;
    double *y;
    double *chosen;
    int64_t n;
} pairs;

static pairs pairs_of(const xp_matrices *m, int64_t a)
{
    const size_t most = (size_t)(m->n_frame * m->n_frame) * sizeof(double);
    pairs p = {.lag = malloc(most), .y = malloc(most), .chosen = malloc(most)};
    for (int64_t i = 0; i < m->n_frame; i++) {
        for (int64_t j = i + 1; j < m->n_frame; j++) {
            if (isfinite(xp_at(m, a, i, j))) {
                p.lag[p.n] = (double)(j - i);
                p.y[p.n++] = xp_at(m, a, i, j);
            }
        }
    }
    return p;
}

static void pairs_free(pairs *p)
{
    free(p->lag);
    free(p->y);
    free(p->chosen);
}

static double region(pairs *p, double low, double high, double fraction)
{
    int64_t n = 0;
    for (int64_t k = 0; k < p->n; k++) {
        if (p->lag[k] >= low && p->lag[k] <= high) {
            p->chosen[n++] = p->y[k];
        }
    }
    if (n < 10) {
        n = p->n;
        memcpy(p->chosen, p->y, (size_t)n * sizeof *p->y);
    }
    return percentile(p->chosen, n, fraction);
}

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static void by_hand(const xp_matrices *m, int64_t a, double *contrast, double *offset)
{
    pairs p = pairs_of(m, a);
    *contrast = 0.5;
    *offset = 1;
    if (p.n >= 100) {
        memcpy(p.chosen, p.lag, (size_t)p.n * sizeof *p.lag);
        const double high = percentile(p.chosen, p.n, 0.8);
        memcpy(p.chosen, p.lag, (size_t)p.n * sizeof *p.lag);
        const double low = percentile(p.chosen, p.n, 0.2);
        *offset = clip(region(&p, high, (double)INFINITY, 0.1), 0.5, 1.5);
        *contrast = clip(region(&p, -(double)INFINITY, low, 0.9) - *offset, 0, 1);
    }
    pairs_free(&p);
}

static void check(tess_context *ctx, const xp_matrices *m)
{
    tess_xpcs_data *data = xp_data_of(ctx, m, false);
    double contrast[8];
    double offset[8];
    assert_ok(tess_xpcs_data_quantile_scaling(ctx, data, contrast, offset));
    for (int64_t a = 0; a < m->n_angle; a++) {
        double want_contrast;
        double want_offset;
        by_hand(m, a, &want_contrast, &want_offset);
        assert_true(offset[a] == want_offset);
        assert_true(contrast[a] == want_contrast);
    }
    tess_xpcs_data_destroy(data);
}

static void quantiles_are_numpys(void **state)
{
    (void)state;
    static const int64_t sizes[] = {3, 14, 15, 40, 257, 520};
    for (size_t s = 0; s < ARRAY_LEN(sizes) - (size_t)unit_is_quick(); s++) {
        for (int kind = 0; kind < 8; kind++) {
            tess_context *ctx = unit_context(1 + kind % 3, 0);
            xp_matrices m = xp_matrices_make(kind & 4 ? 5 : 1, sizes[s],
                                             kind & 1 ? TESS_F64 : TESS_F32, s ? 0.2 : 0, s);
            for (int64_t i = 0; i < m.n_frame && s > 0 && kind & 2; i++) {
                for (int64_t j = i + 1; j < m.n_frame; j++) { // ties, and values far away
                    const double y = xp_at(&m, 0, i, j);
                    const double value = (i + j) % 97 == 5 ? -1e30 : floor(y * 8) / 8;
                    xp_set(&m, 0, i, j, value);
                    xp_set(&m, 0, j, i, value);
                }
            }
            check(ctx, &m);
            xp_matrices_free(&m);
            tess_context_destroy(ctx);
        }
    }
}

// The matrices of a golden data set, from its packed triangles.
static xp_matrices golden_matrices(tess_context *ctx, const char *file)
{
    int64_t n_item = 0;
    int64_t n_angle = 0;
    double *y = golden_f64(ctx, file, "y", &n_item);
    double *phi = golden_f64(ctx, file, "phi", &n_angle);
    xp_matrices m = xp_matrices_make(n_angle, 80, TESS_F64, 0, 1);
    memcpy(m.phi, phi, (size_t)n_angle * sizeof *phi);
    int64_t k = 0;
    for (int64_t a = 0; a < n_angle; a++) {
        for (int64_t i = 0; i < 80; i++) {
            for (int64_t j = i + 1; j < 80; j++) {
                xp_set(&m, a, i, j, y[k]);
                xp_set(&m, a, j, i, y[k++]);
            }
        }
    }
    assert_int_equal(k, n_item);
    free(y);
    free(phi);
    return m;
}

static void golden_estimates(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/fit_laminar", "xpcs/fit_static"};
    static const double sigmas[] = {0.02, 0.004};
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        tess_context *ctx = unit_context(2, 0);
        xp_matrices m = golden_matrices(ctx, files[f]);
        tess_xpcs_data *data = xp_data_of(ctx, &m, false);
        double contrast[8];
        double offset[8];
        double sigma[8];
        assert_ok(tess_xpcs_data_quantile_scaling(ctx, data, contrast, offset));
        double *want_contrast = golden_f64(ctx, files[f], "quantile_contrast", NULL);
        double *want_offset = golden_f64(ctx, files[f], "quantile_offset", NULL);
        assert_near(contrast, want_contrast, m.n_angle, 1e-12);
        assert_near(offset, want_offset, m.n_angle, 1e-12);
        assert_ok(tess_xpcs_data_estimate_sigma(ctx, data, sigma));
        double *by_lag = malloc((size_t)m.n_angle * 80 * sizeof *by_lag);
        assert_ok(tess_xp_data_sigma_per_lag(data->ctx, data, (tess_comm_deal){0, 1}, by_lag));
        for (int64_t a = 0; a < m.n_angle; a++) {
            assert_true(fabs(sigma[a] / sigmas[f] - 1) < 0.15); // some 600 steps
            double mean = 0;
            for (int64_t lag = 0; lag < 80; lag++) {
                assert_true(fabs(by_lag[a * 80 + lag] / sigmas[f] - 1) < 0.4);
                mean += by_lag[a * 80 + lag] / 80;
            }
            assert_true(fabs(mean / sigmas[f] - 1) < 0.1);
        }
        free(by_lag);
        free(want_contrast);
        free(want_offset);
        tess_xpcs_data_destroy(data);
        xp_matrices_free(&m);
        tess_context_destroy(ctx);
    }
}

// The estimate of 3.5 by hand: neighbours of a row inside runs of 256 columns.
static double noise_by_hand(const xp_matrices *m, int64_t a)
{
    pairs p = pairs_of(m, a);
    const double low = percentile(p.lag, p.n, 0.8);
    int64_t n = 0;
    for (int64_t i = 0; i < m->n_frame; i++) {
        for (int64_t j = i + 1; j + 1 < m->n_frame; j++) {
            const double step = (xp_at(m, a, i, j + 1) - xp_at(m, a, i, j)) / sqrt(2);
            if ((double)(j - i) >= low && (j - i) % 256 != 0 && isfinite(step)) {
                p.chosen[n++] = step;
            }
        }
    }
    const double median = percentile(p.chosen, n, 0.5);
    for (int64_t k = 0; k < n; k++) {
        p.chosen[k] = fabs(p.chosen[k] - median);
    }
    const double sigma = 1.4826 * percentile(p.chosen, n, 0.5);
    pairs_free(&p);
    return sigma;
}

static void noise_is_estimated(void **state)
{
    (void)state;
    static const int64_t sizes[] = {20, 300, 620};
    for (size_t s = 0; s < ARRAY_LEN(sizes) - (size_t)unit_is_quick(); s++) {
        tess_context *ctx = unit_context(2, 0);
        xp_matrices m = xp_matrices_make(2, sizes[s], s & 1 ? TESS_F64 : TESS_F32, 0.1, s);
        tess_xpcs_data *data = xp_data_of(ctx, &m, false);
        double sigma[2];
        assert_ok(tess_xpcs_data_estimate_sigma(ctx, data, sigma));
        for (int64_t a = 0; a < 2; a++) {
            assert_true(fabs(sigma[a] - noise_by_hand(&m, a)) <= 1e-15);
            assert_true(s == 0 || fabs(sigma[a] / 0.02 - 1) < 0.05);
        }
        double *by_lag = malloc((size_t)(2 * sizes[s]) * sizeof *by_lag);
        assert_ok(tess_xp_data_sigma_per_lag(data->ctx, data, (tess_comm_deal){0, 1}, by_lag));
        for (int64_t k = 0; k < 2 * sizes[s]; k++) {
            assert_true(s == 0 || fabs(by_lag[k] / 0.02 - 1) < 0.25);
        }
        free(by_lag);
        tess_xpcs_data_destroy(data);
        xp_matrices_free(&m);
        tess_context_destroy(ctx);
    }
}

static void no_noise_is_an_error(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    xp_matrices m = xp_matrices_make(1, 30, TESS_F32, 0, 3);
    for (int64_t i = 0; i < 30; i++) {
        for (int64_t j = 0; j < 30; j++) {
            xp_set(&m, 0, i, j, 1 + 0.125 * fabs((double)(j - i)));
        }
    }
    tess_xpcs_data *data = xp_data_of(ctx, &m, false);
    double sigma[30];
    assert_fails(tess_xpcs_data_estimate_sigma(ctx, data, sigma), TESS_E_NUMERIC,
                 "angle 0: neighbouring values are equal");
    assert_fails(tess_xp_data_sigma_per_lag(data->ctx, data, (tess_comm_deal){0, 1}, sigma),
                 TESS_E_NUMERIC, "give sigma");
    tess_xpcs_data_destroy(data);
    xp_matrices_free(&m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_numpys),
        cmocka_unit_test(golden_estimates),
        cmocka_unit_test(noise_is_estimated),
        cmocka_unit_test(no_noise_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Spherical splines and the repair of electrodes against golden data, and their rules.
#include "autoreject_sensors.h"
#include "unit_golden.h"

#include "runtime/context.h"
#include "systems/autoreject/interpolation/electrodes.h"
#include "systems/autoreject/interpolation/repair.h"
#include "systems/autoreject/interpolation/spline.h"

#define GOLDEN "autoreject/ar03_splines"

static const char *named(const char *geometry, const char *array)
{
    static char name[64];
    snprintf(name, sizeof name, "%s_%s", geometry, array);
    return name;
}

// All weights agree to 1e-9 of the largest.
static void assert_weights(const double *got, const double *want, int64_t n)
{
    assert_near(got, want, n, 1e-9 * largest(want, n));
}

static void kernel_is_the_series(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    int64_t n = 0;
    double *x = golden_f64(ctx, GOLDEN, "g_x", &n);
    double *g = golden_f64(ctx, GOLDEN, "g", NULL);
    double at_zero = 0;
    for (int64_t i = 0; i < n; i++) {
        at_zero = x[i] == 0 ? g[i] : at_zero;
    }
    assert_true(at_zero != 0);
    tess_ar_spline_kernel(x, n);
    for (int64_t i = 0; i < n; i++) {
        x[i] += at_zero;
    }
    assert_near(x, g, n, 1e-16);
    free(x);
    free(g);
    tess_context_destroy(ctx);
}

static void matrices(tess_context *ctx, const char *geometry)
{
    int64_t n = 0;
    double *pos = golden_f64(ctx, GOLDEN, named(geometry, "pos"), &n);
    n /= 3;
    for (int64_t i = 0; i < n; i++) {
        const double *p = pos + 3 * i;
        const double r = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        for (int k = 0; k < 3; k++) {
            pos[3 * i + k] /= r;
        }
    }
    tess_ar_electrodes e;
    assert_ok(tess_ar_electrodes_create(ctx, pos, n, &e));
    double *g = golden_f64(ctx, GOLDEN, named(geometry, "G"), NULL);
    double *h = golden_f64(ctx, GOLDEN, named(geometry, "H"), NULL);
    double zero = 0;
    tess_ar_spline_kernel(&zero, 1);
    assert_true(zero == 0);
    const double shift = e.g[0] - g[0];
    for (int64_t i = 0; i < n * n; i++) {
        g[i] += shift;
    }
    assert_near(e.g, g, n * n, 1e-14);
    assert_weights(e.h, h, n * n);
    tess_ar_electrodes_destroy(&e);
    free(pos);
    free(g);
    free(h);
}

static void matrices_are_the_originals(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    matrices(ctx, "a");
    matrices(ctx, "b");
    tess_context_destroy(ctx);
}

// The golden weights of a set, in columns of all channels.
static double *spread_golden(tess_context *ctx, const char *geometry, int set, int64_t n,
                             int32_t *bad, int64_t *n_bad)
{
    char array[16];
    snprintf(array, sizeof array, "bad%d", set);
    int64_t *list = golden_i64(ctx, GOLDEN, named(geometry, array), n_bad);
    snprintf(array, sizeof array, "W%d", set);
    double *w = golden_f64(ctx, GOLDEN, named(geometry, array), NULL);
    double *out = calloc((size_t)(*n_bad * n), sizeof *out);
    for (int64_t k = 0; k < *n_bad; k++) {
        bad[k] = (int32_t)list[k];
        for (int64_t c = 0, i = 0, j = 0; c < n; c++) {
            if (j < *n_bad && list[j] == c) {
                j++;
            } else {
                out[k * n + c] = w[k * (n - *n_bad) + i++];
            }
        }
    }
    free(list);
    free(w);
    return out;
}

static void sets_of(tess_context *ctx, const char *geometry)
{
    int64_t n = 0;
    double *pos = golden_f64(ctx, GOLDEN, named(geometry, "pos"), &n);
    n /= 3;
    test_sensors sensors = sensors_make(TESS_AUTOREJECT_EEG, pos, n, 3);
    tess_ar_repairer *r = NULL;
    assert_ok(tess_ar_repairer_create(ctx, &sensors.s, sensors.all, n, NULL, &r));
    assert_true(tess_ar_repairer_can(r));
    const double *loo = NULL;
    assert_ok(tess_ar_repairer_leave_one_out(r, &loo));
    double *want = golden_f64(ctx, GOLDEN, named(geometry, "loo"), NULL);
    assert_weights(loo, want, n * n);
    free(want);
    for (int set = 0; set < 3; set++) {
        int32_t bad[64];
        int64_t n_bad = 0;
        want = spread_golden(ctx, geometry, set, n, bad, &n_bad);
        double *got = malloc((size_t)(n_bad * n) * sizeof *got);
        void *scratch = malloc(tess_ar_repairer_scratch(r, n_bad));
        assert_ok(tess_ar_repairer_weights(r, bad, n_bad, scratch, got));
        assert_weights(got, want, n_bad * n);
        for (int64_t k = 0; k < n_bad; k++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++) {
                sum += got[k * n + i];
            }
            assert_true(fabs(sum - 1) < 1e-10);
        }
        free(got);
        free(want);
        free(scratch);
    }
    tess_ar_repairer_destroy(r);
    sensors_free(&sensors);
    free(pos);
}

static void sets_are_the_originals(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    sets_of(ctx, "a");
    sets_of(ctx, "b");
    tess_context_destroy(ctx);
}

// Every number of bad channels, by the identity or directly, equals the direct solution.
static void ways_agree(void **state)
{
    (void)state;
    enum { N = 15 };
    tess_context *ctx = unit_context(1, 0);
    double *pos = spiral(N);
    test_sensors sensors = sensors_make(TESS_AUTOREJECT_EEG, pos, N, 3);
    tess_ar_repairer *r = NULL;
    assert_ok(tess_ar_repairer_create(ctx, &sensors.s, sensors.all, N, NULL, &r));
    for (int64_t n_bad = 1; n_bad < N; n_bad++) {
        int32_t bad[N];
        int64_t from[N];
        int64_t to[N];
        int64_t n_from = 0;
        for (int64_t c = 0, k = 0; c < N; c++) {
            if (k < n_bad && (c % 2 == 1 || N - c <= n_bad - k)) {
                bad[k] = (int32_t)c;
                to[k++] = c;
            } else {
                from[n_from++] = c;
            }
        }
        n_bad = N - n_from;
        double got[N * N];
        double direct[N * N];
        double want[N * N] = {0};
        void *scratch = malloc(tess_ar_repairer_scratch(r, n_bad));
        assert_ok(tess_ar_repairer_weights(r, bad, n_bad, scratch, got));
        assert_ok(tess_autoreject_weights(ctx, &sensors.s, from, n_from, to, n_bad, NULL, direct));
        for (int64_t k = 0; k < n_bad; k++) {
            for (int64_t i = 0; i < n_from; i++) {
                want[k * N + from[i]] = direct[k * n_from + i];
            }
        }
        assert_weights(got, want, n_bad * N);
        free(scratch);
    }
    tess_ar_repairer_destroy(r);
    sensors_free(&sensors);
    free(pos);
    tess_context_destroy(ctx);
}

static void the_plain_case(void **state)
{
    (void)state;
    static const double want[15] = {
        0.492012160277,  0.029468915811,  0.036023619510,  0.557080493341,  -0.238819591986,
        0.507677580083,  -0.141758586805, -0.091634767441, 0.023494891560,  -0.003151428434,
        -0.128673238898, -0.151971493261, 0.109070319175,  -0.093919127957, 0.095100255024};
    tess_context *ctx = unit_context(1, 0);
    double *pos = spiral(16);
    double from[45];
    for (int64_t c = 0, i = 0; c < 16; c++) {
        if (c != 1) {
            memcpy(from + 3 * i++, pos + 3 * c, 3 * sizeof *pos);
        }
    }
    double got[15];
    assert_ok(tess_autoreject_spline_weights(ctx, from, 15, pos + 3, 1, got));
    assert_near(got, want, 15, 1e-11);
    // Only directions matter.
    for (int i = 0; i < 45; i++) {
        from[i] *= 1000;
    }
    assert_ok(tess_autoreject_spline_weights(ctx, from, 15, pos + 3, 1, got));
    assert_near(got, want, 15, 1e-11);
    free(pos);
    tess_context_destroy(ctx);
}

static void coincident_electrodes_are_fine(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    int64_t n = 0;
    double *pos = golden_f64(ctx, GOLDEN, "dup_pos", &n);
    n /= 3;
    double *want = golden_f64(ctx, GOLDEN, "dup_W", NULL);
    int64_t *to = golden_i64(ctx, GOLDEN, "dup_bad", NULL);
    test_sensors sensors = sensors_make(TESS_AUTOREJECT_EEG, pos, n, 3);
    int64_t from[12];
    for (int64_t c = 0, i = 0; c < n; c++) {
        if (c != to[0]) {
            from[i++] = c;
        }
    }
    double got[12];
    assert_ok(tess_autoreject_weights(ctx, &sensors.s, from, n - 1, to, 1, NULL, got));
    assert_weights(got, want, n - 1);
    sensors_free(&sensors);
    free(pos);
    free(want);
    free(to);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_is_the_series),   cmocka_unit_test(matrices_are_the_originals),
        cmocka_unit_test(sets_are_the_originals), cmocka_unit_test(ways_agree),
        cmocka_unit_test(the_plain_case),         cmocka_unit_test(coincident_electrodes_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "xpcs_naive.h"

static const double PHI[] = {-5.79, 92, 37, 2, -178};
static const double Q[] = {0.0054, 0.0054, 0.0054, 0.004, 0.009};
static const double CONTRAST[] = {0.3, 0.31, 0.29, 0.05, 1};
static const double OFFSET[] = {1.1, 1.11, 1.09, 1, 0.5};
enum { N_ANGLE = 5 };

static tess_xpcs_angles angles(void)
{
    return (tess_xpcs_angles){.struct_size = sizeof(tess_xpcs_angles),
                              .n_angle = N_ANGLE,
                              .phi = PHI,
                              .q = Q,
                              .contrast = CONTRAST,
                              .offset = OFFSET};
}

// Surface at theta; free() it.
static double *surface(tess_context *ctx, const tess_xpcs_model *model, const double *theta,
                       int64_t n_frame)
{
    const tess_xpcs_angles of = angles();
    double *c2 = malloc((size_t)(N_ANGLE * n_frame * n_frame) * sizeof *c2);
    assert_non_null(c2);
    assert_ok(tess_xpcs_model_surface(ctx, model, &of, theta, n_frame, c2));
    return c2;
}

static void surfaces_agree_with_long_double(void **state)
{
    (void)state;
    enum { N = 64 };
    tess_context *ctx = unit_context(2, 0);
    const int n_trial = unit_is_quick() ? 3 : 18;
    for (int trial = 0; trial < n_trial; trial++) {
        tess_xpcs_model model = naive_constants(trial % 3, trial / 3 % 3);
        model.keep_t0 = trial % 2;
        model.compat_eps = trial / 2 % 2;
        double theta[7];
        naive_number theta_l[7];
        naive_theta(model.mode, theta);
        for (int k = 0; k < (model.mode == TESS_XPCS_LAMINAR_FLOW ? 7 : 3); k++) {
            theta_l[k] = (long double)theta[k];
        }
        double *c2 = surface(ctx, &model, theta, N);
        for (int64_t at = 0; at < N_ANGLE * N * N; at++) {
            const int64_t a = at / (N * N), i = at / N % N, j = at % N;
            const int64_t mirrored = (a * N + j) * N + i;
            if (i == j) {
                assert_true(c2[at] == OFFSET[a] + CONTRAST[a]);
            } else if (i > j) {
                assert_true(c2[at] == c2[mirrored]);
            } else if ((i + j) % 5 == trial % 5) {
                const naive_number m = naive_model(&model, theta_l, PHI[a], Q[a], i, j);
                const double want =
                    (double)((long double)OFFSET[a] + (long double)CONTRAST[a] * creall(m));
                assert_near(&c2[at], &want, 1, 1e-13);
            }
        }
        free(c2);
    }
    tess_context_destroy(ctx);
}

// Longer than the tiles of a stage, in a number of pieces.
static void surfaces_agree_with_pairs(void **state)
{
    (void)state;
    const int64_t n = unit_is_quick() ? 150 : 1100;
    static const double theta[7] = {1e4, -1.1, 300, 2e-3, -0.3, -4e-4, 2};
    tess_context *ctx = unit_context(3, 0);
    const tess_xpcs_angles of = angles();
    const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    double *c2 = surface(ctx, &model, theta, n);
    int64_t *first = NULL, *second = NULL;
    const int64_t n_pair = naive_pairs(n, &first, &second);
    double *want = malloc((size_t)(N_ANGLE * n_pair) * sizeof *want);
    assert_non_null(want);
    assert_ok(tess_xpcs_model_pairs(ctx, &model, &of, theta, n, first, second, n_pair, want, NULL));
    for (int64_t a = 0; a < N_ANGLE; a++) {
        for (int64_t k = 0; k < n_pair; k++) {
            assert_near(&c2[(a * n + first[k]) * n + second[k]], &want[a * n_pair + k], 1, 2e-14);
        }
    }
    free(c2);
    free(first);
    free(second);
    free(want);
    tess_context_destroy(ctx);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    enum { N = 300 };
    static const double theta[7] = {1e4, -1.1, 300, 2e-3, -0.3, -4e-4, 2};
    static const int32_t threads[] = {1, 2, 3, 7};
    const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 2);
    double *want = NULL;
    for (size_t k = 0; k < ARRAY_LEN(threads); k++) {
        tess_context *ctx = unit_context(threads[k], 0);
        double *c2 = surface(ctx, &model, theta, N);
        if (want) {
            assert_memory_equal(c2, want, (size_t)(N_ANGLE * N * N) * sizeof *c2);
            free(c2);
        } else {
            want = c2;
        }
        tess_context_destroy(ctx);
    }
    free(want);
}

static void surfaces_can_be_stopped_and_refused(void **state)
{
    (void)state;
    static const double theta[3] = {1e4, -1.1, 300};
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_angles of = angles();
    tess_xpcs_model model = naive_constants(TESS_XPCS_STATIC_ISOTROPIC, 0);
    double c2[N_ANGLE * 9];
    assert_ok(tess_xpcs_model_surface(ctx, &model, &of, theta, 3, c2));
    assert_fails(tess_xpcs_model_surface(ctx, &model, &of, theta, -3, c2), TESS_E_SHAPE,
                 "n_frame: -3");
    assert_fails(tess_xpcs_model_surface(ctx, &model, NULL, theta, 3, c2), TESS_E_ARGUMENT,
                 "angles: NULL");
    assert_fails(tess_xpcs_model_surface(ctx, &model, &of, theta, 3, NULL), TESS_E_ARGUMENT,
                 "c2: NULL");
    tess_context_cancel(ctx);
    assert_int_equal(tess_xpcs_model_surface(ctx, &model, &of, theta, 3, c2), TESS_CANCELLED);
    tess_context_destroy(ctx);
}

static void missing_memory_is_an_error(void **state)
{
    (void)state;
    static const double theta[7] = {1e4, -1.1, 300, 2e-3, -0.3, -4e-4, 2};
    const tess_xpcs_angles of = angles();
    const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    double c2[N_ANGLE * 9];
    int n_failed = 0;
    for (int64_t at = 1; at < 100; at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        config.n_thread = 1;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&config, &ctx));
        const long long before = atomic_load(&allocator.n_live);
        allocator.fail_at = atomic_load(&allocator.n_alloc) + at;
        const tess_status status = tess_xpcs_model_surface(ctx, &model, &of, theta, 3, c2);
        assert_int_equal(atomic_load(&allocator.n_live), before);
        tess_context_destroy(ctx);
        if (status == TESS_OK) {
            break;
        }
        assert_int_equal(status, TESS_E_MEMORY);
        n_failed++;
    }
    assert_true(n_failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(surfaces_agree_with_long_double),
        cmocka_unit_test(surfaces_agree_with_pairs),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(surfaces_can_be_stopped_and_refused),
        cmocka_unit_test(missing_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "xpcs_pass_fixture.h"

#include <stdio.h>

// Room for everything tess_xpcs_accumulate() gives.
typedef struct answer {
    double s[6][MAX_ANGLE];
    double p[3][MAX_ANGLE * MAX_PARAM];
    double contrast[MAX_ANGLE], offset[MAX_ANGLE];
    double cost, gradient[MAX_PARAM], hessian[MAX_PARAM * MAX_PARAM];
} answer;

static tess_xpcs_sums sums_into(answer *a)
{
    memset(a, 0, sizeof *a);
    return (tess_xpcs_sums){.struct_size = sizeof(tess_xpcs_sums),
                            .s1 = a->s[0],
                            .sf = a->s[1],
                            .sff = a->s[2],
                            .sy = a->s[3],
                            .syy = a->s[4],
                            .sfy = a->s[5],
                            .p = a->p[0],
                            .q = a->p[1],
                            .r = a->p[2],
                            .contrast = a->contrast,
                            .offset = a->offset,
                            .cost = &a->cost,
                            .gradient = a->gradient,
                            .hessian = a->hessian};
}

static tess_xpcs_fit_config defaults(void)
{
    tess_xpcs_fit_config config;
    tess_xpcs_fit_config_init(&config, sizeof config);
    return config;
}

// The packed triangles of a golden fit behind a frame 0 that is dropped.
static tess_xpcs_data *golden_data(tess_context *ctx, const char *file)
{
    int64_t n_angle = 0;
    double *phi = golden_f64(ctx, file, "phi", &n_angle);
    double *y = golden_f64(ctx, file, "y", NULL);
    const int64_t n = (int64_t)golden_scalar(ctx, file, "n");
    const int64_t shape[3] = {n_angle, n + 1, n + 1};
    double *c2 = calloc((size_t)(n_angle * (n + 1) * (n + 1)), sizeof *c2);
    double q[MAX_ANGLE];
    assert_non_null(c2);
    int64_t at = 0;
    for (int64_t a = 0; a < n_angle; a++) {
        double *matrix = c2 + a * (n + 1) * (n + 1);
        q[a] = golden_scalar(ctx, file, "q");
        for (int64_t i = 1; i <= n; i++) {
            matrix[i * (n + 1) + i] = 1.5;
            for (int64_t j = i + 1; j <= n; j++) {
                matrix[i * (n + 1) + j] = matrix[j * (n + 1) + i] = y[at++];
            }
        }
    }
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.dt_s = golden_scalar(ctx, file, "dt");
    config.gap_angstrom = golden_scalar(ctx, file, "L");
    tess_array view;
    assert_ok(tess_array_init(&view, c2, TESS_F64, 3, shape));
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_data_from_array(ctx, &view, phi, q, NULL, &config, &data));
    free(phi);
    free(y);
    free(c2);
    return data;
}

static void expect_golden(tess_context *ctx, const char *prefix, const char *name,
                          const double *got, double tolerance)
{
    char member[64];
    snprintf(member, sizeof member, "%s_%s", prefix, name);
    int64_t n = 0;
    double *want = golden_f64(ctx, "xpcs/accumulators", member, &n);
    for (int64_t i = 0; i < n; i++) {
        assert_near(&got[i], &want[i], 1, tolerance * fabs(want[i]));
    }
    free(want);
}

static void expect_derivatives(tess_context *ctx, const char *prefix, const answer *a, bool is_best)
{
    char member[64];
    int64_t p = 0;
    snprintf(member, sizeof member, "%s_gradient", prefix);
    double *gradient = golden_f64(ctx, "xpcs/accumulators", member, &p);
    snprintf(member, sizeof member, "%s_hessian", prefix);
    double *hessian = golden_f64(ctx, "xpcs/accumulators", member, NULL);
    for (int64_t k = 0; k < p; k++) {
        const double own = hessian[k * p + k];
        assert_near(&a->gradient[k], &gradient[k], 1,
                    is_best ? 1e-6 * sqrt(own) : 1e-9 * sqrt(own * a->cost));
        for (int64_t l = 0; l < p; l++) {
            assert_near(&a->hessian[k * p + l], &hessian[k * p + l], 1,
                        1e-11 * sqrt(own * hessian[l * p + l]));
        }
    }
    free(gradient);
    free(hessian);
}

static void golden_sums_agree(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/fit_static", "xpcs/fit_laminar"};
    static const char *const points[] = {"start", "truth", "optimum"};
    static const char *const six[] = {"S1", "Sf", "Sff", "Sy", "Syy", "Sfy"};
    static const char *const three[] = {"Pk", "Qk", "Rk"};
    tess_context *ctx = unit_context(2, 0);
    for (int f = 0; f < 2; f++) {
        tess_xpcs_data *data = golden_data(ctx, files[f]);
        tess_xpcs_model model;
        tess_xpcs_model_init(&model, sizeof model);
        model.mode = f == 0 ? TESS_XPCS_STATIC_ANISOTROPIC : TESS_XPCS_LAMINAR_FLOW;
        tess_xpcs_fit_config config = defaults();
        config.sigma = golden_scalar(ctx, files[f], "sigma");
        for (int k = 0; k < 3; k++) {
            char prefix[32], member[48];
            snprintf(prefix, sizeof prefix, "%s_%s", f == 0 ? "static" : "laminar", points[k]);
            snprintf(member, sizeof member, "%s_theta", prefix);
            double *theta = golden_f64(ctx, "xpcs/accumulators", member, NULL);
            answer a;
            tess_xpcs_sums sums = sums_into(&a);
            assert_ok(tess_xpcs_accumulate(ctx, data, &model, &config, theta, &sums));
            for (int i = 0; i < 6; i++) {
                expect_golden(ctx, prefix, six[i], a.s[i], 1e-12);
            }
            for (int i = 0; i < 3; i++) {
                expect_golden(ctx, prefix, three[i], a.p[i], 1e-12);
            }
            expect_golden(ctx, prefix, "contrast", a.contrast, 1e-10);
            expect_golden(ctx, prefix, "offset", a.offset, 1e-12);
            expect_golden(ctx, prefix, "cost", &a.cost, 1e-12);
            expect_derivatives(ctx, prefix, &a, k == 2);
            free(theta);
        }
        tess_xpcs_data_destroy(data);
    }
    tess_context_destroy(ctx);
}

// Cost, gradient and Hessian once more, from the explicit Jacobian of the public model.
typedef struct explicit_sums {
    long double cost;
    long double gradient[MAX_PARAM];
    long double hessian[MAX_PARAM][MAX_PARAM];
} explicit_sums;

// The sums of an angle are compared on the way.
static void add_angle(const double *m, const double *jacobian, const double *y, const double *w,
                      int64_t n_pair, int64_t p, int64_t angle, const answer *got,
                      explicit_sums *out)
{
    long double s1 = 0, sf = 0, sff = 0, sy = 0, syy = 0, sfy = 0;
    for (int64_t k = 0; k < n_pair; k++) {
        const long double v = (long double)w[k], f = (long double)m[k], value = (long double)y[k];
        s1 += v;
        sf += v * f;
        sff += v * f * f;
        sy += v * value;
        syy += v * value * value;
        sfy += v * f * value;
    }
    const double six[6] = {(double)s1, (double)sf,  (double)sff,
                           (double)sy, (double)syy, (double)sfy};
    for (int k = 0; k < 6; k++) {
        assert_near(&got->s[k][angle], &six[k], 1, 1e-12 * six[k]);
    }
    const long double det = sff * s1 - sf * sf;
    const long double c = (s1 * sfy - sf * sy) / det, o = (sff * sy - sf * sfy) / det;
    long double jp[MAX_PARAM] = {0}, jq[MAX_PARAM] = {0};
    for (int64_t k = 0; k < n_pair; k++) {
        const long double v = (long double)w[k], f = (long double)m[k];
        const long double r = o + c * f - (long double)y[k];
        const double *row = jacobian + k * p;
        out->cost += 0.5L * v * r * r;
        for (int64_t i = 0; i < p; i++) {
            jp[i] += v * (long double)row[i];
            jq[i] += v * (long double)row[i] * f;
            out->gradient[i] += c * v * r * (long double)row[i];
            for (int64_t j = 0; j < p; j++) {
                out->hessian[i][j] += c * c * v * (long double)row[i] * (long double)row[j];
            }
        }
    }
    for (int64_t i = 0; i < p; i++) {
        for (int64_t j = 0; j < p; j++) {
            const long double a = (sff * jp[j] - sf * jq[j]) / det;
            const long double b = (s1 * jq[j] - sf * jp[j]) / det;
            out->hessian[i][j] -= c * c * (jp[i] * a + jq[i] * b);
        }
    }
}

static void expect_explicit(tess_context *ctx, const xp_matrices *m, const tess_xpcs_model *model,
                            bool has_sigma, const answer *got)
{
    int64_t *first = NULL, *second = NULL;
    const int64_t n_pair = naive_pairs(m->n_frame, &first, &second);
    const int64_t p = model->mode == TESS_XPCS_LAMINAR_FLOW ? 7 : 3;
    double *c2 = malloc((size_t)n_pair * sizeof *c2);
    double *jacobian = malloc((size_t)(n_pair * p) * sizeof *jacobian);
    double *y = malloc((size_t)n_pair * sizeof *y);
    double *w = malloc((size_t)n_pair * sizeof *w);
    assert_true(c2 && jacobian && y && w);
    explicit_sums want = {0};
    for (int64_t a = 0; a < m->n_angle; a++) {
        const tess_xpcs_angles angle = {
            .struct_size = sizeof angle, .n_angle = 1, .phi = m->phi + a, .q = m->q + a};
        assert_ok(tess_xpcs_model_pairs(ctx, model, &angle, THETA, m->n_frame, first, second,
                                        n_pair, c2, jacobian));
        for (int64_t k = 0; k < n_pair; k++) {
            const double value = xp_at(m, a, first[k], second[k]);
            const double sigma =
                has_sigma ? m->sigma[(a * m->n_frame + first[k]) * m->n_frame + second[k]] : 0.01;
            y[k] = isnan(value) ? 0 : value;
            w[k] = isnan(value) ? 0 : 1 / (sigma * sigma);
        }
        add_angle(c2, jacobian, y, w, n_pair, p, a, got, &want);
    }
    const double cost = (double)want.cost;
    assert_near(&got->cost, &cost, 1, 1e-12 * cost);
    for (int64_t k = 0; k < p; k++) {
        const double gradient = (double)want.gradient[k];
        const double own = (double)want.hessian[k][k];
        assert_near(&got->gradient[k], &gradient, 1, 1e-12 * sqrt(own * cost));
        for (int64_t l = 0; l < p; l++) {
            const double hessian = (double)want.hessian[k][l];
            assert_near(&got->hessian[k * p + l], &hessian, 1,
                        1e-12 * sqrt(own * (double)want.hessian[l][l]));
        }
    }
    free(first);
    free(second);
    free(c2);
    free(jacobian);
    free(y);
    free(w);
}

static void factorised_sums_are_those_of_the_jacobian(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    for (int trial = 0; trial < 8; trial++) {
        const bool has_sigma = trial & 1;
        xp_matrices m = xp_matrices_make(4, 60, trial & 2 ? TESS_F32 : TESS_F64,
                                         trial & 4 ? 0.1 : 0, (uint64_t)trial);
        m.phi[1] = 92; // exactly perpendicular to the flow
        m.q[3] = 0.006;
        tess_xpcs_data *data = xp_data_of(ctx, &m, has_sigma);
        tess_xpcs_fit_config config = defaults();
        config.sigma_mode = has_sigma ? TESS_XPCS_SIGMA_DATASET : TESS_XPCS_SIGMA_CONSTANT;
        for (int32_t kernel = -1; kernel < 3; kernel++) {
            tess_xpcs_model model =
                naive_constants(kernel < 0 ? TESS_XPCS_STATIC_ANISOTROPIC : TESS_XPCS_LAMINAR_FLOW,
                                kernel < 0 ? 0 : kernel);
            model.keep_t0 = 1;
            model.compat_eps = trial % 2;
            answer a;
            tess_xpcs_sums sums = sums_into(&a);
            assert_ok(tess_xpcs_accumulate(ctx, data, &model, &config, THETA, &sums));
            expect_explicit(ctx, &m, &model, has_sigma, &a);
        }
        tess_xpcs_data_destroy(data);
        xp_matrices_free(&m);
    }
    tess_context_destroy(ctx);
}

static void threads_and_chunks_change_no_bit(void **state)
{
    (void)state;
    static const int32_t threads[] = {1, 2, 3, 7};
    static const int64_t chunk_tiles[] = {0, 1, 32, 100, 1000000};
    xp_matrices m = xp_matrices_make(3, 300, TESS_F32, 0.001, 5);
    const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    answer want = {.cost = -1};
    for (size_t t = 0; t < ARRAY_LEN(threads); t++) {
        tess_context *ctx = unit_context(threads[t], 0);
        tess_xpcs_data *data = xp_data_of(ctx, &m, false);
        for (size_t k = 0; k < (unit_is_quick() ? 2 : ARRAY_LEN(chunk_tiles)); k++) {
            tess_xpcs_fit_config config = defaults();
            config.chunk_tiles = chunk_tiles[k];
            answer a;
            tess_xpcs_sums sums = sums_into(&a);
            assert_ok(tess_xpcs_accumulate(ctx, data, &model, &config, THETA, &sums));
            if (want.cost < 0) {
                want = a;
            }
            assert_memory_equal(&a, &want, sizeof a);
        }
        tess_xpcs_data_destroy(data);
        tess_context_destroy(ctx);
    }
    xp_matrices_free(&m);
}

static void scaling_modes_give_their_scaling(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    tess_xpcs_fit_config config = defaults();
    answer individual, a;
    tess_xpcs_sums sums = sums_into(&individual);
    assert_ok(tess_xpcs_accumulate(f.ctx, f.data, &f.model, &config, THETA, &sums));

    static const double contrast[] = {0.2, 0.25, 0.3}, offset[] = {1.01, 1.02, 1.03};
    config.scaling = TESS_XPCS_SCALING_CONSTANT;
    config.contrast = contrast;
    config.offset = offset;
    sums = sums_into(&a);
    assert_ok(tess_xpcs_accumulate(f.ctx, f.data, &f.model, &config, THETA, &sums));
    assert_memory_equal(a.contrast, contrast, sizeof contrast);
    assert_memory_equal(a.offset, offset, sizeof offset);
    assert_true(a.cost > individual.cost);
    config.n_scaling = 2;
    assert_fails(tess_xpcs_accumulate(f.ctx, f.data, &f.model, &config, THETA, &sums), TESS_E_SHAPE,
                 "2 values; the data have 3 angles");
    config.n_scaling = 3;
    config.contrast = NULL;
    assert_ok(tess_xpcs_accumulate(f.ctx, f.data, &f.model, &config, THETA, &sums));
    assert_memory_equal(a.offset, offset, sizeof offset);

    config = defaults();
    config.scaling = TESS_XPCS_SCALING_AVERAGED;
    sums = sums_into(&a);
    assert_ok(tess_xpcs_accumulate(f.ctx, f.data, &f.model, &config, THETA, &sums));
    assert_true(a.contrast[0] == a.contrast[2] && a.offset[0] == a.offset[2]);
    assert_true(a.cost >= individual.cost);
    fixture_close(&f);
}

static void what_is_not_wanted_is_left_out(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    answer all, a;
    tess_xpcs_sums sums = sums_into(&all);
    assert_ok(tess_xpcs_accumulate(f.ctx, f.data, &f.model, NULL, THETA, &sums));
    sums_into(&a);
    sums = (tess_xpcs_sums){.struct_size = sizeof sums, .cost = &a.cost, .gradient = a.gradient};
    assert_ok(tess_xpcs_accumulate(f.ctx, f.data, &f.model, NULL, THETA, &sums));
    assert_true(a.cost == all.cost);
    assert_memory_equal(a.gradient, all.gradient, sizeof a.gradient);
    assert_true(a.hessian[0] == 0 && a.contrast[0] == 0);
    fixture_close(&f);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f, 4);
    answer a;
    tess_xpcs_sums sums = sums_into(&a);
    tess_xpcs_fit_config config = defaults();
    tess_xpcs_model model = f.model;
#define ACCUMULATE(theta) tess_xpcs_accumulate(f.ctx, f.data, &model, &config, (theta), &sums)
    assert_fails(ACCUMULATE(NULL), TESS_E_ARGUMENT, "theta: NULL");
    assert_fails(tess_xpcs_accumulate(f.ctx, NULL, &model, &config, THETA, &sums), TESS_E_ARGUMENT,
                 "data: NULL");
    config.loss = TESS_XPCS_LOSS_HUBER;
    assert_fails(ACCUMULATE(THETA), TESS_E_ARGUMENT, "loss");
    config.loss = 17;
    assert_fails(ACCUMULATE(THETA), TESS_E_RANGE, "loss");
    config = defaults();
    config.sigma = -1;
    assert_fails(ACCUMULATE(THETA), TESS_E_RANGE, "sigma");
    config = defaults();
    model.gap_angstrom = 200;
    assert_fails(ACCUMULATE(THETA), TESS_E_RANGE, "200 µm are 2e6");
    model.gap_angstrom = 0; // the data know it
    assert_ok(ACCUMULATE(THETA));
    fixture_close(&f);
}

static void missing_memory_is_an_error(void **state)
{
    (void)state;
    const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    xp_matrices m = xp_matrices_make(2, 20, TESS_F64, 0, 3);
    answer a;
    tess_xpcs_sums sums = sums_into(&a);
    int n_failed = 0;
    for (int64_t at = 1; at < 200; at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        config.n_thread = 1;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&config, &ctx));
        tess_xpcs_data *data = xp_data_of(ctx, &m, false);
        const long long before = atomic_load(&allocator.n_live);
        allocator.fail_at = atomic_load(&allocator.n_alloc) + at;
        const tess_status status = tess_xpcs_accumulate(ctx, data, &model, NULL, THETA, &sums);
        assert_int_equal(atomic_load(&allocator.n_live), before);
        tess_xpcs_data_destroy(data);
        tess_context_destroy(ctx);
        if (status == TESS_OK) {
            break;
        }
        assert_int_equal(status, TESS_E_MEMORY);
        n_failed++;
    }
    assert_true(n_failed > 5);
    xp_matrices_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_sums_agree),
        cmocka_unit_test(factorised_sums_are_those_of_the_jacobian),
        cmocka_unit_test(threads_and_chunks_change_no_bit),
        cmocka_unit_test(scaling_modes_give_their_scaling),
        cmocka_unit_test(what_is_not_wanted_is_left_out),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(missing_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

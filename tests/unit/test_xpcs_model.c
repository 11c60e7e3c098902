#include "xpcs_naive.h"

#include "numerics/elementary.h"

#include <stdio.h>

enum { N = 8 };

static const double CASE_A[3] = {16917.74, -1.5725, 3.053};
static const double CASE_B[7] = {68480.52, -1.3269, 1707.73, 0.00199, -0.21192, -0.000607, 2.0011};
static const double PHI_B[4] = {-5.79, 4.88, 90.01, 180.0};
static const double Q[4] = {0.0054, 0.0054, 0.0054, 0.0054};

static tess_xpcs_angles angles_of(int64_t n, const double *phi, const double *q,
                                  const double *contrast, const double *offset)
{
    return (tess_xpcs_angles){.struct_size = sizeof(tess_xpcs_angles),
                              .n_angle = n,
                              .phi = phi,
                              .q = q,
                              .contrast = contrast,
                              .offset = offset};
}

static void published_values_of_case_a_agree(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 0, 3, 6, 2};
    static const int64_t second[] = {1, 7, 4, 7, 5};
    static const double want[] = {1.0160590889494137, 1.0057162372508253, 1.043442625839101,
                                  1.0478310113455338, 1.0296852868782034};
    static const double contrast = 0.0502, offset = 1.00141;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_model model = naive_constants(TESS_XPCS_STATIC_ISOTROPIC, 0);
    model.compat_eps = 1;
    const tess_xpcs_angles angles = angles_of(1, PHI_B, Q, &contrast, &offset);
    double c2[5];
    assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, CASE_A, N, first, second, 5, c2, NULL));
    assert_near(c2, want, 5, 2e-14);
    double sums[N];
    tess_xpcs_grids grids = {.struct_size = sizeof grids, .diffusion_sum = sums};
    assert_ok(tess_xpcs_model_grids(ctx, &model, CASE_A, N, &grids));
    const double some[] = {sums[1], sums[7]};
    static const double want_sums[] = {422372.0442118215, 842232.6925731666};
    assert_near(some, want_sums, 2, 1e-9);
    tess_context_destroy(ctx);
}

static void published_values_of_case_b_agree(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 0, 3, 2};
    static const int64_t second[] = {1, 7, 4, 5};
    static const double contrast[] = {0.30, 0.31, 0.29, 0.30};
    static const double offset[] = {1.10, 1.11, 1.09, 1.10};
    static const double want[] = {
        1.113752695325792,  1.100006018924253,  1.2563200518139874, 1.126235811341232,
        1.1241849986467634, 1.1100057220043897, 1.271374725100074,  1.136860231143463,
        1.1048862773757662, 1.0903050235183234, 1.2503840206129928, 1.1342469543919769,
        1.1137253420818873, 1.1000054993602453, 1.2561566853036343, 1.1259739653401695};
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    model.compat_eps = 1;
    const tess_xpcs_angles angles = angles_of(4, PHI_B, Q, contrast, offset);
    double c2[16];
    assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, CASE_B, N, first, second, 4, c2, NULL));
    assert_near(c2, want, 16, 2e-14);
    double sums[N];
    tess_xpcs_grids grids = {.struct_size = sizeof grids, .shear_sum = sums};
    assert_ok(tess_xpcs_model_grids(ctx, &model, CASE_B, N, &grids));
    const double some[] = {sums[1], sums[7]};
    static const double want_sums[] = {0.0024132732979437396, 0.012867400157573568};
    assert_near(some, want_sums, 2, 1e-17);
    tess_context_destroy(ctx);
}

static void published_values_of_the_kernels_agree(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 0, 3, 2};
    static const int64_t second[] = {1, 7, 4, 5};
    static const double want[3][4] = {
        {0.04584231864913834, 2.0063081464955994e-05, 0.5210668495151376, 0.08745270626098076},
        {0.01576601700374457, 4.808663989547924e-08, 0.3019907243379236, 2.0449830034646335e-05},
        {0.028450186638580562, 7.125821103800422e-06, 0.408690205816, 0.0017669823715336609}};
    static const double derivatives[7] = {
        -4.4684261906159765e-06, 0.2512619028250684,  -1.5194309331861415e-06, -42.16929485552326,
        0.0677508520798325,      -35.547747925356916, 0.00014886912426004644};
    tess_context *ctx = unit_context(1, 0);
    const tess_xpcs_angles angles = angles_of(1, PHI_B, Q, NULL, NULL);
    double m[4];
    double jacobian[4][7];
    for (int32_t kernel = 0; kernel < 3; kernel++) {
        const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, kernel);
        assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, CASE_B, N, first, second, 4, m,
                                        jacobian[0]));
        assert_near(m, want[kernel], 4, 2e-14);
        for (int64_t k = 0; kernel == 0 && k < 7; k++) {
            assert_near(&jacobian[2][k], &derivatives[k], 1, 1e-13 * fabs(derivatives[k]));
        }
    }
    tess_context_destroy(ctx);
}

static void published_values_of_case_c_agree(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 0};
    static const int64_t second[] = {1, 7};
    static const double phi[] = {-5.79, 90.01}, contrast[] = {0.3, 0.3}, offset[] = {1.1, 1.1};
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    model.compat_eps = 1;
    model.keep_t0 = 1;
    const tess_xpcs_angles angles = angles_of(2, phi, Q, contrast, offset);
    double c2[4];
    assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, CASE_B, N, first, second, 2, c2, NULL));
    const double want[] = {1.100149489092474, 1.1000000013351503, 1.1001759092739727, c2[3]};
    assert_near(c2, want, 4, 2e-14);
    tess_context_destroy(ctx);
}

// What a golden file is evaluated with.
typedef struct golden {
    const char *file;
    tess_xpcs_model model;
    tess_xpcs_angles angles;
    double q[4];
    double *theta, *phi, *contrast, *offset;
    int64_t n_frame, n_param, n_pair;
    int64_t *first, *second;
} golden;

static golden golden_open(tess_context *ctx, const char *file)
{
    golden g = {.file = file};
    g.theta = golden_f64(ctx, file, "theta", &g.n_param);
    g.model =
        naive_constants(g.n_param == 3 ? TESS_XPCS_STATIC_ANISOTROPIC : TESS_XPCS_LAMINAR_FLOW, 0);
    g.model.dt_s = golden_scalar(ctx, file, "dt");
    g.model.gap_angstrom = golden_scalar(ctx, file, "L");
    g.n_frame = (int64_t)golden_scalar(ctx, file, "n");
    g.first = golden_i64(ctx, file, "pair_i", &g.n_pair);
    g.second = golden_i64(ctx, file, "pair_j", NULL);
    g.phi = golden_f64(ctx, file, "phi", NULL);
    g.contrast = golden_f64(ctx, file, "contrast", NULL);
    g.offset = golden_f64(ctx, file, "offset", NULL);
    g.angles = angles_of(4, g.phi, NULL, g.contrast, g.offset);
    for (int a = 0; a < 4; a++) {
        g.q[a] = golden_scalar(ctx, file, "q");
    }
    return g;
}

static void golden_close(golden *g)
{
    free(g->theta);
    free(g->first);
    free(g->second);
    free(g->phi);
    free(g->contrast);
    free(g->offset);
}

// c2 and, if derivatives is not NULL, its derivatives against members of the file.
static void expect_pairs(tess_context *ctx, golden *g, const char *values, const char *derivatives)
{
    g->angles.q = g->q;
    const int64_t n = 4 * g->n_pair;
    double *c2 = malloc((size_t)n * sizeof *c2);
    double *jacobian = malloc((size_t)(n * g->n_param) * sizeof *jacobian);
    assert_true(c2 && jacobian);
    assert_ok(tess_xpcs_model_pairs(ctx, &g->model, &g->angles, g->theta, g->n_frame, g->first,
                                    g->second, g->n_pair, c2, jacobian));
    double *want = golden_f64(ctx, g->file, values, NULL);
    assert_near(c2, want, n, 2e-14);
    free(want);
    if (derivatives) {
        want = golden_f64(ctx, g->file, derivatives, NULL);
        for (int64_t k = 0; k < g->n_param; k++) {
            double largest = 0;
            for (int64_t i = 0; i < n; i++) {
                largest = fmax(largest, fabs(want[i * g->n_param + k]));
            }
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = i * g->n_param + k;
                assert_near(&jacobian[at], &want[at], 1, 1e-12 * largest);
            }
        }
        free(want);
    }
    free(c2);
    free(jacobian);
}

static void expect_member(tess_context *ctx, const golden *g, const char *name, const double *got)
{
    int64_t n = 0;
    double *want = golden_f64(ctx, g->file, name, &n);
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    assert_near(got, want, n, 1e-14 * largest);
    free(want);
}

static void expect_grids(tess_context *ctx, const golden *g)
{
    enum { N_FRAME = 24 };
    assert_int_equal(g->n_frame, N_FRAME);
    double t[N_FRAME], rate[2][N_FRAME], sum[2][N_FRAME], derivatives[2][3 * N_FRAME];
    tess_xpcs_grids grids = {.struct_size = sizeof grids,
                             .t = t,
                             .diffusion = rate[0],
                             .diffusion_sum = sum[0],
                             .diffusion_derivatives = derivatives[0]};
    if (g->n_param == 7) {
        grids.shear = rate[1];
        grids.shear_sum = sum[1];
        grids.shear_derivatives = derivatives[1];
    }
    assert_ok(tess_xpcs_model_grids(ctx, &g->model, g->theta, g->n_frame, &grids));
    expect_member(ctx, g, "t", t);
    static const char *const names[2][3] = {{"D", "C_D", "dC_D"}, {"G", "C_G", "dC_G"}};
    for (int k = 0; k < (g->n_param == 7 ? 2 : 1); k++) {
        expect_member(ctx, g, names[k][0], rate[k]);
        expect_member(ctx, g, names[k][1], sum[k]);
        expect_member(ctx, g, names[k][2], derivatives[k]);
    }
}

static void golden_static_models_agree(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/model_static_typical", "xpcs/model_static_floor"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        golden g = golden_open(ctx, files[k]);
        expect_grids(ctx, &g);
        expect_pairs(ctx, &g, "c2", "dc2");
        g.model.mode = TESS_XPCS_STATIC_ISOTROPIC;
        expect_pairs(ctx, &g, "c2", "dc2");
        g.model.keep_t0 = 1;
        expect_pairs(ctx, &g, "c2_t0kept", NULL);
        g.model.keep_t0 = 0;
        g.angles.contrast = g.angles.offset = NULL;
        expect_pairs(ctx, &g, "M", NULL);
        golden_close(&g);
    }
    tess_context_destroy(ctx);
}

static void golden_laminar_models_agree(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/model_laminar_typical", "xpcs/model_laminar_floor",
                                        "xpcs/model_laminar_strong"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        golden g = golden_open(ctx, files[k]);
        expect_grids(ctx, &g);
        for (g.model.kernel = 0; g.model.kernel < 3; g.model.kernel++) {
            const char *kernel = tess_xpcs_kernel_name((tess_xpcs_kernel)g.model.kernel);
            char values[32], derivatives[32];
            snprintf(values, sizeof values, "c2_%s", kernel);
            snprintf(derivatives, sizeof derivatives, "dc2_%s", kernel);
            expect_pairs(ctx, &g, values, derivatives);
        }
        g.model.kernel = 0;
        g.model.compat_eps = 1;
        expect_pairs(ctx, &g, "c2_upstream_eps", NULL);
        g.model.compat_eps = 0;
        g.model.keep_t0 = 1;
        expect_pairs(ctx, &g, "c2_upstream_t0kept", NULL);
        golden_close(&g);
    }
    tess_context_destroy(ctx);
}

// Anywhere within the bounds, every switch, against long double.
static void random_parameters_agree_with_long_double(void **state)
{
    (void)state;
    enum { N_FRAME = 64, N_ANGLE = 5 };
    tess_context *ctx = unit_context(1, 0);
    int64_t *first = NULL, *second = NULL;
    const int64_t n_pair = naive_pairs(N_FRAME, &first, &second);
    double *c2 = malloc((size_t)(N_ANGLE * n_pair) * sizeof *c2);
    assert_non_null(c2);
    const int n_trial = unit_is_quick() ? 3 : 18;
    for (int trial = 0; trial < n_trial; trial++) {
        tess_xpcs_model model = naive_constants(trial % 3, trial / 3 % 3);
        model.keep_t0 = trial % 2;
        model.compat_eps = trial / 2 % 2;
        double theta[7], phi[N_ANGLE], q[N_ANGLE], contrast[N_ANGLE], offset[N_ANGLE];
        naive_theta(model.mode, theta);
        naive_number theta_l[7];
        for (int k = 0; k < (model.mode == TESS_XPCS_LAMINAR_FLOW ? 7 : 3); k++) {
            theta_l[k] = (long double)theta[k];
        }
        for (int a = 0; a < N_ANGLE; a++) {
            phi[a] = naive_uniform(-180, 180);
            q[a] = naive_uniform(0.002, 0.01);
            contrast[a] = naive_uniform(0, 1);
            offset[a] = naive_uniform(0.5, 1.5);
        }
        const tess_xpcs_angles angles = angles_of(N_ANGLE, phi, q, contrast, offset);
        assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, theta, N_FRAME, first, second, n_pair,
                                        c2, NULL));
        for (int64_t a = 0; a < N_ANGLE; a++) {
            for (int64_t k = trial; k < n_pair; k += 7) {
                const naive_number m =
                    naive_model(&model, theta_l, phi[a], q[a], first[k], second[k]);
                const double want =
                    (double)((long double)offset[a] + (long double)contrast[a] * creall(m));
                assert_near(&c2[a * n_pair + k], &want, 1, 1e-13);
            }
        }
    }
    free(first);
    free(second);
    free(c2);
    tess_context_destroy(ctx);
}

// Every column of the Jacobian against complex steps of the naive model.
static void expect_derivatives(tess_context *ctx, const tess_xpcs_model *model, const double *theta,
                               int64_t n_frame, int64_t n_angle, const double *phi,
                               double tolerance)
{
    int64_t *first = NULL, *second = NULL;
    const int64_t n_pair = naive_pairs(n_frame, &first, &second);
    const int64_t n_param = model->mode == TESS_XPCS_LAMINAR_FLOW ? 7 : 3;
    const int64_t n = n_angle * n_pair;
    double *c2 = malloc((size_t)n * sizeof *c2);
    double *jacobian = malloc((size_t)(n * n_param) * sizeof *jacobian);
    double *want = malloc((size_t)n * sizeof *want);
    assert_true(c2 && jacobian && want);
    const tess_xpcs_angles angles = angles_of(n_angle, phi, Q, NULL, NULL);
    assert_ok(tess_xpcs_model_pairs(ctx, model, &angles, theta, n_frame, first, second, n_pair, c2,
                                    jacobian));
    for (int64_t l = 0; l < n_param; l++) {
        static const long double step = 1e-40L;
        naive_number at[7];
        for (int64_t k = 0; k < n_param; k++) {
            at[k] = (long double)theta[k] + (k == l ? step * NAIVE_I : 0);
        }
        double largest = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t a = i / n_pair, k = i % n_pair;
            const naive_number m = naive_model(model, at, phi[a], Q[a], first[k], second[k]);
            want[i] = (double)(cimagl(m) / step);
            largest = fmax(largest, fabs(want[i]));
        }
        for (int64_t i = 0; i < n; i++) {
            assert_near(&jacobian[i * n_param + l], &want[i], 1, tolerance * largest);
        }
    }
    free(first);
    free(second);
    free(c2);
    free(jacobian);
    free(want);
}

static void derivatives_agree_with_complex_steps(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const double phi[] = {0.5, 37, -120};
    // Ordinary values, weak shear, and rates that hit the floor on the way.
    static const double thetas[][7] = {{1e4, -1.1, 300, 2e-3, -0.3, -4e-4, 2},
                                       {1e3, 0.4, 10, 1e-6, 0.2, 1e-7, -3},
                                       {1e4, -1.5, -5e3, 2e-3, 0.7, -9e-4, 1},
                                       {3e4, 0, 0, 0.02, 0, 0, 0}};
    const int64_t n_frame = unit_is_quick() ? 8 : 16;
    for (size_t k = 0; k < ARRAY_LEN(thetas); k++) {
        for (int32_t mode = 1; mode < 3; mode++) {
            for (int32_t kernel = 0; kernel < (mode == 2 ? 3 : 1); kernel++) {
                tess_xpcs_model model = naive_constants(mode, kernel);
                expect_derivatives(ctx, &model, thetas[k], n_frame, 3, phi, 1e-12);
                model.compat_eps = 1;
                model.keep_t0 = 1;
                expect_derivatives(ctx, &model, thetas[k], n_frame, 3, phi, 1e-12);
            }
        }
    }
    tess_context_destroy(ctx);
}

// Anywhere within the bounds. z reaches 1e4, where an ulp of it is 1e-12 of a turn.
static void derivatives_of_random_parameters_agree(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const int n_trial = unit_is_quick() ? 3 : 30;
    for (int trial = 0; trial < n_trial; trial++) {
        tess_xpcs_model model = naive_constants(1 + trial % 2, trial / 2 % 3);
        model.keep_t0 = trial / 6 % 2;
        double theta[7];
        naive_theta(model.mode, theta);
        const double phi[] = {naive_uniform(-180, 180), naive_uniform(-180, 180)};
        expect_derivatives(ctx, &model, theta, 12, 2, phi, 1e-9);
    }
    tess_context_destroy(ctx);
}

static void derivatives_are_right_at_special_angles(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    // Exactly perpendicular to the flow, both ways, almost so, and exactly along it.
    static const double phi[] = {92, -88, 92 + 1e-9, 2};
    static const double theta[7] = {1e4, -1.1, 300, 2e-3, -0.3, -4e-4, 2};
    for (int32_t kernel = 0; kernel < 3; kernel++) {
        const tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, kernel);
        for (int64_t a = 0; a < 4; a++) {
            expect_derivatives(ctx, &model, theta, 8, 1, &phi[a], 1e-12);
        }
    }
    tess_context_destroy(ctx);
}

// z of the pair (0, 7) is brought to n pi by the gap.
static void derivatives_are_right_at_zeros_of_the_sinc(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const double phi = 2;
    static const double theta[7] = {100, 0, 0, 2e-3, 0, 0, 2};
    for (int32_t kernel = 0; kernel < 3; kernel++) {
        for (int n = 1; n <= 4; n++) {
            tess_xpcs_model model = naive_constants(TESS_XPCS_LAMINAR_FLOW, kernel);
            const double kappa = kernel == 0 ? 0.5 / (double)NAIVE_PI : 0.5;
            model.gap_angstrom = n * (double)NAIVE_PI / (kappa * Q[0] * model.dt_s * 7 * theta[3]);
            expect_derivatives(ctx, &model, theta, 8, 1, &phi, 1e-12);
            static const int64_t first = 0, second = 7;
            const tess_xpcs_angles angles = angles_of(1, &phi, Q, NULL, NULL);
            double m = 1;
            assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, theta, 8, &first, &second, 1, &m,
                                            NULL));
            assert_true(m < 1e-30);
        }
    }
    tess_context_destroy(ctx);
}

static void elementary_functions_are_exact_where_they_can_be(void **state)
{
    (void)state;
    for (int k = -8; k <= 8; k++) {
        double sine = 0, cosine = 0;
        tess_sin_cos_degrees(90.0 * k, &sine, &cosine);
        static const double quarters[] = {0, 1, 0, -1};
        assert_true(sine == quarters[k & 3] && cosine == quarters[(k + 1) & 3]);
    }
    double sine = 0, cosine = 0;
    tess_sin_cos_degrees((double)INFINITY, &sine, &cosine);
    assert_true(isnan(sine) && isnan(cosine));
    assert_true(tess_log_parts(1).high == 0 && tess_log_parts(1).low == 0);
    for (int k = -1074; k < 1024; k += 13) {
        const tess_parts log_x = tess_log_parts(ldexp(1, k));
        assert_true(tess_power(log_x, 0) == 1);
        assert_true(tess_power(log_x, 1) == ldexp(1, k));
    }
    assert_true(tess_power(tess_log_parts(10), 400) == (double)INFINITY);
    assert_true(tess_power(tess_log_parts(10), -400) == 0);
    assert_true(isnan(tess_power(tess_log_parts(10), (double)NAN)));
}

static void elementary_functions_agree_with_long_double(void **state)
{
    (void)state;
    const int n = unit_is_quick() ? 2000 : 200000;
    for (int k = 0; k < n; k++) {
        const double x = exp(naive_uniform(-20, 20));
        const double exponent = naive_uniform(-4, 4);
        const double degrees = naive_uniform(-720, 720);
        const double power = tess_power(tess_log_parts(x), exponent);
        const double want = (double)powl((long double)x, (long double)exponent);
        assert_near(&power, &want, 1, 0x1.8p-53 * 2 * want);
        double sine = 0, cosine = 0;
        tess_sin_cos_degrees(degrees, &sine, &cosine);
        const long double x_l = (long double)remainder(degrees, 360) * NAIVE_PI / 180;
        const double want_sine = (double)sinl(x_l), want_cosine = (double)cosl(x_l);
        assert_near(&sine, &want_sine, 1, 4e-16 * fabs(want_sine) + 1e-18);
        assert_near(&cosine, &want_cosine, 1, 4e-16 * fabs(want_cosine) + 1e-18);
    }
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const double bad_q[] = {0.0054, 0, (double)NAN, (double)INFINITY};
    static const int64_t first[] = {0, 2, -1, 5, 0}, second[] = {1, 2, 3, 4, 8};
    const tess_xpcs_model good = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    tess_xpcs_angles angles = angles_of(1, PHI_B, Q, NULL, NULL);
    double c2[8], theta[7];
#define EVALUATE(model, theta, n_frame, pair)                                                      \
    tess_xpcs_model_pairs(ctx, (model), &angles, (theta), (n_frame), first + (pair),               \
                          second + (pair), 1, c2, NULL)
    assert_ok(EVALUATE(&good, CASE_B, N, 0));
    assert_fails(EVALUATE(NULL, CASE_B, N, 0), TESS_E_ARGUMENT, "model: NULL");
    assert_fails(EVALUATE(&good, NULL, N, 0), TESS_E_ARGUMENT, "theta: NULL; expected 7");
    assert_fails(EVALUATE(&good, CASE_B, 0, 0), TESS_E_RANGE, "pair 0");
    for (int64_t k = 1; k < 5; k++) {
        assert_fails(EVALUATE(&good, CASE_B, N, k), TESS_E_RANGE, "first < second < 8");
    }
    for (int64_t k = 0; k < 7; k++) {
        memcpy(theta, CASE_B, sizeof theta);
        theta[k] = (double)NAN;
        int64_t n = 0;
        const char *name = tess_xpcs_params(TESS_XPCS_LAMINAR_FLOW, &n)[k].name;
        assert_fails(EVALUATE(&good, theta, N, 0), TESS_E_RANGE, name);
    }
    for (int64_t k = 1; k < 4; k++) {
        angles.q = &bad_q[k];
        assert_fails(EVALUATE(&good, CASE_B, N, 0), TESS_E_RANGE, "> 0, in 1/Å");
    }
    angles.q = Q;
    angles.phi = &bad_q[2];
    assert_fails(EVALUATE(&good, CASE_B, N, 0), TESS_E_RANGE, "phi[0]: nan");
    angles.phi = PHI_B;
    angles.n_angle = 0;
    assert_fails(EVALUATE(&good, CASE_B, N, 0), TESS_E_ARGUMENT, "angles: none");
    tess_context_destroy(ctx);
}

static void bad_constants_are_refused(void **state)
{
    (void)state;
    static const struct {
        double dt, gap;
        int32_t mode, kernel;
        tess_status status;
        const char *part;
    } cases[] = {
        {0, 2e6, 2, 0, TESS_E_ARGUMENT, "dt: missing"},
        {-0.1, 2e6, 2, 0, TESS_E_RANGE, "analyzer_parameters.dt): -0.1; expected a finite"},
        {(double)NAN, 2e6, 2, 0, TESS_E_RANGE, "in s"},
        {(double)INFINITY, 2e6, 2, 0, TESS_E_RANGE, "in s"},
        {0.1, 0, 2, 0, TESS_E_ARGUMENT, "geometry.stator_rotor_gap), 2e6 for 200 µm"},
        {0.1, -2e6, 2, 0, TESS_E_RANGE, "> 0, in Å"},
        {0.1, (double)NAN, 2, 0, TESS_E_RANGE, "> 0, in Å"},
        {0.1, 200, 2, 0, TESS_E_RANGE, "200 Å is 0.02 µm"},
        {0.1, 2e9, 2, 0, TESS_E_RANGE, "the unit is Å"},
        {0.1, 2e6, 4, 0, TESS_E_RANGE, "mode: 4; expected"},
        {0.1, 2e6, -1, 0, TESS_E_RANGE, "laminar_flow"},
        {0.1, 2e6, 2, 3, TESS_E_RANGE, "kernel: 3; expected 0 (upstream)"},
    };
    tess_context *ctx = unit_context(1, 0);
    double t[4], rate[4];
    double c2[16];
    tess_xpcs_grids grids = {.struct_size = sizeof grids, .t = t};
    const tess_xpcs_angles angles = {sizeof angles, 0, 1, PHI_B, Q, NULL, NULL};
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        tess_xpcs_model model = naive_constants(cases[k].mode, cases[k].kernel);
        model.dt_s = cases[k].dt;
        model.gap_angstrom = cases[k].gap;
        assert_fails(tess_xpcs_model_surface(ctx, &model, &angles, CASE_B, 4, c2), cases[k].status,
                     cases[k].part);
        const tess_status rates = tess_xpcs_model_grids(ctx, &model, CASE_B, 4, &grids);
        assert_int_equal(rates, cases[k].gap == 0 ? TESS_OK : cases[k].status);
    }
    tess_xpcs_model model = naive_constants(TESS_XPCS_STATIC_ISOTROPIC, 0);
    model.gap_angstrom = 0; // not needed
    assert_ok(tess_xpcs_model_grids(ctx, &model, CASE_A, 4, &grids));
    assert_fails(tess_xpcs_model_grids(ctx, &model, CASE_A, 0, &grids), TESS_E_SHAPE, "n_frame: 0");
    grids.shear = rate;
    assert_fails(tess_xpcs_model_grids(ctx, &model, CASE_A, 4, &grids), TESS_E_ARGUMENT,
                 "mode static_isotropic has none");
    model.keep_t0 = 7;
    grids.shear = NULL;
    assert_fails(tess_xpcs_model_grids(ctx, &model, CASE_A, 4, &grids), TESS_E_RANGE, "keep_t0");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values_of_case_a_agree),
        cmocka_unit_test(published_values_of_case_b_agree),
        cmocka_unit_test(published_values_of_the_kernels_agree),
        cmocka_unit_test(published_values_of_case_c_agree),
        cmocka_unit_test(golden_static_models_agree),
        cmocka_unit_test(golden_laminar_models_agree),
        cmocka_unit_test(random_parameters_agree_with_long_double),
        cmocka_unit_test(derivatives_agree_with_complex_steps),
        cmocka_unit_test(derivatives_of_random_parameters_agree),
        cmocka_unit_test(derivatives_are_right_at_special_angles),
        cmocka_unit_test(derivatives_are_right_at_zeros_of_the_sinc),
        cmocka_unit_test(elementary_functions_are_exact_where_they_can_be),
        cmocka_unit_test(elementary_functions_agree_with_long_double),
        cmocka_unit_test(bad_models_are_refused),
        cmocka_unit_test(bad_constants_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Two components: values and derivatives of the golden sets, sums of a pass, fits.
#include "xpcs_fit_fixture.h"

#include <string.h>

enum { P = TESS_XPCS_N_TWO };

static const char FIT[] = "xpcs/two_component_fit";
static const char VALUES[] = "xpcs/two_component_values";
static const double CASE_D[P] = {100,    0.298, 182.5,  1e4,     0,     0,      471.7,
                                 0.4325, 57.15, 0.0793, -0.0517, 0.888, 0.6272, -2.06};

static tess_xpcs_model two_components(double dt)
{
    tess_xpcs_model model;
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = TESS_XPCS_TWO_COMPONENT;
    model.dt_s = dt;
    return model;
}

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

static void published_values_of_case_d_agree(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 0, 3, 2};
    static const int64_t second[] = {1, 7, 4, 5};
    static const double phi = 4.878, q = 0.0237, contrast = 0.3, offset = 1;
    static const double want[] = {1.1766176104985195, 1.0198871886533116, 1.164852067269225,
                                  1.017580256857702};
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_model model = two_components(0.1);
    const tess_xpcs_angles angles = angles_of(1, &phi, &q, &contrast, &offset);
    double c2[4], surface[64];
    for (model.compat_eps = 0; model.compat_eps < 2; model.compat_eps++) {
        assert_ok(
            tess_xpcs_model_pairs(ctx, &model, &angles, CASE_D, 8, first, second, 4, c2, NULL));
        assert_near(c2, want, 4, 2e-14);
        assert_ok(tess_xpcs_model_surface(ctx, &model, &angles, CASE_D, 8, surface));
        for (int k = 0; k < 4; k++) {
            assert_near(&surface[first[k] * 8 + second[k]], &want[k], 1, 2e-14);
            assert_near(&surface[second[k] * 8 + first[k]], &want[k], 1, 2e-14);
        }
    }
    tess_context_destroy(ctx);
}

static void expect_column(const double *got, const double *want, int64_t n, int64_t stride)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i * stride]));
    }
    for (int64_t i = 0; i < n; i++) {
        assert_near(&got[i * stride], &want[i * stride], 1, 1e-12 * largest);
    }
}

static void golden_values_agree(void **state)
{
    (void)state;
    enum { SETS = 3, ANGLES = 3, PAIRS = 66, N = 12 };
    tess_context *ctx = unit_context(1, 0);
    static const char *const names[] = {"theta", "q",  "phi", "contrast", "offset", "c2",
                                        "dc2",   "fs", "C_r", "C_s",      "C_v"};
    double *member[ARRAY_LEN(names)];
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        member[k] = golden_f64(ctx, VALUES, names[k], NULL);
    }
    int64_t *first = golden_i64(ctx, VALUES, "pair_i", NULL);
    int64_t *second = golden_i64(ctx, VALUES, "pair_j", NULL);
    double *dt = golden_f64(ctx, VALUES, "dt", NULL);
    for (int set = 0; set < SETS; set++) {
        double q[ANGLES], c2[ANGLES * PAIRS], jacobian[ANGLES * PAIRS * P];
        double fs[N], sums[3][N];
        tess_xpcs_model model = two_components(dt[set]);
        model.compat_eps = 1;
        for (int a = 0; a < ANGLES; a++) {
            q[a] = member[1][set];
        }
        const tess_xpcs_angles angles =
            angles_of(ANGLES, member[2] + ANGLES * set, q, member[3] + ANGLES * set,
                      member[4] + ANGLES * set);
        const double *theta = member[0] + P * set;
        assert_ok(tess_xpcs_model_pairs(ctx, &model, &angles, theta, N, first, second, PAIRS, c2,
                                        jacobian));
        assert_near(c2, member[5] + set * ANGLES * PAIRS, ANGLES * PAIRS, 2e-14);
        for (int k = 0; k < P; k++) {
            expect_column(jacobian + k, member[6] + set * ANGLES * PAIRS * P + k, ANGLES * PAIRS,
                          P);
        }
        tess_xpcs_grids grids = {.struct_size = sizeof grids,
                                 .fraction = fs,
                                 .reference_sum = sums[0],
                                 .sample_sum = sums[1],
                                 .velocity_sum = sums[2]};
        assert_ok(tess_xpcs_model_grids(ctx, &model, theta, N, &grids));
        assert_near(fs, member[7] + N * set, N, 1e-14);
        for (int k = 0; k < 3; k++) {
            expect_column(sums[k], member[8 + k] + N * set, N, 1);
        }
    }
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        free(member[k]);
    }
    free(first);
    free(second);
    free(dt);
    tess_context_destroy(ctx);
}

// Frame 0 is the one that a reader drops.
static tess_xpcs_data *golden_data(tess_context *ctx)
{
    return golden_fit_data(ctx, FIT);
}

static tess_xpcs_fit_config golden_config(void)
{
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    config.sigma = 0.004;
    config.has_sigma = 1;
    config.absolute_sigma = 1;
    return config;
}

// P_k, Q_k and R_k of an angle, then Sf and Sfy; size: sums of the magnitudes.
static void sum_up(int64_t n, const double *m, const double *y, const double *j, double w,
                   double *want, double *size)
{
    for (int64_t at = 0; at < n; at++) {
        want[3 * P] += w * m[at];
        want[3 * P + 1] += w * m[at] * y[at];
        for (int64_t k = 0; k < P; k++) {
            const double d = w * j[at * P + k];
            const double terms[3] = {d, d * m[at], d * y[at]};
            for (int64_t r = 0; r < 3; r++) {
                want[r * P + k] += terms[r];
                size[r * P + k] += fabs(terms[r]);
            }
        }
    }
}

// Sums of a pass against those of explicit derivatives.
static void sums_of_a_pass_are_those_of_the_derivatives(void **state)
{
    (void)state;
    enum { N = 60, ANGLES = 5, PAIRS = N * (N - 1) / 2 };
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_data *data = golden_data(ctx);
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    tess_xpcs_model model = two_components(0.1);
    double *theta = golden_f64(ctx, FIT, "start_theta", NULL);
    double *y = golden_f64(ctx, FIT, "y", NULL);
    int64_t *pair = malloc(2 * PAIRS * sizeof *pair);
    double *m = malloc((size_t)ANGLES * PAIRS * sizeof *m);
    double *j = malloc((size_t)ANGLES * PAIRS * P * sizeof *j);
    for (int64_t i = 0, at = 0; i < N; i++) {
        for (int64_t k = i + 1; k < N; k++, at++) {
            pair[at] = i;
            pair[PAIRS + at] = k;
        }
    }
    const tess_xpcs_angles angles = angles_of(ANGLES, info->phi, info->q, NULL, NULL);
    assert_ok(
        tess_xpcs_model_pairs(ctx, &model, &angles, theta, N, pair, pair + PAIRS, PAIRS, m, j));
    double s[6][ANGLES], p[3][ANGLES * P];
    tess_xpcs_sums sums = {.struct_size = sizeof sums,
                           .s1 = s[0],
                           .sf = s[1],
                           .sff = s[2],
                           .sy = s[3],
                           .syy = s[4],
                           .sfy = s[5],
                           .p = p[0],
                           .q = p[1],
                           .r = p[2]};
    const tess_xpcs_fit_config config = golden_config();
    const double w = 1 / (config.sigma * config.sigma);
    assert_ok(tess_xpcs_accumulate(ctx, data, &model, &config, theta, &sums));
    for (int a = 0; a < ANGLES; a++) {
        double want[3 * P + 2] = {0}, size[3 * P] = {0};
        sum_up(PAIRS, m + a * PAIRS, y + a * PAIRS, j + a * PAIRS * P, w, want, size);
        assert_near(&s[1][a], &want[3 * P], 1, 1e-11 * want[3 * P]);
        assert_near(&s[5][a], &want[3 * P + 1], 1, 1e-11 * want[3 * P + 1]);
        for (int k = 0; k < 3 * P; k++) {
            assert_near(&p[k / P][a * P + k % P], &want[k], 1, 1e-11 * size[k] + 1e-300);
        }
    }
    void *const owned[] = {theta, y, pair, m, j};
    for (size_t k = 0; k < ARRAY_LEN(owned); k++) {
        free(owned[k]);
    }
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values_of_case_d_agree),
        cmocka_unit_test(golden_values_agree),
        cmocka_unit_test(sums_of_a_pass_are_those_of_the_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

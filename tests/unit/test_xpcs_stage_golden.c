// The stages of xpcs on golden data: model values, derivatives, sums and simulated samples.
#include "xpcs_stage.h"

#include <stdio.h>

static const char *const kernel_names[] = {"upstream", "upstream_v1", "physical"};

// A problem at theta with the angles of a golden file; records hold nothing yet.
static xp_problem make_golden(tess_context *ctx, const char *file, const double *theta,
                              int64_t n_param, int32_t kernel, int32_t has_sigma)
{
    int64_t n_angle = 0;
    double *phi = golden_f64(ctx, file, "phi", &n_angle);
    const int64_t n_frame = (int64_t)golden_scalar(ctx, file, "n");
    xp_problem p = xp_make(ctx, n_angle, n_frame, theta, (int32_t)n_param, kernel, 8, has_sigma);
    p.dt = golden_scalar(ctx, file, "dt");
    for (int64_t a = 0; a < n_angle; a++) {
        p.phi[a] = phi[a];
        p.q[a] = golden_scalar(ctx, file, "q");
        p.gap = n_param == 7 ? golden_scalar(ctx, file, "L") : 0;
        xp_fill_angle(&p, a, n_param == 7 ? theta[6] : 0);
    }
    free(phi);
    return p;
}

// The grid as the file has it.
static void take_grid(tess_context *ctx, const char *file, xp_problem *p)
{
    static const char *const names[] = {"C_D", "dC_D", "C_G", "dC_G"};
    for (int k = 0; k < (p->n_param == 7 ? 4 : 2); k++) {
        int64_t n = 0;
        double *values = golden_f64(ctx, file, names[k], &n);
        memcpy(p->block + (k / 2 * 4 + k % 2) * p->n_frame, values, (size_t)n * sizeof *values);
        free(values);
    }
}

static void check_values(tess_context *ctx, const char *file, xp_problem *p, const char *member)
{
    int64_t n = 0;
    double *want = golden_f64(ctx, file, member, &n);
    double *contrast = golden_f64(ctx, file, "contrast", NULL);
    double *offset = golden_f64(ctx, file, "offset", NULL);
    double *got = malloc((size_t)n * sizeof *got);
    double *m = malloc((size_t)(p->n_frame * p->n_frame) * sizeof *m);
    int64_t at = 0;
    for (int64_t a = 0; a < p->n_angle; a++) {
        const tess_stage_xpcs_model stage = {.grid = &p->grid,
                                             .angle = &p->angles[a],
                                             .out = m,
                                             .n_frame = p->n_frame,
                                             .n_row = p->n_frame,
                                             .n_param = p->n_param,
                                             .power = p->power};
        xp_run(ctx, TESS_STAGE_XPCS_MODEL, &stage, sizeof stage);
        for (int64_t i = 0; i < p->n_frame; i++) {
            assert_true(m[i * p->n_frame + i] == 1);
            for (int64_t j = i + 1; j < p->n_frame; j++) {
                assert_true(m[i * p->n_frame + j] == m[j * p->n_frame + i]);
                got[at++] = offset[a] + contrast[a] * m[i * p->n_frame + j];
            }
        }
    }
    assert_int_equal(at, n);
    assert_near(got, want, n, 2e-14);
    free(want);
    free(contrast);
    free(offset);
    free(got);
    free(m);
}

// P_k of the one pair whose weight is not 0 is dM/dtheta_k.
static void check_derivatives(tess_context *ctx, const char *file, xp_problem *p,
                              const char *member)
{
    const int64_t n_param = p->n_param, n_angle_sum = 6 + 3 * n_param;
    int64_t n = 0, pair = 0;
    double *want = golden_f64(ctx, file, member, &n);
    double *contrast = golden_f64(ctx, file, "contrast", NULL);
    const int64_t n_pair = n / n_param / p->n_angle;
    double *got = malloc((size_t)n * sizeof *got);
    double sums[2048];
    tess_stage_xpcs_pass stage = {.n_set = 1,
                                  .tiles = &p->tiles,
                                  .grid = &p->grid,
                                  .angles = p->angles,
                                  .records = p->records,
                                  .sums = sums,
                                  .n_sum =
                                      p->n_angle * n_angle_sum + n_param * (n_param + 1) / 2 + 1,
                                  .n_leaf = 1,
                                  .n_param = p->n_param,
                                  .power = p->power,
                                  .want = TESS_XP_WANT_GRADIENT};
    for (int64_t k = 0; k < p->tiles.n_tile; k++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&p->tiles, k);
        stage.first_leaf = k / TESS_STAGE_XPCS_LEAF;
        stage.records = p->records + tess_xp_tiles_leaf_offset(&p->tiles, stage.first_leaf);
        for (int64_t c = 0; c < tile.n_column; c++, pair++) {
            for (int64_t a = 0; a < p->n_angle; a++) {
                *xp_sd(p, &tile, a, c) = 1;
            }
            xp_run(ctx, TESS_STAGE_XPCS_PASS, &stage, sizeof stage);
            for (int64_t a = 0; a < p->n_angle; a++) {
                *xp_sd(p, &tile, a, c) = 0;
                for (int64_t m = 0; m < n_param; m++) {
                    got[(a * n_pair + pair) * n_param + m] =
                        contrast[a] * sums[a * n_angle_sum + 6 + m];
                }
            }
        }
    }
    for (int64_t m = 0; m < n_param; m++) {
        double most = 0, worst = 0;
        for (int64_t k = m; k < n; k += n_param) {
            most = fmax(most, fabs(want[k]));
            worst = fmax(worst, fabs(want[k] - got[k]));
        }
        if (!(worst <= 1e-12 * most)) {
            fail_msg("%s, %s: derivative %lld is off by %.3g of its maximum", file, member,
                     (long long)m, worst / most);
        }
    }
    free(want);
    free(contrast);
    free(got);
}

static void golden_model(void **state)
{
    (void)state;
    static const char *const files[] = {"static_typical", "static_floor", "laminar_typical",
                                        "laminar_floor", "laminar_strong"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        char file[64], member[32];
        int64_t n_param = 0;
        snprintf(file, sizeof file, "xpcs/model_%s", files[k]);
        double *theta = golden_f64(ctx, file, "theta", &n_param);
        for (int32_t kernel = 0; kernel < (n_param == 7 ? 3 : 1); kernel++) {
            xp_problem p = make_golden(ctx, file, theta, n_param, kernel, 1);
            take_grid(ctx, file, &p);
            snprintf(member, sizeof member, n_param == 7 ? "c2_%s" : "c2", kernel_names[kernel]);
            check_values(ctx, file, &p, member);
            snprintf(member, sizeof member, n_param == 7 ? "dc2_%s" : "dc2", kernel_names[kernel]);
            check_derivatives(ctx, file, &p, member);
            if (n_param == 7 && kernel == 0) {
                p.grid.eps_abs = 1e-12;
                check_values(ctx, file, &p, "c2_upstream_eps");
            }
            xp_drop(ctx, &p);
        }
        free(theta);
    }
    tess_context_destroy(ctx);
}

static void put_packed(xp_problem *p, const double *y)
{
    const int64_t n_pair = p->n_frame * (p->n_frame - 1) / 2;
    int64_t pair = 0;
    for (int64_t k = 0; k < p->tiles.n_tile; k++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&p->tiles, k);
        for (int64_t c = 0; c < tile.n_column; c++, pair++) {
            for (int64_t a = 0; a < p->n_angle; a++) {
                xp_put(p, &tile, a, c, y[a * n_pair + pair]);
            }
        }
    }
    xp_finish_records(p);
}

// Kaufman's Hessian: what contrast and offset can explain is taken off.
static void reduced_hessian(const double *sums, int64_t n_angle, int64_t n, const double *contrast,
                            double weight, double *out)
{
    const double *h = sums + n_angle * (6 + 3 * n);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t l = k; l < n; l++) {
            long double value = *h++;
            for (int64_t a = 0; a < n_angle; a++) {
                const double *s = sums + a * (6 + 3 * n);
                const long double det = (long double)s[2] * s[0] - (long double)s[1] * s[1];
                const double *p = s + 6, *q = p + n;
                const long double x = ((long double)s[2] * p[l] - (long double)s[1] * q[l]) / det;
                const long double z = ((long double)s[0] * q[l] - (long double)s[1] * p[l]) / det;
                value -= (long double)contrast[a] * contrast[a] * (p[k] * x + q[k] * z);
            }
            out[k * n + l] = out[l * n + k] = (double)(value * weight);
        }
    }
}

static void check_sums(tess_context *ctx, const char *file, const char *prefix, const double *y,
                       double weight)
{
    static const char *const names[] = {"S1", "Sf", "Sff", "Sy", "Syy", "Sfy", "Pk", "Qk", "Rk"};
    char member[64];
    int64_t n = 0;
    snprintf(member, sizeof member, "%s_theta", prefix);
    double *theta = golden_f64(ctx, "xpcs/accumulators", member, &n);
    snprintf(member, sizeof member, "%s_contrast", prefix);
    double *contrast = golden_f64(ctx, "xpcs/accumulators", member, NULL);
    xp_problem p = make_golden(ctx, file, theta, n, TESS_XPCS_KERNEL_UPSTREAM, 0);
    put_packed(&p, y);
    for (int64_t a = 0; a < p.n_angle; a++) {
        p.angles[a].weight = contrast[a] * contrast[a];
    }
    double sums[1024] = {0}, leaves[1024 * 8];
    tess_stage_xpcs_pass stage = {.n_set = 1,
                                  .tiles = &p.tiles,
                                  .grid = &p.grid,
                                  .angles = p.angles,
                                  .records = p.records,
                                  .sums = leaves,
                                  .n_sum = p.n_angle * (6 + 3 * n) + n * (n + 1) / 2 + 1,
                                  .n_leaf = tess_xp_tiles_n_leaf(&p.tiles),
                                  .n_param = p.n_param,
                                  .power = p.power,
                                  .want = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN};
    assert_true(stage.n_leaf <= 8 && stage.n_sum <= 1024);
    xp_run(ctx, TESS_STAGE_XPCS_PASS, &stage, sizeof stage);
    for (int64_t k = 0; k < stage.n_leaf * stage.n_sum; k++) {
        sums[k % stage.n_sum] += leaves[k];
    }
    for (int k = 0; k < 9; k++) {
        snprintf(member, sizeof member, "%s_%s", prefix, names[k]);
        double *want = golden_f64(ctx, "xpcs/accumulators", member, NULL);
        const int64_t width = k < 6 ? 1 : n;
        for (int64_t i = 0; i < p.n_angle * width; i++) {
            const int64_t at = k < 6 ? k : 6 + (k - 6) * n + i % width;
            const double got = weight * sums[i / width * (6 + 3 * n) + at];
            if (!(fabs(got - want[i]) <= 1e-12 * fabs(want[i]))) {
                fail_msg("%s[%lld]: got %.17g, want %.17g", member, (long long)i, got, want[i]);
            }
        }
        free(want);
    }
    double hessian[49];
    snprintf(member, sizeof member, "%s_hessian", prefix);
    double *want = golden_f64(ctx, "xpcs/accumulators", member, NULL);
    reduced_hessian(sums, p.n_angle, n, contrast, weight, hessian);
    for (int64_t k = 0; k < n * n; k++) {
        const double size = sqrt(want[k / n * (n + 1)] * want[k % n * (n + 1)]);
        assert_true(fabs(hessian[k] - want[k]) <= 1e-11 * size);
    }
    free(want);
    free(theta);
    free(contrast);
    xp_drop(ctx, &p);
}

static void golden_sums(void **state)
{
    (void)state;
    static const char *const models[] = {"laminar", "static"};
    static const char *const points[] = {"start", "truth", "optimum"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(models); k++) {
        char file[64], prefix[64];
        snprintf(file, sizeof file, "xpcs/fit_%s", models[k]);
        double *y = golden_f64(ctx, file, "y", NULL);
        const double sigma = golden_scalar(ctx, file, "sigma");
        for (size_t m = 0; m < ARRAY_LEN(points); m++) {
            snprintf(prefix, sizeof prefix, "%s_%s", models[k], points[m]);
            check_sums(ctx, file, prefix, y, 1 / (sigma * sigma));
        }
        free(y);
    }
    tess_context_destroy(ctx);
}

static void golden_samples(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/fit_laminar", "xpcs/fit_static"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        int64_t n_param = 0, n = 0, pair = 0;
        double *theta = golden_f64(ctx, files[k], "truth_theta", &n_param);
        double *contrast = golden_f64(ctx, files[k], "truth_contrast", NULL);
        double *offset = golden_f64(ctx, files[k], "truth_offset", NULL);
        double *y = golden_f64(ctx, files[k], "y", &n);
        xp_problem p = make_golden(ctx, files[k], theta, n_param, TESS_XPCS_KERNEL_UPSTREAM, 0);
        for (int64_t a = 0; a < p.n_angle; a++) {
            p.angles[a].contrast = contrast[a];
            p.angles[a].offset = offset[a];
        }
        const tess_stage_xpcs_simulate stage = {
            .tiles = &p.tiles,
            .grid = &p.grid,
            .angles = p.angles,
            .records = p.records,
            .n_leaf = tess_xp_tiles_n_leaf(&p.tiles),
            .seed = (uint64_t)golden_scalar(ctx, files[k], "seed"),
            .sigma = golden_scalar(ctx, files[k], "sigma"),
            .n_param = p.n_param,
            .power = p.power,
        };
        xp_run(ctx, TESS_STAGE_XPCS_SIMULATE, &stage, sizeof stage);
        double *got = malloc((size_t)n * sizeof *got);
        for (int64_t t = 0; t < p.tiles.n_tile; t++) {
            const tess_xp_tile tile = tess_xp_tiles_at(&p.tiles, t);
            for (int64_t c = 0; c < tile.n_column; c++, pair++) {
                for (int64_t a = 0; a < p.n_angle; a++) {
                    got[a * (n / p.n_angle) + pair] = xp_get(&p, &tile, a, c);
                }
            }
        }
        assert_near(got, y, n, 1e-14);
        free(got);
        free(theta);
        free(contrast);
        free(offset);
        free(y);
        xp_drop(ctx, &p);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_model),
        cmocka_unit_test(golden_sums),
        cmocka_unit_test(golden_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

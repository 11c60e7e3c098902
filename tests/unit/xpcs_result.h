// A result made by hand, and data that it fits: for the tests of files and pages.
#ifndef TESS_TESTS_XPCS_RESULT_H
#define TESS_TESTS_XPCS_RESULT_H

#include "tessera/xpcs.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HAND_PARAM = 7, HAND_MAX_ANGLE = 128, HAND_TRACE = 6, HAND_BASIN = 2, HAND_BOOTSTRAP = 3 };

typedef struct hand_result {
    tess_xpcs_result_info info;
    tess_xpcs_model model;
    tess_xpcs_data *data;
    double *c2; // [n_angle][n_frame][n_frame] as given to the data
    const char *names[HAND_PARAM];
    double theta[HAND_PARAM], sd[HAND_PARAM], start[HAND_PARAM], lower[HAND_PARAM],
        upper[HAND_PARAM], bootstrap_sd[HAND_PARAM], interval_lower[HAND_PARAM],
        interval_upper[HAND_PARAM];
    int32_t status[HAND_PARAM], interval_kind[HAND_PARAM];
    double phi[HAND_MAX_ANGLE], q[HAND_MAX_ANGLE], contrast[HAND_MAX_ANGLE], offset[HAND_MAX_ANGLE],
        scaling_sd[HAND_MAX_ANGLE], sigma[HAND_MAX_ANGLE], chi2[HAND_MAX_ANGLE];
    int32_t scaling_status[HAND_MAX_ANGLE];
    int64_t n_used[HAND_MAX_ANGLE];
    double *covariance, *correlation;
    tess_xpcs_trace trace[HAND_TRACE];
    tess_xpcs_basin basins[HAND_BASIN];
    double bootstrap[HAND_BOOTSTRAP * HAND_PARAM];
} hand_result;

static inline double hand_noise(uint64_t *state)
{
    double sum = 0; // near enough to normal
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum - 6;
}

static inline void hand_matrices(hand_result *r, uint64_t n_angle, uint64_t n)
{
    const size_t n_item = (size_t)(r->info.n_covariance * r->info.n_covariance);
    r->covariance = calloc(n_item, sizeof(double));
    r->correlation = calloc(n_item, sizeof(double));
    for (int64_t i = 0; i < r->info.n_covariance; i++) {
        for (int64_t j = 0; j < r->info.n_covariance; j++) {
            const double rho = pow(-0.7, (double)llabs(i - j));
            r->correlation[i * r->info.n_covariance + j] = rho;
            r->covariance[i * r->info.n_covariance + j] = rho * 1e-4;
        }
    }
    r->c2 = malloc(n_angle * n * n * sizeof(double));
}

static inline void hand_lists(hand_result *r)
{
    static const double theta[HAND_PARAM] = {20000, -1.1, 400, 0.004, -0.2, -0.0003, 2.0};
    int64_t n = 0;
    const tess_xpcs_param_info *known = tess_xpcs_params(TESS_XPCS_LAMINAR_FLOW, &n);
    assert_int_equal(n, HAND_PARAM);
    for (int k = 0; k < HAND_PARAM; k++) {
        r->names[k] = known[k].name;
        r->theta[k] = theta[k];
        r->sd[k] = fabs(theta[k]) * 0.013;
        r->start[k] = known[k].start;
        r->lower[k] = known[k].lower;
        r->upper[k] = known[k].upper;
        r->bootstrap_sd[k] = r->sd[k] * 1.7;
        r->interval_lower[k] = theta[k] - 2 * r->sd[k];
        r->interval_upper[k] = theta[k] + 3 * r->sd[k];
        for (int b = 0; b < HAND_BOOTSTRAP; b++) {
            r->bootstrap[b * HAND_PARAM + k] = theta[k] * (1 + 0.01 * b);
        }
        r->basins[0].theta[k] = theta[k];
        r->basins[1].theta[k] = 2 * theta[k];
    }
    r->status[6] = TESS_XPCS_AT_UPPER;
    r->interval_upper[6] = theta[6];
    r->interval_kind[6] = TESS_XPCS_INTERVAL_PROFILE;
    r->basins[0].n_start = 9;
    r->basins[0].cost = 123.25;
    r->basins[1].n_start = 3;
    r->basins[1].cost = 456.5;
    for (int i = 0; i < HAND_TRACE; i++) {
        r->trace[i] = (tess_xpcs_trace){.iteration = i,
                                        .cost = 1000 * pow(0.1, i) + 123.25,
                                        .gradient_norm = pow(0.05, i),
                                        .step_norm = pow(0.3, i),
                                        .radius = 1 + i,
                                        .is_accepted = i != 3};
    }
}

// Times, texts and errors of resampling.
static inline void hand_story(hand_result *r)
{
    const double seconds[5] = {0.125, 1.5, 0.25, 0, 2};
    memcpy(r->info.seconds, seconds, sizeof seconds);
    r->info.points_per_s = 1e8;
    r->info.peak_bytes = 77 << 20;
    r->info.seed = 42;
    r->info.message = "The cost no longer falls (ftol).";
    r->info.warnings = "phi0 is at its upper bound.\nalpha & D0 are <strongly> correlated.";
    r->info.recovery = "";
    r->info.device = "cpu";
    r->info.data_path = "/secret/folder/run<script>07.h5";
    r->info.data_fingerprint = "00112233445566778899aabbccddeeff";
    r->info.config_hash = "c0ffee";
    r->info.identity = "0123456789abcdef0123456789abcdef";
    r->info.tessera_version = "1.2.3";
    r->info.bootstrap_sd = r->bootstrap_sd;
    r->info.bootstrap = r->bootstrap;
    r->info.n_bootstrap = HAND_BOOTSTRAP;
}

static inline void hand_info(hand_result *r, int64_t n_angle, int64_t n_frame)
{
    r->info = (tess_xpcs_result_info){.struct_size = sizeof r->info,
                                      .mode = TESS_XPCS_LAMINAR_FLOW,
                                      .kernel = TESS_XPCS_KERNEL_UPSTREAM,
                                      .scaling = TESS_XPCS_SCALING_INDIVIDUAL,
                                      .sigma_mode = TESS_XPCS_SIGMA_ESTIMATE,
                                      .convergence = TESS_XPCS_CONVERGED,
                                      .termination = 2,
                                      .quality = TESS_XPCS_MARGINAL,
                                      .n_param = HAND_PARAM,
                                      .n_angle = n_angle,
                                      .n_frame = n_frame,
                                      .n_free = 2 * n_angle + HAND_PARAM,
                                      .names = r->names,
                                      .theta = r->theta,
                                      .sd = r->sd,
                                      .status = r->status,
                                      .contrast = r->contrast,
                                      .contrast_sd = r->scaling_sd,
                                      .contrast_status = r->scaling_status,
                                      .offset = r->offset,
                                      .offset_sd = r->scaling_sd,
                                      .offset_status = r->scaling_status,
                                      .n_covariance = 2 * n_angle + HAND_PARAM,
                                      .start = r->start,
                                      .lower = r->lower,
                                      .upper = r->upper,
                                      .phi = r->phi,
                                      .q = r->q,
                                      .sigma = r->sigma,
                                      .dt_s = 0.1,
                                      .gap_angstrom = 2e6,
                                      .cost = 123.25,
                                      .chi2 = 246.5,
                                      .reduced_chi2 = 1.625,
                                      .aic = 10.5,
                                      .bic = 20.25,
                                      .gradient_norm = 1e-9,
                                      .condition = 3e5,
                                      .dof = n_angle * n_frame * (n_frame - 1) / 2 - 13,
                                      .n_used = n_angle * n_frame * (n_frame - 1) / 2,
                                      .n_masked = 5,
                                      .n_point = n_angle * n_frame * n_frame,
                                      .n_used_angle = r->n_used,
                                      .reduced_chi2_angle = r->chi2,
                                      .n_iteration = 5,
                                      .nfev = 6,
                                      .n_pass = 8,
                                      .n_trace = HAND_TRACE,
                                      .trace = r->trace,
                                      .n_basin = HAND_BASIN,
                                      .basins = r->basins,
                                      .interval_lower = r->interval_lower,
                                      .interval_upper = r->interval_upper,
                                      .interval_kind = r->interval_kind};
    hand_story(r);
}

// Deviation of point (i, j) where they are given.
static inline double hand_sigma(int64_t i, int64_t j)
{
    return 0.01 * (1 + 0.5 * (double)(llabs(i - j) % 3));
}

// The matrices with a frame ahead that is dropped.
static inline void hand_data(tess_context *ctx, int64_t n_angle, int64_t n, tess_dtype dtype,
                             int has_sigma, hand_result *r)
{
    const int64_t shape[3] = {n_angle, n + 1, n + 1};
    const int64_t n_item = n_angle * (n + 1) * (n + 1);
    double *wide = malloc((size_t)n_item * sizeof *wide);
    float *single = malloc((size_t)n_item * sizeof *single);
    double *sigma = malloc((size_t)n_item * sizeof *sigma);
    for (int64_t k = 0; k < n_item; k++) {
        const int64_t a = k / ((n + 1) * (n + 1));
        const int64_t i = k / (n + 1) % (n + 1) - 1;
        const int64_t j = k % (n + 1) - 1;
        wide[k] = i < 0 || j < 0 ? 9 : r->c2[(a * n + i) * n + j];
        single[k] = (float)wide[k];
        sigma[k] = hand_sigma(i, j);
    }
    tess_xpcs_data_config config;
    tess_array array;
    tess_array deviations;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.dt_s = r->info.dt_s;
    config.gap_angstrom = r->info.gap_angstrom;
    assert_ok(tess_array_init(&array, dtype == TESS_F32 ? (void *)single : (void *)wide, dtype, 3,
                              shape));
    assert_ok(tess_array_init(&deviations, sigma, TESS_F64, 3, shape));
    assert_ok(tess_xpcs_data_from_array(ctx, &array, r->phi, r->q, has_sigma ? &deviations : NULL,
                                        &config, &r->data));
    assert_int_equal(tess_xpcs_data_get_info(r->data)->n_frame, n);
    free(wide);
    free(single);
    free(sigma);
}

// Laminar flow at angles 15 degrees apart, sigma 0.01; point (2, 5) of angle 0 is missing.
static inline void hand_make(tess_context *ctx, int64_t n_angle, int64_t n_frame, tess_dtype dtype,
                             hand_result *r)
{
    memset(r, 0, sizeof *r);
    hand_lists(r);
    hand_info(r, n_angle, n_frame);
    for (int64_t a = 0; a < n_angle; a++) {
        r->phi[a] = -20 + 15 * (double)a;
        r->q[a] = 0.0054;
        r->contrast[a] = 0.3 - 0.002 * (double)a;
        r->offset[a] = 1.05 + 0.001 * (double)a;
        r->scaling_sd[a] = 0.0007;
        r->sigma[a] = 0.01;
        r->chi2[a] = 1 + 0.01 * (double)a;
        r->n_used[a] = n_frame * (n_frame - 1) / 2;
    }
    hand_matrices(r, (uint64_t)n_angle, (uint64_t)n_frame);
    r->info.covariance = r->covariance;
    r->info.correlation = r->correlation;
    tess_xpcs_model_init(&r->model, sizeof r->model);
    r->model.dt_s = r->info.dt_s;
    r->model.gap_angstrom = r->info.gap_angstrom;
    const tess_xpcs_angles angles = {.struct_size = sizeof angles,
                                     .n_angle = n_angle,
                                     .phi = r->phi,
                                     .q = r->q,
                                     .contrast = r->contrast,
                                     .offset = r->offset};
    assert_ok(tess_xpcs_model_surface(ctx, &r->model, &angles, r->theta, n_frame, r->c2));
    uint64_t state = 7;
    for (int64_t a = 0; a < n_angle; a++) {
        double *c2 = r->c2 + a * n_frame * n_frame;
        for (int64_t i = 0; i < n_frame; i++) {
            for (int64_t j = i + 1; j < n_frame; j++) {
                c2[i * n_frame + j] += 0.01 * hand_noise(&state);
                c2[j * n_frame + i] = c2[i * n_frame + j];
            }
        }
    }
    if (n_frame > 5) {
        r->c2[2 * n_frame + 5] = r->c2[5 * n_frame + 2] = (double)NAN;
    }
    hand_data(ctx, n_angle, n_frame, dtype, 0, r);
}

static inline void hand_free(hand_result *r)
{
    tess_xpcs_data_destroy(r->data);
    free(r->c2);
    free(r->covariance);
    free(r->correlation);
}

#endif

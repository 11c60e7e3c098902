// Simulation-based calibration: where parameters are drawn from the prior and data from them, the
// truth is one draw of the posterior more, and its rank among the draws is uniform.
#include "unit_golden.h"

#include "base/rng.h"
#include "tessera/xpcs/posterior.h"
#include "tessera/xpcs/simulate.h"

#include <math.h>
#include <stdlib.h>

enum { N_ANGLE = 2, N_PARAM = 3, N_TOLD = N_PARAM + 3, N_BIN = 4, THIN = 5, N_DRAW = 315 };

// Wide enough to matter, narrow enough to be far from all bounds.
static const double MEAN[N_PARAM] = {3000, -0.3, 100};
static const double SD[N_PARAM] = {300, 0.1, 50};
static const double CONTRAST[2] = {0.3, 0.03};
static const double OFFSET[2] = {1, 0.02};
static const double NOISE = 0.01;

typedef struct truth {
    double theta[N_PARAM];
    double noise;
    double contrast[N_ANGLE];
    double offset[N_ANGLE];
} truth;

static truth draw_truth(uint32_t number)
{
    const tess_philox_stream stream = tess_philox_open(99, number, 1);
    double z[10];
    truth t;
    tess_philox_normals(&stream, 0, 10, z);
    for (int k = 0; k < N_PARAM; k++) {
        t.theta[k] = MEAN[k] + SD[k] * z[k];
    }
    t.noise = 1.5 * NOISE * fabs(z[3]);
    for (int a = 0; a < N_ANGLE; a++) {
        t.contrast[a] = CONTRAST[0] + CONTRAST[1] * z[4 + a];
        t.offset[a] = OFFSET[0] + OFFSET[1] * z[6 + a];
    }
    return t;
}

static tess_xpcs_posterior *sample(tess_context *ctx, const truth *t, uint32_t number,
                                   tess_xpcs_mode mode)
{
    tess_xpcs_simulation simulation;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    tess_xpcs_data *data = NULL;
    tess_xpcs_result *fit = NULL;
    tess_xpcs_posterior *out = NULL;
    tess_xpcs_simulation_init(&simulation, sizeof simulation);
    simulation.dtype = 1;
    simulation.n_angle = N_ANGLE;
    simulation.n_frame = 24;
    simulation.q = 0.02;
    simulation.seed = number;
    simulation.sigma = t->noise;
    simulation.theta = t->theta;
    simulation.contrasts = t->contrast;
    simulation.offsets = t->offset;
    simulation.model.mode = (int32_t)mode;
    assert_ok(tess_xpcs_simulate(ctx, &simulation, 1, &data));
    tess_xpcs_fit_config_init(&fit_config, sizeof fit_config);
    fit_config.n_start = 1;
    fit_config.start = MEAN;
    assert_ok(tess_xpcs_fit(ctx, data, &simulation.model, &fit_config, &fit));
    tess_xpcs_sample_config_init(&config, sizeof config);
    config.n_chain = 1;
    config.n_warmup = 200;
    config.n_draw = N_DRAW;
    config.seed = number;
    config.noise_scale = NOISE;
    config.scaling = TESS_XPCS_DRAW_SCALING_INDIVIDUAL; // as the truth has it, whatever the fit
    config.prior_mean = MEAN;
    config.prior_sd = SD;
    for (int k = 0; k < 2; k++) {
        config.contrast_prior[k] = CONTRAST[k];
        config.offset_prior[k] = OFFSET[k];
    }
    assert_ok(tess_xpcs_sample(ctx, data, &simulation.model, fit, &fit_config, &config, &out));
    tess_xpcs_result_destroy(fit);
    tess_xpcs_data_destroy(data);
    return out;
}

// Draws below the truth, of every THINth.
static void rank(const tess_xpcs_posterior_info *info, const truth *t, int64_t ranks[N_TOLD])
{
    for (int64_t i = THIN - 1; i < N_DRAW; i += THIN) {
        for (int k = 0; k < N_PARAM; k++) {
            ranks[k] += info->theta[i * N_PARAM + k] < t->theta[k];
        }
        ranks[N_PARAM] += info->noise[i] < t->noise;
        ranks[N_PARAM + 1] += info->contrast[i * N_ANGLE] < t->contrast[0];
        ranks[N_PARAM + 2] += info->offset[i * N_ANGLE + 1] < t->offset[1];
    }
}

static void ranks_are_uniform(void **state)
{
    (void)state;
    const uint32_t n = unit_is_quick() ? 20 : 40; // ./dev sweep xpcs sbc has 500 of each model
    int64_t bins[N_TOLD][N_BIN] = {{0}};
    tess_context *ctx = unit_context(1, 0);
    for (uint32_t i = 0; i < n; i++) {
        const truth t = draw_truth(i);
        int64_t ranks[N_TOLD] = {0};
        tess_xpcs_posterior *p = sample(ctx, &t, i, TESS_XPCS_STATIC_ANISOTROPIC);
        rank(tess_xpcs_posterior_get_info(p), &t, ranks);
        tess_xpcs_posterior_destroy(p);
        for (int k = 0; k < N_TOLD; k++) { // 63 draws: ranks 0 to 63
            bins[k][ranks[k] * N_BIN / (N_DRAW / THIN + 1)]++;
        }
    }
    const double want = (double)n / N_BIN;
    for (int k = 0; k < N_TOLD; k++) {
        double chi2 = 0;
        for (int b = 0; b < N_BIN; b++) {
            chi2 += ((double)bins[k][b] - want) * ((double)bins[k][b] - want) / want;
        }
        print_message("%d: %lld %lld %lld %lld, chi2 %.2f\n", k, (long long)bins[k][0],
                      (long long)bins[k][1], (long long)bins[k][2], (long long)bins[k][3], chi2);
        assert_true(chi2 < 15.18); // p > 0.01 / 6 of three degrees of freedom: once in 100 seeds
    }
    tess_context_destroy(ctx);
}

// One contrast for angles that have two makes a fit that ends at bounds, hundreds of standard
// deviations away: draws come from where priors and data are all the same.
static void priors_move_a_bad_fit(void **state)
{
    (void)state;
    static const truth cases[2] = {
        {{3172, -0.1724, 192}, 0.0092, {0.2656, 0.2911}, {1.0145, 1.0324}},
        {{3286, -0.2506, 52.6}, 0.0311, {0.243, 0.2894}, {1.0388, 1.004}}};
    tess_context *ctx = unit_context(1, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const truth *t = &cases[i];
        tess_xpcs_posterior *p = sample(ctx, t, 2 + 3 * i, TESS_XPCS_STATIC_ISOTROPIC);
        const tess_xpcs_posterior_info *info = tess_xpcs_posterior_get_info(p);
        double noise = 0;
        double theta[N_PARAM] = {0};
        for (int64_t n = 0; n < N_DRAW; n++) {
            noise += info->noise[n] / N_DRAW;
            for (int k = 0; k < N_PARAM; k++) {
                theta[k] += info->theta[n * N_PARAM + k] / N_DRAW;
            }
        }
        print_message("fit %g %g %g, mean %g %g %g, noise %g, %lld evaluations\n",
                      info->fit_theta[0], info->fit_theta[1], info->fit_theta[2], theta[0],
                      theta[1], theta[2], noise, (long long)info->n_evaluation);
        assert_true(fabs(info->fit_theta[2]) > 20 * SD[2]);
        assert_near(&noise, &t->noise, 1, 0.2 * t->noise); // 506 points: 5 of its deviations
        for (int k = 0; k < N_PARAM; k++) {
            assert_true(fabs(theta[k] - t->theta[k]) < 5 * SD[k]);
        }
        tess_xpcs_posterior_destroy(p);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_are_uniform),
                                       cmocka_unit_test(priors_move_a_bad_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

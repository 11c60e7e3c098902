// A posterior of two hills whose weights are known.
//
// With angles of 0 and 90 degrees only the squares of cos and sin of phi0 count: the likelihood is
// the same at phi0 and -phi0, and the prior alone says how much each weighs.
#include "unit_golden.h"

#include "tessera/xpcs/posterior.h"
#include "tessera/xpcs/simulate.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHI0 = 6 };

static void check_weights(const tess_xpcs_posterior_info *info)
{
    const int64_t n = info->n_chain * info->n_draw;
    // By quadrature over |phi0|, whose distribution the draws have: p(-x) / p(x) = exp(-2 x m /
    // s^2).
    double want = 0;
    double got = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = info->theta[i * 7 + PHI0];
        want += 1 / (1 + exp(2 * fabs(x) * 2 / 25)) / (double)n;
        got += (x < 0) / (double)n;
    }
    print_message("%lld hills, %g of the draws below 0, %g is true; %s", (long long)info->n_mode,
                  got, want, info->warnings);
    for (int64_t k = 0; k < info->n_mode; k++) {
        print_message("  phi0 %.3f weighs %.3f, evidence %.3f\n", info->mode_theta[k * 7 + PHI0],
                      info->mode_weight[k], info->mode_evidence[k]);
    }
    assert_int_equal(info->n_mode, 2);
    assert_near(&got, &want, 1, 0.025);
    const double least = fmin(info->mode_weight[0], info->mode_weight[1]);
    assert_near(&least, &want, 1, 0.03);
}

typedef struct stopper {
    tess_context *ctx;
    useconds_t after_us;
} stopper;

static void *stop_soon(void *arg)
{
    const stopper *s = arg;
    usleep(s->after_us);
    tess_context_cancel(s->ctx);
    return NULL;
}

// Stopped again and again wherever that is, be it while chains wait to hear whether they may jump.
static void check_resume(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                         const tess_xpcs_result *fit, const tess_xpcs_fit_config *fit_config,
                         tess_xpcs_sample_config *config, const tess_xpcs_posterior_info *whole)
{
    char folder[] = "/tmp/tessera-hillsXXXXXX";
    tess_xpcs_posterior *parts = NULL;
    tess_status status = TESS_CANCELLED;
    stopper s = {ctx, 40 * 1000};
    assert_non_null(mkdtemp(folder));
    config->checkpoint_dir = folder;
    config->resume = 1;
    for (; status == TESS_CANCELLED; s.after_us += s.after_us / 16) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &s), 0);
        status = tess_xpcs_sample(ctx, data, model, fit, fit_config, config, &parts);
        assert_int_equal(pthread_join(thread, NULL), 0);
        tess_context_cancel_clear(ctx);
    }
    assert_ok(status);
    assert_memory_equal(tess_xpcs_posterior_get_info(parts)->theta, whole->theta,
                        (size_t)(whole->n_chain * whole->n_draw * whole->n_param) * sizeof(double));
    tess_xpcs_posterior_destroy(parts);
}

static void hills_have_their_weights(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation simulation;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    tess_xpcs_data *data = NULL;
    tess_xpcs_result *fit = NULL;
    tess_xpcs_posterior *out = NULL;
    static const double phi[2] = {0, 90};
    static const double theta[7] = {3e3, -0.3, 50, 4e-3, -0.1, 1e-4, 8};
    static const uint8_t is_fixed[7] = {1, 1, 1, 0, 1, 1, 0};
    const double none = (double)NAN;
    const double prior_mean[7] = {none, none, none, none, none, none, 2};
    const double prior_sd[7] = {none, none, none, none, none, none, 5};
    tess_xpcs_simulation_init(&simulation, sizeof simulation);
    simulation.n_angle = 2;
    simulation.n_frame = 40;
    simulation.phi = phi;
    simulation.theta = theta;
    simulation.q = 0.01;
    simulation.contrast = 0.3;
    simulation.model.mode = TESS_XPCS_LAMINAR_FLOW;
    assert_ok(tess_xpcs_simulate(ctx, &simulation, 1, &data));
    tess_xpcs_fit_config_init(&fit_config, sizeof fit_config);
    fit_config.is_fixed = is_fixed; // what two angles tell apart
    fit_config.start = theta;
    assert_ok(tess_xpcs_fit(ctx, data, &simulation.model, &fit_config, &fit));
    assert_int_equal(tess_xpcs_result_get_info(fit)->n_basin, 2);
    tess_xpcs_sample_config_init(&config, sizeof config);
    config.prior_mean = prior_mean;
    config.prior_sd = prior_sd;
    config.n_warmup = 300;
    config.n_draw = 1000;
    assert_ok(tess_xpcs_sample(ctx, data, &simulation.model, fit, &fit_config, &config, &out));
    check_weights(tess_xpcs_posterior_get_info(out));
    check_resume(ctx, data, &simulation.model, fit, &fit_config, &config,
                 tess_xpcs_posterior_get_info(out));
    tess_xpcs_posterior_destroy(out);
    tess_xpcs_result_destroy(fit);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hills_have_their_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

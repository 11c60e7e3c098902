// Joint fits: unknowns and their slopes, a finished fit that is kept, files, what is refused.
#include "unit.h"

#include "systems/xpcs/joint/layout.h"
#include "tessera/xpcs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 3, P = 3 };

static const double q_of[M] = {0.004, 0.006, 0.009};

typedef struct setup {
    tess_context *ctx;
    tess_xpcs_data *members[M];
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
    tess_xpcs_joint_config joint;
} setup;

static const int32_t power[P] = {TESS_XPCS_TIE_POWER, TESS_XPCS_TIE_SHARED, TESS_XPCS_TIE_EACH};

static setup open_setup(void)
{
    setup s = {.ctx = unit_context(2, 0)};
    tess_xpcs_model_init(&s.model, sizeof s.model);
    s.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    s.model.dt_s = 0.1;
    for (int m = 0; m < M; m++) {
        const double theta[P] = {1e4 * pow(q_of[m] / 0.006, 0.3), -0.5, 300};
        tess_xpcs_simulation simulation;
        tess_xpcs_simulation_init(&simulation, sizeof simulation);
        simulation.model = s.model;
        simulation.theta = theta;
        simulation.n_angle = 2;
        simulation.n_frame = 30;
        simulation.q = q_of[m];
        simulation.sigma = 0.01;
        simulation.seed = m;
        assert_ok(tess_xpcs_simulate(s.ctx, &simulation, 1, &s.members[m]));
    }
    tess_xpcs_fit_config_init(&s.config, sizeof s.config);
    s.config.sigma = 0.01;
    s.config.n_start = 1;
    tess_xpcs_joint_config_init(&s.joint, sizeof s.joint);
    s.joint.ties = power;
    return s;
}

static void close_setup(setup *s)
{
    for (int m = 0; m < M; m++) {
        tess_xpcs_data_destroy(s->members[m]);
    }
    tess_context_destroy(s->ctx);
}

static tess_status fit(const setup *s, tess_xpcs_joint **out)
{
    return tess_xpcs_fit_joint(s->ctx, s->members, M, &s->model, &s->config, &s->joint, out);
}

static void unknowns_give_every_member_its_parameters(void **state)
{
    (void)state;
    const double log_ratio[M] = {-0.4, 0, 0.5};
    const double free_ones[P] = {(double)NAN, (double)NAN, (double)NAN};
    tess_xp_layout layout;
    tess_xp_layout_make(&layout, M, P, power, free_ones, log_ratio);
    assert_int_equal(layout.n_x, 2 + 1 + M);
    const double x[6] = {2, 0.7, -0.5, 10, 20, 30};
    for (int m = 0; m < M; m++) {
        double theta[P];
        tess_xp_layout_theta(&layout, x, m, theta);
        assert_true(fabs(theta[0] - 2 * exp(0.7 * log_ratio[m])) < 1e-15);
        assert_true(theta[1] == -0.5 && theta[2] == 10 * (m + 1));
        for (int k = 0; k < P; k++) {
            int64_t at[2];
            double slope[2];
            const int64_t n = tess_xp_layout_slope(&layout, x, m, k, at, slope);
            assert_int_equal(n, k == 0 ? 2 : 1);
            for (int64_t i = 0; i < n; i++) {
                const double h = 1e-6;
                double moved[6];
                double up[P];
                memcpy(moved, x, sizeof moved);
                moved[at[i]] += h;
                tess_xp_layout_theta(&layout, moved, m, up);
                assert_true(fabs((up[k] - theta[k]) / h - slope[i]) < 1e-5);
            }
        }
    }
    const tess_xpcs_unknown u = tess_xp_layout_unknown(&layout, 4);
    assert_true(u.param == 2 && u.member == 1 && !u.is_exponent);
    assert_true(tess_xp_layout_unknown(&layout, 1).is_exponent);
}

static void a_finished_fit_is_had_again(void **state)
{
    (void)state;
    setup s = open_setup();
    const char *folder = unit_path("kept");
    tess_xpcs_joint *joints[3] = {NULL};
    assert_ok(fit(&s, &joints[0]));
    s.config.checkpoint_dir = folder;
    s.config.keep_finished = 1;
    s.config.resume = 1;
    for (int i = 1; i < 3; i++) {
        assert_ok(fit(&s, &joints[i]));
    }
    const tess_xpcs_joint_info *first = tess_xpcs_joint_get_info(joints[0]);
    assert_int_equal(first->convergence, TESS_XPCS_CONVERGED);
    assert_int_equal(first->n_unknown, 2 + 1 + M);
    assert_true(fabs(first->unknowns[1].value - 0.3) < 5 * first->unknowns[1].sd);
    for (int i = 1; i < 3; i++) {
        const tess_xpcs_joint_info *info = tess_xpcs_joint_get_info(joints[i]);
        const size_t n = (size_t)info->n_unknown;
        assert_memory_equal(info->theta, first->theta, M * P * sizeof(double));
        assert_memory_equal(info->covariance, first->covariance, n * n * sizeof(double));
        assert_int_equal(info->resumed, i == 2);
        assert_int_equal(info->n_evaluation, first->n_evaluation);
    }
    const char *out = unit_path("out");
    assert_ok(tess_xpcs_joint_write(s.ctx, joints[1], out, 0));
    assert_int_equal(tess_xpcs_joint_write(s.ctx, joints[1], out, 0), TESS_E_EXISTS);
    assert_ok(tess_xpcs_joint_write(s.ctx, joints[2], out, 2)); // of this very fit
    for (int i = 0; i < 3; i++) {
        tess_xpcs_joint_destroy(joints[i]);
    }
    close_setup(&s);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    setup s = open_setup();
    tess_xpcs_joint *out = NULL;
    assert_int_equal(tess_xpcs_fit_joint(s.ctx, s.members, 1, &s.model, NULL, NULL, &out),
                     TESS_E_ARGUMENT);
    assert_int_equal(tess_xpcs_fit_joint(s.ctx, NULL, 2, &s.model, NULL, NULL, &out),
                     TESS_E_ARGUMENT);
    tess_xpcs_data *const twice[2] = {s.members[0], s.members[0]};
    assert_int_equal(tess_xpcs_fit_joint(s.ctx, twice, 2, &s.model, NULL, NULL, &out),
                     TESS_E_ARGUMENT);
    const int32_t unknown[P] = {7, 0, 0};
    s.joint.ties = unknown;
    assert_int_equal(fit(&s, &out), TESS_E_ARGUMENT);
    s.joint.ties = power;
    const double contrast[2] = {0.3, 0.3};
    s.config.contrast = contrast;
    assert_int_equal(fit(&s, &out), TESS_E_CONFIG);
    s.config.contrast = NULL;
    s.config.bad_chunk = 1;
    assert_int_equal(fit(&s, &out), TESS_E_CONFIG);
    assert_null(out);
    close_setup(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknowns_give_every_member_its_parameters),
                                       cmocka_unit_test(a_finished_fit_is_had_again),
                                       cmocka_unit_test(what_cannot_be_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

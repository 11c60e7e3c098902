// Replicates of a bootstrap and ends of profiles that share passes: what they find depends neither
// on how many go at a time nor on where a pass was interrupted.
#include "xpcs_fit_fixture.h"

#include "systems/xpcs/fit/engine.h"
#include "systems/xpcs/fit/lanes.h"
#include "systems/xpcs/fit/plan.h"

#include <string.h>

typedef struct found {
    double bootstrap[7 * 40];
    tess_xp_intervals intervals;
    double theta[TESS_XPCS_MAX_PARAM];
    int64_t n_pass;
    int64_t n_sweep;
    int64_t n_return;
    double gradient_norm;
} found;

typedef struct stopper {
    tess_context *ctx;
    int64_t countdown; // stretches until it stops
    bool is_on;
    bool is_misled; // two ends are told that the minimum is higher than it is
} stopper;

// When all ends have begun; later returns of the fit are not misled again.
static void mislead(stopper *s, tess_xp_engine *e)
{
    s->is_misled = false;
    for (int64_t k = 3; k <= 5; k += 2) {
        tess_xp_lane_bind(e, k);
        assert_int_equal(e->lane->index, k);
        e->lane->profile.least *= 2;
    }
    tess_xp_lane_bind(e, 0);
}

static tess_status stop(void *self, tess_xp_engine *engine, bool is_mid_pass)
{
    stopper *s = self;
    if (s->is_misled && !is_mid_pass && engine->head->phase == TESS_XP_PHASE_PROFILE) {
        mislead(s, engine);
    }
    if (s->is_on && is_mid_pass && --s->countdown == 0) {
        s->countdown = 3;
        return TESS_CANCELLED;
    }
    return TESS_OK;
}

// A fit with max_set points to a pass, interrupted again and again.
static found run_misled(const golden_fit *g, int64_t max_set, bool is_stopped, bool is_misled)
{
    tess_xp_problem problem;
    tess_xp_pass pass;
    tess_xp_engine engine;
    found out = {0};
    stopper s = {.ctx = g->ctx, .countdown = 2, .is_on = is_stopped, .is_misled = is_misled};
    assert_ok(tess_xp_problem_open(g->ctx, g->data, &g->model, &g->config, &problem));
    const tess_xp_pass_setup setup = {.device = g->ctx->device,
                                      .data = g->data,
                                      .model = &problem.model,
                                      .f_scale = problem.config.f_scale,
                                      .inverse_variance = problem.weights.inverse_variance,
                                      .lag_weight = problem.weights.lag_weight,
                                      .leaves_per_chunk = 3,
                                      .ignore_sigma = problem.weights.ignore_sigma,
                                      .max_set = max_set};
    assert_ok(tess_xp_pass_open(g->ctx, &setup, &pass));
    assert_ok(tess_xp_engine_create(g->ctx, &problem, &pass, &engine));
    engine.checkpoint = stop;
    engine.self = &s;
    assert_ok(tess_xp_engine_begin(&engine));
    tess_status status = TESS_CANCELLED;
    for (int64_t n = 0; status == TESS_CANCELLED && n < 100000; n++) {
        status = tess_xp_engine_run(&engine);
    }
    assert_ok(status);
    if (problem.config.uncertainty == 1) {
        memcpy(out.bootstrap, engine.bootstrap,
               (size_t)(problem.config.n_bootstrap * problem.n_param) * sizeof(double));
    }
    out.intervals = *engine.intervals;
    memcpy(out.theta, engine.final_theta, (size_t)problem.n_param * sizeof(double));
    out.n_pass = engine.head->n_pass;
    out.n_return = engine.head->n_return;
    out.n_sweep = pass.n_pass;
    out.gradient_norm = engine.head->gradient_norm;
    tess_xp_engine_destroy(&engine);
    tess_xp_pass_close(&pass);
    tess_xp_problem_close(&problem);
    return out;
}

static found run_fit(const golden_fit *g, int64_t max_set, bool is_stopped)
{
    return run_misled(g, max_set, is_stopped, false);
}

static void check_same(found a, found b)
{
    assert_memory_equal(a.bootstrap, b.bootstrap, sizeof a.bootstrap);
    assert_memory_equal(&a.intervals, &b.intervals, sizeof a.intervals);
    assert_memory_equal(a.theta, b.theta, sizeof a.theta);
    assert_int_equal(a.n_pass, b.n_pass);
    assert_int_equal(a.n_return, b.n_return);
    assert_true(a.gradient_norm == b.gradient_norm);
}

static void check_all(golden_fit *g)
{
    const found alone = run_fit(g, 1, false);
    assert_int_equal(alone.n_pass, alone.n_sweep);
    for (int64_t max_set = 3; max_set <= TESS_XP_MAX_LANE; max_set += 13) {
        const found together = run_fit(g, max_set, false);
        check_same(alone, together);
        assert_true(2 * together.n_sweep < alone.n_sweep + 40);
        check_same(alone, run_fit(g, max_set, true));
    }
}

static void replicates_share_passes(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 2);
    g.config.uncertainty = 1;
    g.config.n_bootstrap = unit_is_quick() ? 5 : 21; // the lanes are not filled evenly
    g.config.n_start = 1;
    check_all(&g);
    g.config.loss = TESS_XPCS_LOSS_HUBER;
    g.config.n_bootstrap = 4;
    check_all(&g);
    golden_fit_close(&g);
}

static void ends_of_profiles_share_passes(void **state)
{
    (void)state;
    for (int is_laminar = 0; is_laminar < (unit_is_quick() ? 1 : 2); is_laminar++) {
        golden_fit g = golden_fit_open(is_laminar, 2);
        g.config.uncertainty = 2;
        g.config.n_start = 1;
        check_all(&g);
        golden_fit_close(&g);
    }
}

// A profile that gets below the minimum sends the fit back there, whichever lane sees it first.
static void the_first_end_that_is_lower_counts(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 2);
    g.config.uncertainty = 2;
    g.config.n_start = 1;
    const found straight = run_fit(&g, 1, false);
    const found alone = run_misled(&g, 1, false, true);
    assert_int_equal(alone.n_return, straight.n_return + 1);
    for (int64_t max_set = 3; max_set <= TESS_XP_MAX_LANE; max_set += 13) {
        check_same(alone, run_misled(&g, max_set, false, true));
        check_same(alone, run_misled(&g, max_set, true, true));
    }
    golden_fit_close(&g);
}

// Lanes are in the state, whose size must not follow from how much memory there is.
static void a_plan_takes_as_many_as_memory_allows(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 2);
    tess_xp_plan plan;
    g.config.uncertainty = 0;
    assert_ok(tess_xp_plan_make(g.ctx, g.data, 7, &g.config, &plan));
    assert_int_equal(plan.max_set, 1);
    const uint64_t one = plan.memory_bytes;
    g.config.uncertainty = 1;
    assert_ok(tess_xp_plan_make(g.ctx, g.data, 7, &g.config, &plan));
    assert_int_equal(plan.max_set, TESS_XP_MAX_LANE);
    assert_true(plan.memory_bytes >= one && plan.memory_bytes < one + ((uint64_t)33 << 20));
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicates_share_passes),
        cmocka_unit_test(ends_of_profiles_share_passes),
        cmocka_unit_test(the_first_end_that_is_lower_counts),
        cmocka_unit_test(a_plan_takes_as_many_as_memory_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

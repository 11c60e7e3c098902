#include "systems/xpcs/fit/engine.h"

#include "base/status.h"
#include "systems/xpcs/fit/lanes.h"
#include "systems/xpcs/fit/phases.h"

#include <string.h>

enum {
    EXTRA_CANDIDATES = 192, // default, guess, minima of a sketch, and of searches after these
    PART_POINTS = 250000,   // a coarse pass has at least
    PART_GROUPS = 16,       // likewise, from the first frames to the last
    LEAST_PART = 4,
    MOST_PART = 64,
};

// Of all lanes; they are in every checkpoint.
static const size_t LANES_BYTES = 512 << 10;

// A look at part of the data is worth while where it leaves enough points of all ages.
static void choose_part(tess_xp_engine *e)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&e->problem->data->tiles);
    const int64_t n_used = e->problem->data->info.n_used;
    int64_t every = n_used / PART_POINTS;
    every = every < n_leaf / PART_GROUPS ? every : n_leaf / PART_GROUPS;
    if (every >= LEAST_PART) {
        e->every = every < MOST_PART ? every : MOST_PART;
        e->group = n_leaf / (e->every * PART_GROUPS) > 0 ? n_leaf / (e->every * PART_GROUPS) : 1;
    }
}

// A block cut into parts, all of 8-byte items.
typedef struct cutter {
    unsigned char *base; // NULL: only counted
    size_t used;
} cutter;

static void *cut(cutter *c, size_t bytes)
{
    void *part = c->base ? c->base + c->used : NULL;
    c->used += (bytes + 7) / 8 * 8;
    return part;
}

static void *cut_items(cutter *c, int64_t n)
{
    return cut(c, (size_t)n * sizeof(double));
}

static void bind_state(tess_xp_engine *e, cutter *c)
{
    const tess_xp_problem *p = e->problem;
    const int64_t n_x = e->max_x;
    const bool has_bootstrap = p->config.uncertainty == 1;
    e->head = cut(c, sizeof *e->head);
    e->secant = cut_items(c, n_x * n_x);
    e->step = cut_items(c, n_x);
    e->final_sums = cut_items(c, e->pass->n_sum);
    e->final_theta = cut_items(c, p->n_param);
    e->candidates = cut(c, (size_t)e->max_candidate * sizeof *e->candidates);
    e->order = cut_items(c, e->max_candidate);
    e->trace = cut(c, TESS_XP_MAX_TRACE * sizeof *e->trace);
    e->basins = cut(c, (size_t)e->max_candidate * sizeof *e->basins);
    e->basin_sd = cut_items(c, e->max_candidate * TESS_XPCS_MAX_PARAM);
    e->bootstrap = cut_items(c, has_bootstrap ? p->config.n_bootstrap * p->n_param : 0);
    e->intervals = cut(c, sizeof *e->intervals);
    e->final_block = cut(c, e->reduced_bytes);
    e->lanes = cut(c, (size_t)e->n_lane * e->lane_bytes);
}

static void bind_scratch(tess_xp_engine *e, cutter *c)
{
    const int64_t n_x = e->max_x;
    e->all_sums = cut_items(c, e->pass->max_set * e->pass->n_sum);
    e->trial_gradient = cut_items(c, n_x);
    e->trial_hessian = cut_items(c, n_x * n_x);
    e->lower = cut_items(c, n_x);
    e->upper = cut_items(c, n_x);
    e->x_scale = cut_items(c, n_x);
    e->work = cut_items(c, 6 * n_x + n_x * n_x);
    e->frame_weight = cut_items(c, e->problem->config.uncertainty == 1
                                       ? e->pass->max_set * e->problem->data->info.n_frame
                                       : 0);
    e->keys = cut_items(c, e->max_candidate);
    e->ranks = cut_items(c, 2 * e->max_candidate);
    e->trial_block = cut(c, e->reduced_bytes);
}

tess_status tess_xp_engine_create(tess_context *ctx, tess_xp_problem *problem, tess_xp_pass *pass,
                                  tess_xp_engine *e)
{
    *e = (tess_xp_engine){.ctx = ctx, .problem = problem, .pass = pass};
    e->max_candidate = problem->config.n_start + EXTRA_CANDIDATES;
    e->max_x = problem->n_param;
    if (problem->config.loss != TESS_XPCS_LOSS_LINEAR) {
        e->max_x += tess_xp_scaling_n_unknown(&problem->scaling);
    }
    e->reduced_bytes = tess_xp_reduced_bytes(problem->n_angle, problem->n_param);
    choose_part(e);
    e->lane_bytes = tess_xp_lane_size(e);
    e->n_lane = (int64_t)(LANES_BYTES / e->lane_bytes);
    e->n_lane = e->n_lane < 1 ? 1 : e->n_lane < TESS_XP_MAX_LANE ? e->n_lane : TESS_XP_MAX_LANE;
    cutter state = {0};
    cutter scratch = {0};
    bind_state(e, &state);
    bind_scratch(e, &scratch);
    e->state_bytes = state.used;
    e->scratch_bytes = scratch.used;
    e->state = tess_heap_alloc_zero(&ctx->heap, e->state_bytes, TESS_TAG_PLAN, "state of the fit");
    e->scratch =
        tess_heap_alloc_zero(&ctx->heap, e->scratch_bytes, TESS_TAG_SCRATCH, "room for the fit");
    if (!e->state || !e->scratch) {
        tess_xp_engine_destroy(e);
        return TESS_E_MEMORY;
    }
    state = (cutter){.base = e->state};
    scratch = (cutter){.base = e->scratch};
    bind_state(e, &state);
    bind_scratch(e, &scratch);
    e->sums = e->all_sums;
    tess_xp_lane_bind(e, 0);
    tess_xp_reduced_bind(&e->final, e->final_block, problem->n_angle, problem->n_param);
    tess_xp_reduced_bind(&e->trial, e->trial_block, problem->n_angle, problem->n_param);
    return TESS_OK;
}

void tess_xp_engine_destroy(tess_xp_engine *e)
{
    if (!e->ctx) {
        return;
    }
    tess_heap_free(&e->ctx->heap, e->state, e->state_bytes, TESS_TAG_PLAN);
    tess_heap_free(&e->ctx->heap, e->scratch, e->scratch_bytes, TESS_TAG_SCRATCH);
    tess_xpcs_result_destroy(e->noisy);
    *e = (tess_xp_engine){0};
}

// The run at work is over.
static tess_status end_run(tess_xp_engine *e, const tess_trust_view *view)
{
    tess_xp_state *head = e->head;
    head->status = view->status;
    head->gradient_norm = view->gradient_norm;
    if (view->nfev == 1 && view->status == 1 && view->gradient_norm == 0 && view->cost > 0 &&
        e->problem->n_free > 0) {
        head->status = TESS_XP_STALLED;
    }
    if (head->is_coarse && head->phase == TESS_XP_PHASE_FIT && head->n_order > 1) {
        return tess_xp_search_fitted(e); // the best of many go on with all points
    }
    if (head->is_coarse) {
        head->is_coarse = 0;
        return tess_xp_step_begin_run(e, head->status >= 0 ? e->kept_theta : e->run_theta);
    }
    if (head->is_mixed && head->status >= 0) {
        head->is_mixed = 0;
        return tess_xp_step_begin_run(e, e->kept_theta);
    }
    switch (head->phase) {
    case TESS_XP_PHASE_ROBUST:
        return tess_xp_finish_begin(e);
    case TESS_XP_PHASE_BOOTSTRAP:
        return tess_xp_bootstrap_fitted(e);
    default:
        return tess_xp_search_fitted(e);
    }
}

// A step of a trust-region run.
static tess_status advance(tess_xp_engine *e)
{
    double cost = 0;
    tess_trust_view view;
    tess_xp_step_evaluate(e, &cost);
    const tess_trust_request request =
        tess_trust_next(e->trust, cost, e->trial_gradient, e->trial_hessian);
    tess_trust_look(e->trust, &view);
    if (view.accepted) {
        tess_xp_step_keep(e, cost);
        tess_xp_step_weigh(e, e->trial.contrast);
    }
    if (e->head->phase != TESS_XP_PHASE_BOOTSTRAP) {
        e->head->nfev++;
        e->head->n_iteration += view.accepted;
        tess_xp_step_note(e, cost, view.gradient_norm, view.step_norm, view.radius, view.accepted);
    }
    if (request == TESS_TRUST_EVALUATE) {
        tess_xp_step_aim_trial(e);
        return TESS_OK;
    }
    return end_run(e, &view);
}

tess_status tess_xp_engine_begin(tess_xp_engine *e)
{
    memset(e->state, 0, e->state_bytes);
    e->head->best = -1;
    memcpy(e->offset, e->problem->offset, (size_t)e->problem->n_angle * sizeof *e->offset);
    tess_xp_step_weigh(e, e->problem->contrast);
    return tess_xp_search_begin(e);
}

static tess_status between(void *self, tess_xp_pass *pass)
{
    (void)pass;
    tess_xp_engine *e = self;
    return e->checkpoint ? e->checkpoint(e->self, e, true) : TESS_OK;
}

// Lanes of a pass, one after the other; the fit's own numbers stay as they are.
static tess_status absorb_lanes(tess_xp_engine *e, const int64_t *lanes, int64_t n)
{
    const tess_xp_state fit = *e->head;
    const bool is_profile = fit.phase == TESS_XP_PHASE_PROFILE;
    for (int64_t k = 0; k < n; k++) {
        tess_xp_lane_enter(e, lanes[k]);
        e->sums = e->all_sums + k * e->pass->n_sum;
        TESS_TRY(is_profile ? tess_xp_intervals_evaluated(e) : advance(e));
        tess_xp_lane_leave(e);
    }
    e->sums = e->all_sums;
    tess_xp_lane_bind(e, 0);
    e->head->first_lane = lanes[n - 1] + 1;
    e->head->status = fit.status;
    e->head->kept_cost = fit.kept_cost;
    e->head->gradient_norm = fit.gradient_norm;
    if (is_profile) {
        return tess_xp_intervals_judge(e);
    }
    e->head->n_pass += n;
    e->head->phase = tess_xp_lanes_next(e, 1, (int64_t[]){0}) > 0 ? fit.phase : TESS_XP_PHASE_DONE;
    return TESS_OK;
}

static tess_status absorb(tess_xp_engine *e)
{
    e->head->n_pass += !e->head->is_coarse;
    e->head->n_coarse += e->head->is_coarse;
    switch (e->head->phase) {
    case TESS_XP_PHASE_GUESS:
    case TESS_XP_PHASE_SCREEN:
        return tess_xp_search_costed(e);
    case TESS_XP_PHASE_FINISH:
        return tess_xp_finish_evaluated(e);
    default:
        return advance(e);
    }
}

static tess_xp_point point_of(const tess_xp_engine *e)
{
    return (tess_xp_point){.theta = e->theta,
                           .contrast = e->contrast,
                           .offset = e->offset,
                           .want = e->head->want,
                           .is_mixed = e->head->is_mixed};
}

// Several ranks or devices keep nothing of a pass that was stopped: the state before it.
static tess_status keep_stopped(tess_xp_engine *e, tess_status status)
{
    if (status == TESS_CANCELLED && (e->pass->own_shares || e->pass->is_divided) &&
        e->pass->next_leaf == 0 && e->checkpoint) {
        TESS_TRY(e->checkpoint(e->self, e, false));
    }
    return status;
}

// A pass that several lanes share, and what they make of it.
static tess_status step_lanes(tess_xp_engine *e)
{
    tess_xp_pass *pass = e->pass;
    const int64_t n_frame = e->problem->data->info.n_frame;
    int64_t lanes[TESS_XP_MAX_LANE];
    tess_xp_point points[TESS_XP_MAX_LANE];
    const bool is_bootstrap = e->head->phase == TESS_XP_PHASE_BOOTSTRAP;
    // One that was interrupted has as many points as it began with.
    const int64_t most = pass->next_leaf > 0 ? pass->n_set : pass->max_set;
    const int64_t n = tess_xp_lanes_next(e, most, lanes);
    for (int64_t k = 0; k < n; k++) {
        tess_xp_lane_bind(e, lanes[k]);
        points[k] = point_of(e);
        points[k].want = e->lane->want;
        if (is_bootstrap) {
            tess_xp_bootstrap_weights(e->problem, e->lane->index, e->frame_weight + k * n_frame);
        }
    }
    tess_xp_lane_bind(e, 0);
    pass->loss = tess_xp_step_is_robust(e) ? e->problem->config.loss : TESS_XPCS_LOSS_LINEAR;
    pass->frame_weight = is_bootstrap ? e->frame_weight : NULL;
    pass->every = 0;
    pass->between = between;
    pass->self = e;
    TESS_TRY(keep_stopped(e, tess_xp_pass_go_on(pass, points, n, e->all_sums)));
    return absorb_lanes(e, lanes, n);
}

// The pass that the state asks for.
static tess_status run_pass(tess_xp_engine *e)
{
    tess_xp_pass *pass = e->pass;
    const tess_xp_point point = point_of(e);
    pass->loss = tess_xp_step_is_robust(e) ? e->problem->config.loss : TESS_XPCS_LOSS_LINEAR;
    pass->frame_weight = NULL;
    if (!e->head->is_coarse) {
        pass->every = 0;
        pass->between = between;
        pass->self = e;
        return keep_stopped(e, tess_xp_pass_run(pass, &point, e->sums));
    }
    // Short, and made again from its beginning where it is interrupted.
    pass->every = e->every;
    pass->group = e->group;
    pass->between = NULL;
    const tess_status status = tess_xp_pass_run(pass, &point, e->sums);
    pass->next_leaf = 0;
    if (status == TESS_CANCELLED && e->checkpoint) {
        TESS_TRY(e->checkpoint(e->self, e, false));
    }
    return status;
}

double tess_xp_engine_done(const tess_xp_engine *e)
{
    enum { RUN = 20, FINISH = 4, REPLICATE = 4 }; // passes that such fits take
    const tess_xp_state *head = e->head;
    const tess_xpcs_fit_config *config = &e->problem->config;
    const int64_t n_replicate = config->uncertainty == 1 ? config->n_bootstrap : 0;
    const double part = e->every > 0 ? 1 / (double)e->every : 0;
    const double done =
        (double)head->n_pass + part * (double)head->n_coarse +
        (double)e->pass->next_leaf / (double)tess_xp_tiles_n_leaf(&e->problem->data->tiles);
    int64_t left = FINISH + n_replicate * REPLICATE;
    switch (head->phase) {
    case TESS_XP_PHASE_FIT:
    case TESS_XP_PHASE_REFINE:
        left += RUN * (head->n_order - head->index);
        break;
    case TESS_XP_PHASE_FINISH:
        break;
    case TESS_XP_PHASE_BOOTSTRAP:
        left = (n_replicate - head->n_begun + 1) * REPLICATE;
        break;
    case TESS_XP_PHASE_DONE:
        return 1;
    default:
        left += RUN;
        break;
    }
    return done / (done + (double)left);
}

tess_status tess_xp_engine_run(tess_xp_engine *e)
{
    while (e->head->phase != TESS_XP_PHASE_DONE) {
        if (tess_xp_has_lanes(e)) {
            TESS_TRY(step_lanes(e));
        } else {
            TESS_TRY(run_pass(e));
            TESS_TRY(absorb(e));
        }
        if (e->checkpoint) {
            TESS_TRY(e->checkpoint(e->self, e, false));
        }
    }
    return TESS_OK;
}

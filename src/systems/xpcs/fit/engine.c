#include "systems/xpcs/fit/engine.h"

#include "base/status.h"
#include "systems/xpcs/fit/phases.h"

#include <string.h>

enum {
    EXTRA_CANDIDATES = 192, // default, guess, minima of a sketch, and of searches after these
    PART_POINTS = 250000,   // a coarse pass has at least
    PART_GROUPS = 16,       // likewise, from the first frames to the last
    LEAST_PART = 4,
    MOST_PART = 64,
};

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
    e->theta = cut_items(c, p->n_param);
    e->contrast = cut_items(c, p->n_angle);
    e->offset = cut_items(c, p->n_angle);
    e->kept_theta = cut_items(c, p->n_param);
    e->run_theta = cut_items(c, p->n_param);
    e->x = cut_items(c, n_x);
    e->gradient = cut_items(c, n_x);
    e->hessian = cut_items(c, n_x * n_x);
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
    e->trust = cut(c, tess_trust_bytes(n_x));
    e->kept_block = cut(c, e->reduced_bytes);
    e->final_block = cut(c, e->reduced_bytes);
}

static void bind_scratch(tess_xp_engine *e, cutter *c)
{
    const int64_t n_x = e->max_x;
    e->sums = cut_items(c, e->pass->n_sum);
    e->trial_gradient = cut_items(c, n_x);
    e->trial_hessian = cut_items(c, n_x * n_x);
    e->lower = cut_items(c, n_x);
    e->upper = cut_items(c, n_x);
    e->x_scale = cut_items(c, n_x);
    e->work = cut_items(c, 6 * n_x + n_x * n_x);
    e->frame_weight = cut_items(c, e->problem->data->info.n_frame);
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
    tess_xp_reduced_bind(&e->kept, e->kept_block, problem->n_angle, problem->n_param);
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
    case TESS_XP_PHASE_PROFILE:
        return tess_xp_intervals_evaluated(e);
    default:
        return advance(e);
    }
}

// The pass that the state asks for.
static tess_status run_pass(tess_xp_engine *e)
{
    tess_xp_pass *pass = e->pass;
    const tess_xp_point point = {.theta = e->theta,
                                 .contrast = e->contrast,
                                 .offset = e->offset,
                                 .want = e->head->want,
                                 .is_mixed = e->head->is_mixed};
    pass->loss = tess_xp_step_is_robust(e) ? e->problem->config.loss : TESS_XPCS_LOSS_LINEAR;
    pass->frame_weight = NULL;
    if (e->head->phase == TESS_XP_PHASE_BOOTSTRAP) {
        tess_xp_bootstrap_weights(e->problem, e->head->index, e->frame_weight);
        pass->frame_weight = e->frame_weight;
    }
    if (!e->head->is_coarse) {
        pass->every = 0;
        pass->between = between;
        pass->self = e;
        return tess_xp_pass_run(pass, &point, e->sums);
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
        left = (n_replicate - head->index) * REPLICATE;
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
        TESS_TRY(run_pass(e));
        TESS_TRY(absorb(e));
        if (e->checkpoint) {
            TESS_TRY(e->checkpoint(e->self, e, false));
        }
    }
    return TESS_OK;
}

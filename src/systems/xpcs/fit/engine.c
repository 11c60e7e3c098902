#include "systems/xpcs/fit/engine.h"

#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/scaling_parts.h"

#include <math.h>
#include <string.h>

enum {
    EXTRA_CANDIDATES = 16, // default, guess, and those of a search after failures
    DEFAULT_NFEV = 100,    // per free parameter
    SEARCH_NFEV = 8,       // likewise, of one of many starts
    PART_POINTS = 250000,  // a coarse pass has at least
    PART_GROUPS = 16,      // likewise, from the first frames to the last
    LEAST_PART = 4,
    MOST_PART = 64,
    EXACT = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN,
};

// Contrasts below this weigh the Hessian as this: an angle must not vanish from it.
static const double least_contrast = 1e-3;

// Mixed precision is left at tolerances that it can reach.
static const double mixed_tolerance = 1e-7;

bool tess_xp_engine_is_robust(const tess_xp_engine *e)
{
    const int32_t phase = e->head->phase;
    return e->problem->config.loss != TESS_XPCS_LOSS_LINEAR &&
           (phase == TESS_XP_PHASE_ROBUST || phase == TESS_XP_PHASE_FINISH ||
            phase == TESS_XP_PHASE_BOOTSTRAP || phase == TESS_XP_PHASE_DONE);
}

static int64_t n_explicit(const tess_xp_engine *e)
{
    return tess_xp_engine_is_robust(e) ? tess_xp_scaling_n_unknown(&e->problem->scaling) : 0;
}

int64_t tess_xp_engine_n_x(const tess_xp_engine *e)
{
    return n_explicit(e) + e->problem->n_free;
}

double tess_xp_engine_variance(const tess_xp_engine *e)
{
    const int64_t dof = e->problem->data->info.n_used - tess_xp_problem_n_free(e->problem);
    return 2 * e->head->kept_cost / (double)(dof > 0 ? dof : 1);
}

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
    e->bootstrap = cut_items(c, has_bootstrap ? p->config.n_bootstrap * p->n_param : 0);
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
    e->work = cut_items(c, n_x + n_x * n_x);
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

void tess_xp_engine_evaluate(tess_xp_engine *e, double *cost)
{
    const tess_xp_problem *p = e->problem;
    const tess_xp_scaling *s = &p->scaling;
    const int64_t m = n_explicit(e);
    const int64_t n_x = tess_xp_engine_n_x(e);
    const int64_t n_all = m + p->n_param;
    double *gradient = e->trial.gradient;
    double *hessian = e->trial.hessian;
    memset(e->trial_block, 0, e->reduced_bytes); // what is not computed must not outlive a pass
    if (tess_xp_engine_is_robust(e)) {
        gradient = e->work;
        hessian = e->work + n_all;
        tess_xp_scaling_explicit(s, e->sums, e->contrast, cost, gradient, hessian);
        memcpy(e->trial.contrast, e->contrast, (size_t)p->n_angle * sizeof *e->contrast);
        memcpy(e->trial.offset, e->offset, (size_t)p->n_angle * sizeof *e->offset);
        for (int64_t a = 0; a < p->n_angle; a++) {
            e->trial.cost_angle[a] = 0.5 * tess_xp_angle_sums(e->pass, e->sums, a)[TESS_XP_SYY];
        }
    } else {
        tess_xp_scaling_reduce(s, e->sums, e->contrast, e->head->want, &e->trial);
        *cost = *e->trial.cost;
    }
    for (int64_t i = 0; i < n_x; i++) {
        const int64_t row = i < m ? i : m + p->free_index[i - m];
        e->trial_gradient[i] = gradient[row];
        for (int64_t j = 0; j < n_x; j++) {
            const int64_t column = j < m ? j : m + p->free_index[j - m];
            e->trial_hessian[i * n_x + j] = hessian[row * n_all + column];
        }
    }
}

void tess_xp_engine_keep(tess_xp_engine *e, double cost)
{
    const tess_xp_problem *p = e->problem;
    const int64_t n_x = tess_xp_engine_n_x(e);
    memcpy(e->kept_block, e->trial_block, e->reduced_bytes);
    memcpy(e->kept_theta, e->theta, (size_t)p->n_param * sizeof *e->theta);
    memcpy(e->gradient, e->trial_gradient, (size_t)n_x * sizeof *e->gradient);
    memcpy(e->hessian, e->trial_hessian, (size_t)(n_x * n_x) * sizeof *e->hessian);
    e->head->kept_cost = cost;
}

void tess_xp_engine_weigh(tess_xp_engine *e, const double *contrast)
{
    for (int64_t a = 0; a < e->problem->n_angle; a++) {
        const double c = contrast[a];
        e->contrast[a] = fabs(c) < least_contrast ? least_contrast : c;
    }
}

void tess_xp_engine_aim(tess_xp_engine *e, const double *x)
{
    const tess_xp_problem *p = e->problem;
    const int64_t m = n_explicit(e);
    for (int64_t i = 0; i < p->n_free; i++) {
        e->theta[p->free_index[i]] = x[m + i];
    }
    if (tess_xp_engine_is_robust(e)) {
        tess_xp_scaling_expand(&p->scaling, x, e->contrast, e->offset);
    }
}

tess_status tess_xp_engine_lay_out(tess_xp_engine *e, const double *theta)
{
    const tess_xp_problem *p = e->problem;
    const int64_t m = n_explicit(e);
    const bool is_bounded = p->scaling.mode != TESS_XPCS_SCALING_FOURIER;
    if (m > 0) {
        TESS_TRY(tess_xp_scaling_collect(&p->scaling, e->contrast, e->offset, e->x));
    }
    for (int64_t i = 0; i < m; i++) {
        const int which = i >= m / 2;
        e->lower[i] = is_bounded ? p->config.scaling_lower[which] : -(double)INFINITY;
        e->upper[i] = is_bounded ? p->config.scaling_upper[which] : (double)INFINITY;
        e->x_scale[i] = (double)NAN;
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        e->x[m + i] = theta[k];
        e->lower[m + i] = p->lower[k];
        e->upper[m + i] = p->upper[k];
        e->x_scale[m + i] = p->x_scale[k];
    }
    return TESS_OK;
}

// One of many starts must not take long to lead nowhere.
static int64_t choose_nfev(const tess_xp_engine *e)
{
    const bool is_search =
        e->head->phase == TESS_XP_PHASE_FIT || e->head->phase == TESS_XP_PHASE_REFINE;
    const bool is_many = is_search && e->head->n_order > 1;
    const int64_t n_free = is_many ? e->problem->n_free : tess_xp_problem_n_free(e->problem);
    const int64_t most = (is_many ? SEARCH_NFEV : DEFAULT_NFEV) * (n_free + 1);
    return e->problem->config.max_nfev > 0 ? e->problem->config.max_nfev : most;
}

tess_status tess_xp_engine_begin_run(tess_xp_engine *e, const double *theta)
{
    const tess_xp_problem *p = e->problem;
    const tess_xpcs_fit_config *config = &p->config;
    const double least = e->head->is_mixed                        ? mixed_tolerance
                         : e->head->phase == TESS_XP_PHASE_REFINE ? 1e-12
                                                                  : 0;
    const bool is_tight = e->head->phase == TESS_XP_PHASE_REFINE;
    const tess_trust_options options = {
        .ftol = is_tight ? fmin(config->ftol, least) : fmax(config->ftol, least),
        .xtol = is_tight ? fmin(config->xtol, least) : fmax(config->xtol, least),
        .gtol = config->gtol,
        .max_nfev = choose_nfev(e),
        .plain_xtol = config->compat_xtol};
    memcpy(e->theta, theta, (size_t)p->n_param * sizeof *e->theta);
    memmove(e->run_theta, theta, (size_t)p->n_param * sizeof *e->theta);
    TESS_TRY(tess_xp_engine_lay_out(e, theta));
    tess_trust_begin(e->trust, tess_xp_engine_n_x(e), e->x, e->lower, e->upper, e->x_scale,
                     &options);
    e->head->want = EXACT;
    tess_xp_engine_aim(e, tess_trust_trial(e->trust));
    if (e->head->phase != TESS_XP_PHASE_ROBUST && e->head->phase != TESS_XP_PHASE_BOOTSTRAP) {
        e->head->n_trace = 0;
    }
    return TESS_OK;
}

void tess_xp_engine_note(tess_xp_engine *e, double cost, double gradient_norm, double step_norm,
                         double radius, int is_accepted)
{
    if (e->head->n_trace < TESS_XP_MAX_TRACE) {
        e->trace[e->head->n_trace++] = (tess_xpcs_trace){.iteration = e->head->n_iteration,
                                                         .cost = cost,
                                                         .gradient_norm = gradient_norm,
                                                         .step_norm = step_norm,
                                                         .radius = radius,
                                                         .is_accepted = is_accepted};
    }
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
        return tess_xp_engine_begin_run(e, head->status >= 0 ? e->kept_theta : e->run_theta);
    }
    if (head->is_mixed && head->status >= 0) {
        head->is_mixed = 0;
        return tess_xp_engine_begin_run(e, e->kept_theta);
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
    tess_xp_engine_evaluate(e, &cost);
    const tess_trust_request request =
        tess_trust_next(e->trust, cost, e->trial_gradient, e->trial_hessian);
    tess_trust_look(e->trust, &view);
    if (view.accepted) {
        tess_xp_engine_keep(e, cost);
        tess_xp_engine_weigh(e, e->trial.contrast);
    }
    if (e->head->phase != TESS_XP_PHASE_BOOTSTRAP) {
        e->head->nfev++;
        e->head->n_iteration += view.accepted;
        tess_xp_engine_note(e, cost, view.gradient_norm, view.step_norm, view.radius,
                            view.accepted);
    }
    if (request == TESS_TRUST_EVALUATE) {
        tess_xp_engine_aim(e, tess_trust_trial(e->trust));
        return TESS_OK;
    }
    return end_run(e, &view);
}

tess_status tess_xp_engine_begin(tess_xp_engine *e)
{
    memset(e->state, 0, e->state_bytes);
    e->head->best = -1;
    memcpy(e->offset, e->problem->offset, (size_t)e->problem->n_angle * sizeof *e->offset);
    tess_xp_engine_weigh(e, e->problem->contrast);
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
    pass->loss = tess_xp_engine_is_robust(e) ? e->problem->config.loss : TESS_XPCS_LOSS_LINEAR;
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

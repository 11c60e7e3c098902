// Which starts are fitted, which minimum wins, and what is tried when none does.
#include "base/status.h"
#include "numerics/cholesky.h"
#include "numerics/order.h"
#include "systems/xpcs/fit/phases.h"
#include "systems/xpcs/fit/scout.h"

#include <math.h>
#include <string.h>

enum {
    RESCUE_STARTS = 12, // after failures
    WIDE_STARTS = 160,  // where the data leave much open, half of which are fitted
    FEW_STARTS = 24,    // likewise, where there are many points
    MANY_MINIMA = 3,
    LEAST_KEPT = 3,
};

// Minima whose cost is higher than the best one's by more than this fraction are left as they are.
static const double hopeless = 0.3;
// So are those of a search on part of the data where chi2 of part of them is higher by more.
static const double hopeless_chi2 = 30;
// Points of a pass times starts of a wide search that are fitted: some seconds of one core.
static const double wide_work = 1.5e7;
// A parameter within so many of its errors from a bound lies there; one whose error is this part of
// the range between them is open.
static const double at_bound = 0.05;
static const double open_error = 0.25;

static tess_xp_candidate *add_candidate(tess_xp_engine *e)
{
    tess_xp_candidate *c = &e->candidates[e->head->n_candidate++];
    memset(c, 0, sizeof *c);
    c->cost = (double)INFINITY;
    c->group = -1;
    return c;
}

static void add_latin(tess_xp_engine *e, int64_t n)
{
    const int64_t first = e->head->n_candidate;
    for (int64_t i = 0; i < n; i++) {
        (void)add_candidate(e);
    }
    tess_xp_start_latin(e->problem, n, e->candidates[first].theta,
                        (int64_t)(sizeof *e->candidates / sizeof(double)));
}

static void add_default(tess_xp_engine *e)
{
    int64_t n = 0;
    const tess_xp_problem *p = e->problem;
    const tess_xpcs_param_info *info = tess_xpcs_params((tess_xpcs_mode)p->model.mode, &n);
    tess_xp_candidate *c = add_candidate(e);
    for (int64_t k = 0; k < n; k++) {
        c->theta[k] =
            p->is_fixed[k] ? p->start[k] : fmin(fmax(info[k].start, p->lower[k]), p->upper[k]);
    }
}

// The next pass is at a candidate's start, for its cost alone.
static void aim_at(tess_xp_engine *e, int64_t candidate)
{
    e->head->index = candidate;
    e->head->want = 0;
    e->head->is_coarse = e->every > 0;
    memcpy(e->theta, e->candidates[candidate].theta,
           (size_t)e->problem->n_param * sizeof *e->theta);
}

static tess_status begin_fit(tess_xp_engine *e)
{
    const tess_xp_candidate *c = &e->candidates[e->order[e->head->index]];
    const bool is_fit = e->head->phase == TESS_XP_PHASE_FIT;
    e->head->is_mixed = is_fit && e->problem->config.precision == 1;
    e->head->is_coarse = is_fit && e->every > 0;
    return tess_xp_step_begin_run(e, e->head->phase == TESS_XP_PHASE_REFINE ? c->end : c->theta);
}

static tess_status begin_order(tess_xp_engine *e, tess_xp_phase phase, int64_t n_order)
{
    e->head->phase = (int32_t)phase;
    e->head->n_order = n_order;
    e->head->index = 0;
    return begin_fit(e);
}

// The minima of a sketch of the data are candidates.
static tess_status add_scouted(tess_xp_engine *e, int64_t *n)
{
    tess_xp_minima minima;
    const int64_t stride = (int64_t)(sizeof *e->candidates / sizeof(double));
    TESS_TRY(tess_xp_scout(e->ctx, e->pass->device, e->problem, e->candidates[0].theta,
                           e->head->n_candidate, stride, &minima));
    for (int64_t i = 0; i < minima.n; i++) {
        e->order[i] = e->head->n_candidate;
        tess_xp_candidate *c = add_candidate(e);
        memcpy(c->theta, minima.theta[i], sizeof c->theta);
        c->n_scouted = minima.n_start[i];
    }
    *n = minima.n;
    return TESS_OK;
}

tess_status tess_xp_search_begin(tess_xp_engine *e)
{
    tess_xp_problem *p = e->problem;
    tess_xp_start_default(p, add_candidate(e)->theta);
    if (!p->has_start) {
        bool is_found = false;
        double theta[TESS_XPCS_MAX_PARAM] = {0}; // all of it goes into the state
        TESS_TRY(tess_xp_start_guess(p, theta, &is_found));
        if (is_found) {
            memcpy(add_candidate(e)->theta, theta, sizeof theta);
        }
    }
    int64_t n_scouted = 0;
    if (p->config.n_start != 1 && p->n_free > 0) {
        TESS_TRY(add_scouted(e, &n_scouted));
    }
    if (p->config.n_start == 0 && n_scouted > 0) {
        return begin_order(e, TESS_XP_PHASE_FIT, n_scouted);
    }
    if (p->config.n_start > 1) {
        add_latin(e, p->config.n_start);
    }
    if (e->head->n_candidate == 1) {
        e->order[0] = 0;
        return begin_order(e, TESS_XP_PHASE_FIT, 1);
    }
    e->head->phase = p->config.n_start > 1 ? TESS_XP_PHASE_SCREEN : TESS_XP_PHASE_GUESS;
    e->head->kept_cost = (double)INFINITY;
    aim_at(e, 0);
    return TESS_OK;
}

// Candidates that were not fitted, the cheapest first, into order. Returns how many.
static int64_t rank_unfitted(tess_xp_engine *e)
{
    int64_t n = 0;
    for (int64_t i = 0; i < e->head->n_candidate; i++) {
        if (!e->candidates[i].is_fitted) {
            const double cost = e->candidates[i].cost;
            e->keys[n] = isfinite(cost) ? cost : (double)INFINITY;
            e->order[n++] = i;
        }
    }
    tess_order_stable(e->keys, n, e->ranks, e->ranks + n);
    for (int64_t i = 0; i < n; i++) {
        e->ranks[i] = e->order[e->ranks[i]];
    }
    memcpy(e->order, e->ranks, (size_t)n * sizeof *e->order);
    return n;
}

static int64_t count_kept(const tess_xp_engine *e, int64_t n)
{
    int64_t keep = (int64_t)ceil(e->problem->config.screen_keep * (double)n);
    keep = keep < LEAST_KEPT ? LEAST_KEPT : keep;
    return keep < n ? keep : n;
}

tess_status tess_xp_search_costed(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    memset(e->trial_block, 0, e->reduced_bytes);
    tess_xp_scaling_reduce(&e->problem->scaling, e->sums, e->contrast, 0, &e->trial);
    const double cost = *e->trial.cost;
    e->candidates[head->index].cost = cost;
    if (cost < head->kept_cost) {
        head->kept_cost = cost;
        memcpy(e->kept_block, e->trial_block, e->reduced_bytes);
    }
    if (head->index + 1 < head->n_candidate) {
        aim_at(e, head->index + 1);
        return TESS_OK;
    }
    if (isfinite(head->kept_cost)) {
        tess_xp_step_weigh(e, e->kept.contrast);
    }
    const int64_t n = rank_unfitted(e);
    return begin_order(e, TESS_XP_PHASE_FIT,
                       head->phase == TESS_XP_PHASE_GUESS ? 1 : count_kept(e, n));
}

static bool is_good(const tess_xp_candidate *c)
{
    return c->is_fitted && c->status >= 0 && isfinite(c->cost);
}

// How much a candidate's end is worth: with all points, with part of them, without convergence.
static int rank_of(const tess_xp_candidate *c)
{
    return is_good(c) ? (c->is_part ? 1 : 2) : 0;
}

// The cheapest of those that are worth most; -1: none.
static int64_t find_best(const tess_xp_engine *e)
{
    int64_t best = -1;
    for (int64_t i = 0; i < e->head->n_candidate; i++) {
        const tess_xp_candidate *c = &e->candidates[i];
        if (!c->is_fitted || !isfinite(c->cost)) {
            continue;
        }
        const tess_xp_candidate *b = best < 0 ? NULL : &e->candidates[best];
        if (!b || rank_of(c) > rank_of(b) || (rank_of(c) == rank_of(b) && c->cost < b->cost)) {
            best = i;
        }
    }
    return best;
}

// Marginal standard deviations of the free parameters where the last run ended; 0: unknown.
static void find_deviations(tess_xp_engine *e, double *sd)
{
    const int64_t n = e->problem->n_free;
    double *matrix = e->work;
    double *inverse = e->trial_hessian;
    for (int64_t i = 0; i < n * n; i++) {
        const double scale = sqrt(e->hessian[i / n * (n + 1)] * e->hessian[i % n * (n + 1)]);
        matrix[i] = scale > 0 ? e->hessian[i] / scale : (double)NAN;
    }
    memset(sd, 0, TESS_XPCS_MAX_PARAM * sizeof *sd);
    if (!tess_cholesky(matrix, n)) {
        return;
    }
    tess_cholesky_inverse(matrix, n, inverse);
    for (int64_t i = 0; i < n; i++) {
        sd[e->problem->free_index[i]] =
            sqrt(inverse[i * (n + 1)] / e->hessian[i * (n + 1)] * tess_xp_step_variance(e));
    }
}

// The same minimum: nearer than two percent, or than the errors.
static bool is_same(const tess_xp_problem *p, const double *a, const double *b, const double *sd)
{
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        const double size = fmax(fabs(a[k]), fabs(b[k]));
        if (fabs(a[k] - b[k]) > fmax(0.02 * size, sd[k])) {
            return false;
        }
    }
    return true;
}

// Ends that are good, the cheapest first, into order. Returns how many.
static int64_t rank_ends(tess_xp_engine *e)
{
    int64_t n = 0;
    for (int64_t i = 0; i < e->head->n_candidate; i++) {
        if (is_good(&e->candidates[i])) {
            e->keys[n] = e->candidates[i].cost;
            e->order[n++] = i;
        }
    }
    tess_order_stable(e->keys, n, e->ranks, e->ranks + n);
    for (int64_t i = 0; i < n; i++) {
        e->ranks[n + i] = e->order[e->ranks[i]];
    }
    memcpy(e->order, e->ranks + n, (size_t)n * sizeof *e->order);
    return n;
}

// Puts ends on part of the data that are alike into groups, numbered by cost.
static void find_groups(tess_xp_engine *e, int64_t n_end, const double *sd)
{
    int64_t n_group = 0;
    for (int64_t i = 0; i < n_end; i++) {
        tess_xp_candidate *c = &e->candidates[e->order[i]];
        c->group = -1;
        for (int64_t k = 0; k < i && c->group < 0; k++) {
            const tess_xp_candidate *other = &e->candidates[e->order[k]];
            c->group = is_same(e->problem, c->end, other->end, sd) ? other->group : -1;
        }
        if (c->group < 0) {
            c->group = n_group++;
        }
    }
}

// Whether another of its group was fitted to all points and stands for it.
static bool is_represented(const tess_xp_engine *e, const tess_xp_candidate *c)
{
    for (int64_t i = 0; i < e->head->n_candidate && c->is_part; i++) {
        const tess_xp_candidate *other = &e->candidates[i];
        if (is_good(other) && !other->is_part && other->group == c->group && c->group >= 0) {
            return true;
        }
    }
    return false;
}

// Starts that an end stands for.
static int64_t count_starts(const tess_xp_engine *e, const tess_xp_candidate *c)
{
    int64_t n = c->n_scouted > 0 ? c->n_scouted : 1;
    for (int64_t i = 0; i < e->head->n_candidate && !c->is_part && c->group >= 0; i++) {
        const tess_xp_candidate *other = &e->candidates[i];
        n += is_good(other) && other->is_part && other->group == c->group;
    }
    return n;
}

// An end that is not worth all points.
static bool is_hopeless(const tess_xp_engine *e, const tess_xp_candidate *c, double best)
{
    if (e->problem->config.n_start > 1) {
        return c->cost > best * (1 + hopeless);
    }
    const double part = c->is_part ? 1 / (double)e->every : 1;
    const double variance = 2 * best / (double)e->problem->data->info.n_used;
    return part * 2 * (c->cost - best) > hopeless_chi2 * variance;
}

static void find_basins(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    double sd[TESS_XPCS_MAX_PARAM];
    find_deviations(e, sd);
    const int64_t n = rank_ends(e);
    head->n_basin = 0;
    for (int64_t r = 0; r < n; r++) {
        const tess_xp_candidate *c = &e->candidates[e->order[r]];
        if (is_represented(e, c) || (e->problem->config.n_start == 0 &&
                                     is_hopeless(e, c, e->candidates[e->order[0]].cost))) {
            continue;
        }
        int64_t b = 0;
        while (b < head->n_basin && !is_same(e->problem, e->basins[b].theta, c->end, sd)) {
            b++;
        }
        if (b == head->n_basin) {
            e->basins[head->n_basin++] = (tess_xpcs_basin){.cost = c->cost};
            memcpy(e->basins[b].theta, c->end, sizeof c->end);
            memcpy(e->basin_sd + b * TESS_XPCS_MAX_PARAM, c->sd, sizeof c->sd);
        }
        e->basins[b].n_start += count_starts(e, c);
    }
}

// The search is over, its best minimum the one where the last run ended.
static tess_status conclude(tess_xp_engine *e)
{
    e->head->status = e->candidates[e->head->best].status;
    if (e->head->n_candidate > 2) {
        find_basins(e);
    }
    if (e->problem->config.loss == TESS_XPCS_LOSS_LINEAR || e->head->status < 0) {
        return tess_xp_finish_begin(e);
    }
    e->head->phase = TESS_XP_PHASE_ROBUST;
    e->head->is_mixed = 0;
    const size_t bytes = (size_t)e->problem->n_angle * sizeof *e->contrast;
    memcpy(e->contrast, e->kept.contrast, bytes);
    memcpy(e->offset, e->kept.offset, bytes);
    return tess_xp_step_begin_run(e, e->kept_theta);
}

// Nothing came to an end: other starts.
static tess_status rescue(tess_xp_engine *e, bool *is_over)
{
    tess_xp_state *head = e->head;
    *is_over = false;
    if (e->problem->has_start && e->problem->n_free > 0 && !(head->tried & TESS_XP_TRIED_DEFAULT)) {
        head->tried |= TESS_XP_TRIED_DEFAULT;
        add_default(e);
        e->order[0] = head->n_candidate - 1;
        return begin_order(e, TESS_XP_PHASE_FIT, 1);
    }
    if (e->problem->n_free > 0 && !(head->tried & TESS_XP_TRIED_SEARCH)) {
        head->tried |= TESS_XP_TRIED_SEARCH;
        const int64_t first = head->n_candidate;
        add_latin(e, RESCUE_STARTS);
        head->phase = TESS_XP_PHASE_SCREEN;
        head->kept_cost = (double)INFINITY;
        aim_at(e, first);
        return TESS_OK;
    }
    *is_over = true;
    return TESS_OK;
}

// Whether a parameter is at a bound, or the data do not tell it: the landscape is flat then, with
// minima that noise makes, of which a sketch of the data has others than all of them.
static bool is_open(const tess_xp_engine *e, const tess_xp_candidate *c)
{
    const tess_xp_problem *p = e->problem;
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        const double gap = fmin(c->end[k] - p->lower[k], p->upper[k] - c->end[k]);
        if (!(c->sd[k] > 0) || c->sd[k] > open_error * (p->upper[k] - p->lower[k]) ||
            gap < at_bound * c->sd[k]) {
            return true;
        }
    }
    return false;
}

// Whether to look further than the sketch has: many minima are left, or the best one is open.
static bool is_rough(tess_xp_engine *e)
{
    const tess_xp_state *head = e->head;
    double sd[TESS_XPCS_MAX_PARAM];
    // Two components always leave something open: rates that hardly change have many exponents.
    const bool is_two = e->problem->model.mode == TESS_XPCS_TWO_COMPONENT;
    if (e->problem->config.n_start != 0 || head->phase != TESS_XP_PHASE_FIT || head->tried != 0 ||
        is_two) {
        return false;
    }
    find_deviations(e, sd);
    const int64_t n = rank_ends(e);
    find_groups(e, n, sd);
    int64_t n_group = 0;
    for (int64_t i = 0; i < n; i++) {
        const tess_xp_candidate *c = &e->candidates[e->order[i]];
        const bool is_new = c->group == n_group;
        n_group += is_new && !is_hopeless(e, c, e->candidates[e->order[0]].cost);
    }
    return n_group >= MANY_MINIMA || is_open(e, &e->candidates[head->best]);
}

// As many as some seconds allow.
static int64_t count_wide(const tess_xp_engine *e)
{
    const double n_part = (double)e->problem->data->info.n_used / fmax((double)e->every, 1);
    const double n = 2 * wide_work / fmax(n_part, 1);
    return n < FEW_STARTS ? FEW_STARTS : n > WIDE_STARTS ? WIDE_STARTS : (int64_t)n;
}

static tess_status search_wide(tess_xp_engine *e)
{
    e->head->tried |= TESS_XP_TRIED_WIDE;
    const int64_t first = e->head->n_candidate;
    add_latin(e, count_wide(e));
    e->head->phase = TESS_XP_PHASE_SCREEN;
    e->head->kept_cost = (double)INFINITY;
    aim_at(e, first);
    return TESS_OK;
}

// The best minima again, with all points and tight tolerances, the best one last. Those that part
// of the data take for the same are refined once.
static tess_status refine(tess_xp_engine *e)
{
    double sd[TESS_XPCS_MAX_PARAM];
    find_deviations(e, sd);
    const int64_t n = rank_ends(e);
    find_groups(e, n, sd);
    int64_t top = 0;
    for (int64_t i = 0; i < n && top < e->problem->config.refine_top; i++) {
        const tess_xp_candidate *c = &e->candidates[e->order[i]];
        const double best = e->candidates[e->order[0]].cost;
        if (c->group == top && !is_hopeless(e, c, best)) {
            e->ranks[top++] = e->order[i];
        }
    }
    for (int64_t i = 0; i < top; i++) {
        e->order[i] = e->ranks[top - 1 - i];
    }
    return begin_order(e, TESS_XP_PHASE_REFINE, top);
}

tess_status tess_xp_search_fitted(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    const int64_t last = e->order[head->index];
    tess_xp_candidate *c = &e->candidates[last];
    c->is_fitted = 1;
    c->status = head->status;
    c->is_part = head->is_coarse;
    c->cost = head->status == -1 ? (double)INFINITY : head->kept_cost;
    c->cost *= head->is_coarse ? (double)e->every : 1;
    memcpy(c->end, head->status == -1 ? c->theta : e->kept_theta,
           (size_t)e->problem->n_param * sizeof *c->end);
    memset(c->sd, 0, sizeof c->sd);
    if (head->status > 0) {
        find_deviations(e, c->sd);
    }
    if (++head->index < head->n_order) {
        return begin_fit(e);
    }
    head->best = find_best(e);
    if (head->best < 0 || !is_good(&e->candidates[head->best])) {
        bool is_over = false;
        TESS_TRY(rescue(e, &is_over));
        if (!is_over) {
            return TESS_OK;
        }
    }
    if (head->best < 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "the cost is not finite at any start; the data or their weights overflow: check "
                  "c2, sigma, dt and q");
    }
    if (is_rough(e)) {
        return search_wide(e);
    }
    if (head->phase == TESS_XP_PHASE_FIT &&
        (e->problem->config.n_start != 1 || e->candidates[last].is_part)) {
        return refine(e);
    }
    // One of many may have been cut short.
    if (head->best != last || (head->n_order > 1 && e->candidates[last].status == 0)) {
        e->order[0] = head->best;
        return begin_order(e, TESS_XP_PHASE_REFINE, 1);
    }
    return conclude(e);
}

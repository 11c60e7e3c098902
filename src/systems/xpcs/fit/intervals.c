// Intervals after the fit: straight ones from the Hessian, and for parameters whose errors bend, or
// that lie at a bound, where the profile of chi2 has risen by 3.84.
#include "systems/xpcs/fit/intervals.h"

#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/bend.h"
#include "systems/xpcs/fit/covariance.h"
#include "systems/xpcs/fit/frames.h"
#include "systems/xpcs/fit/lanes.h"
#include "systems/xpcs/fit/phases.h"
#include "tessera/xpcs/result.h"

#include <math.h>
#include <string.h>

enum { P = TESS_XPCS_MAX_PARAM, PROFILE = 2, AUTO = 3, MOST_RETURNS = 3 };

static const double follows = 0.3; // correlation with one at a bound from which on

// The end of the fit as profiles see it. x, lower, upper, gradient [P], hessian [P][P].
typedef struct floor_room {
    double x[P];
    double lower[P];
    double upper[P];
    double gradient[P];
    double hessian[P * P];
} floor_room;

static tess_xp_bottom bottom_of(const tess_xp_engine *e, floor_room *room)
{
    const tess_xp_problem *p = e->problem;
    const int64_t n = p->n_free;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = p->free_index[i];
        room->x[i] = e->final_theta[k];
        room->lower[i] = p->lower[k];
        room->upper[i] = p->upper[k];
        room->gradient[i] = e->final.gradient[k];
        for (int64_t j = 0; j < n; j++) {
            room->hessian[i * n + j] = e->final.hessian[k * p->n_param + p->free_index[j]];
        }
    }
    return (tess_xp_bottom){.problem = p,
                            .x = room->x,
                            .lower = room->lower,
                            .upper = room->upper,
                            .gradient = room->gradient,
                            .hessian = room->hessian,
                            .cost = e->head->final_cost,
                            .unit = tess_xp_step_unit(e)};
}

static bool is_at_bound(const tess_xp_engine *e, int64_t k)
{
    return e->final_theta[k] == e->problem->lower[k] || e->final_theta[k] == e->problem->upper[k];
}

// Standard deviations of parameters that are free and not at a bound, as the covariance has them;
// 0: of none, infinite: unidentified.
static void find_deviations(const tess_xp_engine *e, double *sd)
{
    const tess_xp_problem *p = e->problem;
    int64_t chosen[P];
    int64_t n = 0;
    double matrix[P * P];
    double inverse[P * P];
    double work[P * (3 * P + 4)];
    uint8_t is_lost[P] = {0};
    memset(sd, 0, P * sizeof *sd);
    for (int64_t i = 0; i < p->n_free; i++) {
        if (!is_at_bound(e, p->free_index[i])) {
            chosen[n++] = p->free_index[i];
        }
    }
    for (int64_t i = 0; i < n * n; i++) {
        matrix[i] = e->final.hessian[chosen[i / n] * p->n_param + chosen[i % n]];
    }
    (void)tess_xp_invert(matrix, n, inverse, is_lost, work);
    for (int64_t i = 0; i < n; i++) {
        sd[chosen[i]] =
            is_lost[i] ? (double)INFINITY : sqrt(2 * tess_xp_step_unit(e) * inverse[i * (n + 1)]);
    }
}

// One end of parameter i of those that are free. Where errors are larger than those of independent
// points chi2 counts for as much less.
static void begin_profile(const tess_xp_engine *e, int64_t i, double direction,
                          tess_xp_profile *profile)
{
    floor_room room;
    tess_xp_bottom bottom = bottom_of(e, &room);
    const double stretch = e->intervals->stretch[e->problem->free_index[i]];
    bottom.unit *= stretch * stretch;
    tess_xp_profile_begin(profile, &bottom, i, direction,
                          tess_xp_deviations * tess_xp_deviations * bottom.unit);
}

static tess_status fill_straight(tess_xp_engine *e)
{
    const tess_xp_problem *p = e->problem;
    tess_xp_intervals *v = e->intervals;
    *v = (tess_xp_intervals){0};
    for (int64_t k = 0; k < p->n_param; k++) {
        v->ends[k][0] = v->ends[k][1] = e->final_theta[k];
        v->stretch[k] = 1;
    }
    if (p->config.noise == 1) {
        TESS_TRY(tess_xp_frames_errors(e, v->stretch));
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        for (int side = 0; side < 2; side++) {
            tess_xp_profile end;
            begin_profile(e, i, side ? 1 : -1, &end);
            v->ends[k][side] =
                end.status == TESS_XP_PROFILE_LOST ? (side ? p->upper[k] : p->lower[k]) : end.x[i];
        }
    }
    return TESS_OK;
}

// Parameters that follow one at a bound, which may leave it on one side alone.
static void mark_followers(const tess_xp_engine *e, bool *is_follower)
{
    const tess_xp_problem *p = e->problem;
    const int64_t n = p->n_free;
    double matrix[P * P];
    double inverse[P * P];
    double work[P * (3 * P + 4)];
    uint8_t is_lost[P] = {0};
    floor_room room;
    (void)bottom_of(e, &room);
    memcpy(matrix, room.hessian, (size_t)(n * n) * sizeof *matrix);
    (void)tess_xp_invert(matrix, n, inverse, is_lost, work);
    for (int64_t i = 0; i < n * n; i++) {
        const double square = inverse[i / n * (n + 1)] * inverse[i % n * (n + 1)];
        if (is_at_bound(e, p->free_index[i / n]) &&
            (is_lost[i / n] || inverse[i] * inverse[i] > follows * follows * square)) {
            is_follower[p->free_index[i % n]] = true;
        }
    }
}

// Which parameters need their profile.
static tess_status choose(tess_xp_engine *e)
{
    tess_xp_problem *p = e->problem;
    tess_xp_intervals *v = e->intervals;
    double sd[P];
    find_deviations(e, sd);
    for (int64_t k = 0; k < P; k++) {
        sd[k] = isfinite(sd[k]) ? v->stretch[k] * sd[k] : 0;
    }
    const tess_xp_fitted_point point = {.theta = e->final_theta,
                                        .contrast = e->final.contrast,
                                        .offset = e->final.offset,
                                        .sd = sd};
    TESS_TRY(tess_xp_find_bends(e->ctx, e->pass->device, p, &point, v->is_bent));
    bool is_follower[P] = {false};
    mark_followers(e, is_follower);
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        const bool has_doubt = v->is_bent[k] || is_at_bound(e, k) || is_follower[k];
        v->is_wanted[k] =
            p->config.uncertainty == PROFILE || (p->config.uncertainty == AUTO && has_doubt);
    }
    return TESS_OK;
}

// A bound at which chi2 has risen by more than a one-sided test allows is not part of the interval.
static double end_of(const tess_xp_profile *end)
{
    const double x = end->x[end->k];
    const double z = sqrt(fmax(end->cost - end->least, 0) / end->unit);
    if (end->status == TESS_XP_PROFILE_AT_BOUND && x != end->origin && z > tess_xp_one_sided) {
        return end->origin + (x - end->origin) * tess_xp_one_sided / z;
    }
    return x;
}

static void aim(tess_xp_engine *e)
{
    const tess_xp_problem *p = e->problem;
    for (int64_t i = 0; i < p->n_free; i++) {
        e->theta[p->free_index[i]] = e->lane->profile.x[i];
    }
    e->head->want = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN;
}

static void note_end(tess_xp_engine *e, const tess_xp_profile *profile)
{
    tess_xp_intervals *v = e->intervals;
    const int64_t k = e->problem->free_index[profile->k];
    const int side = profile->direction > 0;
    v->kind[k] = TESS_XPCS_INTERVAL_PROFILE;
    v->ends[k][side] = end_of(profile);
    if (profile->status == TESS_XP_PROFILE_LOST) {
        const double bound = side ? e->problem->upper[k] : e->problem->lower[k];
        v->ends[k][side] = isfinite(profile->outside) ? profile->outside : bound;
        v->is_lost[k] = 1;
    }
}

// The next end that is wanted, in the lane at work; none is left: nothing.
static void begin_end(tess_xp_engine *e)
{
    const tess_xp_problem *p = e->problem;
    tess_xp_intervals *v = e->intervals;
    tess_xp_profile *profile = &e->lane->profile;
    e->head->index = -1;
    while (e->head->n_begun < 2 * p->n_free) {
        const int64_t index = e->head->n_begun++;
        if (!v->is_wanted[p->free_index[index / 2]]) {
            continue;
        }
        begin_profile(e, index / 2, index % 2 ? 1 : -1, profile);
        if (profile->status == TESS_XP_PROFILE_AT_WORK) {
            e->head->index = index;
            memcpy(e->theta, e->final_theta, (size_t)p->n_param * sizeof *e->theta);
            tess_xp_step_weigh(e, e->final.contrast);
            aim(e);
            return;
        }
        note_end(e, profile);
    }
}

tess_status tess_xp_intervals_begin(tess_xp_engine *e)
{
    TESS_TRY(fill_straight(e));
    if (e->head->final_status <= 0 || e->problem->n_free == 0) {
        return TESS_OK;
    }
    const tess_xp_state before = *e->head;
    TESS_TRY(choose(e));
    e->head->phase = TESS_XP_PHASE_PROFILE;
    tess_xp_lanes_clear(e);
    for (int64_t k = 0; k < e->n_lane; k++) {
        tess_xp_lane_enter(e, k);
        begin_end(e);
        tess_xp_lane_leave(e);
    }
    tess_xp_lane_bind(e, 0);
    e->head->status = before.status;
    e->head->kept_cost = before.kept_cost;
    e->head->gradient_norm = before.gradient_norm;
    return tess_xp_intervals_judge(e);
}

// The fit goes on from where the profile of a lane is lower than what was taken for the minimum.
static tess_status fall(tess_xp_engine *e, int64_t lane)
{
    double theta[P];
    tess_xp_state *head = e->head;
    tess_xp_lane_bind(e, lane);
    memcpy(theta, e->theta, (size_t)e->problem->n_param * sizeof *theta);
    tess_xp_lane_bind(e, 0);
    tess_xp_step_weigh(e, e->final.contrast);
    head->n_return++;
    head->phase = TESS_XP_PHASE_REFINE;
    head->n_order = 1;
    head->index = 0;
    e->order[0] = head->best;
    return tess_xp_step_begin_run(e, theta);
}

tess_status tess_xp_intervals_evaluated(tess_xp_engine *e)
{
    tess_xp_profile *profile = &e->lane->profile;
    double cost = 0;
    e->intervals->n_pass[e->head->index]++;
    tess_xp_step_evaluate(e, &cost);
    const bool goes_on =
        tess_xp_profile_next(profile, e->problem, cost, e->trial_gradient, e->trial_hessian);
    if (profile->status == TESS_XP_PROFILE_LOWER && e->head->n_return < MOST_RETURNS) {
        e->lane->is_lower = 1;
        return TESS_OK;
    }
    if (goes_on) {
        tess_xp_step_weigh(e, e->trial.contrast);
        aim(e);
        return TESS_OK;
    }
    if (profile->status == TESS_XP_PROFILE_LOWER) {
        profile->status = TESS_XP_PROFILE_LOST;
    }
    note_end(e, profile);
    begin_end(e);
    return TESS_OK;
}

// Of ends that are lower than the minimum the first one counts, whichever was found first.
tess_status tess_xp_intervals_judge(tess_xp_engine *e)
{
    int64_t first = -1; // lane of the first end that has none before it at work
    for (int64_t k = 0; k < e->n_lane; k++) {
        const tess_xp_lane *lane = tess_xp_lane_at(e, k);
        if (lane->index >= 0 && (first < 0 || lane->index < tess_xp_lane_at(e, first)->index)) {
            first = k;
        }
    }
    const bool is_fall = first >= 0 && tess_xp_lane_at(e, first)->is_lower;
    const int64_t last = is_fall ? tess_xp_lane_at(e, first)->index : 2 * P - 1;
    if (first >= 0 && !is_fall) {
        return TESS_OK;
    }
    // As many as if they had been followed one after the other.
    for (int64_t i = 0; i <= last; i++) {
        e->head->n_pass += e->intervals->n_pass[i];
    }
    if (is_fall) {
        return fall(e, first);
    }
    e->head->phase = TESS_XP_PHASE_DONE;
    return TESS_OK;
}

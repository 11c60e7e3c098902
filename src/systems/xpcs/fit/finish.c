// The end of a fit: Gauss-Newton steps until what is left is far below the errors, parameters near
// their bounds put onto them, and a last pass with the contrasts that belong to the optimum.
//
// The cost cannot tell points apart that differ by less than some hundredths of an error: with 1e7
// points that is 1e-11 of it. The gradient can.
#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/newton.h"
#include "systems/xpcs/fit/phases.h"

#include <math.h>
#include <string.h>

enum { MOST_RETURNS = 3 };

static const double same_contrast = 1e-9; // relative

static tess_xp_newton newton_of(tess_xp_engine *e)
{
    return (tess_xp_newton){.n = tess_xp_step_n_x(e),
                            .variance = tess_xp_step_variance(e),
                            .n_rejected = e->head->n_rejected,
                            .x = e->x,
                            .lower = e->lower,
                            .upper = e->upper,
                            .gradient = e->gradient,
                            .hessian = e->hessian,
                            .secant = e->secant,
                            .step = e->step,
                            .trial_gradient = e->trial_gradient,
                            .trial_hessian = e->trial_hessian,
                            .work = e->work};
}

// Step [n] from x.
static tess_xp_newton_plan make_plan(tess_xp_engine *e)
{
    const tess_xp_newton newton = newton_of(e);
    const tess_xp_newton_plan made = tess_xp_newton_make(&newton);
    if (!made.has_snap) {
        tess_xp_step_bend(e, e->x, e->step);
    }
    return made;
}

// The next pass is where the kept point is, or a step away from it; contrasts follow theta.
static void aim(tess_xp_engine *e, bool is_step)
{
    const tess_xp_problem *p = e->problem;
    const int64_t n = tess_xp_step_n_x(e);
    const int64_t m = n - p->n_free;
    memcpy(e->theta, e->kept_theta, (size_t)p->n_param * sizeof *e->theta);
    memcpy(e->contrast, e->kept.contrast, (size_t)p->n_angle * sizeof *e->contrast);
    memcpy(e->offset, e->kept.offset, (size_t)p->n_angle * sizeof *e->offset);
    e->head->want = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN;
    e->head->is_step = is_step;
    if (!is_step) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        e->x[i] += e->step[i];
    }
    tess_xp_step_aim(e, e->x);
    for (int64_t a = 0; a < p->n_angle && !tess_xp_step_is_robust(e); a++) {
        for (int64_t i = 0; i < p->n_free; i++) {
            e->contrast[a] += e->kept.response[a * p->n_param + p->free_index[i]] * e->step[m + i];
        }
    }
}

// x, bounds and scales of what is kept.
static tess_status lay_out_kept(tess_xp_engine *e)
{
    memcpy(e->contrast, e->kept.contrast, (size_t)e->problem->n_angle * sizeof *e->contrast);
    memcpy(e->offset, e->kept.offset, (size_t)e->problem->n_angle * sizeof *e->offset);
    return tess_xp_step_lay_out(e, e->kept_theta);
}

tess_status tess_xp_finish_begin(tess_xp_engine *e)
{
    e->head->phase = TESS_XP_PHASE_FINISH;
    e->head->is_mixed = 0;
    e->head->is_coarse = 0;
    e->head->n_finish = 0;
    e->head->n_rejected = 0;
    if (e->head->status <= 0) {
        aim(e, false);
        return TESS_OK;
    }
    TESS_TRY(lay_out_kept(e));
    const int64_t n = tess_xp_step_n_x(e);
    memset(e->secant, 0, (size_t)(n * n) * sizeof *e->secant);
    (void)make_plan(e);
    aim(e, true);
    return TESS_OK;
}

static void keep_final(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    memcpy(e->final_theta, e->kept_theta, (size_t)e->problem->n_param * sizeof *e->final_theta);
    memcpy(e->final_block, e->kept_block, e->reduced_bytes);
    head->final_cost = head->kept_cost;
    head->final_status = head->status;
    head->chi2 =
        tess_xp_step_is_robust(e) ? e->final_sums[e->pass->n_sum - 1] : 2 * head->kept_cost;
}

// Steps of the trust region from here on: a valley so flat that they ended before its bottom.
static tess_status go_back(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    head->n_return++;
    head->phase = tess_xp_step_is_robust(e) ? TESS_XP_PHASE_ROBUST : TESS_XP_PHASE_REFINE;
    head->n_order = 1;
    head->index = 0;
    e->order[0] = head->best;
    memcpy(e->contrast, e->kept.contrast, (size_t)e->problem->n_angle * sizeof *e->contrast);
    memcpy(e->offset, e->kept.offset, (size_t)e->problem->n_angle * sizeof *e->offset);
    return tess_xp_step_begin_run(e, e->kept_theta);
}

static tess_status conclude(tess_xp_engine *e)
{
    keep_final(e);
    e->head->phase = TESS_XP_PHASE_DONE;
    if (!tess_xp_step_is_robust(e)) {
        TESS_TRY(tess_xp_intervals_begin(e));
    }
    if (e->problem->config.uncertainty == 1 && e->head->status > 0 && e->problem->n_free > 0) {
        return tess_xp_bootstrap_begin(e);
    }
    return TESS_OK;
}

// The Hessian of the last pass was weighed with the contrasts that came out of it.
static bool is_exact(const tess_xp_engine *e)
{
    for (int64_t a = 0; a < e->problem->n_angle && !tess_xp_step_is_robust(e); a++) {
        const double c = e->kept.contrast[a];
        if (fabs(e->contrast[a] - c) > same_contrast * fabs(c)) {
            return false;
        }
    }
    return true;
}

tess_status tess_xp_finish_evaluated(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    double cost = 0;
    tess_xp_step_evaluate(e, &cost);
    head->n_finish++;
    const bool is_taken = !head->is_step || cost <= head->kept_cost * (1 + tess_xp_same_cost);
    if (head->status > 0) {
        tess_xp_step_note(e, cost, head->gradient_norm, 0, 0, is_taken);
    }
    if (head->is_step) {
        const tess_xp_newton newton = newton_of(e);
        tess_xp_newton_learn(&newton);
    }
    if (is_taken) {
        tess_xp_step_keep(e, cost);
        memcpy(e->final_sums, e->sums, (size_t)e->pass->n_sum * sizeof *e->sums);
    }
    head->n_rejected = !head->is_step ? head->n_rejected : is_taken ? 0 : head->n_rejected + 1;
    const bool has_exact = is_taken && is_exact(e);
    tess_xp_newton_plan next = {0, false};
    if (head->status > 0) {
        TESS_TRY(lay_out_kept(e));
        next = make_plan(e);
    }
    // No part of the step goes down: a kink, where a rate meets its floor, is the minimum.
    const bool is_kink = head->n_rejected > TESS_XP_MOST_REJECTED;
    if (head->n_finish <= TESS_XP_MOST_STEPS && !is_kink &&
        (next.has_snap || (next.size > tess_xp_small_step && next.size <= tess_xp_large_step))) {
        aim(e, true);
        return TESS_OK;
    }
    if (!has_exact && head->n_finish <= TESS_XP_MOST_STEPS + 2) {
        aim(e, false);
        return TESS_OK;
    }
    next.size = is_kink ? 0 : next.size;
    head->unsettled = next.size * next.size;
    if (next.size > tess_xp_settled_step && head->status > 0) {
        if (head->n_return < MOST_RETURNS) {
            return go_back(e);
        }
        head->status = 0; // not at the bottom, and it says so
    }
    return conclude(e);
}

// The joint minimum: from one evaluation of all members to where the next goes.
#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/joint/joint.h"

#include <math.h>
#include <string.h>

enum { ALL = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN, NFEV = 100 };

static const double least_tolerance = 1e-15;

// The contrasts of the last evaluation weigh the Hessian of the next.
static void weigh(tess_xp_joint *j)
{
    for (int64_t m = 0; m < j->n_member; m++) {
        tess_xp_member *member = &j->members[m];
        for (int64_t a = 0; a < member->problem.n_angle; a++) {
            member->contrast[a] = tess_xp_weighing_contrast(member->reduced.contrast[a]);
        }
    }
}

static void go_to(tess_xp_joint *j, const double *x)
{
    memmove(j->x, x, (size_t)j->layout.n_x * sizeof *j->x);
}

static void begin_run(tess_xp_joint *j)
{
    const tess_xpcs_fit_config *config = &j->config;
    const int64_t n = j->layout.n_x;
    const double *start = j->starts + j->head->order[j->head->index] * n;
    const tess_trust_options options = {.ftol = fmax(config->ftol, least_tolerance),
                                        .xtol = fmax(config->xtol, least_tolerance),
                                        .gtol = config->gtol,
                                        .max_nfev = config->max_nfev > 0 ? config->max_nfev
                                                                         : NFEV * (n + 1)};
    j->head->phase = TESS_XP_JOINT_FIT;
    tess_trust_begin(j->trust, n, start, j->lower, j->upper, NULL, &options);
    go_to(j, tess_trust_trial(j->trust));
}

static void screened(tess_xp_joint *j, double cost)
{
    tess_xp_joint_state *head = j->head;
    head->costs[head->index] = isfinite(cost) ? cost : (double)INFINITY;
    if (++head->index < head->n_start) {
        go_to(j, j->starts + head->index * j->layout.n_x);
        return;
    }
    for (int64_t i = 0; i < head->n_start; i++) { // the best first
        int64_t at = i;
        while (at > 0 && head->costs[head->order[at - 1]] > head->costs[i]) {
            head->order[at] = head->order[at - 1];
            at--;
        }
        head->order[at] = i;
    }
    head->index = 0;
    head->kept_cost = (double)INFINITY;
    begin_run(j);
}

static void fitted(tess_xp_joint *j, double cost)
{
    tess_xp_joint_state *head = j->head;
    tess_trust_view view;
    const tess_trust_request request =
        tess_trust_next(j->trust, cost, j->trial_gradient, j->trial_hessian);
    tess_trust_look(j->trust, &view);
    if (view.accepted) {
        weigh(j);
    }
    if (request == TESS_TRUST_EVALUATE) {
        go_to(j, tess_trust_trial(j->trust));
        return;
    }
    if (head->index == 0 || view.cost < head->kept_cost) {
        head->kept_cost = view.cost;
        head->status = view.status;
        memcpy(j->kept_x, view.x, (size_t)j->layout.n_x * sizeof *j->kept_x);
    }
    if (++head->index < head->n_try) {
        begin_run(j);
        return;
    }
    head->phase = TESS_XP_JOINT_FINISH;
    head->is_step = 0;
    go_to(j, j->kept_x);
}

static tess_xp_newton newton_of(tess_xp_joint *j)
{
    return (tess_xp_newton){.n = j->layout.n_x,
                            .variance = 1,
                            .n_rejected = j->head->n_rejected,
                            .x = j->kept_x,
                            .lower = j->lower,
                            .upper = j->upper,
                            .gradient = j->gradient,
                            .hessian = j->hessian,
                            .secant = j->secant,
                            .step = j->step,
                            .trial_gradient = j->trial_gradient,
                            .trial_hessian = j->trial_hessian,
                            .work = j->work};
}

static void keep(tess_xp_joint *j, double cost)
{
    const size_t n = (size_t)j->layout.n_x;
    memcpy(j->kept_x, j->x, n * sizeof *j->x);
    memcpy(j->gradient, j->trial_gradient, n * sizeof *j->gradient);
    memcpy(j->hessian, j->trial_hessian, n * n * sizeof *j->hessian);
    j->head->kept_cost = cost;
}

static void stepped(tess_xp_joint *j, double cost)
{
    tess_xp_joint_state *head = j->head;
    tess_xp_newton newton = newton_of(j);
    const bool is_taken = !head->is_step || cost <= head->kept_cost * (1 + tess_xp_same_cost);
    if (head->is_step) {
        tess_xp_newton_learn(&newton);
        head->n_rejected = is_taken ? 0 : head->n_rejected + 1;
    }
    if (is_taken) {
        keep(j, cost);
        weigh(j);
    }
    head->n_finish++;
    newton = newton_of(j);
    const tess_xp_newton_plan next = tess_xp_newton_make(&newton);
    const bool is_kink = head->n_rejected > TESS_XP_MOST_REJECTED;
    const bool goes_on =
        next.has_snap || (next.size > tess_xp_small_step && next.size <= tess_xp_large_step);
    go_to(j, j->kept_x);
    if (head->status > 0 && goes_on && !is_kink && head->n_finish <= TESS_XP_MOST_STEPS) {
        head->is_step = 1;
        for (int64_t i = 0; i < j->layout.n_x; i++) {
            j->x[i] += j->step[i];
        }
        return;
    }
    head->unsettled = is_kink ? 0 : next.size;
    head->phase = TESS_XP_JOINT_FINAL;
}

static void advance(tess_xp_joint *j, double cost)
{
    switch (j->head->phase) {
    case TESS_XP_JOINT_SCREEN:
        screened(j, cost);
        break;
    case TESS_XP_JOINT_FIT:
        fitted(j, cost);
        break;
    case TESS_XP_JOINT_FINISH:
        stepped(j, cost);
        break;
    default: // the contrasts stay, so that a resume can do it once more
        keep(j, cost);
        j->head->phase = TESS_XP_JOINT_DONE;
    }
}

tess_status tess_xp_joint_solve(tess_xp_joint *j)
{
    while (j->head->phase != TESS_XP_JOINT_DONE) {
        double cost = 0;
        const int32_t want = j->head->phase == TESS_XP_JOINT_SCREEN ? 0 : ALL;
        const tess_status status = tess_xp_joint_evaluate(j, want, &cost);
        if (status != TESS_OK) {
            return status;
        }
        advance(j, cost);
        tess_xp_joint_keep(j, false);
    }
    return TESS_OK;
}

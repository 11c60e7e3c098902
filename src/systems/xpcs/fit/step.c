// What the phases of a fit share: the run at work, from the sums of one pass to where the next
// goes.
#include "systems/xpcs/fit/step.h"

#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/curve.h"
#include "systems/xpcs/fit/scaling_parts.h"

#include <math.h>
#include <string.h>

enum {
    DEFAULT_NFEV = 100, // per free parameter
    SEARCH_NFEV = 8,    // likewise, of one of many starts
    EXACT = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN,
};

// Below this there is rounding alone, and a run that goes on would end as one that failed.
static const double least_tolerance = 1e-15;

// Mixed precision is left at tolerances that it can reach.
static const double mixed_tolerance = 1e-7;

bool tess_xp_step_is_robust(const tess_xp_engine *e)
{
    const int32_t phase = e->head->phase;
    return e->problem->config.loss != TESS_XPCS_LOSS_LINEAR &&
           (phase == TESS_XP_PHASE_ROBUST || phase == TESS_XP_PHASE_FINISH ||
            phase == TESS_XP_PHASE_BOOTSTRAP || phase == TESS_XP_PHASE_DONE);
}

static int64_t n_explicit(const tess_xp_engine *e)
{
    return tess_xp_step_is_robust(e) ? tess_xp_scaling_n_unknown(&e->problem->scaling) : 0;
}

int64_t tess_xp_step_n_x(const tess_xp_engine *e)
{
    return n_explicit(e) + e->problem->n_free;
}

double tess_xp_step_variance(const tess_xp_engine *e)
{
    const int64_t dof = e->problem->data->info.n_used - tess_xp_problem_n_free(e->problem);
    return 2 * e->head->kept_cost / (double)(dof > 0 ? dof : 1);
}

double tess_xp_step_unit(const tess_xp_engine *e)
{
    const tess_xp_problem *p = e->problem;
    const double dof = (double)(p->data->info.n_used - tess_xp_problem_n_free(p));
    const double variance = p->config.absolute_sigma ? 1 : e->head->chi2 / fmax(dof, 1);
    return 0.5 * variance * (p->config.counting == 1 ? 0.5 : 1);
}

void tess_xp_step_evaluate(tess_xp_engine *e, double *cost)
{
    const tess_xp_problem *p = e->problem;
    const tess_xp_scaling *s = &p->scaling;
    const int64_t m = n_explicit(e);
    const int64_t n_x = tess_xp_step_n_x(e);
    const int64_t n_all = m + p->n_param;
    double *gradient = e->trial.gradient;
    double *hessian = e->trial.hessian;
    memset(e->trial_block, 0, e->reduced_bytes); // what is not computed must not outlive a pass
    if (tess_xp_step_is_robust(e)) {
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

void tess_xp_step_keep(tess_xp_engine *e, double cost)
{
    const tess_xp_problem *p = e->problem;
    const int64_t n_x = tess_xp_step_n_x(e);
    memcpy(e->kept_block, e->trial_block, e->reduced_bytes);
    memcpy(e->kept_theta, e->theta, (size_t)p->n_param * sizeof *e->theta);
    memcpy(e->gradient, e->trial_gradient, (size_t)n_x * sizeof *e->gradient);
    memcpy(e->hessian, e->trial_hessian, (size_t)(n_x * n_x) * sizeof *e->hessian);
    e->head->kept_cost = cost;
}

void tess_xp_step_weigh(tess_xp_engine *e, const double *contrast)
{
    for (int64_t a = 0; a < e->problem->n_angle; a++) {
        e->contrast[a] = tess_xp_weighing_contrast(contrast[a]);
    }
}

void tess_xp_step_aim(tess_xp_engine *e, const double *x)
{
    const tess_xp_problem *p = e->problem;
    const int64_t m = n_explicit(e);
    for (int64_t i = 0; i < p->n_free; i++) {
        e->theta[p->free_index[i]] = x[m + i];
    }
    if (tess_xp_step_is_robust(e)) {
        tess_xp_scaling_expand(&p->scaling, x, e->contrast, e->offset);
    }
}

void tess_xp_step_bend(const tess_xp_engine *e, const double *x, double *step)
{
    double to[TESS_XPCS_MAX_PARAM];
    const int64_t m = n_explicit(e);
    tess_xp_curve(e->problem, x + m, step + m, -1, to);
    for (int64_t i = 0; i < e->problem->n_free; i++) {
        step[m + i] = to[i] - x[m + i];
    }
}

void tess_xp_step_aim_trial(tess_xp_engine *e)
{
    const int64_t n = tess_xp_step_n_x(e);
    double *to = e->work;
    tess_trust_view view;
    tess_trust_look(e->trust, &view);
    for (int64_t i = 0; i < n; i++) {
        to[i] = tess_trust_trial(e->trust)[i] - view.x[i];
    }
    tess_xp_step_bend(e, view.x, to);
    for (int64_t i = 0; i < n; i++) {
        to[i] += view.x[i];
    }
    tess_trust_set_trial(e->trust, to);
    tess_xp_step_aim(e, tess_trust_trial(e->trust));
}

tess_status tess_xp_step_lay_out(tess_xp_engine *e, const double *theta)
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

tess_status tess_xp_step_begin_run(tess_xp_engine *e, const double *theta)
{
    const tess_xp_problem *p = e->problem;
    const tess_xpcs_fit_config *config = &p->config;
    const double least = e->head->is_mixed                        ? mixed_tolerance
                         : e->head->phase == TESS_XP_PHASE_REFINE ? 1e-12
                                                                  : least_tolerance;
    const bool is_tight = e->head->phase == TESS_XP_PHASE_REFINE;
    const tess_trust_options options = {
        .ftol =
            fmax(is_tight ? fmin(config->ftol, least) : fmax(config->ftol, least), least_tolerance),
        .xtol =
            fmax(is_tight ? fmin(config->xtol, least) : fmax(config->xtol, least), least_tolerance),
        .gtol = config->gtol,
        .max_nfev = choose_nfev(e),
        .plain_xtol = config->compat_xtol};
    memcpy(e->theta, theta, (size_t)p->n_param * sizeof *e->theta);
    memmove(e->run_theta, theta, (size_t)p->n_param * sizeof *e->theta);
    TESS_TRY(tess_xp_step_lay_out(e, theta));
    tess_trust_begin(e->trust, tess_xp_step_n_x(e), e->x, e->lower, e->upper, e->x_scale, &options);
    e->head->want = EXACT;
    tess_xp_step_aim(e, tess_trust_trial(e->trust));
    if (e->head->phase != TESS_XP_PHASE_ROBUST && e->head->phase != TESS_XP_PHASE_BOOTSTRAP) {
        e->head->n_trace = 0;
    }
    return TESS_OK;
}

void tess_xp_step_note(tess_xp_engine *e, double cost, double gradient_norm, double step_norm,
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

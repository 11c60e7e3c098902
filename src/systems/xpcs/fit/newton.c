#include "systems/xpcs/fit/newton.h"

#include "numerics/box_step.h"

#include <math.h>
#include <string.h>

static const double near_bound = 1e-2;      // of a parameter's error with all others fixed
static const double least_curvature = 1e-3; // of the expected one, for a step to teach
static const double shorter = 0.25;         // after a step that was not taken

// Parameters that stay: at a bound that the gradient presses against, or so near it that they are
// put there. to: where they go. Where a step failed the bound may be to blame: none goes there
// then.
static bool is_bound(const tess_xp_newton *w, int64_t i, double *to)
{
    const double gap = w->n_rejected > 0 ? 0 : near_bound * sqrt(w->variance);
    const double stiffness = sqrt(fmax(w->hessian[i * (w->n + 1)], 0));
    if (w->gradient[i] > 0 && (w->x[i] - w->lower[i]) * stiffness <= gap) {
        *to = w->lower[i];
        return isfinite(*to);
    }
    if (w->gradient[i] < 0 && (w->upper[i] - w->x[i]) * stiffness <= gap) {
        *to = w->upper[i];
        return isfinite(*to);
    }
    return false;
}

// Curvature that a parameter has not got any more by what steps have shown.
static bool is_spoilt(const tess_xp_newton *w, const double *matrix)
{
    for (int64_t i = 0; i < w->n * w->n; i += w->n + 1) {
        if (w->hessian[i] > 0 && !(matrix[i] > 0)) {
            return true;
        }
    }
    return false;
}

// Hessian with what steps have shown; without, where that is not positive definite.
static double step_within(const tess_xp_newton *w, const double *from, const double *snap)
{
    const int64_t n = w->n;
    double *matrix = w->trial_hessian;
    double *gradient = w->trial_gradient;
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t i = 0; i < n; i++) {
            gradient[i] = w->gradient[i];
            for (int64_t j = 0; j < n; j++) {
                matrix[i * n + j] = w->hessian[i * n + j] + w->secant[i * n + j];
                gradient[i] += matrix[i * n + j] * snap[j];
            }
        }
        const double gain = tess_box_step(n, gradient, matrix, from, w->lower, w->upper, NULL,
                                          w->step, w->work + 2 * n);
        if (gain >= 0 && !is_spoilt(w, matrix)) {
            return gain;
        }
        memset(w->secant, 0, (size_t)(n * n) * sizeof *w->secant);
    }
    memset(w->step, 0, (size_t)n * sizeof *w->step);
    return 0;
}

tess_xp_newton_plan tess_xp_newton_make(const tess_xp_newton *w)
{
    const int64_t n = w->n;
    double *snap = w->work;
    double *from = w->work + n;
    tess_xp_newton_plan made = {0, false};
    for (int64_t i = 0; i < n; i++) {
        double to = 0;
        const bool stays = is_bound(w, i, &to);
        snap[i] = stays ? to - w->x[i] : 0;
        from[i] = stays ? to : w->x[i];
        made.has_snap |= snap[i] != 0;
    }
    const double gain = step_within(w, from, snap);
    const double part = pow(shorter, (double)w->n_rejected);
    made.size = w->variance > 0 ? sqrt(2 * gain / w->variance) : 0;
    for (int64_t i = 0; i < n; i++) {
        w->step[i] = snap[i] + (made.size <= tess_xp_large_step ? part * w->step[i] : 0);
    }
    return made;
}

// Where residuals are large Gauss-Newton steps shrink slowly, or not at all. How the gradient has
// changed along a step, y = B s, is what the Hessian there should give: Broyden, Fletcher, Goldfarb
// and Shanno's update of B = Hessian + secant.
void tess_xp_newton_learn(const tess_xp_newton *w)
{
    const int64_t n = w->n;
    const double *step = w->step;
    double *bs = w->work;
    double ys = 0;
    double sbs = 0;
    for (int64_t i = 0; i < n; i++) {
        bs[i] = 0;
        for (int64_t j = 0; j < n; j++) {
            bs[i] += (w->trial_hessian[i * n + j] + w->secant[i * n + j]) * step[j];
        }
        sbs += step[i] * bs[i];
        ys += step[i] * (w->trial_gradient[i] - w->gradient[i]);
    }
    if (!(ys > least_curvature * sbs) || !(sbs > 0)) {
        return;
    }
    for (int64_t i = 0; i < n * n; i++) {
        const double yi = w->trial_gradient[i / n] - w->gradient[i / n];
        const double yj = w->trial_gradient[i % n] - w->gradient[i % n];
        w->secant[i] += yi * yj / ys - bs[i / n] * bs[i % n] / sbs;
    }
}

// The top of the posterior at a given smoothness, by Gauss and Newton's steps.
#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 60, ROUGH_STEPS = 12, MOST_HALVES = 20, MOST_RIDGES = 12 };

static const double LONGEST = 2;         // of a step, in units of coefficients
static const double SETTLED = 1e-5;      // of what a step would still gain in the log density
static const double ROUGH = 1;           // the same of a first look
static const double NEARLY_SETTLED = .1; // enough to go on where no step leads up any more

// Where phi0 presses against a bound it is no unknown.
static bool is_held(const tess_xp_rates_fit *fit, const double *gradient)
{
    const double phi0 = fit->at.x[fit->n - 1];
    const double down = -gradient[fit->n - 1];
    return fit->has_phi0 &&
           ((phi0 <= fit->phi0.lower && down < 0) || (phi0 >= fit->phi0.upper && down > 0));
}

// step = -(hessian + precision)^-1 gradient; returns what it would gain, twice.
static double find_step(const tess_xp_rates_fit *fit, double *step)
{
    const int64_t n = fit->n;
    double *precision = fit->work;
    double *root = fit->work + n * n;
    double gradient[TESS_XP_RATES_MOST];
    tess_xp_rates_precision(fit, fit->log_lambda, precision);
    tess_xp_rates_pull(fit, precision, fit->at.x, gradient);
    for (int64_t i = 0; i < n; i++) {
        gradient[i] += fit->at.gradient[i];
    }
    const bool holds = is_held(fit, gradient);
    double ridge = 0;
    for (int64_t k = 0; k<MOST_RIDGES; k++, ridge = ridge> 0 ? 100 * ridge : 1e-12) {
        for (int64_t i = 0; i < n * n; i++) {
            const bool is_out = holds && (i / n == n - 1 || i % n == n - 1);
            const bool is_diagonal = i % (n + 1) == 0;
            const double h = fit->at.hessian[i] + precision[i];
            root[i] = is_out ? (double)is_diagonal : is_diagonal ? h * (1 + ridge) : h;
        }
        if (tess_cholesky(root, n)) {
            break;
        }
    }
    double gain = 0;
    for (int64_t i = 0; i < n; i++) {
        step[i] = holds && i == n - 1 ? 0 : -gradient[i];
    }
    tess_cholesky_solve(root, n, step);
    for (int64_t i = 0; i < n; i++) {
        gain -= gradient[i] * step[i];
    }
    return gain;
}

static double log_density(const tess_xp_rates_point *p)
{
    return p->log_data + p->log_prior;
}

static void place_trial(tess_xp_rates_fit *fit, const double *step, double scale)
{
    for (int64_t i = 0; i < fit->n; i++) {
        fit->trial.x[i] = fit->at.x[i] + scale * step[i];
    }
    if (fit->has_phi0) {
        double *phi0 = &fit->trial.x[fit->n - 1];
        *phi0 = fmin(fmax(*phi0, fit->phi0.lower), fit->phi0.upper);
    }
    fit->trial.s = fit->at.s;
}

// Halved until it leads up. A point that does is where the fit is then.
static tess_status take_step(tess_xp_rates_fit *fit, const double *step, bool *is_taken)
{
    double most = 0;
    for (int64_t i = 0; i < fit->n_kind * fit->n_basis; i++) {
        most = fmax(most, fabs(step[i]));
    }
    double scale = most > LONGEST ? LONGEST / most : 1;
    *is_taken = false;
    for (int64_t half = 0; half < MOST_HALVES && !*is_taken; half++, scale *= 0.5) {
        place_trial(fit, step, scale);
        TESS_TRY(tess_xp_rates_value(fit, &fit->trial));
        *is_taken = log_density(&fit->trial) > log_density(&fit->at);
    }
    if (*is_taken) {
        const tess_xp_rates_point old = fit->at;
        fit->at = fit->trial;
        fit->trial = old;
        TESS_TRY(tess_xp_rates_slopes(fit, &fit->at));
    }
    return TESS_OK;
}

tess_status tess_xp_rates_climb(tess_xp_rates_fit *fit, bool is_rough)
{
    double step[TESS_XP_RATES_MOST];
    fit->is_converged = false;
    fit->at.log_prior = tess_xp_rates_log_prior(fit, fit->log_lambda, fit->at.x);
    for (int64_t k = 0; k < (is_rough ? ROUGH_STEPS : MOST_STEPS); k++) {
        bool is_taken = false;
        const double gain = find_step(fit, step);
        if (!isfinite(gain)) {
            TESS_FAIL(TESS_E_NUMERIC, "rates: the sums of the data are not finite; check c2 for "
                                      "values that cannot be");
        }
        fit->is_converged = gain < (is_rough ? ROUGH : SETTLED);
        if (fit->is_converged) {
            break;
        }
        TESS_TRY(take_step(fit, step, &is_taken));
        if (!is_taken) {
            fit->is_converged = gain < NEARLY_SETTLED;
            break;
        }
    }
    return TESS_OK;
}

#include "systems/xpcs/fit/quality.h"

#include "base/log.h"
#include "base/status.h"
#include "systems/xpcs/fit/phases.h"
#include "systems/xpcs/model/two.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D0 = 0, ALPHA = 1, D_OFFSET = 2, GAMMA = 3, GAMMA_OFFSET = 5, PHI0 = 6 };

enum { SAID_MINIMA = 3 }; // others are counted

static const double told_unsettled = 1e-6; // of chi2: steps of a thousandth of the errors are left
static const double good_chi2 = 1.5;
static const double marginal_chi2 = 3;
static const double high_condition = 1e12;
static const double high_correlation = 0.99;
static const double collapsed_shear = 1e-5;
static const double alternative_distance = 0.2;
static const double undecided = 9; // of chi2: three deviations
static const double low_chi2 = 0.1;
static const double signal_deviations = 10;

static bool is_laminar(const tess_xpcs_result *r)
{
    return r->info.mode == TESS_XPCS_LAMINAR_FLOW;
}

static bool is_free(const tess_xpcs_result *r, int64_t k)
{
    return r->status[k] == TESS_XPCS_FREE;
}

static void warn_of_chi2(tess_xp_problem *p, const tess_xpcs_result *r)
{
    if (p->sigma_is_default) {
        tess_xp_problem_warn(p, TESS_W_XPCS_SIGMA,
                             "sigma is a default (%g): chi2 is not interpretable; use "
                             "--sigma-mode estimate or give the noise of your data.",
                             p->config.sigma);
    }
    if (p->sigma_is_default && p->data->info.has_sigma) {
        tess_xp_problem_warn(p, TESS_W_XPCS_SIGMA,
                             "The data have standard deviations, which are not used; ask for "
                             "them with sigma_mode dataset.");
    }
    if (r->info.reduced_chi2 > p->config.chi2_threshold) {
        tess_xp_problem_warn(p, TESS_W_XPCS_CHI2,
                             "Reduced chi2 is %.4g: the model does not describe the data, or sigma "
                             "is too small; look at the residuals, try n_start or another mode.",
                             r->info.reduced_chi2);
    }
    if (r->info.reduced_chi2 < low_chi2 && !p->sigma_is_default) {
        tess_xp_problem_warn(p, TESS_W_XPCS_CHI2,
                             "Reduced chi2 is %.3g: sigma is too large; chi2 and the quality flag "
                             "mean nothing.",
                             r->info.reduced_chi2);
    }
    if (p->config.counting == 1) {
        tess_xp_problem_warn(p, TESS_W_XPCS_COUNTING,
                             "counting full counts every measurement twice: errors are too "
                             "small by sqrt 2; use counting half.");
    }
}

// Zero is not excluded.
static bool is_insignificant(const tess_xpcs_result *r, int64_t k)
{
    if (r->interval_kind[k] == TESS_XPCS_INTERVAL_PROFILE) {
        return r->interval_lower[k] <= 0 && r->interval_upper[k] >= 0;
    }
    return fabs(r->theta[k]) < 2 * r->sd[k];
}

// f0 and f2 of two components where their product is known: told by itself.
static bool is_two_product(const tess_xpcs_result *r, int64_t k)
{
    return r->info.mode == TESS_XPCS_TWO_COMPONENT && (k == TESS_XP_F0 || k == TESS_XP_F2) &&
           isfinite(r->info.f_product_sd);
}

static void warn_of_params(tess_xp_problem *p, const tess_xpcs_result *r)
{
    for (int64_t k = 0; k < r->info.n_param; k++) {
        const char *name = r->names[k];
        if (r->status[k] == TESS_XPCS_AT_LOWER || r->status[k] == TESS_XPCS_AT_UPPER) {
            const bool is_lower = r->status[k] == TESS_XPCS_AT_LOWER;
            tess_xp_problem_warn(p, TESS_W_XPCS_BOUND,
                                 "%s is at its %s bound, %g: its error means little; widen the "
                                 "bound (--bounds %s=LOW:HIGH) or fix the parameter.",
                                 name, is_lower ? "lower" : "upper",
                                 is_lower ? r->lower[k] : r->upper[k], name);
        } else if (r->status[k] == TESS_XPCS_UNIDENTIFIED && !is_two_product(r, k)) {
            tess_xp_problem_warn(p, TESS_W_XPCS_UNIDENTIFIED,
                                 "%s is unidentified: the data do not determine it; fix it, or fix "
                                 "what it is degenerate with.",
                                 name);
        } else if (is_free(r, k) && is_insignificant(r, k) &&
                   r->interval_kind[k] == TESS_XPCS_INTERVAL_PROFILE) {
            tess_xp_problem_warn(p, TESS_W_XPCS_INSIGNIFICANT,
                                 "%s = %.4g is insignificant: its 95 %% interval, %.4g to %.4g, "
                                 "includes zero; consider fixing it.",
                                 name, r->theta[k], r->interval_lower[k], r->interval_upper[k]);
        } else if (is_free(r, k) && is_insignificant(r, k)) {
            tess_xp_problem_warn(p, TESS_W_XPCS_INSIGNIFICANT,
                                 "%s = %.4g +- %.2g is insignificant (below two errors); consider "
                                 "fixing it.",
                                 name, r->theta[k], r->sd[k]);
        }
    }
}

static void warn_of_correlations(tess_xp_problem *p, const tess_xpcs_result *r)
{
    const int64_t m = r->info.n_covariance;
    const int64_t first = 2 * r->info.n_angle;
    if (r->info.condition > high_condition) {
        tess_xp_problem_warn(
            p, TESS_W_XPCS_CORRELATED,
            "The Hessian's condition is %.2g: parameters can hardly be told apart; "
            "fix one of those that correlate.",
            r->info.condition);
    }
    for (int64_t k = 0; k < r->info.n_param; k++) {
        for (int64_t l = k + 1; l < r->info.n_param; l++) {
            const double rho = r->correlation[(first + k) * m + first + l];
            if (is_free(r, k) && is_free(r, l) && fabs(rho) > high_correlation) {
                tess_xp_problem_warn(p, TESS_W_XPCS_CORRELATED,
                                     "%s and %s are correlated (%.4f): only a combination is "
                                     "determined; fix one, or quote both with their covariance.",
                                     r->names[k], r->names[l], rho);
            }
        }
    }
}

// Values that no sample should have.
static void warn_of_physics(tess_xp_problem *p, const tess_xpcs_result *r)
{
    const double *x = r->theta;
    if (r->info.mode == TESS_XPCS_TWO_COMPONENT) {
        return; // every value within the bounds was seen in samples
    }
    if (x[D0] <= 0 || x[D0] > 1e7) {
        tess_xp_problem_warn(p, TESS_W_XPCS_IMPLAUSIBLE,
                             "D0 = %g is not a plausible transport rate; check q, dt and bounds "
                             "(--bounds D0=LOW:HIGH).",
                             x[D0]);
    }
    if (x[ALPHA] < -1.5 || x[ALPHA] > 1) {
        tess_xp_problem_warn(p, TESS_W_XPCS_IMPLAUSIBLE,
                             "alpha = %.4g is unusual (-1.5 to 1); check that the first frames are "
                             "good and dt is right.",
                             x[ALPHA]);
    }
    if (x[D_OFFSET] > 0.5 * x[D0]) {
        tess_xp_problem_warn(p, TESS_W_XPCS_IMPLAUSIBLE,
                             "D_offset is more than half of D0: the rate hardly changes with time; "
                             "a fit with alpha fixed at 0 may serve.");
    }
    if (!is_laminar(r)) {
        return;
    }
    if (x[GAMMA] < collapsed_shear) {
        tess_xp_problem_warn(
            p, TESS_W_XPCS_NO_SHEAR,
            "gamma_dot_t0 = %.3g: shear collapse, the model is effectively static; "
            "use mode static_anisotropic, or n_start to look for another minimum.",
            x[GAMMA]);
    }
    if (x[GAMMA] > 0.5 || fabs(x[GAMMA_OFFSET]) > 0.1) {
        tess_xp_problem_warn(p, TESS_W_XPCS_IMPLAUSIBLE,
                             "Shear rates above 0.5 or offsets above 0.1 per second are "
                             "unusual; check gap, dt and the kernel.");
    }
    if (fabs(x[PHI0]) > 10) {
        tess_xp_problem_warn(p, TESS_W_XPCS_IMPLAUSIBLE,
                             "phi0 = %.4g degrees: the flow is far from the detector's axis; check "
                             "that the angles are in degrees.",
                             x[PHI0]);
    }
}

// Whether contrasts differ from zero by more than noise fitted as signal would: in units of their
// errors their squares add up to about one an angle then.
static bool has_signal(const tess_xpcs_result *r)
{
    const double n = (double)r->info.n_angle;
    return r->signal > n + signal_deviations * sqrt(2 * n);
}

static void warn_of_scaling(tess_xp_problem *p, const tess_xpcs_result *r)
{
    int64_t n_flat = 0;
    int64_t n_bound = 0;
    int64_t n_low = 0;
    int64_t n_outside = 0;
    for (int64_t a = 0; a < r->info.n_angle; a++) {
        const bool has_contrast_bound = r->contrast_status[a] == TESS_XPCS_AT_LOWER ||
                                        r->contrast_status[a] == TESS_XPCS_AT_UPPER;
        const bool has_offset_bound =
            r->offset_status[a] == TESS_XPCS_AT_LOWER || r->offset_status[a] == TESS_XPCS_AT_UPPER;
        n_flat += r->contrast_status[a] == TESS_XPCS_UNIDENTIFIED;
        n_bound += has_contrast_bound || has_offset_bound;
        n_low += r->contrast[a] > 0 && r->contrast[a] < 0.1;
        n_outside += r->contrast[a] <= 0 || r->contrast[a] > 1 || r->offset[a] <= 0;
    }
    const long long n = (long long)r->info.n_angle;
    if (!has_signal(r)) {
        tess_xp_problem_warn(p, TESS_W_XPCS_NO_SIGNAL,
                             "No signal: no contrast differs from zero by more than noise does; "
                             "the parameters mean nothing.");
    }
    if (n_flat > 0) {
        tess_xp_problem_warn(p, TESS_W_XPCS_NO_SIGNAL,
                             "%lld of %lld angles show no signal: the model is flat there; drop "
                             "them, or check the start.",
                             (long long)n_flat, n);
    }
    if (n_bound > 0) {
        tess_xp_problem_warn(
            p, TESS_W_XPCS_BOUND,
            "Contrast or offset of %lld of %lld angles is at a bound; widen the "
            "bounds (--bounds contrast=LOW:HIGH,offset=LOW:HIGH), or look at these "
            "angles.",
            (long long)n_bound, n);
    }
    if (n_outside > 0) {
        tess_xp_problem_warn(p, TESS_W_XPCS_IMPLAUSIBLE,
                             "Contrast or offset of %lld of %lld angles is not physical (contrast "
                             "in 0 to 1, offset above 0); %s.",
                             (long long)n_outside, n,
                             p->scaling.mode == TESS_XPCS_SCALING_INDIVIDUAL
                                 ? "drop these angles, or check their normalisation"
                                 : "use scaling individual");
    }
    if (n_low > 0) {
        tess_xp_problem_warn(p, TESS_W_XPCS_NO_SIGNAL,
                             "The contrast of %lld of %lld angles is below 0.1: the signal is weak "
                             "or partly decayed within one frame; use shorter frames if you can.",
                             (long long)n_low, n);
    }
}

// Angles from which shear cannot be seen.
static void warn_of_angles(tess_xp_problem *p, const tess_xpcs_result *r)
{
    static const double radian = 3.14159265358979323846 / 180;
    double most = 0;
    for (int64_t a = 0; a < r->info.n_angle; a++) {
        most = fmax(most, fabs(cos((r->phi[a] - r->theta[PHI0]) * radian)));
    }
    if (most < cos(30 * radian)) {
        tess_xp_problem_warn(p, TESS_W_XPCS_NO_SHEAR,
                             "shear not identifiable: no angle lies within 30 degrees of the "
                             "flow; select such angles, or use a static mode.");
    }
    tess_log_write(&p->ctx->log, TESS_LOG_INFO,
                   "xpcs: shear kernel %s; rates of upstream are pi times those of upstream_v1",
                   tess_xpcs_kernel_name((tess_xpcs_kernel)r->info.kernel));
}

// Parameters in which two minima differ, with their values at the other one.
static void list_differences(const tess_xp_problem *p, const tess_xpcs_result *r,
                             const tess_xpcs_basin *other, char *text, size_t capacity)
{
    const tess_xpcs_basin *best = &r->basins[0];
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < p->n_free && used < capacity; i++) {
        const int64_t k = p->free_index[i];
        const double distance = fabs(other->theta[k] - best->theta[k]);
        const double least = fmin(alternative_distance * fabs(best->theta[k]),
                                  isfinite(r->sd[k]) ? r->sd[k] : (double)INFINITY);
        if (distance > least) {
            used += (size_t)snprintf(text + used, capacity - used, "%s%s = %.4g", used ? ", " : "",
                                     r->names[k], other->theta[k]);
        }
    }
}

static void warn_of_alternatives(const tess_xp_engine *e, const tess_xpcs_result *r)
{
    tess_xp_problem *p = e->problem;
    int64_t n_more = 0;
    for (int64_t b = 1; b < r->info.n_basin; b++) {
        const tess_xpcs_basin *best = &r->basins[0];
        const tess_xpcs_basin *other = &r->basins[b];
        const double excess = 2 * (other->cost - best->cost) / r->info.reduced_chi2;
        const bool is_near = p->config.n_start == 0 ||
                             other->cost <= best->cost * (1 + p->config.degeneracy_threshold);
        char where[256];
        list_differences(p, r, other, where, sizeof where);
        if (!is_near || where[0] == 0) {
            continue;
        }
        if (b > SAID_MINIMA) {
            n_more++;
            continue;
        }
        // What rounding leaves of a difference is no number to read.
        const double least = 1e-3;
        const double share = 100 * (other->cost / best->cost - 1);
        tess_xp_problem_warn(
            p, TESS_W_XPCS_OTHER_MINIMUM,
            "Another minimum has chi2 within %.3g %%, higher by %s%.3g, with %s: %s.",
            fmax(share, least), excess < least ? "less than " : "", fmax(excess, least), where,
            excess < undecided ? "the data do not decide; fix or bound parameters "
                                 "by what you know"
                               : "it is much less likely if sigma is right");
    }
    if (n_more > 0) {
        tess_xp_problem_warn(p, TESS_W_XPCS_OTHER_MINIMUM,
                             "%lld more minima are in the result (basins).", (long long)n_more);
    }
    if (e->head->tried & TESS_XP_TRIED_WIDE) {
        tess_xp_problem_warn(p, TESS_W_XPCS_OTHER_MINIMUM,
                             "The data leave parameters open, or several minima: one that no "
                             "start has met may fit as well; fix or bound parameters by what "
                             "you know, or look further with n_start.");
    }
}

// The names of marked parameters.
static bool list_marked(const tess_xpcs_result *r, const int32_t *is_marked, char *text,
                        size_t capacity)
{
    size_t used = 0;
    text[0] = 0;
    for (int64_t k = 0; k < r->info.n_param && used < capacity; k++) {
        if (is_marked[k]) {
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "",
                                     r->names[k]);
        }
    }
    return used > 0;
}

static void warn_of_intervals(const tess_xp_engine *e, const tess_xpcs_result *r)
{
    char names[256];
    const tess_xp_intervals *v = e->intervals;
    const int32_t kind = e->problem->config.uncertainty;
    const char *remedy =
        kind >= 2   ? "quote the 95 % intervals, which follow chi2"
        : kind == 1 ? "quote quantiles of the bootstrap's refits (bootstrap/samples in result.h5)"
                    : "use --uncertainty auto (or profile)";
    if (list_marked(r, v->is_bent, names, sizeof names)) {
        tess_xp_problem_warn(e->problem, TESS_W_XPCS_ERRORS,
                             "Errors of %s are not straight: plus or minus one deviation is off by "
                             "more than a tenth; %s.",
                             names, remedy);
    }
    if (list_marked(r, v->is_lost, names, sizeof names)) {
        tess_xp_problem_warn(e->problem, TESS_W_XPCS_ERRORS,
                             "How chi2 rises with %s could not be followed to the end: these 95 %% "
                             "intervals are too wide rather than too narrow.",
                             names);
    }
}

static void warn_of_bootstrap(const tess_xp_engine *e, const tess_xpcs_result *r)
{
    int64_t n_good = 0;
    double sd[TESS_XPCS_MAX_PARAM];
    if (r->info.n_bootstrap == 0) {
        return;
    }
    tess_xp_bootstrap_sd(e, sd, &n_good);
    if (n_good < r->info.n_bootstrap) {
        tess_xp_problem_warn(e->problem, TESS_W_XPCS_ERRORS,
                             "%lld of %lld refits of the bootstrap did not converge and are left "
                             "out; use longer blocks (block_frames).",
                             (long long)(r->info.n_bootstrap - n_good),
                             (long long)r->info.n_bootstrap);
    }
}

static tess_status write_message(const tess_xp_engine *e, tess_xpcs_result *r)
{
    const tess_xp_problem *p = e->problem;
    char text[512];
    switch (r->info.termination) {
    case 1:
        snprintf(text, sizeof text, "Converged: the gradient is below gtol (%g).", p->config.gtol);
        break;
    case 2:
        snprintf(text, sizeof text, "Converged: the cost falls by less than ftol (%g).",
                 p->config.ftol);
        break;
    case 3:
        snprintf(text, sizeof text, "Converged: steps are shorter than xtol (%g).", p->config.xtol);
        break;
    case 4:
        snprintf(text, sizeof text, "Converged: cost and steps are below ftol (%g) and xtol (%g).",
                 p->config.ftol, p->config.xtol);
        break;
    case 0:
        if (e->head->unsettled > 0.01) {
            snprintf(text, sizeof text,
                     "Not converged: the valley is so flat that chi2 would still fall by about "
                     "%.2g; fix one of the parameters that correlate, or bound them closer.",
                     e->head->unsettled);
            break;
        }
        snprintf(text, sizeof text,
                 "Not converged after %lld evaluations: cost %.6g, gradient norm %.3g; allow more "
                 "(max_nfev) or other starts (n_start).",
                 (long long)r->info.nfev, r->info.cost, r->info.gradient_norm);
        break;
    case TESS_XP_STALLED:
        snprintf(text, sizeof text,
                 "Failed: the gradient is zero at the start, cost %.6g: the model is flat or the "
                 "contrast at its bound there; give another start or use n_start.",
                 r->info.cost);
        break;
    default:
        snprintf(text, sizeof text,
                 "Failed: no step lowers the cost %.6g (gradient norm %.3g); give another start or "
                 "use n_start.",
                 r->info.cost, r->info.gradient_norm);
        break;
    }
    const size_t used = strlen(text);
    if (r->info.termination > 0 && e->head->unsettled > told_unsettled) {
        snprintf(text + used, sizeof text - used,
                 " The valley is flat: chi2 would still fall by about %.2g.", e->head->unsettled);
    }
    return tess_xp_result_set_text(r, TESS_XP_TEXT_MESSAGE, text);
}

static tess_status write_recovery(const tess_xp_engine *e, tess_xpcs_result *r)
{
    static const struct {
        int32_t bit;
        const char *text;
    } lines[] = {
        {TESS_XP_TRIED_DEFAULT, "The given start led nowhere: the default start was tried."},
        {TESS_XP_TRIED_SEARCH, "No start led to a minimum: a Latin hypercube was searched."},
        {TESS_XP_TRIED_WIDE,
         "Several minima fit nearly alike: more starts were fitted to all points."}};
    char text[512] = "";
    size_t used = 0;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        if (e->head->tried & lines[k].bit) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "\n" : "",
                                     lines[k].text);
        }
    }
    return tess_xp_result_set_text(r, TESS_XP_TEXT_RECOVERY, text);
}

int32_t tess_xp_quality_of_chi2(double reduced_chi2)
{
    return reduced_chi2 < good_chi2       ? TESS_XPCS_GOOD
           : reduced_chi2 < marginal_chi2 ? TESS_XPCS_MARGINAL
                                          : TESS_XPCS_POOR;
}

static int32_t judge(const tess_xpcs_result *r)
{
    int32_t quality = tess_xp_quality_of_chi2(r->info.reduced_chi2);
    for (int64_t k = 0; k < r->info.n_param; k++) {
        if (r->status[k] == TESS_XPCS_UNIDENTIFIED && quality == TESS_XPCS_GOOD) {
            quality = TESS_XPCS_MARGINAL;
        }
    }
    if (r->info.convergence == TESS_XPCS_MAX_ITER && quality == TESS_XPCS_GOOD) {
        quality = TESS_XPCS_MARGINAL;
    }
    return r->info.convergence == TESS_XPCS_FAILED || !has_signal(r) ? TESS_XPCS_POOR : quality;
}

tess_status tess_xp_quality_judge(const tess_xp_engine *e, tess_xpcs_result *r)
{
    tess_xp_problem *p = e->problem;
    r->info.termination = e->head->final_status;
    r->info.convergence = e->head->final_status > 0    ? TESS_XPCS_CONVERGED
                          : e->head->final_status == 0 ? TESS_XPCS_MAX_ITER
                                                       : TESS_XPCS_FAILED;
    r->info.quality = judge(r);
    warn_of_chi2(p, r);
    warn_of_params(p, r);
    warn_of_correlations(p, r);
    warn_of_physics(p, r);
    warn_of_scaling(p, r);
    if (is_laminar(r)) {
        warn_of_angles(p, r);
    }
    warn_of_alternatives(e, r);
    if (r->info.mode == TESS_XPCS_TWO_COMPONENT) {
        tess_xp_quality_two(e, r);
    }
    warn_of_intervals(e, r);
    warn_of_bootstrap(e, r);
    TESS_TRY(write_message(e, r));
    if (r->info.convergence != TESS_XPCS_CONVERGED) {
        tess_xp_problem_warn(p, TESS_W_XPCS_NOT_CONVERGED, "%s", r->info.message);
    }
    return write_recovery(e, r);
}

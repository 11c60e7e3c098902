// Where a joint fit begins: what its members say alone.
#include "base/log.h"
#include "base/status.h"
#include "systems/xpcs/fit/covariance.h"
#include "systems/xpcs/joint/joint.h"

#include <math.h>
#include <string.h>

enum { P = TESS_XPCS_MAX_PARAM, MOST_TURNS = 200 };

// Shared values further apart than this, in errors, are several starts.
static const double apart = 5;

static const tess_xpcs_result_info *single_of(const tess_xp_joint *j, int64_t m)
{
    return tess_xpcs_result_get_info(j->result->single[m]);
}

static bool is_well(const tess_xpcs_result_info *info)
{
    return info->convergence == TESS_XPCS_CONVERGED && info->quality != TESS_XPCS_POOR;
}

// From where the neighbour in q ended, which spares the search for minima.
static tess_status fit_from_neighbour(tess_xp_joint *j, int64_t m, const double *start)
{
    tess_xpcs_fit_config config = j->config;
    config.start = start;
    config.n_start = 1;
    return tess_xpcs_fit(j->ctx, j->data[m], &j->model, &config, &j->result->single[m]);
}

tess_status tess_xp_joint_single(tess_xp_joint *j)
{
    const int64_t m = j->order[j->n_single];
    tess_xpcs_result **out = &j->result->single[m];
    if (j->n_single > 0 && j->config.n_start == 0) {
        const tess_xpcs_result_info *before = single_of(j, j->order[j->n_single - 1]);
        if (is_well(before)) {
            TESS_TRY(fit_from_neighbour(j, m, before->theta));
        }
        if (*out && !is_well(single_of(j, m))) {
            tess_xpcs_result_destroy(*out);
            *out = NULL;
        }
    }
    if (!*out) {
        TESS_TRY(tess_xpcs_fit(j->ctx, j->data[m], &j->model, &j->config, out));
    }
    j->n_single++;
    return TESS_OK;
}

static bool has_error(const tess_xpcs_result_info *info, int64_t k)
{
    return info->sd[k] > 0 && isfinite(info->sd[k]);
}

// Of parameter k over the members that know it, all of them where none does.
static double median_of(tess_xp_joint *j, int64_t k)
{
    double *sorted = j->work;
    int64_t n = 0;
    for (int turn = 0; turn < 2 && n == 0; turn++) {
        for (int64_t m = 0; m < j->n_member; m++) {
            const tess_xpcs_result_info *info = single_of(j, m);
            if (turn == 0 && !has_error(info, k)) {
                continue;
            }
            int64_t at = n++;
            while (at > 0 && sorted[at - 1] > info->theta[k]) {
                sorted[at] = sorted[at - 1];
                at--;
            }
            sorted[at] = info->theta[k];
        }
    }
    return 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

// Regression of ln |theta| on ln q, each weighed alike. False: signs differ.
static bool find_power(const tess_xp_joint *j, int64_t k, double *value, double *exponent)
{
    const double n = (double)j->n_member;
    const double sign = single_of(j, 0)->theta[k] < 0 ? -1 : 1;
    double sx = 0;
    double sy = 0;
    double sxx = 0;
    double sxy = 0;
    for (int64_t m = 0; m < j->n_member; m++) {
        const double theta = sign * single_of(j, m)->theta[k];
        if (!(theta > 0)) {
            return false;
        }
        const double x = j->log_ratio[m];
        sx += x;
        sy += log(theta);
        sxx += x * x;
        sxy += x * log(theta);
    }
    *exponent = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    *value = sign * exp((sy - *exponent * sx) / n);
    return true;
}

// Shared values of one member, or medians where it is -1.
static void make_start(tess_xp_joint *j, int64_t member, double *x)
{
    const tess_xp_layout *layout = &j->layout;
    for (int64_t i = 0; i < layout->n_x; i++) {
        const tess_xpcs_unknown u = tess_xp_layout_unknown(layout, i);
        if (u.is_exponent) {
            continue; // with its value
        }
        const int64_t own = u.member >= 0 ? u.member : member;
        x[i] = own >= 0 ? single_of(j, own)->theta[u.param] : median_of(j, u.param);
        if (layout->ties[u.param] == TESS_XPCS_TIE_POWER &&
            !find_power(j, u.param, &x[i], &x[i + 1])) {
            x[i + 1] = 0;
        }
    }
    for (int64_t i = 0; i < layout->n_x; i++) {
        x[i] = fmin(fmax(x[i], j->lower[i]), j->upper[i]);
    }
}

// What a member's own fit says of its parameters: the inverse of their covariance, of those that it
// knows.
static void find_precision(const tess_xpcs_result_info *info, double *precision)
{
    const int64_t p = info->n_param;
    const int64_t first = 2 * info->n_angle;
    double matrix[P * P];
    double inverse[P * P];
    double work[P * (3 * P + 4)];
    uint8_t is_lost[P];
    int64_t known[P];
    int64_t n = 0;
    for (int64_t k = 0; k < p; k++) {
        if (has_error(info, k)) {
            known[n++] = k;
        }
    }
    for (int64_t i = 0; i < n * n; i++) {
        matrix[i] =
            info->covariance[(first + known[i / n]) * info->n_covariance + first + known[i % n]];
    }
    (void)tess_xp_invert(matrix, n, inverse, is_lost, work);
    memset(precision, 0, (size_t)(p * p) * sizeof *precision);
    for (int64_t i = 0; i < n * n; i++) {
        precision[known[i / n] * p + known[i % n]] = inverse[i];
    }
}

// Cost, gradient and Hessian at x where every member's cost is the quadratic of its own fit.
static double look_quadratic(tess_xp_joint *j, const double *x)
{
    const int64_t p = j->layout.n_param;
    const size_t n = (size_t)j->layout.n_x;
    double precision[P * P];
    double gradient[P];
    double theta[P];
    double cost = 0;
    memset(j->trial_gradient, 0, n * sizeof *j->trial_gradient);
    memset(j->trial_hessian, 0, n * n * sizeof *j->trial_hessian);
    for (int64_t m = 0; m < j->n_member; m++) {
        const tess_xpcs_result_info *info = single_of(j, m);
        find_precision(info, precision);
        tess_xp_layout_theta(&j->layout, x, m, theta);
        for (int64_t k = 0; k < p; k++) {
            gradient[k] = 0;
            for (int64_t l = 0; l < p; l++) {
                gradient[k] += precision[k * p + l] * (theta[l] - info->theta[l]);
            }
            cost += 0.5 * gradient[k] * (theta[k] - info->theta[k]);
        }
        tess_xp_layout_gather(&j->layout, x, m, gradient, precision, 1, j->trial_gradient,
                              j->trial_hessian);
    }
    return cost;
}

// The minimum of these quadratics, from the start x.
static void improve(tess_xp_joint *j, double *x)
{
    const tess_trust_options options = {
        .ftol = 1e-8, .xtol = 1e-8, .gtol = 1e-10, .max_nfev = MOST_TURNS};
    const size_t bytes = (size_t)j->layout.n_x * sizeof *x;
    tess_trust_view view;
    tess_trust_begin(j->trust, j->layout.n_x, x, j->lower, j->upper, NULL, &options);
    tess_trust_request request = TESS_TRUST_EVALUATE;
    while (request == TESS_TRUST_EVALUATE) {
        const double cost = look_quadratic(j, tess_trust_trial(j->trust));
        request = tess_trust_next(j->trust, cost, j->trial_gradient, j->trial_hessian);
    }
    tess_trust_look(j->trust, &view);
    memcpy(x, view.x, bytes);
}

// Members whose own values of what is shared are further apart than errors make likely.
static bool do_disagree(tess_xp_joint *j)
{
    for (int64_t k = 0; k < j->layout.n_param; k++) {
        if (j->layout.value[k] < 0 || j->layout.ties[k] != TESS_XPCS_TIE_SHARED) {
            continue;
        }
        const double middle = median_of(j, k);
        for (int64_t m = 0; m < j->n_member; m++) {
            const tess_xpcs_result_info *info = single_of(j, m);
            if (has_error(info, k) && fabs(info->theta[k] - middle) > apart * info->sd[k]) {
                return true;
            }
        }
    }
    return false;
}

void tess_xp_joint_begin(tess_xp_joint *j)
{
    const int64_t n = j->layout.n_x;
    double *const starts = j->starts;
    for (int64_t m = 0; m < j->n_member; m++) {
        const tess_xpcs_result_info *info = single_of(j, m);
        for (int64_t a = 0; a < info->n_angle; a++) {
            j->contrast[j->result->first_angle[m] + a] =
                tess_xp_weighing_contrast(info->contrast[a]);
        }
    }
    make_start(j, -1, starts + n);
    memcpy(starts, starts + n, (size_t)n * sizeof *starts);
    improve(j, starts);
    j->head->n_start = 2;
    j->head->n_try = 1;
    if (do_disagree(j)) {
        make_start(j, j->order[0], starts + 2 * n);
        make_start(j, j->order[j->n_member - 1], starts + 3 * n);
        j->head->n_start = 4;
        j->head->n_try = 2;
    }
    j->head->phase = TESS_XP_JOINT_SCREEN;
    memcpy(j->x, starts, (size_t)n * sizeof *starts);
}

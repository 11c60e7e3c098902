// How smooth the rates are: by the evidence of the data, which around a top is that of a normal.
#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

enum { LOOK = 17, GRID = 41, MOST_ROUNDS = 20 };

static const double LOG_2PI = 1.8378770664093454836;
// ln lambda: standard deviations of second differences from 3 to 0.001, all as likely in ln before.
static const double LEAST = -2.2;
static const double MOST_LOG = 13.8;
static const double REACH = 2; // around the top's, as far as a normal is believed
static const double SETTLED = 0.05;

// Log evidence at another smoothness, by the quadratic of the data at the top; step [n] leads to
// the top there, whose Hessian has its root behind the first matrix of work.
static double look_at(const tess_xp_rates_fit *fit, const double log_lambda[2], double *step)
{
    const int64_t n = fit->n;
    const tess_xp_rates_point *p = &fit->at;
    double *precision = fit->work;
    double *root = fit->work + n * n;
    double x[TESS_XP_RATES_MOST];
    double log_determinant = 0;
    double change = 0;
    tess_xp_rates_precision(fit, log_lambda, precision);
    tess_xp_rates_pull(fit, precision, p->x, step);
    for (int64_t i = 0; i < n; i++) {
        step[i] = -step[i] - p->gradient[i];
    }
    for (int64_t i = 0; i < n * n; i++) {
        root[i] = p->hessian[i] + precision[i];
    }
    if (!tess_cholesky(root, n)) {
        return -(double)INFINITY;
    }
    tess_cholesky_solve(root, n, step);
    for (int64_t i = 0; i < n; i++) {
        double bend = 0;
        for (int64_t j = 0; j < n; j++) {
            bend += p->hessian[i * n + j] * step[j];
        }
        change += step[i] * (p->gradient[i] + 0.5 * bend);
        x[i] = p->x[i] + step[i];
        log_determinant += 2 * log(root[i * (n + 1)]);
    }
    return p->log_data - change + tess_xp_rates_log_prior(fit, log_lambda, x) +
           0.5 * ((double)n * LOG_2PI - log_determinant);
}

static double evidence_at(const tess_xp_rates_fit *fit, const double log_lambda[2])
{
    double step[TESS_XP_RATES_MOST];
    return look_at(fit, log_lambda, step);
}

// The best ln lambda of a kind within reach, the other one being as it is.
static double best_of(const tess_xp_rates_fit *fit, int64_t kind, double log_lambda[2])
{
    const double from = fmax(fit->log_lambda[kind] - REACH, LEAST);
    const double to = fmin(fit->log_lambda[kind] + REACH, MOST_LOG);
    const double step = (to - from) / (LOOK - 1);
    double value[LOOK];
    int64_t top = 0;
    for (int64_t k = 0; k < LOOK; k++) {
        log_lambda[kind] = from + (double)k * step;
        value[k] = evidence_at(fit, log_lambda);
        top = value[k] > value[top] ? k : top;
    }
    double at = from + (double)top * step;
    if (top > 0 && top < LOOK - 1) {
        const double bend = value[top - 1] - 2 * value[top] + value[top + 1];
        at += bend < 0 ? 0.5 * step * (value[top - 1] - value[top + 1]) / bend : 0;
    }
    return at;
}

tess_status tess_xp_rates_smooth(tess_xp_rates_fit *fit)
{
    TESS_TRY(tess_xp_rates_begin(fit));
    for (int64_t round = 0; round < MOST_ROUNDS && !(fit->lambda_given > 0); round++) {
        double next[2] = {fit->log_lambda[0], fit->log_lambda[1]};
        double moved = 0;
        for (int64_t turn = 0; turn < 2; turn++) {
            for (int64_t kind = 0; kind < fit->n_kind; kind++) {
                next[kind] = best_of(fit, kind, next);
            }
        }
        for (int64_t kind = 0; kind < fit->n_kind; kind++) {
            moved = fmax(moved, fabs(next[kind] - fit->log_lambda[kind]));
            fit->log_lambda[kind] = next[kind];
        }
        TESS_TRY(tess_xp_rates_climb(fit, false));
        if (moved < SETTLED) {
            break;
        }
    }
    return TESS_OK;
}

// Both signs of smooth shear are one and the same to the data, and so are two tops; of a monotone
// rate half of what was possible before, the other direction, is not looked at.
static double log_symmetry(const tess_xp_rates_fit *fit)
{
    const bool is_monotone = fit->splines[0].shape == TESS_XPCS_RATES_MONOTONE;
    const bool has_shear = fit->n_kind > 1;
    return is_monotone ? -log(2) : has_shear ? log(2) : 0;
}

// Smoothness k of those that were as likely before; returns how many there are.
static int64_t grid_at(const tess_xp_rates_fit *fit, int64_t k, double log_lambda[2])
{
    const double step = (MOST_LOG - LEAST) / GRID;
    log_lambda[0] = LEAST + step * ((double)(k % GRID) + 0.5);
    log_lambda[1] = LEAST + step * ((double)(k / GRID) + 0.5);
    return fit->n_kind > 1 ? (int64_t)GRID * GRID : GRID;
}

double tess_xp_rates_evidence(const tess_xp_rates_fit *fit)
{
    const double top = evidence_at(fit, fit->log_lambda);
    double log_lambda[2];
    double sum = 0;
    if (fit->lambda_given > 0) {
        return top + log_symmetry(fit);
    }
    const int64_t n = grid_at(fit, 0, log_lambda);
    for (int64_t k = 0; k < n; k++) {
        (void)grid_at(fit, k, log_lambda);
        sum += exp(evidence_at(fit, log_lambda) - top) / (double)n;
    }
    return top + log(sum) + log_symmetry(fit);
}

// covariance += weight (inverse of the Hessian + step step').
static void add_normal(const tess_xp_rates_fit *fit, double weight, const double *step,
                       double *covariance)
{
    const int64_t n = fit->n;
    double *inverse = fit->work + 2 * n * n;
    tess_cholesky_inverse(fit->work + n * n, n, inverse);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            covariance[i * n + j] += weight * (inverse[i * n + j] + step[i] * step[j]);
        }
    }
}

// About the top: of normals at every smoothness, as likely as it is.
tess_status tess_xp_rates_covariance(const tess_xp_rates_fit *fit, double *covariance)
{
    static const double least = 1e-4; // of what counts
    double step[TESS_XP_RATES_MOST];
    double log_lambda[2] = {fit->log_lambda[0], fit->log_lambda[1]};
    const double top = look_at(fit, log_lambda, step);
    const int64_t n = fit->lambda_given > 0 ? 0 : grid_at(fit, 0, log_lambda);
    double sum = n == 0;
    memset(covariance, 0, (size_t)(fit->n * fit->n) * sizeof *covariance);
    if (!isfinite(top)) {
        TESS_FAIL(TESS_E_NUMERIC, "rates: the Hessian at the top is not positive; give fewer knots "
                                  "or a larger smoothness");
    }
    if (n == 0) {
        add_normal(fit, 1, step, covariance);
    }
    for (int64_t k = 0; k < n; k++) {
        (void)grid_at(fit, k, log_lambda);
        const double weight = exp(look_at(fit, log_lambda, step) - top);
        if (weight > least) {
            add_normal(fit, weight, step, covariance);
            sum += weight;
        }
    }
    for (int64_t i = 0; i < fit->n * fit->n; i++) {
        covariance[i] /= sum;
    }
    return TESS_OK;
}

double tess_xp_rates_effective(const tess_xp_rates_fit *fit, int64_t kind)
{
    const int64_t n = fit->n;
    const int64_t k = fit->n_basis;
    const double *precision = fit->work;
    const double *inverse = fit->work + 2 * n * n;
    double step[TESS_XP_RATES_MOST];
    double sum = (double)k;
    (void)look_at(fit, fit->log_lambda, step);
    tess_cholesky_inverse(fit->work + n * n, n, fit->work + 2 * n * n);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++) {
            const int64_t at = (kind * k + i) * n + kind * k + j;
            sum -= precision[at] * inverse[at];
        }
    }
    return sum;
}

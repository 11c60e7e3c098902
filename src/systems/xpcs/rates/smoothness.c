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

// Log evidence at another smoothness, by the quadratic of the data at the top.
static double evidence_at(const tess_xp_rates_fit *fit, const double log_lambda[2])
{
    const int64_t n = fit->n;
    const tess_xp_rates_point *p = &fit->at;
    double *precision = fit->work;
    double *root = fit->work + n * n;
    double step[TESS_XP_RATES_MOST];
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

double tess_xp_rates_evidence(const tess_xp_rates_fit *fit)
{
    if (fit->lambda_given > 0) {
        return evidence_at(fit, fit->log_lambda) + log_symmetry(fit);
    }
    const int64_t n_other = fit->n_kind > 1 ? GRID : 1;
    const double top = evidence_at(fit, fit->log_lambda);
    double sum = 0;
    for (int64_t i = 0; i < GRID * n_other; i++) {
        const double step = (MOST_LOG - LEAST) / GRID;
        const double log_lambda[2] = {LEAST + step * ((double)(i % GRID) + 0.5),
                                      LEAST + step * ((double)(i / GRID) + 0.5)};
        sum += exp(evidence_at(fit, log_lambda) - top) / (double)(GRID * n_other);
    }
    return top + log(sum) + log_symmetry(fit);
}

tess_status tess_xp_rates_covariance(const tess_xp_rates_fit *fit, double *covariance)
{
    const int64_t n = fit->n;
    double *root = fit->work + n * n;
    tess_xp_rates_precision(fit, fit->log_lambda, fit->work);
    for (int64_t i = 0; i < n * n; i++) {
        root[i] = fit->at.hessian[i] + fit->work[i];
    }
    if (!tess_cholesky(root, n)) {
        TESS_FAIL(TESS_E_NUMERIC, "rates: the Hessian at the top is not positive; give fewer knots "
                                  "or a larger smoothness");
    }
    tess_cholesky_inverse(root, n, covariance);
    return TESS_OK;
}

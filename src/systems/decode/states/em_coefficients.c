// The M-step of covariate-dependent transitions: a penalised multinomial regression per row.
//
// Newton's method with a line search. Sums over time are taken in blocks of rows, in parallel, and
// added up in their order.
#include "base/blocks.h"
#include "base/status.h"
#include "systems/decode/states/em.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_NEWTON = 100, MAX_HALVING = 40, ROWS_PER_BLOCK = 4096 };

static const double SUFFICIENT_DECREASE = 1e-4;
// A Newton step that promises less than this times the objective ends the search.
static const double LEAST_GAIN = 1e-14;

// The regression of one row of the transition.
typedef struct regression {
    tess_context *ctx;
    const tess_de_em_step *step;
    int32_t from;
    int32_t n_free;      // S - 1
    int64_t n_parameter; // n_coefficient * n_free
    int64_t n_sample;    // n_row - 1
    double *response;    // [n_sample][S]
    double *totals;      // [n_sample] of response
    const double *at;    // [n_coefficient][n_free]
    int with_slopes;     // gradient and Hessian, too
    int64_t n_block;
    int64_t block_items; // of partial
    double *partial;     // [n_block][1 + n_parameter + n_parameter^2]
    double value;
    double *gradient; // [n_parameter]
    double *hessian;  // [n_parameter][n_parameter]
    double *trial;    // [n_parameter]
    double *move;     // [n_parameter]
} regression;

// log softmax and softmax of the sample's linear predictors.
static void softmax_of(const regression *r, const double *x, double *log_p, double *p)
{
    const int32_t n_state = r->n_free + 1;
    double most = 0;
    for (int32_t j = 0; j < r->n_free; j++) {
        double eta = 0;
        for (int64_t c = 0; c < r->step->n_coefficient; c++) {
            eta += x[c] * r->at[c * r->n_free + j];
        }
        log_p[j] = eta;
        most = eta > most ? eta : most;
    }
    log_p[r->n_free] = 0;
    double sum = 0;
    for (int32_t j = 0; j < n_state; j++) {
        sum += exp(log_p[j] - most);
    }
    const double log_sum = most + log(sum);
    for (int32_t j = 0; j < n_state; j++) {
        log_p[j] -= log_sum;
        p[j] = exp(log_p[j]);
    }
}

// Adds one sample's share of gradient and (lower) Hessian; parameters are (coefficient, state).
static void add_slopes(const regression *r, const double *x, const double *response, double total,
                       const double *p, double *gradient, double *hessian)
{
    const int64_t m = r->n_free;
    for (int64_t a = 0; a < r->n_parameter; a++) {
        const int64_t ja = a % m;
        const double xa = x[a / m];
        gradient[a] -= xa * (response[ja] - total * p[ja]);
        for (int64_t b = 0; b <= a && xa != 0; b++) {
            const int64_t jb = b % m;
            const double curve = p[ja] * ((ja == jb ? 1 : 0) - p[jb]);
            hessian[a * r->n_parameter + b] += total * curve * xa * x[b / m];
        }
    }
}

static tess_status sum_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const regression *r = arg;
    double log_p[TESS_DE_MAX_STATE];
    double p[TESS_DE_MAX_STATE];
    double *sums = r->partial + block * r->block_items;
    memset(sums, 0, (size_t)r->block_items * sizeof *sums);
    const int64_t first = block * ROWS_PER_BLOCK;
    const int64_t left = r->n_sample - first;
    const int64_t end = first + (left < ROWS_PER_BLOCK ? left : ROWS_PER_BLOCK);
    for (int64_t t = first; t < end; t++) {
        const double *x = r->step->design + t * r->step->n_coefficient;
        const double *response = r->response + t * (r->n_free + 1);
        softmax_of(r, x, log_p, p);
        for (int32_t j = 0; j <= r->n_free; j++) {
            sums[0] -= response[j] * log_p[j];
        }
        if (r->with_slopes) {
            add_slopes(r, x, response, r->totals[t], p, sums + 1, sums + 1 + r->n_parameter);
        }
    }
    return TESS_OK;
}

// Objective at `at` into value; gradient and Hessian if wanted.
static tess_status evaluate(regression *r, const double *at, int with_slopes)
{
    const int64_t n = r->n_parameter;
    const double scale = 1 / (double)r->n_sample;
    const double penalty = r->step->regularization;
    r->at = at;
    r->with_slopes = with_slopes;
    r->block_items = 1 + (with_slopes ? n + n * n : 0);
    TESS_TRY(tess_parallel_for(r->ctx->pool, r->n_block, sum_block, r));
    double *sums = r->partial;
    for (int64_t block = 1; block < r->n_block; block++) {
        for (int64_t i = 0; i < r->block_items; i++) {
            sums[i] += r->partial[block * r->block_items + i];
        }
    }
    r->value = sums[0] * scale;
    for (int64_t a = r->n_free; a < n; a++) { // behind the intercept
        r->value += penalty * at[a] * at[a];
    }
    if (!with_slopes) {
        return TESS_OK;
    }
    for (int64_t a = 0; a < n; a++) {
        const int is_penalised = a >= r->n_free;
        r->gradient[a] = sums[1 + a] * scale + (is_penalised ? 2 * penalty * at[a] : 0);
        for (int64_t b = 0; b <= a; b++) {
            r->hessian[a * n + b] = sums[1 + n + a * n + b] * scale;
        }
        r->hessian[a * n + a] += is_penalised ? 2 * penalty : 0;
    }
    return TESS_OK;
}

// Cholesky in place of a copy of the Hessian with a ridge; 0 if it is not positive definite.
static int factor(const regression *r, double ridge, double *l)
{
    const int64_t n = r->n_parameter;
    memcpy(l, r->hessian, (size_t)(n * n) * sizeof *l);
    for (int64_t a = 0; a < n; a++) {
        l[a * n + a] += ridge;
        for (int64_t b = 0; b <= a; b++) {
            double sum = l[a * n + b];
            for (int64_t k = 0; k < b; k++) {
                sum -= l[a * n + k] * l[b * n + k];
            }
            if (a == b && !(sum > 0)) {
                return 0;
            }
            l[a * n + b] = a == b ? sqrt(sum) : sum / l[b * n + b];
        }
    }
    return 1;
}

// move = - Hessian^-1 gradient, with as small a ridge as works.
static int newton_move(regression *r, double *l)
{
    const int64_t n = r->n_parameter;
    double largest = 0;
    for (int64_t a = 0; a < n; a++) {
        largest = r->hessian[a * n + a] > largest ? r->hessian[a * n + a] : largest;
    }
    double ridge = 0;
    while (!factor(r, ridge, l)) {
        ridge = ridge == 0 ? DBL_EPSILON * (largest + DBL_MIN) : 10 * ridge;
        if (!(ridge <= largest + DBL_MIN)) {
            return 0;
        }
    }
    for (int64_t a = 0; a < n; a++) {
        double sum = -r->gradient[a];
        for (int64_t k = 0; k < a; k++) {
            sum -= l[a * n + k] * r->move[k];
        }
        r->move[a] = sum / l[a * n + a];
    }
    for (int64_t a = n - 1; a >= 0; a--) {
        double sum = r->move[a];
        for (int64_t k = a + 1; k < n; k++) {
            sum -= l[k * n + a] * r->move[k];
        }
        r->move[a] = sum / l[a * n + a];
    }
    return 1;
}

// From x to the minimum; *found is 0 where there is none to be found.
static tess_status minimise(regression *r, double *x, double *l, int *found)
{
    const int64_t n = r->n_parameter;
    *found = 0;
    for (int k = 0; k < MAX_NEWTON; k++) {
        TESS_TRY(evaluate(r, x, 1));
        const double before = r->value;
        if (!isfinite(before) || !newton_move(r, l)) {
            return TESS_OK;
        }
        double slope = 0;
        for (int64_t a = 0; a < n; a++) {
            slope += r->gradient[a] * r->move[a];
        }
        if (!(-slope > LEAST_GAIN * (fabs(before) + DBL_MIN))) {
            *found = isfinite(slope);
            return TESS_OK;
        }
        double length = 1;
        for (int h = 0;; h++, length /= 2) {
            for (int64_t a = 0; a < n; a++) {
                r->trial[a] = x[a] + length * r->move[a];
            }
            TESS_TRY(evaluate(r, r->trial, 0));
            if (r->value <= before + SUFFICIENT_DECREASE * length * slope) {
                break;
            }
            if (h == MAX_HALVING) { // rounding is all that is left of the promised gain
                *found = -slope < sqrt(LEAST_GAIN) * (fabs(before) + DBL_MIN);
                return TESS_OK;
            }
        }
        memcpy(x, r->trial, (size_t)n * sizeof *x);
    }
    return TESS_OK;
}

// Expected steps from the state at every row, with the prior spread over all rows.
static void fill_response(regression *r)
{
    const tess_de_em_step *s = r->step;
    const int32_t n_state = s->n_state;
    double log_p[TESS_DE_MAX_STATE];
    double p[TESS_DE_MAX_STATE];
    double alpha[TESS_DE_MAX_STATE];
    double prior[TESS_DE_MAX_STATE];
    double total = 0;
    for (int64_t t = 0; t < r->n_sample; t++) {
        softmax_of(r, s->design + t * s->n_coefficient, log_p, p);
        for (int32_t j = 0; j < n_state; j++) {
            const int64_t next = (t + 1) * n_state + j;
            const double steps = tess_de_em_joint(p[j], s->causal[t * n_state + r->from],
                                                  s->acausal[next], s->predictive[next]);
            r->response[t * n_state + j] = steps;
            total += steps;
        }
    }
    tess_de_em_prior(n_state, r->from, s->concentration, s->stickiness,
                     s->prior_weight ? s->prior_weight[r->from] : 0, total, alpha, prior);
    for (int64_t t = 0; t < r->n_sample; t++) {
        r->totals[t] = 0;
        for (int32_t j = 0; j < n_state; j++) {
            r->response[t * n_state + j] += prior[j] / (double)r->n_sample;
            r->totals[t] += r->response[t * n_state + j];
        }
    }
}

static tess_status take_memory(tess_blocks *blocks, regression *r, double **x, double **l)
{
    const int64_t n = r->n_parameter;
    const char *what = "transition coefficients";
    const size_t item = sizeof(double);
    r->response = tess_blocks_alloc(blocks, r->n_sample * r->step->n_state, item, what);
    r->totals = tess_blocks_alloc(blocks, r->n_sample, item, what);
    r->partial = tess_blocks_alloc(blocks, r->n_block * (1 + n + n * n), item, what);
    r->gradient = tess_blocks_alloc(blocks, n, item, what);
    r->hessian = tess_blocks_alloc(blocks, n * n, item, what);
    r->trial = tess_blocks_alloc(blocks, n, item, what);
    r->move = tess_blocks_alloc(blocks, n, item, what);
    *x = tess_blocks_alloc(blocks, n, item, what);
    *l = tess_blocks_alloc(blocks, n * n, item, what);
    return r->response && r->totals && r->partial && r->gradient && r->hessian && r->trial &&
                   r->move && *x && *l
               ? TESS_OK
               : TESS_E_MEMORY;
}

static tess_status estimate(regression *r, tess_blocks *blocks, double *coefficients,
                            int32_t *n_failed)
{
    const tess_de_em_step *s = r->step;
    const int64_t stride = (int64_t)s->n_state * r->n_free;
    double *x = NULL;
    double *l = NULL;
    TESS_TRY(take_memory(blocks, r, &x, &l));
    for (int32_t i = 0; i < s->n_state; i++) {
        if (s->frozen && s->frozen[i]) {
            continue;
        }
        double *own = coefficients + (int64_t)i * r->n_free;
        for (int64_t a = 0; a < r->n_parameter; a++) {
            x[a] = own[a / r->n_free * stride + a % r->n_free];
        }
        int found = 0;
        r->from = i;
        r->at = x;
        fill_response(r);
        TESS_TRY(minimise(r, x, l, &found));
        *n_failed += !found;
        for (int64_t a = 0; a < r->n_parameter && found; a++) {
            own[a / r->n_free * stride + a % r->n_free] = x[a];
        }
    }
    return TESS_OK;
}

tess_status tess_de_em_coefficients(tess_context *ctx, const tess_de_em_step *step,
                                    double *coefficients, int32_t *n_failed)
{
    *n_failed = 0;
    if (step->n_state < 2 || step->n_row < 2) {
        return TESS_OK; // nothing moves
    }
    regression r = {.ctx = ctx,
                    .step = step,
                    .n_free = step->n_state - 1,
                    .n_parameter = step->n_coefficient * (step->n_state - 1),
                    .n_sample = step->n_row - 1,
                    .n_block = (step->n_row - 1 + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK};
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status = estimate(&r, &blocks, coefficients, n_failed);
    tess_blocks_free(&blocks);
    return status;
}

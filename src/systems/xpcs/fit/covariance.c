#include "systems/xpcs/fit/covariance.h"

#include "base/status.h"
#include "systems/xpcs/fit/scaling_parts.h"
#include "systems/xpcs/model/two.h"

#include <math.h>
#include <string.h>

static const double at_bound = 1e-9;

typedef struct errors {
    const tess_xp_engine *engine;
    const tess_xp_problem *problem;
    tess_xpcs_result *result;
    double variance; // of a unit of inverse Hessian
    int64_t n;       // parameters of the matrix that is inverted
    double *block;
    size_t block_bytes;
    double *matrix;
    double *inverse;
    double *work;
    uint8_t *is_lost;
    int64_t *rows; // [n] of the whole: contrasts, offsets, physical
} errors;

int32_t tess_xp_status_of(double x, double lower, double upper)
{
    if (fabs(x - lower) < at_bound * (1 + fabs(lower))) {
        return TESS_XPCS_AT_LOWER;
    }
    return fabs(x - upper) < at_bound * (1 + fabs(upper)) ? TESS_XPCS_AT_UPPER : TESS_XPCS_FREE;
}

static void find_statuses(errors *x)
{
    const tess_xp_problem *p = x->problem;
    tess_xpcs_result *r = x->result;
    for (int64_t k = 0; k < p->n_param; k++) {
        r->status[k] = p->is_fixed[k] ? TESS_XPCS_FIXED
                                      : tess_xp_status_of(r->theta[k], p->lower[k], p->upper[k]);
    }
    const bool is_series = p->scaling.mode == TESS_XPCS_SCALING_FOURIER;
    for (int64_t a = 0; a < p->n_angle; a++) {
        if (!tess_xp_step_is_robust(x->engine)) {
            r->contrast_status[a] = x->engine->final.contrast_status[a];
            r->offset_status[a] = x->engine->final.offset_status[a];
        } else if (p->scaling.n_basis == 0) {
            r->contrast_status[a] = r->offset_status[a] = TESS_XPCS_FIXED;
        } else if (!is_series) {
            r->contrast_status[a] =
                tess_xp_status_of(r->contrast[a], p->scaling.lower[0], p->scaling.upper[0]);
            r->offset_status[a] =
                tess_xp_status_of(r->offset[a], p->scaling.lower[1], p->scaling.upper[1]);
        }
    }
}

static tess_status take_room(errors *x, int64_t n)
{
    const int64_t n_double = n * n * 2 + n * (3 * n + 4);
    x->n = n;
    x->block_bytes = (size_t)n_double * sizeof(double) + (size_t)n * (sizeof(int64_t) + 1);
    x->block = tess_heap_alloc_zero(&x->engine->ctx->heap, x->block_bytes, TESS_TAG_SCRATCH,
                                    "matrices of the covariance");
    if (!x->block) {
        return TESS_E_MEMORY;
    }
    x->matrix = x->block;
    x->inverse = x->matrix + n * n;
    x->work = x->inverse + n * n;
    x->rows = (int64_t *)(x->block + n_double);
    x->is_lost = (uint8_t *)(x->rows + n);
    return TESS_OK;
}

// Chooses the free physical parameters, with one that lies at a bound if it is not -1.
static int64_t choose(const errors *x, int64_t besides, int64_t *chosen)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->problem->n_free; i++) {
        const int64_t k = x->problem->free_index[i];
        if (x->result->status[k] == TESS_XPCS_FREE ||
            x->result->status[k] == TESS_XPCS_UNIDENTIFIED || k == besides) {
            chosen[n++] = k;
        }
    }
    return n;
}

// Covariance of the chosen physical parameters, scaling eliminated, into inverse.
static double invert_reduced(errors *x, const int64_t *chosen, int64_t n)
{
    const int64_t p = x->problem->n_param;
    for (int64_t i = 0; i < n * n; i++) {
        x->matrix[i] = x->engine->final.hessian[chosen[i / n] * p + chosen[i % n]];
    }
    return tess_xp_invert(x->matrix, n, x->inverse, x->is_lost, x->work);
}

// Of a parameter at its bound: as if it were free, the other ones at bounds not.
static void add_bound(errors *x, int64_t k)
{
    int64_t chosen[TESS_XPCS_MAX_PARAM];
    const int64_t n = choose(x, k, chosen);
    const int64_t m = x->result->info.n_covariance;
    const int64_t row = 2 * x->problem->n_angle + k;
    (void)invert_reduced(x, chosen, n);
    for (int64_t i = 0; i < n; i++) {
        if (chosen[i] == k) {
            x->result->covariance[row * m + row] =
                x->is_lost[i] ? (double)INFINITY : x->variance * x->inverse[i * n + i];
        }
    }
}

// Has a row in the inverse, identified or not.
static bool is_inverted(int32_t status)
{
    return status == TESS_XPCS_FREE || status == TESS_XPCS_UNIDENTIFIED;
}

// Of one angle; infinite where the contrast is given.
static double signal_of(const tess_xpcs_result *r, int64_t a, double variance)
{
    const double c = r->contrast[a];
    if (r->contrast_status[a] == TESS_XPCS_UNIDENTIFIED || !(c > 0)) {
        return 0;
    }
    return variance > 0 ? c * c / variance : (double)INFINITY;
}

// Contrasts and offsets: their own errors, and those that physical parameters hand on to them.
static tess_status add_scaling(errors *x)
{
    const tess_xp_problem *p = x->problem;
    const int64_t u = 2 * p->n_angle;
    const int64_t np = p->n_param;
    const int64_t m = u + np;
    double *cov = x->result->covariance;
    const double *response = x->engine->final.response;
    const size_t bytes = (size_t)(u * u + u * np) * sizeof(double);
    double *own = tess_heap_alloc_zero(&x->engine->ctx->heap, bytes, TESS_TAG_SCRATCH,
                                       "covariance of the scaling");
    if (!own) {
        return TESS_E_MEMORY;
    }
    double *handed = own + u * u; // response times the covariance of theta
    tess_xp_scaling_inverse(&p->scaling, x->engine->final_sums, &x->engine->final, own);
    for (int64_t a = 0; a < p->n_angle; a++) {
        x->result->signal += signal_of(x->result, a, x->variance * own[a * (u + 1)]);
    }
    for (int64_t i = 0; i < u; i++) {
        for (int64_t k = 0; k < np; k++) {
            for (int64_t l = 0; l < np; l++) {
                const double c = cov[(u + l) * m + u + k];
                const bool is_known =
                    is_inverted(x->result->status[l]) && is_inverted(x->result->status[k]);
                handed[i * np + k] += is_known ? response[i * np + l] * c : 0;
            }
            cov[i * m + u + k] = cov[(u + k) * m + i] = handed[i * np + k];
        }
    }
    for (int64_t i = 0; i < u; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = x->variance * own[i * u + j];
            for (int64_t k = 0; k < np; k++) {
                sum += handed[i * np + k] * response[j * np + k];
            }
            cov[i * m + j] = cov[j * m + i] = sum;
        }
    }
    tess_heap_free(&x->engine->ctx->heap, own, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

static tess_status fill_reduced(errors *x)
{
    int64_t chosen[TESS_XPCS_MAX_PARAM];
    tess_xpcs_result *r = x->result;
    const int64_t u = 2 * x->problem->n_angle;
    const int64_t m = r->info.n_covariance;
    TESS_TRY(take_room(x, x->problem->n_param));
    const int64_t n = choose(x, -1, chosen);
    r->info.condition = invert_reduced(x, chosen, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            r->covariance[(u + chosen[i]) * m + u + chosen[j]] =
                x->variance * x->inverse[i * n + j];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (x->is_lost[i]) {
            r->status[chosen[i]] = TESS_XPCS_UNIDENTIFIED;
        }
    }
    for (int64_t k = 0; k < x->problem->n_param; k++) {
        if (r->status[k] == TESS_XPCS_AT_LOWER || r->status[k] == TESS_XPCS_AT_UPPER) {
            add_bound(x, k);
        }
    }
    return add_scaling(x);
}

// Where unknown i of the scaling stands, judged by the first angle that follows it.
static bool is_unknown_free(const errors *x, int64_t i)
{
    const tess_xp_scaling *s = &x->problem->scaling;
    const int64_t which = i % s->n_basis;
    const int64_t angle = s->mode == TESS_XPCS_SCALING_INDIVIDUAL ? which : 0;
    const int32_t *status = i < s->n_basis ? x->result->contrast_status : x->result->offset_status;
    return s->mode == TESS_XPCS_SCALING_FOURIER || status[angle] == TESS_XPCS_FREE;
}

// Derivative of row i of the whole (contrasts, offsets, physical) by parameter j of the matrix.
static double follow(const errors *x, int64_t row, int64_t parameter)
{
    const tess_xp_scaling *s = &x->problem->scaling;
    const int64_t n = s->n_angle;
    const int64_t nb = s->n_basis;
    if (parameter >= 2 * nb) {
        return row - 2 * n == parameter - 2 * nb;
    }
    const bool is_offset = parameter >= nb;
    if (row >= 2 * n || (row >= n) != is_offset) {
        return 0;
    }
    return tess_xp_scaling_weight(s, row - (is_offset ? n : 0), parameter - (is_offset ? nb : 0));
}

// All parameters that are free, those of the scaling among them.
static int64_t choose_explicit(errors *x)
{
    const int64_t m = tess_xp_scaling_n_unknown(&x->problem->scaling);
    int64_t n = 0;
    for (int64_t i = 0; i < m; i++) {
        if (is_unknown_free(x, i)) {
            x->rows[n++] = i;
        }
    }
    for (int64_t i = 0; i < x->problem->n_free; i++) {
        const int64_t k = x->problem->free_index[i];
        if (x->result->status[k] == TESS_XPCS_FREE) {
            x->rows[n++] = m + k;
        }
    }
    return n;
}

// Covariance of everything from that of the parameters, row by row.
static void spread_explicit(errors *x, int64_t n)
{
    const int64_t m = x->result->info.n_covariance;
    double *half = x->work;
    for (int64_t i = 0; i < m; i++) {
        memset(half, 0, (size_t)n * sizeof *half);
        for (int64_t k = 0; k < n; k++) {
            const double f = follow(x, i, x->rows[k]);
            for (int64_t l = 0; l < n && f != 0; l++) {
                half[l] += f * x->inverse[k * n + l];
            }
        }
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t l = 0; l < n; l++) {
                sum += half[l] * follow(x, j, x->rows[l]);
            }
            x->result->covariance[i * m + j] = x->variance * sum;
        }
    }
}

// Parameters at a bound: as if they were free, all others fixed. full [all][all] is the Hessian.
static void add_bounds_explicit(errors *x, const double *full, int64_t all)
{
    const tess_xp_scaling *s = &x->problem->scaling;
    const int64_t n = s->n_angle;
    const int64_t m = x->result->info.n_covariance;
    for (int64_t i = 0; i < m; i++) {
        const int64_t own = s->mode == TESS_XPCS_SCALING_INDIVIDUAL ? i % n : 0;
        const int32_t status = i < n       ? x->result->contrast_status[i]
                               : i < 2 * n ? x->result->offset_status[i - n]
                                           : x->result->status[i - 2 * n];
        const int64_t row = i < n ? own : i < 2 * n ? s->n_basis + own : i - 2 * n + 2 * s->n_basis;
        if (status == TESS_XPCS_AT_LOWER || status == TESS_XPCS_AT_UPPER) {
            x->result->covariance[i * m + i] = x->variance / full[row * (all + 1)];
        }
    }
}

// Parameters of the matrix that cannot be told, and all that follow them.
static void mark_explicit(errors *x, int64_t n)
{
    const tess_xp_scaling *s = &x->problem->scaling;
    tess_xpcs_result *r = x->result;
    for (int64_t i = 0; i < n; i++) {
        if (x->is_lost[i] && x->rows[i] >= 2 * s->n_basis) {
            r->status[x->rows[i] - 2 * s->n_basis] = TESS_XPCS_UNIDENTIFIED;
        }
        for (int64_t row = 0; row < 2 * s->n_angle && x->is_lost[i]; row++) {
            if (follow(x, row, x->rows[i]) != 0) {
                *(row < s->n_angle ? &r->contrast_status[row]
                                   : &r->offset_status[row - s->n_angle]) = TESS_XPCS_UNIDENTIFIED;
            }
        }
    }
}

// With the offset free; a series' contrast is taken as given.
static void add_signal_explicit(errors *x, const double *full, int64_t all)
{
    const tess_xp_scaling *s = &x->problem->scaling;
    const bool is_series = s->mode == TESS_XPCS_SCALING_FOURIER || s->n_basis == 0;
    for (int64_t a = 0; a < s->n_angle; a++) {
        const int64_t c = s->mode == TESS_XPCS_SCALING_INDIVIDUAL ? a : 0;
        const int64_t o = c + s->n_basis;
        double variance = 0;
        if (!is_series) {
            const double shared = full[c * all + o] * full[c * all + o] / full[o * (all + 1)];
            variance = x->variance / (full[c * (all + 1)] - shared);
        }
        x->result->signal += signal_of(x->result, a, variance);
    }
}

static tess_status fill_explicit(errors *x)
{
    const tess_xp_problem *p = x->problem;
    const int64_t u = tess_xp_scaling_n_unknown(&p->scaling);
    const int64_t all = u + p->n_param;
    double cost = 0;
    TESS_TRY(take_room(x, all));
    double *full = x->inverse;
    tess_xp_scaling_explicit(&p->scaling, x->engine->final_sums, x->engine->final.contrast, &cost,
                             x->work, full);
    const int64_t n = choose_explicit(x);
    for (int64_t i = 0; i < n * n; i++) {
        x->matrix[i] = full[x->rows[i / n] * all + x->rows[i % n]];
    }
    x->result->info.condition = tess_xp_invert(x->matrix, n, x->inverse, x->is_lost, x->work);
    spread_explicit(x, n);
    tess_xp_scaling_explicit(&p->scaling, x->engine->final_sums, x->engine->final.contrast, &cost,
                             x->work, x->matrix);
    add_bounds_explicit(x, x->matrix, all);
    add_signal_explicit(x, x->matrix, all);
    mark_explicit(x, n);
    return TESS_OK;
}

void tess_xp_covariance_conclude(tess_xpcs_result *r)
{
    const int64_t n = r->info.n_angle;
    const int64_t m = r->info.n_covariance;
    for (int64_t i = 0; i < m; i++) {
        const int32_t status = i < n       ? r->contrast_status[i]
                               : i < 2 * n ? r->offset_status[i - n]
                                           : r->status[i - 2 * n];
        if (status == TESS_XPCS_UNIDENTIFIED) {
            for (int64_t j = 0; j < m; j++) {
                r->covariance[i * m + j] = r->covariance[j * m + i] = 0;
            }
            r->covariance[i * m + i] = (double)INFINITY;
        }
        double *sd = i < n       ? &r->contrast_sd[i]
                     : i < 2 * n ? &r->offset_sd[i - n]
                                 : &r->sd[i - 2 * n];
        *sd = sqrt(r->covariance[i * m + i]);
    }
    for (int64_t i = 0; i < m * m; i++) {
        const double square = r->covariance[i / m * (m + 1)] * r->covariance[i % m * (m + 1)];
        const double c = i / m == i % m ? 1 : r->covariance[i] / sqrt(square);
        r->correlation[i] = square > 0 && isfinite(square) ? fmin(fmax(c, -1), 1) : i / m == i % m;
    }
}

// f0 and f2 of two components enter as f0 exp(-f1 f2) alone: with both free f2 counts as given, and
// what is known is the product.
static bool is_product_only(const tess_xp_problem *p)
{
    return p->model.mode == TESS_XPCS_TWO_COMPONENT && !p->is_fixed[TESS_XP_F0] &&
           !p->is_fixed[TESS_XP_F2];
}

static void fill_product(const errors *x)
{
    tess_xpcs_result *r = x->result;
    const double *f = r->theta + TESS_XP_F0;
    const int64_t m = r->info.n_covariance;
    const double *cov = r->covariance + (2 * x->problem->n_angle + TESS_XP_F0) * (m + 1);
    const double power = exp(-f[1] * f[2]);
    const double by[3] = {power, -f[2] * f[0] * power, -f[1] * f[0] * power};
    double variance = 0;
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 3; j++) {
            variance += by[i] * by[j] * cov[i * m + j];
        }
    }
    r->info.f_product = f[0] * power;
    r->info.f_product_sd = sqrt(fmax(variance, 0));
}

static tess_status fill(errors *x)
{
    const bool is_two = x->problem->model.mode == TESS_XPCS_TWO_COMPONENT;
    const bool is_lost = is_product_only(x->problem);
    int32_t *status = x->result->status;
    if (is_lost) {
        status[TESS_XP_F2] = TESS_XPCS_FIXED;
    }
    TESS_TRY(tess_xp_step_is_robust(x->engine) ? fill_explicit(x) : fill_reduced(x));
    if (is_two) {
        fill_product(x);
    }
    if (is_lost) {
        status[TESS_XP_F0] = status[TESS_XP_F2] = TESS_XPCS_UNIDENTIFIED;
    }
    tess_xp_covariance_conclude(x->result);
    return TESS_OK;
}

tess_status tess_xp_covariance_fill(const tess_xp_engine *engine, tess_xpcs_result *result)
{
    const tess_xp_problem *p = engine->problem;
    errors x = {.engine = engine, .problem = p, .result = result};
    const double dof = (double)(p->data->info.n_used - tess_xp_problem_n_free(p));
    x.variance = p->config.absolute_sigma ? 1 : engine->head->chi2 / fmax(dof, 1);
    x.variance *= p->config.counting == 1 ? 0.5 : 1;
    result->signal = 0;
    find_statuses(&x);
    result->info.f_product = result->info.f_product_sd = (double)NAN;
    const tess_status status = fill(&x);
    if (x.block) {
        tess_heap_free(&engine->ctx->heap, x.block, x.block_bytes, TESS_TAG_SCRATCH);
    }
    return status;
}

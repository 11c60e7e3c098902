#include "numerics/trust_region.h"

#include "numerics/symmetric.h"
#include "numerics/trust_step.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    VECTORS = 17, // of n numbers, then MATRICES of n x n
    MATRICES = 4,
    WORK = 3,
    MAX_INNER = 100,
    JACOBI_MOST = 24, // larger ones by the tridiagonal matrix
};

static const double start_margin = 1e-10; // from a bound, as scipy's

// Reductions below this fraction of the cost are rounding: neither gained nor lost.
static const double rounding = 4 * DBL_EPSILON;

struct tess_trust {
    int64_t n;
    tess_trust_options options;
    double cost;
    double radius;
    double alpha; // damping
    double gradient_norm;
    double step_norm;
    double step_hat_norm;
    double predicted;
    double theta;
    int64_t iteration;
    int64_t nfev;
    int64_t inner;
    int32_t reserved;
    int32_t status;
    int32_t is_begun; // the first evaluation has come
    int32_t accepted;
    double data[];
};

typedef struct parts {
    double *x;
    double *trial;
    double *lower;
    double *upper;
    double *scale_inv;
    double *given; // 1 / x_scale; 0: from the Jacobian
    double *g;
    double *d;
    double *g_hat;
    double *values;
    double *product;
    double *step;
    double *step_hat;
    double *slope; // dv of Coleman and Li
    double *work;  // [WORK n]
    double *hessian;
    double *b;
    double *vectors;
    double *scratch; // [n][n]
} parts;

static parts parts_of(const tess_trust *state)
{
    double *at = (double *)(uintptr_t)state->data; // views only read
    const int64_t n = state->n;
    parts p;
    double **const small[] = {&p.x,       &p.trial, &p.lower,    &p.upper, &p.scale_inv,
                              &p.given,   &p.g,     &p.d,        &p.g_hat, &p.values,
                              &p.product, &p.step,  &p.step_hat, &p.slope, &p.work};
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
        *small[k] = at;
        at += n;
    }
    at += (WORK - 1) * n;
    double **const large[] = {&p.hessian, &p.b, &p.vectors, &p.scratch};
    for (size_t k = 0; k < MATRICES; k++) {
        *large[k] = at;
        at += n * n;
    }
    return p;
}

size_t tess_trust_bytes(int64_t n)
{
    return sizeof(tess_trust) + (size_t)(VECTORS * n + MATRICES * n * n) * sizeof(double);
}

static double into_bounds(double x, double lower, double upper)
{
    const double below = start_margin * fmax(1, fabs(lower));
    const double above = start_margin * fmax(1, fabs(upper));
    if (isfinite(lower) && x - lower <= fmin(upper - x, below)) {
        x = lower + below;
    } else if (isfinite(upper) && upper - x <= fmin(x - lower, above)) {
        x = upper - above;
    }
    return x < lower || x > upper ? 0.5 * (lower + upper) : x;
}

void tess_trust_begin(tess_trust *state, int64_t n, const double *x0, const double *lower,
                      const double *upper, const double *x_scale, const tess_trust_options *options)
{
    memset(state, 0, tess_trust_bytes(n));
    state->n = n;
    state->options = *options;
    const parts p = parts_of(state);
    for (int64_t i = 0; i < n; i++) {
        p.lower[i] = lower[i];
        p.upper[i] = upper[i];
        p.trial[i] = p.x[i] = into_bounds(x0[i], lower[i], upper[i]);
        p.given[i] = x_scale && x_scale[i] > 0 ? 1 / x_scale[i] : 0;
    }
}

const double *tess_trust_trial(const tess_trust *state)
{
    return parts_of(state).trial;
}

// Keeps the evaluation as the best one.
static void accept(tess_trust *state, double cost, const double *gradient, const double *hessian)
{
    const parts p = parts_of(state);
    const int64_t n = state->n;
    memcpy(p.x, p.trial, (size_t)n * sizeof *p.x);
    memcpy(p.g, gradient, (size_t)n * sizeof *p.g);
    memcpy(p.hessian, hessian, (size_t)(n * n) * sizeof *p.hessian);
    state->cost = cost;
    for (int64_t i = 0; i < n; i++) {
        const double column = sqrt(fmax(hessian[i * n + i], 0));
        if (p.given[i] > 0) {
            p.scale_inv[i] = p.given[i];
        } else if (state->is_begun) {
            p.scale_inv[i] = fmax(p.scale_inv[i], column);
        } else {
            p.scale_inv[i] = column > 0 ? column : 1;
        }
    }
}

// Distance to the bound that the gradient drives towards, 1 without one; slope its derivative.
static double distance(const parts *p, int64_t i, double *slope)
{
    *slope = 0;
    if (p->g[i] < 0 && isfinite(p->upper[i])) {
        *slope = -1;
        return p->upper[i] - p->x[i];
    }
    if (p->g[i] > 0 && isfinite(p->lower[i])) {
        *slope = 1;
        return p->x[i] - p->lower[i];
    }
    return 1;
}

// d and slope at x; the norm of the gradient there, and on the first time the radius.
static void scale_by_bounds(tess_trust *state)
{
    const parts p = parts_of(state);
    double largest = 0;
    double square = 0;
    for (int64_t i = 0; i < state->n; i++) {
        double v = distance(&p, i, &p.slope[i]);
        largest = fmax(largest, fabs(p.g[i] * v));
        v *= p.slope[i] != 0 ? p.scale_inv[i] : 1;
        const double first = p.x[i] * p.scale_inv[i] / sqrt(v);
        square += first * first;
        p.d[i] = sqrt(v) / p.scale_inv[i];
    }
    state->gradient_norm = largest;
    if (!state->is_begun) {
        state->radius = square > 0 && isfinite(square) ? sqrt(square) : 1;
    }
}

// The quadratic model at x and its eigenvectors.
static void make_model(tess_trust *state)
{
    const parts p = parts_of(state);
    const int64_t n = state->n;
    for (int64_t i = 0; i < n; i++) {
        p.g_hat[i] = p.d[i] * p.g[i];
        for (int64_t j = 0; j < n; j++) {
            p.b[i * n + j] = p.d[i] * p.hessian[i * n + j] * p.d[j];
        }
        p.b[i * n + i] += fmax(p.g[i] * p.slope[i] / p.scale_inv[i], 0);
    }
    memcpy(p.scratch, p.b, (size_t)(n * n) * sizeof *p.b);
    if (n <= JACOBI_MOST) {
        tess_symmetric_eigen(p.scratch, n, p.values, p.vectors);
    } else {
        tess_symmetric_eigen_ql(p.scratch, n, p.values, p.vectors, p.work);
    }
    for (int64_t i = 0; i < n; i++) {
        p.values[i] = fmax(p.values[i], 0);
        p.product[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            p.product[i] += p.vectors[i * n + k] * p.g_hat[k];
        }
    }
    state->theta = fmax(0.995, 1 - state->gradient_norm);
}

static double scaled_norm(const tess_trust *state, const double *x)
{
    const parts p = parts_of(state);
    double square = 0;
    for (int64_t i = 0; i < state->n; i++) {
        const double part = state->options.plain_xtol ? x[i] : x[i] * p.scale_inv[i];
        square += part * part;
    }
    return sqrt(square);
}

static tess_trust_request finish(tess_trust *state, int32_t status)
{
    state->status = status;
    return TESS_TRUST_DONE;
}

static double inside(const parts *p, int64_t i, double x)
{
    if (x <= p->lower[i]) {
        return nextafter(p->lower[i], p->upper[i]);
    }
    return x >= p->upper[i] ? nextafter(p->upper[i], p->lower[i]) : x;
}

void tess_trust_set_trial(tess_trust *state, const double *x)
{
    const parts p = parts_of(state);
    for (int64_t i = 0; i < state->n; i++) {
        p.trial[i] = inside(&p, i, x[i]);
    }
}

// The next trial point.
static tess_trust_request propose(tess_trust *state)
{
    const parts p = parts_of(state);
    const int64_t n = state->n;
    if (++state->inner > MAX_INNER) {
        return finish(state, -3);
    }
    const tess_trust_model model = {.n = n,
                                    .x = p.x,
                                    .lower = p.lower,
                                    .upper = p.upper,
                                    .d = p.d,
                                    .g_hat = p.g_hat,
                                    .b = p.b,
                                    .values = p.values,
                                    .vectors = p.vectors,
                                    .product = p.product,
                                    .theta = state->theta};
    state->predicted =
        tess_trust_step(&model, state->radius, &state->alpha, p.step, p.step_hat, p.work);
    double square = 0;
    for (int64_t i = 0; i < n; i++) {
        p.trial[i] = inside(&p, i, p.x[i] + p.step[i]);
        square += p.step_hat[i] * p.step_hat[i];
    }
    state->step_hat_norm = sqrt(square);
    state->step_norm = scaled_norm(state, p.step);
    return TESS_TRUST_EVALUATE;
}

// At a new x, or where the evaluations are used up.
static tess_trust_request iterate(tess_trust *state)
{
    scale_by_bounds(state);
    if (state->gradient_norm < state->options.gtol || state->n == 0) {
        return finish(state, 1);
    }
    if (state->nfev >= state->options.max_nfev) {
        return finish(state, 0);
    }
    make_model(state);
    state->inner = 0;
    return propose(state);
}

// What the step was worth; the radius follows. 0: go on, otherwise the status to end with.
static int32_t judge(tess_trust *state, double actual)
{
    const double floor = rounding * state->cost;
    double ratio = state->predicted > 0 ? actual / state->predicted : 0;
    if (fabs(actual) <= floor && state->predicted <= floor) {
        ratio = 1;
    }
    const double before = state->radius;
    if (ratio < 0.25) {
        state->radius = 0.25 * state->step_hat_norm;
    } else if (ratio > 0.75 && state->step_hat_norm > 0.95 * state->radius) {
        state->radius *= 2;
    }
    if (state->radius > 0) {
        state->alpha *= before / state->radius;
    }
    const double xtol = state->options.xtol;
    const int by_cost = actual < state->options.ftol * state->cost && ratio > 0.25;
    const int by_step = state->step_norm < xtol * (xtol + scaled_norm(state, parts_of(state).x)) ||
                        state->step_hat_norm == 0;
    return by_cost && by_step ? 4 : by_cost ? 2 : by_step ? 3 : 0;
}

static int is_finite(const tess_trust *state, double cost, const double *gradient,
                     const double *hessian)
{
    double sum = cost;
    for (int64_t i = 0; i < state->n; i++) {
        sum += 0 * gradient[i];
    }
    for (int64_t i = 0; i < state->n * state->n; i++) {
        sum += 0 * hessian[i];
    }
    return isfinite(sum);
}

tess_trust_request tess_trust_next(tess_trust *state, double cost, const double *gradient,
                                   const double *hessian)
{
    const int is_usable = is_finite(state, cost, gradient, hessian);
    state->nfev++;
    state->accepted = 0;
    if (!state->is_begun) {
        if (!is_usable) {
            return finish(state, -1);
        }
        accept(state, cost, gradient, hessian);
        state->accepted = 1;
        const tess_trust_request next = iterate(state);
        state->is_begun = 1;
        return next;
    }
    if (!is_usable) {
        state->radius = 0.25 * state->step_hat_norm;
        return state->nfev >= state->options.max_nfev ? finish(state, 0) : propose(state);
    }
    const double actual = state->cost - cost;
    const int32_t status = judge(state, actual);
    if (actual > 0) {
        accept(state, cost, gradient, hessian);
        state->accepted = 1;
        state->iteration++;
        scale_by_bounds(state);
    }
    if (status != 0) {
        return finish(state, status);
    }
    if (actual > 0) {
        return iterate(state);
    }
    return state->nfev >= state->options.max_nfev ? finish(state, 0) : propose(state);
}

void tess_trust_look(const tess_trust *state, tess_trust_view *view)
{
    const parts p = parts_of(state);
    *view = (tess_trust_view){.x = p.x,
                              .cost = state->cost,
                              .gradient = p.g,
                              .hessian = p.hessian,
                              .scale = p.scale_inv,
                              .gradient_norm = state->gradient_norm,
                              .step_norm = state->step_norm,
                              .radius = state->radius,
                              .status = state->status,
                              .accepted = state->accepted,
                              .iteration = state->iteration,
                              .nfev = state->nfev};
}

#include "numerics/box_step.h"

#include "numerics/cholesky.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// Added to the diagonal of 1s: where two parameters have one effect the matrix is singular, and
// whether its rounding leaves it positive definite must not decide. Well below what is told apart.
static const double ridge = 1e-12;

enum { TURNS = 4 }; // for a parameter: to meet a bound, leave it, and meet another

typedef struct model {
    int64_t n;
    const double *hessian;
    const double *x;
    const double *lower;
    const double *upper;
    double *step;
    double *rest;   // gradient where the step has come to
    double *scale;  // 1 / sqrt of the diagonal; 0: stays
    double *move;   // of this turn
    double *matrix; // [n][n]
} model;

// At a bound that the gradient presses against.
static bool is_pressed(const model *m, int64_t i)
{
    const double at = m->x[i] + m->step[i];
    return (at <= m->lower[i] && m->rest[i] > 0) || (at >= m->upper[i] && m->rest[i] < 0);
}

// Newton's step of what is free. False: its matrix is not positive definite.
static bool solve(const model *m)
{
    for (int64_t i = 0; i < m->n; i++) {
        m->move[i] = -m->scale[i] * m->rest[i];
        for (int64_t j = 0; j < m->n; j++) {
            m->matrix[i * m->n + j] = m->scale[i] * m->hessian[i * m->n + j] * m->scale[j];
        }
        if (m->scale[i] == 0) {
            m->matrix[i * (m->n + 1)] = 1;
        }
        m->matrix[i * (m->n + 1)] += ridge;
    }
    if (!tess_cholesky(m->matrix, m->n)) {
        return false;
    }
    tess_cholesky_solve(m->matrix, m->n, m->move);
    for (int64_t i = 0; i < m->n; i++) {
        m->move[i] *= m->scale[i];
    }
    return true;
}

// Moves on, at most to the first bound; that parameter stays from then on. False: none was met.
static bool advance(const model *m)
{
    double part = 1;
    int64_t hit = -1;
    for (int64_t i = 0; i < m->n; i++) {
        const double at = m->x[i] + m->step[i];
        const double bound = m->move[i] < 0 ? m->lower[i] : m->upper[i];
        if (m->move[i] != 0 && (bound - at) / m->move[i] < part) {
            part = fmax((bound - at) / m->move[i], 0);
            hit = i;
        }
    }
    for (int64_t i = 0; i < m->n; i++) {
        m->step[i] += part * m->move[i];
        for (int64_t j = 0; j < m->n; j++) {
            m->rest[i] += part * m->hessian[i * m->n + j] * m->move[j];
        }
    }
    if (hit >= 0) {
        m->step[hit] = (m->move[hit] < 0 ? m->lower[hit] : m->upper[hit]) - m->x[hit];
        m->scale[hit] = 0;
    }
    return hit >= 0;
}

// Lets go of what the gradient does not press against its bound any more. False: nothing.
static bool release(const model *m, const uint8_t *is_held)
{
    bool is_any = false;
    for (int64_t i = 0; i < m->n; i++) {
        const double at = m->x[i] + m->step[i];
        const double curvature = m->hessian[i * (m->n + 1)];
        const bool is_bound =
            (at <= m->lower[i] && m->rest[i] < 0) || (at >= m->upper[i] && m->rest[i] > 0);
        if (m->scale[i] == 0 && curvature > 0 && is_bound && m->lower[i] < m->upper[i] &&
            !(is_held && is_held[i])) {
            m->scale[i] = 1 / sqrt(curvature);
            is_any = true;
        }
    }
    return is_any;
}

double tess_box_step(int64_t n, const double *gradient, const double *hessian, const double *x,
                     const double *lower, const double *upper, const uint8_t *is_held, double *step,
                     double *work)
{
    const model m = {.n = n,
                     .hessian = hessian,
                     .x = x,
                     .lower = lower,
                     .upper = upper,
                     .step = step,
                     .rest = work,
                     .scale = work + n,
                     .move = work + 2 * n,
                     .matrix = work + 4 * n};
    memset(step, 0, (size_t)n * sizeof *step);
    memcpy(m.rest, gradient, (size_t)n * sizeof *gradient);
    for (int64_t i = 0; i < n; i++) {
        const double curvature = hessian[i * (n + 1)];
        const bool stays = (is_held && is_held[i]) || is_pressed(&m, i) || !(curvature > 0);
        m.scale[i] = stays ? 0 : 1 / sqrt(curvature);
    }
    for (int64_t turn = 0; turn <= TURNS * n; turn++) {
        if (!solve(&m)) {
            return (double)NAN;
        }
        if (!advance(&m) && !release(&m, is_held)) {
            break;
        }
    }
    double gain = 0;
    for (int64_t i = 0; i < n; i++) {
        gain -= 0.5 * (gradient[i] + m.rest[i]) * step[i];
    }
    return gain;
}

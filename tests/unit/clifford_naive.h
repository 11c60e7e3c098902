// Gate and norm of clifford by their definitions, in double, and what runs their stages.
#ifndef TESS_TESTS_CLIFFORD_NAIVE_H
#define TESS_TESTS_CLIFFORD_NAIVE_H

#include "clifford_tensor.h"

enum { D_MAX = TESS_CLIFFORD_MAX_COMPONENTS, G_MAX = TESS_CLIFFORD_MAX_GRADES };

// f and f' by their definitions.
static inline void activate(int activation, double x, double *f, double *slope)
{
    const double c = sqrt(2 / acos(-1.0)), u = c * (x + 0.044715 * x * x * x);
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        *f = 0.5 * erfc(-x / sqrt(2));
        *slope = exp(-x * x / 2) / sqrt(2 * acos(-1.0));
        break;
    case TESS_CLIFFORD_GELU_TANH:
        *f = 0.5 * x * (1 + tanh(u));
        *slope = 0.5 * (1 + tanh(u)) +
                 0.5 * x * (1 - tanh(u) * tanh(u)) * c * (1 + 3 * 0.044715 * x * x);
        break;
    case TESS_CLIFFORD_RELU:
        *f = x > 0 ? x : 0;
        *slope = x > 0;
        break;
    case TESS_CLIFFORD_SIGMOID:
        *f = 1 / (1 + exp(-x));
        *slope = *f * (1 - *f);
        break;
    case TESS_CLIFFORD_TANH:
        *f = tanh(x);
        *slope = 1 - *f * *f;
        break;
    case TESS_CLIFFORD_SILU:
        *f = x / (1 + exp(-x));
        *slope = (1 + *f * exp(-x)) / (1 + exp(-x));
        break;
    default:
        *f = 1;
        *slope = 0;
        break;
    }
}

static inline void gate_naive(int activation, int d, const double *x, double *out)
{
    double f, slope;
    activate(activation, x[0], &f, &slope);
    for (int k = 0; k < d; k++) {
        out[k] = f * x[k];
    }
}

static inline void gate_back_naive(int activation, int d, const double *x, const double *g,
                                   double *out)
{
    double f, slope, dot = 0;
    activate(activation, x[0], &f, &slope);
    for (int k = 0; k < d; k++) {
        dot += x[k] * g[k];
        out[k] = f * g[k];
    }
    out[0] += slope * dot;
}

// The norm of one row o[k][n] and its backward pass; z or h may be NULL.
static inline void norm_naive(const tess_cl_problem *p, int64_t n, const double *o, const double *g,
                              double *z, double *h, double *r)
{
    const tess_clifford_algebra *al = p->algebra;
    double form[G_MAX] = {0}, dot[G_MAX] = {0};
    for (int64_t i = 0; i < n; i++) {
        double kappa[G_MAX] = {0};
        for (int k = 0; k < al->n_component; k++) {
            const double v = o[k * n + i];
            kappa[al->grade[k]] +=
                (p->norm_metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : al->eta[k]) * v * v;
            dot[al->grade[k]] += g ? g[k * n + i] * v : 0;
        }
        for (int q = 0; q < al->n_grade; q++) {
            const int is_size = p->norm_metric == TESS_CLIFFORD_NORM_ABS ||
                                p->norm_metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
            form[q] += is_size ? fabs(kappa[q]) : kappa[q];
        }
    }
    int is_low = 0;
    if (p->norm_metric >= TESS_CLIFFORD_NORM_CLAMP) { // and abs_clamp
        double all = 0, dots = 0;
        for (int q = 0; q < al->n_grade; q++) {
            all += form[q] / (double)n;
            dots += dot[q];
        }
        is_low = all < p->eps;
        for (int q = 0; q < al->n_grade; q++) {
            r[q] = sqrt(is_low ? p->eps : all);
            dot[q] = is_low ? 0 : dots;
        }
    } else {
        for (int q = 0; q < al->n_grade; q++) {
            r[q] = sqrt(form[q] / (double)n + p->eps);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double kappa[G_MAX] = {0};
        for (int k = 0; k < al->n_component; k++) {
            kappa[al->grade[k]] += al->eta[k] * o[k * n + i] * o[k * n + i];
        }
        for (int k = 0; k < al->n_component; k++) {
            const int q = al->grade[k];
            const double by = p->normalize ? r[q] : 1;
            const double sign = p->norm_metric == TESS_CLIFFORD_NORM_EUCLID  ? 1
                                : p->norm_metric == TESS_CLIFFORD_NORM_CLAMP ? al->eta[k]
                                : kappa[q] > 0                               ? al->eta[k]
                                : kappa[q] < 0                               ? -al->eta[k]
                                                                             : 0;
            if (z) {
                z[k * n + i] = o[k * n + i] / by;
            }
            if (h) {
                h[k * n + i] = g[k * n + i] / by;
                if (p->normalize) {
                    h[k * n + i] -= sign * o[k * n + i] * dot[q] / ((double)n * by * by * by);
                }
            }
        }
    }
}

// One row of a tensor, [k][n].
static inline void row_of(const tensor *t, int64_t row, double *out)
{
    for (int64_t k = 0; k < t->shape[0]; k++) {
        for (int64_t n = 0; n < t->shape[2]; n++) {
            out[k * t->shape[2] + n] = *value_at(t, k, row, n);
        }
    }
}

static inline void put_row(const tensor *t, int64_t row, const double *in)
{
    for (int64_t k = 0; k < t->shape[0]; k++) {
        for (int64_t n = 0; n < t->shape[2]; n++) {
            *value_at(t, k, row, n) = in[k * t->shape[2] + n];
        }
    }
}

static inline void run_stage(tess_context *ctx, int32_t stage, const void *args, size_t bytes)
{
    const tess_device *device = &ctx->cpu;
    assert_ok(device->backend->enqueue(device->queue, stage, args, bytes));
    assert_ok(device->backend->finish(device->queue));
}

static inline tess_clifford_algebra algebra_of(const char *text)
{
    tess_clifford_metric metric;
    tess_clifford_algebra algebra;
    assert_ok(tess_clifford_metric_parse(text, &metric));
    assert_ok(tess_clifford_algebra_init(&algebra, sizeof algebra, &metric));
    return algebra;
}

static inline tess_cl_problem problem_of(const tess_clifford_algebra *algebra, int64_t rows,
                                         int64_t features, int32_t dtype, int32_t pass)
{
    return (tess_cl_problem){.algebra = algebra,
                             .path_mask = (UINT64_C(1) << algebra->n_path) - 1,
                             .n_row = rows,
                             .n_in = features,
                             .n_out = features,
                             .dtype = dtype,
                             .weight_dtype = dtype,
                             .pass = pass,
                             .activation = TESS_CLIFFORD_GELU,
                             .normalize = 1,
                             .norm_metric = algebra->is_euclidean ? TESS_CLIFFORD_NORM_EUCLID
                                                                  : TESS_CLIFFORD_NORM_ABS,
                             .eps = 1e-6};
}

// Layouts differ from array to array, or are the same.
static inline layout other(layout how, int by)
{
    return (layout)(((int)how + by) % N_LAYOUT);
}

#endif

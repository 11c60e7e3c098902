// The norm of clifford in plain loops, and what describes a problem to be done in plain loops.
#ifndef TESS_TESTS_CLIFFORD_LOOPS_NORM_H
#define TESS_TESTS_CLIFFORD_LOOPS_NORM_H

#include "clifford_arrays.h"

typedef struct naive {
    const tess_clifford_op *op;
    int64_t n_row, n_in, n_out;
    const double *x, *y, *w, *linear_w, *bias, *gz; // NULL where there is none
    double *linear_out, *z, *r;                     // made by naive_forward()
    double *gx, *gy, *gw, *g_linear_w, *g_bias;     // made by naive_backward()
} naive;

static inline double *naive_zeros(int64_t n)
{
    double *values = cl_alloc((size_t)n * sizeof *values);
    memset(values, 0, (size_t)n * sizeof *values);
    return values;
}

static inline int naive_is_connected(const naive *v)
{
    return v->op->kind == TESS_CLIFFORD_FCGP || v->op->kind == TESS_CLIFFORD_FC_LAYER;
}

static inline int naive_is_layer(const naive *v)
{
    return v->op->kind == TESS_CLIFFORD_LAYER || v->op->kind == TESS_CLIFFORD_FC_LAYER;
}

// The mean that r^2 is made of, for a grade; clamp: over all grades, abs_clamp: the sizes of all.
static inline double naive_mean_square_of(const naive *v, const double *o, int64_t b, int g,
                                          int32_t metric)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    double sum = 0;
    for (int64_t n = 0; n < v->n_out; n++) {
        double form = 0;
        for (int k = 0; k < a->n_component; k++) {
            const double value = o[(k * v->n_row + b) * v->n_out + n];
            if (metric == TESS_CLIFFORD_NORM_CLAMP || a->grade[k] == g) {
                form += (metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : a->eta[k]) * value * value;
            }
        }
        sum += metric == TESS_CLIFFORD_NORM_ABS ? fabs(form) : form;
    }
    return sum / (double)v->n_out;
}

static inline double naive_mean_square(const naive *v, const double *o, int64_t b, int g)
{
    const int32_t metric = v->op->config.norm_metric;
    if (metric != TESS_CLIFFORD_NORM_ABS_CLAMP) {
        return naive_mean_square_of(v, o, b, g, metric);
    }
    double sum = 0;
    for (int q = 0; q < v->op->algebra.n_grade; q++) {
        sum += naive_mean_square_of(v, o, b, q, TESS_CLIFFORD_NORM_ABS);
    }
    return sum;
}

static inline int naive_has_one_r(const naive *v)
{
    return v->op->config.norm_metric == TESS_CLIFFORD_NORM_CLAMP ||
           v->op->config.norm_metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

static inline double naive_r(const naive *v, const double *o, int64_t b, int g)
{
    const double mean = naive_mean_square(v, o, b, g), eps = v->op->config.eps;
    if (naive_has_one_r(v)) {
        return sqrt(mean > eps ? mean : eps);
    }
    return sqrt(mean + eps);
}

// Half the derivative of the mean square's summand by o_k at (b, n), over o_k.
static inline double naive_slope(const naive *v, const double *o, int64_t b, int64_t n, int k)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    if (naive_has_one_r(v) && !(naive_mean_square(v, o, b, 0) > v->op->config.eps)) {
        return 0;
    }
    switch (v->op->config.norm_metric) {
    case TESS_CLIFFORD_NORM_EUCLID:
        return 1;
    case TESS_CLIFFORD_NORM_CLAMP:
        return a->eta[k];
    default: {
        double form = 0;
        for (int i = 0; i < a->n_component; i++) {
            const double value = o[(i * v->n_row + b) * v->n_out + n];
            form += a->grade[i] == a->grade[k] ? a->eta[i] * value * value : 0;
        }
        return (form > 0) - (form < 0) == 0 ? 0 : (form > 0 ? 1 : -1) * a->eta[k];
    }
    }
}

static inline double *naive_norm(const naive *v, const double *o, double *r)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    double *z = naive_zeros(a->n_component * v->n_row * v->n_out);
    for (int64_t b = 0; b < v->n_row; b++) {
        for (int k = 0; k < a->n_component; k++) {
            const double root = naive_r(v, o, b, a->grade[k]);
            r[a->grade[k] * v->n_row + b] = root;
            for (int64_t n = 0; n < v->n_out; n++) {
                const int64_t i = (k * v->n_row + b) * v->n_out + n;
                z[i] = o[i] / root;
            }
        }
    }
    return z;
}

static inline double *naive_norm_backward(const naive *v, const double *o, const double *gz)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    const int is_clamp = naive_has_one_r(v);
    double *h = naive_zeros(a->n_component * v->n_row * v->n_out);
    for (int64_t b = 0; b < v->n_row; b++) {
        double sum[TESS_CLIFFORD_MAX_GRADES] = {0};
        for (int k = 0; k < a->n_component; k++) {
            for (int64_t n = 0; n < v->n_out; n++) {
                const int64_t i = (k * v->n_row + b) * v->n_out + n;
                sum[is_clamp ? 0 : a->grade[k]] += gz[i] * o[i];
            }
        }
        for (int k = 0; k < a->n_component; k++) {
            const double r = naive_r(v, o, b, a->grade[k]);
            const double part = sum[is_clamp ? 0 : a->grade[k]] / ((double)v->n_out * r * r * r);
            for (int64_t n = 0; n < v->n_out; n++) {
                const int64_t i = (k * v->n_row + b) * v->n_out + n;
                h[i] = gz[i] / r - naive_slope(v, o, b, n, k) * o[i] * part;
            }
        }
    }
    return h;
}

#endif

// Clifford operations in plain loops over all terms, in double precision.
//
// Activations are [n_component][n_row][n_feature] of doubles; weights as in tess_clifford_arrays.
#ifndef TESS_TESTS_CLIFFORD_LOOPS_H
#define TESS_TESTS_CLIFFORD_LOOPS_H

#include "clifford_loops_norm.h"

// The factor of an activation and its derivative at s.
static inline double naive_factor(int32_t activation, double s, double *derivative)
{
    const double pi = 3.14159265358979323846;
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        *derivative = exp(-s * s / 2) / sqrt(2 * pi);
        return erfc(-s / sqrt(2)) / 2;
    case TESS_CLIFFORD_GELU_TANH: {
        const double c = sqrt(2 / pi), u = c * (s + 0.044715 * s * s * s), t = tanh(u);
        *derivative = (1 + t) / 2 + s * (1 - t * t) / 2 * c * (1 + 3 * 0.044715 * s * s);
        return s * (1 + t) / 2;
    }
    case TESS_CLIFFORD_RELU:
        *derivative = s > 0;
        return s > 0 ? s : 0;
    case TESS_CLIFFORD_SIGMOID: {
        const double f = 1 / (1 + exp(-s));
        *derivative = f * (1 - f);
        return f;
    }
    case TESS_CLIFFORD_TANH:
        *derivative = 1 / (cosh(s) * cosh(s));
        return tanh(s);
    case TESS_CLIFFORD_SILU: {
        const double f = 1 / (1 + exp(-s));
        *derivative = f + s * f * (1 - f);
        return s * f;
    }
    default:
        *derivative = 0;
        return 1;
    }
}

static inline double *naive_gate(const naive *v, const double *x)
{
    const int64_t plane = v->n_row * v->n_in;
    double *out = naive_zeros(v->op->algebra.n_component * plane), unused;
    for (int64_t i = 0; i < v->op->algebra.n_component * plane; i++) {
        out[i] = x[i] * naive_factor(v->op->config.activation, x[i % plane], &unused);
    }
    return out;
}

static inline double *naive_gate_backward(const naive *v, const double *x, const double *g)
{
    const int64_t plane = v->n_row * v->n_in;
    double *out = naive_zeros(v->op->algebra.n_component * plane);
    for (int64_t i = 0; i < v->op->algebra.n_component * plane; i++) {
        double slope;
        out[i] += g[i] * naive_factor(v->op->config.activation, x[i % plane], &slope);
        out[i % plane] += slope * x[i] * g[i];
    }
    return out;
}

// Weight of a term at input feature m and output feature n.
static inline int64_t naive_weight_index(const naive *v, int path, int64_t m, int64_t n)
{
    return naive_is_connected(v) ? (path * v->n_in + m) * v->n_out + n
                                 : m * v->op->algebra.n_path + path;
}

// Calls for every (term, row, m, n) are one loop: what is added where depends on what is wanted.
typedef struct naive_product {
    const double *x, *y, *h; // gated inputs; gradient of the result
    double *o;               // NULL: not wanted
    double *gx, *gy, *gw;
} naive_product;

static inline void naive_term(const naive *v, const naive_product *p, const tess_clifford_term *t,
                              int64_t b, int64_t m, int64_t n)
{
    const int64_t i = (t->i * v->n_row + b) * v->n_in + m;
    const int64_t j = (t->j * v->n_row + b) * v->n_in + m;
    const int64_t k = (t->k * v->n_row + b) * v->n_out + n;
    const int64_t at = naive_weight_index(v, t->path, m, n);
    const double w = t->sign * (v->w ? v->w[at] : 1);
    if (p->o) {
        p->o[k] += w * p->x[i] * p->y[j];
        return;
    }
    p->gx[i] += w * p->h[k] * p->y[j];
    p->gy[j] += w * p->h[k] * p->x[i];
    if (p->gw) {
        p->gw[at] += t->sign * p->h[k] * p->x[i] * p->y[j];
    }
}

static inline void naive_terms(const naive *v, const naive_product *p)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    for (int t = 0; t < a->n_term; t++) {
        if (!(v->op->path_mask >> a->terms[t].path & 1u)) {
            continue;
        }
        for (int64_t b = 0; b < v->n_row; b++) {
            for (int64_t m = 0; m < v->n_in; m++) {
                const int64_t first = naive_is_connected(v) ? 0 : m;
                const int64_t end = naive_is_connected(v) ? v->n_out : m + 1;
                for (int64_t n = first; n < end; n++) {
                    naive_term(v, p, &a->terms[t], b, m, n);
                }
            }
        }
    }
}

// Features of the linear map's result.
static inline int64_t naive_linear_width(const naive *v)
{
    return v->op->kind == TESS_CLIFFORD_LINEAR ? v->n_out : v->n_in;
}

static inline double *naive_linear(const naive *v)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    const int64_t width = naive_linear_width(v);
    double *out = naive_zeros(a->n_component * v->n_row * width);
    for (int64_t i = 0; i < a->n_component * v->n_row * width; i++) {
        const int64_t n = i % width, b = i / width % v->n_row, k = i / width / v->n_row;
        const int has_bias =
            v->bias && (k == 0 || v->op->config.bias_mode == TESS_CLIFFORD_BIAS_ALL);
        out[i] = has_bias ? v->bias[n] : 0;
        for (int64_t m = 0; m < v->n_in; m++) {
            out[i] += v->x[(k * v->n_row + b) * v->n_in + m] *
                      v->linear_w[(a->grade[k] * v->n_in + m) * width + n];
        }
    }
    return out;
}

// Adds to gx and makes the gradients of weight and bias.
static inline void naive_linear_backward(naive *v, const double *g)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    const int64_t width = naive_linear_width(v);
    v->g_linear_w = naive_zeros(a->n_grade * v->n_in * width);
    v->g_bias = naive_zeros(width);
    for (int64_t i = 0; i < a->n_component * v->n_row * width; i++) {
        const int64_t n = i % width, b = i / width % v->n_row, k = i / width / v->n_row;
        if (k == 0 || v->op->config.bias_mode == TESS_CLIFFORD_BIAS_ALL) {
            v->g_bias[n] += g[i];
        }
        for (int64_t m = 0; m < v->n_in; m++) {
            const int64_t at = (a->grade[k] * v->n_in + m) * width + n;
            const int64_t from = (k * v->n_row + b) * v->n_in + m;
            v->gx[from] += g[i] * v->linear_w[at];
            v->g_linear_w[at] += g[i] * v->x[from];
        }
    }
}

// The product of the gated inputs before the norm.
static inline double *naive_bare(const naive *v, const double *y)
{
    const int64_t n_item = v->op->algebra.n_component * v->n_row * v->n_out;
    const naive_product p = {
        .x = naive_gate(v, v->x), .y = naive_gate(v, y), .o = naive_zeros(n_item)};
    naive_terms(v, &p);
    return p.o;
}

static inline void naive_forward(naive *v)
{
    v->r = naive_zeros(v->op->algebra.n_grade * v->n_row);
    switch (v->op->kind) {
    case TESS_CLIFFORD_GATE:
        v->z = naive_gate(v, v->x);
        return;
    case TESS_CLIFFORD_NORM:
        v->z = naive_norm(v, v->x, v->r);
        return;
    case TESS_CLIFFORD_LINEAR:
        v->z = naive_linear(v);
        return;
    default:
        break;
    }
    v->linear_out = naive_is_layer(v) ? naive_linear(v) : NULL;
    double *o = naive_bare(v, v->linear_out ? v->linear_out : v->y);
    v->z = v->op->config.normalize ? naive_norm(v, o, v->r) : o;
}

static inline void naive_backward(naive *v)
{
    const tess_clifford_algebra *a = &v->op->algebra;
    v->gx = naive_zeros(a->n_component * v->n_row * v->n_in);
    switch (v->op->kind) {
    case TESS_CLIFFORD_GATE:
        v->gx = naive_gate_backward(v, v->x, v->gz);
        return;
    case TESS_CLIFFORD_NORM:
        v->gx = naive_norm_backward(v, v->x, v->gz);
        return;
    case TESS_CLIFFORD_LINEAR:
        naive_linear_backward(v, v->gz);
        return;
    default:
        break;
    }
    const double *y = naive_is_layer(v) ? naive_linear(v) : v->y;
    const double *h =
        v->op->config.normalize ? naive_norm_backward(v, naive_bare(v, y), v->gz) : v->gz;
    const int64_t n_weight = v->n_in * a->n_path * (naive_is_connected(v) ? v->n_out : 1);
    const int64_t n_item = a->n_component * v->n_row * v->n_in;
    const naive_product p = {.x = naive_gate(v, v->x),
                             .y = naive_gate(v, y),
                             .h = h,
                             .gx = naive_zeros(n_item),
                             .gy = naive_zeros(n_item),
                             .gw = naive_zeros(n_weight)};
    naive_terms(v, &p);
    v->gx = naive_gate_backward(v, v->x, p.gx);
    v->gy = naive_gate_backward(v, y, p.gy);
    v->gw = p.gw;
    if (naive_is_layer(v)) {
        naive_linear_backward(v, v->gy);
    }
}

#endif

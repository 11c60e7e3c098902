// Operations through the public calls, in any type and layout.
#ifndef TESS_TESTS_CLIFFORD_RUN_H
#define TESS_TESTS_CLIFFORD_RUN_H

#include "clifford_loops.h"

// How a problem given in doubles is put into arrays.
typedef struct cl_form {
    tess_dtype dtype;
    tess_dtype weight_dtype;
    cl_layout layout;
    int gives_back; // the backward pass gets statistics, linear_out and z of the forward pass
} cl_form;

// Everything an operation gives; NULL where it has none.
typedef struct cl_results {
    tess_array *z, *statistics, *linear_out;
    tess_array *gx, *gy, *gw, *g_linear_w, *g_bias;
} cl_results;

static inline tess_array *cl_activation(const naive *v, const cl_form *form, int64_t n_feature,
                                        const double *values)
{
    if (!values) {
        return cl_empty(form->dtype, form->layout, v->op->algebra.n_component, v->n_row, n_feature);
    }
    return cl_array(form->dtype, form->layout, v->op->algebra.n_component, v->n_row, n_feature,
                    values);
}

// An array like a weight of the problem; values NULL: of NaN.
static inline tess_array *cl_weight(const naive *v, const cl_form *form, const double *values)
{
    const int64_t n_path = v->op->algebra.n_path;
    int64_t shape[3] = {v->n_in, n_path, 0};
    if (naive_is_connected(v)) {
        shape[0] = n_path;
        shape[1] = v->n_in;
        shape[2] = v->n_out;
    }
    return values ? cl_array(form->weight_dtype, form->layout, shape[0], shape[1], shape[2], values)
                  : cl_empty(form->weight_dtype, form->layout, shape[0], shape[1], shape[2]);
}

static inline tess_array *cl_linear_weight(const naive *v, const cl_form *form,
                                           const double *values)
{
    const int64_t n_grade = v->op->algebra.n_grade, width = naive_linear_width(v);
    return values ? cl_array(form->weight_dtype, form->layout, n_grade, v->n_in, width, values)
                  : cl_empty(form->weight_dtype, form->layout, n_grade, v->n_in, width);
}

static inline tess_array *cl_bias(const naive *v, const cl_form *form, const double *values)
{
    const int64_t width = naive_linear_width(v);
    return values ? cl_array(form->weight_dtype, form->layout, width, 0, 0, values)
                  : cl_empty(form->weight_dtype, form->layout, width, 0, 0);
}

static inline tess_clifford_arrays cl_inputs(const naive *v, const cl_form *form)
{
    tess_clifford_arrays in = CL_ARRAYS(.x = cl_activation(v, form, v->n_in, v->x));
    in.y = v->y ? cl_activation(v, form, v->n_in, v->y) : NULL;
    in.weight = v->w ? cl_weight(v, form, v->w) : NULL;
    in.linear_weight = v->linear_w ? cl_linear_weight(v, form, v->linear_w) : NULL;
    in.bias = v->bias ? cl_bias(v, form, v->bias) : NULL;
    return in;
}

static inline int cl_has_norm(const naive *v)
{
    const int32_t kind = v->op->kind;
    return kind == TESS_CLIFFORD_NORM ||
           (kind != TESS_CLIFFORD_GATE && kind != TESS_CLIFFORD_LINEAR && v->op->config.normalize);
}

static inline cl_results cl_forward(tess_context *ctx, const naive *v, const cl_form *form,
                                    const tess_clifford_arrays *in)
{
    cl_results r = {.z = cl_activation(v, form, v->n_out, NULL)};
    const tess_dtype computed = form->dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    if (cl_has_norm(v)) {
        r.statistics = cl_empty(computed, CL_CONTIGUOUS, v->op->algebra.n_grade, v->n_row, 0);
    }
    if (naive_is_layer(v)) {
        r.linear_out = cl_activation(v, form, v->n_in, NULL);
    }
    assert_ok(tess_clifford_forward(ctx, v->op, in, r.z, r.statistics, r.linear_out, NULL));
    return r;
}

static inline void cl_backward(tess_context *ctx, const naive *v, const cl_form *form,
                               const tess_clifford_arrays *in, cl_results *r)
{
    const tess_array *gz = cl_activation(v, form, v->n_out, v->gz);
    r->gx = cl_activation(v, form, v->n_in, NULL);
    r->gy = v->y ? cl_activation(v, form, v->n_in, NULL) : NULL;
    r->gw = v->w ? cl_weight(v, form, NULL) : NULL;
    r->g_linear_w = v->linear_w ? cl_linear_weight(v, form, NULL) : NULL;
    r->g_bias = v->bias ? cl_bias(v, form, NULL) : NULL;
    const tess_clifford_arrays gradients =
        CL_ARRAYS(.x = r->gx, .y = r->gy, .weight = r->gw, .linear_weight = r->g_linear_w,
                  .bias = r->g_bias);
    tess_clifford_arrays given = *in;
    if (form->gives_back) {
        given.z = r->z;
        given.y = r->linear_out ? r->linear_out : in->y;
    }
    assert_ok(tess_clifford_backward(ctx, v->op, &given, gz,
                                     form->gives_back ? r->statistics : NULL, &gradients, NULL));
}

static inline cl_results cl_run(tess_context *ctx, const naive *v, const cl_form *form)
{
    const tess_clifford_arrays in = cl_inputs(v, form);
    cl_results r = cl_forward(ctx, v, form, &in);
    cl_backward(ctx, v, form, &in, &r);
    return r;
}

// Relative errors that are allowed, by type: of what belongs to rows, and of sums over rows.
static inline double cl_allowed(const naive *v, tess_dtype dtype, int is_sum)
{
    switch (dtype) {
    case TESS_F64:
        return 1e-13;
    case TESS_F32:
        return is_sum || naive_is_connected(v) || v->op->kind == TESS_CLIFFORD_LINEAR ? 1e-6 : 5e-7;
    case TESS_BF16:
        return 6e-3;
    default:
        return 1e-3;
    }
}

// What was computed against what naive_forward() and naive_backward() left in v (or golden data).
static inline void cl_check_results(const naive *v, const cl_form *form, const cl_results *r,
                                    double factor)
{
    if (naive_is_layer(v) && form->gives_back) {
        factor *= 4; // the linear map's result was rounded on its way
    }
    const double rows = factor * cl_allowed(v, form->dtype, 0);
    const double sums = factor * cl_allowed(v, form->dtype, 1);
    const struct {
        const char *name;
        const tess_array *got;
        const double *want;
        double allowed;
    } list[] = {
        {"z", r->z, v->z, rows},
        {"statistics", r->statistics, v->r, form->dtype == TESS_F64 ? rows : 1e-6},
        {"linear_out", r->linear_out, v->linear_out, rows},
        {"gx", r->gx, v->gx, rows},
        {"gy", r->gy, v->gy, rows},
        {"gw", r->gw, v->gw, sums},
        {"g_linear_w", r->g_linear_w, v->g_linear_w, sums},
        {"g_bias", r->g_bias, v->g_bias, sums},
    };
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        if (!list[i].got || !list[i].want) {
            continue;
        }
        const double error =
            cl_relative_error(cl_values(list[i].got), list[i].want, tess_array_items(list[i].got));
        if (!(error <= list[i].allowed)) {
            fail_msg("kind %d, %s, %d components, (%lld,%lld->%lld), activation %d, norm %d/%d, "
                     "layout %d: %s is off by %.3g, allowed %.3g",
                     v->op->kind, tess_dtype_name(form->dtype), v->op->algebra.n_component,
                     (long long)v->n_row, (long long)v->n_in, (long long)v->n_out,
                     v->op->config.activation, v->op->config.normalize, v->op->config.norm_metric,
                     form->layout, list[i].name, error, list[i].allowed);
        }
    }
}

#endif

#include "systems/clifford/check/trial.h"

#include "base/half.h"
#include "base/rng.h"
#include "base/status.h"

#include <math.h>

// Weights of a fully connected operation are n_path n^2.
static const int64_t MAX_CONNECTED = 128;

tess_status tess_cl_trial_init(tess_cl_trial *trial, tess_context *ctx, tess_blocks *blocks,
                               const tess_clifford_metric *metric, tess_clifford_kind kind,
                               tess_clifford_bias_mode bias_mode, int64_t n_row, int64_t n_feature)
{
    *trial = (tess_cl_trial){.ctx = ctx, .blocks = blocks};
    tess_clifford_config config;
    tess_clifford_config_init(&config, sizeof config);
    config.bias_mode = (int32_t)bias_mode;
    TESS_TRY(
        tess_clifford_op_init(&trial->op, sizeof trial->op, kind, metric, &config, UINT64_MAX));
    const int32_t which = trial->op.kind;
    const bool is_square =
        tess_cl_has_member(which, CL_LINEAR_WEIGHT) || tess_cl_is_connected(which);
    const int64_t n = is_square && n_feature > MAX_CONNECTED ? MAX_CONNECTED : n_feature;
    trial->sizes = (tess_cl_sizes){.n_row = n_row, .n_in = n, .n_out = n};
    return TESS_OK;
}

int64_t tess_cl_trial_items(const tess_cl_trial *trial, int operand)
{
    int64_t shape[3];
    tess_cl_operand_shape(&trial->op, &trial->sizes, operand, shape);
    return shape[0] * shape[1] * shape[2];
}

double *tess_cl_trial_room(const tess_cl_trial *trial, int operand)
{
    return tess_blocks_alloc(trial->blocks, tess_cl_trial_items(trial, operand), sizeof(double),
                             "data of the check");
}

bool tess_cl_trial_has(const tess_cl_trial *trial, tess_clifford_pass pass, int operand)
{
    const bool is_forward = pass == TESS_CLIFFORD_FORWARD;
    switch (operand) {
    case CL_Z:
        return is_forward;
    case CL_GZ:
        return !is_forward;
    case CL_DGZ:
        return pass == TESS_CLIFFORD_DOUBLE_BACKWARD;
    case CL_LINEAR_OUT:
    case CL_STATISTICS:
        return false;
    default:
        break;
    }
    if (!tess_cl_has_member(trial->op.kind, operand % CL_N_MEMBER)) {
        return false;
    }
    const int group = operand / CL_N_MEMBER * CL_N_MEMBER;
    return group == CL_INPUT || (group == CL_GRADIENT && pass == TESS_CLIFFORD_BACKWARD) ||
           (group > CL_GRADIENT && pass == TESS_CLIFFORD_DOUBLE_BACKWARD);
}

static bool is_output(tess_clifford_pass pass, int operand)
{
    const tess_cl_operands operands = {.pass = pass};
    return tess_cl_is_output(&operands, operand);
}

tess_status tess_cl_trial_draw(const tess_cl_trial *trial, tess_clifford_pass pass, uint64_t seed,
                               tess_cl_values *values)
{
    const double scale = 1 / sqrt((double)trial->sizes.n_in);
    *values = (tess_cl_values){0};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (!tess_cl_trial_has(trial, pass, i)) {
            continue;
        }
        values->of[i] = tess_cl_trial_room(trial, i);
        if (!values->of[i]) {
            return TESS_E_MEMORY;
        }
        if (is_output(pass, i)) {
            continue;
        }
        const int64_t n = tess_cl_trial_items(trial, i);
        const tess_philox_stream stream = tess_philox_open(seed, (uint32_t)i, 0);
        tess_philox_normals(&stream, 0, (size_t)n, values->of[i]);
        const bool is_matrix =
            i == CL_LINEAR_WEIGHT || (i == CL_WEIGHT && tess_cl_is_connected(trial->op.kind));
        for (int64_t k = 0; is_matrix && k < n; k++) {
            values->of[i][k] *= scale;
        }
    }
    return TESS_OK;
}

static double rounded(tess_dtype dtype, double value)
{
    switch (dtype) {
    case TESS_F32:
        return (double)(float)value;
    case TESS_BF16:
        return (double)tess_f32_of_bf16(tess_bf16_of_f32((float)value));
    case TESS_F16:
        return (double)tess_f32_of_f16(tess_f16_of_f32((float)value));
    default:
        return value;
    }
}

void tess_cl_trial_round(const tess_cl_trial *trial, tess_clifford_pass pass, tess_dtype dtype,
                         tess_cl_values *values)
{
    for (int i = 0; i < CL_N_OPERAND; i++) {
        const int64_t n = values->of[i] && !is_output(pass, i) ? tess_cl_trial_items(trial, i) : 0;
        for (int64_t k = 0; k < n; k++) {
            values->of[i][k] = rounded(dtype, values->of[i][k]);
        }
    }
}

static void put(const tess_array *a, const double *values)
{
    const int64_t n = tess_array_items(a);
    for (int64_t i = 0; i < n; i++) {
        switch (a->dtype) {
        case TESS_F64:
            ((double *)a->data)[i] = values[i];
            break;
        case TESS_F32:
            ((float *)a->data)[i] = (float)values[i];
            break;
        case TESS_BF16:
            ((uint16_t *)a->data)[i] = tess_bf16_of_f32((float)values[i]);
            break;
        default:
            ((uint16_t *)a->data)[i] = tess_f16_of_f32((float)values[i]);
        }
    }
}

static void get(const tess_array *a, double *values)
{
    const int64_t n = tess_array_items(a);
    for (int64_t i = 0; i < n; i++) {
        switch (a->dtype) {
        case TESS_F64:
            values[i] = ((const double *)a->data)[i];
            break;
        case TESS_F32:
            values[i] = (double)((const float *)a->data)[i];
            break;
        case TESS_BF16:
            values[i] = (double)tess_f32_of_bf16(((const uint16_t *)a->data)[i]);
            break;
        default:
            values[i] = (double)tess_f32_of_f16(((const uint16_t *)a->data)[i]);
        }
    }
}

static tess_status make_array(const tess_cl_trial *trial, int operand, const double *values,
                              tess_array *a)
{
    int64_t shape[3];
    const int32_t rank = tess_cl_operand_shape(&trial->op, &trial->sizes, operand, shape);
    TESS_TRY(tess_array_init(a, NULL, (tess_dtype)trial->sizes.dtype, rank, shape));
    a->data = tess_blocks_alloc(trial->blocks, tess_array_items(a), (size_t)a->item_bytes,
                                "arrays of the check");
    if (!a->data) {
        return TESS_E_MEMORY;
    }
    put(a, values);
    return TESS_OK;
}

static tess_clifford_arrays group_of(const tess_array *const list[CL_N_OPERAND], int group)
{
    return (tess_clifford_arrays){.struct_size = sizeof(tess_clifford_arrays),
                                  .x = list[group + CL_X],
                                  .y = list[group + CL_Y],
                                  .weight = list[group + CL_WEIGHT],
                                  .linear_weight = list[group + CL_LINEAR_WEIGHT],
                                  .bias = list[group + CL_BIAS]};
}

static tess_status call(const tess_cl_trial *trial, tess_clifford_pass pass,
                        const tess_array *const list[CL_N_OPERAND])
{
    const tess_clifford_arrays in = group_of(list, CL_INPUT);
    if (pass == TESS_CLIFFORD_FORWARD) {
        return tess_clifford_forward(trial->ctx, &trial->op, &in, list[CL_Z], NULL, NULL, NULL);
    }
    if (pass == TESS_CLIFFORD_BACKWARD) {
        const tess_clifford_arrays gradients = group_of(list, CL_GRADIENT);
        return tess_clifford_backward(trial->ctx, &trial->op, &in, list[CL_GZ], NULL, &gradients,
                                      NULL);
    }
    const tess_clifford_arrays cotangents = group_of(list, CL_COTANGENT);
    const tess_clifford_arrays results = group_of(list, CL_RESULT);
    return tess_clifford_double_backward(trial->ctx, &trial->op, &in, list[CL_GZ], &cotangents,
                                         list[CL_DGZ], &results, NULL);
}

static tess_status run_with_arrays(const tess_cl_trial *trial, tess_clifford_pass pass,
                                   tess_cl_values *values)
{
    tess_array arrays[CL_N_OPERAND];
    const tess_array *list[CL_N_OPERAND] = {NULL};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (values->of[i] && tess_cl_trial_has(trial, pass, i)) {
            TESS_TRY(make_array(trial, i, values->of[i], &arrays[i]));
            list[i] = &arrays[i];
        }
    }
    TESS_TRY(call(trial, pass, list));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (list[i] && is_output(pass, i)) {
            get(list[i], values->of[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_cl_trial_run(tess_cl_trial *trial, tess_clifford_pass pass, tess_dtype dtype,
                              tess_cl_values *values)
{
    tess_blocks own;
    tess_blocks_init(&own, &trial->ctx->heap);
    trial->sizes.dtype = (int32_t)dtype;
    trial->sizes.weight_dtype = (int32_t)dtype;
    tess_cl_trial passing = *trial;
    passing.blocks = &own;
    const tess_status status = run_with_arrays(&passing, pass, values);
    tess_blocks_free(&own);
    return status;
}

static tess_status sensitivity(tess_cl_trial *trial, tess_clifford_pass pass,
                               const tess_cl_values *values, double unit,
                               double change[CL_N_OPERAND])
{
    // Not so little that the change drowns in the rounding of f64.
    const double step = fmax(unit, 1e-10);
    tess_cl_values off = {.of = {NULL}};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (!values->of[i]) {
            continue;
        }
        off.of[i] = tess_cl_trial_room(trial, i);
        if (!off.of[i]) {
            return TESS_E_MEMORY;
        }
        const tess_philox_stream stream = tess_philox_open(1, (uint32_t)i, 2);
        for (int64_t k = 0; k < tess_cl_trial_items(trial, i); k++) {
            const double by = 2 * tess_philox_uniform(&stream, (uint64_t)k) - 1;
            off.of[i][k] = values->of[i][k] * (1 + step * by);
        }
    }
    TESS_TRY(tess_cl_trial_run(trial, pass, TESS_F64, &off));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        change[i] = 0;
        if (values->of[i] && is_output(pass, i)) {
            const int64_t n = tess_cl_trial_items(trial, i);
            const double far = tess_cl_distance(off.of[i], values->of[i], n, (double)INFINITY);
            change[i] = far * unit / step;
        }
    }
    return TESS_OK;
}

tess_status tess_cl_trial_sensitivity(tess_cl_trial *trial, tess_clifford_pass pass,
                                      const tess_cl_values *values, double unit,
                                      double change[CL_N_OPERAND])
{
    tess_blocks own;
    tess_blocks_init(&own, &trial->ctx->heap);
    tess_cl_trial passing = *trial;
    passing.blocks = &own;
    const tess_status status = sensitivity(&passing, pass, values, unit, change);
    tess_blocks_free(&own);
    return status;
}

tess_status tess_cl_trial_bytes(tess_cl_trial *trial, tess_clifford_pass pass, double *bytes)
{
    enum { N_COPY = 4 };
    tess_array arrays[CL_N_OPERAND];
    const tess_array *list[CL_N_OPERAND] = {NULL};
    double items = 0;
    trial->sizes.dtype = TESS_F64;
    trial->sizes.weight_dtype = TESS_F64;
    for (int i = 0; i < CL_N_OPERAND; i++) {
        int64_t shape[3];
        if (!tess_cl_trial_has(trial, pass, i)) {
            continue;
        }
        const int32_t rank = tess_cl_operand_shape(&trial->op, &trial->sizes, i, shape);
        TESS_TRY(tess_array_init(&arrays[i], NULL, TESS_F64, rank, shape));
        list[i] = &arrays[i];
        items += (double)tess_array_items(&arrays[i]);
    }
    const tess_clifford_arrays in = group_of(list, CL_INPUT);
    uint64_t workspace = 0;
    TESS_TRY(tess_clifford_workspace(trial->ctx, &trial->op, pass, &in, &workspace));
    const bool is_here = trial->ctx->device->shares_host_memory;
    *bytes = N_COPY * items * sizeof(double) + (is_here ? (double)workspace : 0);
    return TESS_OK;
}

double tess_cl_distance(const double *a, const double *b, int64_t n, double largest)
{
    double difference = 0;
    double size = 0;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(b[i]) < largest) {
            difference += (a[i] - b[i]) * (a[i] - b[i]);
            size += b[i] * b[i];
        }
    }
    return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

void tess_cl_worst_note(tess_cl_worst *worst, double error, double allowed)
{
    // Written so that a NaN stays.
    const bool is_better = error * worst->allowed <= worst->error * allowed;
    if (worst->allowed == 0 || !is_better) {
        *worst = (tess_cl_worst){error, allowed};
    }
}

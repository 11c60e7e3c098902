#include "systems/clifford/op/operands.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <stdio.h>
#include <string.h>

static const char *const member_names[CL_N_MEMBER] = {"x", "y", "weight", "linear_weight", "bias"};

bool tess_cl_is_layer(int32_t kind)
{
    return kind == TESS_CLIFFORD_LAYER || kind == TESS_CLIFFORD_FC_LAYER;
}

bool tess_cl_is_connected(int32_t kind)
{
    return kind == TESS_CLIFFORD_FCGP || kind == TESS_CLIFFORD_FC_LAYER;
}

bool tess_cl_has_norm(const tess_clifford_op *op)
{
    if (op->kind == TESS_CLIFFORD_GATE || op->kind == TESS_CLIFFORD_LINEAR) {
        return false;
    }
    return op->kind == TESS_CLIFFORD_NORM || op->config.normalize;
}

bool tess_cl_has_member(int32_t kind, int member)
{
    const bool is_product = kind == TESS_CLIFFORD_SGP || kind == TESS_CLIFFORD_FCGP;
    switch (member) {
    case CL_X:
        return true;
    case CL_Y:
        return is_product;
    case CL_WEIGHT:
        return is_product || tess_cl_is_layer(kind);
    default:
        return kind == TESS_CLIFFORD_LINEAR || tess_cl_is_layer(kind);
    }
}

const char *tess_cl_op_name(const tess_clifford_op *op)
{
    static const char *const names[] = {
        [TESS_CLIFFORD_GATE] = "clifford.gate",         [TESS_CLIFFORD_NORM] = "clifford.norm",
        [TESS_CLIFFORD_SGP] = "clifford.sgp",           [TESS_CLIFFORD_FCGP] = "clifford.fcgp",
        [TESS_CLIFFORD_LINEAR] = "clifford.linear",     [TESS_CLIFFORD_LAYER] = "clifford.layer",
        [TESS_CLIFFORD_FC_LAYER] = "clifford.fc_layer",
    };
    return names[op->kind];
}

bool tess_cl_is_output(const tess_cl_operands *operands, int operand)
{
    if (operand == CL_Z || operand == CL_STATISTICS) {
        return operands->pass == TESS_CLIFFORD_FORWARD;
    }
    return (operand >= CL_GRADIENT && operand < CL_COTANGENT) ||
           (operand >= CL_RESULT && operand < CL_Z) || operand == CL_DGZ ||
           operand == CL_LINEAR_OUT;
}

bool tess_cl_is_weight(int operand)
{
    return operand < CL_Z && operand % CL_N_MEMBER >= CL_WEIGHT;
}

void tess_cl_operand_name(int operand, char name[CL_NAME_BYTES])
{
    static const char *const groups[] = {"", "gradients.", "cotangents.", "results."};
    static const char *const singles[] = {"z", "gz", "dgz", "linear_out", "statistics"};
    if (operand >= CL_Z) {
        snprintf(name, CL_NAME_BYTES, "%s", singles[operand - CL_Z]);
    } else {
        snprintf(name, CL_NAME_BYTES, "%s%s", groups[operand / CL_N_MEMBER],
                 member_names[operand % CL_N_MEMBER]);
    }
}

tess_status tess_cl_fail(const tess_clifford_op *op, int operand, tess_status status,
                         const char *format, ...)
{
    char name[CL_NAME_BYTES];
    char text[512];
    tess_cl_operand_name(operand, name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tess_error_set(status, "%s: %s: %s", tess_cl_op_name(op), name, text);
}

static int32_t put(int64_t shape[3], int32_t rank, int64_t a, int64_t b, int64_t c)
{
    shape[0] = a;
    shape[1] = b;
    shape[2] = c;
    return rank;
}

int32_t tess_cl_operand_shape(const tess_clifford_op *op, const tess_cl_sizes *sizes, int operand,
                              int64_t shape[3])
{
    const tess_clifford_algebra *algebra = &op->algebra;
    // A layer multiplies x with its linear map feature by feature.
    const int64_t n_linear = op->kind == TESS_CLIFFORD_LINEAR ? sizes->n_out : sizes->n_in;
    if (operand == CL_STATISTICS) {
        return put(shape, 2, algebra->n_grade, sizes->n_row, 1);
    }
    if (operand == CL_LINEAR_OUT) {
        return put(shape, 3, algebra->n_component, sizes->n_row, sizes->n_in);
    }
    if (operand >= CL_Z) {
        return put(shape, 3, algebra->n_component, sizes->n_row, sizes->n_out);
    }
    switch (operand % CL_N_MEMBER) {
    case CL_WEIGHT:
        if (tess_cl_is_connected(op->kind)) {
            return put(shape, 3, algebra->n_path, sizes->n_in, sizes->n_out);
        }
        return put(shape, 2, sizes->n_in, algebra->n_path, 1);
    case CL_LINEAR_WEIGHT:
        return put(shape, 3, algebra->n_grade, sizes->n_in, n_linear);
    case CL_BIAS:
        return put(shape, 1, n_linear, 1, 1);
    default:
        return put(shape, 3, algebra->n_component, sizes->n_row, sizes->n_in);
    }
}

int32_t tess_cl_operand_dtype(const tess_cl_sizes *sizes, int operand)
{
    if (operand == CL_STATISTICS) {
        return sizes->dtype == TESS_F64 ? TESS_F64 : TESS_F32;
    }
    return tess_cl_is_weight(operand) ? sizes->weight_dtype : sizes->dtype;
}

tess_status tess_cl_operands_take(tess_cl_operands *operands, int group,
                                  const tess_clifford_arrays *given, const char *name)
{
    tess_clifford_arrays arrays = {0};
    if (given) {
        TESS_TRY(tess_struct_read(given, &arrays, sizeof arrays, name));
    }
    operands->arrays[group + CL_X] = arrays.x;
    operands->arrays[group + CL_Y] = arrays.y;
    operands->arrays[group + CL_WEIGHT] = arrays.weight;
    operands->arrays[group + CL_LINEAR_WEIGHT] = arrays.linear_weight;
    operands->arrays[group + CL_BIAS] = arrays.bias;
    if (arrays.z && (group != CL_INPUT || operands->pass != TESS_CLIFFORD_BACKWARD)) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford: %s.z: only the inputs of a backward pass have it",
                  name);
    }
    if (arrays.z) {
        operands->arrays[CL_Z] = arrays.z;
    }
    return TESS_OK;
}

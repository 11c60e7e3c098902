// Whether the arrays of a call fit its operation: presence, shapes and types.
#include "base/checked.h"
#include "base/status.h"
#include "systems/clifford/op/operands.h"

#include <stdio.h>

enum { SHAPE_BYTES = 136, ALGEBRA_BYTES = 32 };

static void shape_text(const int64_t *shape, int32_t rank, char text[SHAPE_BYTES])
{
    size_t used = (size_t)snprintf(text, SHAPE_BYTES, "(");
    for (int32_t i = 0; i < rank && i < TESS_MAX_RANK && used < SHAPE_BYTES; i++) {
        used += (size_t)snprintf(text + used, SHAPE_BYTES - used, "%s%lld", i > 0 ? "," : "",
                                 (long long)shape[i]);
    }
    if (used < SHAPE_BYTES) {
        snprintf(text + used, SHAPE_BYTES - used, "%s)", rank == 1 ? "," : "");
    }
}

// "Cl(3,0,1) '0+++'"
static void algebra_text(const tess_clifford_metric *metric, char text[ALGEBRA_BYTES])
{
    int count[3] = {0}; // null, plus, minus
    for (int i = 0; i < metric->n_symbol; i++) {
        count[metric->square[i] == 0 ? 0 : metric->square[i] > 0 ? 1 : 2]++;
    }
    char signs[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    tess_clifford_metric_text(metric, signs, sizeof signs);
    snprintf(text, ALGEBRA_BYTES, "Cl(%d,%d,%d) '%s'", count[1], count[2], count[0], signs);
}

tess_status tess_cl_check_op(const tess_context *ctx, const tess_clifford_op *op)
{
    if (!ctx || !op) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford: %s must not be NULL", ctx ? "op" : "ctx");
    }
    if (op->struct_size != sizeof *op || op->kind < TESS_CLIFFORD_GATE ||
        op->kind > TESS_CLIFFORD_FC_LAYER || op->algebra.n_component < 2) {
        TESS_FAIL(TESS_E_VERSION, "clifford: op was not filled by tess_clifford_op_init() of this "
                                  "library (" TESS_VERSION ")");
    }
    return TESS_OK;
}

static bool is_required(const tess_clifford_op *op, const tess_cl_operands *operands, int operand)
{
    if (operand == CL_WEIGHT) {
        return tess_cl_is_connected(op->kind); // elsewhere: ones
    }
    if (operand < CL_N_MEMBER) {
        return operand != CL_BIAS && tess_cl_has_member(op->kind, operand);
    }
    return !operands->has_inputs_only &&
           operand == (operands->pass == TESS_CLIFFORD_FORWARD ? CL_Z : CL_GZ);
}

static bool is_allowed(const tess_clifford_op *op, const tess_cl_operands *operands, int operand)
{
    if (operand == CL_STATISTICS) {
        return tess_cl_has_norm(op);
    }
    if (operand == CL_LINEAR_OUT) {
        return tess_cl_is_layer(op->kind);
    }
    if (operand >= CL_Z) {
        return true;
    }
    // The backward passes of a layer may be given what its linear map gave.
    if (operand == CL_Y && tess_cl_is_layer(op->kind)) {
        return operands->pass != TESS_CLIFFORD_FORWARD;
    }
    return tess_cl_has_member(op->kind, operand % CL_N_MEMBER);
}

static tess_status check_presence(const tess_clifford_op *op, const tess_cl_operands *operands)
{
    for (int i = 0; i < CL_N_OPERAND; i++) {
        const bool is_there = operands->arrays[i] != NULL;
        if (is_there && !is_allowed(op, operands, i)) {
            return tess_cl_fail(op, i, TESS_E_ARGUMENT, "this operation has none%s; pass NULL",
                                i == CL_STATISTICS ? " without a norm" : "");
        }
        if (!is_there && is_required(op, operands, i)) {
            return tess_cl_fail(op, i, TESS_E_ARGUMENT, "is missing (NULL)");
        }
        if (is_there && i >= CL_GRADIENT && tess_cl_is_weight(i) &&
            !operands->arrays[i % CL_N_MEMBER]) {
            char input[CL_NAME_BYTES];
            tess_cl_operand_name(i % CL_N_MEMBER, input);
            return tess_cl_fail(op, i, TESS_E_ARGUMENT, "the call has no %s; pass NULL", input);
        }
    }
    return TESS_OK;
}

static tess_status check_x(const tess_clifford_op *op, const tess_array *x)
{
    if (x->dtype != TESS_F64 && x->dtype != TESS_F32 && x->dtype != TESS_BF16 &&
        x->dtype != TESS_F16) {
        return tess_cl_fail(op, CL_X, TESS_E_DTYPE,
                            "is %s; supported are f64, f32, bf16 and f16: convert it",
                            tess_dtype_name((tess_dtype)x->dtype));
    }
    const int32_t n_component = op->algebra.n_component;
    if (x->rank == 3 && x->shape[0] == n_component && x->shape[1] >= 0 && x->shape[2] >= 1) {
        return TESS_OK;
    }
    char shape[SHAPE_BYTES];
    shape_text(x->shape, x->rank, shape);
    if (x->rank != 3) {
        return tess_cl_fail(op, CL_X, TESS_E_SHAPE,
                            "%s: expected 3 axes (component, row, feature), got %d", shape,
                            x->rank);
    }
    if (x->shape[0] == n_component) {
        return tess_cl_fail(op, CL_X, TESS_E_SHAPE, "%s: expected at least one feature", shape);
    }
    char algebra[ALGEBRA_BYTES];
    algebra_text(&op->algebra.metric, algebra);
    return tess_cl_fail(op, CL_X, TESS_E_SHAPE,
                        "%s: expected %d components on the first axis for %s, got %lld%s", shape,
                        n_component, algebra, (long long)x->shape[0],
                        x->shape[2] != n_component
                            ? ""
                            : "; the last axis has that many: channel-last data must be permuted "
                              "to (component, row, feature), a view with other strides is enough");
}

static bool same_shape(const tess_array *a, int32_t rank, const int64_t *shape)
{
    for (int32_t i = 0; i < rank; i++) {
        if (a->rank != rank || a->shape[i] != shape[i]) {
            return false;
        }
    }
    return true;
}

// What is likely meant by a wrong shape.
static const char *shape_hint(const tess_array *a, int operand, int32_t rank, const int64_t *shape)
{
    if (!tess_cl_is_weight(operand) || a->rank != rank || rank < 2) {
        return "";
    }
    const bool is_swapped =
        a->shape[rank - 1] == shape[0] || (rank == 3 && a->shape[1] == shape[0]);
    return a->shape[0] != shape[0] && is_swapped ? "; transposed?" : "";
}

static const char *axes_text(const tess_clifford_op *op, int operand)
{
    if (operand == CL_STATISTICS) {
        return "grade, row";
    }
    switch (operand >= CL_Z ? CL_X : operand % CL_N_MEMBER) {
    case CL_WEIGHT:
        return tess_cl_is_connected(op->kind) ? "path, feature in, feature out" : "feature, path";
    case CL_LINEAR_WEIGHT:
        return "grade, feature in, feature out";
    case CL_BIAS:
        return "feature out";
    default:
        return "component, row, feature";
    }
}

static tess_status check_shape(const tess_clifford_op *op, const tess_cl_operands *operands,
                               const tess_cl_sizes *sizes, int operand)
{
    const tess_array *a = operands->arrays[operand];
    int64_t shape[3];
    const int32_t rank = tess_cl_operand_shape(op, sizes, operand, shape);
    if (same_shape(a, rank, shape)) {
        return TESS_OK;
    }
    char wanted[SHAPE_BYTES];
    char got[SHAPE_BYTES];
    shape_text(shape, rank, wanted);
    shape_text(a->shape, a->rank, got);
    if (operand == CL_Y) {
        TESS_FAIL(TESS_E_SHAPE, "%s: x %s and y %s must have equal shapes", tess_cl_op_name(op),
                  wanted, got);
    }
    // Who passes x through a layer knows of no weight: say whose features did not fit.
    char whose[96] = "";
    if (tess_cl_is_weight(operand) && rank > 1) {
        snprintf(whose, sizeof whose, " for x of %lld features", (long long)sizes->n_in);
    }
    return tess_cl_fail(op, operand, TESS_E_SHAPE, "expected %s = (%s)%s, got %s%s", wanted,
                        axes_text(op, operand), whose, got, shape_hint(a, operand, rank, shape));
}

// The features of the result are those of the last axis of the matrices that make them.
static void read_n_out(const tess_clifford_op *op, const tess_cl_operands *operands,
                       tess_cl_sizes *sizes)
{
    sizes->n_out = sizes->n_in;
    const int from = tess_cl_is_connected(op->kind)     ? CL_WEIGHT
                     : op->kind == TESS_CLIFFORD_LINEAR ? CL_LINEAR_WEIGHT
                                                        : -1;
    if (from >= 0 && operands->arrays[from]->rank == 3) {
        sizes->n_out = operands->arrays[from]->shape[2];
    }
}

static void read_weight_dtype(const tess_cl_operands *operands, tess_cl_sizes *sizes)
{
    sizes->weight_dtype = sizes->dtype;
    for (int i = CL_BIAS; i >= CL_WEIGHT; i--) {
        if (operands->arrays[i]) {
            sizes->weight_dtype = operands->arrays[i]->dtype;
        }
    }
}

static tess_status check_dtype(const tess_clifford_op *op, const tess_cl_operands *operands,
                               const tess_cl_sizes *sizes, int operand)
{
    const tess_array *a = operands->arrays[operand];
    const char *got = tess_dtype_name((tess_dtype)a->dtype);
    const char *x_type = tess_dtype_name((tess_dtype)sizes->dtype);
    const bool is_half = sizes->dtype == TESS_BF16 || sizes->dtype == TESS_F16;
    if (operand < CL_N_MEMBER && tess_cl_is_weight(operand) && a->dtype != sizes->dtype &&
        !(is_half && a->dtype == TESS_F32)) {
        return tess_cl_fail(op, operand, TESS_E_DTYPE, "is %s beside x of %s; expected %s%s", got,
                            x_type, x_type, is_half ? " or f32" : "");
    }
    const int32_t wanted = tess_cl_operand_dtype(sizes, operand);
    if (a->dtype != wanted) {
        const char *like = operand == CL_STATISTICS      ? "x is computed in"
                           : !tess_cl_is_weight(operand) ? "x"
                           : operands->arrays[CL_WEIGHT] ? "weight"
                                                         : "linear_weight";
        return tess_cl_fail(op, operand, TESS_E_DTYPE, "is %s, expected %s as %s: convert it", got,
                            tess_dtype_name((tess_dtype)wanted), like);
    }
    const size_t item_bytes = tess_dtype_bytes((tess_dtype)wanted);
    if (a->item_bytes != (int64_t)item_bytes) {
        return tess_cl_fail(op, operand, TESS_E_DTYPE, "item_bytes is %lld, but %s has %zu",
                            (long long)a->item_bytes, got, item_bytes);
    }
    return TESS_OK;
}

// Sizes of temporaries are products of those of the arrays: checked here once, with room to spare.
static tess_status check_countable(const tess_clifford_op *op, const tess_cl_sizes *sizes)
{
    int64_t wide = sizes->n_in > sizes->n_out ? sizes->n_in : sizes->n_out;
    int64_t items;
    if (!tess_mul_i64(sizes->n_row > 0 ? sizes->n_row : 1, wide, &items) ||
        !tess_mul_i64(items, INT64_C(1) << 16, &items) ||
        !tess_mul_i64(sizes->n_in, sizes->n_out, &items) ||
        !tess_mul_i64(items, INT64_C(1) << 16, &items)) {
        TESS_FAIL(TESS_E_SHAPE, "%s: more items than can be counted", tess_cl_op_name(op));
    }
    return TESS_OK;
}

tess_status tess_cl_check_arrays(const tess_clifford_op *op, const tess_cl_operands *operands,
                                 tess_cl_sizes *sizes)
{
    TESS_TRY(check_presence(op, operands));
    const tess_array *x = operands->arrays[CL_X];
    TESS_TRY(check_x(op, x));
    *sizes = (tess_cl_sizes){.n_row = x->shape[1], .n_in = x->shape[2], .dtype = x->dtype};
    read_n_out(op, operands, sizes);
    read_weight_dtype(operands, sizes);
    for (int i = CL_Y; i < CL_N_OPERAND; i++) {
        if (operands->arrays[i]) {
            TESS_TRY(check_shape(op, operands, sizes, i));
        }
    }
    if (sizes->n_out < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: the weights leave no feature; expected at least one",
                  tess_cl_op_name(op));
    }
    for (int i = CL_X; i < CL_N_OPERAND; i++) {
        if (operands->arrays[i]) {
            TESS_TRY(check_dtype(op, operands, sizes, i));
        }
    }
    return check_countable(op, sizes);
}

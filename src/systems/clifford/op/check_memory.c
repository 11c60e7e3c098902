// Where the arrays of a call lie, and that its results fall on nothing else.
#include "base/checked.h"
#include "base/status.h"
#include "runtime/group.h"
#include "systems/clifford/op/operands.h"

#include <stdio.h>

enum { PLACE_BYTES = 32 };

static bool is_on_device(const tess_array *a)
{
    return a->space == TESS_SPACE_DEVICE;
}

static void place_text(const tess_array *a, char text[PLACE_BYTES])
{
    if (is_on_device(a)) {
        snprintf(text, PLACE_BYTES, "on GPU %d", a->device);
    } else {
        snprintf(text, PLACE_BYTES, "in host memory");
    }
}

static bool are_together(const tess_array *a, const tess_array *b)
{
    return is_on_device(a) == is_on_device(b) && (!is_on_device(a) || a->device == b->device);
}

tess_status tess_cl_check_place(tess_context *ctx, const tess_clifford_op *op,
                                const tess_cl_operands *operands)
{
    const tess_array *x = operands->arrays[CL_X];
    char x_place[PLACE_BYTES];
    TESS_TRY(tess_group_refuse(ctx, "Clifford operation"));
    for (int i = CL_Y; i < CL_N_OPERAND; i++) {
        const tess_array *a = operands->arrays[i];
        if (a && !are_together(a, x)) {
            char place[PLACE_BYTES];
            place_text(a, place);
            place_text(x, x_place);
            return tess_cl_fail(op, i, TESS_E_SPACE,
                                "is %s, but x is %s: all arrays of a call must be together", place,
                                x_place);
        }
    }
    const tess_device *device = ctx->device;
    if (is_on_device(x) && (device->shares_host_memory || device->info.index != x->device)) {
        place_text(x, x_place);
        return tess_cl_fail(op, CL_X, TESS_E_SPACE,
                            "is %s, but the context works on '%s': create a context with device "
                            "'cuda:%d'",
                            x_place, device->info.id, x->device);
    }
    return TESS_OK;
}

// Addresses of items can be computed without overflow.
static bool is_within_reach(const tess_array *a)
{
    int64_t most = 0;
    for (int32_t i = 0; i < a->rank; i++) {
        int64_t reach;
        if (a->stride[i] == INT64_MIN ||
            !tess_mul_i64(a->shape[i], a->stride[i] < 0 ? -a->stride[i] : a->stride[i], &reach) ||
            !tess_mul_i64(reach, 8 * a->item_bytes, &reach)) {
            return false;
        }
        most = reach > most ? reach : most;
    }
    return most < INT64_MAX / 16;
}

static tess_status check_data(const tess_clifford_op *op, const tess_cl_operands *operands,
                              int operand)
{
    const tess_array *a = operands->arrays[operand];
    if (!a->data) {
        return tess_cl_fail(op, operand, TESS_E_ARGUMENT, "data is NULL");
    }
    if ((uintptr_t)a->data % (uintptr_t)a->item_bytes != 0) {
        return tess_cl_fail(op, operand, TESS_E_ARGUMENT,
                            "its address is no multiple of the %lld bytes of an item; copy it to "
                            "an aligned array",
                            (long long)a->item_bytes);
    }
    if (!is_within_reach(a)) {
        return tess_cl_fail(op, operand, TESS_E_SHAPE, "its strides reach further than memory");
    }
    if (operand == CL_STATISTICS && !tess_array_is_contiguous(a)) {
        return tess_cl_fail(op, operand, TESS_E_SHAPE, "must be C-contiguous");
    }
    return TESS_OK;
}

static tess_status check_result(const tess_clifford_op *op, const tess_cl_operands *operands,
                                int operand)
{
    const tess_array *result = operands->arrays[operand];
    if (tess_cl_overlaps_itself(result)) {
        return tess_cl_fail(op, operand, TESS_E_ARGUMENT,
                            "its items overlap each other in memory (strides); a result needs "
                            "memory of its own");
    }
    for (int i = 0; i < CL_N_OPERAND; i++) {
        const tess_array *a = operands->arrays[i];
        // Two results are compared once.
        if (!a || i == operand || (i < operand && tess_cl_is_output(operands, i)) ||
            !tess_cl_overlaps(result, a)) {
            continue;
        }
        char other[CL_NAME_BYTES];
        tess_cl_operand_name(i, other);
        return tess_cl_fail(op, operand, TESS_E_ARGUMENT,
                            "overlaps %s in memory; a result needs memory of its own", other);
    }
    return TESS_OK;
}

tess_status tess_cl_check_memory(const tess_clifford_op *op, const tess_cl_operands *operands)
{
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (operands->arrays[i] && tess_array_items(operands->arrays[i]) > 0) {
            TESS_TRY(check_data(op, operands, i));
        }
    }
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (operands->arrays[i] && tess_cl_is_output(operands, i) &&
            tess_array_items(operands->arrays[i]) > 0) {
            TESS_TRY(check_result(op, operands, i));
        }
    }
    return TESS_OK;
}

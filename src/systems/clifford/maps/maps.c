// Linear maps of rows: checks, then one stage where the arrays are.
#include "tessera/clifford/maps.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "stage/clifford_maps.h"
#include "systems/clifford/op/operands.h"

enum { WORKSPACE_ALIGN = 256, MOST = 1 << 20 };

static int64_t width_of(const tess_clifford_row *row)
{
    return TESS_CL_MAPS_COMPONENTS * row->n_channel + row->n_scalar;
}

static tess_status check_row(const char *name, const char *which, const tess_clifford_row *row)
{
    const bool is_whole = row->n_group >= 1 && row->n_channel % row->n_group == 0 &&
                          row->n_scalar % row->n_group == 0;
    if (row->n_channel < 1 || row->n_scalar < 0 || row->n_channel > MOST || row->n_scalar > MOST ||
        !is_whole) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: %s: %lld channels and %lld scalars in %lld groups; expected at least one "
                  "channel, at most %d of either, and equal groups",
                  name, which, (long long)row->n_channel, (long long)row->n_scalar,
                  (long long)row->n_group, (int)MOST);
    }
    return TESS_OK;
}

static tess_status read_maps(const char *name, const tess_clifford_maps *maps,
                             tess_clifford_maps *out)
{
    tess_error_clear();
    if (!maps) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: maps must not be NULL", name);
    }
    *out = (tess_clifford_maps){.struct_size = sizeof *out};
    TESS_TRY(tess_struct_read(maps, out, sizeof *out, "maps"));
    if (out->pairs != TESS_CLIFFORD_PAIRS_DUAL && out->pairs != TESS_CLIFFORD_PAIRS_NULL) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: pairs is %d; expected dual (%d) or null (%d)", name,
                  (int)out->pairs, (int)TESS_CLIFFORD_PAIRS_DUAL, (int)TESS_CLIFFORD_PAIRS_NULL);
    }
    TESS_TRY(check_row(name, "x", &out->x));
    return check_row(name, "z", &out->z);
}

static tess_cl_maps_parts parts_of(const tess_clifford_maps *maps)
{
    return tess_cl_maps_parts_of(maps->x.n_channel, maps->x.n_scalar, maps->z.n_channel,
                                 maps->z.n_scalar);
}

tess_status tess_clifford_maps_items(const tess_clifford_maps *given, int64_t *n)
{
    static const char name[] = "clifford.maps_items";
    tess_clifford_maps maps;
    TESS_TRY(read_maps(name, given, &maps));
    if (!n) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: n must not be NULL", name);
    }
    *n = parts_of(&maps).n;
    return TESS_OK;
}

static tess_status check_array(const char *name, const char *which, const tess_array *a,
                               const tess_array *first, int rank)
{
    if (!a) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s must not be NULL", name, which);
    }
    if ((a->dtype != TESS_F32 && a->dtype != TESS_F64) || a->dtype != first->dtype) {
        TESS_FAIL(TESS_E_DTYPE, "%s: %s: is %s; expected f32 or f64, the same for all arrays", name,
                  which, tess_dtype_name((tess_dtype)a->dtype));
    }
    if (a->rank != rank) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s: expected %s, got %d axes", name, which,
                  rank == 2 ? "(row, feature)" : "(item)", a->rank);
    }
    if (a->space != TESS_SPACE_HOST && a->space != TESS_SPACE_PINNED &&
        a->space != TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE, "%s: %s: memory space %d; expected host, pinned or device memory",
                  name, which, (int)a->space);
    }
    for (int i = 0; i < rank; i++) {
        if (a->shape[i] < 0) {
            TESS_FAIL(TESS_E_SHAPE, "%s: %s: axis %d is %lld long; expected 0 or more", name, which,
                      i, (long long)a->shape[i]);
        }
    }
    if (tess_array_items(a) == 0) {
        return TESS_OK; // with any strides
    }
    if (!a->data) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s: data is NULL", name, which);
    }
    if (a->shape[rank - 1] > 1 && a->stride[rank - 1] != 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s: the last axis has to be contiguous", name, which);
    }
    return TESS_OK;
}

static tess_status check_rows(const char *name, const char *which, const tess_array *a,
                              const tess_array *x, const tess_clifford_row *row)
{
    TESS_TRY(check_array(name, which, a, x, 2));
    if (a->shape[0] != x->shape[0] || a->shape[1] != width_of(row)) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s: (%lld,%lld), expected (%lld,%lld)", name, which,
                  (long long)a->shape[0], (long long)a->shape[1], (long long)x->shape[0],
                  (long long)width_of(row));
    }
    if (a->shape[0] > 1 && a->stride[0] < a->shape[1]) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s: rows overlap in memory", name, which);
    }
    return TESS_OK;
}

static tess_status check_items(const char *name, const char *which, const tess_array *a,
                               const tess_array *x, const tess_clifford_maps *maps)
{
    TESS_TRY(check_array(name, which, a, x, 1));
    if (a->shape[0] != parts_of(maps).n) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s: %lld items, expected %lld", name, which,
                  (long long)a->shape[0], (long long)parts_of(maps).n);
    }
    return TESS_OK;
}

// All in host memory, or all on the context's device. Results, those behind the first n_in, overlap
// nothing else, be it that one array was given twice.
static tess_status check_places(tess_context *ctx, const char *name, const tess_array *const *all,
                                int n_in, int n)
{
    const tess_array *x = all[0];
    const bool on_device = x->space == TESS_SPACE_DEVICE;
    TESS_TRY(tess_group_refuse(ctx, "Clifford operation"));
    if (on_device && (ctx->device->shares_host_memory || ctx->device->info.index != x->device)) {
        TESS_FAIL(TESS_E_SPACE,
                  "%s: x: is on GPU %d, but the context works on '%s': create a context with "
                  "device 'cuda:%d'",
                  name, x->device, ctx->device->info.id, x->device);
    }
    for (int i = 0; i < n; i++) {
        const tess_array *a = all[i];
        if ((a->space == TESS_SPACE_DEVICE) != on_device || (on_device && a->device != x->device)) {
            TESS_FAIL(TESS_E_SPACE, "%s: all arrays of a call must be together with x", name);
        }
        for (int result = n_in; result < n; result++) {
            if (result != i && tess_cl_overlaps(all[result], a)) {
                TESS_FAIL(TESS_E_ARGUMENT,
                          "%s: a result overlaps another array in memory; it needs memory of its "
                          "own",
                          name);
            }
        }
    }
    return TESS_OK;
}

static tess_cl_maps_side side_of(const tess_array *a, const tess_clifford_row *row)
{
    return (tess_cl_maps_side){.data = a->data,
                               .stride = a->shape[0] > 1 ? a->stride[0] : width_of(row),
                               .n_channel = row->n_channel,
                               .n_scalar = row->n_scalar,
                               .n_group = row->n_group};
}

static tess_stage_clifford_maps stage_of(const tess_clifford_maps *maps, const tess_array *x,
                                         const tess_array *items, const tess_array *z, int32_t pass)
{
    return (tess_stage_clifford_maps){.x = side_of(x, &maps->x),
                                      .z = side_of(z, &maps->z),
                                      .items = items->data,
                                      .n_row = x->shape[0],
                                      .pass = pass,
                                      .dtype = x->dtype,
                                      .pairs = maps->pairs,
                                      .has_bias = maps->has_bias != 0,
                                      .adds = maps->adds != 0};
}

static tess_status enqueue(tess_device *device, const tess_stage_clifford_maps *stage,
                           const tess_clifford_call *call, bool waits)
{
    tess_backend_queue *queue = device->queue;
    if (call->has_stream) {
        TESS_TRY(tess_device_adopt(device, call->stream, &queue));
    }
    const tess_status status =
        device->backend->enqueue(queue, TESS_STAGE_CLIFFORD_MAPS, stage, sizeof *stage);
    const tess_status waited = waits ? device->backend->finish(queue) : TESS_OK;
    return status != TESS_OK ? status : waited;
}

static tess_status run_on_device(tess_device *device, const char *name,
                                 tess_stage_clifford_maps *stage, const tess_clifford_call *call)
{
    // Of no rows as well: so callers ask.
    TESS_TRY(device->backend->supports(device->handle, TESS_STAGE_CLIFFORD_MAPS, stage));
    if (stage->n_row == 0 && stage->pass != TESS_CL_MAPS_ITEMS) {
        return TESS_OK;
    }
    const size_t bytes =
        device->backend->scratch_bytes(device->handle, TESS_STAGE_CLIFFORD_MAPS, stage);
    stage->scratch = call->workspace;
    if (bytes == 0 || call->workspace) {
        if (call->workspace_bytes < bytes || (uintptr_t)call->workspace % WORKSPACE_ALIGN != 0) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "%s: workspace of %llu bytes, expected at least %llu, aligned to %d; ask "
                      "tess_clifford_maps_workspace()",
                      name, (unsigned long long)call->workspace_bytes, (unsigned long long)bytes,
                      (int)WORKSPACE_ALIGN);
        }
        return enqueue(device, stage, call, !call->has_stream);
    }
    TESS_TRY(tess_device_alloc(device, TESS_SPACE_DEVICE, bytes, &stage->scratch));
    // It must outlive the work, on the caller's stream too.
    const tess_status status = enqueue(device, stage, call, true);
    tess_device_free(device, TESS_SPACE_DEVICE, stage->scratch, bytes);
    return status;
}

static tess_status run(tess_context *ctx, const char *name, tess_stage_clifford_maps *stage,
                       const tess_array *x, const tess_clifford_call *given)
{
    tess_clifford_call call = {.struct_size = sizeof call};
    if (given) {
        TESS_TRY(tess_struct_read(given, &call, sizeof call, "call"));
    }
    if (x->space == TESS_SPACE_DEVICE) {
        return run_on_device(ctx->device, name, stage, &call);
    }
    if (call.has_stream) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: a stream was given, but the arrays are in host memory",
                  name);
    }
    return tess_stage_run_on_host(ctx, TESS_STAGE_CLIFFORD_MAPS, stage, sizeof *stage);
}

// What every call has: the map, and rows x.
static tess_status begin(tess_context *ctx, const char *name, const tess_clifford_maps *given,
                         const tess_array *x, tess_clifford_maps *maps)
{
    TESS_TRY(read_maps(name, given, maps));
    if (!ctx || !x) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: ctx and x must not be NULL", name);
    }
    return check_rows(name, "x", x, x, &maps->x);
}

tess_status tess_clifford_maps_workspace(tess_context *ctx, const tess_clifford_maps *given,
                                         const tess_array *x, uint64_t *bytes)
{
    static const char name[] = "clifford.maps_workspace";
    tess_clifford_maps maps;
    TESS_TRY(begin(ctx, name, given, x, &maps));
    if (!bytes) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: bytes must not be NULL", name);
    }
    *bytes = 0;
    TESS_TRY(check_places(ctx, name, &x, 1, 1));
    if (x->space == TESS_SPACE_DEVICE) {
        const tess_array none = {.shape = {x->shape[0]}};
        const tess_stage_clifford_maps stage = stage_of(&maps, x, &none, &none, TESS_CL_MAPS_ITEMS);
        *bytes = ctx->device->backend->scratch_bytes(ctx->device->handle, TESS_STAGE_CLIFFORD_MAPS,
                                                     &stage);
    }
    return TESS_OK;
}

tess_status tess_clifford_maps_forward(tess_context *ctx, const tess_clifford_maps *given,
                                       const tess_array *x, const tess_array *items,
                                       const tess_array *z, const tess_clifford_call *call)
{
    static const char name[] = "clifford.maps_forward";
    tess_clifford_maps maps;
    TESS_TRY(begin(ctx, name, given, x, &maps));
    TESS_TRY(check_items(name, "items", items, x, &maps));
    TESS_TRY(check_rows(name, "z", z, x, &maps.z));
    TESS_TRY(check_places(ctx, name, (const tess_array *const[]){x, items, z}, 2, 3));
    tess_stage_clifford_maps stage = stage_of(&maps, x, items, z, TESS_CL_MAPS_FORWARD);
    return run(ctx, name, &stage, x, call);
}

tess_status tess_clifford_maps_backward(tess_context *ctx, const tess_clifford_maps *given,
                                        const tess_array *x, const tess_array *items,
                                        const tess_array *grad_z, const tess_array *grad_x,
                                        const tess_array *grad_items,
                                        const tess_clifford_call *call)
{
    static const char name[] = "clifford.maps_backward";
    tess_clifford_maps maps;
    TESS_TRY(begin(ctx, name, given, x, &maps));
    TESS_TRY(check_items(name, "items", items, x, &maps));
    TESS_TRY(check_rows(name, "grad_z", grad_z, x, &maps.z));
    const tess_array *all[5] = {x, items, grad_z};
    int n = 3;
    if (grad_x) {
        TESS_TRY(check_rows(name, "grad_x", grad_x, x, &maps.x));
        all[n++] = grad_x;
    }
    if (grad_items) {
        TESS_TRY(check_items(name, "grad_items", grad_items, x, &maps));
        all[n++] = grad_items;
    }
    TESS_TRY(check_places(ctx, name, all, 3, n));
    tess_status status = TESS_OK;
    if (grad_x) {
        tess_stage_clifford_maps stage = stage_of(&maps, grad_x, items, grad_z, TESS_CL_MAPS_ROWS);
        status = run(ctx, name, &stage, x, call);
    }
    if (grad_items && status == TESS_OK) {
        tess_stage_clifford_maps stage = stage_of(&maps, x, grad_items, grad_z, TESS_CL_MAPS_ITEMS);
        status = run(ctx, name, &stage, x, call);
    }
    return status;
}

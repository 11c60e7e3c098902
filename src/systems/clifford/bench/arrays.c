#include "systems/clifford/bench/arrays.h"

#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/device_memory.h"
#include "runtime/group.h"

#include <string.h>

// Far beyond any cache in use: what a pass reads was last touched this much memory ago.
enum { ROTATED_BYTES = 256 << 20 };

static int has_linear(const tess_clifford_op *op)
{
    return op->kind == TESS_CLIFFORD_LINEAR || op->kind == TESS_CLIFFORD_LAYER ||
           op->kind == TESS_CLIFFORD_FC_LAYER;
}

static int has_product(const tess_clifford_op *op)
{
    return op->kind == TESS_CLIFFORD_SGP || op->kind == TESS_CLIFFORD_FCGP ||
           op->kind == TESS_CLIFFORD_LAYER || op->kind == TESS_CLIFFORD_FC_LAYER;
}

static int is_full(const tess_clifford_op *op)
{
    return op->kind == TESS_CLIFFORD_FCGP || op->kind == TESS_CLIFFORD_FC_LAYER;
}

static int32_t set_shape(int64_t *shape, int is_there, int64_t a, int64_t b, int64_t c)
{
    shape[0] = a;
    shape[1] = b;
    shape[2] = c;
    return !is_there ? 0 : c > 0 ? 3 : b > 0 ? 2 : 1;
}

int32_t bench_shape(const tess_clifford_op *op, bench_array what, int64_t n_row, int64_t n_feature,
                    int64_t shape[TESS_MAX_RANK])
{
    const int64_t n = n_feature;
    const int64_t d = op->algebra.n_component, g = op->algebra.n_grade, p = op->algebra.n_path;
    switch (what) {
    case BENCH_WEIGHT:
    case BENCH_GWEIGHT:
        return is_full(op) ? set_shape(shape, 1, p, n, n)
                           : set_shape(shape, has_product(op), n, p, 0);
    case BENCH_LINEAR_WEIGHT:
    case BENCH_GLINEAR_WEIGHT:
        return set_shape(shape, has_linear(op), g, n, n);
    case BENCH_BIAS:
    case BENCH_GBIAS:
        return set_shape(shape, has_linear(op), n, 0, 0);
    case BENCH_STATISTICS:
        return set_shape(shape, has_product(op), g, n_row, 0);
    case BENCH_LINEAR_OUT:
        return set_shape(shape, has_linear(op) && has_product(op), d, n_row, n);
    case BENCH_Y:
    case BENCH_GY:
    case BENCH_GATED_X:
    case BENCH_GATED_Y:
    case BENCH_PRODUCT:
    case BENCH_H:
    case BENCH_GGATED_X:
    case BENCH_GGATED_Y:
        return set_shape(shape, has_product(op), d, n_row, n);
    default:
        return set_shape(shape, what != BENCH_WORKSPACE, d, n_row, n);
    }
}

static tess_space space_of(const bench_memory *memory)
{
    return memory->device->shares_host_memory ? TESS_SPACE_HOST : TESS_SPACE_DEVICE;
}

static tess_status take(bench_memory *memory, tess_array *array, size_t bytes)
{
    array->space = (int32_t)space_of(memory);
    array->device = memory->device->info.index;
    return tess_device_alloc(memory->device, space_of(memory), bytes, &array->data);
}

// The weights of a linear map shrink with its features, as those of networks do, by a power of 2 at
// most 256: otherwise gelu sees scalars so large that its slope is denormal, which a CPU computes
// ten times more slowly.
static float scale_of(bench_array what, int64_t n_feature)
{
    float scale = 1;
    for (int64_t n = n_feature; what == BENCH_LINEAR_WEIGHT && n >= 4 && scale > 1.0f / 256;
         n /= 4) {
        scale /= 2;
    }
    return scale;
}

// Multiples of 1/64 below 2, times scale, a power of 2: exact in every type, f16 and bf16 too.
static void fill_with_64ths(unsigned char *data, tess_dtype dtype, int64_t n, uint32_t salt,
                            float scale)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t mixed = ((uint32_t)i + salt) * 2654435761U;
        const float value = (float)((int)(mixed >> 24) - 128) / 64 * scale;
        const double wide = (double)value;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        const uint16_t upper = (uint16_t)(bits >> 16);
        const uint32_t exponent = (bits >> 23 & 0xff) - 112;
        const uint16_t half =
            value == 0 ? 0
                       : (uint16_t)((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff));
        switch (dtype) {
        case TESS_F64:
            memcpy(data + 8 * i, &wide, 8);
            break;
        case TESS_F32:
            memcpy(data + 4 * i, &value, 4);
            break;
        case TESS_BF16:
            memcpy(data + 2 * i, &upper, 2);
            break;
        default:
            memcpy(data + 2 * i, &half, 2);
            break;
        }
    }
}

static tess_status upload(tess_context *ctx, bench_memory *memory, const tess_array *array,
                          size_t bytes, uint32_t salt, float scale)
{
    unsigned char *host = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_TILE, "random data");
    if (!host) {
        return TESS_E_MEMORY;
    }
    fill_with_64ths(host, (tess_dtype)array->dtype, tess_array_items(array), salt, scale);
    const tess_backend *backend = memory->device->backend;
    tess_status status =
        backend->copy(memory->queue, array->data, space_of(memory), host, TESS_SPACE_HOST, bytes);
    if (status == TESS_OK) {
        status = backend->finish(memory->queue);
    }
    tess_heap_free(&ctx->heap, host, bytes, TESS_TAG_TILE);
    return status;
}

static int is_read(bench_array what)
{
    return what < BENCH_N_INPUT || what == BENCH_WEIGHT || what == BENCH_LINEAR_WEIGHT ||
           what == BENCH_BIAS;
}

static tess_dtype dtype_of(const bench_memory *memory, bench_array what)
{
    return what == BENCH_STATISTICS && memory->dtype != TESS_F64 ? TESS_F32 : memory->dtype;
}

static tess_status create_array(tess_context *ctx, bench_memory *memory, const tess_clifford_op *op,
                                bench_array what, int32_t set, int64_t n_row, int64_t n_feature)
{
    int64_t shape[TESS_MAX_RANK];
    const int32_t rank = bench_shape(op, what, n_row, n_feature, shape);
    if (rank == 0) {
        return TESS_OK;
    }
    const tess_dtype dtype = dtype_of(memory, what);
    tess_array *array = &memory->arrays[set][what];
    TESS_TRY(tess_array_init(array, NULL, dtype, rank, shape));
    const size_t bytes = (size_t)tess_array_items(array) * tess_dtype_bytes(dtype);
    memory->bytes[what] = bytes;
    TESS_TRY(take(memory, array, bytes));
    const uint32_t salt = (uint32_t)what * 977 + (uint32_t)set;
    return is_read(what) ? upload(ctx, memory, array, bytes, salt, scale_of(what, n_feature))
                         : TESS_OK;
}

// Sets of inputs that take so many bytes each.
static int32_t sets_for(double input_bytes)
{
    const double wanted = input_bytes > 0 ? ROTATED_BYTES / input_bytes + 1 : 1;
    return wanted < BENCH_MAX_SET ? (int32_t)wanted : BENCH_MAX_SET;
}

// Whether all arrays, and the copy that an input is made in, fit into what the context may take.
// In doubles: sizes may be more than can be counted.
static tess_status check_limit(const tess_context *ctx, const bench_memory *memory,
                               const tess_clifford_op *op, int64_t n_row, int64_t n_feature)
{
    double total = 0, inputs = 0, most = 0;
    for (int what = 0; what < BENCH_WORKSPACE; what++) {
        int64_t shape[TESS_MAX_RANK];
        const int32_t rank = bench_shape(op, (bench_array)what, n_row, n_feature, shape);
        double bytes =
            rank == 0 ? 0 : (double)tess_dtype_bytes(dtype_of(memory, (bench_array)what));
        for (int32_t i = 0; i < rank; i++) {
            bytes *= (double)shape[i];
        }
        total += bytes;
        inputs += what < BENCH_N_INPUT ? bytes : 0;
        most = bytes > most ? bytes : most;
    }
    const double needed = total + inputs * (sets_for(inputs) - 1) + most;
    if (memory->device->shares_host_memory &&
        needed > (double)tess_budget_room(ctx->memory_limit_bytes)) {
        TESS_FAIL(TESS_E_MEMORY,
                  "clifford measure: %lld rows of %lld features take %.1f MiB with results and "
                  "gradients, the memory limit is %.1f MiB: measure fewer, or raise the limit",
                  (long long)n_row, (long long)n_feature, needed / 1048576,
                  (double)ctx->memory_limit_bytes / 1048576);
    }
    return TESS_OK;
}

static tess_status create_all(tess_context *ctx, bench_memory *memory, const tess_clifford_op *op,
                              int64_t n_row, int64_t n_feature)
{
    const tess_backend *backend = memory->device->backend;
    TESS_TRY(check_limit(ctx, memory, op, n_row, n_feature));
    if (memory->device->shares_host_memory) {
        TESS_TRY(backend->queue_create(memory->device->handle, &memory->queue));
    } else {
        TESS_TRY(backend->queue_adopt(memory->device->handle, NULL, &memory->queue));
    }
    for (int what = 0; what < BENCH_WORKSPACE; what++) {
        TESS_TRY(create_array(ctx, memory, op, (bench_array)what, 0, n_row, n_feature));
    }
    size_t input_bytes = 0;
    for (int what = 0; what < BENCH_N_INPUT; what++) {
        input_bytes += memory->bytes[what];
    }
    memory->n_set = sets_for((double)input_bytes);
    for (int32_t set = 1; set < memory->n_set; set++) {
        for (int what = 0; what < BENCH_N_INPUT; what++) {
            TESS_TRY(create_array(ctx, memory, op, (bench_array)what, set, n_row, n_feature));
        }
    }
    return TESS_OK;
}

tess_status bench_memory_create(tess_context *ctx, const tess_clifford_op *op, tess_dtype dtype,
                                int64_t n_row, int64_t n_feature, bench_memory *memory)
{
    TESS_TRY(tess_group_refuse(ctx, "Clifford operation"));
    *memory = (bench_memory){.device = ctx->device, .dtype = dtype, .n_set = 1};
    const tess_status status = create_all(ctx, memory, op, n_row, n_feature);
    if (status != TESS_OK) {
        bench_memory_destroy(memory);
    }
    return status;
}

static void give_back(bench_memory *memory, tess_array *array, size_t bytes)
{
    if (array->data) {
        tess_device_free(memory->device, space_of(memory), array->data, bytes);
        array->data = NULL;
    }
}

tess_status bench_memory_workspace(bench_memory *memory, size_t bytes)
{
    tess_array *workspace = &memory->arrays[0][BENCH_WORKSPACE];
    if (bytes <= memory->bytes[BENCH_WORKSPACE]) {
        return TESS_OK;
    }
    give_back(memory, workspace, memory->bytes[BENCH_WORKSPACE]);
    memory->bytes[BENCH_WORKSPACE] = 0;
    const size_t padded = bytes + BENCH_ALIGNMENT;
    TESS_TRY(take(memory, workspace, padded));
    memory->bytes[BENCH_WORKSPACE] = padded;
    return TESS_OK;
}

void bench_memory_destroy(bench_memory *memory)
{
    for (int32_t set = 0; set < BENCH_MAX_SET; set++) {
        for (int what = 0; what < BENCH_N_ARRAY; what++) {
            give_back(memory, &memory->arrays[set][what], memory->bytes[what]);
        }
    }
    if (memory->queue) {
        memory->device->backend->queue_destroy(memory->queue);
        memory->queue = NULL;
    }
}

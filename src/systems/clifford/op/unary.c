// Maps of single multivectors and their quadratic form, on the host.
#include "base/half.h"
#include "base/status.h"
#include "systems/clifford/op/operands.h"

// Rows per block of the pool.
enum { BLOCK_ROWS = 64 };

// Component k of the result is sign[k] times component from[k]; sign 0: zero.
typedef struct unary_job {
    const tess_clifford_algebra *algebra;
    const tess_array *x;
    const tess_array *z;
    int8_t sign[TESS_CLIFFORD_MAX_COMPONENTS];
    uint8_t from[TESS_CLIFFORD_MAX_COMPONENTS];
} unary_job;

static bool is_real(int32_t dtype)
{
    return dtype == TESS_F64 || dtype == TESS_F32 || dtype == TESS_BF16 || dtype == TESS_F16;
}

// z_shape0: what the first axis of z has.
static tess_status check_arrays(const char *name, const tess_clifford_algebra *algebra,
                                const tess_array *x, const tess_array *z, int32_t z_shape0)
{
    if (!algebra || algebra->struct_size != sizeof *algebra || !x || !z) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: algebra (filled by tess_clifford_algebra_init()), x and z "
                  "must not be NULL",
                  name);
    }
    if (!is_real(x->dtype) || z->dtype != x->dtype) {
        TESS_FAIL(TESS_E_DTYPE, "%s: x is %s and z is %s; expected both f64, f32, bf16 or f16",
                  name, tess_dtype_name((tess_dtype)x->dtype),
                  tess_dtype_name((tess_dtype)z->dtype));
    }
    if (x->rank != 3 || x->shape[0] != algebra->n_component) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: x: expected (component, row, feature) with %d components, got %d axes with "
                  "%lld on the first",
                  name, algebra->n_component, x->rank, (long long)x->shape[0]);
    }
    if (z->rank != 3 || z->shape[0] != z_shape0 || z->shape[1] != x->shape[1] ||
        z->shape[2] != x->shape[2]) {
        TESS_FAIL(TESS_E_SHAPE, "%s: z: expected (%d,%lld,%lld)", name, z_shape0,
                  (long long)x->shape[1], (long long)x->shape[2]);
    }
    if (x->space == TESS_SPACE_DEVICE || z->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_SPACE, "%s: x and z must be in host memory", name);
    }
    if (tess_array_items(x) > 0 && (!x->data || !z->data)) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: %s: data is NULL", name, x->data ? "z" : "x");
    }
    if (tess_array_items(x) > 0 && (tess_cl_overlaps_itself(z) || tess_cl_overlaps(z, x))) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: z overlaps x or itself in memory", name);
    }
    return TESS_OK;
}

static int64_t row_offset(const tess_array *a, int64_t k, int64_t b)
{
    return k * a->stride[0] + b * a->stride[1];
}

static double load(const tess_array *a, int64_t i)
{
    switch (a->dtype) {
    case TESS_F64:
        return ((const double *)a->data)[i];
    case TESS_F32:
        return (double)((const float *)a->data)[i];
    case TESS_BF16:
        return (double)tess_f32_of_bf16(((const uint16_t *)a->data)[i]);
    default:
        return (double)tess_f32_of_f16(((const uint16_t *)a->data)[i]);
    }
}

static void store(const tess_array *a, int64_t i, double value)
{
    switch (a->dtype) {
    case TESS_F64:
        ((double *)a->data)[i] = value;
        break;
    case TESS_F32:
        ((float *)a->data)[i] = (float)value;
        break;
    case TESS_BF16:
        ((uint16_t *)a->data)[i] = tess_bf16_of_f32((float)value);
        break;
    default:
        ((uint16_t *)a->data)[i] = tess_f16_of_f32((float)value);
    }
}

static void map_row(const unary_job *job, int64_t k, int64_t b)
{
    const int64_t from = row_offset(job->x, job->from[k], b);
    const int64_t to = row_offset(job->z, k, b);
    for (int64_t n = 0; n < job->x->shape[2]; n++) {
        const double x = load(job->x, from + n * job->x->stride[2]);
        store(job->z, to + n * job->z->stride[2], job->sign[k] == 0 ? 0 : job->sign[k] * x);
    }
}

static tess_status map_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const unary_job *job = arg;
    const int64_t end =
        (block + 1) * BLOCK_ROWS < job->x->shape[1] ? (block + 1) * BLOCK_ROWS : job->x->shape[1];
    for (int64_t b = block * BLOCK_ROWS; b < end; b++) {
        for (int64_t k = 0; k < job->algebra->n_component; k++) {
            map_row(job, k, b);
        }
    }
    return TESS_OK;
}

static tess_status run_blocks(tess_context *ctx, unary_job *job, tess_block_fn block)
{
    const int64_t n_block = (job->x->shape[1] + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return tess_parallel_for(ctx->pool, n_block, block, job);
}

static tess_status prepare(unary_job *job, tess_clifford_unary map, uint32_t grades)
{
    const tess_clifford_algebra *algebra = job->algebra;
    for (int k = 0; k < algebra->n_component; k++) {
        job->from[k] = (uint8_t)k;
    }
    for (int k = 0; k < algebra->n_component; k++) {
        const int rest = algebra->complement[k];
        switch (map) {
        case TESS_CLIFFORD_REVERSE:
            job->sign[k] = algebra->reverse[k];
            break;
        case TESS_CLIFFORD_INVOLUTION:
            job->sign[k] = algebra->involution[k];
            break;
        case TESS_CLIFFORD_CONJUGATE:
            job->sign[k] = algebra->conjugate[k];
            break;
        case TESS_CLIFFORD_RIGHT_COMPLEMENT:
            job->from[rest] = (uint8_t)k;
            job->sign[rest] = algebra->complement_sign[k];
            break;
        case TESS_CLIFFORD_LEFT_COMPLEMENT: // the inverse of the right one
            job->from[k] = (uint8_t)rest;
            job->sign[k] = algebra->complement_sign[k];
            break;
        case TESS_CLIFFORD_GRADES:
            job->sign[k] = (int8_t)(grades >> algebra->grade[k] & 1u);
            break;
        default:
            TESS_FAIL(TESS_E_ARGUMENT, "clifford.map: %d is no map", (int)map);
        }
    }
    return TESS_OK;
}

tess_status tess_clifford_map(tess_context *ctx, const tess_clifford_algebra *algebra,
                              tess_clifford_unary map, uint32_t grades, const tess_array *x,
                              const tess_array *z)
{
    tess_error_clear();
    TESS_TRY(check_arrays("clifford.map", algebra, x, z, algebra ? algebra->n_component : 0));
    unary_job job = {.algebra = algebra, .x = x, .z = z};
    TESS_TRY(prepare(&job, map, grades));
    return run_blocks(ctx, &job, map_block);
}

static tess_status quadratic_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const unary_job *job = arg;
    const tess_clifford_algebra *algebra = job->algebra;
    const int64_t end =
        (block + 1) * BLOCK_ROWS < job->x->shape[1] ? (block + 1) * BLOCK_ROWS : job->x->shape[1];
    for (int64_t b = block * BLOCK_ROWS; b < end; b++) {
        for (int64_t n = 0; n < job->x->shape[2]; n++) {
            double sum[TESS_CLIFFORD_MAX_GRADES] = {0};
            for (int64_t k = 0; k < algebra->n_component; k++) {
                const double x = load(job->x, row_offset(job->x, k, b) + n * job->x->stride[2]);
                sum[algebra->grade[k]] += algebra->eta[k] * x * x;
            }
            for (int64_t g = 0; g < algebra->n_grade; g++) {
                store(job->z, row_offset(job->z, g, b) + n * job->z->stride[2], sum[g]);
            }
        }
    }
    return TESS_OK;
}

tess_status tess_clifford_quadratic(tess_context *ctx, const tess_clifford_algebra *algebra,
                                    const tess_array *x, const tess_array *z)
{
    tess_error_clear();
    TESS_TRY(check_arrays("clifford.quadratic", algebra, x, z, algebra ? algebra->n_grade : 0));
    unary_job job = {.algebra = algebra, .x = x, .z = z};
    return run_blocks(ctx, &job, quadratic_block);
}

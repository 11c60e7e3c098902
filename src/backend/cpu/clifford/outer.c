// Sums over rows: gradients of weights. A block of the result belongs to one thread, which goes
// over all rows in order.
#include "backend/cpu/clifford/matrix.h"

#include "base/checked.h"
#include "base/status.h"

#include <string.h>

enum { DEPTH = TESS_CL_GEMM_DEPTH, ROW = TESS_CL_GEMM_ROW, FINISH_ROWS = 16 };

// Blocks of the result, in and out: tile and panels stay in a core's cache.
enum { MOST_IN = 256, MOST_OUT_BYTES = 2048 };

// So many blocks are wanted for the threads of any machine; and the memory that may cost.
enum { WANTED_BLOCKS = 32, MOST_PART_BYTES = 64 << 20 };

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static char *sums_at(const cl_outer *o, int64_t part, int64_t matrix, int64_t in, int64_t out)
{
    return o->sums +
           (((part * o->n_matrix + matrix) * o->n_in + in) * o->n_out + out) * o->math.item;
}

// Parts show in the last bits: they follow from the shape alone, whatever the ISA.
static int64_t count_parts(const cl_outer *o)
{
    int64_t n_used = 0;
    for (int64_t w = 0; w < o->n_matrix; w++) {
        n_used += o->n_component[w] > 0;
    }
    const int64_t n_block = n_used * ceil_div(o->n_in, 256) * ceil_div(o->n_out, 256);
    const int64_t n_chunk = ceil_div(o->n_row, DEPTH);
    const int64_t matrix_bytes = o->n_matrix * o->n_in * o->n_out * o->math.item;
    int64_t n_part = n_block > 0 ? least(WANTED_BLOCKS / n_block, n_chunk) : 1;
    n_part = least(n_part, MOST_PART_BYTES / matrix_bytes);
    return n_part > 1 ? n_part : 1;
}

static void choose_blocks(cl_outer *o)
{
    const int64_t most_in = MOST_IN / o->math.good_row * o->math.good_row;
    const int64_t most_out = MOST_OUT_BYTES / o->math.item;
    const int64_t in = ceil_div(o->n_in, ceil_div(o->n_in, most_in));
    const int64_t out = ceil_div(o->n_out, ceil_div(o->n_out, most_out));
    o->in_block = ceil_div(in, o->math.good_row) * o->math.good_row;
    o->out_block = ceil_div(out, o->math.width) * o->math.width;
    o->n_in_block = ceil_div(o->n_in, o->in_block);
    o->n_out_block = ceil_div(o->n_out, o->out_block);
}

tess_status tess_cpu_cl_outer_create(tess_context *ctx, cl_outer *o)
{
    uint64_t sums = 0, workers = 0, all = 0;
    o->memory = NULL;
    o->is_first = true;
    choose_blocks(o);
    o->worker_bytes = (DEPTH * ROW + DEPTH * o->out_block + o->out_block) * o->math.item;
    uint64_t items = 0;
    const bool is_counted =
        tess_mul_u64((uint64_t)o->n_in, (uint64_t)(o->n_out * o->math.item), &items) &&
        tess_mul_u64(items, (uint64_t)o->n_matrix, &items) && items <= INT64_MAX / 2;
    o->n_part = is_counted ? count_parts(o) : 1;
    if (!is_counted || !tess_mul_u64(items, (uint64_t)o->n_part, &sums) ||
        !tess_mul_u64((uint64_t)o->worker_bytes, (uint64_t)tess_pool_threads(ctx->pool),
                      &workers) ||
        !tess_add_u64(sums, workers, &all) || all > INT64_MAX) {
        TESS_FAIL(TESS_E_MEMORY, "weight: %lld matrices of %lld x %lld are too large",
                  (long long)o->n_matrix, (long long)o->n_in, (long long)o->n_out);
    }
    o->all_bytes = (int64_t)all;
    o->memory = tess_heap_alloc(&ctx->heap, (size_t)all, TESS_TAG_SCRATCH, "gradients of weights");
    o->sums = o->memory ? o->memory + workers : NULL;
    return o->memory ? TESS_OK : TESS_E_MEMORY;
}

// One block of the sums of one part: chunks of rows in order, of each all components.
static tess_status add_block(void *arg, int64_t block, int32_t worker)
{
    const cl_outer *o = arg;
    const int64_t out = block % o->n_out_block * o->out_block;
    block /= o->n_out_block;
    const int64_t in = block % o->n_in_block * o->in_block;
    block /= o->n_in_block;
    const int64_t w = block % o->n_matrix, part = block / o->n_matrix;
    const int64_t n_out = least(o->n_out - out, o->out_block);
    const int64_t n_in = least(o->n_in - in, o->in_block);
    char *tile = o->memory + worker * o->worker_bytes;
    char *room = tile + DEPTH * ROW * o->math.item;
    bool is_first = o->is_first;
    for (int64_t r = part * DEPTH; r < o->n_row_now; r += o->n_part * DEPTH) {
        const int64_t depth = least(o->n_row_now - r, DEPTH);
        for (int32_t c = 0; c < o->n_component[w]; c++, is_first = false) {
            const int64_t component = o->component[w] + c;
            o->left(o->self, w, component, o->row + r, depth, in, n_in, tile);
            const void *panels = o->right(o->self, component, o->row + r, depth, out, n_out, room);
            tess_cpu_cl_gemm_t(&o->math, tile, n_in, panels, depth, n_out,
                               sums_at(o, part, w, in, out), o->n_out, is_first);
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_cl_outer_add(tess_context *ctx, cl_outer *o, int64_t row, int64_t n_row)
{
    o->row = row;
    o->n_row_now = n_row;
    const int64_t n_block = o->n_part * o->n_matrix * o->n_in_block * o->n_out_block;
    TESS_TRY(tess_parallel_for(ctx->pool, n_block, add_block, o));
    o->is_first = false;
    return TESS_OK;
}

static void add_line(const cl_math *math, int64_t n, const void *from, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        if (math->is_f64) {
            ((double *)to)[i] += ((const double *)from)[i];
        } else {
            ((float *)to)[i] += ((const float *)from)[i];
        }
    }
}

static tess_status finish_rows(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const cl_outer *o = arg;
    const int64_t n_block = ceil_div(o->n_in, FINISH_ROWS);
    const int64_t w = block / n_block, first = block % n_block * FINISH_ROWS;
    for (int64_t in = first; in < least(first + FINISH_ROWS, o->n_in); in++) {
        char *sum = sums_at(o, 0, w, in, 0);
        if (o->n_component[w] == 0) {
            memset(sum, 0, (size_t)(o->n_out * o->math.item));
        }
        for (int64_t part = 1; part < o->n_part && o->n_component[w] > 0; part++) {
            add_line(&o->math, o->n_out, sums_at(o, part, w, in, 0), sum);
        }
        const cl_line line = cl_line_of(&o->grad, o->dtype, w, in, 0, o->n_out);
        tess_cpu_cl_line_store(&o->math, &line, sum);
    }
    return TESS_OK;
}

tess_status tess_cpu_cl_outer_finish(tess_context *ctx, cl_outer *o)
{
    return tess_parallel_for(ctx->pool, o->n_matrix * ceil_div(o->n_in, FINISH_ROWS), finish_rows,
                             o);
}

void tess_cpu_cl_outer_destroy(tess_context *ctx, cl_outer *o)
{
    if (o->memory) {
        tess_heap_free(&ctx->heap, o->memory, (size_t)o->all_bytes, TESS_TAG_SCRATCH);
        o->memory = NULL;
    }
}

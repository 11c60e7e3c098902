#include "backend/cpu/clifford/matrix.h"

#include "base/checked.h"
#include "base/half.h"
#include "base/status.h"

#include <string.h>

enum { DEPTH = TESS_CL_GEMM_DEPTH, ROW = TESS_CL_GEMM_ROW, TURN = 16 };

cl_math tess_cpu_cl_math(const tess_kernels *kernels, int32_t dtype)
{
    tess_cl_gemm_shape shape;
    kernels->clifford_gemm_shape(&shape);
    const bool is_f64 = dtype == TESS_F64;
    return (cl_math){.kernels = kernels,
                     .is_f64 = is_f64,
                     .item = is_f64 ? sizeof(double) : sizeof(float),
                     .width = (int64_t)(is_f64 ? shape.width_f64 : shape.width_f32),
                     .good_row = (int64_t)shape.n_row};
}

static void load_f32(const cl_line *line, float *to)
{
    const int64_t n = line->n, step = line->step;
    if (line->dtype == TESS_F32) {
        const float *x = (const float *)line->data + line->offset;
        if (step == 1) {
            memcpy(to, x, (size_t)n * sizeof *x);
            return;
        }
        for (int64_t i = 0; i < n; i++) {
            to[i] = x[i * step];
        }
        return;
    }
    const uint16_t *x = (const uint16_t *)line->data + line->offset;
    if (line->dtype == TESS_BF16) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = tess_f32_of_bf16(x[i * step]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = tess_f32_of_f16(x[i * step]);
    }
}

void tess_cpu_cl_line_load(const cl_math *math, const cl_line *line, void *to)
{
    if (!math->is_f64) {
        load_f32(line, to);
        return;
    }
    double *y = to;
    if (line->dtype == TESS_F32) {
        const float *x = (const float *)line->data + line->offset;
        for (int64_t i = 0; i < line->n; i++) {
            y[i] = (double)x[i * line->step];
        }
        return;
    }
    const double *x = (const double *)line->data + line->offset;
    for (int64_t i = 0; i < line->n; i++) {
        y[i] = x[i * line->step];
    }
}

static void store_f32(const cl_line *line, const float *from)
{
    const int64_t n = line->n, step = line->step;
    if (line->dtype == TESS_F32) {
        float *y = (float *)line->data + line->offset;
        for (int64_t i = 0; i < n; i++) {
            y[i * step] = from[i];
        }
        return;
    }
    uint16_t *y = (uint16_t *)line->data + line->offset;
    for (int64_t i = 0; i < n; i++) {
        y[i * step] =
            line->dtype == TESS_BF16 ? tess_bf16_of_f32(from[i]) : tess_f16_of_f32(from[i]);
    }
}

void tess_cpu_cl_line_store(const cl_math *math, const cl_line *line, const void *from)
{
    if (!math->is_f64) {
        store_f32(line, from);
        return;
    }
    const double *x = from;
    for (int64_t i = 0; i < line->n; i++) {
        if (line->dtype == TESS_F32) {
            ((float *)line->data)[line->offset + i * line->step] = (float)x[i];
        } else {
            ((double *)line->data)[line->offset + i * line->step] = x[i];
        }
    }
}

const void *tess_cpu_cl_line_borrow(const cl_math *math, const cl_line *line, void *room)
{
    if (line->dtype == (math->is_f64 ? TESS_F64 : TESS_F32) && line->step == 1) {
        return (const char *)line->data + line->offset * math->item;
    }
    tess_cpu_cl_line_load(math, line, room);
    return room;
}

void tess_cpu_cl_gemm(const cl_math *math, const void *a, int64_t n_row, const void *b,
                      int64_t depth, int64_t n_col, void *c, int64_t c_stride, bool is_first)
{
    if (math->is_f64) {
        math->kernels->clifford_gemm_f64(a, (size_t)n_row, b, (size_t)depth, (size_t)n_col, c,
                                         (size_t)c_stride, is_first);
    } else {
        math->kernels->clifford_gemm_f32(a, (size_t)n_row, b, (size_t)depth, (size_t)n_col, c,
                                         (size_t)c_stride, is_first);
    }
}

void tess_cpu_cl_gemm_t(const cl_math *math, const void *a, int64_t n_row, const void *b,
                        int64_t depth, int64_t n_col, void *c, int64_t c_stride, bool is_first)
{
    if (math->is_f64) {
        math->kernels->clifford_gemm_t_f64(a, (size_t)n_row, b, (size_t)depth, (size_t)n_col, c,
                                           (size_t)c_stride, is_first);
    } else {
        math->kernels->clifford_gemm_t_f32(a, (size_t)n_row, b, (size_t)depth, (size_t)n_col, c,
                                           (size_t)c_stride, is_first);
    }
}

void tess_cpu_cl_pack_row(const cl_math *math, const void *x, int64_t n_col, int64_t depth,
                          int64_t row, void *panels)
{
    char *to = (char *)panels + row * math->width * math->item;
    if (math->is_f64) {
        math->kernels->clifford_gemm_pack_f64(x, (size_t)n_col, (size_t)depth, (void *)to);
    } else {
        math->kernels->clifford_gemm_pack_f32(x, (size_t)n_col, (size_t)depth, (void *)to);
    }
}

// TURN rows at a time of a matrix whose columns are contiguous: a column's items share a cache
// line.
static void pack_turned(const cl_packed *p, int64_t matrix, int64_t first, int64_t depth, char *to,
                        char *room)
{
    const tess_cl_view turned = {
        .data = p->view.data, .stride = {p->view.stride[0], p->view.stride[2], p->view.stride[1]}};
    char *column = room + TURN * p->n_out * p->math.item;
    for (int64_t i = 0; i < depth; i += TURN) {
        const int64_t n = depth - i < TURN ? depth - i : TURN;
        for (int64_t j = 0; j < p->n_out; j++) {
            const cl_line line = cl_line_of(&turned, p->dtype, matrix, j, first + i, n);
            tess_cpu_cl_line_load(&p->math, &line, column);
            for (int64_t r = 0; r < n; r++) {
                if (p->math.is_f64) {
                    ((double *)(void *)room)[r * p->n_out + j] = ((double *)(void *)column)[r];
                } else {
                    ((float *)(void *)room)[r * p->n_out + j] = ((float *)(void *)column)[r];
                }
            }
        }
        for (int64_t r = 0; r < n; r++) {
            tess_cpu_cl_pack_row(&p->math, room + r * p->n_out * p->math.item, p->n_out, depth,
                                 i + r, to);
        }
    }
}

static int64_t room_items(const cl_packed *p)
{
    return TURN * p->n_out + TURN;
}

// A chunk of one matrix.
static tess_status pack_chunk(void *arg, int64_t block, int32_t worker)
{
    const cl_packed *p = arg;
    const int64_t n_chunk = (p->n_in + DEPTH - 1) / DEPTH;
    const int64_t matrix = block / n_chunk, first = block % n_chunk * DEPTH;
    const int64_t depth = p->n_in - first < DEPTH ? p->n_in - first : DEPTH;
    char *to = cl_packed_at(p, matrix, first, depth, 0);
    char *room = p->rooms + worker * room_items(p) * p->math.item;
    if (p->view.stride[2] != 1 && p->view.stride[1] == 1) {
        pack_turned(p, matrix, first, depth, to, room);
        return TESS_OK;
    }
    for (int64_t i = 0; i < depth; i++) {
        const cl_line line = cl_line_of(&p->view, p->dtype, matrix, first + i, 0, p->n_out);
        tess_cpu_cl_pack_row(&p->math, tess_cpu_cl_line_borrow(&p->math, &line, room), p->n_out,
                             depth, i, to);
    }
    return TESS_OK;
}

tess_status tess_cpu_cl_packed_create(tess_context *ctx, cl_packed *p)
{
    const int64_t width = p->math.width;
    const int64_t n_chunk = (p->n_in + DEPTH - 1) / DEPTH;
    uint64_t items = 0, bytes = 0, rooms = 0;
    p->memory = NULL;
    const bool is_counted = tess_mul_u64((uint64_t)((p->n_out + width - 1) / width * width),
                                         (uint64_t)p->n_in, &items) &&
                            tess_mul_u64(items, (uint64_t)(p->n_matrix * p->math.item), &bytes) &&
                            tess_mul_u64((uint64_t)(room_items(p) * p->math.item),
                                         (uint64_t)tess_pool_threads(ctx->pool), &rooms) &&
                            tess_add_u64(bytes, rooms, &rooms) && rooms <= INT64_MAX;
    if (!is_counted) {
        TESS_FAIL(TESS_E_MEMORY, "weight: %lld matrices of %lld x %lld are too large to be packed",
                  (long long)p->n_matrix, (long long)p->n_in, (long long)p->n_out);
    }
    p->matrix_items = (int64_t)items;
    p->all_bytes = (int64_t)rooms;
    p->memory = tess_heap_alloc(&ctx->heap, (size_t)rooms, TESS_TAG_SCRATCH, "packed weights");
    if (!p->memory) {
        return TESS_E_MEMORY;
    }
    p->rooms = p->memory + bytes;
    return tess_parallel_for(ctx->pool, p->n_matrix * n_chunk, pack_chunk, p);
}

void tess_cpu_cl_packed_destroy(tess_context *ctx, cl_packed *p)
{
    if (p->memory) {
        tess_heap_free(&ctx->heap, p->memory, (size_t)p->all_bytes, TESS_TAG_SCRATCH);
        p->memory = NULL;
    }
}

// Chunks of the depth that are loaded together: memory hands out long lines faster than short ones.
enum { LOADED_CHUNKS = 2 };

static int64_t depth_at(const cl_packed *p, int64_t first)
{
    return p->n_in - first < DEPTH ? p->n_in - first : DEPTH;
}

int64_t tess_cpu_cl_tile_items(const cl_packed *p, int64_t n_line)
{
    return (p->n_in > DEPTH ? LOADED_CHUNKS : 1) * n_line * ROW;
}

// The chunks from depth `first` on, each a tile of all lines.
static void load_chunks(const cl_packed *p, const cl_rows *rows, int64_t first, int64_t end,
                        char *tile)
{
    const int64_t tile_bytes = rows->n_component * rows->n_row * ROW * p->math.item;
    for (int64_t k = rows->component; k < rows->component + rows->n_component; k++) {
        for (int64_t r = 0; r < rows->n_row; r++, tile += ROW * p->math.item) {
            char *to = tile;
            for (int64_t at = first; at < end; at += DEPTH, to += tile_bytes) {
                const cl_line line =
                    cl_line_of(rows->x, rows->dtype, k, rows->row + r, at, depth_at(p, at));
                tess_cpu_cl_line_load(&p->math, &line, to);
            }
        }
    }
}

void tess_cpu_cl_apply(const cl_packed *p, int64_t matrix, const cl_rows *rows, int64_t column,
                       int64_t n_col, void *tile, void *c, int64_t c_stride, bool is_first)
{
    const int64_t n_line = rows->n_component * rows->n_row;
    int64_t loaded = 0;
    char *a = tile;
    for (int64_t first = 0; first < p->n_in; first += DEPTH) {
        const int64_t depth = depth_at(p, first);
        if (first == loaded) {
            const int64_t end = first + LOADED_CHUNKS * DEPTH;
            loaded = end < p->n_in ? end : p->n_in;
            load_chunks(p, rows, first, loaded, tile);
            a = tile;
        }
        tess_cpu_cl_gemm(&p->math, a, n_line, cl_packed_at(p, matrix, first, depth, column), depth,
                         n_col, c, c_stride, is_first && first == 0);
        a += n_line * ROW * p->math.item;
    }
}

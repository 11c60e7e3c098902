#include "systems/decode/report/block.h"

#include "base/status.h"
#include "runtime/source.h"

#include <math.h>
#include <string.h>

static const char MEMORY[] = "rows of a result";

// Values of the posterior read at once, so that all threads have some rows; 16 bytes each, in two
// blocks an eighth of the memory limit.
static int64_t values_at_once(const tess_context *ctx)
{
    const int64_t times = ctx->n_thread < 4 ? 1 : ctx->n_thread < 16 ? ctx->n_thread / 4 : 4;
    const int64_t most = times << 19;
    const uint64_t share = ctx->memory_limit_bytes / (8 * 2 * 16);
    return share < (uint64_t)most ? (int64_t)share : most;
}

// The animal's speed is its way over this long on either side: positions from a camera jitter, and
// differences of neighbouring bins would show nothing else.
static const double SPEED_HALF_WINDOW = 0.25; // s

static int64_t speed_margin(const tess_de_view *v)
{
    const double rows = v->step > 0 ? SPEED_HALF_WINDOW / v->step : 1;
    return rows < 1 ? 1 : rows > 4096 ? 4096 : (int64_t)(rows + 0.5);
}

tess_status tess_de_block_create(const tess_de_view *v, tess_de_block *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &v->ctx->heap);
    out->view = v;
    out->margin = speed_margin(v);
    const int64_t rows = values_at_once(v->ctx) / v->n_state_bin;
    out->capacity = rows < 1 ? 1 : rows < v->n_time ? rows : v->n_time;
    const int64_t n = out->capacity;
    const int64_t wide = n + 2 * out->margin;
    const int64_t columns = v->n_state_bin > v->n_state ? v->n_state_bin : v->n_state;
    const int64_t n_raw = n * columns > wide ? n * columns : wide;
    tess_blocks *memory = &out->memory;
    out->time = tess_blocks_alloc(memory, n, sizeof(double), MEMORY);
    out->speed = tess_blocks_alloc(memory, n, sizeof(double), MEMORY);
    out->states = tess_blocks_alloc(memory, n * v->n_state, sizeof(double), MEMORY);
    out->posterior = tess_blocks_alloc(memory, n * v->n_state_bin, sizeof(double), MEMORY);
    out->wide_time = tess_blocks_alloc(memory, wide, sizeof(double), MEMORY);
    out->wide_animal = tess_blocks_alloc(memory, wide * v->n_axis, sizeof(double), MEMORY);
    out->wide_edge = tess_blocks_alloc(memory, wide, sizeof(double), MEMORY);
    out->wide_interval = tess_blocks_alloc(memory, wide, sizeof(double), MEMORY);
    out->interval = tess_blocks_alloc(memory, n, sizeof(double), MEMORY);
    out->spots = tess_blocks_alloc(memory, n, sizeof *out->spots, MEMORY);
    out->raw = tess_blocks_alloc(memory, n_raw, sizeof(double), MEMORY);
    bool is_complete = out->time && out->speed && out->states && out->posterior && out->wide_time &&
                       out->wide_animal && out->wide_edge && out->wide_interval && out->interval &&
                       out->spots && out->raw;
    for (int32_t a = 0; a < v->n_axis; a++) {
        out->animal[a] = tess_blocks_alloc(memory, n, sizeof(double), MEMORY);
        out->represented[a] = tess_blocks_alloc(memory, n, sizeof(double), MEMORY);
        is_complete = is_complete && out->animal[a] && out->represented[a];
    }
    if (!is_complete) {
        tess_de_block_destroy(out);
        return TESS_E_MEMORY;
    }
    return TESS_OK;
}

void tess_de_block_destroy(tess_de_block *block)
{
    tess_blocks_free(&block->memory);
}

static int64_t recording_row(const tess_de_view *v, int64_t row)
{
    return v->recording_row ? v->recording_row[row] : row;
}

// n positions from row first of the file on; NaN where nothing is known.
static tess_status read_animal(const tess_de_block *b, int32_t axis, int64_t first, int64_t n,
                               double *out)
{
    const tess_de_view *v = b->view;
    if (v->truth[axis]) {
        return tess_de_view_read(v->truth[axis], first, n, b->raw, out);
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = v->true_position ? v->true_position[recording_row(v, first + i) * v->n_axis + axis]
                                  : (double)NAN;
    }
    return TESS_OK;
}

static tess_status read_edges(const tess_de_block *b, int64_t first, int64_t n)
{
    if (b->view->true_edge) {
        return tess_de_view_read(b->view->true_edge, first, n, b->raw, b->wide_edge);
    }
    for (int64_t i = 0; i < n; i++) {
        b->wide_edge[i] = -1;
    }
    return TESS_OK;
}

static tess_status read_intervals(const tess_de_block *b, int64_t first, int64_t n)
{
    if (b->view->interval) {
        return tess_de_view_read(b->view->interval, first, n, b->raw, b->wide_interval);
    }
    memset(b->wide_interval, 0, (size_t)n * sizeof *b->wide_interval);
    return TESS_OK;
}

// The animal in row i of n.
static tess_de_spot spot_at(const tess_de_block *b, int64_t n, int64_t i)
{
    double at[TESS_DECODE_MAX_DIM] = {0};
    for (int32_t a = 0; a < b->view->n_axis; a++) {
        at[a] = b->wide_animal[a * n + i];
    }
    return tess_de_view_spot(b->view, at, b->wide_edge[i]);
}

// Time, position and speed; rows around the block are those of the file, also outside the window.
static tess_status read_movement(tess_de_block *b)
{
    const tess_de_view *v = b->view;
    const int64_t from = v->first_row + b->first;
    const int64_t begin = from > b->margin ? from - b->margin : 0;
    const int64_t after = from + b->n_row + b->margin;
    const int64_t n = (after < v->n_file_row ? after : v->n_file_row) - begin;
    const int64_t offset = from - begin;
    TESS_TRY(tess_de_view_read(v->time, begin, n, b->raw, b->wide_time));
    TESS_TRY(read_edges(b, begin, n));
    TESS_TRY(read_intervals(b, begin, n));
    memcpy(b->interval, b->wide_interval + offset, (size_t)b->n_row * sizeof *b->interval);
    memcpy(b->time, b->wide_time + offset, (size_t)b->n_row * sizeof *b->time);
    for (int32_t a = 0; a < v->n_axis; a++) {
        TESS_TRY(read_animal(b, a, begin, n, b->wide_animal + a * n));
        memcpy(b->animal[a], b->wide_animal + a * n + offset,
               (size_t)b->n_row * sizeof *b->animal[a]);
        for (int64_t i = 0; i < b->n_row; i++) {
            b->represented[a][i] =
                v->represented_position
                    ? v->represented_position[recording_row(v, from + i) * v->n_axis + a]
                    : (double)NAN;
        }
    }
    for (int64_t i = 0; i < b->n_row; i++) {
        const int64_t at = offset + i;
        int64_t left = at > b->margin ? at - b->margin : 0;
        int64_t right = at + b->margin < n ? at + b->margin : n - 1;
        while (b->wide_interval[left] != b->wide_interval[at]) {
            left++;
        }
        while (b->wide_interval[right] != b->wide_interval[at]) {
            right--;
        }
        const double span = b->wide_time[right] - b->wide_time[left];
        const tess_de_spot from_spot = spot_at(b, n, left);
        const tess_de_spot to_spot = spot_at(b, n, right);
        b->spots[i] = spot_at(b, n, at);
        b->speed[i] =
            span > 0 ? tess_de_view_distance(v, &from_spot, &to_spot) / span : (double)NAN;
    }
    return TESS_OK;
}

tess_status tess_de_block_fetch(tess_de_block *b, int64_t first)
{
    const tess_de_view *v = b->view;
    const int64_t left = v->n_time - first;
    b->first = first;
    b->n_row = left < b->capacity ? left : b->capacity;
    TESS_TRY(tess_context_check_cancel(v->ctx));
    TESS_TRY(read_movement(b));
    TESS_TRY(tess_de_view_read(v->states, v->first_row + first, b->n_row, b->raw, b->states));
    return tess_source_is_direct(v->posterior)
               ? TESS_OK
               : tess_de_view_read_raw(v->posterior, v->first_row + first, b->n_row, b->raw);
}

tess_status tess_de_block_widen(const tess_de_block *b, int64_t i, int64_t n)
{
    const tess_de_view *v = b->view;
    if (tess_source_is_direct(v->posterior)) {
        const size_t row_bytes =
            (size_t)v->n_state_bin * (size_t)tess_source_get_info(v->posterior)->item_bytes;
        TESS_TRY(tess_de_view_read_raw(v->posterior, v->first_row + b->first + i, n,
                                       (char *)b->raw + (size_t)i * row_bytes));
    }
    for (int64_t k = i; k < i + n; k++) {
        tess_de_view_widen(v->posterior, b->raw, k, b->posterior + k * v->n_state_bin);
    }
    return TESS_OK;
}

tess_status tess_de_block_read(tess_de_block *b, int64_t first)
{
    TESS_TRY(tess_de_block_fetch(b, first));
    return tess_de_block_widen(b, 0, b->n_row);
}

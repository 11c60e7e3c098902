#include "page/pyramid.h"

#include "base/status.h"
#include "runtime/pack.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK_VALUES = 4096, // of one chunk, about: windows are whole chunks, so few
    LEAST_CHUNK = 256,   // columns
    TOP_COLUMNS = 1024,  // a level this short has none above it
    HEADER_BYTES = 16,   // the chunk's least and greatest values
    WINDOW_LEVELS = 4    // by which windows are finer than the rest, at most
};

// Of what is not NaN; NaN of nothing else. Unlike fmin and fmax no calls.
static double lesser(double a, double b)
{
    return b < a || isnan(a) ? b : a;
}

static double greater(double a, double b)
{
    return b > a || isnan(a) ? b : a;
}

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t chunk_columns(int64_t n_row)
{
    int64_t n = CHUNK_VALUES;
    while (n > LEAST_CHUNK && n * n_row > CHUNK_VALUES) {
        n /= TESS_PYRAMID_BRANCH;
    }
    return n;
}

static int planes(const tess_pyramid *p, int level)
{
    return level > 0 && !p->setup.is_map ? 2 : 1;
}

static tess_status check(const tess_pyramid_setup *s)
{
    if (s->n_column < 1 || s->n_row < 1 || (s->bits != 8 && s->bits != 16) || !(s->step > 0) ||
        s->n_row > INT32_MAX / (2 * LEAST_CHUNK) || s->n_column > INT64_MAX / 1024 / s->n_row) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "a pyramid of %lld columns and %lld rows in %d bits, %g apart; expected at least "
                  "one of each, 8 or 16 bits and a positive step",
                  (long long)s->n_column, (long long)s->n_row, s->bits, s->step);
    }
    return TESS_OK;
}

static tess_status allocate(tess_pyramid *p)
{
    const char *what = "the plots of a report";
    const int64_t n_row = p->setup.n_row;
    const int64_t n = p->chunk_columns * n_row;
    bool is_whole = true;
    for (int l = 0; l < p->n_level; l++) {
        tess_pyramid_level *level = &p->levels[l];
        level->n_chunk = divide_up(level->n_column, p->chunk_columns);
        level->chunks = tess_blocks_alloc(&p->memory, level->n_chunk, sizeof *level->chunks, what);
        level->greatest = tess_blocks_alloc(&p->memory, n, sizeof(double), what);
        level->least = planes(p, l) == 1 ? level->greatest
                                         : tess_blocks_alloc(&p->memory, n, sizeof(double), what);
        is_whole &= level->chunks && level->greatest && level->least;
    }
    p->is_window = tess_blocks_alloc(&p->memory, p->levels[0].n_chunk, 1, what);
    p->raw = tess_blocks_alloc(&p->memory, HEADER_BYTES + 2 * n * p->setup.bits / 8, 1, what);
    p->column = tess_blocks_alloc(&p->memory, 2 * n_row, sizeof(double), what);
    p->still_least = tess_blocks_alloc(&p->memory, n_row * p->n_still, sizeof(double), what);
    p->still_greatest = tess_blocks_alloc(&p->memory, n_row * p->n_still, sizeof(double), what);
    is_whole &= p->is_window && p->raw && p->column && p->still_least && p->still_greatest;
    return is_whole ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_pyramid_create(tess_context *ctx, const tess_pyramid_setup *setup,
                                tess_pyramid *out)
{
    *out =
        (tess_pyramid){.ctx = ctx, .setup = *setup, .least = (double)NAN, .greatest = (double)NAN};
    TESS_TRY(check(setup));
    tess_blocks_init(&out->memory, &ctx->heap);
    out->setup.budget_bytes = setup->budget_bytes > 0 ? setup->budget_bytes : TESS_PYRAMID_BUDGET;
    out->chunk_columns = chunk_columns(setup->n_row);
    out->n_still = setup->n_column < TESS_PYRAMID_STILL ? setup->n_column : TESS_PYRAMID_STILL;
    int64_t n = setup->n_column;
    do {
        out->levels[out->n_level++].n_column = n;
        n = divide_up(n, TESS_PYRAMID_BRANCH);
    } while (out->levels[out->n_level - 1].n_column > TOP_COLUMNS &&
             out->n_level < TESS_PYRAMID_LEVELS);
    const tess_status status = allocate(out);
    if (status != TESS_OK) {
        tess_pyramid_destroy(out);
        return status;
    }
    for (int64_t i = 0; i < setup->n_row * out->n_still; i++) {
        out->still_least[i] = out->still_greatest[i] = (double)NAN;
    }
    return TESS_OK;
}

static void drop(tess_pyramid *p, tess_pyramid_chunk *chunk)
{
    if (chunk->packed) {
        p->packed_bytes -= chunk->bytes;
        tess_heap_free(&p->ctx->heap, chunk->packed, chunk->bytes, TESS_TAG_RESULT);
        *chunk = (tess_pyramid_chunk){0};
    }
}

void tess_pyramid_destroy(tess_pyramid *p)
{
    for (int l = 0; l < p->n_level; l++) {
        for (int64_t c = 0; p->levels[l].chunks && c < p->levels[l].n_chunk; c++) {
            drop(p, &p->levels[l].chunks[c]);
        }
    }
    tess_blocks_free(&p->memory);
    p->n_level = 0;
}

void tess_pyramid_keep(tess_pyramid *p, int64_t first, int64_t last)
{
    const int64_t from = first > 0 ? first : 0;
    const int64_t to = last < p->setup.n_column ? last : p->setup.n_column - 1;
    for (int64_t c = from / p->chunk_columns; from <= to && c <= to / p->chunk_columns; c++) {
        p->is_window[c] = 1;
    }
}

// Whether a window reaches into the chunk: of higher levels, into any of those it stands for.
static bool is_window(const tess_pyramid *p, int level, int64_t chunk)
{
    const int64_t n = (int64_t)1 << 2 * level; // branch to the power of the level
    for (int64_t c = chunk * n; c < (chunk + 1) * n && c < p->levels[0].n_chunk; c++) {
        if (p->is_window[c]) {
            return true;
        }
    }
    return false;
}

// Gives up the finest level there is: outside of windows, or when those alone are too much, whole.
static bool drop_level(tess_pyramid *p)
{
    const bool is_outside =
        p->n_dropped < p->n_level - 1 && p->n_dropped - p->n_window_dropped < WINDOW_LEVELS;
    if (!is_outside && p->n_window_dropped >= p->n_level - 1) {
        return false; // the top level stays whatever it takes
    }
    const int l = is_outside ? p->n_dropped++ : p->n_window_dropped++;
    for (int64_t c = 0; c < p->levels[l].n_chunk; c++) {
        if (!is_outside || !is_window(p, l, c)) {
            drop(p, &p->levels[l].chunks[c]);
        }
    }
    return true;
}

static uint32_t quantise(const tess_pyramid *p, double value, double low, double high)
{
    const uint32_t nothing = (1u << p->setup.bits) - 1;
    if (!isfinite(value)) {
        return nothing;
    }
    return high > low ? (uint32_t)lround((value - low) / (high - low) * (nothing - 1)) : 0;
}

// Least and greatest, then the codes row by row; of 16 bits the upper bytes of a plane first, which
// packs better.
static size_t encode(const tess_pyramid *p, const tess_pyramid_level *level, int n_plane)
{
    const int64_t n_row = p->setup.n_row;
    const int64_t n_col = level->n_filled;
    const size_t n = (size_t)(n_row * n_col);
    double range[2] = {(double)NAN, (double)NAN};
    for (int64_t r = 0; r < n_row; r++) {
        for (int64_t c = 0; c < n_col; c++) {
            range[0] = lesser(range[0], level->least[r * p->chunk_columns + c]);
            range[1] = greater(range[1], level->greatest[r * p->chunk_columns + c]);
        }
    }
    memcpy(p->raw, range, HEADER_BYTES);
    uint8_t *at = p->raw + HEADER_BYTES;
    for (int plane = 0; plane < n_plane; plane++) {
        const double *values = plane == 0 && n_plane == 2 ? level->least : level->greatest;
        for (int64_t r = 0; r < n_row; r++) {
            for (int64_t c = 0; c < n_col; c++, at++) {
                const uint32_t code =
                    quantise(p, values[r * p->chunk_columns + c], range[0], range[1]);
                *at = (uint8_t)(p->setup.bits == 16 ? code >> 8 : code);
                if (p->setup.bits == 16) {
                    at[n] = (uint8_t)code;
                }
            }
        }
        at += p->setup.bits == 16 ? n : 0;
    }
    return (size_t)(at - p->raw);
}

static tess_status pack(tess_pyramid *p, int l)
{
    tess_pyramid_level *level = &p->levels[l];
    const int64_t c = level->n_done++;
    tess_pyramid_chunk *chunk = &level->chunks[c];
    const bool is_kept = l >= p->n_dropped || (l >= p->n_window_dropped && is_window(p, l, c));
    if (is_kept) {
        uint8_t *packed = NULL;
        size_t bytes = 0;
        size_t room = 0;
        const size_t raw_bytes = encode(p, level, planes(p, l));
        TESS_TRY(tess_pack_memory(&p->ctx->heap, p->raw, raw_bytes, &packed, &bytes, &room));
        // In a block of its own size: the packer's room is that of the worst case.
        chunk->packed = tess_heap_alloc(&p->ctx->heap, bytes, TESS_TAG_RESULT, "a plot");
        if (chunk->packed) {
            chunk->bytes = (uint32_t)bytes;
            memcpy(chunk->packed, packed, bytes);
            p->packed_bytes += chunk->bytes;
        }
        tess_heap_free(&p->ctx->heap, packed, room, TESS_TAG_IO);
        if (!chunk->packed) {
            return TESS_E_MEMORY;
        }
        while (p->packed_bytes > p->setup.budget_bytes && drop_level(p)) {
        }
    }
    level->n_filled = 0;
    return TESS_OK;
}

static bool is_group_full(const tess_pyramid *p, int l)
{
    const tess_pyramid_level *level = &p->levels[l];
    const int64_t n = level->n_done * p->chunk_columns + level->n_filled;
    return l + 1 < p->n_level && (n % TESS_PYRAMID_BRANCH == 0 || n == level->n_column);
}

// The last group of the chunk being filled, into p->column.
static void gather(tess_pyramid *p, int l)
{
    const tess_pyramid_level *level = &p->levels[l];
    const int64_t n_row = p->setup.n_row;
    const int64_t from = (level->n_filled - 1) / TESS_PYRAMID_BRANCH * TESS_PYRAMID_BRANCH;
    for (int64_t r = 0; r < n_row; r++) {
        double least = (double)NAN;
        double greatest = (double)NAN;
        for (int64_t c = from; c < level->n_filled; c++) {
            least = lesser(least, level->least[r * p->chunk_columns + c]);
            greatest = greater(greatest, level->greatest[r * p->chunk_columns + c]);
        }
        p->column[r] = least;
        p->column[n_row + r] = greatest;
    }
}

// One column, given by p->column, into a level, and what it completes into those above.
static tess_status add(tess_pyramid *p)
{
    const int64_t n_row = p->setup.n_row;
    bool goes_up = true;
    for (int l = 0; goes_up; l++) {
        tess_pyramid_level *level = &p->levels[l];
        for (int64_t r = 0; r < n_row; r++) {
            level->least[r * p->chunk_columns + level->n_filled] = p->column[r];
            level->greatest[r * p->chunk_columns + level->n_filled] = p->column[n_row + r];
        }
        level->n_filled++;
        goes_up = is_group_full(p, l);
        if (goes_up) {
            gather(p, l);
        }
        const int64_t n = level->n_done * p->chunk_columns + level->n_filled;
        if (level->n_filled == p->chunk_columns || n == level->n_column) {
            TESS_TRY(pack(p, l));
        }
    }
    return TESS_OK;
}

static void look(tess_pyramid *p, const double *column)
{
    const int64_t still = p->n_pushed * p->n_still / p->setup.n_column;
    const int64_t n_row = p->setup.n_row;
    for (int64_t r = 0; r < n_row; r++) {
        const double value = isfinite(column[r]) ? column[r] : (double)NAN;
        double *least = &p->still_least[r * p->n_still + still];
        double *greatest = &p->still_greatest[r * p->n_still + still];
        *least = lesser(*least, value);
        *greatest = greater(*greatest, value);
        p->least = lesser(p->least, value);
        p->greatest = greater(p->greatest, value);
        p->column[r] = p->column[n_row + r] = value;
    }
}

tess_status tess_pyramid_push(tess_pyramid *p, const double *columns, int64_t n)
{
    if (n < 0 || n > p->setup.n_column - p->n_pushed) {
        TESS_FAIL(TESS_E_SHAPE, "%lld columns after %lld of a plot of %lld", (long long)n,
                  (long long)p->n_pushed, (long long)p->setup.n_column);
    }
    for (int64_t i = 0; i < n; i++) {
        look(p, columns + i * p->setup.n_row);
        p->n_pushed++;
        TESS_TRY(add(p));
    }
    return TESS_OK;
}

tess_status tess_pyramid_finish(tess_pyramid *p)
{
    if (p->n_pushed != p->setup.n_column) {
        TESS_FAIL(TESS_E_SHAPE, "%lld columns of a plot that has %lld", (long long)p->n_pushed,
                  (long long)p->setup.n_column);
    }
    return TESS_OK;
}

int64_t tess_pyramid_finest(const tess_pyramid *p)
{
    return (int64_t)1 << 2 * p->n_dropped;
}

int64_t tess_pyramid_finest_window(const tess_pyramid *p)
{
    return (int64_t)1 << 2 * p->n_window_dropped;
}

// Pyramids of plots against the plain definition, and what a budget leaves.
#include "page/pyramid.h"
#include "runtime/context.h"
#include "runtime/unpack.h"
#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *ctx;

enum { CHUNK_BYTES = 1 << 18 };

// Noise with gaps and lone peaks, from the place alone.
static double value_at(int64_t column, int64_t row)
{
    const uint32_t random = ((uint32_t)column * 2654435761u + (uint32_t)row * 40503u) ^ 0x9e3779b9u;
    if (random % 97 == 0 || column % 1000 < 20) {
        return random % 2 ? (double)NAN : (double)INFINITY;
    }
    return (double)(random >> 8) / 16777216 + (column == 4321 ? 50 : 0);
}

static void push_all(tess_pyramid *p)
{
    const int64_t n_row = p->setup.n_row;
    double *columns = malloc((size_t)(n_row * 777) * sizeof *columns);
    for (int64_t c = 0; c < p->setup.n_column; c += 777) {
        const int64_t n = p->setup.n_column - c < 777 ? p->setup.n_column - c : 777;
        for (int64_t i = 0; i < n * n_row; i++) {
            columns[i] = value_at(c + i / n_row, i % n_row);
        }
        assert_ok(tess_pyramid_push(p, columns, n));
    }
    assert_ok(tess_pyramid_finish(p));
    free(columns);
}

// The chunk's bytes before they were packed.
static size_t unpack(const tess_pyramid_chunk *chunk, uint8_t *raw)
{
    const char *path = unit_path("chunk");
    tess_infile file;
    tess_unpacker *unpacker = NULL;
    size_t got = 0;
    unit_write_file(path, chunk->packed, chunk->bytes);
    assert_ok(tess_infile_open(path, &file));
    assert_ok(tess_unpacker_open(&ctx->heap, &file, 0, chunk->bytes, &unpacker));
    assert_ok(tess_unpacker_read(unpacker, raw, CHUNK_BYTES, &got));
    tess_unpacker_close(unpacker);
    tess_infile_close(&file);
    return got;
}

static void brute_force(const tess_pyramid *p, int level, int64_t column, int64_t row,
                        double range[2])
{
    const int64_t wide = (int64_t)1 << 2 * level;
    range[0] = range[1] = (double)NAN;
    for (int64_t c = column * wide; c < (column + 1) * wide && c < p->setup.n_column; c++) {
        const double value = value_at(c, row);
        range[0] = isfinite(value) ? fmin(range[0], value) : range[0];
        range[1] = isfinite(value) ? fmax(range[1], value) : range[1];
    }
}

static void check_chunk(const tess_pyramid *p, int level, int64_t chunk, uint8_t *raw)
{
    const int64_t left = p->levels[level].n_column - chunk * p->chunk_columns;
    const int64_t n_col = left < p->chunk_columns ? left : p->chunk_columns;
    const int64_t n = n_col * p->setup.n_row;
    const int n_plane = level > 0 && !p->setup.is_map ? 2 : 1;
    const int bytes = p->setup.bits / 8;
    const uint32_t nothing = (1u << p->setup.bits) - 1;
    double ends[2];
    assert_int_equal(unpack(&p->levels[level].chunks[chunk], raw), 16 + n * n_plane * bytes);
    memcpy(ends, raw, sizeof ends);
    for (int64_t i = 0; i < n; i++) {
        double range[2];
        brute_force(p, level, chunk * p->chunk_columns + i % n_col, i / n_col, range);
        for (int plane = 0; plane < n_plane; plane++) {
            const uint8_t *at = raw + 16 + plane * n * bytes + i;
            const uint32_t code = bytes == 1 ? at[0] : (uint32_t)at[0] * 256 + at[n];
            const double want = range[plane == 0 && n_plane == 2 ? 0 : 1];
            if (isnan(want)) {
                assert_int_equal(code, nothing);
            } else {
                const double step = (ends[1] - ends[0]) / (nothing - 1);
                assert_true(fabs(ends[0] + code * step - want) <= 0.5001 * step);
            }
        }
    }
}

static void every_level_is_least_and_greatest(void **state)
{
    (void)state;
    static const struct {
        int64_t n_column;
        int64_t n_row;
        bool is_map;
        int bits;
    } cases[] = {{1, 1, false, 16},    {1024, 1, false, 8},   {1025, 2, false, 16},
                 {70001, 1, false, 8}, {70001, 3, true, 16},  {5000, 70, true, 8},
                 {4099, 5, false, 16}, {20000, 20, false, 8}, {3, 300, true, 16}};
    uint8_t *raw = malloc(CHUNK_BYTES);
    for (size_t k = 0; k < (unit_is_quick() ? 4 : ARRAY_LEN(cases)); k++) {
        tess_pyramid p;
        const tess_pyramid_setup setup = {.n_column = cases[k].n_column,
                                          .n_row = cases[k].n_row,
                                          .step = 0.5,
                                          .is_map = cases[k].is_map,
                                          .bits = cases[k].bits};
        assert_ok(tess_pyramid_create(ctx, &setup, &p));
        push_all(&p);
        assert_int_equal(tess_pyramid_finest(&p), 1);
        for (int l = 0; l < p.n_level; l++) {
            assert_int_equal(p.levels[l].n_done, p.levels[l].n_chunk);
            for (int64_t c = 0; c < p.levels[l].n_chunk; c++) {
                check_chunk(&p, l, c, raw);
            }
        }
        assert_true(p.levels[p.n_level - 1].n_column <= 1024);
        tess_pyramid_destroy(&p);
    }
    free(raw);
}

static void budgets_keep_windows_and_coarse_levels(void **state)
{
    (void)state;
    const tess_pyramid_setup setup = {
        .n_column = 300000, .n_row = 1, .step = 1, .bits = 8, .budget_bytes = 60000};
    uint8_t *raw = malloc(CHUNK_BYTES);
    tess_pyramid p;
    tess_pyramid again;
    assert_ok(tess_pyramid_create(ctx, &setup, &p));
    assert_ok(tess_pyramid_create(ctx, &setup, &again));
    tess_pyramid_keep(&p, 100000, 100010);
    tess_pyramid_keep(&again, 100000, 100010);
    tess_pyramid_keep(&p, -50, -10); // nowhere
    tess_pyramid_keep(&p, 300000, 300100);
    push_all(&p);
    push_all(&again);
    assert_true(tess_pyramid_finest(&p) > 1);
    assert_int_equal(tess_pyramid_finest_window(&p), 1);
    assert_true(p.packed_bytes <= setup.budget_bytes);
    const int64_t window = 100000 / p.chunk_columns;
    for (int64_t c = 0; c < p.levels[0].n_chunk; c++) {
        assert_int_equal(p.levels[0].chunks[c].packed != NULL, c == window);
    }
    check_chunk(&p, 0, window, raw);
    for (int l = p.n_dropped; l < p.n_level; l++) {
        for (int64_t c = 0; c < p.levels[l].n_chunk; c++) {
            check_chunk(&p, l, c, raw);
        }
    }
    for (int l = 0; l < p.n_level; l++) { // the same values, the same bytes
        for (int64_t c = 0; c < p.levels[l].n_chunk; c++) {
            const tess_pyramid_chunk *a = &p.levels[l].chunks[c];
            const tess_pyramid_chunk *b = &again.levels[l].chunks[c];
            assert_int_equal(a->bytes, b->bytes);
            assert_true(a->bytes == 0 || memcmp(a->packed, b->packed, a->bytes) == 0);
        }
    }
    tess_pyramid_destroy(&p);
    tess_pyramid_destroy(&again);
    free(raw);
}

static void windows_that_are_everything_are_dropped_too(void **state)
{
    (void)state;
    const tess_pyramid_setup setup = {
        .n_column = 300000, .n_row = 1, .step = 1, .bits = 16, .budget_bytes = 20000};
    tess_pyramid p;
    assert_ok(tess_pyramid_create(ctx, &setup, &p));
    tess_pyramid_keep(&p, 0, setup.n_column);
    push_all(&p);
    assert_true(tess_pyramid_finest_window(&p) > 1);
    assert_true(p.packed_bytes <= setup.budget_bytes);
    assert_non_null(p.levels[p.n_level - 1].chunks[0].packed);
    tess_pyramid_destroy(&p);
}

static void stills_cover_everything(void **state)
{
    (void)state;
    const tess_pyramid_setup setup = {.n_column = 70001, .n_row = 2, .step = 1, .bits = 8};
    tess_pyramid p;
    assert_ok(tess_pyramid_create(ctx, &setup, &p));
    push_all(&p);
    assert_int_equal(p.n_still, TESS_PYRAMID_STILL);
    double most = -1;
    for (int64_t i = 0; i < 2 * p.n_still; i++) {
        most = fmax(most, p.still_greatest[i]);
        assert_true(!(p.still_least[i] > p.still_greatest[i]));
    }
    assert_true(most > 50 && most == p.greatest);
    tess_pyramid_destroy(&p);
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    tess_pyramid p;
    const double column[2] = {1, 2};
    tess_pyramid_setup setup = {.n_column = 2, .n_row = 2, .step = 1, .bits = 12};
    assert_fails(tess_pyramid_create(ctx, &setup, &p), TESS_E_ARGUMENT, "in 12 bits");
    setup.bits = 8;
    assert_ok(tess_pyramid_create(ctx, &setup, &p));
    assert_ok(tess_pyramid_push(&p, column, 1));
    assert_fails(tess_pyramid_finish(&p), TESS_E_SHAPE, "1 columns of a plot that has 2");
    assert_fails(tess_pyramid_push(&p, column, 2), TESS_E_SHAPE, "2 columns after 1");
    tess_pyramid_destroy(&p);
    tess_pyramid_destroy(&p);
}

int main(void)
{
    ctx = unit_context(1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_is_least_and_greatest),
        cmocka_unit_test(budgets_keep_windows_and_coarse_levels),
        cmocka_unit_test(windows_that_are_everything_are_dropped_too),
        cmocka_unit_test(stills_cover_everything),
        cmocka_unit_test(what_does_not_fit_is_told),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}

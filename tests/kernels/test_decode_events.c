// Sums along lines: the same bits on every instruction set.

#include "check.h"
#include "kernels/decode_events.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROW = 9, MOST = 300, WIDTH = MOST + 2 * TESS_EVENTS_PAD };

static void lines_match_reference(check *t)
{
    static double table[N_ROW][WIDTH];
    const int n_round = t->quick ? 20 : 400;
    for (int round = 0; round < n_round; round++) {
        const double *rows[N_ROW];
        int64_t shift[N_ROW];
        int64_t n_item[N_ROW];
        memset(table, 0, sizeof table);
        for (int k = 0; k < N_ROW; k++) {
            n_item[k] = (int64_t)check_uniform(t, 1, MOST);
            shift[k] = (int64_t)check_uniform(t, -400, 400);
            rows[k] = table[k] + TESS_EVENTS_PAD;
            for (int64_t i = 0; i < n_item[k]; i++) {
                table[k][TESS_EVENTS_PAD + i] = check_uniform(t, -1, 1);
            }
        }
        const int64_t first = (int64_t)check_uniform(t, -200, 200);
        const size_t n = (size_t)check_uniform(t, 0, 500);
        const size_t n_row = (size_t)check_uniform(t, 0, N_ROW + 1);
        double got = 0;
        double want = 0;
        t->ref->events_line(rows, shift, n_item, n_row, 0.3, first, n, &want);
        t->isa->events_line(rows, shift, n_item, n_row, 0.3, first, n, &got);
        CHECK(t, memcmp(&got, &want, sizeof got) == 0, "%zu lines of %zu rows: %.17g, want %.17g",
              n, n_row, got, want);
    }
}

// Windows, in pairs of which one moves on by a bin, and others before and behind.
static void masses_match_reference(check *t)
{
    double prefix[MOST + 1] = {0};
    int32_t low[MOST];
    int32_t high[MOST];
    double got[MOST];
    double want[MOST];
    for (int round = 0; round < (t->quick ? 20 : 400); round++) {
        const int32_t n = (int32_t)check_uniform(t, 1, MOST);
        const int32_t begin = (int32_t)check_uniform(t, 0, n);
        const int32_t run[2] = {begin, (int32_t)check_uniform(t, 0, (n - begin) / 2 + 1)};
        const int32_t low_at = (int32_t)check_uniform(t, 0, MOST / 2);
        const int32_t high_at = (int32_t)check_uniform(t, low_at, MOST / 2);
        for (int i = 1; i <= MOST; i++) {
            prefix[i] = prefix[i - 1] + check_uniform(t, 0, 1);
        }
        for (int32_t m = 0; m < n; m++) {
            const bool is_in = m >= run[0] && m < run[0] + 2 * run[1];
            low[m] = is_in ? low_at + (m - run[0]) / 2 : (int32_t)check_uniform(t, 0, MOST);
            high[m] = is_in ? high_at + (m - run[0] + 1) / 2 : (int32_t)check_uniform(t, 0, MOST);
        }
        t->ref->events_masses(prefix, low, high, run, (size_t)n, 0.1, want);
        t->isa->events_masses(prefix, low, high, run, (size_t)n, 0.1, got);
        CHECK(t, memcmp(got, want, (size_t)n * sizeof *got) == 0, "%d windows, %d pairs from %d on",
              n, run[1], run[0]);
    }
}

static void reaches_match_reference(check *t)
{
    enum { CLASSES = 3, REACH = 16 };
    static double rows[CLASSES][MOST];
    static float got[MOST + 2 * REACH];
    static float want[MOST + 2 * REACH];
    for (int round = 0; round < (t->quick ? 20 : 400); round++) {
        const size_t n = (size_t)check_uniform(t, 1, MOST);
        const size_t reach = (size_t)check_uniform(t, 0, REACH);
        const size_t n_row = (size_t)check_uniform(t, 1, CLASSES + 1);
        for (size_t r = 0; r < CLASSES; r++) {
            for (size_t i = 0; i < n; i++) {
                rows[r][i] = check_uniform(t, -1, 1) * exp(check_uniform(t, -100, 0));
            }
        }
        t->ref->events_reach(rows[0], n_row, MOST, n, reach, want);
        t->isa->events_reach(rows[0], n_row, MOST, n, reach, got);
        CHECK(t, memcmp(got, want, (n + 2 * reach) * sizeof *got) == 0, "%zu items, reach %zu", n,
              reach);
        for (size_t i = 0; i < n; i++) {
            CHECK(t, (double)got[i] >= rows[0][i] && (double)got[i + reach] >= rows[0][i],
                  "item %zu of %zu is above its bound", i, n);
        }
    }
}

static void bounds_match_reference(check *t)
{
    enum { STRIDE = MOST + 2 * TESS_EVENTS_BLOCK, TILES = 9 };
    static float table[N_ROW * STRIDE + TESS_EVENTS_BEYOND];
    for (int round = 0; round < (t->quick ? 20 : 400); round++) {
        int32_t shift[N_ROW];
        int32_t n_item[N_ROW];
        float got[TILES];
        float want[TILES];
        memset(table, 0, sizeof table);
        for (int k = 0; k < N_ROW; k++) {
            n_item[k] = (int32_t)check_uniform(t, 1, MOST);
            shift[k] = (int32_t)check_uniform(t, -400, 400);
            for (int32_t i = 0; i < n_item[k]; i++) {
                table[k * STRIDE + TESS_EVENTS_BLOCK + i] = (float)check_uniform(t, -1, 1);
            }
        }
        const int32_t first = (int32_t)check_uniform(t, -200, 200);
        const size_t n_tile = (size_t)check_uniform(t, 0, TILES + 1);
        const size_t n_row = (size_t)check_uniform(t, 0, N_ROW + 1);
        const float *rows = table + TESS_EVENTS_BLOCK;
        t->ref->events_bounds(rows, STRIDE, shift, n_item, n_row, first, n_tile, want);
        t->isa->events_bounds(rows, STRIDE, shift, n_item, n_row, first, n_tile, got);
        CHECK(t, memcmp(got, want, n_tile * sizeof *got) == 0, "%zu tiles of %zu rows", n_tile,
              n_row);
    }
}

static void tiles_match_reference(check *t)
{
    enum { CLASSES = 3, MOST_STEPS = 40 };
    static double table[N_ROW * CLASSES][WIDTH];
    for (int round = 0; round < (t->quick ? 20 : 400); round++) {
        int32_t class_of[MOST_STEPS];
        int32_t n_item[CLASSES];
        int32_t time[N_ROW];
        int32_t scratch[3][N_ROW];
        const int32_t n_step = (int32_t)check_uniform(t, N_ROW, MOST_STEPS);
        memset(table, 0, sizeof table);
        for (int c = 0; c < CLASSES; c++) {
            n_item[c] = (int32_t)check_uniform(t, 1, MOST);
        }
        for (int32_t j = 0; j < n_step; j++) {
            class_of[j] = (int32_t)check_uniform(t, 0, CLASSES);
        }
        for (int k = 0; k < N_ROW; k++) {
            time[k] = k * n_step / (N_ROW - 1);
            for (int c = 0; c < CLASSES; c++) {
                for (int32_t i = 0; i < n_item[c]; i++) {
                    table[k * CLASSES + c][TESS_EVENTS_PAD + i] = check_uniform(t, -1, 1);
                }
            }
        }
        const tess_events_tile tile = {.rows = table[0] + TESS_EVENTS_PAD,
                                       .width = WIDTH,
                                       .class_of = class_of,
                                       .n_item = n_item,
                                       .n_class = CLASSES,
                                       .n_step = n_step,
                                       .time = time,
                                       .n = (size_t)check_uniform(t, 0, N_ROW + 1),
                                       .base = 0.3,
                                       .slope = (int32_t)check_uniform(t, -300, 300),
                                       .n_slope = (int32_t)check_uniform(t, 0, 17),
                                       .first = (int32_t)check_uniform(t, -200, 300),
                                       .n_line =
                                           (int32_t)check_uniform(t, 1, TESS_EVENTS_LINES + 1),
                                       .last = (int32_t)check_uniform(t, 1, 600),
                                       .rest = scratch[0],
                                       .shift = scratch[1],
                                       .offset = scratch[2]};
        double got = 0;
        double want = 0;
        t->ref->events_tile(&tile, &want);
        t->isa->events_tile(&tile, &got);
        CHECK(t, memcmp(&got, &want, sizeof got) == 0, "slopes from %d on: %.17g, want %.17g",
              tile.slope, got, want);
    }
}

const check_test test_decode_events_list[] = {
    {"events' lines match reference", lines_match_reference},
    {"events' masses match reference", masses_match_reference},
    {"events' bounds of points match reference", reaches_match_reference},
    {"events' bounds of lines match reference", bounds_match_reference},
    {"events' tiles match reference", tiles_match_reference},
    {NULL, NULL},
};

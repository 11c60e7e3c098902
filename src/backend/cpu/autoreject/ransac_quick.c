// RANSAC's medians by way of f32.
//
// A prediction e of n products is f in f32, with the number of its subset in the last six bits.
// Rounding samples, weights and sums moves it by at most d = (n + 3) 2^-24 sum |w| |x|, and the
// number by less than 2^-17 |f|. A middle value of many moves by no more than they do: where the
// middle two are further than that, twice, from their neighbours, they are those of f64 as well.
// Elsewhere ransac_unsure.c looks closer.
#include "backend/cpu/autoreject/ransac_quick.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TILE = TESS_RANSAC_TILE, ROWS = TESS_RANSAC_ROWS, TILES = TESS_QUICK_TILES };
enum { N_SUBSET = TESS_QUICK_SUBSETS, NUMBERS = (1 << TESS_RANSAC_NUMBER_BITS) - 1 };
// Doubles of a line of the caches.
enum { LINE = 8 };

#define NUMBER_REACH TESS_QUICK_NUMBER_REACH

typedef struct quick_run {
    const tess_ransac_quick *q;
    tess_ransac_tiles tiles;
    int64_t first; // channel of the group
    int64_t n_row;
    tess_ransac_middles middles;
} quick_run;

// NEON alone. On a Cascade Lake it takes longer than predictions in f64, of which AVX-512 makes
// eight in an instruction: 48, 62 and 93 ns for a channel and sample, with 32, 64 and 128 channels,
// instead of 37, 51 and 77, although predictions in f32 were made of 12 rows and two tiles at a
// time and exact ones of eight at a time, picked from tables in registers. Their weights go through
// the first cache once more, for a twenty-fifth of the products: 29 ns, 33 for f32, 31 for the
// rest. AVX2 takes 156 ns instead of 134 with 128 channels. The reference goes the same way, so
// that every machine can check it.
bool tess_ransac_is_quick(const tess_kernels *kernels, const tess_stage_autoreject_ransac *args)
{
    const bool is_set = strcmp(kernels->isa, "neon") == 0 || strcmp(kernels->isa, "ref") == 0;
    return is_set && args->n_resample == N_SUBSET;
}

// Rows of a group whose predictions are made together.
static int64_t unit_rows(int64_t n_row)
{
    return n_row == ROWS ? 6 : 4;
}

void tess_ransac_quick_pack(const tess_ransac_quick *q, int64_t first, int64_t end)
{
    const tess_stage_autoreject_ransac *a = q->args;
    const int64_t n_unit = unit_rows(end - first);
    float *to = q->w + first * N_SUBSET * a->n_from;
    for (int64_t unit = first; unit < end; unit += n_unit) {
        for (int64_t r = 0; r < N_SUBSET; r++) {
            const double *w = a->w + r * a->n_chan * a->n_from;
            for (int64_t i = 0; i < a->n_from; i++) {
                for (int64_t c = unit; c < unit + n_unit; c++) {
                    *to++ = c < a->n_chan ? (float)w[c * a->n_from + i] : 0;
                }
            }
        }
    }
    double *exact = q->exact + first * N_SUBSET * a->n_from;
    for (int64_t c = first; c < end && c < a->n_chan; c++) {
        double most = 0;
        for (int64_t r = 0; r < N_SUBSET; r++) {
            const double *w = a->w + (r * a->n_chan + c) * a->n_from;
            double sum = 0;
            for (int64_t i = 0; i < a->n_from; i++) {
                exact[(r * (end - first) + c - first) * a->n_from + i] = w[i];
                sum += fabs(w[i]);
            }
            most = sum <= most ? most : sum; // NaN stays
        }
        q->spread[c] = most <= (double)FLT_MAX ? (float)most : (float)INFINITY;
    }
}

void tess_ransac_quick_narrow(const double *x, int64_t n_chan, float *narrow, float *largest)
{
    double most[TILE] = {0};
    double most_of_all = 0;
    for (int64_t c = 0; c < n_chan; c++) {
        for (int64_t t = 0; t < TILE; t++) {
            const double size = fabs(x[c * TILE + t]);
            most[t] = most[t] > size ? most[t] : size;
        }
    }
    for (int64_t t = 0; t < TILE; t++) {
        most_of_all = most_of_all > most[t] ? most_of_all : most[t];
    }
    int exponent = 0;
    if (most_of_all > 0 && most_of_all <= DBL_MAX) {
        (void)frexp(most_of_all, &exponent);
    }
    const double scale = ldexp(1, exponent < -1000 ? 1000 : -exponent);
    for (int64_t i = 0; i < n_chan * TILE; i++) {
        narrow[i] = (float)(x[i] * scale);
    }
    for (int64_t t = 0; t < TILE; t++) { // not 0 where something is
        largest[t] = (float)(most[t] * scale) + (most[t] > 0 ? FLT_MIN : 0);
    }
}

static inline uint32_t number_of(float numbered)
{
    uint32_t bits;
    memcpy(&bits, &numbered, sizeof bits);
    return bits & NUMBERS;
}

// The middle two of a channel's samples: those that are far enough from their neighbours.
static void take_row(quick_run *run, int64_t tile, int64_t k, float *p)
{
    const tess_ransac_quick *q = run->q;
    const int64_t n_from = q->args->n_from;
    const float *largest = run->tiles.largest + tile * TILE;
    const float n = (float)(n_from + 3), spread = q->spread[run->first + k];
    // A little more than the bound, and what underflows.
    const float per_sample = 1.01F * 0x1p-23F * n * spread, least = n * 0x1p-124F * (1 + spread);
    float middle[4][TILE];
    int32_t is_sure[TILE];
    tess_ransac_unsure u = {.p = p, .middle = middle[0]};
    u.item = (tess_ransac_item){.w = (uint32_t)(k * n_from),
                                .x = (uint32_t)(tile * q->args->n_chan * TILE),
                                .to = (uint32_t)((k * TILES + tile) * TILE * 2)};
    q->kernels->ransac_middle(p, middle[0]);
    for (int64_t t = 0; t < TILE; t++) {
        const float sums = per_sample * largest[t] + least;
        const float before = middle[0][t], low = middle[1][t];
        const float high = middle[2][t], behind = middle[3][t];
        const float below = sums + NUMBER_REACH * (fabsf(before) + fabsf(low));
        const float above = sums + NUMBER_REACH * (fabsf(high) + fabsf(behind));
        is_sure[t] = (low - before > below) & (behind - high > above);
        u.reach[t] = sums;
    }
    tess_ransac_item item = u.item;
    double *pair = run->middles.values + item.to;
    for (int32_t t = 0; t < TILE; t++, item.x++, item.to += 2, pair += 2) {
        if (is_sure[t]) {
            tess_ransac_item second = item;
            second.to++;
            tess_ransac_items_add(&run->middles.items, number_of(middle[1][t]), item);
            tess_ransac_items_add(&run->middles.items, number_of(middle[2][t]), second);
        } else if (largest[t] > 0) {
            u.at[u.n++] = t;
        } else {
            pair[0] = pair[1] = 0;
        }
    }
    if (u.n > 0) {
        tess_ransac_unsure_add(&run->middles, &u);
    }
}

// One of n_part parts of the tile that follows: its rows are read in no order, so that the hardware
// does not see them coming.
static void fetch(const quick_run *run, int64_t tile, int64_t part)
{
    const tess_ransac_tiles *tiles = &run->tiles;
    const int64_t n = run->q->args->n_chan, first = (tile + 1) * n;
    if (tile + 1 == tiles->n && tiles->is_last) {
        return;
    }
    for (int64_t c = first + part * n / run->n_row; c < first + (part + 1) * n / run->n_row; c++) {
        __builtin_prefetch(tiles->narrow + c * TILE, 0, 2);
        __builtin_prefetch(tiles->x + c * TILE, 0, 2);
        __builtin_prefetch(tiles->x + c * TILE + LINE, 0, 2);
    }
}

static void take_tile(quick_run *run, int64_t tile, float *predictions)
{
    const tess_ransac_quick *q = run->q;
    const tess_stage_autoreject_ransac *a = q->args;
    const int64_t n_unit = unit_rows(run->n_row), n_chan = a->n_chan - run->first;
    for (int64_t unit = 0; unit < run->n_row; unit += n_unit) {
        q->kernels->ransac_predict_f32(q->w + (run->first + unit) * N_SUBSET * a->n_from,
                                       (size_t)n_unit, a->from, (size_t)a->n_from, N_SUBSET,
                                       run->tiles.narrow + tile * a->n_chan * TILE, predictions);
        for (int64_t k = unit; k < unit + n_unit && k < n_chan; k++) {
            fetch(run, tile, k);
            take_row(run, tile, k, predictions + (k - unit) * N_SUBSET * TILE);
        }
    }
    tess_ransac_items_make_all(&run->middles.items, false);
}

int64_t tess_ransac_quick_medians(const tess_ransac_quick *q, tess_ransac_tiles tiles,
                                  int64_t first, int64_t n_row, float *predictions,
                                  double medians[ROWS][TILES][TILE])
{
    const tess_stage_autoreject_ransac *a = q->args;
    quick_run run;
    run.q = q;
    run.tiles = tiles;
    run.first = first;
    run.n_row = n_row;
    tess_ransac_middles *m = &run.middles;
    m->items.kernels = q->kernels;
    m->items.args = a;
    m->items.w = q->exact + first * N_SUBSET * a->n_from;
    m->items.w_step = n_row * a->n_from;
    m->items.x = tiles.x;
    m->items.values = m->values;
    memset(m->items.n, 0, sizeof m->items.n);
    m->n_many = 0;
    m->n_used = 0;
    m->n_waiting = 0;
    for (int64_t i = 0; i < tiles.n; i++) {
        take_tile(&run, i, predictions);
    }
    tess_ransac_middles_finish(m);
    for (int64_t k = 0; k < n_row && k < a->n_chan - first; k++) {
        for (int64_t t = 0; t < tiles.n * TILE; t++) {
            const double *pair = m->values + (k * TILES * TILE + t) * 2;
            medians[k][t / TILE][t % TILE] = (pair[0] + pair[1]) * 0.5;
        }
    }
    return m->n_many;
}

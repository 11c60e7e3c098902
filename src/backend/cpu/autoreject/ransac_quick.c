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

// Exact predictions of a few tiles wait until all are known. Then they are made subset by subset:
// its weights and the samples stay near.
enum { MOST = ROWS * TILES * TILE * 2 };

typedef struct quick_run {
    const tess_ransac_quick *q;
    tess_ransac_tiles tiles;
    int64_t first; // channel of the group
    int64_t n_row;
    double pairs[ROWS][TILES][TILE][2];
    int32_t n;
    int32_t n_of[N_SUBSET]; // items of each subset
    uint8_t subset[MOST];
    uint16_t place[MOST]; // in pairs
    tess_ransac_item sorted[MOST];
} quick_run;

// Measured on NEON alone. With vectors of 64 bytes the exact predictions take as long as f32 saves.
// The reference goes the same way, so that every machine can check it.
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

static inline void add(quick_run *run, float numbered, const double *to)
{
    uint32_t bits;
    memcpy(&bits, &numbered, sizeof bits);
    run->subset[run->n] = bits & NUMBERS;
    run->place[run->n++] = (uint16_t)(to - &run->pairs[0][0][0][0]);
    run->n_of[bits & NUMBERS]++;
}

static void make_exact(quick_run *run)
{
    const tess_stage_autoreject_ransac *a = run->q->args;
    const double *w = run->q->exact + run->first * N_SUBSET * a->n_from;
    int32_t end[N_SUBSET], n = 0;
    for (int64_t r = 0; r < N_SUBSET; r++) {
        end[r] = n;
        n += run->n_of[r];
    }
    for (int32_t i = 0; i < run->n; i++) {
        const int64_t r = run->subset[i], place = run->place[i];
        const int64_t t = place / 2 % TILE, tile = place / (2 * TILE) % TILES;
        const int64_t k = place / (2 * TILE * TILES);
        run->sorted[end[r]++] = (tess_ransac_item){.w = w + (r * run->n_row + k) * a->n_from,
                                                   .x = run->tiles.x + tile * a->n_chan * TILE + t,
                                                   .to = &run->pairs[0][0][0][0] + place};
    }
    for (int64_t r = 0; r < N_SUBSET; r++) {
        if (run->n_of[r] > 0) {
            run->q->kernels->ransac_exact(run->sorted + end[r] - run->n_of[r], (size_t)run->n_of[r],
                                          a->from + r * a->n_from, (size_t)a->n_from);
        }
    }
}

// The middle two of a channel's samples, pairs[16][2]; those that are far enough from their
// neighbours follow later.
static void take_row(quick_run *run, tess_ransac_tiles tile, int64_t k, float *p,
                     double pairs[TILE][2])
{
    const tess_ransac_quick *q = run->q;
    const int64_t n_from = q->args->n_from;
    const float n = (float)(n_from + 3), spread = q->spread[run->first + k];
    // A little more than the bound, and what underflows.
    const float per_sample = 1.01F * 0x1p-23F * n * spread, least = n * 0x1p-124F * (1 + spread);
    tess_ransac_unsure u = {.w = q->exact + (run->first * N_SUBSET + k) * n_from,
                            .w_step = run->n_row * n_from,
                            .x = tile.x,
                            .p = p};
    float middle[4][TILE];
    int32_t is_sure[TILE];
    q->kernels->ransac_middle(p, middle[0]);
    u.middle = middle[0];
    for (int64_t t = 0; t < TILE; t++) {
        const float sums = per_sample * tile.largest[t] + least;
        const float before = middle[0][t], low = middle[1][t];
        const float high = middle[2][t], behind = middle[3][t];
        const float below = sums + NUMBER_REACH * (fabsf(before) + fabsf(low));
        const float above = sums + NUMBER_REACH * (fabsf(high) + fabsf(behind));
        is_sure[t] = (low - before > below) & (behind - high > above);
        u.reach[t] = sums;
    }
    for (int32_t t = 0; t < TILE; t++) {
        if (is_sure[t]) {
            add(run, middle[1][t], &pairs[t][0]);
            add(run, middle[2][t], &pairs[t][1]);
        } else if (tile.largest[t] > 0) {
            u.at[u.n++] = t;
        } else {
            pairs[t][0] = pairs[t][1] = 0;
        }
    }
    if (u.n > 0) {
        tess_ransac_settle(q, &u, pairs);
    }
}

// One of n_part parts of the tiles that follow: their rows are read in no order, so that the
// hardware does not see them coming.
static void fetch(tess_ransac_tiles tiles, int64_t n_chan, int64_t part, int64_t n_part)
{
    const int64_t n = tiles.n_next * n_chan, end = (part + 1) * n / n_part;
    for (int64_t c = tiles.n * n_chan + part * n / n_part; c < tiles.n * n_chan + end; c++) {
        __builtin_prefetch(tiles.narrow + c * TILE, 0, 2);
        __builtin_prefetch(tiles.x + c * TILE, 0, 2);
        __builtin_prefetch(tiles.x + c * TILE + LINE, 0, 2);
    }
}

void tess_ransac_quick_medians(const tess_ransac_quick *q, tess_ransac_tiles tiles, int64_t first,
                               int64_t n_row, float *predictions, double medians[ROWS][TILES][TILE])
{
    const tess_stage_autoreject_ransac *a = q->args;
    const int64_t n_unit = unit_rows(n_row), n_chan = a->n_chan - first;
    quick_run run;
    run.q = q;
    run.tiles = tiles;
    run.first = first;
    run.n_row = n_row;
    run.n = 0;
    memset(run.n_of, 0, sizeof run.n_of);
    for (int64_t i = 0; i < tiles.n; i++) {
        const tess_ransac_tiles tile = {.x = tiles.x + i * a->n_chan * TILE,
                                        .narrow = tiles.narrow + i * a->n_chan * TILE,
                                        .largest = tiles.largest + i * TILE};
        for (int64_t unit = 0; unit < n_row; unit += n_unit) {
            q->kernels->ransac_predict_f32(q->w + (first + unit) * N_SUBSET * a->n_from,
                                           (size_t)n_unit, a->from, (size_t)a->n_from, N_SUBSET,
                                           tile.narrow, predictions);
            for (int64_t k = unit; k < unit + n_unit && k < n_chan; k++) {
                fetch(tiles, a->n_chan, i * n_row + k, tiles.n * n_row);
                take_row(&run, tile, k, predictions + (k - unit) * N_SUBSET * TILE,
                         run.pairs[k][i]);
            }
        }
    }
    make_exact(&run);
    for (int64_t k = 0; k < n_row && k < n_chan; k++) {
        for (int64_t i = 0; i < tiles.n; i++) {
            for (int64_t t = 0; t < TILE; t++) {
                medians[k][i][t] = (run.pairs[k][i][t][0] + run.pairs[k][i][t][1]) * 0.5;
            }
        }
    }
}

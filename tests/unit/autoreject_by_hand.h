// Stores made by hand, for tests of what works on them.
#ifndef TESS_TESTS_AUTOREJECT_BY_HAND_H
#define TESS_TESTS_AUTOREJECT_BY_HAND_H

#include "base/rng.h"
#include "systems/autoreject/store/store.h"

#include <math.h>
#include <stdlib.h>

enum { TILE = TESS_AR_TILE };

static inline double ptp(const double *x, int64_t n)
{
    double low = x[0], high = x[0];
    for (int64_t t = 1; t < n; t++) {
        low = fmin(low, x[t]);
        high = fmax(high, x[t]);
    }
    return high - low;
}

// A store of x[n_epoch][n_chan][n_time] in memory.
static inline tess_ar_store store_of(tess_context *ctx, const double *x, int64_t n_epoch,
                                     int64_t n_chan, int64_t n_time)
{
    tess_ar_store store = {.ctx = ctx,
                           .device = ctx->device,
                           .n_epoch = n_epoch,
                           .n_chan = n_chan,
                           .n_time = n_time,
                           .n_tile = (n_time + TILE - 1) / TILE,
                           .tile_items = (uint64_t)(n_epoch * n_chan * TILE),
                           .tile_now = -1,
                           .scratch_fd = -1};
    const int64_t n_row = n_epoch * n_chan;
    store.delta = malloc((size_t)n_row * sizeof(double));
    store.tiles = calloc((size_t)store.n_tile * store.tile_items, sizeof(double));
    for (int64_t r = 0; r < n_row; r++) {
        store.delta[r] = ptp(x + r * n_time, n_time);
        for (int64_t t = 0; t < n_time; t++) {
            store.tiles[(t / TILE * n_row + r) * TILE + t % TILE] = x[r * n_time + t];
        }
    }
    return store;
}

static inline void drop_store(tess_ar_store *store)
{
    free(store->delta);
    free(store->delta_augmented);
    free(store->tiles);
}

// The peak-to-peaks of the predictions R x, computed plainly.
static inline void add_predictions(tess_ar_store *store, const double *x, const double *weights)
{
    const int64_t n_chan = store->n_chan, n_time = store->n_time;
    double *row = malloc((size_t)n_time * sizeof *row);
    store->delta_augmented = malloc((size_t)(store->n_epoch * n_chan) * sizeof(double));
    for (int64_t r = 0; r < store->n_epoch * n_chan; r++) {
        for (int64_t t = 0; t < n_time; t++) {
            row[t] = 0;
            for (int64_t i = 0; i < n_chan; i++) {
                row[t] = fma(weights[r % n_chan * n_chan + i],
                             x[(r / n_chan * n_chan + i) * n_time + t], row[t]);
            }
        }
        store->delta_augmented[r] = ptp(row, n_time);
    }
    free(row);
}

// Random signals; quantum > 0 rounds them, which makes ties of every kind.
static inline double *random_epochs(tess_mt19937 *rng, int64_t n_epoch, int64_t n_chan,
                                    int64_t n_time, double quantum)
{
    double *x = malloc((size_t)(n_epoch * n_chan * n_time) * sizeof *x);
    for (int64_t r = 0; r < n_epoch * n_chan; r++) {
        const double size = tess_mt19937_double(rng) < 0.2 ? 5e-5 : 1e-5;
        double drift = 0;
        for (int64_t t = 0; t < n_time; t++) {
            drift = 0.9 * drift + size * tess_mt19937_gauss(rng);
            x[r * n_time + t] = quantum > 0 ? round(drift / quantum) * quantum : drift;
        }
    }
    return x;
}

#endif

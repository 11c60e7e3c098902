// Epochs for tests: random ones with planted artifacts, electrodes on a sphere.
#ifndef TESS_TESTS_AUTOREJECT_DATA_H
#define TESS_TESTS_AUTOREJECT_DATA_H

#include "tessera/autoreject.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ar_data {
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    double *x; // [n_epoch][n_chan][n_time]
    tess_autoreject_channel *channels;
    char (*names)[16];
    tess_autoreject_sensors sensors;
    tess_autoreject_epochs *epochs;
    tess_array array;
} ar_data;

static inline double ar_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

// Positions of the golden case of the specification: a spiral over the upper part of a sphere.
static inline void ar_place(tess_autoreject_channel *channel, int64_t c, int64_t n_chan)
{
    const double z = 1 - 1.2 * ((double)c + 0.5) / (double)n_chan;
    const double r = sqrt(1 - z * z);
    const double a = 2.399963229728653 * (double)c;
    channel->loc[0] = 0.09 * r * cos(a);
    channel->loc[1] = 0.09 * r * sin(a);
    channel->loc[2] = 0.09 * z;
}

static inline void ar_data_open(tess_context *ctx, ar_data *d)
{
    const int64_t shape[3] = {d->n_epoch, d->n_chan, d->n_time};
    assert_ok(tess_array_init(&d->array, d->x, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_epochs_from_array(ctx, &d->array, &d->sensors, NULL, 100, -0.2,
                                                &d->epochs));
}

// Smooth signals seen by all channels, noise, and bad rows in about one of ten (epoch, channel);
// every eighth epoch is bad in many channels.
static inline void ar_data_fill(ar_data *d, uint64_t seed)
{
    uint64_t s = seed * 2 + 1;
    for (int64_t e = 0; e < d->n_epoch; e++) {
        const double phase = 6.28 * ar_uniform(&s);
        const double level = e % 8 == 7 ? 0.6 : 0.1;
        for (int64_t c = 0; c < d->n_chan; c++) {
            const double bad = ar_uniform(&s) < level ? 60e-6 * (1 + ar_uniform(&s)) : 0;
            for (int64_t t = 0; t < d->n_time; t++) {
                const double noise = 20e-6 * (ar_uniform(&s) - 0.5);
                d->x[(e * d->n_chan + c) * d->n_time + t] =
                    10e-6 * sin(0.25 * (double)t + 0.3 * (double)c + phase) + noise +
                    bad * sin(0.6 * (double)t);
            }
        }
    }
}

static inline ar_data ar_data_make(tess_context *ctx, int64_t n_epoch, int64_t n_chan,
                                   int64_t n_time, uint64_t seed)
{
    ar_data d = {.n_epoch = n_epoch, .n_chan = n_chan, .n_time = n_time};
    d.x = malloc((size_t)(n_epoch * n_chan * n_time) * sizeof *d.x);
    d.channels = calloc((size_t)n_chan, sizeof *d.channels);
    d.names = calloc((size_t)n_chan, sizeof *d.names);
    for (int64_t c = 0; c < n_chan; c++) {
        snprintf(d.names[c], sizeof d.names[c], "E%02d", (int)c + 1);
        d.channels[c].name = d.names[c];
        d.channels[c].type = TESS_AUTOREJECT_EEG;
        ar_place(&d.channels[c], c, n_chan);
    }
    ar_data_fill(&d, seed);
    tess_autoreject_sensors_init(&d.sensors, sizeof d.sensors);
    d.sensors.n_chan = n_chan;
    d.sensors.channels = d.channels;
    ar_data_open(ctx, &d);
    return d;
}

static inline void ar_data_free(ar_data *d)
{
    tess_autoreject_epochs_close(d->epochs);
    free(d->x);
    free(d->channels);
    free(d->names);
}

#endif

// Random recordings of one electrode, of any number of dimensions and features.
#ifndef TESS_TESTS_DECODE_KDE_RECORDING_H
#define TESS_TESTS_DECODE_KDE_RECORDING_H

#include "unit.h"

#include "tessera/decode.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t seed;

static inline double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) * 0x1p-53;
}

static inline double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

// What a recording is like.
typedef struct shape {
    int64_t n_dim, n_feature, n_encoding, n_decoding, n_sample;
    double length, bin_size, position_std, waveform_std, shift;
    tess_decode_floor floor;
    double floor_nats;
    bool has_outliers, has_weights;
    double narrow[2]; // coordinates are scaled by it; 0: they are not
} shape;

static const shape FULL = {.n_dim = 1,
                           .n_feature = 4,
                           .n_encoding = 3000,
                           .n_decoding = 32,
                           .n_sample = 2000,
                           .length = 150,
                           .bin_size = 2,
                           .position_std = 6,
                           .waveform_std = 24,
                           .floor = TESS_DECODE_FLOOR_ABSOLUTE,
                           .floor_nats = 16};

static inline shape plain(void)
{
    shape s = FULL;
    if (unit_is_quick()) {
        s.n_encoding = 700;
        s.n_decoding = 12;
        s.n_sample = 500;
    }
    return s;
}

typedef struct recording {
    shape s;
    double *time, *position, *weights;
    double *spike_times, *marks, *decoded;
    tess_decode_environment *env;
} recording;

enum { N_UNIT = 10 };

static inline void make_marks(const shape *s, int64_t n, const double *where, double *marks)
{
    uint64_t kept = seed;
    seed = 99; // the same units for encoding and decoding
    double peak[N_UNIT][64];
    for (int64_t u = 0; u < N_UNIT; u++) {
        for (int64_t f = 0; f < s->n_feature; f++) {
            peak[u][f] = 40 + 200 * uniform();
        }
    }
    seed = kept;
    for (int64_t i = 0; i < n; i++) {
        const double at = where ? where[i * s->n_dim] / s->length : uniform();
        int64_t u = (int64_t)(at * N_UNIT + 0.7 * normal());
        u = u < 0 ? 0 : u >= N_UNIT ? N_UNIT - 1 : u;
        for (int64_t f = 0; f < s->n_feature; f++) {
            marks[i * s->n_feature + f] = peak[u][f] + 15 * normal() + s->shift;
        }
    }
    if (s->has_outliers && n > 8) {
        marks[3 * s->n_feature] += 5000;
        marks[7 * s->n_feature] += 700;
    }
}

static inline recording record(tess_context *ctx, const shape *s)
{
    recording r = {.s = *s};
    r.time = malloc((size_t)s->n_sample * sizeof(double));
    r.weights = malloc((size_t)s->n_sample * sizeof(double));
    r.position = malloc((size_t)(s->n_sample * s->n_dim) * sizeof(double));
    r.spike_times = malloc((size_t)s->n_encoding * sizeof(double));
    r.marks = malloc((size_t)(s->n_encoding * s->n_feature) * sizeof(double));
    r.decoded = malloc((size_t)(s->n_decoding * s->n_feature) * sizeof(double));
    double *where = malloc((size_t)(s->n_encoding * s->n_dim) * sizeof(double));
    for (int64_t i = 0; i < s->n_sample; i++) {
        const double t = (double)i / (double)s->n_sample;
        r.time[i] = (double)i * 0.002;
        r.weights[i] = uniform() < 0.1 ? 0 : uniform();
        for (int64_t k = 0; k < s->n_dim; k++) {
            r.position[i * s->n_dim + k] =
                s->length * (0.5 + 0.5 * sin(6.28 * (k == 0 ? 5.3 : 17.9) * t)) * (1 - 1e-3 * t);
            if (k < 2 && s->narrow[k] > 0) {
                r.position[i * s->n_dim + k] *= s->narrow[k];
            }
        }
    }
    for (int64_t i = 0; i < s->n_encoding; i++) {
        r.spike_times[i] =
            r.time[s->n_sample - 1] * ((double)i + uniform()) / (double)s->n_encoding;
        const int64_t j = (int64_t)(r.spike_times[i] / 0.002);
        for (int64_t k = 0; k < s->n_dim; k++) {
            where[i * s->n_dim + k] = r.position[j * s->n_dim + k];
        }
    }
    make_marks(s, s->n_encoding, where, r.marks);
    make_marks(s, s->n_decoding, NULL, r.decoded);
    free(where);
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = s->bin_size;
    assert_ok(
        tess_decode_environment_create(ctx, &config, r.position, s->n_sample, s->n_dim, &r.env));
    return r;
}

// In a mode; bound 0: the default.
static inline tess_decode_encoding *encode(tess_context *context, const recording *r,
                                           tess_decode_mode mode, double bound)
{
    tess_decode_training training;
    tess_decode_training_init(&training, sizeof training);
    const void *marks[] = {r->marks};
    const double *times[] = {r->spike_times};
    training.spikes.mark_dtype = TESS_F64;
    training.spikes.n_electrode = 1;
    training.spikes.n_spike = &r->s.n_encoding;
    training.spikes.n_feature = &r->s.n_feature;
    training.spikes.times = times;
    training.spikes.marks = marks;
    training.position.n_sample = r->s.n_sample;
    training.position.n_dim = r->s.n_dim;
    training.position.time = r->time;
    training.position.position = r->position;
    training.weights = r->s.has_weights ? r->weights : NULL;
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.mode = (int32_t)mode;
    config.bound = bound > 0 ? bound : config.bound;
    config.floor = (int32_t)r->s.floor;
    config.floor_nats = r->s.floor_nats;
    config.position_std = r->s.position_std;
    config.waveform_std = r->s.waveform_std;
    tess_decode_encoding *encoding = NULL;
    assert_ok(tess_decode_encoding_create(context, r->env, &training, &config, &encoding));
    return encoding;
}

static inline void forget(recording *r)
{
    tess_decode_environment_destroy(r->env);
    free(r->time);
    free(r->weights);
    free(r->position);
    free(r->spike_times);
    free(r->marks);
    free(r->decoded);
}

#endif

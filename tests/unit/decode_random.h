// A small recording on a line or in a plane, by a fixed generator.
#ifndef TESS_TESTS_DECODE_RANDOM_H
#define TESS_TESTS_DECODE_RANDOM_H

#include "decode_set.h"

static const double PI = 3.14159265358979323846;

static uint64_t random_state = 12345;

static inline double uniform(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) * 0x1p-53;
}

static inline double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * PI * uniform());
}

enum { N_UNIT = 4, N_SAMPLE = 1500, N_GRID = 120, MAX_SPIKE = 400 };

// Units with Gaussian place fields on a path back and forth; spikes at uniform times, kept with the
// probability their place gives them. Marks are two features around the unit's own.
typedef struct recording {
    int64_t n_dim;
    double position_time[N_SAMPLE];
    double position[2 * N_SAMPLE];
    double weights[N_SAMPLE];
    double grid[N_GRID];
    double times[N_UNIT][MAX_SPIKE];
    double marks[N_UNIT][2 * MAX_SPIKE];
    int64_t n_spike[N_UNIT];
    int64_t n_feature[N_UNIT];
    const double *time_list[N_UNIT];
    const void *mark_list[N_UNIT];
} recording;

static inline void walk(recording *r)
{
    for (int i = 0; i < N_SAMPLE; i++) {
        const double t = i * 0.02;
        r->position_time[i] = t;
        r->position[i * r->n_dim] = 60 + 55 * sin(0.9 * t);
        if (r->n_dim == 2) {
            r->position[i * 2 + 1] = 30 + 28 * sin(2.3 * t + 1);
        }
        r->weights[i] = 0.2 + uniform();
    }
    for (int k = 0; k < N_GRID; k++) {
        r->grid[k] = 11.003 + 0.02 * k;
    }
}

static inline void fire(recording *r)
{
    for (int u = 0; u < N_UNIT; u++) {
        int64_t n = 0;
        for (int i = 0; i < 4 * MAX_SPIKE && n < MAX_SPIKE; i++) {
            const double t = i * (30.0 / (4 * MAX_SPIKE)) + 0.01 * uniform();
            double distance = 0;
            for (int64_t k = 0; k < r->n_dim; k++) {
                const int at = (int)(t / 0.02) < N_SAMPLE ? (int)(t / 0.02) : N_SAMPLE - 1;
                const double centre = k ? 30 : 15 + 30 * u;
                distance += pow((r->position[at * r->n_dim + k] - centre) / 14, 2);
            }
            if (uniform() < 0.03 + 0.9 * exp(-0.5 * distance)) {
                r->marks[u][2 * n] = 40 * (i % 3) + 12 * normal();
                r->marks[u][2 * n + 1] = 100 + 12 * normal();
                r->times[u][n++] = t;
            }
        }
        r->n_spike[u] = n;
        r->n_feature[u] = 2;
        r->time_list[u] = r->times[u];
        r->mark_list[u] = r->marks[u];
    }
}

static inline void make_recording(tess_context *ctx, int64_t n_dim, recording *r, set *s)
{
    r->n_dim = n_dim;
    walk(r);
    fire(r);
    memset(s, 0, sizeof *s);
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = 4;
    assert_ok(tess_decode_environment_create(ctx, &config, r->position, N_SAMPLE, n_dim, &s->env));
    tess_decode_training_init(&s->training, sizeof s->training);
    s->training.spikes.n_electrode = N_UNIT;
    s->training.spikes.n_spike = r->n_spike;
    s->training.spikes.n_feature = r->n_feature;
    s->training.spikes.times = r->time_list;
    s->training.spikes.marks = r->mark_list;
    s->training.position.n_sample = N_SAMPLE;
    s->training.position.n_dim = n_dim;
    s->training.position.time = r->position_time;
    s->training.position.position = r->position;
    tess_decode_observation_init(&s->observation, sizeof s->observation);
    s->observation.n_time = N_GRID;
    s->observation.time = r->grid;
    s->observation.spikes = s->training.spikes;
    s->observation.position = s->training.position;
    tess_decode_encoding_config_init(&s->config, sizeof s->config);
    s->time.n = N_GRID;
}

// Weighted density of places [n][d] at y with bandwidth 6 in every coordinate.
static inline double brute_density(const double *places, const double *weights, int64_t n,
                                   int64_t d, const double *y)
{
    double sum = 0, total = 0;
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t k = 0; k < d; k++) {
            square += pow((y[k] - places[i * d + k]) / 6, 2);
        }
        const double w = weights ? weights[i] : 1;
        sum += w * exp(-0.5 * square);
        total += w;
    }
    return total > 0 ? sum / (total * pow(6 * sqrt(2 * PI), (double)d)) : 0;
}

static inline void local_rows(tess_context *ctx, const tess_decode_encoding *encoding, const set *s,
                              int64_t first, int64_t n, double *values)
{
    tess_array out;
    assert_ok(tess_array_init(&out, values, TESS_F64, 1, &n));
    assert_ok(
        tess_decode_local_log_likelihood(ctx, encoding, &s->observation, first, n, &out, NULL));
}

#endif

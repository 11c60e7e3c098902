// Data whose rates are known, of every kind.
#ifndef XPCS_RATES_TRUTH_H
#define XPCS_RATES_TRUTH_H

#include "unit.h"

#include "tessera/xpcs.h"

#include <math.h>
#include <stdlib.h>

typedef double (*truth_rate)(double t, double end);

// D in Å²/s; half of the time is over at 0.5 end.
static inline double power_law(double t, double end)
{
    (void)end;
    return 9000 * pow(t, -0.6) + 800;
}

static inline double ageing(double t, double end)
{
    return 400 + 9000 * exp(-6 * t / end);
}

static inline double smooth_step(double t, double end)
{
    return 1500 + 5000 / (1 + exp((t - 0.5 * end) / (0.06 * end)));
}

static inline double power_shear(double t, double end)
{
    (void)end;
    return 4e-3 * pow(t, -0.3) + 1e-3;
}

// Changes its sign.
static inline double oscillating_shear(double t, double end)
{
    return 4e-3 * cos(9.42477796076938 * t / end) + 1.5e-3;
}

typedef struct truth {
    truth_rate transport;
    truth_rate shear; // NULL: static
    int64_t n_angle;
    int64_t n_frame;
    double sigma;
    double nan_part;
    uint64_t seed;
    double q;
    int32_t has_sigma; // 1: the data bring one
} truth;

enum { TRUTH_FRAMES = 320, TRUTH_ANGLES = 12 };

static const double truth_dt = 0.1;
static const double truth_gap = 2e6;

static inline uint64_t truth_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static inline double truth_normal(uint64_t *state)
{
    const double u = ((double)(truth_next(state) >> 11) + 0.5) * 0x1p-53;
    const double v = ((double)(truth_next(state) >> 11) + 0.5) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static inline double truth_time(int64_t frame)
{
    return truth_dt * (double)(frame + 1);
}

static inline void truth_integral(truth_rate rate, int64_t n, double *sum)
{
    const double end = truth_time(n - 1);
    for (int64_t k = 0; k < n; k++) {
        sum[k] = k == 0
                     ? 0
                     : sum[k - 1] + 0.5 * (rate(truth_time(k - 1), end) + rate(truth_time(k), end));
    }
}

static inline tess_xpcs_model truth_model(const truth *t)
{
    tess_xpcs_model model;
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = t->shear ? TESS_XPCS_LAMINAR_FLOW : TESS_XPCS_STATIC_ANISOTROPIC;
    model.dt_s = truth_dt;
    model.gap_angstrom = truth_gap;
    return model;
}

static inline double truth_phi(const truth *t, int64_t angle)
{
    return t->n_angle < 2 ? 10 : -60 + 180 * (double)angle / (double)t->n_angle;
}

// The flow is along 2 degrees.
static inline tess_xpcs_data *truth_data(tess_context *ctx, const truth *t)
{
    const int64_t n = t->n_frame;
    double *c2 = malloc((size_t)(t->n_angle * n * n) * sizeof *c2);
    double *sd = malloc((size_t)(t->n_angle * n * n) * sizeof *sd);
    double transport[TRUTH_FRAMES];
    double shear[TRUTH_FRAMES] = {0};
    double phi[TRUTH_ANGLES];
    double q[TRUTH_ANGLES];
    uint64_t state = 1000 * t->seed + 17;
    truth_integral(t->transport, n, transport);
    if (t->shear) {
        truth_integral(t->shear, n, shear);
    }
    for (int64_t a = 0; a < t->n_angle; a++) {
        phi[a] = truth_phi(t, a);
        q[a] = t->q > 0 ? t->q : 0.0054;
        const double by = 0.15915494309189535 * q[a] * truth_gap * truth_dt *
                          cos((2 - phi[a]) * 0.017453292519943295);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i; j < n; j++) {
                const double z = by * (shear[j] - shear[i]);
                const double s = fabs(z) < 1e-8 ? 1 : sin(z) / z;
                const double m =
                    exp(-q[a] * q[a] * truth_dt * (transport[j] - transport[i])) * s * s * s * s;
                const double noise = t->sigma * truth_normal(&state);
                const double u = (double)(truth_next(&state) >> 11) * 0x1p-53;
                const double y =
                    u < t->nan_part ? (double)NAN : 1 + 0.01 * (double)a + 0.2 * m + noise;
                c2[(a * n + i) * n + j] = c2[(a * n + j) * n + i] = y;
                sd[(a * n + i) * n + j] = sd[(a * n + j) * n + i] = t->sigma;
            }
        }
    }
    tess_xpcs_data_config config;
    tess_xpcs_data *data = NULL;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.keep_t0 = 2; // frame 0 is that of dt
    config.dt_s = truth_dt;
    const int64_t shape[3] = {t->n_angle, n, n};
    tess_array c2_array;
    tess_array sd_array;
    assert_ok(tess_array_init(&c2_array, c2, TESS_F64, 3, shape));
    assert_ok(tess_array_init(&sd_array, sd, TESS_F64, 3, shape));
    assert_ok(tess_xpcs_data_from_array(ctx, &c2_array, phi, q, t->has_sigma ? &sd_array : NULL,
                                        &config, &data));
    free(c2);
    free(sd);
    return data;
}

#endif

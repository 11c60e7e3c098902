// Sensors for tests: channels of one type at given places.
#ifndef TESS_TESTS_UNIT_AUTOREJECT_SENSORS_H
#define TESS_TESTS_UNIT_AUTOREJECT_SENSORS_H

#include "tessera/autoreject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_sensors {
    tess_autoreject_sensors s;
    tess_autoreject_channel *channels;
    char (*names)[24];
    int64_t *all; // 0..n-1
} test_sensors;

// width 3: positions; 12: whole locations.
static inline test_sensors sensors_make(int32_t type, const double *loc, int64_t n, int64_t width)
{
    test_sensors t;
    tess_autoreject_sensors_init(&t.s, sizeof t.s);
    t.channels = calloc((size_t)n, sizeof *t.channels);
    t.names = calloc((size_t)n, sizeof *t.names);
    t.all = calloc((size_t)n, sizeof *t.all);
    for (int64_t i = 0; i < n; i++) {
        snprintf(t.names[i], sizeof *t.names, "E%02lld", (long long)i + 1);
        t.channels[i].name = t.names[i];
        t.channels[i].type = type;
        for (int64_t k = 0; k < 12; k++) {
            t.channels[i].loc[k] = k < width ? loc[i * width + k] : (double)NAN;
        }
        t.all[i] = i;
    }
    t.s.n_chan = n;
    t.s.channels = t.channels;
    return t;
}

static inline void sensors_free(test_sensors *t)
{
    free(t->channels);
    free(t->names);
    free(t->all);
}

// n electrodes spread over most of a sphere of 9 cm.
static inline double *spiral(int64_t n)
{
    double *p = malloc((size_t)(3 * n) * sizeof *p);
    for (int64_t c = 0; c < n; c++) {
        const double z = 1 - 1.2 * ((double)c + 0.5) / (double)n;
        const double r = sqrt(1 - z * z);
        const double a = 2.399963229728653 * (double)c;
        p[3 * c] = 0.09 * r * cos(a);
        p[3 * c + 1] = 0.09 * r * sin(a);
        p[3 * c + 2] = 0.09 * z;
    }
    return p;
}

static inline double largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    }
    return most;
}

#endif

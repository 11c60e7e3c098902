// The units of an electrode: where they fire, how fast, and what their spikes look like.
#include "systems/decode/simulate/simulate.h"

#include <math.h>
#include <string.h>

static const double FIELD_SD = 8; // cm
static const double PEAK_HZ = 8;  // median
static const double PEAK_LOG_SD = 0.5;
static const double BASE_HZ = 0.2;
static const double AMPLITUDE = 120; // uV, median
static const double AMPLITUDE_LOG_SD = 0.35;
static const double EXTRA_UNITS = 8; // mean, besides the first six
enum { FIRST_UNITS = 6 };

// Each unit has its own stretch of the electrode's stream.
enum { DRAWS_PER_UNIT = 1 << 13, DRAW_DIRECTION = 1 << 12 };

static int64_t count_units(const tess_philox_stream *draw)
{
    const double end = exp(-EXTRA_UNITS);
    int64_t n = FIRST_UNITS;
    double product = tess_philox_uniform(draw, 0);
    for (uint64_t i = 1; product > end && n < TESS_DE_MAX_UNITS; i++) {
        n++;
        product *= tess_philox_uniform(draw, i);
    }
    return n;
}

void tess_de_simulate_direction(const tess_philox_stream *draw, uint64_t first, int64_t n,
                                double *direction)
{
    double largest = 0;
    for (int64_t f = 0; f < n; f++) {
        // Gamma(2): a Dirichlet(2, ..., 2) up to scale.
        const uint64_t i = first + 2 * (uint64_t)f;
        const double u = 1 - tess_philox_uniform(draw, i);
        const double w = 1 - tess_philox_uniform(draw, i + 1);
        direction[f] = -log(u) - log(w);
        largest = direction[f] > largest ? direction[f] : largest;
    }
    for (int64_t f = 0; f < n; f++) {
        direction[f] = largest > 0 ? direction[f] / largest : 1;
    }
}

// Uniform on the maze, by rejection.
static void draw_center(const tess_philox_stream *draw, uint64_t first, int maze, double *center)
{
    double extent[2];
    tess_de_maze_extent(maze, extent);
    for (uint64_t i = 0; i < 1000; i++) {
        center[0] = extent[0] * tess_philox_uniform(draw, first + 2 * i);
        center[1] = extent[1] * tess_philox_uniform(draw, first + 2 * i + 1);
        if (tess_de_maze_inside(maze, center)) {
            return;
        }
    }
}

int64_t tess_de_simulate_units(uint64_t seed, int64_t electrode, int maze, int64_t n_feature,
                               double *directions, tess_de_unit *units)
{
    const tess_philox_stream draw = tess_philox_open(seed, (uint32_t)electrode, TESS_DE_DRAW_UNIT);
    const int64_t n_unit = count_units(&draw);
    for (int64_t u = 0; u < n_unit; u++) {
        const uint64_t first = (uint64_t)(u + 1) * DRAWS_PER_UNIT;
        double z[2];
        tess_philox_normals(&draw, 2 * first, 2, z); // block `first` of the stream
        units[u].amplitude = AMPLITUDE * exp(AMPLITUDE_LOG_SD * z[0]);
        units[u].peak_hz = PEAK_HZ * exp(PEAK_LOG_SD * z[1]);
        units[u].direction = directions + u * n_feature;
        draw_center(&draw, first + 1, maze, units[u].center);
        tess_de_simulate_direction(&draw, first + DRAW_DIRECTION, n_feature,
                                   directions + u * n_feature);
    }
    return n_unit;
}

double tess_de_unit_hz(const tess_de_unit *unit, int64_t n_dim, const double *point)
{
    double square = 0;
    for (int64_t i = 0; i < n_dim; i++) {
        const double step = point[i] - unit->center[i];
        square += step * step;
    }
    return BASE_HZ + unit->peak_hz * exp(-0.5 * square / (FIELD_SD * FIELD_SD));
}

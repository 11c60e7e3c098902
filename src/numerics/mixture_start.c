// Where a mixture begins: k-means++ and a few rounds of k-means.
#include "base/rng.h"
#include "numerics/mixture.h"

#include <math.h>
#include <string.h>

enum { MAX_ROUNDS = 20 };

static double square_distance(const double *a, const double *b, const double *scale, int64_t d)
{
    double sum = 0;
    for (int64_t k = 0; k < d; k++) {
        const double u = (a[k] - b[k]) * scale[k];
        sum += u * u;
    }
    return sum;
}

// 1 / standard deviation of every coordinate; 0 where there is none.
static void spreads(const double *points, int64_t n, int64_t d, double *scale)
{
    for (int64_t k = 0; k < d; k++) {
        double mean = 0;
        double square = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += points[i * d + k] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            const double u = points[i * d + k] - mean;
            square += u * u / (double)n;
        }
        scale[k] = square > 0 ? 1 / sqrt(square) : 0;
    }
}

// Each centre is a point drawn with the square of its distance to the centres so far.
static void seed_centres(const double *points, int64_t n, int64_t d, int64_t n_component,
                         const tess_mixture_config *config, const double *scale, double *distance,
                         double *centres, int64_t *label)
{
    const tess_philox_stream stream = tess_philox_open(config->seed, config->stream, 0x6A77);
    for (int64_t i = 0; i < n; i++) {
        distance[i] = (double)INFINITY;
    }
    double total = (double)n;
    for (int64_t c = 0; c < n_component; c++) {
        const double wanted = tess_philox_uniform(&stream, (uint64_t)c) * total;
        int64_t pick = 0;
        double passed = c == 0 ? 1 : distance[0];
        while (pick + 1 < n && passed <= wanted) {
            pick++;
            passed += c == 0 ? 1 : distance[pick];
        }
        memcpy(centres + c * d, points + pick * d, (size_t)d * sizeof *centres);
        total = 0;
        for (int64_t i = 0; i < n; i++) {
            const double square = square_distance(points + i * d, centres + c * d, scale, d);
            if (square < distance[i]) {
                distance[i] = square;
                label[i] = c;
            }
            total += distance[i];
        }
    }
}

// Centres to the means of their points; one without points stays.
static void move_centres(const double *points, int64_t n, int64_t d, int64_t n_component,
                         const int64_t *label, double *count, double *centres, double *sum)
{
    memset(count, 0, (size_t)n_component * sizeof *count);
    memset(sum, 0, (size_t)(n_component * d) * sizeof *sum);
    for (int64_t i = 0; i < n; i++) {
        count[label[i]]++;
        for (int64_t k = 0; k < d; k++) {
            sum[label[i] * d + k] += points[i * d + k];
        }
    }
    for (int64_t c = 0; c < n_component; c++) {
        for (int64_t k = 0; k < d && count[c] > 0; k++) {
            centres[c * d + k] = sum[c * d + k] / count[c];
        }
    }
}

void tess_mixture_start(const double *points, int64_t n, int64_t d, int64_t n_component,
                        const tess_mixture_config *config, double *distance, double *centres,
                        int64_t *label)
{
    double *scale = centres + n_component * d; // room for 2 n_component d + n_component + d
    double *count = scale + d;
    double *sum = count + n_component;
    spreads(points, n, d, scale);
    seed_centres(points, n, d, n_component, config, scale, distance, centres, label);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        int64_t n_moved = 0;
        move_centres(points, n, d, n_component, label, count, centres, sum);
        for (int64_t i = 0; i < n; i++) {
            int64_t best = label[i];
            double least = square_distance(points + i * d, centres + best * d, scale, d);
            for (int64_t c = 0; c < n_component; c++) {
                const double square = square_distance(points + i * d, centres + c * d, scale, d);
                if (square < least) {
                    least = square;
                    best = c;
                }
            }
            n_moved += best != label[i];
            label[i] = best;
        }
        if (n_moved == 0) {
            break;
        }
    }
}

#include "systems/decode/density/nearby.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

// Width of a bucket in bandwidths, and most buckets along an axis.
static const double BUCKET = 2;
enum { MOST_BUCKETS = 1024 };

// Axis of the buckets that coordinate k belongs to: rows are along the last of two.
static int axis_of(int64_t n_dim, int64_t k)
{
    return n_dim == 1 ? 1 : (int)k;
}

static void lay_out(const tess_de_table_samples *s, tess_de_nearby *out)
{
    out->n[0] = 1;
    out->n[1] = 1;
    for (int64_t k = 0; k < s->n_dim && k < 2; k++) {
        double low = s->n > 0 ? s->place[k] : 0;
        double high = low;
        for (int64_t i = 1; i < s->n; i++) {
            low = fmin(low, s->place[i * s->n_dim + k]);
            high = fmax(high, s->place[i * s->n_dim + k]);
        }
        const int ax = axis_of(s->n_dim, k);
        const double wanted = (high - low) / (BUCKET * s->std[k]);
        out->n[ax] = wanted < MOST_BUCKETS - 1 ? (int64_t)wanted + 1 : MOST_BUCKETS;
        out->low[ax] = low;
        out->width[ax] = fmax((high - low) / (double)out->n[ax], s->std[k] * 1e-3);
    }
}

static int64_t clamp(double bucket, int64_t n)
{
    return bucket < 0 ? 0 : bucket >= (double)n ? n - 1 : (int64_t)bucket;
}

static int64_t bucket_of(const tess_de_nearby *t, const double *place)
{
    int64_t bucket = 0;
    for (int64_t k = 0; k < t->n_dim && k < 2; k++) {
        const int ax = axis_of(t->n_dim, k);
        bucket = bucket * t->n[ax] + clamp((place[k] - t->low[ax]) / t->width[ax], t->n[ax]);
    }
    return bucket;
}

static tess_status sort_into_buckets(tess_blocks *blocks, const tess_de_table_samples *s,
                                     tess_de_nearby *out)
{
    const int64_t n_bucket = out->n[0] * out->n[1];
    int64_t *first = tess_blocks_alloc(blocks, n_bucket + 1, sizeof *first, "buckets");
    double *place =
        tess_blocks_alloc(blocks, s->n, (size_t)s->n_dim * sizeof *place, "samples in buckets");
    double *weights = tess_blocks_alloc(blocks, s->n, sizeof *weights, "sample weights");
    if (!first || !place || !weights) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n; i++) {
        first[bucket_of(out, s->place + i * s->n_dim) + 1]++;
    }
    for (int64_t b = 0; b < n_bucket; b++) {
        first[b + 1] += first[b];
    }
    double total = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = first[bucket_of(out, s->place + i * s->n_dim)]++;
        for (int64_t k = 0; k < s->n_dim; k++) {
            place[at * s->n_dim + k] = s->place[i * s->n_dim + k] / s->std[k];
        }
        weights[at] = s->weights ? s->weights[i] : 1;
        total += weights[at];
    }
    memmove(first + 1, first, (size_t)n_bucket * sizeof *first); // begins became ends
    first[0] = 0;
    double norm = total;
    for (int64_t k = 0; k < s->n_dim; k++) {
        norm *= s->std[k] * 2.5066282746310002; // sqrt(2 pi)
        out->std[k] = s->std[k];
    }
    out->scale = total > 0 ? 1 / norm : 0;
    out->first = first;
    out->place = place;
    out->weights = weights;
    return TESS_OK;
}

tess_status tess_de_nearby_build(tess_blocks *blocks, const tess_de_table_samples *samples,
                                 double reach, tess_de_nearby *out)
{
    *out = (tess_de_nearby){.n_dim = samples->n_dim, .n_sample = samples->n, .reach = reach};
    lay_out(samples, out);
    return sort_into_buckets(blocks, samples, out);
}

// Samples first..end-1 at a place given in bandwidths.
static double add_pairs(const tess_de_nearby *t, const double *at, int64_t first, int64_t end)
{
    const double farthest = t->reach * t->reach;
    double sum = 0;
    for (int64_t i = first; i < end; i++) {
        double square = 0;
        for (int64_t k = 0; k < t->n_dim; k++) {
            const double u = at[k] - t->place[i * t->n_dim + k];
            square += u * u;
        }
        if (square < farthest) {
            sum += t->weights[i] * exp(-0.5 * square);
        }
    }
    return sum;
}

double tess_de_nearby_density(const tess_de_nearby *t, const double *place)
{
    double at[3];
    int64_t begin[2] = {0, 0};
    int64_t end[2] = {1, 1};
    for (int64_t k = 0; k < t->n_dim; k++) {
        at[k] = place[k] / t->std[k];
        if (isnan(at[k])) {
            return (double)NAN;
        }
        if (k < 2) {
            const int ax = axis_of(t->n_dim, k);
            const double reach = t->reach * t->std[k];
            begin[ax] = clamp((place[k] - reach - t->low[ax]) / t->width[ax], t->n[ax]);
            end[ax] = clamp((place[k] + reach - t->low[ax]) / t->width[ax], t->n[ax]) + 1;
        }
    }
    double sum = 0;
    for (int64_t row = begin[0]; row < end[0] && t->n_sample > 0; row++) {
        const int64_t *first = t->first + row * t->n[1];
        sum += add_pairs(t, at, first[begin[1]], first[end[1]]);
    }
    return t->scale * sum;
}

// Multi-unit rate and speed of a recording, on a grid of small time bins.
#include "systems/decode/events/events.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

// Standard deviations that a smoothing kernel reaches.
static const double REACH = 4;
// Outputs of one block of the pool.
enum { BLOCK = 4096 };

// Gaussian smoothing, divided by the weights that fall inside.
typedef struct smoothing {
    const double *in;
    double *out;
    int64_t n;
    const double *weight; // [2 half + 1]
    int64_t half;
    double divisor;
} smoothing;

static tess_status smooth_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const smoothing *s = arg;
    const int64_t first = block * BLOCK;
    const int64_t end = first + BLOCK < s->n ? first + BLOCK : s->n;
    double sum[BLOCK] = {0};
    double norm[BLOCK] = {0};
    for (int64_t j = -s->half; j <= s->half; j++) {
        const double weight = s->weight[j + s->half];
        const int64_t low = first + j < 0 ? -j : first;
        const int64_t high = end + j > s->n ? s->n - j : end;
        for (int64_t i = low; i < high; i++) {
            sum[i - first] += weight * s->in[i + j];
            norm[i - first] += weight;
        }
    }
    for (int64_t i = first; i < end; i++) {
        s->out[i] = sum[i - first] / norm[i - first] / s->divisor;
    }
    return TESS_OK;
}

// in and out [n] must differ.
static tess_status smooth(tess_context *ctx, tess_blocks *blocks, const double *in, int64_t n,
                          double step, double sd, double divisor, double *out)
{
    const double reach = floor(REACH * sd / step + 0.5);
    const int64_t half = reach < (double)n ? (int64_t)reach : n;
    double *weight = tess_blocks_alloc(blocks, 2 * half + 1, sizeof *weight, "smoothing kernel");
    if (!weight) {
        return TESS_E_MEMORY;
    }
    for (int64_t j = -half; j <= half; j++) {
        const double u = (double)j * step / sd;
        weight[j + half] = exp(-0.5 * u * u);
    }
    smoothing s = {
        .in = in, .out = out, .n = n, .weight = weight, .half = half, .divisor = divisor};
    return tess_parallel_for(ctx->pool, (n + BLOCK - 1) / BLOCK, smooth_block, &s);
}

static bool is_known(const tess_decode_position *position, int64_t i)
{
    for (int64_t k = 0; k < position->n_dim; k++) {
        if (!isfinite(position->position[i * position->n_dim + k])) {
            return false;
        }
    }
    return true;
}

// The samples at which the animal is seen: their times and indices.
static tess_status keep_known(tess_blocks *blocks, const tess_decode_position *position,
                              tess_de_rate *rate, int64_t **index)
{
    const int64_t n = position->n_sample;
    rate->sample_time = tess_blocks_alloc(blocks, n, sizeof *rate->sample_time, "position times");
    *index = tess_blocks_alloc(blocks, n, sizeof **index, "positions");
    if (!rate->sample_time || !*index) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        if (is_known(position, i)) {
            rate->sample_time[rate->n_sample] = position->time[i];
            (*index)[rate->n_sample++] = i;
        }
    }
    return TESS_OK;
}

// Velocities are smoothed before the norm is taken: camera noise does not look like movement.
static tess_status make_speed(tess_context *ctx, tess_blocks *blocks,
                              const tess_decode_position *position, double sd, tess_de_rate *rate)
{
    int64_t *index = NULL;
    double step = 0;
    TESS_TRY(keep_known(blocks, position, rate, &index));
    const int64_t n = rate->n_sample;
    if (n < 2) {
        rate->n_sample = 0;
        return TESS_OK;
    }
    TESS_TRY(tess_de_median_step(&ctx->heap, rate->sample_time, n, &step));
    double *velocity = tess_blocks_alloc(blocks, n, sizeof *velocity, "velocity");
    double *smoothed = tess_blocks_alloc(blocks, n, sizeof *smoothed, "velocity");
    rate->sample_speed = tess_blocks_alloc(blocks, n, sizeof *rate->sample_speed, "speed");
    if (!velocity || !smoothed || !rate->sample_speed) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < position->n_dim; k++) {
        const double *x = position->position + k;
        for (int64_t i = 0; i < n; i++) {
            const int64_t a = i > 0 ? i - 1 : 0;
            const int64_t b = i + 1 < n ? i + 1 : n - 1;
            velocity[i] = (x[index[b] * position->n_dim] - x[index[a] * position->n_dim]) /
                          (rate->sample_time[b] - rate->sample_time[a]);
        }
        TESS_TRY(smooth(ctx, blocks, velocity, n, step, sd, 1, smoothed));
        for (int64_t i = 0; i < n; i++) {
            rate->sample_speed[i] += smoothed[i] * smoothed[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        rate->sample_speed[i] = sqrt(rate->sample_speed[i]);
    }
    return TESS_OK;
}

// Speed at the centre of a bin, constant beyond the samples; *at is a sample at or before it.
static double speed_at(const tess_de_rate *rate, int64_t bin, int64_t *at)
{
    const double time = rate->begin + ((double)bin + 0.5) * rate->bin;
    const double *t = rate->sample_time;
    const double *v = rate->sample_speed;
    const int64_t n = rate->n_sample;
    while (*at + 1 < n && t[*at + 1] <= time) {
        (*at)++;
    }
    if (*at + 1 >= n || time <= t[0]) {
        return v[*at];
    }
    const double share = (time - t[*at]) / (t[*at + 1] - t[*at]);
    return v[*at] + share * (v[*at + 1] - v[*at]);
}

double tess_de_rate_max_speed(const tess_de_rate *rate, int64_t first, int64_t end)
{
    if (rate->n_sample == 0 || end <= first) {
        return (double)NAN;
    }
    const double time = rate->begin + ((double)first + 0.5) * rate->bin;
    int64_t at = tess_de_first_after(rate->sample_time, rate->n_sample, time) - 1;
    at = at < 0 ? 0 : at;
    double most = 0;
    for (int64_t i = first; i < end; i++) {
        const double speed = speed_at(rate, i, &at);
        most = speed > most ? speed : most;
    }
    return most;
}

// First to last position sample, or spike.
static void find_limits(const tess_de_events_input *in, const tess_de_ordered *ordered,
                        tess_de_rate *rate)
{
    const tess_decode_position *position = &in->position;
    rate->begin = (double)NAN;
    rate->end = (double)NAN;
    if (position->n_sample > 0) {
        rate->begin = position->time[0];
        rate->end = position->time[position->n_sample - 1];
        return;
    }
    for (int64_t e = 0; e < in->spikes.n_electrode; e++) {
        if (ordered[e].n > 0) {
            rate->begin = fmin(rate->begin, ordered[e].time[0]);
            rate->end = fmax(rate->end, ordered[e].time[ordered[e].n - 1]);
        }
    }
}

static tess_status count_spikes(tess_blocks *blocks, const tess_de_events_input *in,
                                const tess_de_ordered *ordered, const tess_de_rate *rate,
                                double **out)
{
    double *count = tess_blocks_alloc(blocks, rate->n, sizeof *count, "spikes by time bin");
    if (!count) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < in->spikes.n_electrode; e++) {
        for (int64_t i = 0; i < ordered[e].n; i++) {
            const double bin = floor((ordered[e].time[i] - rate->begin) / rate->bin);
            if (bin >= 0 && bin < (double)rate->n) {
                count[(int64_t)bin]++;
            }
        }
    }
    *out = count;
    return TESS_OK;
}

// (rate - mean) / sd over still bins; NaN where there is no such thing.
static void standardise(tess_de_rate *rate)
{
    double sum = 0;
    for (int64_t i = 0; i < rate->n; i++) {
        sum += rate->still[i] ? rate->z[i] : 0;
        rate->n_still += rate->still[i];
    }
    rate->mean = rate->n_still > 0 ? sum / (double)rate->n_still : (double)NAN;
    double square = 0;
    for (int64_t i = 0; i < rate->n; i++) {
        const double d = rate->z[i] - rate->mean;
        square += rate->still[i] ? d * d : 0;
    }
    rate->sd = rate->n_still > 0 ? sqrt(square / (double)rate->n_still) : (double)NAN;
    for (int64_t i = 0; i < rate->n; i++) {
        rate->z[i] = rate->sd > 0 ? (rate->z[i] - rate->mean) / rate->sd : (double)NAN;
    }
}

tess_status tess_de_rate_make(tess_context *ctx, tess_blocks *blocks,
                              const tess_de_events_input *in, const tess_de_ordered *ordered,
                              tess_de_rate *out)
{
    *out = (tess_de_rate){.bin = in->config.rate_bin};
    find_limits(in, ordered, out);
    const double n = floor((out->end - out->begin) / out->bin + 1e-6);
    if (n > 1e12) {
        TESS_FAIL(TESS_E_RANGE,
                  "rate_bin %g s: a recording from %g to %g s has %.0f such bins; take wider ones",
                  out->bin, out->begin, out->end, n);
    }
    out->n = n > 0 ? (int64_t)n : 0;
    if (in->position.n_sample > 0) {
        TESS_TRY(make_speed(ctx, blocks, &in->position, in->config.speed_std, out));
    }
    double *count = NULL;
    TESS_TRY(count_spikes(blocks, in, ordered, out, &count));
    out->z = tess_blocks_alloc(blocks, out->n, sizeof *out->z, "multi-unit rate");
    out->still = tess_blocks_alloc(blocks, out->n, 1, "still bins");
    if (!out->z || !out->still) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_context_check_cancel(ctx));
    TESS_TRY(smooth(ctx, blocks, count, out->n, out->bin, in->config.rate_std, out->bin, out->z));
    int64_t at = 0;
    for (int64_t i = 0; i < out->n; i++) {
        out->still[i] = out->n_sample == 0 || speed_at(out, i, &at) < in->config.max_speed;
    }
    standardise(out);
    return TESS_OK;
}

// What looks wrong with training data that can be fitted all the same.
#include "systems/decode/encoding/plausible.h"
#include "base/status.h"

#include <math.h>

// Positions that span fewer bandwidths than this are all the same to the density estimate.
static const double LEAST_BANDWIDTHS = 2;
// So are marks of which none is larger than this share of the bandwidth: volts, millivolts.
static const double LEAST_MARK = 0.1;

static double extent_of(const tess_de_selection *s, int64_t axis)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (int64_t i = 0; i < s->n_sample; i++) {
        low = fmin(low, s->place[i * s->n_dim + axis]);
        high = fmax(high, s->place[i * s->n_dim + axis]);
    }
    return high - low;
}

static void warn_positions(tess_context *ctx, const tess_decode_encoding *encoding)
{
    const tess_de_selection *s = &encoding->selection;
    double largest = 0;
    bool is_small = s->n_sample > 1;
    for (int64_t axis = 0; axis < s->n_dim && is_small; axis++) {
        const double extent = extent_of(s, axis);
        is_small = extent < LEAST_BANDWIDTHS * encoding->position_std[axis];
        largest = fmax(largest, extent);
    }
    if (is_small) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_SCALE,
                      "positions span %.3g cm in all, less than two bandwidths (position_std %.3g "
                      "cm): they are expected in cm, are these metres?",
                      largest, encoding->position_std[0]);
    }
}

static void warn_marks(tess_context *ctx, const tess_decode_encoding *encoding)
{
    const tess_de_selection *s = &encoding->selection;
    const double least = LEAST_MARK * encoding->waveform_std[0];
    double largest = 0;
    int64_t n = 0;
    for (int64_t e = 0; e < s->n_electrode && largest < least; e++) {
        const int64_t n_value = s->n_spike[e] * s->n_feature[e];
        for (int64_t i = 0; i < n_value && largest < least; i++) {
            largest = fmax(largest, fabs(s->spike_marks[e][i]));
        }
        n += n_value;
    }
    if (n > 0 && largest < least) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_SCALE,
                      "no mark is larger than %.3g uV, far below the bandwidth (waveform_std %.3g "
                      "uV): they are expected in uV, are these volts?",
                      largest, encoding->waveform_std[0]);
    }
}

static void warn_empty(tess_context *ctx, const tess_de_selection *s)
{
    int64_t n_empty = 0;
    int64_t first = -1;
    for (int64_t e = 0; e < s->n_electrode; e++) {
        n_empty += s->n_spike[e] == 0;
        first = first < 0 && s->n_spike[e] == 0 ? e : first;
    }
    if (n_empty > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_ELECTRODE,
                      "%lld of %lld electrodes (the first is electrode %lld) %s no encoding "
                      "spikes: nothing is learned from %s",
                      (long long)n_empty, (long long)s->n_electrode, (long long)first,
                      n_empty == 1 ? "has" : "have", n_empty == 1 ? "it" : "them");
    }
}

void tess_de_warn_training(tess_context *ctx, const tess_decode_encoding *encoding)
{
    const int32_t algorithm = encoding->config.algorithm;
    if (algorithm == TESS_DECODE_CLUSTERLESS_KDE || algorithm == TESS_DECODE_SORTED_SPIKES_KDE) {
        warn_positions(ctx, encoding);
    }
    if (algorithm == TESS_DECODE_CLUSTERLESS_KDE) {
        warn_marks(ctx, encoding);
    }
    warn_empty(ctx, &encoding->selection);
}

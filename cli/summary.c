// Summary of a result that may be larger than memory: every statistic is found in passes over
// tiles. The median is exact: amplitudes are never negative, so their bit patterns sort like
// integers, and four passes with 65,536 counters pin down the pattern of the wanted rank.

#include "summary.h"

#include "console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_BYTES = 1 << 20, DIGIT_BITS = 16, N_DIGIT = 1 << DIGIT_BITS };

typedef struct scan {
    tess_source *source;
    const tess_source_info *info;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t epochs_per_tile;
    void *tile;
    int64_t *counts;
    unsigned char *not_flat;
} scan;

typedef void (*value_fn)(void *user, int64_t channel, double value);

static int for_each_value(scan *s, value_fn visit, void *user)
{
    for (int64_t first = 0; first < s->n_epoch; first += s->epochs_per_tile) {
        const int64_t left = s->n_epoch - first;
        const int64_t count = left < s->epochs_per_tile ? left : s->epochs_per_tile;
        const int64_t n = count * s->n_chan;
        CLI_CALL(tess_source_read(s->source, first, count, s->tile,
                                  (uint64_t)(n * s->info->item_bytes)));
        for (int64_t i = 0; i < n; i++) {
            const double value = s->info->dtype == TESS_F32 ? (double)((const float *)s->tile)[i]
                                                            : ((const double *)s->tile)[i];
            visit(user, i % s->n_chan, value);
        }
    }
    return 0;
}

typedef struct extremes {
    scan *s;
    summary *out;
} extremes;

static void visit_extremes(void *user, int64_t channel, double value)
{
    const extremes *x = user;

    if (isnan(value)) {
        x->out->n_nan_row++;
        x->s->not_flat[channel] = 1;
        return;
    }
    x->out->minimum = fmin(x->out->minimum, value);
    x->out->maximum = fmax(x->out->maximum, value);
    if (value > 0) {
        x->s->not_flat[channel] = 1;
    }
}

typedef struct digit_count {
    int64_t *counts;
    uint64_t prefix;
    int shift; // bits above the digit are known: prefix
} digit_count;

static void visit_digit(void *user, int64_t channel, double value)
{
    const digit_count *d = user;
    uint64_t bits;

    (void)channel;
    memcpy(&bits, &value, sizeof bits);
    const int above = d->shift + DIGIT_BITS;
    if (!isnan(value) && (above >= 64 || bits >> above == d->prefix)) {
        d->counts[(bits >> d->shift) & (N_DIGIT - 1)]++;
    }
}

// The value that `rank` others precede in sorted order.
static int select_rank(scan *s, int64_t rank, double *out)
{
    digit_count d = {.counts = s->counts};

    for (d.shift = 64 - DIGIT_BITS; d.shift >= 0; d.shift -= DIGIT_BITS) {
        memset(s->counts, 0, N_DIGIT * sizeof *s->counts);
        CLI_TRY(for_each_value(s, visit_digit, &d));
        uint64_t digit = 0;
        while (digit + 1 < N_DIGIT && rank >= s->counts[digit]) {
            rank -= s->counts[digit++];
        }
        d.prefix = d.prefix << DIGIT_BITS | digit;
    }
    memcpy(out, &d.prefix, sizeof *out);
    return 0;
}

static int compute(scan *s, summary *out)
{
    extremes x = {.s = s, .out = out};
    double low = 0;
    double high = 0;

    out->minimum = (double)NAN; // fmin and fmax ignore a NaN on one side
    out->maximum = (double)NAN;
    out->median = (double)NAN;
    out->n_row = s->n_epoch * s->n_chan;
    CLI_TRY(for_each_value(s, visit_extremes, &x));
    for (int64_t c = 0; c < s->n_chan && s->n_epoch > 0; c++) {
        if (!s->not_flat[c]) {
            if (out->n_flat < SUMMARY_FLAT_LISTED) {
                out->flat[out->n_flat] = c;
            }
            out->n_flat++;
        }
    }
    const int64_t n = out->n_row - out->n_nan_row;
    if (n > 0) {
        CLI_TRY(select_rank(s, (n - 1) / 2, &low));
        high = low;
        if (n % 2 == 0) {
            CLI_TRY(select_rank(s, n / 2, &high));
        }
        out->median = low + (high - low) / 2;
    }
    return 0;
}

int summary_compute(tess_source *result, summary *out)
{
    scan s = {.source = result, .info = tess_source_get_info(result)};

    memset(out, 0, sizeof *out);
    s.n_epoch = s.info->shape[0];
    s.n_chan = s.info->shape[1];
    const int64_t epoch_bytes = s.n_chan * s.info->item_bytes;
    s.epochs_per_tile = epoch_bytes > 0 && epoch_bytes < TILE_BYTES ? TILE_BYTES / epoch_bytes : 1;
    s.tile = malloc((size_t)(s.epochs_per_tile * epoch_bytes) + 1);
    s.counts = malloc(N_DIGIT * sizeof *s.counts);
    s.not_flat = calloc((size_t)s.n_chan + 1, 1);
    const int code = s.tile && s.counts && s.not_flat
                         ? compute(&s, out)
                         : console_fail(71, "no memory for the summary of the result");
    free(s.tile);
    free(s.counts);
    free(s.not_flat);
    return code;
}

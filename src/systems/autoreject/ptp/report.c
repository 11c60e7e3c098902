// The HTML report of a peak-to-peak result.
#include "base/hash.h"
#include "base/status.h"
#include "page/html.h"
#include "runtime/provenance.h"
#include "systems/autoreject/ptp/ptp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_BIN = 60, MAX_LISTED = 20 };

// Summary of one channel over all epochs.
typedef struct channel_summary {
    int64_t channel;
    double median;
    double largest;
    int64_t n_nan;
} channel_summary;

typedef struct summary {
    tess_heap *heap;
    int64_t n_epoch;
    int64_t n_chan;
    double *values; // [n_epoch][n_chan]
    double *sorted; // finite values, ascending
    int64_t n_finite;
    channel_summary *channels;
} summary;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_median_falling(const void *a, const void *b)
{
    const channel_summary *x = a;
    const channel_summary *y = b;
    if (isnan(x->median) != isnan(y->median)) {
        return isnan(x->median) ? 1 : -1; // nothing to say of it: last
    }
    if (x->median != y->median && !isnan(x->median)) {
        return x->median < y->median ? 1 : -1;
    }
    return (x->channel > y->channel) - (x->channel < y->channel);
}

static double quantile(const double *sorted, int64_t n, double q)
{
    if (n == 0) {
        return (double)NAN;
    }
    const double at = q * (double)(n - 1);
    const int64_t i = (int64_t)at;
    const int64_t next = i + 1 < n ? i + 1 : i;
    return sorted[i] + (at - (double)i) * (sorted[next] - sorted[i]);
}

static void summary_destroy(summary *s)
{
    const size_t bytes = (size_t)(s->n_epoch * s->n_chan) * sizeof(double);
    tess_heap_free(s->heap, s->values, bytes, TESS_TAG_RESULT);
    tess_heap_free(s->heap, s->sorted, bytes, TESS_TAG_RESULT);
    tess_heap_free(s->heap, s->channels, (size_t)s->n_chan * sizeof *s->channels, TESS_TAG_RESULT);
}

static void summarise_channels(summary *s)
{
    // The sorted array is free as scratch until the end of this function.
    for (int64_t c = 0; c < s->n_chan; c++) {
        channel_summary *channel = &s->channels[c];
        memset(channel, 0, sizeof *channel);
        int64_t n = 0;
        for (int64_t e = 0; e < s->n_epoch; e++) {
            const double value = s->values[e * s->n_chan + c];
            if (isfinite(value)) {
                s->sorted[n++] = value;
            } else {
                channel->n_nan++;
            }
        }
        qsort(s->sorted, (size_t)n, sizeof *s->sorted, ascending);
        channel->channel = c;
        channel->median = quantile(s->sorted, n, 0.5);
        channel->largest = n > 0 ? s->sorted[n - 1] : (double)NAN;
    }
    s->n_finite = 0;
    for (int64_t i = 0; i < s->n_epoch * s->n_chan; i++) {
        if (isfinite(s->values[i])) {
            s->sorted[s->n_finite++] = s->values[i];
        }
    }
    qsort(s->sorted, (size_t)s->n_finite, sizeof *s->sorted, ascending);
    qsort(s->channels, (size_t)s->n_chan, sizeof *s->channels, by_median_falling);
}

static tess_status summarise(tess_heap *heap, const tess_array *ptp, summary *s)
{
    memset(s, 0, sizeof *s);
    s->heap = heap;
    s->n_epoch = ptp->shape[0];
    s->n_chan = ptp->shape[1];
    const int64_t n = s->n_epoch * s->n_chan;
    s->values = tess_heap_alloc(heap, (size_t)n * sizeof(double), TESS_TAG_RESULT, "report");
    s->sorted = tess_heap_alloc(heap, (size_t)n * sizeof(double), TESS_TAG_RESULT, "report");
    s->channels =
        tess_heap_alloc(heap, (size_t)s->n_chan * sizeof *s->channels, TESS_TAG_RESULT, "report");
    if (!s->values || !s->sorted || !s->channels) {
        summary_destroy(s);
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        s->values[i] = ptp->dtype == TESS_F32 ? (double)((const float *)ptp->data)[i]
                                              : ((const double *)ptp->data)[i];
    }
    summarise_channels(s);
    return TESS_OK;
}

static void write_facts(tess_html *html, const summary *s)
{
    char text[96];
    tess_html_fact_begin(html);
    snprintf(text, sizeof text, "%lld x %lld", (long long)s->n_epoch, (long long)s->n_chan);
    tess_html_fact(html, "epochs x channels", text);
    snprintf(text, sizeof text, "%.4g", quantile(s->sorted, s->n_finite, 0.5));
    tess_html_fact(html, "median peak-to-peak", text);
    snprintf(text, sizeof text, "%.4g to %.4g", quantile(s->sorted, s->n_finite, 0.05),
             quantile(s->sorted, s->n_finite, 0.95));
    tess_html_fact(html, "5 % to 95 %", text);
    snprintf(text, sizeof text, "%.4g", quantile(s->sorted, s->n_finite, 1));
    tess_html_fact(html, "largest", text);
    snprintf(text, sizeof text, "%lld", (long long)(s->n_epoch * s->n_chan - s->n_finite));
    tess_html_fact(html, "not finite", text);
    tess_html_fact_end(html);
}

static void write_histogram(tess_html *html, const summary *s)
{
    const double low = quantile(s->sorted, s->n_finite, 0);
    const double high = quantile(s->sorted, s->n_finite, 0.99);
    int64_t counts[N_BIN] = {0};
    for (int64_t i = 0; i < s->n_finite; i++) {
        if (s->sorted[i] <= high) {
            const double x = high > low ? (s->sorted[i] - low) / (high - low) * N_BIN : 0;
            counts[x < N_BIN - 1 ? (int)x : N_BIN - 1]++;
        }
    }
    tess_html_heading(html, "Distribution");
    tess_html_histogram(html, counts, N_BIN, low, high, "(the upper 1 % is left out)");
}

static void write_channels(tess_html *html, const summary *s)
{
    static const char *const heads[] = {"channel", "median", "largest", "epochs not finite"};
    tess_html_heading(html, "Channels with the largest median");
    tess_html_table_begin(html, heads, 4);
    for (int64_t i = 0; i < s->n_chan && i < MAX_LISTED; i++) {
        char cells[4][32];
        snprintf(cells[0], sizeof cells[0], "%lld", (long long)s->channels[i].channel);
        snprintf(cells[1], sizeof cells[1], "%.4g", s->channels[i].median);
        snprintf(cells[2], sizeof cells[2], "%.4g", s->channels[i].largest);
        snprintf(cells[3], sizeof cells[3], "%lld", (long long)s->channels[i].n_nan);
        const char *row[] = {cells[0], cells[1], cells[2], cells[3]};
        tess_html_table_row(html, row, 4);
    }
    tess_html_table_end(html);

    char flat[512] = "";
    size_t used = 0;
    for (int64_t i = 0; i < s->n_chan && used < sizeof flat - 32; i++) {
        if (s->channels[i].largest == 0) {
            used += (size_t)snprintf(flat + used, sizeof flat - used, "%s%lld",
                                     used > 0 ? ", " : "", (long long)s->channels[i].channel);
        }
    }
    char line[600];
    snprintf(line, sizeof line, "Flat channels (peak-to-peak 0 in every epoch): %s.",
             used > 0 ? flat : "none");
    tess_html_paragraph(html, line);
}

tess_status tess_autoreject_ptp_report(tess_context *ctx, const tess_array *ptp,
                                       const char *provenance, const char *path, int overwrite)
{
    tess_error_clear();
    if (ptp->rank != 2 || !tess_array_is_contiguous(ptp) || ptp->space == TESS_SPACE_DEVICE ||
        (ptp->dtype != TESS_F32 && ptp->dtype != TESS_F64)) {
        TESS_FAIL(TESS_E_SHAPE, "ptp: expected a C-contiguous f32 or f64 host array of epochs x "
                                "channels");
    }
    summary s;
    TESS_TRY(summarise(&ctx->heap, ptp, &s));
    char identity[33];
    tess_hash_text(tess_hash_bytes(tess_hash_default(), ptp->data,
                                   (size_t)(tess_array_items(ptp) * ptp->item_bytes)),
                   identity);
    const tess_origin origin = {.stage = "autoreject.ptp.report", .identity = identity};
    tess_html html;
    tess_html_begin(&html, ctx, &origin, "Peak-to-peak amplitudes");
    write_facts(&html, &s);
    tess_html_heading(&html, "Epochs and channels");
    tess_html_heat_map(&html, s.values, s.n_epoch, s.n_chan, quantile(s.sorted, s.n_finite, 0.01),
                       quantile(s.sorted, s.n_finite, 0.99), "epochs", "channels",
                       "in the unit of the data");
    write_histogram(&html, &s);
    write_channels(&html, &s);
    tess_html_heading(&html, "Method");
    tess_html_paragraph(&html, "Peak-to-peak is the largest minus the smallest sample of a channel "
                               "in an epoch, the quantity autoreject thresholds (Jas et al., "
                               "NeuroImage 159, 2017, 417-429).");
    if (provenance) {
        tess_html_heading(&html, "Provenance");
        tess_html_code(&html, provenance);
    }
    const int is_own = overwrite == 2 && tess_provenance_is_of(ctx, path, identity);
    const tess_status status = tess_html_write(&html, path, overwrite == 1 || is_own);
    tess_html_destroy(&html);
    summary_destroy(&s);
    return status;
}

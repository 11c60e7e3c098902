// The HTML report of a peak-to-peak result.
#include "base/hash.h"
#include "base/status.h"
#include "page/figure.h"
#include "runtime/provenance.h"
#include "systems/autoreject/ptp/ptp.h"
#include "systems/autoreject/text/citation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_BIN = 60, MAX_LISTED = 2000, MAX_ROWS = 1000 };

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

// Channels without a signal, by number, as many as there is room for.
static int64_t list_flat(const summary *s, char *list, size_t room)
{
    int64_t n = 0;
    size_t used = 0;
    for (int64_t i = 0; i < s->n_chan; i++) {
        if (s->channels[i].largest == 0) {
            n++;
            if (used + 32 < room) {
                used += (size_t)snprintf(list + used, room - used, "%s%lld", used > 0 ? ", " : "",
                                         (long long)s->channels[i].channel);
            }
        }
    }
    return n;
}

static void write_verdict(tess_html *html, const summary *s)
{
    char flat[512] = "";
    char line[640];
    const int64_t n_flat = list_flat(s, flat, sizeof flat);
    const int64_t n_odd = s->n_epoch * s->n_chan - s->n_finite;
    snprintf(line, sizeof line, "%lld flat channels", (long long)n_flat);
    tess_html_badge(html, n_flat > 0 ? TESS_HTML_CHECK : TESS_HTML_GOOD, line);
    snprintf(line, sizeof line, "%lld values not finite", (long long)n_odd);
    tess_html_badge(html, n_odd > 0 ? TESS_HTML_CHECK : TESS_HTML_GOOD, line);
    if (n_flat > 0) {
        snprintf(line, sizeof line, "Flat channels (peak-to-peak 0 in every epoch): %s.", flat);
        tess_html_warning(html, line);
    }
    if (n_odd > 0) {
        tess_html_warning(html,
                          "Some epochs hold values that are not finite; they are grey below.");
    }
}

// One column of the map: an epoch, its channels thinned by the greatest of neighbours.
static void fill_column(const summary *s, int64_t epoch, int64_t n_row, double *column)
{
    for (int64_t r = 0; r < n_row; r++) {
        column[r] = (double)NAN;
        for (int64_t c = r * s->n_chan / n_row; c < (r + 1) * s->n_chan / n_row; c++) {
            column[r] = fmax(column[r], s->values[epoch * s->n_chan + c]); // passes over NaN
        }
    }
}

static tess_status fill_map(tess_context *ctx, const summary *s, int64_t n_row, tess_pyramid *map)
{
    const tess_pyramid_setup setup = {.n_column = s->n_epoch,
                                      .n_row = n_row,
                                      .step = 1,
                                      .is_map = true,
                                      .bits = 16,
                                      .budget_bytes = 4 << 20};
    const size_t bytes = (size_t)n_row * sizeof(double);
    TESS_TRY(tess_pyramid_create(ctx, &setup, map));
    double *column = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_RESULT, "report");
    tess_status status = column ? TESS_OK : TESS_E_MEMORY;
    for (int64_t e = 0; e < s->n_epoch && status == TESS_OK; e++) {
        fill_column(s, e, n_row, column);
        status = tess_pyramid_push(map, column, 1);
    }
    tess_heap_free(&ctx->heap, column, bytes, TESS_TAG_RESULT);
    return status == TESS_OK ? tess_pyramid_finish(map) : status;
}

static tess_status write_map(tess_html *html, tess_context *ctx, const summary *s)
{
    const int64_t n_row = s->n_chan < MAX_ROWS ? s->n_chan : MAX_ROWS;
    tess_html_heading(html, "Epochs and channels");
    if (s->n_finite == 0) {
        tess_html_paragraph(html, "There is no finite value to show.");
        return TESS_OK;
    }
    tess_pyramid cells = {0};
    const tess_status status = fill_map(ctx, s, n_row, &cells);
    if (status == TESS_OK) {
        const double low = quantile(s->sorted, s->n_finite, 0.01);
        const double high = quantile(s->sorted, s->n_finite, 0.99);
        const tess_figure_map map = {.pyramid = &cells,
                                     .label = "peak-to-peak, unit of the data",
                                     .low = low,
                                     .high = high > low ? high : low + 1};
        const bool is_thinned = n_row < s->n_chan;
        tess_figure_draw(
            html, &(tess_figure){.x = {"epoch", "", -0.5, (double)s->n_epoch - 0.5, false},
                                 .y = {"channel", "", (double)s->n_chan - 0.5, -0.5, false},
                                 .height = 400,
                                 .map = &map,
                                 .note = is_thinned ? "Neighbouring channels are shown by the "
                                                      "greatest of them. Colours end at 1 % and "
                                                      "99 %."
                                                    : "Colours end at 1 % and 99 %."});
    }
    tess_pyramid_destroy(&cells);
    return status;
}

static void write_histogram(tess_html *html, const summary *s)
{
    const double low = quantile(s->sorted, s->n_finite, 0);
    const double high = quantile(s->sorted, s->n_finite, 0.99);
    double counts[N_BIN] = {0};
    for (int64_t i = 0; i < s->n_finite; i++) {
        if (s->sorted[i] <= high) {
            const double x = high > low ? (s->sorted[i] - low) / (high - low) * N_BIN : 0;
            counts[x < N_BIN - 1 ? (int)x : N_BIN - 1]++;
        }
    }
    tess_html_heading(html, "Distribution");
    if (s->n_finite == 0) {
        tess_html_paragraph(html, "There is no finite value to show.");
        return;
    }
    const tess_figure_series bars = {.y = counts, .n = N_BIN, .style = TESS_FIGURE_BARS};
    tess_figure_draw(html, &(tess_figure){.x = {"peak-to-peak, unit of the data", "", low,
                                                high > low ? high : low + 1, false},
                                          .y = {.label = "epochs x channels"},
                                          .series = &bars,
                                          .n_series = 1,
                                          .note = "The upper 1 % is left out."});
}

static void write_channels(tess_html *html, const summary *s)
{
    static const char *const heads[] = {"channel", "median", "largest", "epochs not finite"};
    tess_html_heading(html, "Channels");
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
    if (s->n_chan > MAX_LISTED) {
        tess_html_paragraph(html, "The list ends here: these have the largest medians.");
    }
}

static tess_status write_page(tess_html *html, tess_context *ctx, const summary *s)
{
    write_verdict(html, s);
    write_facts(html, s);
    TESS_TRY(write_map(html, ctx, s));
    write_histogram(html, s);
    write_channels(html, s);
    tess_html_heading(html, "Method");
    tess_html_paragraph(html, "Peak-to-peak is the largest minus the smallest sample of a channel "
                              "in an epoch, the quantity autoreject thresholds.");
    tess_html_cite(html, TESS_AR_CITATION);
    return TESS_OK;
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
    tess_status status = write_page(&html, ctx, &s);
    if (provenance) {
        tess_html_provenance(&html, provenance);
    }
    if (status == TESS_OK) {
        const int is_own = overwrite == 2 && tess_provenance_is_of(ctx, path, identity);
        status = tess_html_write(&html, path, overwrite == 1 || is_own);
    }
    tess_html_destroy(&html);
    summary_destroy(&s);
    return status;
}

// Spikes of one electrode in time order, with finite times and marks.
#include "base/status.h"
#include "numerics/order.h"
#include "systems/decode/store/inputs.h"

#include <math.h>
#include <string.h>

int64_t tess_de_first_from(const double *time, int64_t n, double value)
{
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (time[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t tess_de_first_after_near(const double *time, int64_t n, double value, int64_t from)
{
    int64_t low = from;
    int64_t step = 1;
    while (low + step <= n && time[low + step - 1] <= value) {
        low += step;
        step *= 2;
    }
    const int64_t most = low + step < n ? low + step : n;
    return low + tess_de_first_after(time + low, most - low, value);
}

int64_t tess_de_first_after(const double *time, int64_t n, double value)
{
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (time[middle] <= value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

tess_status tess_de_median_step(tess_heap *heap, const double *time, int64_t n, double *step)
{
    *step = 0;
    if (n < 2) {
        return TESS_OK;
    }
    const size_t bytes = (size_t)(n - 1) * sizeof(double);
    double *steps = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "time steps");
    if (!steps) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i + 1 < n; i++) {
        steps[i] = time[i + 1] - time[i];
    }
    *step = tess_median(steps, n - 1);
    tess_heap_free(heap, steps, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

// The spikes that have a finite time, then by time; equal times keep their order.
static tess_status reorder(tess_blocks *blocks, const double *time, int64_t n, int64_t n_finite,
                           tess_de_ordered *out)
{
    double *finite = tess_blocks_alloc(blocks, n_finite, sizeof *finite, "spike times");
    double *sorted = tess_blocks_alloc(blocks, n_finite, sizeof *sorted, "spike times");
    int64_t *place = tess_blocks_alloc(blocks, n_finite, sizeof *place, "spike order");
    int64_t *order = tess_blocks_alloc(blocks, n_finite, sizeof *order, "spike order");
    int64_t *scratch = tess_blocks_alloc(blocks, n_finite, sizeof *scratch, "spike order");
    if (!finite || !sorted || !place || !order || !scratch) {
        return TESS_E_MEMORY;
    }
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(time[i])) {
            finite[k] = time[i];
            place[k++] = i;
        }
    }
    tess_order_stable(finite, n_finite, order, scratch);
    for (int64_t i = 0; i < n_finite; i++) {
        sorted[i] = finite[order[i]];
        scratch[i] = place[order[i]];
    }
    *out = (tess_de_ordered){.n = n_finite, .time = sorted, .index = scratch};
    return TESS_OK;
}

tess_status tess_de_order_spikes(tess_blocks *blocks, const tess_decode_spikes *spikes,
                                 int64_t electrode, const tess_de_spike_rules *rules,
                                 tess_de_notes *notes, tess_de_ordered *out)
{
    const double *time = spikes->times[electrode];
    const int64_t n = spikes->n_spike[electrode];
    int64_t n_finite = 0;
    int64_t unsorted = -1;
    double latest = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(time[i])) {
            if (rules->nan_policy == TESS_DECODE_NAN_ERROR) {
                TESS_FAIL(TESS_E_NUMERIC,
                          "electrode %lld, spike %lld: its time is %s; pass nan_policy=drop to "
                          "discard such spikes",
                          (long long)electrode, (long long)i, isnan(time[i]) ? "NaN" : "infinite");
            }
            continue;
        }
        n_finite++;
        if (time[i] < latest && unsorted < 0) {
            unsorted = i;
        }
        latest = time[i] > latest ? time[i] : latest;
    }
    if (unsorted >= 0 && rules->strict) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "electrode %lld: spike times are not sorted (spike %lld at %.9g comes after a "
                  "later one); sort them, or leave strict off",
                  (long long)electrode, (long long)unsorted, time[unsorted]);
    }
    if (unsorted >= 0 && notes->n_unsorted++ == 0) {
        notes->unsorted_electrode = electrode;
        notes->unsorted_spike = unsorted;
    }
    notes->n_bad_time += n - n_finite;
    if (unsorted < 0 && n_finite == n) {
        *out = (tess_de_ordered){.n = n, .time = time, .index = NULL};
        return TESS_OK;
    }
    return reorder(blocks, time, n, n_finite, out);
}

static double mark_value(const tess_decode_spikes *spikes, int64_t electrode, int64_t item)
{
    const void *marks = spikes->marks[electrode];
    return spikes->mark_dtype == TESS_F32 ? (double)((const float *)marks)[item]
                                          : ((const double *)marks)[item];
}

// Feature of the spike that is not finite, or -1.
static int64_t bad_feature(const tess_decode_spikes *spikes, int64_t electrode, int64_t spike)
{
    const int64_t d = spikes->n_feature[electrode];
    for (int64_t f = 0; f < d; f++) {
        if (!isfinite(mark_value(spikes, electrode, spike * d + f))) {
            return f;
        }
    }
    return -1;
}

// The marks of spikes first..first+n-1 where they can be taken as they are, else NULL.
static const double *good_marks(const tess_decode_spikes *spikes, int64_t electrode,
                                const tess_de_ordered *ordered, int64_t first, int64_t n)
{
    static const uint64_t exponent = UINT64_C(0x7ff) << 52; // all ones: not finite
    const int64_t d = spikes->n_feature[electrode];
    if (spikes->mark_dtype != TESS_F64 || ordered->index) {
        return NULL;
    }
    const double *marks = (const double *)spikes->marks[electrode] + first * d;
    uint64_t n_bad = 0;
    for (int64_t i = 0; i < n * d; i++) {
        uint64_t bits;
        memcpy(&bits, marks + i, sizeof bits);
        n_bad += (bits & exponent) == exponent;
    }
    return n_bad == 0 ? marks : NULL;
}

// Spikes first..first+n-1 with good marks into room of the same size.
static tess_status copy_good(const tess_decode_spikes *spikes, int64_t electrode,
                             const tess_de_ordered *ordered, int64_t first, int64_t n,
                             const tess_de_spike_rules *rules, tess_de_taken *out, double *time,
                             double *marks)
{
    const int64_t d = spikes->n_feature[electrode];
    out->n = 0;
    for (int64_t i = first; i < first + n; i++) {
        const int64_t spike = ordered->index ? ordered->index[i] : i;
        const int64_t bad = bad_feature(spikes, electrode, spike);
        if (bad >= 0 && rules->nan_policy == TESS_DECODE_NAN_ERROR) {
            const double value = mark_value(spikes, electrode, spike * d + bad);
            TESS_FAIL(TESS_E_NUMERIC,
                      "electrode %lld, spike %lld (t = %.9g): feature %lld is %s; pass "
                      "nan_policy=drop to discard such spikes",
                      (long long)electrode, (long long)spike, ordered->time[i], (long long)bad,
                      isnan(value) ? "NaN" : "infinite");
        }
        if (bad >= 0) {
            continue;
        }
        time[out->n] = ordered->time[i];
        for (int64_t f = 0; f < d; f++) {
            marks[out->n * d + f] = mark_value(spikes, electrode, spike * d + f);
        }
        out->n++;
    }
    out->time = time;
    out->marks = marks;
    return TESS_OK;
}

tess_status tess_de_take_spikes(tess_blocks *blocks, const tess_decode_spikes *spikes,
                                int64_t electrode, const tess_de_ordered *ordered, int64_t first,
                                int64_t n, bool with_marks, const tess_de_spike_rules *rules,
                                tess_de_notes *notes, tess_de_taken *out)
{
    *out = (tess_de_taken){.n = n, .time = ordered->time + first};
    if (!with_marks || n == 0) {
        return TESS_OK;
    }
    out->marks = good_marks(spikes, electrode, ordered, first, n);
    if (out->marks) {
        return TESS_OK;
    }
    const int64_t d = spikes->n_feature[electrode];
    double *time = tess_blocks_alloc(blocks, n, sizeof *time, "spike times");
    double *marks = tess_blocks_alloc(blocks, n, (size_t)d * sizeof *marks, "waveform features");
    if (!time || !marks) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(copy_good(spikes, electrode, ordered, first, n, rules, out, time, marks));
    notes->n_bad_mark += n - out->n;
    return TESS_OK;
}

void tess_de_notes_add(const tess_de_notes *more, tess_de_notes *notes)
{
    if (notes->n_unsorted == 0) {
        notes->unsorted_electrode = more->unsorted_electrode;
        notes->unsorted_spike = more->unsorted_spike;
    }
    notes->n_unsorted += more->n_unsorted;
    notes->n_bad_time += more->n_bad_time;
    notes->n_bad_mark += more->n_bad_mark;
}

void tess_de_notes_log(tess_context *ctx, const tess_de_notes *notes, const char *where)
{
    if (notes->n_unsorted > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_UNSORTED,
                      "%s spike times of electrode %lld are not sorted (first at spike %lld)%s; "
                      "sorted them here",
                      where, (long long)notes->unsorted_electrode, (long long)notes->unsorted_spike,
                      notes->n_unsorted > 1 ? ", nor those of other electrodes" : "");
    }
    if (notes->n_bad_time + notes->n_bad_mark > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_DISCARDED,
                      "discarded %lld %s spikes: %lld with a non-finite time, %lld with a "
                      "non-finite feature",
                      (long long)(notes->n_bad_time + notes->n_bad_mark), where,
                      (long long)notes->n_bad_time, (long long)notes->n_bad_mark);
    }
}

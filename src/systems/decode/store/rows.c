// Decoding spikes by time bin. Bins are those of the whole time vector, whatever part is asked for.
#include "base/status.h"
#include "systems/decode/store/inputs.h"

#include <math.h>

// The interior points time[1..n-2] divide the interval; a spike on one of them belongs to its
// right.
static int64_t bin_of(const double *time, int64_t n_time, double t)
{
    return n_time < 3 ? 0 : tess_de_first_after(time + 1, n_time - 2, t);
}

void tess_decode_time_bin(const double *time, int64_t n_time, const double *spike_times,
                          int64_t n_spike, int64_t *row)
{
    for (int64_t i = 0; i < n_spike; i++) {
        const double t = spike_times[i];
        const bool inside = n_time > 0 && t >= time[0] && t <= time[n_time - 1];
        row[i] = inside ? bin_of(time, n_time, t) : -1;
    }
}

// The spikes of rows first..first+n_row-1 among n_in that lie in the window from index begin on.
static void range_of_rows(const tess_decode_observation *o, int64_t first, int64_t n_row,
                          const tess_de_ordered *ordered, int64_t *begin, int64_t *n_in)
{
    const int64_t last_with_spikes = o->n_time > 1 ? o->n_time - 2 : 0;
    const int64_t end_row = first + n_row;
    const int64_t window_end = *begin + *n_in;
    if (n_row == 0 || first > last_with_spikes) {
        *n_in = 0;
        return;
    }
    if (first > 0) {
        *begin = tess_de_first_from(ordered->time, ordered->n, o->time[first]);
    }
    const int64_t end = end_row > last_with_spikes
                            ? window_end
                            : tess_de_first_from(ordered->time, ordered->n, o->time[end_row]);
    *n_in = end > *begin ? end - *begin : 0;
}

typedef struct collecting {
    tess_blocks *blocks;
    const tess_de_row_request *request;
    tess_de_notes notes;
    tess_de_window window;
    const double **time;  // [n_electrode]
    const double **marks; // [n_electrode]
    int64_t *first;       // [n_electrode + 1]
    int64_t n_excluded;
} collecting;

static bool is_excluded(const tess_de_row_request *request, int64_t e)
{
    return request->n_encoding_spike && request->n_encoding_spike[e] == 0;
}

// Leaves out the spikes of rows that are missing.
static tess_status drop_missing(tess_blocks *blocks, const tess_decode_observation *o,
                                int64_t n_feature, tess_de_taken *taken)
{
    double *time = tess_blocks_alloc(blocks, taken->n, sizeof *time, "spike times");
    double *marks =
        tess_blocks_alloc(blocks, taken->n, (size_t)n_feature * sizeof *marks, "waveform features");
    if (!time || !marks) {
        return TESS_E_MEMORY;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < taken->n; i++) {
        if (o->is_missing[bin_of(o->time, o->n_time, taken->time[i])]) {
            continue;
        }
        time[kept] = taken->time[i];
        for (int64_t f = 0; f < n_feature; f++) {
            marks[kept * n_feature + f] = taken->marks[i * n_feature + f];
        }
        kept++;
    }
    *taken = (tess_de_taken){.n = kept, .time = time, .marks = marks};
    return TESS_OK;
}

static tess_status collect_electrode(collecting *job, int64_t e)
{
    const tess_de_row_request *request = job->request;
    const tess_decode_observation *o = request->observation;
    tess_de_ordered ordered;
    int64_t begin = 0;
    int64_t n = 0;
    TESS_TRY(
        tess_de_order_spikes(job->blocks, &o->spikes, e, &request->rules, &job->notes, &ordered));
    tess_de_window_add(&job->window, e, &ordered, &begin, &n);
    range_of_rows(o, request->first, request->n_row, &ordered, &begin, &n);
    if (is_excluded(request, e)) {
        job->n_excluded += n;
        n = 0;
    }
    tess_de_taken taken;
    TESS_TRY(tess_de_take_spikes(job->blocks, &o->spikes, e, &ordered, begin, n,
                                 request->with_marks, &request->rules, &job->notes, &taken));
    if (o->is_missing && taken.n > 0) {
        const int64_t n_feature = request->with_marks ? o->spikes.n_feature[e] : 0;
        TESS_TRY(drop_missing(job->blocks, o, n_feature, &taken));
    }
    job->time[e] = taken.time;
    job->marks[e] = taken.marks;
    job->first[e + 1] = job->first[e] + taken.n;
    return TESS_OK;
}

static tess_status collect_all(collecting *job, tess_de_row_spikes *out)
{
    const tess_de_row_request *request = job->request;
    const tess_decode_observation *o = request->observation;
    const int64_t n_electrode = o->spikes.n_electrode;
    for (int64_t e = 0; e < n_electrode; e++) {
        TESS_TRY(collect_electrode(job, e));
    }
    const int64_t n_total = job->first[n_electrode];
    int32_t *row = tess_blocks_alloc(job->blocks, n_total, sizeof *row, "rows of spikes");
    if (!row) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        int64_t bin = 0; // an electrode's times rise
        for (int64_t i = job->first[e]; i < job->first[e + 1]; i++) {
            const double t = job->time[e][i - job->first[e]];
            bin = o->n_time < 3 ? 0 : tess_de_first_after_near(o->time + 1, o->n_time - 2, t, bin);
            row[i] = (int32_t)(bin - request->first);
        }
    }
    *out = (tess_de_row_spikes){.first = request->first,
                                .n_row = request->n_row,
                                .n_total = n_total,
                                .electrode_first = job->first,
                                .row = row,
                                .time = job->time,
                                .marks = request->with_marks ? job->marks : NULL};
    return TESS_OK;
}

tess_status tess_de_collect_rows(tess_blocks *blocks, const tess_de_row_request *request,
                                 tess_de_row_spikes *out, tess_decode_likelihood_report *report)
{
    const tess_decode_observation *o = request->observation;
    const int64_t n = o->spikes.n_electrode;
    collecting job = {.blocks = blocks, .request = request};
    // Without time there is no window, and no row to collect.
    const double begin_s = o->n_time > 0 ? o->time[0] : (double)INFINITY;
    const double end_s = o->n_time > 0 ? o->time[o->n_time - 1] : -(double)INFINITY;
    job.window = tess_de_window_open(begin_s, end_s);
    job.time = tess_blocks_alloc(blocks, n, sizeof *job.time, "spikes of rows");
    job.marks = tess_blocks_alloc(blocks, n, sizeof *job.marks, "spikes of rows");
    job.first = tess_blocks_alloc(blocks, n + 1, sizeof *job.first, "spikes of rows");
    if (!job.time || !job.marks || !job.first) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(collect_all(&job, out));
    report->n_spike += out->n_total;
    report->n_excluded += job.n_excluded;
    report->n_before = job.window.n_before;
    report->n_after = job.window.n_after;
    return TESS_OK;
}

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

// What is found of an electrode, each by any thread.
typedef struct heard {
    tess_de_ordered ordered;
    tess_de_taken taken;
    int64_t n_excluded;
    tess_de_notes notes; // which were told when the observation was checked
} heard;

typedef struct collecting {
    tess_blocks *blocks;
    const tess_de_row_request *request;
    double begin_s;
    double end_s;
    heard *heard;         // [n_electrode]
    const double **time;  // [n_electrode]
    const double **marks; // [n_electrode]
    int64_t *first;       // [n_electrode + 1]
    int32_t *row;         // [spikes]
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

static tess_status collect_electrode(void *self, int64_t e, int32_t worker)
{
    (void)worker;
    collecting *job = self;
    const tess_de_row_request *request = job->request;
    const tess_decode_observation *o = request->observation;
    heard *own = &job->heard[e];
    TESS_TRY(tess_de_order_spikes(job->blocks, &o->spikes, e, &request->rules, &own->notes,
                                  &own->ordered));
    const tess_de_ordered *ordered = &own->ordered;
    int64_t begin = tess_de_first_from(ordered->time, ordered->n, job->begin_s);
    const int64_t end = tess_de_first_after(ordered->time, ordered->n, job->end_s);
    int64_t n = end > begin ? end - begin : 0;
    range_of_rows(o, request->first, request->n_row, ordered, &begin, &n);
    if (is_excluded(request, e)) {
        own->n_excluded = n;
        n = 0;
    }
    TESS_TRY(tess_de_take_spikes(job->blocks, &o->spikes, e, ordered, begin, n, request->with_marks,
                                 &request->rules, &own->notes, &own->taken));
    const int64_t n_feature = request->with_marks ? o->spikes.n_feature[e] : 0;
    return o->is_missing && own->taken.n > 0 ? drop_missing(job->blocks, o, n_feature, &own->taken)
                                             : TESS_OK;
}

static tess_status find_rows(void *self, int64_t e, int32_t worker)
{
    (void)worker;
    const collecting *job = self;
    const tess_decode_observation *o = job->request->observation;
    int64_t bin = 0; // an electrode's times rise
    for (int64_t i = job->first[e]; i < job->first[e + 1]; i++) {
        const double t = job->time[e][i - job->first[e]];
        bin = o->n_time < 3 ? 0 : tess_de_first_after_near(o->time + 1, o->n_time - 2, t, bin);
        job->row[i] = (int32_t)(bin - job->request->first);
    }
    return TESS_OK;
}

static tess_status collect_all(collecting *job, tess_de_row_spikes *out,
                               tess_decode_likelihood_report *report)
{
    const tess_de_row_request *request = job->request;
    const int64_t n_electrode = request->observation->spikes.n_electrode;
    tess_de_window window = tess_de_window_open(job->begin_s, job->end_s);
    TESS_TRY(tess_parallel_for(request->pool, n_electrode, collect_electrode, job));
    for (int64_t e = 0; e < n_electrode; e++) {
        const heard *own = &job->heard[e];
        int64_t begin, n;
        tess_de_window_add(&window, e, &own->ordered, &begin, &n);
        job->time[e] = own->taken.time;
        job->marks[e] = own->taken.marks;
        job->first[e + 1] = job->first[e] + own->taken.n;
        report->n_excluded += own->n_excluded;
    }
    const int64_t n_total = job->first[n_electrode];
    job->row = tess_blocks_alloc_raw(job->blocks, n_total, sizeof *job->row, "rows of spikes");
    if (!job->row) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_parallel_for(request->pool, n_electrode, find_rows, job));
    *out = (tess_de_row_spikes){.first = request->first,
                                .n_row = request->n_row,
                                .n_total = n_total,
                                .electrode_first = job->first,
                                .row = job->row,
                                .time = job->time,
                                .marks = request->with_marks ? job->marks : NULL};
    report->n_spike += n_total;
    report->n_before = window.n_before;
    report->n_after = window.n_after;
    return TESS_OK;
}

tess_status tess_de_collect_rows(tess_blocks *blocks, const tess_de_row_request *request,
                                 tess_de_row_spikes *out, tess_decode_likelihood_report *report)
{
    const tess_decode_observation *o = request->observation;
    const int64_t n = o->spikes.n_electrode;
    // Without time there is no window, and no row to collect.
    collecting job = {.blocks = blocks,
                      .request = request,
                      .begin_s = o->n_time > 0 ? o->time[0] : (double)INFINITY,
                      .end_s = o->n_time > 0 ? o->time[o->n_time - 1] : -(double)INFINITY};
    job.heard = tess_blocks_alloc(blocks, n, sizeof *job.heard, "spikes of rows");
    job.time = tess_blocks_alloc(blocks, n, sizeof *job.time, "spikes of rows");
    job.marks = tess_blocks_alloc(blocks, n, sizeof *job.marks, "spikes of rows");
    job.first = tess_blocks_alloc(blocks, n + 1, sizeof *job.first, "spikes of rows");
    if (!job.heard || !job.time || !job.marks || !job.first) {
        return TESS_E_MEMORY;
    }
    return collect_all(&job, out, report);
}

// Thresholds from the objective at every candidate.
#include "base/status.h"
#include "systems/autoreject/threshold/search.h"

#include <math.h>

enum { N_INITIAL = 40, N_RANDOM = 20 };

typedef struct choice_job {
    ar_search *search;
    tess_ar_threshold_result *out;
    int64_t *first; // [n_chan] of a channel's candidates
} choice_job;

// The original's random search: its 20 values lie in [least, least + largest].
static double choose_random(const ar_search *search, const double *sorted, const double *by_rank,
                            int64_t *rank)
{
    const int64_t n = search->n_row;
    tess_mt19937 rng;
    tess_mt19937_seed(&rng, search->request->seed);
    double best = sorted[0];
    *rank = -1;
    for (int k = 0; k < N_RANDOM; k++) {
        const double value = tess_mt19937_double(&rng) * sorted[n - 1] + sorted[0];
        int64_t low = 0; // sorted[low] <= value
        int64_t high = n;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (sorted[middle] <= value) {
                low = middle;
            } else {
                high = middle;
            }
        }
        if (*rank < 0 || by_rank[low] < by_rank[*rank]) {
            *rank = low;
            best = value;
        }
    }
    return best;
}

static tess_status choose(const ar_search *search, const double *sorted, const double *by_rank,
                          double *threshold, double *objective)
{
    const int64_t n = search->n_row;
    int64_t rank = 0;
    switch (search->request->search) {
    case TESS_AUTOREJECT_SEARCH_COMPAT:
        TESS_TRY(tess_ar_compat_choice(search->ctx, sorted, by_rank, n, N_INITIAL, &rank));
        break;
    case TESS_AUTOREJECT_SEARCH_GRID:
        rank = tess_ar_grid_choice(by_rank, n, N_INITIAL);
        break;
    case TESS_AUTOREJECT_SEARCH_RANDOM:
        *threshold = choose_random(search, sorted, by_rank, &rank);
        *objective = by_rank[rank];
        return TESS_OK;
    default: // the smallest of all; the smallest threshold among equals
        for (int64_t i = 1; i < n; i++) {
            rank = by_rank[i] < by_rank[rank] ? i : rank;
        }
    }
    *threshold = sorted[rank];
    *objective = by_rank[rank];
    return TESS_OK;
}

static tess_status choice_block(void *arg, int64_t c, int32_t worker)
{
    (void)worker;
    const choice_job *job = arg;
    const ar_search *search = job->search;
    tess_ar_threshold_result *out = job->out;
    const int64_t n = search->n_row;
    const int64_t n_split = search->request->n_split;
    const double *sorted = search->sorted + c * n;
    const double *sums = search->sums + c * n;
    double *candidate = out->candidates + job->first[c];
    double *objective = out->candidate_objectives + job->first[c];
    const size_t bytes = (size_t)n * sizeof(double);
    double *by_rank = tess_heap_alloc(&search->ctx->heap, bytes, TESS_TAG_SCRATCH, "objectives");
    if (!by_rank) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0, k = 0; i < n; i++) {
        by_rank[i] = sums[k] / (double)n_split;
        candidate[k] = sorted[i];
        objective[k] = by_rank[i];
        k += i + 1 < n && sorted[i + 1] != sorted[i];
    }
    const tess_status status =
        choose(search, sorted, by_rank, &out->thresholds[c], &out->objectives[c]);
    tess_heap_free(&search->ctx->heap, by_rank, bytes, TESS_TAG_SCRATCH);
    out->standard_errors[c] =
        tess_ar_standard_error(search, candidate, objective, out->n_candidate[c],
                               search->disturbed + c * AR_N_REPLICATE * search->n_point);
    return status;
}

static void *alloc_result(ar_search *search, int64_t n, size_t item_bytes)
{
    return tess_heap_alloc(&search->ctx->heap, (size_t)n * item_bytes, TESS_TAG_RESULT,
                           "thresholds");
}

// Counts the candidates and takes the memory of the result.
static tess_status shape_result(ar_search *search, int64_t *first, tess_ar_threshold_result *out)
{
    out->n_candidate = alloc_result(search, out->n_chan, sizeof *out->n_candidate);
    if (!out->n_candidate) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < out->n_chan; c++) {
        const double *sorted = search->sorted + c * search->n_row;
        int64_t n = 1;
        for (int64_t i = 1; i < search->n_row; i++) {
            n += sorted[i] != sorted[i - 1];
        }
        first[c] = out->n_all;
        out->n_candidate[c] = n;
        out->n_all += n;
    }
    out->thresholds = alloc_result(search, out->n_chan, sizeof(double));
    out->standard_errors = alloc_result(search, out->n_chan, sizeof(double));
    out->objectives = alloc_result(search, out->n_chan, sizeof(double));
    out->candidates = alloc_result(search, out->n_all, sizeof(double));
    out->candidate_objectives = alloc_result(search, out->n_all, sizeof(double));
    return out->thresholds && out->standard_errors && out->objectives && out->candidates &&
                   out->candidate_objectives
               ? TESS_OK
               : TESS_E_MEMORY;
}

tess_status tess_ar_choose(ar_search *search, tess_ar_threshold_result *out)
{
    tess_heap *heap = &search->ctx->heap;
    choice_job job = {.search = search, .out = out};
    const size_t bytes = (size_t)search->n_chan * sizeof *job.first;
    *out = (tess_ar_threshold_result){.ctx = search->ctx, .n_chan = search->n_chan};
    job.first = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "candidates");
    if (!job.first) {
        return TESS_E_MEMORY;
    }
    tess_status status = shape_result(search, job.first, out);
    if (status == TESS_OK) {
        status = tess_parallel_for(search->ctx->pool, search->n_chan, choice_block, &job);
    }
    tess_heap_free(heap, job.first, bytes, TESS_TAG_SCRATCH);
    if (status != TESS_OK) {
        tess_ar_threshold_result_destroy(out);
    }
    return status;
}

void tess_ar_threshold_result_destroy(tess_ar_threshold_result *result)
{
    if (!result->ctx) {
        return;
    }
    tess_heap *heap = &result->ctx->heap;
    const size_t chan_bytes = (size_t)result->n_chan * sizeof(double);
    const size_t all_bytes = (size_t)result->n_all * sizeof(double);
    tess_heap_free(heap, result->n_candidate, chan_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, result->thresholds, chan_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, result->standard_errors, chan_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, result->objectives, chan_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, result->candidates, all_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, result->candidate_objectives, all_bytes, TESS_TAG_RESULT);
    *result = (tess_ar_threshold_result){0};
}

// From squared errors to the loss at every candidate.
//
// Candidates are the distinct peak-to-peaks of a channel. At one of them a split keeps its training
// rows up to the last of that value; before its first training row is reached it keeps the rows
// that share that row's value.
#include "systems/autoreject/threshold/search.h"

#include <math.h>

typedef struct losses_job {
    ar_search *search;
    int64_t first_chan;
    int64_t first_split;
    int64_t n_split;
} losses_job;

static int64_t trains(const uint64_t *validation, int64_t i)
{
    return (int64_t)(~validation[i / 64] >> (i % 64) & 1);
}

// How many training rows have the value of the first of them.
static int64_t first_group(const double *sorted, const uint64_t *validation, int64_t n_row)
{
    int64_t i = 0;
    while (!trains(validation, i)) {
        i++;
    }
    int64_t n = 0;
    for (const double value = sorted[i]; i < n_row && sorted[i] == value; i++) {
        n += trains(validation, i);
    }
    return n;
}

// The split's loss at every candidate; returns how many there are.
static int64_t split_losses(const ar_search *search, const double *sorted,
                            const uint64_t *validation, const double *sse, double *losses)
{
    const int64_t n_row = search->n_row;
    const int64_t least = first_group(sorted, validation, n_row);
    const double n_time = (double)search->store->n_time;
    int64_t n_kept = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < n_row; i++) {
        n_kept += trains(validation, i);
        if (i + 1 < n_row && sorted[i + 1] == sorted[i]) {
            continue;
        }
        losses[n++] = sqrt(sse[(n_kept > least ? n_kept : least) - 1] / n_time);
    }
    return n;
}

static tess_status losses_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const losses_job *job = arg;
    const ar_search *search = job->search;
    const int64_t c = job->first_chan + block;
    double *sums = search->sums + c * search->n_row;
    const size_t bytes = (size_t)search->n_row * sizeof(double);
    double *losses = tess_heap_alloc(&search->ctx->heap, bytes, TESS_TAG_SCRATCH, "losses");
    if (!losses) {
        return TESS_E_MEMORY;
    }
    for (int64_t s = 0; s < job->n_split; s++) {
        const int64_t bs = block * search->split_group + s;
        const int64_t n = split_losses(search, search->sorted + c * search->n_row,
                                       search->validation + bs * search->n_word,
                                       search->sse + bs * search->n_train, losses);
        for (int64_t i = 0; i < n; i++) {
            sums[i] += losses[i];
        }
        tess_ar_errors_add(search, losses, n, job->first_split + s,
                           search->disturbed + c * AR_N_REPLICATE * search->n_point);
    }
    tess_heap_free(&search->ctx->heap, losses, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

tess_status tess_ar_add_losses(ar_search *search, int64_t first_chan, int64_t n_chan,
                               int64_t first_split, int64_t n_split)
{
    losses_job job = {
        .search = search, .first_chan = first_chan, .first_split = first_split, .n_split = n_split};
    return tess_parallel_for(search->ctx->pool, n_chan, losses_block, &job);
}

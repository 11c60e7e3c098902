#include "systems/autoreject/interpolation/apply.h"

#include "base/span.h"
#include "base/status.h"
#include "runtime/stage.h"
#include "runtime/upload.h"
#include "stage/autoreject_interpolation.h"

#include <string.h>

// Weights and samples of a batch: enough for the threads, little enough to stop soon.
static const int64_t BATCH_WEIGHTS = 1 << 20;
static const int64_t BATCH_SAMPLES = 1 << 25;

// The epochs of a call that have bad channels, as lists.
typedef struct repair_list {
    int64_t *epoch; // [n_repair]
    int64_t *first; // [n_repair + 1]
    int32_t *bad;   // [first[n_repair]] channels of the repairer
    int64_t n_repair;
    int64_t n_bad_most; // of one epoch
} repair_list;

typedef struct repair_run {
    tess_context *ctx;
    tess_ar_repairer *repairer;
    const tess_ar_samples *samples;
    repair_list list;
    // One batch
    int64_t first; // repair
    double *weights;
    unsigned char *scratch; // [worker][scratch_bytes]
    size_t scratch_bytes;
} repair_run;

static bool is_bad(const tess_ar_samples *s, int64_t epoch, int64_t channel)
{
    return s->bad[epoch * s->stride_bad + s->rows[channel]] != 0;
}

static tess_status fill_list(const tess_ar_samples *s, repair_list *list)
{
    int64_t n_bad = 0;
    list->first[0] = 0;
    for (int64_t e = 0; e < s->n_epoch; e++) {
        const int64_t before = n_bad;
        for (int32_t c = 0; c < s->n; c++) {
            if (is_bad(s, e, c)) {
                list->bad[n_bad++] = c;
            }
        }
        const int64_t own = n_bad - before;
        if (own == s->n) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "epoch %lld: all %lld channels are bad, so that there is nothing to predict "
                      "them from; drop it",
                      (long long)(s->first_epoch + e), (long long)s->n);
        }
        if (own > 0) {
            list->epoch[list->n_repair++] = e;
            list->first[list->n_repair] = n_bad;
            list->n_bad_most = own > list->n_bad_most ? own : list->n_bad_most;
        }
    }
    return TESS_OK;
}

// What the repairer must know of beforehand.
static tess_status prepare(const repair_run *run)
{
    const repair_list *list = &run->list;
    tess_heap *heap = &run->ctx->heap;
    const int64_t n_word = tess_ar_set_words(run->samples->n);
    const size_t word_bytes = (size_t)(list->n_repair * n_word) * sizeof(uint64_t);
    const size_t set_bytes = (size_t)list->n_repair * sizeof(tess_ar_bad_set);
    uint64_t *words = tess_heap_alloc_zero(heap, word_bytes, TESS_TAG_SCRATCH, "sets of channels");
    tess_ar_bad_set *sets = tess_heap_alloc(heap, set_bytes, TESS_TAG_SCRATCH, "sets of channels");
    tess_status status = words && sets ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        for (int64_t j = 0; j < list->n_repair; j++) {
            uint64_t *set = words + j * n_word;
            for (int64_t k = list->first[j]; k < list->first[j + 1]; k++) {
                set[list->bad[k] / 64] |= UINT64_C(1) << (list->bad[k] % 64);
            }
            sets[j].words = set;
        }
        status = tess_ar_repairer_prepare(run->repairer, sets, list->n_repair);
    }
    tess_heap_free(heap, sets, set_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(heap, words, word_bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status weights_block(void *arg, int64_t block, int32_t worker)
{
    const repair_run *run = arg;
    const repair_list *list = &run->list;
    const int64_t j = run->first + block;
    const int64_t offset = list->first[j] - list->first[run->first];
    return tess_ar_repairer_weights(run->repairer, list->bad + list->first[j],
                                    list->first[j + 1] - list->first[j],
                                    run->scratch + (size_t)worker * run->scratch_bytes,
                                    run->weights + offset * run->samples->n);
}

// As many repairs as a batch takes, at least one.
static int64_t batch_end(const repair_run *run, int64_t first)
{
    const repair_list *list = &run->list;
    const tess_ar_samples *s = run->samples;
    int64_t end = first + 1;
    while (end < list->n_repair &&
           (list->first[end + 1] - list->first[first]) * s->n <= BATCH_WEIGHTS &&
           (end - first) * s->n <= BATCH_SAMPLES / (s->width > 0 ? s->width : 1)) {
        end++;
    }
    return end;
}

// The lists and weights of a stage where its samples are, and the stage.
static tess_status run_there(const tess_ar_samples *s, tess_stage_autoreject_repair args)
{
    const tess_stage_autoreject_repair host = args;
    const int64_t n_bad = host.first[host.n_repair] - host.first[0];
    tess_resident there = {0};
    tess_upload up = {.into = &there};
    tess_status status = TESS_OK;
    for (int turn = 0; turn < 2 && status == TESS_OK; turn++) { // counts, then sends
        args.rows = tess_upload_add(&up, host.rows, host.n_chan, sizeof *host.rows);
        args.epoch = tess_upload_add(&up, host.epoch, host.n_repair, sizeof *host.epoch);
        args.first = tess_upload_add(&up, host.first, host.n_repair + 1, sizeof *host.first);
        args.bad = tess_upload_add(&up, host.bad, n_bad, sizeof *host.bad);
        args.w = tess_upload_add(&up, host.w, n_bad * host.n_chan, sizeof *host.w);
        status = turn == 0 ? tess_upload_begin(&up, s->device) : tess_upload_end(&up);
    }
    if (status == TESS_OK) {
        status = tess_stage_run(s->device, TESS_STAGE_AUTOREJECT_REPAIR, &args, sizeof args);
    }
    tess_resident_free(&there);
    return status;
}

static tess_status run_batch(repair_run *run, int64_t end)
{
    const repair_list *list = &run->list;
    const tess_ar_samples *s = run->samples;
    TESS_TRY(tess_parallel_for(run->ctx->pool, end - run->first, weights_block, run));
    const tess_stage_autoreject_repair args = {.rows = s->rows,
                                               .epoch = list->epoch + run->first,
                                               .first = list->first + run->first,
                                               .bad = list->bad + list->first[run->first],
                                               .w = run->weights,
                                               .x = s->x,
                                               .n_repair = end - run->first,
                                               .n_chan = s->n,
                                               .width = s->width,
                                               .stride_epoch = s->stride_epoch,
                                               .stride_chan = s->stride_chan,
                                               .n_part = 1};
    return s->device->shares_host_memory
               ? tess_stage_run(s->device, TESS_STAGE_AUTOREJECT_REPAIR, &args, sizeof args)
               : run_there(s, args);
}

static tess_status run_batches(repair_run *run, tess_watch *progress, int64_t done, int64_t total)
{
    const repair_list *list = &run->list;
    while (run->first < list->n_repair) {
        const int64_t end = batch_end(run, run->first);
        TESS_TRY(run_batch(run, end));
        run->first = end;
        if (progress) {
            TESS_TRY(tess_watch_poll(progress, done + list->epoch[end - 1] + 1, total));
        }
    }
    return TESS_OK;
}

// Room for the weights of any batch, and for each worker's work.
static tess_status run_list(repair_run *run, tess_watch *progress, int64_t done, int64_t total)
{
    tess_heap *heap = &run->ctx->heap;
    int64_t most = 0; // bad channels of a batch
    for (int64_t first = 0; first < run->list.n_repair;) {
        const int64_t end = batch_end(run, first);
        const int64_t n_bad = run->list.first[end] - run->list.first[first];
        most = n_bad > most ? n_bad : most;
        first = end;
    }
    run->scratch_bytes = (tess_ar_repairer_scratch(run->repairer, run->list.n_bad_most) + 63) / 64;
    run->scratch_bytes *= 64;
    const size_t weight_bytes = (size_t)(most * run->samples->n) * sizeof(double);
    const size_t scratch_bytes = (size_t)run->ctx->n_thread * run->scratch_bytes;
    run->weights = tess_heap_alloc(heap, weight_bytes, TESS_TAG_SCRATCH, "weights of repairs");
    run->scratch = tess_heap_alloc(heap, scratch_bytes, TESS_TAG_SCRATCH, "systems of repairs");
    tess_status status = run->weights && run->scratch ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = prepare(run);
    }
    if (status == TESS_OK) {
        status = run_batches(run, progress, done, total);
    }
    tess_heap_free(heap, run->weights, weight_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(heap, run->scratch, scratch_bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_ar_repair_samples(tess_context *ctx, tess_ar_repairer *repairer,
                                   const tess_ar_samples *samples, tess_watch *progress,
                                   int64_t done, int64_t total)
{
    repair_run run = {.ctx = ctx, .repairer = repairer, .samples = samples};
    int64_t n_bad = 0;
    for (int64_t e = 0; e < samples->n_epoch; e++) {
        for (int64_t c = 0; c < samples->n; c++) {
            n_bad += is_bad(samples, e, c);
        }
    }
    if (n_bad == 0) {
        return TESS_OK;
    }
    const size_t bytes =
        (size_t)(2 * samples->n_epoch + 1) * sizeof(int64_t) + (size_t)n_bad * sizeof(int32_t);
    int64_t *lists = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "lists of repairs");
    if (!lists) {
        return TESS_E_MEMORY;
    }
    run.list.epoch = lists;
    run.list.first = lists + samples->n_epoch;
    run.list.bad = (int32_t *)(lists + 2 * samples->n_epoch + 1);
    tess_span span = tess_span_begin(&ctx->tracer, "autoreject.repair");
    tess_status status = fill_list(samples, &run.list);
    if (status == TESS_OK) {
        status = run_list(&run, progress, done, total);
    }
    const double items = (double)samples->n * (double)samples->width;
    tess_span_end(&span, (double)run.list.n_repair * items * sizeof(double),
                  2 * (double)n_bad * items);
    tess_heap_free(&ctx->heap, lists, bytes, TESS_TAG_SCRATCH);
    return status;
}

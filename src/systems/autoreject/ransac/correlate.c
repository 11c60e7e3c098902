// One pass over the epochs: how well every channel agrees with its prediction.
#include "base/status.h"
#include "runtime/pipeline.h"
#include "runtime/stage.h"
#include "runtime/upload.h"
#include "runtime/watch.h"
#include "stage/autoreject_ransac.h"
#include "systems/autoreject/ransac/ransac.h"

#include <math.h>
#include <string.h>

enum { N_SLOT = 2 };

// What a core does in a tenth of a second, more or less: a batch of epochs is so much work, so that
// cancelling and progress are prompt.
static const double WORK_PER_CORE = 5e9;
// A median costs about as much as so many operations for each subset.
static const double WORK_OF_MEDIAN = 60;
// The same of a GPU, and what it takes of samples at a time.
static const double WORK_PER_GPU = 1e12;
static const double GPU_BYTES = 32 << 20; // more only waits for pages

// What a device with memory of its own holds.
typedef struct ransac_there {
    tess_resident tables;
    tess_resident samples; // of a batch
    tess_resident correlations;
    tess_resident power;
    const int64_t *channels; // NULL: samples are those of the channels alone
    const int32_t *from;
    const double *w;
    double *packed;
} ransac_there;

typedef struct pass {
    ransac *r;
    tess_autoreject_ransac_result *result;
    tess_watch progress;
    int64_t n_epoch;
    int64_t n_time;
    int64_t batch;  // epochs
    bool is_direct; // samples are taken where they lie
    bool is_there;  // and that is in the memory of the device
    ransac_there there;
    double *row;             // [n_time] of one that is there
    double *samples[N_SLOT]; // [batch][n_chan][n_time]; NULL where they are taken directly
    double *correlations;    // [batch][n_chan]
    double *power;           // [batch][n_chan]
    int64_t *n_bad;          // [n_chan] epochs in which a channel is bad
    // The first sample that is not finite, and how many epochs have one.
    int64_t n_bad_epoch;
    int64_t bad_epoch;
    int64_t bad_chan;
    int64_t bad_sample; // -1: all are finite, the sum of their squares is not
} pass;

static int64_t batch_count(const pass *p, int64_t k)
{
    const int64_t left = p->n_epoch - k * p->batch;
    return left < p->batch ? left : p->batch;
}

// Doubles of an array that the device reaches need no copy.
static bool can_be_direct(const tess_autoreject_epochs *epochs, const tess_device *device)
{
    const tess_array *x = &epochs->array;
    const bool is_reached = (x->space == TESS_SPACE_DEVICE) == !device->shares_host_memory;
    return x->data && is_reached && x->dtype == TESS_F64 && x->stride[2] == 1 &&
           !epochs->calibration;
}

static bool is_apart(const pass *p)
{
    return !p->r->device->shares_host_memory;
}

// Where channel c of an epoch of batch k lies, or has been fetched to; NULL if it cannot be.
static const double *row_of(const pass *p, int64_t k, int64_t e, int64_t c)
{
    const tess_array *x = &p->r->epochs->array;
    if (p->is_there) {
        const tess_ar_reader *reader = &p->r->epochs->reader;
        const tess_status status = reader->read(p->r->ctx, reader->impl, k * p->batch + e, 1,
                                                p->r->channels + c, 1, p->row);
        return status == TESS_OK ? p->row : NULL;
    }
    if (p->is_direct) {
        return (const double *)x->data + (k * p->batch + e) * x->stride[0] +
               p->r->channels[c] * x->stride[1];
    }
    return p->samples[k % N_SLOT] + (e * p->r->n_chan + c) * p->n_time;
}

static tess_status read_batch(void *self, int64_t k, int32_t slot)
{
    pass *p = self;
    if (p->is_direct) {
        return TESS_OK;
    }
    const tess_ar_reader *reader = &p->r->epochs->reader;
    const int64_t count = batch_count(p, k);
    tess_span span = tess_span_begin(&p->r->ctx->tracer, "autoreject.read");
    const tess_status status = reader->read(p->r->ctx, reader->impl, k * p->batch, count,
                                            p->r->channels, p->r->n_chan, p->samples[slot]);
    tess_span_end(&span, (double)(count * p->r->n_chan * p->n_time) * sizeof(double), 0);
    return status;
}

// Notes an epoch's first sample that is not finite, or that its squares are too large.
static void note_nonfinite(pass *p, int64_t k, int64_t e, int64_t c)
{
    if (p->n_bad_epoch++ > 0) {
        return;
    }
    const double *x = row_of(p, k, e, c);
    p->bad_epoch = k * p->batch + e;
    p->bad_chan = c;
    p->bad_sample = -1;
    for (int64_t t = 0; x && t < p->n_time && p->bad_sample < 0; t++) {
        p->bad_sample = isfinite(x[t]) ? -1 : t;
    }
}

// Weights and subsets go up once.
static tess_status open_there(pass *p)
{
    const ransac *r = p->r;
    ransac_there *there = &p->there;
    const int64_t n_subset = r->config.n_resample * r->n_from;
    const size_t rows = (size_t)(p->batch * r->n_chan) * sizeof(double);
    tess_upload up = {.into = &there->tables};
    for (int turn = 0; turn < 2; turn++) { // counts, then sends
        there->from = tess_upload_add(&up, r->subsets, n_subset, sizeof *r->subsets);
        there->w = tess_upload_add(&up, r->mappings, n_subset * r->n_chan, sizeof *r->mappings);
        if (p->is_there) {
            there->channels = tess_upload_add(&up, r->channels, r->n_chan, sizeof *r->channels);
        }
        there->packed = tess_upload_room(&up, n_subset * (r->n_chan + 7), sizeof *there->packed);
        TESS_TRY(turn == 0 ? tess_upload_begin(&up, r->device) : tess_upload_end(&up));
    }
    TESS_TRY(tess_resident_create(r->device, rows, &there->correlations));
    TESS_TRY(tess_resident_create(r->device, rows, &there->power));
    return p->is_there ? TESS_OK
                       : tess_resident_create(r->device, rows * (size_t)p->n_time, &there->samples);
}

static void close_there(ransac_there *there)
{
    tess_resident_free(&there->tables);
    tess_resident_free(&there->samples);
    tess_resident_free(&there->correlations);
    tess_resident_free(&there->power);
}

// The stage on a device with memory of its own; args are those of the host.
static tess_status run_there(pass *p, tess_stage_autoreject_ransac args)
{
    const ransac *r = p->r;
    const ransac_there *there = &p->there;
    const size_t rows = (size_t)(args.n_epoch * args.n_chan) * sizeof(double);
    if (!p->is_there) {
        TESS_TRY(tess_resident_refill(&p->there.samples, args.x, rows * (size_t)args.n_time));
        args.x = there->samples.data;
    }
    args.channels = there->channels;
    args.from = there->from;
    args.w = there->w;
    args.packed = there->packed;
    args.out = there->correlations.data;
    args.power = there->power.data;
    TESS_TRY(tess_stage_start(r->device, TESS_STAGE_AUTOREJECT_RANSAC, &args, sizeof args));
    TESS_TRY(tess_resident_fetch(&there->correlations, p->correlations, rows));
    return tess_resident_fetch(&there->power, p->power, rows);
}

static tess_status run_stage(pass *p, int64_t k)
{
    const ransac *r = p->r;
    const tess_array *x = &r->epochs->array;
    const tess_stage_autoreject_ransac args = {
        .x = p->is_direct ? (const double *)x->data + k * p->batch * x->stride[0]
                          : p->samples[k % N_SLOT],
        .channels = p->is_direct ? r->channels : NULL,
        .from = r->subsets,
        .w = r->mappings,
        .out = p->correlations,
        .power = p->power,
        .n_epoch = batch_count(p, k),
        .n_chan = r->n_chan,
        .n_time = p->n_time,
        .n_resample = r->config.n_resample,
        .n_from = r->n_from,
        .stride_epoch = p->is_direct ? x->stride[0] : r->n_chan * p->n_time,
        .stride_chan = p->is_direct ? x->stride[1] : p->n_time};
    const double items = (double)args.n_epoch * (double)r->n_chan * (double)p->n_time;
    tess_span span = tess_span_begin(&r->ctx->tracer, "autoreject.ransac");
    const tess_status status =
        is_apart(p) ? run_there(p, args)
                    : tess_stage_run(r->device, TESS_STAGE_AUTOREJECT_RANSAC, &args, sizeof args);
    tess_span_end(&span, items * sizeof(double),
                  2 * items * (double)r->n_from * (double)r->config.n_resample);
    return status;
}

// Keeps a batch's correlations and what follows from them.
static void keep(pass *p, int64_t k)
{
    const tess_autoreject_ransac_result *out = p->result;
    const int64_t n_chan = p->r->n_chan;
    const int64_t first = k * p->batch * n_chan;
    const int64_t n = batch_count(p, k) * n_chan;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(p->power[i])) {
            note_nonfinite(p, k, i / n_chan, i % n_chan);
            i += n_chan - 1 - i % n_chan; // on to the next epoch
            continue;
        }
        const bool is_bad = p->correlations[i] < p->r->config.min_corr; // false for NaN
        p->n_bad[i % n_chan] += is_bad;
        if (out->bad_log) {
            out->bad_log[first + i] = is_bad;
        }
    }
    if (out->correlations) {
        memcpy(out->correlations + first, p->correlations, (size_t)n * sizeof(double));
    }
}

static bool row_is_finite(const pass *p, int64_t k, int64_t e, int64_t c)
{
    const double *x = row_of(p, k, e, c);
    for (int64_t t = 0; x && t < p->n_time; t++) {
        if (!isfinite(x[t])) {
            return false;
        }
    }
    return true;
}

static tess_status compute_batch(void *self, int64_t k, int32_t slot)
{
    (void)slot;
    pass *p = self;
    if (p->n_bad_epoch == 0) {
        TESS_TRY(run_stage(p, k));
        keep(p, k);
        return TESS_OK;
    }
    for (int64_t e = 0; e < batch_count(p, k); e++) { // only counted from here on
        int64_t c = 0;
        while (c < p->r->n_chan && row_is_finite(p, k, e, c)) {
            c++;
        }
        p->n_bad_epoch += c < p->r->n_chan;
    }
    return TESS_OK;
}

static tess_status write_nothing(void *self, int64_t k, int32_t slot)
{
    (void)self;
    (void)k;
    (void)slot;
    return TESS_OK;
}

static tess_status poll(void *self, int64_t k)
{
    pass *p = self;
    return tess_watch_poll(&p->progress, k * p->batch, p->n_epoch);
}

static tess_status refuse_nonfinite(const pass *p)
{
    const tess_autoreject_epochs_info *info = &p->r->epochs->info;
    const char *name = info->sensors->channels[p->r->channels[p->bad_chan]].name;
    if (p->bad_sample < 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "epochs: the samples of epoch %lld, channel '%s' are so large that their squares "
                  "overflow; scale them to volts or tesla",
                  (long long)p->bad_epoch, name);
    }
    TESS_FAIL(TESS_E_NUMERIC,
              "epochs: epoch %lld, channel '%s', sample %lld is not finite; %lld of %lld epochs "
              "hold NaN or infinity; drop these epochs, or pick other channels",
              (long long)p->bad_epoch, name, (long long)p->bad_sample, (long long)p->n_bad_epoch,
              (long long)p->n_epoch);
}

static tess_status run(pass *p)
{
    tess_pipeline pipeline = {.self = p,
                              .n_tile = (p->n_epoch + p->batch - 1) / p->batch,
                              .n_slot = N_SLOT,
                              .read = read_batch,
                              .compute = compute_batch,
                              .write = write_nothing,
                              .poll = poll};
    TESS_TRY(tess_pipeline_run(&pipeline));
    if (p->n_bad_epoch > 0) {
        return refuse_nonfinite(p);
    }
    for (int64_t c = 0; p->result->bad && c < p->r->n_chan; c++) {
        p->result->bad[c] = (double)p->n_bad[c] > p->r->config.unbroken_time * (double)p->n_epoch;
    }
    return tess_watch_poll(&p->progress, p->n_epoch, p->n_epoch);
}

// Epochs of a batch: enough work, not too much memory.
static tess_status choose_batch(pass *p)
{
    const ransac *r = p->r;
    const double n_thread = (double)tess_pool_threads(r->ctx->pool);
    const double work = (double)r->n_chan * (double)p->n_time * (double)r->config.n_resample *
                        (2 * (double)r->n_from + WORK_OF_MEDIAN);
    double n = floor((is_apart(p) ? WORK_PER_GPU : WORK_PER_CORE * n_thread) / work);
    if (is_apart(p)) {
        n = fmin(n, floor(GPU_BYTES / ((double)r->n_chan * (double)p->n_time * sizeof(double))));
    }
    if (!p->is_direct) {
        const double bytes = N_SLOT * (double)r->n_chan * (double)p->n_time * sizeof(double);
        const double most = floor((double)r->ctx->memory_limit_bytes / 4 / bytes);
        if (most < 1) {
            TESS_FAIL(TESS_E_LIMIT,
                      "memory limit: %llu bytes; two epochs of %lld channels and %lld samples do "
                      "not fit in a quarter of it",
                      (unsigned long long)r->ctx->memory_limit_bytes, (long long)r->n_chan,
                      (long long)p->n_time);
        }
        n = fmin(n, most);
    }
    p->batch = (int64_t)fmax(1, fmin(n, (double)p->n_epoch));
    return TESS_OK;
}

tess_status tess_ar_ransac_correlate(ransac *r, tess_autoreject_ransac_result *result)
{
    pass p = {.r = r,
              .result = result,
              .n_epoch = r->epochs->info.n_epoch,
              .n_time = r->epochs->info.n_time,
              .is_direct = can_be_direct(r->epochs, r->device)};
    p.is_there = p.is_direct && is_apart(&p);
    TESS_TRY(choose_batch(&p));
    tess_heap *heap = &r->ctx->heap;
    const size_t n_row = (size_t)(p.batch * r->n_chan);
    const size_t slot_items = p.is_direct ? 0 : n_row * (size_t)p.n_time;
    const size_t bytes =
        (N_SLOT * slot_items + 2 * n_row + (size_t)(r->n_chan + p.n_time)) * sizeof(double);
    double *buffer = tess_heap_alloc_zero(heap, bytes, TESS_TAG_TILE, "epochs of RANSAC");
    if (!buffer) {
        return TESS_E_MEMORY;
    }
    p.correlations = buffer;
    p.power = p.correlations + n_row;
    p.n_bad = (int64_t *)(p.power + n_row);
    p.row = (double *)(p.n_bad + r->n_chan);
    p.samples[0] = p.row + p.n_time;
    p.samples[1] = p.samples[0] + slot_items;
    tess_watch_begin(&p.progress, r->ctx, "autoreject.ransac", "epochs", 0,
                     (uint64_t)(p.n_epoch * r->n_chan * p.n_time) * sizeof(double),
                     r->epochs->array.data ? TESS_STRATEGY_LARGE : TESS_STRATEGY_CHUNKED);
    tess_status status = is_apart(&p) ? open_there(&p) : TESS_OK;
    if (status == TESS_OK) {
        status = run(&p);
    }
    close_there(&p.there);
    tess_heap_free(heap, buffer, bytes, TESS_TAG_TILE);
    return status;
}

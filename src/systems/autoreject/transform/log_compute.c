// The reject log of a model on some epochs.
//
// Blocks of epochs go to the device one after another; their peak-to-peaks stay there for the
// votes, and at the end both come back. Those that a fit left with the epochs are not taken again.
#include "base/status.h"
#include "runtime/group.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "stage/autoreject.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/fit/setup.h"
#include "systems/autoreject/local/bins.h"
#include "systems/autoreject/result/model.h"

#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 8 << 20 };

// The channels of all types of a model in other epochs, their peak-to-peaks and votes.
typedef struct votes {
    tess_context *ctx;
    const tess_autoreject_model *model;
    tess_autoreject_epochs *epochs;
    tess_blocks memory;
    int64_t *epochs_of; // [n_chan of the model]
    int64_t *channels;  // [n] types one after another
    double *thresholds; // [n]
    int64_t n;
    double *delta;   // [n_epoch][n]
    int8_t *labels;  // [n_epoch][n]
    int64_t *counts; // [n_type][n_epoch]
} votes;

// The same on the device, and the block of epochs that is worked on.
typedef struct resident_votes {
    tess_device *device;
    tess_resident x; // [block][n][n_time]
    tess_resident thresholds;
    tess_resident delta;
    tess_resident labels;
    tess_resident counts;
} resident_votes;

// Where channel 0 of epoch 0 lies on the device, with all channels after it; NULL: not there, or
// not as the stage wants it.
static const double *place_there(const votes *v, const tess_device *device)
{
    const tess_array *x = &v->epochs->array;
    bool is_one_block = true;
    for (int64_t i = 1; i < v->n; i++) {
        is_one_block = is_one_block && v->channels[i] == v->channels[0] + i;
    }
    if (!x->data || x->space != TESS_SPACE_DEVICE || device->shares_host_memory ||
        x->dtype != TESS_F64 || v->epochs->calibration || !is_one_block) {
        return NULL;
    }
    return (const double *)x->data + v->channels[0] * x->stride[1];
}

static tess_status start_peaks(const votes *v, const resident_votes *at, int64_t first,
                               int64_t count)
{
    const int64_t n_time = v->epochs->info.n_time;
    const double *there = place_there(v, at->device);
    const tess_array *array = &v->epochs->array;
    const tess_stage_autoreject_ptp ptp = {.x = there ? there + first * array->stride[0]
                                                      : at->x.data,
                                           .out = (double *)at->delta.data + first * v->n,
                                           .n_epoch = count,
                                           .n_chan = v->n,
                                           .n_time = n_time,
                                           .stride_epoch = there ? array->stride[0] : v->n * n_time,
                                           .stride_chan = there ? array->stride[1] : n_time,
                                           .dtype = TESS_F64};
    return tess_stage_start(at->device, TESS_STAGE_AUTOREJECT_PTP, &ptp, sizeof ptp);
}

// Votes of epochs first.., whose peak-to-peaks are there.
static tess_status start_votes(const votes *v, const resident_votes *at, int64_t first,
                               int64_t count)
{
    const tess_autoreject_model_info *model = &v->model->info;
    int64_t chan = 0;
    for (int64_t i = 0; i < model->n_type; i++) {
        const tess_stage_autoreject_votes args = {
            .delta = (const double *)at->delta.data + first * v->n + chan,
            .thresholds = (const double *)at->thresholds.data + chan,
            .votes = (int8_t *)at->labels.data + first * v->n + chan,
            .counts = (int64_t *)at->counts.data + i * v->epochs->info.n_epoch + first,
            .n_epoch = count,
            .n_chan = model->types[i].n_chan,
            .stride_epoch = v->n};
        TESS_TRY(tess_stage_start(at->device, TESS_STAGE_AUTOREJECT_VOTES, &args, sizeof args));
        chan += model->types[i].n_chan;
    }
    return TESS_OK;
}

// block: epochs at once, samples has room for.
static tess_status go_over_epochs(votes *v, resident_votes *at, int64_t block, double *samples)
{
    const int64_t n_epoch = v->epochs->info.n_epoch;
    const uint64_t epoch_bytes = (uint64_t)(v->n * v->epochs->info.n_time) * sizeof *samples;
    tess_watch watch;
    tess_watch_begin(&watch, v->ctx, "autoreject.log", "epochs", 0, (uint64_t)n_epoch * epoch_bytes,
                     TESS_STRATEGY_CHUNKED);
    const bool is_there = place_there(v, at->device) != NULL;
    TESS_TRY(tess_resident_from(at->device, samples, (size_t)block * epoch_bytes, &at->x));
    for (int64_t e = 0; e < n_epoch; e += block) {
        const int64_t count = block < n_epoch - e ? block : n_epoch - e;
        if (!is_there) {
            TESS_TRY(
                tess_ar_epochs_read_block(v->ctx, v->epochs, e, count, v->channels, v->n, samples));
            TESS_TRY(tess_resident_refill(&at->x, samples, (size_t)count * epoch_bytes));
        }
        TESS_TRY(start_peaks(v, at, e, count));
        TESS_TRY(start_votes(v, at, e, count));
        TESS_TRY(tess_stage_finish(at->device)); // the samples are read over next
        TESS_TRY(tess_watch_poll(&watch, e + count, n_epoch));
    }
    return tess_resident_fetch(&at->delta, v->delta, at->delta.bytes);
}

// Peak-to-peaks of the samples, a block of epochs after another.
static tess_status take_samples(votes *v, resident_votes *at)
{
    const size_t epoch_bytes = (size_t)(v->n * v->epochs->info.n_time) * sizeof(double);
    int64_t block = (int64_t)(BLOCK_BYTES / epoch_bytes);
    block = block < 1 ? 1 : block;
    const size_t bytes = (size_t)block * epoch_bytes;
    double *samples = tess_heap_alloc(&v->ctx->heap, bytes, TESS_TAG_TILE, "a block of epochs");
    const tess_status status = samples ? go_over_epochs(v, at, block, samples) : TESS_E_MEMORY;
    tess_resident_free(&at->x);
    tess_heap_free(&v->ctx->heap, samples, bytes, TESS_TAG_TILE);
    return status;
}

static tess_status take_peaks(votes *v, resident_votes *at)
{
    TESS_TRY(tess_ar_epochs_check(v->epochs)); // they are still what they were taken of
    tess_ar_epochs_copy_peaks(v->epochs, v->channels, v->n, v->delta);
    TESS_TRY(tess_resident_refill(&at->delta, v->delta, at->delta.bytes));
    return start_votes(v, at, 0, v->epochs->info.n_epoch);
}

static tess_status take_votes(votes *v, resident_votes *at)
{
    const size_t n = (size_t)(v->epochs->info.n_epoch * v->n);
    const int64_t n_count = v->model->info.n_type * v->epochs->info.n_epoch;
    v->delta = tess_blocks_alloc(&v->memory, (int64_t)n, sizeof *v->delta, "peak-to-peaks");
    v->labels = tess_blocks_alloc(&v->memory, (int64_t)n, 1, "votes");
    v->counts = tess_blocks_alloc(&v->memory, n_count, sizeof *v->counts, "votes");
    if (!v->delta || !v->labels || !v->counts) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_resident_from(at->device, v->thresholds, (size_t)v->n * sizeof *v->thresholds,
                                &at->thresholds));
    TESS_TRY(tess_resident_create(at->device, n * sizeof *v->delta, &at->delta));
    TESS_TRY(tess_resident_create(at->device, n, &at->labels));
    TESS_TRY(tess_resident_create(at->device, (size_t)n_count * sizeof *v->counts, &at->counts));
    TESS_TRY(tess_ar_epochs_has_peaks(v->epochs, v->channels, v->n) ? take_peaks(v, at)
                                                                    : take_samples(v, at));
    TESS_TRY(tess_resident_fetch(&at->labels, v->labels, n));
    return tess_resident_fetch(&at->counts, v->counts, at->counts.bytes);
}

static tess_status compute_votes(votes *v)
{
    static const int32_t stages[] = {TESS_STAGE_AUTOREJECT_PTP, TESS_STAGE_AUTOREJECT_VOTES};
    resident_votes at = {0};
    TESS_TRY(tess_group_refuse(v->ctx, "reject log"));
    TESS_TRY(tess_stage_choose(v->ctx, stages, sizeof stages / sizeof *stages, "reject log",
                               &at.device));
    const tess_status status = take_votes(v, &at);
    tess_resident_free(&at.thresholds);
    tess_resident_free(&at.delta);
    tess_resident_free(&at.labels);
    tess_resident_free(&at.counts);
    TESS_TRY(status);
    for (int64_t i = 0; i < v->epochs->info.n_epoch * v->n; i++) {
        if (!isfinite(v->delta[i])) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "epochs: epoch %lld, channel '%s' holds values that are not finite; drop the "
                      "epoch, or fit without the channel",
                      (long long)(i / v->n),
                      v->epochs->sensors.channels[v->channels[i % v->n]].name);
        }
    }
    return TESS_OK;
}

static tess_status find_channels(votes *v)
{
    const tess_autoreject_model_info *info = &v->model->info;
    v->epochs_of = tess_blocks_alloc(&v->memory, info->n_chan, sizeof(int64_t), "channels");
    v->channels = tess_blocks_alloc(&v->memory, info->n_chan, sizeof(int64_t), "channels");
    v->thresholds = tess_blocks_alloc(&v->memory, info->n_chan, sizeof(double), "thresholds");
    if (!v->epochs_of || !v->channels || !v->thresholds) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_ar_model_match(v->model, v->epochs, v->epochs_of));
    for (int64_t i = 0; i < info->n_type; i++) {
        if (info->types[i].consensus_index < 0) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "model: holds thresholds only; run a whole fit, or make a model with "
                      "consensus and n_interpolate");
        }
        for (int64_t c = 0; c < info->types[i].n_chan; c++) {
            v->thresholds[v->n] = info->types[i].thresholds[c];
            v->channels[v->n++] = v->epochs_of[info->types[i].channels[c]];
        }
    }
    return TESS_OK;
}

// The rows of one type: votes, repairs, bad epochs. first is its place among v->channels.
static tess_status label_type(votes *v, const tess_autoreject_type_fit *type, int64_t first,
                              tess_autoreject_log *log, int8_t *labels, uint8_t *bad_epochs)
{
    const int64_t n_epoch = log->info.n_epoch;
    const int64_t n = type->n_chan;
    const int64_t *counts = v->counts + (type - v->model->info.types) * n_epoch;
    double *delta = tess_blocks_alloc(&v->memory, n_epoch * n, sizeof *delta, "votes");
    int8_t *own = tess_blocks_alloc(&v->memory, n_epoch * n, 1, "votes");
    if (!delta || !own) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_epoch; e++) {
        memcpy(delta + e * n, v->delta + e * v->n + first, (size_t)n * sizeof *delta);
        memcpy(own + e * n, v->labels + e * v->n + first, (size_t)n);
    }
    const bool is_predictable = tess_ar_type_is_predictable(type->type);
    const int64_t least = tess_ar_least_sources(v->model->info.rho_mode);
    if (is_predictable || v->model->info.compat_types) {
        tess_ar_select_repairs(own, delta, n_epoch, n, type->n_interpolate);
    }
    int64_t n_few = 0;
    int64_t first_few = -1;
    for (int64_t e = 0; e < n_epoch; e++) {
        const int64_t n_repair = counts[e] < type->n_interpolate ? counts[e] : type->n_interpolate;
        const bool is_bad = tess_ar_epoch_is_bad(counts[e], type->consensus, n);
        const bool has_few = is_predictable && n_repair > 0 && n - n_repair < least;
        if (has_few && !is_bad && n_few++ == 0) {
            first_few = e;
        }
        bad_epochs[e] |= is_bad || has_few;
        for (int64_t c = 0; c < n; c++) {
            labels[e * log->info.n_chan + v->channels[first + c]] = own[e * n + c];
        }
    }
    if (n_few > 0) {
        tess_ar_log_warn(log, TESS_W_AUTOREJECT_FEW_CHANNELS,
                         "Epochs marked bad because fewer than %lld channels of type %s would be "
                         "left to repair the others from: %lld, the first is epoch %lld.",
                         (long long)least, tess_autoreject_type_name(type->type), (long long)n_few,
                         (long long)first_few);
    }
    return TESS_OK;
}

static tess_status compute(votes *v, tess_autoreject_log **out)
{
    const tess_autoreject_model_info *model = &v->model->info;
    const tess_autoreject_epochs_info *info = &v->epochs->info;
    TESS_TRY(find_channels(v));
    TESS_TRY(compute_votes(v));
    int8_t *labels = NULL;
    uint8_t *bad_epochs = NULL;
    const char **names = NULL;
    const int64_t n_chan = v->epochs->sensors.n_chan;
    TESS_TRY(tess_ar_log_new(v->ctx, info->n_epoch, n_chan, out, &labels, &bad_epochs, &names));
    (*out)->input =
        tess_blocks_copy(&(*out)->memory, info->path, (int64_t)strlen(info->path) + 1, 1, "names");
    if (!(*out)->input) {
        return TESS_E_MEMORY;
    }
    memset(labels, -1, (size_t)(info->n_epoch * n_chan));
    for (int64_t c = 0; c < n_chan; c++) {
        const char *name = v->epochs->sensors.channels[c].name;
        names[c] = tess_blocks_copy(&(*out)->memory, name, (int64_t)strlen(name) + 1, 1, "names");
        if (!names[c]) {
            return TESS_E_MEMORY;
        }
    }
    char sentence[TESS_AR_SENTENCE];
    if (tess_ar_model_other_samples(model, info, sentence)) {
        tess_ar_log_warn(*out, TESS_W_AUTOREJECT_SAMPLES, "%s", sentence);
    }
    int64_t first = 0;
    for (int64_t i = 0; i < model->n_type; i++) {
        TESS_TRY(label_type(v, &model->types[i], first, *out, labels, bad_epochs));
        first += model->types[i].n_chan;
    }
    tess_ar_log_judge(*out);
    return TESS_OK;
}

tess_status tess_autoreject_log_compute(tess_context *ctx, const tess_autoreject_model *model,
                                        tess_autoreject_epochs *epochs, tess_autoreject_log **out)
{
    tess_error_clear();
    *out = NULL;
    votes v = {.ctx = ctx, .model = model, .epochs = epochs};
    tess_blocks_init(&v.memory, &ctx->heap);
    tess_autoreject_log *log = NULL;
    const tess_status status = compute(&v, &log);
    tess_blocks_free(&v.memory);
    if (status != TESS_OK) {
        tess_autoreject_log_destroy(log);
        return status;
    }
    *out = log;
    return TESS_OK;
}

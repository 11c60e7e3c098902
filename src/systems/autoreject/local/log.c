// The reject log: made from a model, from a caller's table, saved and loaded.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/watch.h"
#include "stage/autoreject.h"
#include "systems/autoreject/local/bins.h"
#include "systems/autoreject/local/model.h"
#include "systems/autoreject/local/setup.h"
#include "systems/autoreject/run_stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 8 << 20 };

tess_status tess_ar_log_new(tess_context *ctx, int64_t n_epoch, int64_t n_chan,
                            tess_autoreject_log **out, int8_t **labels, uint8_t **bad_epochs,
                            const char ***names)
{
    tess_autoreject_log *log =
        tess_heap_alloc_zero(&ctx->heap, sizeof *log, TESS_TAG_RESULT, "reject log");
    *out = NULL;
    if (!log) {
        return TESS_E_MEMORY;
    }
    log->ctx = ctx;
    tess_blocks_init(&log->memory, &ctx->heap);
    tess_text_init(&log->notes, &ctx->heap);
    *labels = tess_blocks_alloc(&log->memory, n_epoch * n_chan, 1, "reject log");
    *bad_epochs = tess_blocks_alloc(&log->memory, n_epoch, 1, "reject log");
    *names = tess_blocks_alloc(&log->memory, n_chan, sizeof **names, "reject log");
    log->info = (tess_autoreject_log_info){.struct_size = sizeof log->info,
                                           .n_epoch = n_epoch,
                                           .n_chan = n_chan,
                                           .channel_names = *names,
                                           .labels = *labels,
                                           .bad_epochs = *bad_epochs,
                                           .notes = ""};
    if (!*labels || !*bad_epochs || !*names) {
        tess_autoreject_log_destroy(log);
        return TESS_E_MEMORY;
    }
    *out = log;
    return TESS_OK;
}

void tess_autoreject_log_destroy(tess_autoreject_log *log)
{
    if (!log) {
        return;
    }
    tess_blocks_free(&log->memory);
    tess_text_destroy(&log->notes);
    tess_heap_free(&log->ctx->heap, log, sizeof *log, TESS_TAG_RESULT);
}

const tess_autoreject_log_info *tess_autoreject_log_get_info(const tess_autoreject_log *log)
{
    return &log->info;
}

void tess_ar_log_note(tess_autoreject_log *log, const char *format, ...)
{
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    tess_text_add(&log->notes, log->notes.used > 0 ? "\n" : "");
    tess_text_add(&log->notes, sentence);
    log->info.notes = log->notes.chars ? log->notes.chars : "";
}

static tess_status copy_names(tess_autoreject_log *log, const char **names,
                              const char *const *given)
{
    for (int64_t c = 0; c < log->info.n_chan; c++) {
        if (!given[c]) {
            TESS_FAIL(TESS_E_ARGUMENT, "info.channel_names[%lld]: is NULL", (long long)c);
        }
        names[c] = tess_blocks_copy(&log->memory, given[c], (int64_t)strlen(given[c]) + 1, 1,
                                    "channel names");
        if (!names[c]) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

static tess_status check_table(const tess_autoreject_log_info *info)
{
    if (info->n_epoch < 0 || info->n_chan < 1 || !info->channel_names || !info->labels ||
        !info->bad_epochs) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "info: needs channel_names, labels and bad_epochs of at least one channel");
    }
    for (int64_t i = 0; i < info->n_epoch * info->n_chan; i++) {
        if (info->labels[i] < -1 || info->labels[i] > 2) {
            TESS_FAIL(TESS_E_RANGE,
                      "info.labels: epoch %lld, channel %lld is %d; expected 0 good, 1 bad, 2 bad "
                      "and interpolated, -1 not considered",
                      (long long)(i / info->n_chan), (long long)(i % info->n_chan),
                      info->labels[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_autoreject_log_create(tess_context *ctx, const tess_autoreject_log_info *given,
                                       tess_autoreject_log **out)
{
    tess_error_clear();
    *out = NULL;
    tess_autoreject_log_info info = {.struct_size = sizeof info};
    TESS_TRY(tess_struct_read(given, &info, sizeof info, "info"));
    TESS_TRY(check_table(&info));
    tess_autoreject_log *log = NULL;
    int8_t *labels = NULL;
    uint8_t *bad_epochs = NULL;
    const char **names = NULL;
    TESS_TRY(tess_ar_log_new(ctx, info.n_epoch, info.n_chan, &log, &labels, &bad_epochs, &names));
    const tess_status status = copy_names(log, names, info.channel_names);
    if (status != TESS_OK) {
        tess_autoreject_log_destroy(log);
        return status;
    }
    memcpy(labels, info.labels, (size_t)(info.n_epoch * info.n_chan));
    for (int64_t e = 0; e < info.n_epoch; e++) {
        bad_epochs[e] = info.bad_epochs[e] != 0;
    }
    if (info.notes && info.notes[0]) {
        tess_ar_log_note(log, "%s", info.notes);
    }
    *out = log;
    return TESS_OK;
}

// The channels of all types of a model in other epochs, and their peak-to-peaks.
typedef struct votes {
    tess_context *ctx;
    const tess_autoreject_model *model;
    tess_autoreject_epochs *epochs;
    tess_blocks memory;
    int64_t *epochs_of; // [n_chan of the model]
    int64_t *channels;  // [n] types one after another
    int64_t n;
    double *delta; // [n_epoch][n]
} votes;

static tess_status block_delta(votes *v, int64_t first, int64_t count, double *samples)
{
    const int64_t n_time = v->epochs->info.n_time;
    const tess_ar_reader *reader = &v->epochs->reader;
    double *delta = v->delta + first * v->n;
    TESS_TRY(reader->read(v->ctx, reader->impl, first, count, v->channels, v->n, samples));
    const tess_stage_autoreject_ptp args = {.x = samples,
                                            .out = delta,
                                            .n_epoch = count,
                                            .n_chan = v->n,
                                            .n_time = n_time,
                                            .stride_epoch = v->n * n_time,
                                            .stride_chan = n_time,
                                            .dtype = TESS_F64};
    TESS_TRY(tess_ar_run_stage(v->ctx, TESS_STAGE_AUTOREJECT_PTP, &args, sizeof args));
    for (int64_t i = 0; i < count * v->n; i++) {
        if (!isfinite(delta[i])) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "epochs: epoch %lld, channel '%s' holds values that are not finite; drop the "
                      "epoch, or fit without the channel",
                      (long long)(first + i / v->n),
                      v->epochs->sensors.channels[v->channels[i % v->n]].name);
        }
    }
    return TESS_OK;
}

static tess_status read_delta(votes *v)
{
    const tess_autoreject_epochs_info *info = &v->epochs->info;
    const size_t epoch_bytes = (size_t)(v->n * info->n_time) * sizeof(double);
    int64_t block = (int64_t)(BLOCK_BYTES / epoch_bytes);
    block = block < 1 ? 1 : block;
    const size_t bytes = (size_t)block * epoch_bytes;
    v->delta =
        tess_blocks_alloc(&v->memory, info->n_epoch * v->n, sizeof *v->delta, "peak-to-peaks");
    double *samples = tess_heap_alloc(&v->ctx->heap, bytes, TESS_TAG_TILE, "a block of epochs");
    tess_status status = v->delta && samples ? TESS_OK : TESS_E_MEMORY;
    tess_watch progress;
    tess_watch_begin(&progress, v->ctx, "autoreject.log", "epochs", 0,
                     (uint64_t)info->n_epoch * epoch_bytes, TESS_STRATEGY_CHUNKED);
    for (int64_t e = 0; status == TESS_OK && e < info->n_epoch; e += block) {
        const int64_t count = block < info->n_epoch - e ? block : info->n_epoch - e;
        status = block_delta(v, e, count, samples);
        if (status == TESS_OK) {
            status = tess_watch_poll(&progress, e + count, info->n_epoch);
        }
    }
    tess_heap_free(&v->ctx->heap, samples, bytes, TESS_TAG_TILE);
    return status;
}

static tess_status find_channels(votes *v)
{
    const tess_autoreject_model_info *info = &v->model->info;
    v->epochs_of = tess_blocks_alloc(&v->memory, info->n_chan, sizeof(int64_t), "channels");
    v->channels = tess_blocks_alloc(&v->memory, info->n_chan, sizeof(int64_t), "channels");
    if (!v->epochs_of || !v->channels) {
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
    double *delta = tess_blocks_alloc(&v->memory, n_epoch * n, sizeof *delta, "votes");
    int8_t *own = tess_blocks_alloc(&v->memory, n_epoch * n, 1, "votes");
    int64_t *counts = tess_blocks_alloc(&v->memory, n_epoch, sizeof *counts, "votes");
    if (!delta || !own || !counts) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_epoch; e++) {
        memcpy(delta + e * n, v->delta + e * v->n + first, (size_t)n * sizeof *delta);
    }
    tess_ar_votes(delta, type->thresholds, n_epoch, n, own, counts);
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
        tess_ar_log_note(log,
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
    TESS_TRY(read_delta(v));
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
    if (model->n_time > 0 &&
        (model->n_time != info->n_time || model->sampling_hz != info->sampling_hz)) {
        tess_ar_log_note(*out,
                         "The model was fitted to epochs of %lld samples at %g Hz; these have %lld "
                         "at %g Hz.",
                         (long long)model->n_time, model->sampling_hz, (long long)info->n_time,
                         info->sampling_hz);
    }
    int64_t first = 0;
    for (int64_t i = 0; i < model->n_type; i++) {
        TESS_TRY(label_type(v, &model->types[i], first, *out, labels, bad_epochs));
        first += model->types[i].n_chan;
    }
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

// The reject log, empty or from a caller's table.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/autoreject/result/model.h"
#include "systems/autoreject/text/shown_name.h"

#include <stdio.h>
#include <string.h>

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

void tess_ar_log_warn(tess_autoreject_log *log, tess_warning warning, const char *format, ...)
{
    int64_t n_warning = 0;
    char sentence[960]; // the id finds room behind it
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    tess_ar_log_note(log, "%s [%s]", sentence, tess_warnings(&n_warning)[warning].id);
}

static int64_t count_bad(const tess_autoreject_log_info *info, int64_t channel)
{
    int64_t n = 0;
    for (int64_t e = 0; e < info->n_epoch; e++) {
        n += info->labels[e * info->n_chan + channel] > 0;
    }
    return n;
}

void tess_ar_log_judge(tess_autoreject_log *log)
{
    enum { LISTED = 12 };
    const tess_autoreject_log_info *info = &log->info;
    char names[LISTED * TESS_AR_NAME + 40] = "";
    size_t used = 0;
    int64_t n = 0;
    if (strstr(info->notes, "[autoreject.bad-in-most-epochs]")) {
        return; // a log made from another one's
    }
    for (int64_t c = 0; c < info->n_chan; c++) {
        if (2 * count_bad(info, c) > info->n_epoch && n++ < LISTED) {
            char shown[TESS_AR_NAME];
            tess_ar_shown_name(info->channel_names[c], shown);
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", n > 1 ? ", " : "",
                                     shown);
        }
    }
    if (n > 0) {
        tess_ar_log_warn(log, TESS_W_AUTOREJECT_BAD_CHANNEL,
                         "Bad in more than half of the epochs: %s%s. Mark such channels bad before "
                         "the fit (--bads, info[\"bads\"]).",
                         names, n > LISTED ? ", ..." : "");
    }
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
    tess_ar_log_judge(log);
    *out = log;
    return TESS_OK;
}

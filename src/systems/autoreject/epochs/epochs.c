// The memory of epochs, what is known of them, and the one way to their samples.
#include "systems/autoreject/epochs/epochs.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
#define TYPE_NAME(enumerator, value, name) [value] = name,
    TESS_AUTOREJECT_TYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
};

enum { N_TYPE = sizeof type_names / sizeof *type_names };

const char *tess_autoreject_type_name(int32_t type)
{
    return type >= 0 && type < N_TYPE ? type_names[type] : "unknown";
}

int32_t tess_autoreject_type_find(const char *name)
{
    for (int32_t type = 0; name && type < N_TYPE; type++) {
        if (strcmp(name, type_names[type]) == 0) {
            return type;
        }
    }
    return -1;
}

void tess_autoreject_sensors_init(tess_autoreject_sensors *sensors, size_t struct_size)
{
    tess_autoreject_sensors defaults = {0};
    for (int i = 0; i < 4; i++) {
        defaults.device_to_head[5 * i] = 1;
    }
    tess_struct_init(sensors, struct_size, &defaults, sizeof defaults);
}

void tess_autoreject_write_config_init(tess_autoreject_write_config *config, size_t struct_size)
{
    const tess_autoreject_write_config defaults = {0};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void *tess_ar_epochs_alloc(tess_autoreject_epochs *epochs, size_t bytes)
{
    return tess_ar_epochs_items(epochs, 1, bytes);
}

void *tess_ar_epochs_items(tess_autoreject_epochs *epochs, int64_t n, size_t item_bytes)
{
    return tess_blocks_alloc(&epochs->blocks, n, item_bytes, "epochs");
}

char *tess_ar_epochs_text(tess_autoreject_epochs *epochs, const char *text)
{
    return tess_blocks_copy(&epochs->blocks, text, (int64_t)strlen(text) + 1, 1, "epochs");
}

// Adds a line to lines. One that finds no memory is lost: what it would explain is not worth
// failing for.
static void add_line(tess_autoreject_epochs *epochs, const char **lines, const char *line)
{
    const size_t n_before = *lines ? strlen(*lines) : 0;
    char *longer = tess_ar_epochs_alloc(epochs, n_before + strlen(line) + 2);
    if (!longer) {
        tess_error_clear();
        return;
    }
    if (n_before > 0) {
        memcpy(longer, *lines, n_before);
        longer[n_before] = '\n';
    }
    strcpy(longer + n_before + (n_before > 0), line);
    *lines = longer;
}

// id: of a warning, NULL: none. is_told: to those as well who read no notes.
static void add_words(tess_autoreject_epochs *epochs, bool is_told, const char *id,
                      const char *format, va_list args)
{
    enum { ID_ROOM = 64 }; // however long the words are
    char line[1024];
    vsnprintf(line, sizeof line - (id ? ID_ROOM : 0), format, args);
    if (id) {
        const size_t n = strlen(line);
        snprintf(line + n, sizeof line - n, " [%s]", id);
    }
    add_line(epochs, &epochs->info.notes, line);
    if (is_told) {
        add_line(epochs, &epochs->told, line);
    }
}

void tess_ar_epochs_note(tess_autoreject_epochs *epochs, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_words(epochs, false, NULL, format, args);
    va_end(args);
}

void tess_ar_epochs_tell(tess_autoreject_epochs *epochs, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_words(epochs, true, NULL, format, args);
    va_end(args);
}

void tess_ar_epochs_warn(tess_autoreject_epochs *epochs, tess_warning warning, const char *format,
                         ...)
{
    int64_t n_warning = 0;
    va_list args;
    va_start(args, format);
    const bool is_told = warning == TESS_W_AUTOREJECT_TABLE || warning == TESS_W_AUTOREJECT_SCALE;
    add_words(epochs, is_told, tess_warnings(&n_warning)[warning].id, format, args);
    va_end(args);
}

tess_status tess_ar_epochs_create(tess_context *ctx, tess_autoreject_epochs **out)
{
    *out = NULL;
    tess_autoreject_epochs *epochs =
        tess_heap_alloc_zero(&ctx->heap, sizeof *epochs, TESS_TAG_RESULT, "epochs");
    if (!epochs) {
        return TESS_E_MEMORY;
    }
    epochs->ctx = ctx;
    tess_blocks_init(&epochs->blocks, &ctx->heap);
    tess_autoreject_sensors_init(&epochs->sensors, sizeof epochs->sensors);
    epochs->info = (tess_autoreject_epochs_info){.struct_size = sizeof epochs->info,
                                                 .sensors = &epochs->sensors,
                                                 .path = "",
                                                 .format = "array",
                                                 .notes = "",
                                                 .stored_dtype = (int32_t)TESS_F64};
    *out = epochs;
    return TESS_OK;
}

void tess_autoreject_epochs_close(tess_autoreject_epochs *epochs)
{
    if (!epochs) {
        return;
    }
    tess_heap *heap = &epochs->ctx->heap;
    if (epochs->reader.close) {
        epochs->reader.close(epochs->ctx, epochs->reader.impl);
    }
    tess_ar_epochs_close_inputs(epochs);
    tess_blocks_free(&epochs->blocks);
    tess_heap_free(heap, epochs, sizeof *epochs, TESS_TAG_RESULT);
}

const tess_autoreject_epochs_info *
tess_autoreject_epochs_get_info(const tess_autoreject_epochs *epochs)
{
    return &epochs->info;
}

// Every epoch an event of its own, "1", as for epochs that come without events.
tess_status tess_ar_epochs_plain_events(tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    const int64_t n = info->n_epoch;
    if (n > INT32_MAX) {
        TESS_FAIL(TESS_E_SHAPE, "%lld epochs are more than can be numbered; at most 2147483647",
                  (long long)n);
    }
    int32_t *events = tess_ar_epochs_items(epochs, n, 3 * sizeof *events);
    int64_t *selection = tess_ar_epochs_items(epochs, n, sizeof *selection);
    const char **drop_log = tess_ar_epochs_items(epochs, n, sizeof *drop_log);
    const char **names = tess_ar_epochs_items(epochs, 1, sizeof *names);
    int32_t *codes = tess_ar_epochs_items(epochs, 1, sizeof *codes);
    if (!events || !selection || !drop_log || !names || !codes) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n; e++) {
        events[3 * e] = (int32_t)e;
        events[3 * e + 2] = 1;
        selection[e] = e;
        drop_log[e] = "";
    }
    names[0] = "1";
    codes[0] = 1;
    info->events = events;
    info->selection = selection;
    info->n_original = n;
    info->drop_log = drop_log;
    info->n_event_name = 1;
    info->event_names = names;
    info->event_codes = codes;
    return TESS_OK;
}

static tess_status check_read(const tess_autoreject_epochs *epochs, int64_t first, int64_t count,
                              const int64_t *channels, int64_t n_channel)
{
    const tess_autoreject_epochs_info *info = &epochs->info;
    if (first < 0 || count < 0 || first > info->n_epoch || count > info->n_epoch - first) {
        TESS_FAIL(TESS_E_RANGE, "epochs %lld to %lld: there are %lld, counted from 0",
                  (long long)first, (long long)first + count - 1, (long long)info->n_epoch);
    }
    for (int64_t i = 0; channels && i < n_channel; i++) {
        if (channels[i] < 0 || channels[i] >= epochs->sensors.n_chan) {
            TESS_FAIL(TESS_E_RANGE, "channels[%lld]: %lld is not a channel; there are %lld",
                      (long long)i, (long long)channels[i], (long long)epochs->sensors.n_chan);
        }
    }
    return TESS_OK;
}

tess_status tess_autoreject_epochs_read(tess_context *ctx, tess_autoreject_epochs *epochs,
                                        int64_t first, int64_t count, const int64_t *channels,
                                        int64_t n_channel, double *dst)
{
    tess_error_clear();
    TESS_TRY(check_read(epochs, first, count, channels, n_channel));
    if (channels) {
        return count > 0 && n_channel > 0 ? epochs->reader.read(ctx, epochs->reader.impl, first,
                                                                count, channels, n_channel, dst)
                                          : TESS_OK;
    }
    const int64_t n_chan = epochs->sensors.n_chan;
    const size_t bytes = (size_t)n_chan * sizeof(int64_t);
    int64_t *all = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "channel numbers");
    if (!all) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n_chan; c++) {
        all[c] = c;
    }
    tess_status status = TESS_OK;
    if (count > 0) {
        status = epochs->reader.read(ctx, epochs->reader.impl, first, count, all, n_chan, dst);
    }
    tess_heap_free(&ctx->heap, all, bytes, TESS_TAG_SCRATCH);
    return status;
}

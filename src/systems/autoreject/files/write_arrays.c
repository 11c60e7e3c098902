// Epochs as named arrays: what numpy_info.c reads again.
#include "base/status.h"
#include "runtime/bundle.h"
#include "systems/autoreject/files/recording.h"

#include <string.h>

enum { MAX_ARRAY = 16 };

typedef struct arrays {
    tess_context *ctx;
    tess_format_writer_input inputs[MAX_ARRAY];
    int64_t n;
    struct {
        void *data;
        size_t bytes;
    } owned[MAX_ARRAY];
    int64_t n_owned;
    bool no_memory;
} arrays;

// Room for an array that is freed with the list; NULL is remembered.
static void *take(arrays *a, int64_t n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    void *data = tess_heap_alloc_zero(&a->ctx->heap, bytes, TESS_TAG_IO, "arrays to write");
    a->no_memory = a->no_memory || !data;
    if (data) {
        a->owned[a->n_owned].data = data;
        a->owned[a->n_owned++].bytes = bytes;
    }
    return data;
}

static void add(arrays *a, const char *name, tess_dtype dtype, int32_t rank, const int64_t *shape,
                const void *data)
{
    tess_bundle_input(&a->inputs[a->n++], name, dtype, rank, shape, data);
}

static const char *channel_name(const void *epochs, int64_t i)
{
    return ((const tess_autoreject_epochs *)epochs)->sensors.channels[i].name;
}

static const char *channel_type(const void *epochs, int64_t i)
{
    return tess_autoreject_type_name(
        ((const tess_autoreject_epochs *)epochs)->sensors.channels[i].type);
}

static const char *event_name(const void *epochs, int64_t i)
{
    return ((const tess_autoreject_epochs *)epochs)->info.event_names[i];
}

// Texts of one width, padded with zeros.
static void add_texts(arrays *a, const char *name, const char *(*text)(const void *, int64_t),
                      const void *user, int64_t n)
{
    size_t width = 1;
    for (int64_t i = 0; i < n; i++) {
        const size_t length = strlen(text(user, i));
        width = length > width ? length : width;
    }
    char *texts = n > 0 ? take(a, n, width) : NULL;
    if (!texts) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *from = text(user, i);
        memcpy(texts + (size_t)i * width, from, strlen(from));
    }
    tess_format_writer_input *input = &a->inputs[a->n];
    add(a, name, TESS_BYTES, 1, &n, texts);
    input->item_bytes = (int64_t)width;
    input->data_bytes = (uint64_t)n * width;
}

static void add_sensors(arrays *a, const tess_autoreject_epochs *epochs)
{
    const tess_autoreject_sensors *sensors = &epochs->sensors;
    static const int64_t matrix[2] = {4, 4};
    const int64_t places[2] = {sensors->n_chan, 12};
    double *loc = take(a, 12 * sensors->n_chan, sizeof *loc);
    int32_t *coils = take(a, sensors->n_chan, sizeof *coils);
    uint8_t *bads = take(a, sensors->n_chan, 1);
    add_texts(a, "ch_names", channel_name, epochs, sensors->n_chan);
    add_texts(a, "ch_types", channel_type, epochs, sensors->n_chan);
    if (!loc || !coils || !bads) {
        return;
    }
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        memcpy(loc + 12 * c, sensors->channels[c].loc, sizeof sensors->channels[c].loc);
        coils[c] = sensors->channels[c].coil_type;
        bads[c] = sensors->channels[c].is_bad != 0;
    }
    add(a, "loc", TESS_F64, 2, places, loc);
    add(a, "coil_type", TESS_I32, 1, &sensors->n_chan, coils);
    add(a, "bads", TESS_U8, 1, &sensors->n_chan, bads);
    if (sensors->has_device_to_head) {
        add(a, "dev_head_t", TESS_F64, 2, matrix, sensors->device_to_head);
    }
}

static void add_events(arrays *a, const tess_autoreject_epochs *epochs,
                       const tess_autoreject_write_config *config, int64_t n_kept)
{
    const tess_autoreject_epochs_info *info = &epochs->info;
    const int64_t shape[2] = {n_kept, 3};
    int32_t *events = take(a, 3 * n_kept, sizeof *events);
    int64_t *selection = take(a, n_kept, sizeof *selection);
    if (!events || !selection) {
        return;
    }
    int64_t n = 0;
    for (int64_t e = 0; e < info->n_epoch; e++) {
        if (!config->drop || !config->drop[e]) {
            memcpy(events + 3 * n, info->events + 3 * e, 3 * sizeof *events);
            selection[n++] = info->selection[e];
        }
    }
    add(a, "events", TESS_I32, 2, shape, events);
    add(a, "selection", TESS_I64, 1, &n_kept, selection);
    if (info->n_event_name > 0) {
        add_texts(a, "event_names", event_name, epochs, info->n_event_name);
        add(a, "event_codes", TESS_I32, 1, &info->n_event_name, info->event_codes);
    }
}

tess_status tess_ar_write_npz(tess_context *ctx, const tess_autoreject_epochs *epochs,
                              const char *path, const tess_autoreject_write_config *config,
                              const tess_array *samples, const tess_spool *spool)
{
    arrays a = {.ctx = ctx};
    add(&a, "data", (tess_dtype)samples->dtype, 3, samples->shape, NULL);
    tess_spool_input(spool, &a.inputs[0]);
    a.inputs[0].provenance = config->provenance;
    add(&a, "sfreq", TESS_F64, 0, NULL, &epochs->info.sampling_hz);
    add(&a, "tmin", TESS_F64, 0, NULL, &epochs->info.tmin);
    add_sensors(&a, epochs);
    add_events(&a, epochs, config, samples->shape[0]);
    tess_status status = a.no_memory ? TESS_E_MEMORY : TESS_OK;
    if (status == TESS_OK) {
        status = tess_bundle_write(ctx, path, a.inputs, a.n, config->overwrite);
    }
    for (int64_t i = 0; i < a.n_owned; i++) {
        tess_heap_free(&ctx->heap, a.owned[i].data, a.owned[i].bytes, TESS_TAG_IO);
    }
    return status;
}

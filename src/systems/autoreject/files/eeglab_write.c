// Epochs written as an EEGLAB data set: a MAT file of version 5 with struct EEG, its samples in
// microvolts as the last field, so that what stands before them is small. MATLAB takes variables
// below 2 GiB only: samples of more go into a .fdt beside the set.
#include "systems/autoreject/files/eeglab_write.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/watch.h"
#include "systems/autoreject/epochs/channels.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 128,
    TAG_BYTES = 8,
    CHUNK_BYTES = 8 << 20,
    NAME_BYTES = 32,
    PATH_BYTES = 1024,
    MI_INT8 = 1,
    MI_INT32 = 5,
    MI_UINT32 = 6,
    MI_SINGLE = 7,
    MI_DOUBLE = 9,
    MI_MATRIX = 14,
    MI_UTF8 = 16,
    CLASS_STRUCT = 2,
    CLASS_CHAR = 4,
    CLASS_DOUBLE = 6,
    CLASS_SINGLE = 7,
};

static const double MICROVOLTS = 1e6;
static const double MILLIMETRES = 1e3;

static const uint64_t MAX_VARIABLE = UINT64_C(0x7fff0000);

typedef struct writer {
    tess_context *ctx;
    tess_autoreject_epochs *epochs;
    const tess_autoreject_write_config *config;
    const char *path;
    char fdt[PATH_BYTES]; // ""; the samples are inside
    int64_t n_kept;
    tess_text bytes; // of the set before the samples
    size_t item_bytes;
    double *samples; // [at_once][n_chan][n_time]
    uint8_t *row;    // one epoch as it is stored
    int64_t at_once;
} writer;

static void put(writer *w, const void *data, size_t n)
{
    tess_text_append(&w->bytes, data, n);
}

static void put_element(writer *w, uint32_t type, const void *data, size_t n)
{
    static const uint8_t zeros[TAG_BYTES];
    const uint32_t tag[2] = {type, (uint32_t)n};
    put(w, tag, sizeof tag);
    put(w, data, n);
    put(w, zeros, (TAG_BYTES - n % TAG_BYTES) % TAG_BYTES);
}

static size_t open_array(writer *w, uint32_t class, int rank, const int32_t *shape,
                         const char *name)
{
    const size_t at = w->bytes.used;
    const uint32_t tag[2] = {MI_MATRIX, 0};
    const uint32_t flags[2] = {class, 0};
    put(w, tag, sizeof tag);
    put_element(w, MI_UINT32, flags, sizeof flags);
    put_element(w, MI_INT32, shape, (size_t)rank * sizeof *shape);
    put_element(w, MI_INT8, name, strlen(name));
    return at;
}

// more: bytes that come behind what is written yet.
static void close_array(writer *w, size_t at, uint64_t more)
{
    const uint32_t n = (uint32_t)(w->bytes.used - at - TAG_BYTES + more);
    if (!w->bytes.no_memory) {
        memcpy(w->bytes.chars + at + 4, &n, sizeof n);
    }
}

static void put_real(writer *w, double value)
{
    static const int32_t shape[2] = {1, 1};
    const size_t at = open_array(w, CLASS_DOUBLE, 2, shape, "");
    put_element(w, MI_DOUBLE, &value, sizeof value);
    close_array(w, at, 0);
}

static void put_empty(writer *w)
{
    static const int32_t shape[2] = {0, 0};
    const size_t at = open_array(w, CLASS_DOUBLE, 2, shape, "");
    put_element(w, MI_DOUBLE, "", 0);
    close_array(w, at, 0);
}

// UTF-8, which MATLAB and SciPy read; MATLAB's own 16-bit characters SciPy, and MNE with it, read
// as bytes. The shape counts characters; those that are two in MATLAB become '?'.
static void put_chars(writer *w, const char *text)
{
    tess_text chars;
    tess_text_init(&chars, &w->ctx->heap);
    int32_t shape[2] = {1, 0};
    for (const char *c = text; *c; shape[1]++) {
        const uint8_t head = (uint8_t)*c;
        const size_t n = head >= 0xf0 ? 4 : head >= 0xe0 ? 3 : head >= 0xc0 ? 2 : 1;
        const size_t there = strnlen(c, n);
        tess_text_append(&chars, n < 4 ? c : "?", n < 4 ? there : 1);
        c += there;
    }
    const size_t at = open_array(w, CLASS_CHAR, 2, shape, "");
    put_element(w, MI_UTF8, chars.used > 0 ? chars.chars : "", chars.used);
    close_array(w, at, 0);
    w->bytes.no_memory = w->bytes.no_memory || chars.no_memory;
    tess_text_destroy(&chars);
}

// A struct array's header; its items' fields follow.
static size_t open_struct(writer *w, int64_t n_item, const char *const *names, int n_name,
                          const char *name)
{
    const int32_t shape[2] = {1, (int32_t)n_item};
    const uint32_t width[2] = {MI_INT32 | 4u << 16, NAME_BYTES};
    const uint32_t tag[2] = {MI_INT8, (uint32_t)(n_name * NAME_BYTES)};
    const size_t at = open_array(w, CLASS_STRUCT, 2, shape, name);
    put(w, width, sizeof width); // a short element, as MATLAB writes it
    put(w, tag, sizeof tag);
    for (int i = 0; i < n_name; i++) {
        char padded[NAME_BYTES] = {0};
        snprintf(padded, sizeof padded, "%s", names[i]);
        put(w, padded, sizeof padded);
    }
    return at;
}

// EEGLAB's axes: X to the nose, Y to the left ear.
static void put_channels(writer *w)
{
    static const char *const names[] = {"labels", "type", "X", "Y", "Z", "ref", "urchan"};
    const tess_autoreject_sensors *sensors = &w->epochs->sensors;
    const size_t at = open_struct(w, sensors->n_chan, names, 7, "");
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        const tess_autoreject_channel *channel = &sensors->channels[c];
        const double *p = channel->loc;
        const double xyz[3] = {p[1], -p[0], p[2]};
        char type[32];
        snprintf(type, sizeof type, "%s", tess_autoreject_type_name(channel->type));
        for (char *t = type; *t; t++) {
            *t = (char)toupper((unsigned char)*t);
        }
        put_chars(w, channel->name);
        put_chars(w, type);
        for (int i = 0; i < 3; i++) {
            if (tess_ar_channel_has_position(channel)) {
                put_real(w, xyz[i] * MILLIMETRES);
            } else {
                put_empty(w);
            }
        }
        put_chars(w, "");
        put_real(w, (double)(c + 1));
    }
    close_array(w, at, 0);
}

static const char *event_name(const writer *w, int64_t epoch, char number[16])
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const int32_t code = info->events[3 * epoch + 2];
    for (int64_t i = 0; i < info->n_event_name; i++) {
        if (info->event_codes[i] == code) {
            return info->event_names[i];
        }
    }
    snprintf(number, 16, "%d", (int)code);
    return number;
}

static bool is_kept(const writer *w, int64_t epoch)
{
    return !w->config->drop || !w->config->drop[epoch];
}

// The event of an epoch is at time 0; where it was in the recording stands in urevent.
static void put_events(writer *w)
{
    static const char *const names[] = {"type", "latency", "duration", "epoch", "urevent"};
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const size_t at = open_struct(w, w->n_kept, names, 5, "");
    int64_t k = 0;
    for (int64_t e = 0; e < info->n_epoch; e++) {
        char number[16];
        if (is_kept(w, e)) {
            put_chars(w, event_name(w, e, number));
            put_real(w, (double)(k * info->n_time + 1) - rint(info->tmin * info->sampling_hz));
            put_real(w, 0);
            put_real(w, (double)(k + 1));
            put_real(w, (double)(k + 1));
            k++;
        }
    }
    close_array(w, at, 0);
}

static void put_original_events(writer *w)
{
    static const char *const names[] = {"type", "latency"};
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const size_t at = open_struct(w, w->n_kept, names, 2, "");
    for (int64_t e = 0; e < info->n_epoch; e++) {
        char number[16];
        if (is_kept(w, e)) {
            put_chars(w, event_name(w, e, number));
            put_real(w, (double)info->events[3 * e] + 1);
        }
    }
    close_array(w, at, 0);
}

static void put_epochs(writer *w)
{
    static const char *const names[] = {"event", "eventlatency", "eventtype"};
    const size_t at = open_struct(w, w->n_kept, names, 3, "");
    int64_t k = 0;
    for (int64_t e = 0; e < w->epochs->info.n_epoch; e++) {
        char number[16];
        if (is_kept(w, e)) {
            put_real(w, (double)++k);
            put_real(w, 0);
            put_chars(w, event_name(w, e, number));
        }
    }
    close_array(w, at, 0);
}

static void put_origin(writer *w)
{
    static const char *const names[] = {"tessera_provenance"};
    const size_t at = open_struct(w, 1, names, 1, "");
    put_chars(w, w->config->provenance ? w->config->provenance : "");
    close_array(w, at, 0);
}

static void put_times(writer *w)
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const int32_t shape[2] = {1, (int32_t)info->n_time};
    const uint32_t tag[2] = {MI_DOUBLE, (uint32_t)(info->n_time * 8)};
    const size_t at = open_array(w, CLASS_DOUBLE, 2, shape, "");
    put(w, tag, sizeof tag);
    for (int64_t t = 0; t < info->n_time; t++) {
        const double ms = (info->tmin + (double)t / info->sampling_hz) * 1e3;
        put(w, &ms, sizeof ms);
    }
    close_array(w, at, 0);
}

// The last field: the samples' header, or the name of their file; it closes the struct at.
static void put_data_header(writer *w, size_t at, uint64_t data_bytes)
{
    const char *beside = strrchr(w->fdt, '/');
    if (w->fdt[0]) {
        put_chars(w, beside ? beside + 1 : w->fdt);
        close_array(w, at, 0);
    } else {
        const int32_t shape[3] = {(int32_t)w->epochs->sensors.n_chan,
                                  (int32_t)w->epochs->info.n_time, (int32_t)w->n_kept};
        const uint64_t padded = (data_bytes + 7) / 8 * 8;
        const uint32_t tag[2] = {w->item_bytes == 8 ? MI_DOUBLE : MI_SINGLE, (uint32_t)data_bytes};
        const size_t data =
            open_array(w, w->item_bytes == 8 ? CLASS_DOUBLE : CLASS_SINGLE, 3, shape, "");
        put(w, tag, sizeof tag);
        close_array(w, data, padded);
        close_array(w, at, padded);
    }
}

// Everything up to the samples; what is missing of a struct EEG is made by eeg_checkset.
static tess_status make_head(writer *w, uint64_t data_bytes)
{
    static const char *const names[] = {
        "setname", "filename", "filepath",  "subject",    "group", "condition", "session",
        "nbchan",  "trials",   "pnts",      "srate",      "xmin",  "xmax",      "times",
        "icaact",  "icawinv",  "icasphere", "icaweights", "ref",   "chanlocs",  "event",
        "urevent", "epoch",    "etc",       "saved",      "data"};
    enum { N_NAME = sizeof names / sizeof *names };
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const double xmax = info->tmin + (double)(info->n_time - 1) / info->sampling_hz;
    const double numbers[] = {(double)w->epochs->sensors.n_chan,
                              (double)w->n_kept,
                              (double)info->n_time,
                              info->sampling_hz,
                              info->tmin,
                              xmax};
    const char *slash = strrchr(w->path, '/');
    char head[HEADER_BYTES];
    memset(head, ' ', sizeof head);
    const char title[] = "MATLAB 5.0 MAT-file, EEGLAB data set written by Tessera";
    memcpy(head, title, sizeof title - 1);
    memcpy(head + 124, "\x00\x01IM", 4);
    put(w, head, sizeof head);
    const size_t at = open_struct(w, 1, names, N_NAME, "EEG");
    put_chars(w, "tessera autoreject");
    put_chars(w, slash ? slash + 1 : w->path);
    for (int i = 0; i < 4; i++) {
        put_chars(w, "");
    }
    put_empty(w);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        put_real(w, numbers[i]);
    }
    put_times(w);
    for (int i = 0; i < 4; i++) {
        put_empty(w);
    }
    put_chars(w, "common");
    put_channels(w);
    put_events(w);
    put_original_events(w);
    put_epochs(w);
    put_origin(w);
    put_chars(w, "yes");
    put_data_header(w, at, data_bytes);
    const char *chars = NULL;
    return tess_text_finish(&w->bytes, &chars);
}

// An epoch sample by sample, all channels of a sample together.
static void turn(const writer *w, const double *epoch)
{
    const int64_t n_chan = w->epochs->sensors.n_chan;
    const int64_t n_time = w->epochs->info.n_time;
    for (int64_t t = 0; t < n_time; t++) {
        for (int64_t c = 0; c < n_chan; c++) {
            const double value = epoch[c * n_time + t] * MICROVOLTS;
            const float single = (float)value;
            const void *item = w->item_bytes == 8 ? (const void *)&value : (const void *)&single;
            memcpy(w->row + (size_t)(t * n_chan + c) * w->item_bytes, item, w->item_bytes);
        }
    }
}

static tess_status copy_samples(writer *w, const tess_temp_file *to, uint64_t offset)
{
    const int64_t n_epoch = w->epochs->info.n_epoch;
    const int64_t epoch_items = w->epochs->sensors.n_chan * w->epochs->info.n_time;
    const size_t epoch_bytes = (size_t)epoch_items * w->item_bytes;
    tess_watch progress;
    tess_watch_begin(&progress, w->ctx, "autoreject.write", "epochs", 0,
                     (uint64_t)(w->n_kept * epoch_items) * sizeof(double), TESS_STRATEGY_CHUNKED);
    int64_t n_done = 0;
    for (int64_t e = 0; e < n_epoch;) {
        int64_t n = 0;
        while (e + n < n_epoch && n < w->at_once && is_kept(w, e + n)) {
            n++;
        }
        if (n == 0) {
            e++;
            continue;
        }
        TESS_TRY(tess_watch_poll(&progress, n_done, w->n_kept));
        TESS_TRY(tess_autoreject_epochs_read(w->ctx, w->epochs, e, n, NULL, 0, w->samples));
        if (w->config->edit) {
            TESS_TRY(w->config->edit(w->config->user, e, n, w->samples));
        }
        for (int64_t i = 0; i < n; i++, n_done++) {
            turn(w, w->samples + i * epoch_items);
            TESS_TRY(tess_file_write_at(to->fd, to->final_path, w->row, epoch_bytes,
                                        offset + (uint64_t)n_done * epoch_bytes));
        }
        e += n;
    }
    return TESS_OK;
}

// Both files are complete before either gets its name; the set, which names the samples, is last.
static tess_status write_files(writer *w, uint64_t data_bytes)
{
    static const uint8_t zeros[8];
    tess_temp_file set = {.fd = -1};
    tess_temp_file fdt = {.fd = -1};
    const bool is_apart = w->fdt[0] != '\0';
    TESS_TRY(make_head(w, data_bytes));
    tess_status status = tess_temp_file_create(w->path, 0666, &set);
    if (status == TESS_OK && is_apart) {
        status = tess_temp_file_create(w->fdt, 0666, &fdt);
    }
    const uint64_t offset = is_apart ? 0 : w->bytes.used;
    if (status == TESS_OK) {
        status = tess_file_write_at(set.fd, w->path, w->bytes.chars, w->bytes.used, 0);
    }
    if (status == TESS_OK) {
        status = copy_samples(w, is_apart ? &fdt : &set, offset);
    }
    if (status == TESS_OK && !is_apart && data_bytes % 8 != 0) {
        status = tess_file_write_at(set.fd, w->path, zeros, (size_t)(8 - data_bytes % 8),
                                    offset + data_bytes);
    }
    if (status == TESS_OK && is_apart) {
        status = tess_temp_file_commit(&fdt, w->config->overwrite);
    }
    if (status == TESS_OK) {
        status = tess_temp_file_commit(&set, w->config->overwrite);
    }
    tess_temp_file_discard(&fdt);
    tess_temp_file_discard(&set);
    return status;
}

static tess_status check_free(const writer *w)
{
    const char *const paths[] = {w->path, w->fdt};
    for (int i = 0; i < 2; i++) {
        if (paths[i][0] && !w->config->overwrite && access(paths[i], F_OK) == 0) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; use overwrite, or another name",
                      paths[i]);
        }
    }
    return w->fdt[0] ? tess_file_check_distinct(w->epochs->info.path, w->fdt) : TESS_OK;
}

tess_status tess_ar_eeglab_write_beyond(tess_context *ctx, tess_autoreject_epochs *epochs,
                                        const char *path,
                                        const tess_autoreject_write_config *config, int64_t n_kept,
                                        uint64_t most_inside)
{
    const int64_t epoch_items = epochs->sensors.n_chan * epochs->info.n_time;
    writer w = {.ctx = ctx, .epochs = epochs, .config = config, .path = path, .n_kept = n_kept};
    w.item_bytes = config->double_precision ? 8 : 4;
    uint64_t data_bytes = (uint64_t)n_kept * (uint64_t)epoch_items * w.item_bytes;
    if (data_bytes > most_inside) {
        w.item_bytes = 4; // .fdt files are single
        data_bytes = (uint64_t)n_kept * (uint64_t)epoch_items * w.item_bytes;
        const int n = snprintf(w.fdt, sizeof w.fdt, "%.*s.fdt", (int)strlen(path) - 4, path);
        if (n >= (int)sizeof w.fdt) {
            TESS_FAIL(TESS_E_CREATE, "%s: the path is too long", path);
        }
    }
    TESS_TRY(check_free(&w));
    const size_t epoch_bytes = (size_t)epoch_items * sizeof *w.samples;
    w.at_once = (int64_t)(CHUNK_BYTES / epoch_bytes);
    w.at_once = w.at_once < 1 ? 1 : w.at_once < n_kept ? w.at_once : n_kept;
    const size_t bytes = (size_t)w.at_once * epoch_bytes;
    tess_text_init(&w.bytes, &ctx->heap);
    w.samples = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "epochs to write");
    w.row = tess_heap_alloc(&ctx->heap, epoch_bytes, TESS_TAG_IO, "epochs to write");
    const tess_status status = w.samples && w.row ? write_files(&w, data_bytes) : TESS_E_MEMORY;
    tess_heap_free(&ctx->heap, w.row, epoch_bytes, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, w.samples, bytes, TESS_TAG_IO);
    tess_text_destroy(&w.bytes);
    return status;
}

tess_status tess_ar_eeglab_write(tess_context *ctx, tess_autoreject_epochs *epochs,
                                 const char *path, const tess_autoreject_write_config *config,
                                 int64_t n_kept)
{
    return tess_ar_eeglab_write_beyond(ctx, epochs, path, config, n_kept, MAX_VARIABLE);
}

#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/numpy_file.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_TEXT_BYTES = 1 << 16, MAX_TEXTS = 1 << 24, MAX_CODES = 1024 };

// Texts of an array of byte strings or NumPy's four-byte characters.
typedef struct text_list {
    const char **texts;
    int64_t n;
} text_list;

static const char *text_of(tess_autoreject_epochs *epochs, const uint8_t *item, int64_t bytes,
                           int32_t dtype)
{
    char *text = tess_ar_epochs_alloc(epochs, 2 * (size_t)bytes + 1);
    if (!text || dtype == TESS_BYTES) {
        if (text) {
            tess_ar_utf8((const char *)item, (size_t)bytes, text);
        }
        return text;
    }
    size_t used = 0;
    for (int64_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t code;
        memcpy(&code, item + i, sizeof code);
        if (code == 0) {
            break;
        }
        used += tess_ar_put_utf8(code, text + used);
    }
    text[used] = '\0';
    return text;
}

static tess_status copy_texts(tess_ar_numpy_file *file, tess_source *source, const char *name,
                              text_list *out)
{
    tess_autoreject_epochs *epochs = file->epochs;
    tess_heap *heap = &epochs->ctx->heap;
    const tess_source_info *info = tess_source_get_info(source);
    if ((info->dtype != TESS_BYTES && info->dtype != TESS_UCS4) || info->rank != 1 ||
        info->item_bytes > MAX_TEXT_BYTES || info->shape[0] > MAX_TEXTS) {
        TESS_FAIL(TESS_E_DTYPE, "%s: array '%s' is no list of texts (fixed-width S or U)",
                  file->bundle.path, name);
    }
    const size_t bytes = (size_t)(info->shape[0] * info->item_bytes);
    uint8_t *raw = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "texts");
    out->texts = tess_ar_epochs_alloc(epochs, (size_t)info->shape[0] * sizeof *out->texts + 1);
    tess_status status = raw && out->texts ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_source_read(source, 0, info->shape[0], raw, bytes);
    }
    for (int64_t i = 0; i < info->shape[0] && status == TESS_OK; i++) {
        out->texts[i] = text_of(epochs, raw + i * info->item_bytes, info->item_bytes, info->dtype);
        status = out->texts[i] ? TESS_OK : TESS_E_MEMORY;
        out->n = i + 1;
    }
    tess_heap_free(heap, raw, bytes, TESS_TAG_IO);
    return status;
}

// n -1: any number; *out is empty where there is no such array.
static tess_status read_texts(tess_ar_numpy_file *file, const char *name, int64_t n, text_list *out)
{
    *out = (text_list){0};
    const tess_bundle_entry *entry =
        file->bundle.ctx ? tess_bundle_find(&file->bundle, name) : NULL;
    if (!entry) {
        return TESS_OK;
    }
    if (n >= 0 && entry->n_item != n) {
        TESS_FAIL(TESS_E_SHAPE, "%s: array '%s' has %" PRId64 " items, expected %" PRId64,
                  file->bundle.path, name, entry->n_item, n);
    }
    if (entry->n_item == 0) {
        return TESS_OK;
    }
    tess_source *source = NULL;
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = name;
    TESS_TRY(tess_source_open(file->epochs->ctx, file->bundle.path, &config, &source));
    const tess_status status = copy_texts(file, source, name, out);
    tess_source_close(source);
    return status;
}

// Numbers [n][width] in memory of the epochs; *out NULL where there is no such array. n -1: any.
static tess_status read_numbers(tess_ar_numpy_file *file, const char *name, int64_t n,
                                int64_t width, double **out, int64_t *n_row)
{
    *out = NULL;
    const tess_bundle_entry *entry =
        file->bundle.ctx ? tess_bundle_find(&file->bundle, name) : NULL;
    if (!entry) {
        return TESS_OK;
    }
    if (entry->n_item % width != 0 || entry->rank > 2 || (n >= 0 && entry->n_item / width != n) ||
        (width > 1 && entry->rank == 2 && entry->shape[1] != width)) {
        TESS_FAIL(
            TESS_E_SHAPE, "%s: array '%s' has %" PRId64 " numbers, expected %" PRId64 " x %" PRId64,
            file->bundle.path, name, entry->n_item, n >= 0 ? n : entry->n_item / width, width);
    }
    double *numbers =
        tess_ar_epochs_alloc(file->epochs, (size_t)entry->n_item * sizeof *numbers + 1);
    if (!numbers) {
        return TESS_E_MEMORY;
    }
    *out = numbers;
    if (n_row) {
        *n_row = entry->n_item / width;
    }
    return tess_bundle_read_f64(&file->bundle, entry, numbers);
}

static tess_status read_scalar(tess_ar_numpy_file *file, const char *name, double *value)
{
    double *numbers = NULL;
    TESS_TRY(read_numbers(file, name, 1, 1, &numbers, NULL));
    if (numbers) {
        *value = numbers[0];
    }
    return TESS_OK;
}

static tess_status name_channels(tess_ar_numpy_file *file, tess_autoreject_channel *channels)
{
    text_list names;
    text_list types;
    TESS_TRY(read_texts(file, "ch_names", file->n_chan, &names));
    TESS_TRY(read_texts(file, "ch_types", file->n_chan, &types));
    for (int64_t c = 0; c < file->n_chan; c++) {
        char name[32];
        snprintf(name, sizeof name, "%03" PRId64, c);
        channels[c].name = names.n > 0 ? names.texts[c] : tess_ar_epochs_text(file->epochs, name);
        if (!channels[c].name) {
            return TESS_E_MEMORY;
        }
        if (types.n == 0) {
            continue;
        }
        channels[c].type = tess_ar_type_by_word(types.texts[c]);
        if (channels[c].type < 0) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: ch_types: channel '%s' is of type '%.40s', which is not known (mag grad "
                      "eeg hbo hbr ecog seeg eog ecg emg stim misc ref_meg csd other)",
                      file->bundle.path, channels[c].name, types.texts[c]);
        }
    }
    return TESS_OK;
}

// bads: names, or a flag per channel.
static tess_status mark_bads(tess_ar_numpy_file *file, tess_autoreject_channel *channels)
{
    const tess_bundle_entry *entry =
        file->bundle.ctx ? tess_bundle_find(&file->bundle, "bads") : NULL;
    if (!entry || entry->n_item == 0) {
        return TESS_OK;
    }
    if (entry->dtype != TESS_BYTES && entry->dtype != TESS_UCS4) {
        double *flags = NULL;
        TESS_TRY(read_numbers(file, "bads", file->n_chan, 1, &flags, NULL));
        for (int64_t c = 0; c < file->n_chan; c++) {
            channels[c].is_bad = flags[c] != 0;
        }
        return TESS_OK;
    }
    text_list names;
    TESS_TRY(read_texts(file, "bads", -1, &names));
    for (int64_t i = 0; i < names.n; i++) {
        bool is_found = false;
        for (int64_t c = 0; c < file->n_chan; c++) {
            const bool is_it = strcmp(channels[c].name, names.texts[i]) == 0;
            channels[c].is_bad = channels[c].is_bad || is_it;
            is_found = is_found || is_it;
        }
        if (!is_found) {
            TESS_FAIL(TESS_E_FORMAT, "%s: bads: there is no channel '%.80s'", file->bundle.path,
                      names.texts[i]);
        }
    }
    return TESS_OK;
}

static tess_status place_channels(tess_ar_numpy_file *file, tess_autoreject_channel *channels)
{
    double *pos = NULL;
    double *loc = NULL;
    double *coils = NULL;
    TESS_TRY(read_numbers(file, "pos", file->n_chan, 3, &pos, NULL));
    TESS_TRY(read_numbers(file, "loc", file->n_chan, 12, &loc, NULL));
    TESS_TRY(read_numbers(file, "coil_type", file->n_chan, 1, &coils, NULL));
    for (int64_t c = 0; c < file->n_chan; c++) {
        if (loc) {
            memcpy(channels[c].loc, loc + 12 * c, sizeof channels[c].loc);
        } else if (pos && isfinite(pos[3 * c] + pos[3 * c + 1] + pos[3 * c + 2])) {
            tess_ar_channel_set_position(&channels[c], pos + 3 * c);
        }
        if (coils && fabs(coils[c]) < 1e9) {
            channels[c].coil_type = (int32_t)coils[c];
        }
    }
    return TESS_OK;
}

static tess_status calibrate(tess_ar_numpy_file *file)
{
    double *cal = NULL;
    TESS_TRY(read_numbers(file, "cal", file->n_chan, 1, &cal, NULL));
    if (!cal) {
        cal = tess_ar_epochs_alloc(file->epochs, (size_t)file->n_chan * sizeof *cal);
        for (int64_t c = 0; cal && c < file->n_chan; c++) {
            cal[c] = 1;
        }
    }
    file->calibration = cal;
    return cal ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_ar_numpy_sensors(tess_ar_numpy_file *file, tess_autoreject_sensors *sensors)
{
    double *device_to_head = NULL;
    tess_autoreject_channel *channels = tess_ar_channels_create(file->epochs, file->n_chan);
    if (!channels) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(name_channels(file, channels));
    TESS_TRY(mark_bads(file, channels));
    TESS_TRY(place_channels(file, channels));
    TESS_TRY(calibrate(file));
    tess_autoreject_sensors_init(sensors, sizeof *sensors);
    sensors->n_chan = file->n_chan;
    sensors->channels = channels;
    TESS_TRY(read_numbers(file, "dev_head_t", 4, 4, &device_to_head, NULL));
    if (device_to_head) {
        sensors->has_device_to_head = 1;
        memcpy(sensors->device_to_head, device_to_head, sizeof sensors->device_to_head);
    }
    return tess_ar_points_of_channels(file->epochs, sensors);
}

tess_status tess_ar_numpy_times(tess_ar_numpy_file *file,
                                const tess_autoreject_epochs_config *config)
{
    const char *path = tess_source_get_info(file->source)->path;
    TESS_TRY(read_scalar(file, "sfreq", &file->sampling_hz));
    TESS_TRY(read_scalar(file, "tmin", &file->tmin));
    if (file->sampling_hz == 0 && config) {
        file->sampling_hz = config->sampling_hz;
    }
    if (file->sampling_hz == 0 && file->is_continuous) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: the sampling rate is not known; give it (--sampling-hz), or save the array "
                  "with 'sfreq' in a .npz file",
                  path);
    }
    if (file->sampling_hz == 0) {
        file->sampling_hz = 1;
        tess_ar_epochs_note(file->epochs, "the sampling rate is not known, taken as 1 Hz");
    }
    if (!(file->sampling_hz > 0) || !isfinite(file->sampling_hz) || !isfinite(file->tmin)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: sampling rate %g Hz, first sample at %g s", path,
                  file->sampling_hz, file->tmin);
    }
    return TESS_OK;
}

static int32_t whole(double value)
{
    return fabs(value) < 2147483648.0 ? (int32_t)value : 0;
}

// Names and codes as the file tells them.
static tess_status named_codes(tess_ar_numpy_file *file, int64_t *n_name)
{
    tess_autoreject_epochs_info *info = &file->epochs->info;
    text_list names;
    double *stored = NULL;
    int64_t n = 0;
    TESS_TRY(read_texts(file, "event_names", -1, &names));
    TESS_TRY(read_numbers(file, "event_codes", -1, 1, &stored, &n));
    if (names.n != n) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %" PRId64 " event_names but %" PRId64 " event_codes",
                  file->bundle.path, names.n, n);
    }
    int32_t *codes = tess_ar_epochs_items(file->epochs, n + 1, sizeof *codes);
    if (!codes) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        codes[i] = whole(stored[i]);
    }
    *n_name = n;
    if (n > 0) {
        info->event_names = names.texts;
        info->event_codes = codes;
        info->n_event_name = n;
    }
    return TESS_OK;
}

// Codes that come without names are called by their numbers.
static tess_status number_codes(tess_ar_numpy_file *file, const int32_t *events)
{
    tess_autoreject_epochs_info *info = &file->epochs->info;
    int32_t *codes = tess_ar_epochs_items(file->epochs, MAX_CODES, sizeof *codes);
    const char **names = tess_ar_epochs_items(file->epochs, MAX_CODES, sizeof *names);
    if (!codes || !names) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t e = 0; e < file->n_epoch; e++) {
        int64_t k = 0;
        while (k < n && codes[k] != events[3 * e + 2]) {
            k++;
        }
        if (k < n || n == MAX_CODES) {
            continue;
        }
        char name[16];
        snprintf(name, sizeof name, "%d", (int)events[3 * e + 2]);
        codes[n] = events[3 * e + 2];
        names[n] = tess_ar_epochs_text(file->epochs, name);
        if (!names[n++]) {
            return TESS_E_MEMORY;
        }
    }
    info->event_codes = codes;
    info->event_names = names;
    info->n_event_name = n;
    return TESS_OK;
}

tess_status tess_ar_numpy_events(tess_ar_numpy_file *file)
{
    double *stored = NULL;
    int64_t n_name = 0;
    TESS_TRY(tess_ar_epochs_plain_events(file->epochs));
    TESS_TRY(read_numbers(file, "events", file->n_epoch, 3, &stored, NULL));
    if (!stored) {
        return TESS_OK;
    }
    int32_t *events = tess_ar_epochs_items(file->epochs, file->n_epoch, 3 * sizeof *events);
    if (!events) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < 3 * file->n_epoch; i++) {
        events[i] = whole(stored[i]);
    }
    file->epochs->info.events = events;
    TESS_TRY(named_codes(file, &n_name));
    return n_name > 0 ? TESS_OK : number_codes(file, events);
}

tess_status tess_ar_numpy_annotations(tess_ar_numpy_file *file, tess_ar_continuous *continuous)
{
    double *onsets = NULL;
    double *durations = NULL;
    int64_t n = 0;
    text_list texts;
    tess_ar_annotation_list list = {.epochs = file->epochs};
    TESS_TRY(read_numbers(file, "annot_onset", -1, 1, &onsets, &n));
    TESS_TRY(read_numbers(file, "annot_duration", n, 1, &durations, NULL));
    TESS_TRY(read_texts(file, "annot_text", n, &texts));
    tess_status status = TESS_OK;
    for (int64_t i = 0; i < n && status == TESS_OK; i++) {
        const char *text = texts.n > 0 ? texts.texts[i] : "";
        status = tess_ar_annotations_add(&list, onsets[i], durations ? durations[i] : 0, text,
                                         strlen(text));
    }
    if (status == TESS_OK) {
        status = tess_ar_annotations_finish(&list, continuous);
    }
    tess_ar_annotations_destroy(&list);
    return status;
}

#include "systems/autoreject/files/brainvision.h"

#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// "Brain Vision Data Exchange Header File Version 1.0" and its relatives.
static bool is_file_of(const uint8_t *head, size_t head_bytes, const char *kind)
{
    char line[128];
    const size_t n = head_bytes < sizeof line ? head_bytes : sizeof line - 1;
    memcpy(line, head, n);
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return (strcasestr(line, "Brain Vision") || strcasestr(line, "BrainVision")) &&
           strcasestr(line, kind);
}

static int probe(const char *path, const uint8_t *head, size_t head_bytes)
{
    return is_file_of(head, head_bytes, "Header File") ||
           is_file_of(head, head_bytes, "Marker File") || tess_ar_has_extension(path, ".vhdr") ||
           tess_ar_has_extension(path, ".ahdr");
}

static tess_status check_supported(const char *path, const tess_bv_header *header, int32_t *dtype)
{
    static const struct {
        const char *name;
        int32_t dtype;
    } formats[] = {{"INT_16", TESS_I16}, {"INT_32", TESS_I32}, {"IEEE_FLOAT_32", TESS_F32}};
    if (strcasecmp(header->data_format, "BINARY") != 0 || header->unsupported[0]) {
        TESS_FAIL(
            TESS_E_UNSUPPORTED,
            "%s: %s%s is not read; export the recording as binary time series from the program "
            "that wrote it, or convert it with MNE-Python",
            path, header->unsupported[0] ? "" : "DataFormat=",
            header->unsupported[0] ? header->unsupported : header->data_format);
    }
    if (strcasecmp(header->orientation, "MULTIPLEXED") != 0 &&
        strcasecmp(header->orientation, "VECTORIZED") != 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: DataOrientation is '%s', expected MULTIPLEXED or VECTORIZED",
                  path, header->orientation);
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcasecmp(header->binary_format, formats[i].name) == 0) {
            *dtype = formats[i].dtype;
            return TESS_OK;
        }
    }
    TESS_FAIL(TESS_E_FORMAT, "%s: BinaryFormat is '%s', expected INT_16, INT_32 or IEEE_FLOAT_32",
              path, header->binary_format);
}

static tess_status open_samples(tess_autoreject_epochs *epochs, const char *path,
                                const tess_bv_header *header, int32_t dtype, tess_ar_samples *s)
{
    TESS_TRY(tess_ar_samples_find(epochs, path, header->data_file, ".eeg", &s->path));
    TESS_TRY(tess_ar_epochs_open_input(epochs, s->path, &s->file));
    const uint64_t bytes = s->file->bytes;
    const uint64_t row = (uint64_t)header->n_channel * tess_dtype_bytes((tess_dtype)dtype);
    s->dtype = dtype;
    s->is_interleaved = strcasecmp(header->orientation, "MULTIPLEXED") == 0;
    s->n_channel = header->n_channel;
    s->n_sample = (int64_t)(bytes / row);
    s->n_time = s->n_sample;
    if (bytes % row != 0 || s->n_sample == 0 ||
        (header->n_point >= 0 && header->n_point != s->n_sample)) {
        char wanted[64] = "whole samples";
        if (header->n_point >= 0) {
            snprintf(wanted, sizeof wanted, "%" PRId64 " samples (DataPoints)", header->n_point);
        }
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: %" PRIu64 " bytes; %" PRId64
                  " channels of %zu bytes would make %s: copy the "
                  "file again",
                  s->path, bytes, header->n_channel, tess_dtype_bytes((tess_dtype)dtype), wanted);
    }
    return tess_ar_samples_prepare(epochs, s, bytes);
}

// Channels without a place among others that have one are no EEG, unless a montage will tell.
static void set_unplaced(tess_autoreject_epochs *epochs, bool has_montage,
                         tess_autoreject_channel *channels, int64_t n)
{
    tess_ar_names names = {0};
    for (int64_t c = 0; c < n && !has_montage; c++) {
        if (channels[c].type == TESS_AUTOREJECT_EEG &&
            !tess_ar_channel_has_position(&channels[c])) {
            channels[c].type = TESS_AUTOREJECT_MISC;
            tess_ar_names_add(&names, channels[c].name);
        }
    }
    if (names.n > 0) {
        tess_ar_epochs_note(epochs, "no coordinates, taken as misc: %s", names.text);
    }
}

static tess_status read_channels(tess_context *ctx, tess_autoreject_epochs *epochs,
                                 tess_ar_text *text, const tess_bv_header *header, bool has_montage,
                                 tess_ar_samples *s, tess_autoreject_sensors *sensors)
{
    const int64_t n = header->n_channel;
    const size_t bytes = (size_t)n * sizeof(tess_bv_channel);
    tess_autoreject_channel *channels = tess_ar_channels_create(epochs, n);
    double *factors = tess_ar_epochs_alloc(epochs, (size_t)n * sizeof *factors);
    tess_bv_channel *lines = tess_heap_alloc_zero(&ctx->heap, bytes, TESS_TAG_IO, "channels");
    tess_status status = channels && factors && lines
                             ? tess_bv_read_channels(epochs, text, header, channels, lines)
                             : TESS_E_MEMORY;
    for (int64_t c = 0; c < n && status == TESS_OK; c++) {
        factors[c] = lines[c].factor;
    }
    tess_heap_free(&ctx->heap, lines, bytes, TESS_TAG_IO);
    TESS_TRY(status);
    if (header->has_coordinates) {
        set_unplaced(epochs, has_montage, channels, n);
    }
    tess_autoreject_sensors_init(sensors, sizeof *sensors);
    sensors->n_chan = n;
    sensors->channels = channels;
    s->factors = factors;
    return tess_ar_points_of_channels(epochs, sensors);
}

static tess_status read_recording(tess_context *ctx, tess_autoreject_epochs *epochs,
                                  tess_ar_text *text, const tess_autoreject_epochs_config *config,
                                  tess_ar_samples *s, tess_ar_continuous *continuous)
{
    tess_bv_header header;
    const char *markers = NULL;
    const char *path = text->path;
    int32_t dtype = 0;
    TESS_TRY(tess_bv_read_header(text, &header));
    TESS_TRY(check_supported(path, &header, &dtype));
    TESS_TRY(open_samples(epochs, path, &header, dtype, s));
    tess_ar_text_close(text);
    TESS_TRY(tess_ar_text_open(ctx, path, text));
    TESS_TRY(read_channels(ctx, epochs, text, &header, config && config->montage, s,
                           &continuous->sensors));
    continuous->sampling_hz = 1e6 / header.interval_us;
    continuous->n_sample = s->n_sample;
    if (header.marker_file[0]) {
        TESS_TRY(tess_ar_samples_find(epochs, path, header.marker_file, ".vmrk", &markers));
        TESS_TRY(tess_bv_read_markers(ctx, epochs, markers, continuous));
    } else {
        tess_ar_epochs_note(epochs, "the header names no file of markers");
    }
    continuous->read = tess_ar_samples_read;
    continuous->impl = s;
    epochs->info.format = "brainvision";
    epochs->info.stored_dtype = dtype;
    return TESS_OK;
}

static tess_status check_is_header(const tess_ar_text *text)
{
    const uint8_t *head = (const uint8_t *)text->chars;
    const size_t n = text->bytes < 128 ? text->bytes : 128;
    if (is_file_of(head, n, "Marker File")) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: these are the markers of a recording; open its header (.vhdr)", text->path);
    }
    if (!is_file_of(head, n, "Header File")) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: line 1: expected 'Brain Vision Data Exchange Header File Version 1.0'",
                  text->path);
    }
    return TESS_OK;
}

static tess_status open_brainvision(tess_context *ctx, const char *path,
                                    const tess_autoreject_epochs_config *config,
                                    tess_autoreject_epochs *epochs, tess_ar_continuous *continuous,
                                    bool *is_continuous)
{
    *is_continuous = true;
    tess_ar_text text;
    tess_ar_samples *samples = tess_ar_epochs_alloc(epochs, sizeof *samples);
    if (!samples) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_ar_text_open(ctx, path, &text));
    tess_status status = check_is_header(&text);
    if (status == TESS_OK) {
        status = read_recording(ctx, epochs, &text, config, samples, continuous);
    }
    tess_ar_text_close(&text);
    return status;
}

const tess_ar_file_format tess_ar_brainvision = {"brainvision", probe, open_brainvision};

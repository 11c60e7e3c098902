// Recordings opened through one format, compared with golden data, and spoiled on purpose.
#ifndef TESS_TESTS_AUTOREJECT_RECORDINGS_H
#define TESS_TESTS_AUTOREJECT_RECORDINGS_H

#include "systems/autoreject/files/recording.h"
#include "unit.h"
#include "unit_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMATS TESS_GOLDEN "/autoreject/formats/"

typedef struct ar_file {
    tess_context *ctx;
    tess_autoreject_epochs *epochs;
    tess_ar_continuous continuous;
    bool is_continuous;
} ar_file;

static inline tess_status ar_file_open(tess_context *ctx, const tess_ar_file_format *format,
                                       const char *path,
                                       const tess_autoreject_epochs_config *config, ar_file *file)
{
    *file = (ar_file){.ctx = ctx};
    assert_ok(tess_ar_epochs_create(ctx, &file->epochs));
    tess_autoreject_sensors_init(&file->continuous.sensors, sizeof file->continuous.sensors);
    return format->open(ctx, path, config, file->epochs, &file->continuous, &file->is_continuous);
}

static inline void ar_file_close(ar_file *file)
{
    if (file->continuous.close) {
        file->continuous.close(file->ctx, file->continuous.impl);
    }
    tess_autoreject_epochs_close(file->epochs);
}

static inline const tess_autoreject_sensors *ar_file_sensors(const ar_file *file)
{
    return file->is_continuous ? &file->continuous.sensors : &file->epochs->sensors;
}

// All samples [n_chan][n_sample], or [n_epoch][n_chan][n_time]; free() them.
static inline double *ar_file_samples(ar_file *file, int64_t *n)
{
    const int64_t n_chan = ar_file_sensors(file)->n_chan;
    const int64_t n_epoch = file->is_continuous ? 1 : file->epochs->info.n_epoch;
    const int64_t n_time =
        file->is_continuous ? file->continuous.n_sample : file->epochs->info.n_time;
    int64_t *channels = malloc((size_t)n_chan * sizeof *channels);
    for (int64_t c = 0; c < n_chan; c++) {
        channels[c] = c;
    }
    *n = n_epoch * n_chan * n_time;
    double *x = malloc((size_t)*n * sizeof *x);
    assert_ok(file->is_continuous ? file->continuous.read(file->ctx, file->continuous.impl, 0,
                                                          n_time, channels, n_chan, x)
                                  : file->epochs->reader.read(file->ctx, file->epochs->reader.impl,
                                                              0, n_epoch, channels, n_chan, x));
    free(channels);
    return x;
}

// A golden array of texts; item i is at i * (*width + 1). free() it.
static inline char *golden_texts(tess_context *ctx, const char *name, int64_t *n, size_t *width)
{
    tess_source *source = NULL;
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = name;
    assert_ok(tess_source_open(ctx, TESS_GOLDEN "/autoreject/ar08_formats.npz", &config, &source));
    const tess_source_info *info = tess_source_get_info(source);
    *n = info->shape[0];
    *width = (size_t)info->item_bytes;
    char *raw = calloc((size_t)*n * *width + 1, 1);
    char *texts = calloc((size_t)*n * (*width + 1) + 1, 1);
    assert_ok(tess_source_read(source, 0, *n, raw, (uint64_t)*n * *width));
    for (int64_t i = 0; i < *n; i++) {
        memcpy(texts + (size_t)i * (*width + 1), raw + (size_t)i * *width, *width);
    }
    free(raw);
    tess_source_close(source);
    return texts;
}

// Names and types.
static inline void ar_file_check_channels(const ar_file *file, const char *prefix)
{
    char name[64];
    int64_t n = 0;
    size_t width = 0;
    const tess_autoreject_sensors *sensors = ar_file_sensors(file);
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "%s_%s", prefix, k == 0 ? "ch_names" : "ch_types");
        char *texts = golden_texts(file->ctx, name, &n, &width);
        assert_int_equal(sensors->n_chan, n);
        for (int64_t c = 0; c < n; c++) {
            const tess_autoreject_channel *channel = &sensors->channels[c];
            assert_string_equal(k == 0 ? channel->name : tess_autoreject_type_name(channel->type),
                                texts + (size_t)c * (width + 1));
        }
        free(texts);
    }
    snprintf(name, sizeof name, "%s_loc", prefix);
    double *loc = golden_f64(file->ctx, "autoreject/ar08_formats", name, &n);
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        assert_near(sensors->channels[c].loc, loc + 12 * c, 12, 1e-15);
    }
    free(loc);
}

// Those of the golden data from number first on.
static inline void ar_file_check_annotations(const ar_file *file, const char *prefix, int64_t first)
{
    char name[64];
    int64_t n = 0;
    size_t width = 0;
    snprintf(name, sizeof name, "%s_annot_onset", prefix);
    double *onsets = golden_f64(file->ctx, "autoreject/ar08_formats", name, &n);
    snprintf(name, sizeof name, "%s_annot_duration", prefix);
    double *durations = golden_f64(file->ctx, "autoreject/ar08_formats", name, NULL);
    assert_int_equal(file->continuous.n_annotation, n - first);
    if (n > first) {
        snprintf(name, sizeof name, "%s_annot_text", prefix);
        char *texts = golden_texts(file->ctx, name, &n, &width);
        for (int64_t i = first; i < n; i++) {
            const tess_ar_annotation *a = &file->continuous.annotations[i - first];
            assert_string_equal(a->text, texts + (size_t)i * (width + 1));
            assert_near(&a->onset_s, onsets + i, 1, 1e-6);
            assert_near(&a->duration_s, durations + i, 1, 1e-6);
        }
        free(texts);
    }
    free(onsets);
    free(durations);
}

// Samples: at most so much of the largest value away; 0: the same bits.
static inline void ar_file_check_samples(ar_file *file, const char *prefix, double tolerance)
{
    char name[64];
    int64_t n = 0;
    int64_t n_golden = 0;
    double largest = 0;
    snprintf(name, sizeof name, "%s_data", prefix);
    double *x = ar_file_samples(file, &n);
    double *golden = golden_f64(file->ctx, "autoreject/ar08_formats", name, &n_golden);
    assert_int_equal(n, n_golden);
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(golden[i]));
    }
    assert_near(x, golden, n, tolerance * largest);
    free(x);
    free(golden);
}

// Pieces of the recording, read in odd ways, are the same as the whole.
static inline void ar_file_check_pieces(ar_file *file)
{
    int64_t n = 0;
    double *whole = ar_file_samples(file, &n);
    const int64_t n_chan = file->continuous.sensors.n_chan;
    const int64_t n_sample = file->continuous.n_sample;
    double *piece = malloc((size_t)(2 * n_sample) * sizeof *piece);
    for (int64_t first = 0; first < n_sample; first += 7) {
        for (int64_t count = 0; count <= n_sample - first; count += 13) {
            const int64_t channels[2] = {n_chan - 1, first % n_chan};
            assert_ok(file->continuous.read(file->ctx, file->continuous.impl, first, count,
                                            channels, 2, piece));
            for (int k = 0; k < 2; k++) {
                assert_memory_equal(piece + k * count, whole + channels[k] * n_sample + first,
                                    (size_t)count * sizeof *piece);
            }
        }
    }
    free(piece);
    free(whole);
}

static inline void ar_file_try(tess_context *ctx, const tess_ar_file_format *format,
                               const char *path, const char *named)
{
    ar_file file;
    int64_t n = 0;
    if (ar_file_open(ctx, format, path, NULL, &file) == TESS_OK) {
        free(ar_file_samples(&file, &n));
    } else {
        assert_contains(tess_last_error(), named);
    }
    ar_file_close(&file);
}

// The file cut at every byte, and with bytes changed: opens, or fails with a message that names
// the file. The original stays at path.
static inline void ar_file_spoil(tess_context *ctx, const tess_ar_file_format *format,
                                 const char *path, const char *opened, int64_t n_change)
{
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    char named[64]; // one of the recording's files
    snprintf(named, sizeof named, "%s", strrchr(opened, '/') + 1);
    *strrchr(named, '.') = '\0';
    const size_t step = unit_is_quick() ? 37 : 1;
    for (size_t cut = 0; cut < n; cut += step) {
        unit_write_file(path, bytes, cut);
        ar_file_try(ctx, format, opened, named);
    }
    uint32_t state = 12345;
    char *copy = malloc(n);
    for (int64_t i = 0; i < (unit_is_quick() ? n_change / 20 : n_change); i++) {
        memcpy(copy, bytes, n);
        for (int k = 0; k < 1 + (int)(i % 3); k++) {
            state = state * 1664525u + 1013904223u;
            const size_t at = (size_t)(state >> 8) % n;
            state = state * 1664525u + 1013904223u;
            copy[at] = (char)(state >> 24);
        }
        unit_write_file(path, copy, n);
        ar_file_try(ctx, format, opened, named);
    }
    unit_write_file(path, bytes, n);
    free(copy);
    free(bytes);
}

// A golden file copied into the scratch folder.
static inline const char *ar_file_copy(const char *name)
{
    char path[512];
    size_t n = 0;
    snprintf(path, sizeof path, FORMATS "%s", name);
    char *bytes = unit_read_file(path, &n);
    const char *copy = unit_path(name);
    unit_write_file(copy, bytes, n);
    free(bytes);
    return copy;
}

#endif

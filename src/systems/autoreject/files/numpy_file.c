#include "systems/autoreject/files/numpy_file.h"

#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/files/samples.h"

#include <inttypes.h>
#include <string.h>

enum { PIECE_BYTES = 256 << 10 };

static int probe(const char *path, const uint8_t *head, size_t head_bytes)
{
    (void)path;
    static const struct {
        const char *bytes;
        size_t n;
    } magics[] = {{"\x93NUMPY", 6}, {"PK\3\4", 4}, {"PK\5\6", 4}, {"\x89HDF\r\n\x1a\n", 8}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (head_bytes >= magics[i].n && memcmp(head, magics[i].bytes, magics[i].n) == 0) {
            return 1;
        }
    }
    return 0;
}

static tess_status read_epochs(tess_context *ctx, void *impl, int64_t first, int64_t count,
                               const int64_t *channels, int64_t n_channel, double *dst)
{
    tess_ar_numpy_file *f = impl;
    const int64_t row_bytes = f->n_time * f->item_bytes;
    const int64_t epoch_bytes = f->n_chan * row_bytes;
    for (int64_t e = first; e < first + count; e++) {
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(tess_source_read(f->source, e, 1, f->buffer, (uint64_t)epoch_bytes));
        for (int64_t c = 0; c < n_channel; c++) {
            tess_ar_convert(f->dtype, f->buffer + channels[c] * row_bytes, 1, f->n_time,
                            f->calibration[channels[c]], dst);
            dst += f->n_time;
        }
    }
    return TESS_OK;
}

// Items that lie in the file as they are: any thread. They are read to the end of the room for
// their doubles and converted from its beginning on, which never overtakes what is to come.
static tess_status read_direct(tess_context *ctx, void *impl, int64_t first, int64_t count,
                               const int64_t *channels, int64_t n_channel, double *dst)
{
    const tess_ar_numpy_file *f = impl;
    const uint64_t item_bytes = (uint64_t)f->item_bytes;
    const int64_t row_bytes = f->n_time * f->item_bytes;
    for (int64_t e = first; e < first + count; e++) {
        TESS_TRY(tess_context_check_cancel(ctx));
        for (int64_t c = 0, n = 1; c < n_channel; c += n, n = 1) {
            while (c + n < n_channel && channels[c + n] == channels[c] + n) {
                n++;
            }
            const uint64_t at = (uint64_t)((e * f->n_chan + channels[c]) * f->n_time);
            const uint64_t bytes = (uint64_t)(n * f->n_time) * item_bytes;
            uint8_t *items = (uint8_t *)(dst + n * f->n_time) - bytes;
            TESS_TRY(tess_source_read_bytes(f->source, at * item_bytes, bytes, items));
            for (int64_t k = 0; k < n; k++, dst += f->n_time, items += row_bytes) {
                if (f->dtype != TESS_F64 || f->calibration[channels[c + k]] != 1) {
                    tess_ar_convert(f->dtype, items, 1, f->n_time, f->calibration[channels[c + k]],
                                    dst);
                }
            }
        }
    }
    return TESS_OK;
}

// Samples first..first+count-1 of a row, in the file or loaded, converted.
static tess_status read_row(tess_ar_numpy_file *f, int64_t channel, int64_t first, int64_t count,
                            double *dst)
{
    const int64_t piece = PIECE_BYTES / f->item_bytes;
    const int64_t row = channel * f->n_time;
    for (int64_t done = 0; done < count; done += piece) {
        const int64_t n = count - done < piece ? count - done : piece;
        const uint64_t at = (uint64_t)((row + first + done) * f->item_bytes);
        if (!f->loaded) {
            TESS_TRY(
                tess_source_read_bytes(f->source, at, (uint64_t)(n * f->item_bytes), f->buffer));
        }
        tess_ar_convert(f->dtype, f->loaded ? f->loaded + at : f->buffer, 1, n,
                        f->calibration[channel], dst + done);
    }
    return TESS_OK;
}

static tess_status read_samples(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                const int64_t *channels, int64_t n_channel, double *dst)
{
    for (int64_t c = 0; c < n_channel; c++) {
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(read_row(impl, channels[c], first, count, dst + c * count));
    }
    return TESS_OK;
}

static void close_numpy(tess_context *ctx, void *impl)
{
    tess_ar_numpy_file *f = impl;
    if (f->loaded) {
        tess_heap_free(&ctx->heap, f->loaded, f->loaded_bytes, TESS_TAG_IO);
        f->loaded = NULL;
    }
    tess_source_close(f->source);
    f->source = NULL;
    tess_bundle_close(&f->bundle);
}

// The array of samples in a file of several: by option, by name, or the only one of rank 3.
static tess_status choose(const tess_ar_numpy_file *f, const char *wanted, const char **out)
{
    static const char *const names[] = {"data", "X"};
    const tess_bundle_entry *found = wanted ? tess_bundle_find(&f->bundle, wanted) : NULL;
    for (size_t i = 0; !wanted && !found && i < sizeof names / sizeof *names; i++) {
        found = tess_bundle_find(&f->bundle, names[i]);
    }
    int64_t n_epochs = 0;
    for (int64_t i = 0; !wanted && !found && i < f->bundle.n_entry; i++) {
        n_epochs += f->bundle.entries[i].rank == 3;
    }
    for (int64_t i = 0; n_epochs == 1 && i < f->bundle.n_entry; i++) {
        found = f->bundle.entries[i].rank == 3 ? &f->bundle.entries[i] : found;
    }
    if (!found) {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: no array '%s' among %" PRId64
                  "; expected epochs [epoch][channel][sample] or a "
                  "recording [channel][sample]: name it with dataset",
                  f->bundle.path, wanted ? wanted : "data", f->bundle.n_entry);
    }
    *out = found->name;
    return TESS_OK;
}

static tess_status check_array(tess_ar_numpy_file *f, const char *path)
{
    const tess_source_info *info = tess_source_get_info(f->source);
    const bool is_number = info->dtype >= TESS_BOOL && info->dtype <= TESS_F64 &&
                           info->dtype != TESS_F16 && info->dtype != TESS_BF16;
    if (!is_number) {
        TESS_FAIL(TESS_E_DTYPE, "%s: samples of type %s; expected f64, f32 or integers", path,
                  tess_dtype_name((tess_dtype)info->dtype));
    }
    if (info->rank != 2 && info->rank != 3) {
        TESS_FAIL(
            TESS_E_SHAPE,
            "%s: an array of %d axes; expected epochs [epoch][channel][sample] or a recording "
            "[channel][sample]",
            path, (int)info->rank);
    }
    const int64_t *shape = info->shape + (info->rank - 2);
    f->is_continuous = info->rank == 2;
    f->dtype = info->dtype;
    f->item_bytes = info->item_bytes;
    f->n_epoch = f->is_continuous ? 1 : info->shape[0];
    f->n_chan = shape[0];
    f->n_time = shape[1];
    if (f->n_epoch < 1 || f->n_chan < 1 || f->n_time < 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: the array is empty (%" PRId64 " x %" PRId64 " x %" PRId64 ")",
                  path, f->n_epoch, f->n_chan, f->n_time);
    }
    return TESS_OK;
}

// Epochs are read one by one. Of a continuous array every epoch wants a piece of each row: it is
// loaded, unless the pieces can be read where they lie.
static tess_status prepare(tess_context *ctx, tess_ar_numpy_file *f, const char *path)
{
    const uint64_t row = (uint64_t)f->n_time * (uint64_t)f->item_bytes; // checked by the source
    const uint64_t bytes = row * (uint64_t)f->n_chan;
    if (!f->is_continuous || tess_source_is_direct(f->source)) {
        f->buffer = tess_ar_epochs_alloc(f->epochs, f->is_continuous ? PIECE_BYTES : (size_t)bytes);
        return f->buffer ? TESS_OK : TESS_E_MEMORY;
    }
    if (bytes > ctx->memory_limit_bytes / 2) {
        TESS_FAIL(TESS_E_LIMIT,
                  "%s: a continuous recording of %" PRIu64
                  " bytes that has to be loaded takes more than half of the memory limit (%" PRIu64
                  " bytes); save it as .npy",
                  path, bytes, ctx->memory_limit_bytes);
    }
    f->loaded = tess_heap_alloc(&ctx->heap, (size_t)bytes, TESS_TAG_IO, "the recording");
    if (!f->loaded) {
        return TESS_E_MEMORY;
    }
    f->loaded_bytes = (size_t)bytes;
    return tess_source_read(f->source, 0, f->n_chan, f->loaded, bytes);
}

static tess_status open_arrays(tess_context *ctx, tess_ar_numpy_file *f, const char *path,
                               const tess_autoreject_epochs_config *config,
                               tess_ar_continuous *continuous)
{
    tess_autoreject_sensors sensors;
    tess_autoreject_epochs_info *info = &f->epochs->info;
    TESS_TRY(check_array(f, path));
    TESS_TRY(prepare(ctx, f, path));
    TESS_TRY(tess_ar_numpy_sensors(f, &sensors));
    TESS_TRY(tess_ar_numpy_times(f, config));
    info->stored_dtype = f->dtype;
    if (f->is_continuous) {
        *continuous = (tess_ar_continuous){
            .sensors = sensors,
            .sampling_hz = f->sampling_hz,
            .n_sample = f->n_time,
            .read = read_samples,
            .close = close_numpy,
            .impl = f,
        };
        return tess_ar_numpy_annotations(f, continuous);
    }
    info->n_epoch = f->n_epoch;
    info->n_time = f->n_time;
    info->sampling_hz = f->sampling_hz;
    info->tmin = f->tmin;
    TESS_TRY(tess_ar_epochs_set_sensors(f->epochs, &sensors));
    TESS_TRY(tess_ar_numpy_events(f));
    const bool is_direct = tess_source_is_direct(f->source);
    f->epochs->reader = (tess_ar_reader){.impl = f,
                                         .read = is_direct ? read_direct : read_epochs,
                                         .close = close_numpy,
                                         .is_concurrent = is_direct};
    return TESS_OK;
}

static tess_status open_source(tess_context *ctx, tess_ar_numpy_file *f, const char *path,
                               const tess_autoreject_epochs_config *config)
{
    tess_source_config source;
    const tess_format *format = NULL;
    tess_source_config_init(&source, sizeof source);
    TESS_TRY(tess_format_of_file(ctx, path, &format));
    f->epochs->info.format = format->name;
    if (strcmp(format->name, "npy") != 0) {
        TESS_TRY(tess_bundle_open(ctx, path, &f->bundle));
        TESS_TRY(choose(f, config ? config->dataset : NULL, &source.dataset));
    }
    TESS_TRY(tess_source_open(ctx, path, &source, &f->source));
    return tess_ar_epochs_watch(f->epochs, tess_source_file(f->source));
}

static tess_status open_numpy(tess_context *ctx, const char *path,
                              const tess_autoreject_epochs_config *config,
                              tess_autoreject_epochs *epochs, tess_ar_continuous *continuous,
                              bool *is_continuous)
{
    tess_ar_numpy_file *f = tess_ar_epochs_alloc(epochs, sizeof *f);
    if (!f) {
        return TESS_E_MEMORY;
    }
    f->epochs = epochs;
    tess_status status = open_source(ctx, f, path, config);
    if (status == TESS_OK) {
        status = open_arrays(ctx, f, path, config, continuous);
    }
    if (status == TESS_OK && f->bundle.ctx) {
        status = tess_bundle_check(&f->bundle);
    }
    *is_continuous = f->is_continuous;
    if (status != TESS_OK) {
        close_numpy(ctx, f);
    }
    return status;
}

const tess_ar_file_format tess_ar_numpy = {"numpy", probe, open_numpy};

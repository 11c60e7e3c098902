// EEGLAB's sets in MAT files of version 7.3. The HDF5 helper tells what describes the recording;
// the samples, single or double, are read from their data set, whose axes come slowest first.
#include "base/status.h"
#include "runtime/source.h"
#include "systems/autoreject/files/eeglab.h"

#include <inttypes.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 19, SIGNATURE_BYTES = 8, PATH_BYTES = 512 };

// What is read of structs at any depth.
#define WANTED                                                                                     \
    "EEG|ALLEEG|STUDY|datasetinfo|filename|filepath|setname|nbchan|pnts|trials|srate|xmin|data|"   \
    "chanlocs|labels|type|X|Y|Z|event|latency|duration|epoch|eventtype"

bool tess_eeglab_is_hdf5(const tess_infile *file)
{
    // At the start, or behind MATLAB's header of 512 bytes.
    static const uint64_t places[] = {0, 512};
    uint8_t head[SIGNATURE_BYTES];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (file->bytes >= places[i] + sizeof head &&
            tess_infile_read(file, head, sizeof head, places[i]) == TESS_OK &&
            memcmp(head, "\x89HDF\r\n\x1a\n", sizeof head) == 0) {
            return true;
        }
    }
    return false;
}

tess_status tess_eeglab_open_hdf5(tess_context *ctx, const tess_infile *file, tess_mat *mat)
{
    const tess_format *format = NULL;
    *mat = (tess_mat){.ctx = ctx, .file = file, .path = file->path};
    TESS_TRY(tess_format_of_file(ctx, file->path, &format));
    if (!format->matlab) {
        TESS_FAIL(TESS_E_FORMAT, "%s: looks like a MAT file of version 7.3 and is a %s file",
                  file->path, format->name);
    }
    TESS_TRY(format->matlab(&ctx->host, file->path, WANTED, &mat->image, &mat->image_bytes));
    if (!mat->image) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: an HDF5 file without EEG, ALLEEG or STUDY; is this an EEGLAB data set?",
                  file->path);
    }
    return TESS_OK;
}

static tess_status check_shape(tess_eeglab *set, const tess_source_info *info)
{
    const bool has_trials = info->rank == 3;
    const int64_t *shape = info->shape + (has_trials ? 1 : 0);
    const bool is_number = info->dtype >= TESS_I8 && info->dtype <= TESS_F64 &&
                           info->dtype != TESS_F16 && info->dtype != TESS_BF16;
    const bool is_right = (has_trials || info->rank == 2) && is_number &&
                          shape[1] == set->n_channel &&
                          (has_trials ? info->shape[0] == set->n_trial && shape[0] == set->n_time
                                      : shape[0] == set->samples.n_sample);
    if (!is_right) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: EEG.data is no array of nbchan x pnts x trials = %" PRId64 " x %" PRId64
                  " x %" PRId64 " numbers; repair the data set in EEGLAB (eeg_checkset)",
                  set->path, set->n_channel, set->n_time, set->n_trial);
    }
    set->source_rank = info->rank;
    return TESS_OK;
}

tess_status tess_eeglab_open_hdf5_samples(tess_eeglab *set)
{
    tess_context *ctx = set->epochs->ctx;
    tess_ar_samples *s = &set->samples;
    char path[PATH_BYTES];
    tess_source_config config;
    TESS_TRY(tess_mat_elsewhere(&set->mat, &set->fields[TESS_EEGLAB_DATA], path, sizeof path));
    tess_source_config_init(&config, sizeof config);
    config.dataset = path;
    TESS_TRY(tess_source_open(ctx, set->path, &config, &set->source));
    TESS_TRY(tess_ar_epochs_watch(set->epochs, tess_source_file(set->source)));
    const tess_source_info *info = tess_source_get_info(set->source);
    TESS_TRY(check_shape(set, info));
    s->dtype = info->dtype;
    const size_t row = (size_t)set->n_channel * (size_t)info->item_bytes;
    s->buffer_bytes = set->source_rank == 3 ? row * (size_t)set->n_time
                      : row > PIECE_BYTES   ? row
                                            : PIECE_BYTES;
    if (s->buffer_bytes > ctx->memory_limit_bytes / 2) {
        TESS_FAIL(TESS_E_LIMIT,
                  "%s: an epoch of %zu bytes takes more than half of the memory limit", set->path,
                  s->buffer_bytes);
    }
    s->buffer = tess_ar_epochs_alloc(set->epochs, s->buffer_bytes);
    return s->buffer ? TESS_OK : TESS_E_MEMORY;
}

// Rows [n][n_channel] of the buffer into row at..at+n-1 of dst [n_channel][count].
static void spread(const tess_eeglab *set, const uint8_t *rows, int64_t n, const int64_t *channels,
                   int64_t n_channel, int64_t count, int64_t at, double *dst)
{
    const tess_ar_samples *s = &set->samples;
    const int64_t item = (int64_t)tess_dtype_bytes((tess_dtype)s->dtype);
    for (int64_t c = 0; c < n_channel; c++) {
        tess_ar_convert(s->dtype, rows + channels[c] * item, s->n_channel, n,
                        s->factors[channels[c]], dst + c * count + at);
    }
}

tess_status tess_eeglab_read_hdf5(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                  const int64_t *channels, int64_t n_channel, double *dst)
{
    tess_eeglab *set = impl;
    tess_ar_samples *s = &set->samples;
    const size_t row = (size_t)s->n_channel * tess_dtype_bytes((tess_dtype)s->dtype);
    if (set->source_rank == 3) { // one trial
        TESS_TRY(tess_source_read(set->source, 0, 1, s->buffer, s->buffer_bytes));
        spread(set, s->buffer + (size_t)first * row, count, channels, n_channel, count, 0, dst);
        return TESS_OK;
    }
    const int64_t step = (int64_t)(s->buffer_bytes / row);
    for (int64_t done = 0; done < count; done += step) {
        const int64_t n = count - done < step ? count - done : step;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(
            tess_source_read(set->source, first + done, n, s->buffer, (uint64_t)n * (uint64_t)row));
        spread(set, s->buffer, n, channels, n_channel, count, done, dst);
    }
    return TESS_OK;
}

tess_status tess_eeglab_read_hdf5_epochs(tess_context *ctx, void *impl, int64_t first,
                                         int64_t count, const int64_t *channels, int64_t n_channel,
                                         double *dst)
{
    tess_eeglab *set = impl;
    for (int64_t e = 0; e < count; e++) {
        double *epoch = dst + e * n_channel * set->n_time;
        TESS_TRY(tess_context_check_cancel(ctx));
        if (set->source_rank == 2) { // trials one after another
            TESS_TRY(tess_eeglab_read_hdf5(ctx, impl, (first + e) * set->n_time, set->n_time,
                                           channels, n_channel, epoch));
        } else {
            TESS_TRY(tess_source_read(set->source, first + e, 1, set->samples.buffer,
                                      set->samples.buffer_bytes));
            spread(set, set->samples.buffer, set->n_time, channels, n_channel, set->n_time, 0,
                   epoch);
        }
    }
    return TESS_OK;
}

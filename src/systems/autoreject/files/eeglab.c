#include "systems/autoreject/files/eeglab.h"

#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_CHANNEL = 65536 };

static const double VOLTS = 1e-6; // EEGLAB works in microvolts

static int probe(const char *path, const uint8_t *head, size_t head_bytes)
{
    const bool is_mat = head_bytes >= 128 && memcmp(head, "MATLAB ", 7) == 0 &&
                        (memcmp(head + 126, "IM", 2) == 0 || memcmp(head + 126, "MI", 2) == 0);
    return is_mat || tess_ar_has_extension(path, ".set");
}

static tess_status read_number(tess_eeglab *set, tess_eeglab_field field, double least, double most,
                               double otherwise, double *value)
{
    bool is_there = false;
    TESS_TRY(tess_mat_scalar(&set->mat, &set->fields[field], value, &is_there));
    if (!is_there && isfinite(otherwise)) {
        *value = otherwise;
        return TESS_OK;
    }
    if (!is_there || !(*value >= least && *value <= most)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: EEG.%s is %s, expected a number from %g to %g; is this an EEGLAB data set?",
                  set->path, tess_eeglab_field_name(field), is_there ? "out of range" : "missing",
                  least, most);
    }
    return TESS_OK;
}

static tess_status read_sizes(tess_eeglab *set)
{
    double n_channel = 0;
    double n_time = 0;
    double n_trial = 0;
    int64_t n = 0;
    TESS_TRY(read_number(set, TESS_EEGLAB_NBCHAN, 1, MAX_CHANNEL, (double)NAN, &n_channel));
    TESS_TRY(read_number(set, TESS_EEGLAB_PNTS, 1, 1e15, (double)NAN, &n_time));
    TESS_TRY(read_number(set, TESS_EEGLAB_TRIALS, 1, 1e9, 1, &n_trial));
    TESS_TRY(read_number(set, TESS_EEGLAB_SRATE, 1e-6, 1e9, (double)NAN, &set->sampling_hz));
    TESS_TRY(read_number(set, TESS_EEGLAB_XMIN, -1e9, 1e9, 0, &set->xmin));
    set->n_channel = (int64_t)n_channel;
    set->n_time = (int64_t)n_time;
    set->n_trial = (int64_t)n_trial;
    if (!tess_mul_i64(set->n_time, set->n_trial, &n) || n > INT64_MAX / 8 / set->n_channel) {
        TESS_FAIL(TESS_E_FORMAT, "%s: %" PRId64 " epochs of %" PRId64 " samples are too many",
                  set->path, set->n_trial, set->n_time);
    }
    set->samples.n_sample = n;
    return TESS_OK;
}

// Files of samples beside the set, float32 little-endian: all channels of a sample together (.fdt),
// or, of old versions, channel by channel (.dat).
static tess_status open_beside(tess_eeglab *set, uint64_t *bytes)
{
    tess_ar_samples *s = &set->samples;
    char name[512];
    TESS_TRY(tess_mat_text(&set->mat, &set->fields[TESS_EEGLAB_DATA], name, sizeof name));
    const bool is_dat = tess_ar_has_extension(name, ".dat");
    TESS_TRY(
        tess_ar_samples_find(set->epochs, set->path, name, is_dat ? ".dat" : ".fdt", &s->path));
    TESS_TRY(tess_ar_epochs_open_input(set->epochs, s->path, &s->file));
    *bytes = s->file->bytes;
    s->dtype = TESS_F32;
    s->is_interleaved = !tess_ar_has_extension(s->path, ".dat");
    return TESS_OK;
}

// Samples of the .set itself: where they lie, or the unpacked variable.
static tess_status find_inside(tess_eeglab *set, uint64_t *bytes)
{
    tess_ar_samples *s = &set->samples;
    const tess_mat_array *array = &set->fields[TESS_EEGLAB_DATA];
    tess_mat_place place = {0};
    TESS_TRY(tess_mat_numbers(&set->mat, array, &s->dtype, &place));
    if (s->dtype == 0 || array->shape[0] != set->n_channel ||
        array->n_item != set->n_channel * s->n_sample) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: EEG.data is no array of nbchan x pnts x trials = %" PRId64 " x %" PRId64
                  " x %" PRId64 " numbers; repair the data set in EEGLAB (eeg_checkset)",
                  set->path, set->n_channel, set->n_time, set->n_trial);
    }
    *bytes = place.end - place.begin;
    s->is_swapped = set->mat.is_swapped;
    s->path = set->path;
    if (place.memory) {
        s->memory = place.memory + place.begin;
    } else {
        s->file = set->mat.file;
        s->offset = place.begin;
    }
    return TESS_OK;
}

static tess_status open_samples(tess_eeglab *set)
{
    tess_ar_samples *s = &set->samples;
    const int32_t kind = set->fields[TESS_EEGLAB_DATA].array_class;
    double *factors = tess_ar_epochs_alloc(set->epochs, (size_t)set->n_channel * sizeof *factors);
    if (!factors) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < set->n_channel; c++) {
        factors[c] = VOLTS;
    }
    s->factors = factors;
    s->n_channel = set->n_channel;
    s->n_time = set->n_time;
    s->is_interleaved = true;
    if (kind == TESS_MAT_ELSEWHERE) {
        return tess_eeglab_open_hdf5_samples(set);
    }
    uint64_t bytes = 0;
    TESS_TRY(kind == TESS_MAT_CHAR ? open_beside(set, &bytes) : find_inside(set, &bytes));
    return tess_ar_samples_prepare(set->epochs, s, bytes);
}

static void close_set(tess_context *ctx, void *impl)
{
    tess_eeglab *set = impl;
    (void)ctx;
    tess_source_close(set->source);
    set->source = NULL;
    tess_mat_close(&set->mat);
}

static tess_status read_recording(tess_context *ctx, tess_eeglab *set,
                                  tess_ar_continuous *continuous, bool *is_continuous)
{
    tess_autoreject_epochs *epochs = set->epochs;
    tess_autoreject_sensors sensors;
    TESS_TRY(tess_eeglab_find_fields(ctx, set));
    TESS_TRY(read_sizes(set));
    TESS_TRY(open_samples(set));
    TESS_TRY(tess_eeglab_channels(set, &sensors));
    epochs->info.format = "eeglab";
    epochs->info.stored_dtype = set->samples.dtype;
    *is_continuous = set->n_trial == 1;
    if (*is_continuous) {
        *continuous = (tess_ar_continuous){
            .sensors = sensors,
            .sampling_hz = set->sampling_hz,
            .n_sample = set->samples.n_sample,
            .read = set->source ? tess_eeglab_read_hdf5 : tess_ar_samples_read,
            .close = close_set,
            .impl = set,
        };
        return tess_eeglab_annotations(set, continuous);
    }
    epochs->info.n_epoch = set->n_trial;
    epochs->info.n_time = set->n_time;
    epochs->info.sampling_hz = set->sampling_hz;
    epochs->info.tmin = set->xmin;
    TESS_TRY(tess_ar_epochs_set_sensors(epochs, &sensors));
    TESS_TRY(tess_eeglab_epoch_events(set));
    epochs->reader = (tess_ar_reader){.impl = set,
                                      .read = set->source ? tess_eeglab_read_hdf5_epochs
                                                          : tess_ar_samples_read_epochs,
                                      .close = close_set};
    return TESS_OK;
}

static tess_status open_eeglab(tess_context *ctx, const char *path,
                               const tess_autoreject_epochs_config *config,
                               tess_autoreject_epochs *epochs, tess_ar_continuous *continuous,
                               bool *is_continuous)
{
    tess_eeglab *set = tess_ar_epochs_alloc(epochs, sizeof *set);
    const char *kept = tess_ar_epochs_text(epochs, path);
    const char *wanted =
        tess_ar_epochs_text(epochs, config && config->dataset ? config->dataset : "");
    if (!set || !kept || !wanted) {
        return TESS_E_MEMORY;
    }
    set->epochs = epochs;
    set->path = kept;
    set->wanted = wanted;
    set->mat.ctx = ctx;
    const tess_status status = read_recording(ctx, set, continuous, is_continuous);
    if (status != TESS_OK) {
        close_set(ctx, set);
    }
    return status;
}

const tess_ar_file_format tess_ar_eeglab = {"eeglab", probe, open_eeglab};

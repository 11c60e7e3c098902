// Opening files: the format by content, then what every format leaves open.
#include "base/infile.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/autoreject/files/bids.h"
#include "systems/autoreject/files/recording.h"
#include "systems/autoreject/montage/montage.h"

#include <math.h>
#include <string.h>

// In the order they are tried.
static const tess_ar_file_format *const formats[] = {
    &tess_ar_fif, &tess_ar_edf, &tess_ar_brainvision, &tess_ar_eeglab, &tess_ar_numpy,
};

enum { HEAD_BYTES = 4096 };

static tess_status find_format(const char *path, const tess_ar_file_format **found)
{
    uint8_t head[HEAD_BYTES];
    tess_infile file;
    TESS_TRY(tess_infile_open(path, &file));
    const size_t n = file.bytes < sizeof head ? (size_t)file.bytes : sizeof head;
    const tess_status status = tess_infile_read(&file, head, n, 0);
    tess_infile_close(&file);
    TESS_TRY(status);
    if (n == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: is empty: copy the file again", path);
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i]->probe(path, head, n)) {
            *found = formats[i];
            return TESS_OK;
        }
    }
    TESS_FAIL(
        TESS_E_FORMAT,
        "%s: is none of FIF, EDF, BDF, BrainVision (.vhdr), EEGLAB (.set), .npy, .npz; open it "
        "with MNE and pass the epochs, or save them as FIF",
        path);
}

// What the caller knows better than the file.
static tess_status apply_config(tess_context *ctx, const char *path,
                                const tess_autoreject_epochs_config *config,
                                tess_autoreject_epochs *epochs)
{
    if (config->types) {
        TESS_TRY(tess_ar_apply_types(config->types, epochs));
    }
    if (config->bads) {
        TESS_TRY(tess_ar_apply_bads(config->bads, epochs));
    }
    return config->montage ? tess_ar_apply_montage(ctx, config->montage, epochs)
                           : tess_ar_bids_electrodes(ctx, path, epochs);
}

static void note_projectors(tess_autoreject_epochs *epochs)
{
    int64_t n = 0;
    for (int64_t k = 0; k < epochs->sensors.n_projector; k++) {
        n += !epochs->sensors.projectors[k].is_active;
    }
    if (n > 0) {
        tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_PROJECTORS,
                            "%lld of %lld projectors are not applied to the samples", (long long)n,
                            (long long)epochs->sensors.n_projector);
    }
}

static bool holds_one(const char *format)
{
    static const char *const names[] = {"fif", "edf", "bdf", "brainvision", "npy"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        is_one = is_one || strcmp(format, names[i]) == 0;
    }
    return is_one;
}

// Options that had no effect would otherwise be taken for obeyed.
static void note_unused(const tess_autoreject_epochs_config *config, bool is_continuous,
                        tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_config usual;
    tess_autoreject_epochs_config_init(&usual, sizeof usual);
    const bool is_told_events =
        config->events || config->stim || config->tmin != usual.tmin || config->tmax != usual.tmax;
    if (!is_continuous &&
        (is_told_events || config->window > 0 || config->overlap > 0 || config->keep_annotated)) {
        tess_ar_epochs_tell(epochs, "the file holds epochs already: events, trigger channel, "
                                    "window, overlap, tmin, tmax and keep_annotated are not used");
    } else if (config->window > 0 && is_told_events) {
        tess_ar_epochs_tell(epochs, "windows are cut one after another: events, trigger channel, "
                                    "tmin and tmax are not used");
    }
    if (is_continuous && config->window == 0 && config->overlap > 0) {
        tess_ar_epochs_tell(epochs, "epochs are cut around events: overlap, which is of windows, "
                                    "is not used");
    }
    if (is_continuous && config->window == 0 && config->events && config->stim) {
        tess_ar_epochs_tell(epochs, "events are those of %s: the trigger channel '%s' is not used",
                            config->events, config->stim);
    }
    if (config->dataset && holds_one(epochs->info.format)) {
        tess_ar_epochs_tell(epochs,
                            "a file of format %s holds one recording: dataset '%s' is not "
                            "used",
                            epochs->info.format, config->dataset);
    }
    if (config->sampling_hz > 0 && config->sampling_hz != epochs->info.sampling_hz) {
        tess_ar_epochs_tell(epochs, "the file says %g Hz; the sampling rate of %g Hz is not used",
                            epochs->info.sampling_hz, config->sampling_hz);
    }
}

// What other files tell of the channels before anything goes by their names. continuous NULL: the
// file holds epochs.
static tess_status know_channels(tess_context *ctx, const char *path,
                                 const tess_autoreject_epochs_config *config,
                                 tess_ar_continuous *continuous, tess_autoreject_epochs *epochs)
{
    TESS_TRY(tess_ar_bids_sidecars(ctx, path, config, epochs, continuous));
    return config->montage
               ? tess_ar_name_by_montage(ctx, config->montage, epochs,
                                         continuous ? &continuous->sensors : &epochs->sensors)
               : TESS_OK;
}

static tess_status read_file(tess_context *ctx, const char *path,
                             const tess_autoreject_epochs_config *config,
                             tess_autoreject_epochs *epochs)
{
    const tess_ar_file_format *format = NULL;
    tess_ar_continuous continuous = {0};
    bool is_continuous = false;
    tess_autoreject_sensors_init(&continuous.sensors, sizeof continuous.sensors);
    TESS_TRY(find_format(path, &format));
    epochs->info.format = format->name;
    epochs->info.path = tess_ar_epochs_text(epochs, path);
    if (!epochs->info.path) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(format->open(ctx, path, config, epochs, &continuous, &is_continuous));
    const tess_status status =
        know_channels(ctx, path, config, is_continuous ? &continuous : NULL, epochs);
    if (status != TESS_OK) {
        if (is_continuous && continuous.close) {
            continuous.close(ctx, continuous.impl);
        }
        return status;
    }
    if (is_continuous) {
        TESS_TRY(tess_ar_epoching(ctx, config, &continuous, epochs));
    } else if (config->event) {
        TESS_TRY(tess_ar_select_epochs(config->event, epochs));
    }
    TESS_TRY(apply_config(ctx, path, config, epochs));
    tess_ar_bids_warn(epochs);
    if (config->proj) {
        TESS_TRY(tess_ar_apply_projectors(epochs));
    }
    note_projectors(epochs);
    note_unused(config, is_continuous, epochs);
    const bool is_default = config->baseline == TESS_AR_BASELINE_DEFAULT;
    if (config->baseline == TESS_AR_BASELINE_INTERVAL) {
        return tess_ar_apply_baseline(epochs, config->baseline_start, config->baseline_end);
    }
    if (is_default && is_continuous && config->window == 0 && epochs->info.tmin < 0) {
        // Epochs that end before their event have no other baseline than themselves.
        const double last_s =
            epochs->info.tmin + (double)(epochs->info.n_time - 1) / epochs->info.sampling_hz;
        return tess_ar_apply_baseline(epochs, -(double)INFINITY, last_s < 0 ? (double)INFINITY : 0);
    }
    return TESS_OK;
}

tess_status tess_ar_check_epochs_config(const tess_autoreject_epochs_config *config)
{
    TESS_TRY(tess_params_check(tess_autoreject_epochs_params(), config));
    if (config->tmax < config->tmin) {
        TESS_FAIL(TESS_E_RANGE, "--tmax: %g s is before --tmin, %g s", config->tmax, config->tmin);
    }
    if (config->window > 0 && config->overlap >= config->window) {
        TESS_FAIL(TESS_E_RANGE, "--overlap: %g s; must be less than the windows of %g s (--window)",
                  config->overlap, config->window);
    }
    if (config->baseline == TESS_AR_BASELINE_INTERVAL &&
        !(config->baseline_start <= config->baseline_end)) {
        TESS_FAIL(TESS_E_RANGE, "--baseline: its start, %g s, is behind its end, %g s",
                  config->baseline_start, config->baseline_end);
    }
    return config->types ? tess_ar_check_types(config->types) : TESS_OK;
}

static tess_status take_config(const tess_autoreject_epochs_config *given,
                               tess_autoreject_epochs_config *config)
{
    tess_autoreject_epochs_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    return tess_ar_check_epochs_config(config);
}

tess_status tess_autoreject_epochs_open(tess_context *ctx, const char *path,
                                        const tess_autoreject_epochs_config *given,
                                        tess_autoreject_epochs **out)
{
    tess_error_clear();
    *out = NULL;
    tess_autoreject_epochs_config config;
    TESS_TRY(take_config(given, &config));
    tess_autoreject_epochs *epochs = NULL;
    TESS_TRY(tess_ar_epochs_create(ctx, &epochs));
    const tess_status status = read_file(ctx, path, &config, epochs);
    if (status != TESS_OK) {
        tess_autoreject_epochs_close(epochs);
        return status;
    }
    *out = epochs;
    return TESS_OK;
}

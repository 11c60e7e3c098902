// Repairs the surviving epochs by a reject log and leaves out the others.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/origin.h"
#include "systems/autoreject/interpolation/apply.h"
#include "systems/autoreject/local/bins.h"
#include "systems/autoreject/local/model.h"
#include "systems/autoreject/local/setup.h"

#include <string.h>

enum { BLOCK_BYTES = 16 << 20, EEG = 0, MEG = 1, N_KIND = 2 };

// Channels that are predicted from each other: EEG, or mag and grad together.
typedef struct kind {
    int64_t *channels; // of the epochs, ascending
    int32_t *rows;     // the same
    int64_t n;
    tess_ar_repairer *repairer; // NULL: nothing to repair
} kind;

typedef struct transform {
    tess_context *ctx;
    tess_device *device;
    const tess_autoreject_model *model;
    tess_autoreject_epochs *epochs;
    tess_autoreject_transform_config config;
    tess_blocks memory;
    uint8_t *drop; // [n_epoch]
    uint8_t *bad;  // [n_epoch][n_chan] 1: predict
    int64_t n_kept;
    kind kinds[N_KIND];
} transform;

static tess_status check_log(const transform *t, const tess_autoreject_log_info *log)
{
    const tess_autoreject_sensors *sensors = &t->epochs->sensors;
    if (log->n_epoch != t->epochs->info.n_epoch || log->n_chan != sensors->n_chan) {
        TESS_FAIL(TESS_E_SHAPE,
                  "log: is of %lld epochs and %lld channels, the epochs have %lld and %lld",
                  (long long)log->n_epoch, (long long)log->n_chan,
                  (long long)t->epochs->info.n_epoch, (long long)sensors->n_chan);
    }
    for (int64_t c = 0; c < log->n_chan; c++) {
        if (strcmp(log->channel_names[c], sensors->channels[c].name) != 0) {
            TESS_FAIL(TESS_E_MISMATCH, "log: channel %lld is '%s', that of the epochs is '%s'",
                      (long long)c, log->channel_names[c], sensors->channels[c].name);
        }
    }
    return TESS_OK;
}

// Marks the channels of the model's types; sorts those that can be predicted into kinds.
static tess_status find_kinds(transform *t, uint8_t *is_fitted)
{
    const tess_autoreject_model_info *info = &t->model->info;
    const int64_t n_chan = t->epochs->sensors.n_chan;
    int64_t *epochs_of = tess_blocks_alloc(&t->memory, info->n_chan, sizeof *epochs_of, "channels");
    if (!epochs_of) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_ar_model_match(t->model, t->epochs, epochs_of));
    for (int64_t i = 0; i < info->n_type; i++) {
        for (int64_t c = 0; c < info->types[i].n_chan; c++) {
            is_fitted[epochs_of[info->types[i].channels[c]]] = 1;
        }
    }
    for (int k = 0; k < N_KIND; k++) {
        kind *own = &t->kinds[k];
        own->channels = tess_blocks_alloc(&t->memory, n_chan, sizeof *own->channels, "channels");
        own->rows = tess_blocks_alloc(&t->memory, n_chan, sizeof *own->rows, "channels");
        if (!own->channels || !own->rows) {
            return TESS_E_MEMORY;
        }
        for (int64_t c = 0; c < n_chan; c++) {
            const int32_t type = t->epochs->sensors.channels[c].type;
            const bool is_own = k == EEG
                                    ? type == TESS_AUTOREJECT_EEG
                                    : type == TESS_AUTOREJECT_MAG || type == TESS_AUTOREJECT_GRAD;
            if (is_fitted[c] && is_own) {
                own->rows[own->n] = (int32_t)c;
                own->channels[own->n++] = c;
            }
        }
    }
    return TESS_OK;
}

static tess_status unknown_channel(const transform *t, int64_t c)
{
    TESS_FAIL(TESS_E_MISMATCH,
              "You are passing channels which were not present at fit-time. Please fit it again, "
              "this time correctly: '%s' is not one of the model's",
              t->epochs->sensors.channels[c].name);
}

// A bad epoch that is kept is repaired like others, but stays as it is where too little is good.
static void leave_hopeless(transform *t, int64_t epoch)
{
    uint8_t *bad = t->bad + epoch * t->epochs->sensors.n_chan;
    for (int k = 0; k < N_KIND; k++) {
        int64_t n_good = 0;
        for (int64_t i = 0; i < t->kinds[k].n; i++) {
            n_good += !bad[t->kinds[k].channels[i]];
        }
        for (int64_t i = 0; n_good < TESS_AR_LEAST_SOURCES && i < t->kinds[k].n; i++) {
            bad[t->kinds[k].channels[i]] = 0;
        }
    }
}

// What is dropped, and what is predicted in the rest.
static tess_status read_log(transform *t, const tess_autoreject_log_info *log,
                            const uint8_t *is_fitted)
{
    const int64_t n_chan = log->n_chan;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        bool has_bad = false;
        for (int64_t c = 0; c < n_chan; c++) {
            const int8_t label = log->labels[e * n_chan + c];
            const int32_t type = t->epochs->sensors.channels[c].type;
            if (label > 0 && !is_fitted[c]) {
                return unknown_channel(t, c);
            }
            has_bad = has_bad || label == 1;
            t->bad[e * n_chan + c] = label == 2 && tess_ar_type_is_predictable(type);
        }
        const bool is_bad = log->bad_epochs[e] || (t->config.drop_partial && has_bad);
        t->drop[e] = is_bad && !t->config.keep_bad;
        if (is_bad) {
            leave_hopeless(t, e);
        }
        t->n_kept += !t->drop[e];
    }
    return TESS_OK;
}

static tess_status open_repairers(transform *t)
{
    const tess_autoreject_interpolation_config config =
        tess_ar_model_interpolation(&t->model->info);
    const int64_t n_chan = t->epochs->sensors.n_chan;
    for (int k = 0; k < N_KIND; k++) {
        kind *own = &t->kinds[k];
        bool is_needed = false;
        for (int64_t e = 0; e < t->epochs->info.n_epoch && !is_needed; e++) {
            for (int64_t i = 0; i < own->n; i++) {
                is_needed = is_needed || t->bad[e * n_chan + own->channels[i]];
            }
        }
        if (is_needed) {
            TESS_TRY(tess_ar_repairer_create(t->ctx, t->device, &t->epochs->sensors, own->channels,
                                             own->n, &config, &own->repairer));
        }
    }
    return TESS_OK;
}

// Repairs epochs first..first+count-1 of all channels in place.
static tess_status repair(void *user, int64_t first, int64_t count, double *samples)
{
    transform *t = user;
    const int64_t n_chan = t->epochs->sensors.n_chan;
    const int64_t n_time = t->epochs->info.n_time;
    for (int k = 0; k < N_KIND; k++) {
        const kind *own = &t->kinds[k];
        const tess_ar_samples args = {.x = samples,
                                      .n_epoch = count,
                                      .width = n_time,
                                      .stride_epoch = n_chan * n_time,
                                      .stride_chan = n_time,
                                      .bad = t->bad + first * n_chan,
                                      .stride_bad = n_chan,
                                      .rows = own->rows,
                                      .n = own->n,
                                      .first_epoch = first};
        if (own->repairer) {
            TESS_TRY(tess_ar_repair_samples(t->ctx, own->repairer, &args, NULL, 0, 0));
        }
    }
    return TESS_OK;
}

static tess_status check_out(const transform *t, const tess_array *out)
{
    const int64_t want[3] = {t->n_kept, t->epochs->sensors.n_chan, t->epochs->info.n_time};
    if (out->rank != 3 || out->dtype != TESS_F64 || out->space == TESS_SPACE_DEVICE ||
        !tess_array_is_contiguous(out) || memcmp(out->shape, want, sizeof want) != 0) {
        TESS_FAIL(TESS_E_SHAPE,
                  "out: must be f64 [%lld][%lld][%lld] in host memory, items one after another",
                  (long long)want[0], (long long)want[1], (long long)want[2]);
    }
    return TESS_OK;
}

static tess_status fill_array(transform *t, tess_array *out)
{
    const int64_t n_epoch = t->epochs->info.n_epoch;
    const int64_t epoch_items = t->epochs->sensors.n_chan * t->epochs->info.n_time;
    const size_t epoch_bytes = (size_t)epoch_items * sizeof(double);
    int64_t block = (int64_t)(BLOCK_BYTES / epoch_bytes);
    block = block < 1 ? 1 : block;
    double *at = out->data;
    tess_watch progress;
    tess_watch_begin(&progress, t->ctx, "autoreject.transform", "epochs", 0,
                     (uint64_t)n_epoch * epoch_bytes, TESS_STRATEGY_LARGE);
    for (int64_t e = 0; e < n_epoch;) {
        int64_t n = 0;
        while (e + n < n_epoch && n < block && !t->drop[e + n]) {
            n++;
        }
        if (n > 0) {
            TESS_TRY(tess_autoreject_epochs_read(t->ctx, t->epochs, e, n, NULL, 0, at));
            TESS_TRY(repair(t, e, n, at));
            at += n * epoch_items;
        }
        e += n > 0 ? n : 1;
        TESS_TRY(tess_watch_poll(&progress, e, n_epoch));
    }
    return TESS_OK;
}

static tess_status write_file(transform *t, const char *path)
{
    tess_autoreject_write_config config;
    tess_autoreject_write_config_init(&config, sizeof config);
    config.overwrite = t->config.overwrite;
    config.double_precision = t->config.double_precision;
    config.drop = t->drop;
    config.edit = repair;
    config.user = t;
    const char *input = t->epochs->info.path;
    const tess_origin origin = {.stage = "autoreject.transform",
                                .inputs = {input[0] ? input : NULL},
                                .tables = {tess_autoreject_transform_params()},
                                .values = {&t->config}};
    char *text = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_origin_make(t->ctx, &origin, &text, &bytes));
    config.provenance = text;
    const tess_status status = tess_autoreject_epochs_write(t->ctx, t->epochs, path, &config);
    tess_heap_free(&t->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status run(transform *t, const tess_autoreject_log *log, tess_array *out,
                       const char *path)
{
    const int64_t n_epoch = t->epochs->info.n_epoch;
    const int64_t n_chan = t->epochs->sensors.n_chan;
    uint8_t *is_fitted = tess_blocks_alloc(&t->memory, n_chan, 1, "channels");
    t->drop = tess_blocks_alloc(&t->memory, n_epoch, 1, "dropped epochs");
    t->bad = tess_blocks_alloc(&t->memory, n_epoch * n_chan, 1, "channels to repair");
    if (!is_fitted || !t->drop || !t->bad) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(check_log(t, &log->info));
    TESS_TRY(find_kinds(t, is_fitted));
    TESS_TRY(read_log(t, &log->info, is_fitted));
    if (!out && !path) {
        return TESS_OK; // only how many are kept
    }
    TESS_TRY(tess_ar_repair_device(t->ctx, "transform", &t->device));
    TESS_TRY(open_repairers(t));
    if (path) {
        return write_file(t, path);
    }
    TESS_TRY(check_out(t, out));
    return fill_array(t, out);
}

tess_status tess_autoreject_transform(tess_context *ctx, const tess_autoreject_model *model,
                                      tess_autoreject_epochs *epochs,
                                      const tess_autoreject_log *log,
                                      const tess_autoreject_transform_config *config,
                                      tess_array *out, const char *path, int64_t *n_kept)
{
    tess_error_clear();
    transform t = {.ctx = ctx, .model = model, .epochs = epochs};
    tess_autoreject_transform_config_init(&t.config, sizeof t.config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &t.config, sizeof t.config, "config"));
    }
    if (out && path) {
        TESS_FAIL(TESS_E_ARGUMENT, "out, path: one of them is filled, not both");
    }
    tess_blocks_init(&t.memory, &ctx->heap);
    const tess_status status = run(&t, log, out, path);
    for (int k = 0; k < N_KIND; k++) {
        tess_ar_repairer_destroy(t.kinds[k].repairer);
    }
    tess_blocks_free(&t.memory);
    if (n_kept) {
        *n_kept = t.n_kept;
    }
    return status;
}

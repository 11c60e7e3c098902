// Repairs the surviving epochs by a reject log and leaves out the others.
#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/origin.h"
#include "runtime/run_tiles.h"
#include "runtime/watch.h"
#include "runtime/work.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/epochs/identity.h"
#include "systems/autoreject/fit/setup.h"
#include "systems/autoreject/interpolation/apply.h"
#include "systems/autoreject/local/bins.h"
#include "systems/autoreject/result/model.h"

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
    const tess_autoreject_model *model;
    tess_autoreject_epochs *epochs;
    tess_autoreject_transform_config config;
    tess_blocks memory;
    uint8_t *drop; // [n_epoch]
    uint8_t *bad;  // [n_epoch][n_chan] 1: predict
    int64_t *kept; // [n_kept] epochs
    int64_t n_kept;
    kind kinds[N_KIND];
    tess_identity id;
    // With a checkpoint folder the repaired epochs lie there until all of them do.
    tess_work work;
    tess_spool spool;
    tess_run_tiles tiles; // of the spool
} transform;

static const char SPOOL[] = "spool.npy";

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A log of as many epochs and the same channels may still be of another recording; files may also
// have been renamed.
static void warn_of_other_epochs(const transform *t, const tess_autoreject_log *given)
{
    const char *input = t->epochs->info.path;
    if (given->path && given->input && input[0] &&
        strcmp(last_part(given->input), last_part(input)) != 0) {
        tess_log_warn(&t->ctx->log, TESS_W_AUTOREJECT_OTHER_EPOCHS,
                      "%s: was made of epochs in '%s', these are in '%s'; it is carried out as it "
                      "is",
                      given->path, last_part(given->input), last_part(input));
    }
    char sentence[TESS_AR_SENTENCE];
    // A log that was computed here says so itself.
    if (given->path && tess_ar_model_other_samples(&t->model->info, &t->epochs->info, sentence)) {
        tess_log_warn(&t->ctx->log, TESS_W_AUTOREJECT_SAMPLES, "%s", sentence);
    }
}

static tess_status check_log(const transform *t, const tess_autoreject_log *given)
{
    const tess_autoreject_sensors *sensors = &t->epochs->sensors;
    const tess_autoreject_log_info *log = &given->info;
    const char *subject = given->path ? given->path : "log";
    if (log->n_epoch != t->epochs->info.n_epoch || log->n_chan != sensors->n_chan) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: is a log of %lld epochs and %lld channels, the epochs have %lld and %lld; "
                  "give the log of these epochs",
                  subject, (long long)log->n_epoch, (long long)log->n_chan,
                  (long long)t->epochs->info.n_epoch, (long long)sensors->n_chan);
    }
    for (int64_t c = 0; c < log->n_chan; c++) {
        if (strcmp(log->channel_names[c], sensors->channels[c].name) != 0) {
            TESS_FAIL(TESS_E_MISMATCH,
                      "%s: channel %lld is '%s', that of the epochs is '%s'; give the log of these "
                      "epochs",
                      subject, (long long)c, log->channel_names[c], sensors->channels[c].name);
        }
    }
    warn_of_other_epochs(t, given);
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
        if (!t->drop[e]) {
            t->kept[t->n_kept++] = e;
        }
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
            TESS_TRY(tess_ar_repairer_create(t->ctx, &t->epochs->sensors, own->channels, own->n,
                                             &config, &own->repairer));
        }
    }
    return TESS_OK;
}

// Repairs epochs first..first+count-1 of all channels in place.
static tess_status repair(transform *t, int64_t first, int64_t count, double *samples)
{
    const int64_t n_chan = t->epochs->sensors.n_chan;
    const int64_t n_time = t->epochs->info.n_time;
    for (int k = 0; k < N_KIND; k++) {
        const kind *own = &t->kinds[k];
        const tess_ar_samples args = {.device = &t->ctx->cpu,
                                      .x = samples,
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

// ---- Checkpoints ------------------------------------------------------------------------------

static tess_status identify(transform *t)
{
    const tess_autoreject_interpolation_config interpolation =
        tess_ar_model_interpolation(&t->model->info);
    const tess_param_table *const tables[] = {tess_autoreject_transform_params(),
                                              tess_autoreject_interpolation_params()};
    const void *const configs[] = {&t->config, &interpolation};
    const int64_t n_chan = t->epochs->sensors.n_chan;
    tess_hash hash = {0, 0};
    tess_hash_mix(&hash, t->drop, (size_t)t->epochs->info.n_epoch);
    tess_hash_mix(&hash, t->bad, (size_t)(t->epochs->info.n_epoch * n_chan));
    for (int k = 0; k < N_KIND; k++) {
        tess_hash_mix(&hash, t->kinds[k].channels, (size_t)t->kinds[k].n * sizeof(int64_t));
    }
    if (interpolation.eeg_origin) {
        tess_hash_mix(&hash, interpolation.eeg_origin, 3 * sizeof *interpolation.eeg_origin);
    }
    int64_t *all = tess_blocks_alloc(&t->memory, n_chan, sizeof *all, "channels");
    if (!all) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n_chan; c++) {
        all[c] = c;
    }
    tess_identity_init(&t->id, t->ctx, "autoreject.transform", t->ctx->cpu.backend->name);
    tess_identity_add_settings(&t->id, NULL, tables, configs, 2, NULL);
    tess_identity_add_hash(&t->id, "model or reject log differ from those of this run", hash);
    TESS_TRY(tess_ar_identity_add_epochs(&t->id, t->ctx, t->epochs, all, n_chan));
    tess_ar_identity_add_file(&t->id, t->epochs);
    return TESS_OK;
}

static tess_status check_tiles(void *self, const tess_checkpoint *found, const char *path)
{
    transform *t = self;
    return tess_run_tiles_load(&t->tiles, found, t->n_kept, path);
}

static tess_status open_work(transform *t)
{
    static const char *const files[] = {SPOOL, NULL};
    const tess_work_config config = {.name = "autoreject.transform",
                                     .what = "transform",
                                     .folder = t->n_kept > 0 ? t->config.checkpoint_dir : NULL,
                                     .resume = t->n_kept > 0 ? t->config.resume : 0,
                                     .every_s = t->config.checkpoint_every_s,
                                     .keep = 2,
                                     .files = files,
                                     .check = check_tiles,
                                     .self = t};
    TESS_TRY(tess_work_open(t->ctx, &config, &t->id, &t->work));
    if (!tess_work_is_kept(&t->work)) {
        return TESS_OK;
    }
    char path[1024];
    tess_array shape;
    const bool is_found = t->work.is_found;
    const int64_t size[3] = {t->n_kept, t->epochs->sensors.n_chan, t->epochs->info.n_time};
    tess_work_path(&t->work, SPOOL, path);
    tess_work_forget(&t->work);
    TESS_TRY(tess_array_init(&shape, NULL, TESS_F64, 3, size));
    TESS_TRY(tess_spool_open_kept(path, &shape, is_found, &t->spool));
    return is_found ? tess_run_tiles_verify(&t->tiles, &t->spool) : TESS_OK;
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    const transform *t = self;
    // The data first: a checkpoint must never speak of epochs the disk does not have.
    TESS_TRY(tess_file_sync(t->spool.fd, t->spool.path));
    return tess_run_tiles_save(&t->tiles, writer);
}

static void save(transform *t)
{
    const double done = (double)tess_run_tiles_end(&t->tiles) / (double)t->n_kept;
    tess_work_save(&t->work, done, write_state, t);
}

static tess_status keep(transform *t, int64_t first, int64_t count, const double *samples)
{
    if (!tess_work_is_kept(&t->work)) {
        (void)tess_work_is_due(&t->work, false); // says so where one is wished for
        return TESS_OK;
    }
    TESS_TRY(tess_spool_write(&t->spool, first, count, samples));
    TESS_TRY(tess_run_tiles_note(&t->tiles, first, count, samples, t->spool.item_bytes));
    if (tess_work_is_due(&t->work, false)) {
        save(t);
    }
    return TESS_OK;
}

// ---- The epochs -------------------------------------------------------------------------------

// Kept epochs from..., as many neighbours as a block takes.
static int64_t block_at(const transform *t, int64_t from, int64_t most)
{
    int64_t n = 1;
    while (from + n < t->n_kept && n < most && t->kept[from + n] == t->kept[from] + n) {
        n++;
    }
    return n;
}

// All kept epochs from the first that is not in the spool: into out [n_kept][n_chan][n_time], or
// through buffer, which has room for a block.
static tess_status repair_all(transform *t, int64_t block, double *out, double *buffer)
{
    const int64_t epoch_items = t->epochs->sensors.n_chan * t->epochs->info.n_time;
    const int64_t first = tess_run_tiles_end(&t->tiles);
    tess_watch watch;
    tess_watch_begin(&watch, t->ctx, "autoreject.transform", "epochs", first,
                     (uint64_t)(t->n_kept * epoch_items) * sizeof(double), TESS_STRATEGY_LARGE);
    if (out && first > 0) {
        TESS_TRY(tess_spool_read(&t->spool, 0, first, out));
    }
    for (int64_t k = first; k < t->n_kept;) {
        const int64_t n = block_at(t, k, block);
        double *at = out ? out + k * epoch_items : buffer;
        TESS_TRY(tess_autoreject_epochs_read(t->ctx, t->epochs, t->kept[k], n, NULL, 0, at));
        TESS_TRY(repair(t, t->kept[k], n, at));
        TESS_TRY(keep(t, k, n, at));
        k += n;
        TESS_TRY(tess_watch_poll(&watch, k, t->n_kept));
    }
    return TESS_OK;
}

static tess_status repair_epochs(transform *t, double *out)
{
    const size_t epoch_bytes =
        (size_t)(t->epochs->sensors.n_chan * t->epochs->info.n_time) * sizeof(double);
    const int64_t most = (int64_t)(BLOCK_BYTES / epoch_bytes);
    const int64_t block = most < 1 ? 1 : most;
    const size_t bytes = out ? 0 : (size_t)block * epoch_bytes;
    double *buffer =
        out ? NULL : tess_heap_alloc(&t->ctx->heap, bytes, TESS_TAG_TILE, "a block of epochs");
    tess_status status = TESS_E_MEMORY;
    if (out || buffer) {
        status = repair_all(t, block, out, buffer);
    }
    tess_heap_free(&t->ctx->heap, buffer, bytes, TESS_TAG_TILE);
    // What is done, whatever stopped the rest; a file is still to be written.
    if (tess_work_is_kept(&t->work) && t->tiles.n > 0 && (status != TESS_OK || !out)) {
        save(t);
    }
    return status;
}

// ---- The file ---------------------------------------------------------------------------------

// Repairs what the writer has read.
static tess_status edit(void *user, int64_t first, int64_t count, double *samples)
{
    transform *t = user;
    (void)tess_work_is_due(&t->work, false); // says that none is kept, where one is wished for
    return repair(t, first, count, samples);
}

// Repaired epochs out of the spool; writers ask for neighbours that are kept, and all channels.
static tess_status read_spool(tess_context *ctx, void *impl, int64_t first, int64_t count,
                              const int64_t *channels, int64_t n_channel, double *dst)
{
    const transform *t = impl;
    (void)ctx;
    (void)channels;
    (void)n_channel;
    int64_t place = 0;
    while (t->kept[place] < first) {
        place++;
    }
    TESS_ASSERT(n_channel == t->epochs->sensors.n_chan && t->kept[place] == first);
    return tess_spool_read(&t->spool, place, count, dst);
}

// What the model chose, and what that did to these epochs.
static tess_status describe_result(const transform *t, tess_json *json, const char **text)
{
    const tess_autoreject_model_info *info = &t->model->info;
    int64_t n_repaired = 0;
    for (int64_t k = 0; k < t->n_kept; k++) {
        const uint8_t *bad = t->bad + t->kept[k] * t->epochs->sensors.n_chan;
        for (int64_t c = 0; c < t->epochs->sensors.n_chan; c++) {
            n_repaired += bad[c];
        }
    }
    tess_json_object_begin(json, NULL);
    tess_json_array_begin(json, "types");
    for (int64_t i = 0; i < info->n_type; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "type", tess_autoreject_type_name(info->types[i].type));
        tess_json_int(json, "channels", info->types[i].n_chan);
        tess_json_real(json, "consensus", info->types[i].consensus);
        tess_json_int(json, "n_interpolate", info->types[i].n_interpolate);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_int(json, "epochs_kept", t->n_kept);
    tess_json_int(json, "epochs_dropped", t->epochs->info.n_epoch - t->n_kept);
    tess_json_int(json, "channels_repaired", n_repaired);
    tess_json_object_end(json);
    return tess_json_finish(json, text);
}

// From the context's heap, *bytes long with its zero.
static tess_status make_origin(const transform *t, char **text, size_t *bytes)
{
    char digest[33];
    const char *input = t->epochs->info.path;
    const tess_autoreject_fit_config fit = tess_ar_model_options(&t->model->info);
    const bool is_fitted = fit.n_split > 0; // else it is not known how
    tess_origin origin = {.stage = "autoreject.transform",
                          .identity = digest,
                          .inputs = {input[0] ? input : NULL},
                          .tables = {tess_autoreject_transform_params(),
                                     is_fitted ? tess_autoreject_fit_params() : NULL},
                          .values = {&t->config, &fit}};
    tess_json *json = NULL;
    tess_identity_digest(&t->id, digest);
    TESS_TRY(tess_json_create(t->ctx, 0, &json));
    tess_status status = describe_result(t, json, &origin.result);
    if (status == TESS_OK) {
        status = tess_origin_make(t->ctx, &origin, text, bytes);
    }
    tess_json_destroy(json);
    return status;
}

static tess_status write_file(transform *t, const char *path)
{
    tess_autoreject_write_config config;
    tess_autoreject_write_config_init(&config, sizeof config);
    config.overwrite = t->config.overwrite;
    config.double_precision = t->config.double_precision;
    config.drop = t->drop;
    char *text = NULL;
    size_t bytes = 0;
    tess_autoreject_epochs repaired = *t->epochs;
    if (tess_work_is_kept(&t->work)) {
        TESS_TRY(repair_epochs(t, NULL));
        repaired.reader = (tess_ar_reader){.impl = t, .read = read_spool};
    } else {
        config.edit = edit;
        config.user = t;
    }
    TESS_TRY(make_origin(t, &text, &bytes));
    config.provenance = text;
    const tess_status status = tess_autoreject_epochs_write(t->ctx, &repaired, path, &config);
    tess_heap_free(&t->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

// With resume: whether the file is there already, of a run that was killed after naming it.
static tess_status find_finished(transform *t, const char *path, int *is_finished)
{
    *is_finished = 0;
    if (!path || !t->config.resume) {
        return TESS_OK;
    }
    TESS_TRY(tess_work_is_finished(t->ctx, &t->id, path, t->config.checkpoint_dir, is_finished));
    if (*is_finished) {
        tess_log_write(&t->ctx->log, TESS_LOG_INFO,
                       "%s: is there already as the result of this transform", path);
    }
    return TESS_OK;
}

static tess_status run(transform *t, const tess_autoreject_log *log, tess_array *out,
                       const char *path)
{
    const int64_t n_epoch = t->epochs->info.n_epoch;
    const int64_t n_chan = t->epochs->sensors.n_chan;
    uint8_t *is_fitted = tess_blocks_alloc(&t->memory, n_chan, 1, "channels");
    t->drop = tess_blocks_alloc(&t->memory, n_epoch, 1, "dropped epochs");
    t->bad = tess_blocks_alloc(&t->memory, n_epoch * n_chan, 1, "channels to repair");
    t->kept = tess_blocks_alloc(&t->memory, n_epoch, sizeof *t->kept, "epochs that stay");
    if (!is_fitted || !t->drop || !t->bad || !t->kept) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(check_log(t, log));
    TESS_TRY(find_kinds(t, is_fitted));
    TESS_TRY(read_log(t, &log->info, is_fitted));
    if (!out && !path) {
        return TESS_OK; // only how many are kept
    }
    if (out) {
        TESS_TRY(check_out(t, out));
    }
    if (path || t->config.checkpoint_dir) {
        TESS_TRY(identify(t));
    }
    int is_finished = 0;
    TESS_TRY(find_finished(t, path, &is_finished));
    if (is_finished) {
        return TESS_OK;
    }
    TESS_TRY(open_repairers(t));
    TESS_TRY(open_work(t));
    TESS_TRY(out ? repair_epochs(t, out->data) : write_file(t, path));
    tess_work_end(&t->work);
    return TESS_OK;
}

static void release(transform *t)
{
    for (int k = 0; k < N_KIND; k++) {
        tess_ar_repairer_destroy(t->kinds[k].repairer);
    }
    tess_work_close(&t->work);
    tess_spool_close(&t->spool);
    tess_run_tiles_free(&t->tiles);
    tess_identity_free(&t->id);
    tess_blocks_free(&t->memory);
}

tess_status tess_autoreject_transform(tess_context *ctx, const tess_autoreject_model *model,
                                      tess_autoreject_epochs *epochs,
                                      const tess_autoreject_log *log,
                                      const tess_autoreject_transform_config *config,
                                      tess_array *out, const char *path, int64_t *n_kept)
{
    tess_error_clear();
    transform t = {.ctx = ctx, .model = model, .epochs = epochs, .spool = {.fd = -1}};
    tess_autoreject_transform_config_init(&t.config, sizeof t.config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &t.config, sizeof t.config, "config"));
    }
    if (out && path) {
        TESS_FAIL(TESS_E_ARGUMENT, "out, path: one of them is filled, not both");
    }
    tess_blocks_init(&t.memory, &ctx->heap);
    tess_run_tiles_init(&t.tiles, &ctx->heap);
    const tess_status status = run(&t, log, out, path);
    release(&t);
    if (n_kept) {
        *n_kept = t.n_kept;
    }
    return status;
}

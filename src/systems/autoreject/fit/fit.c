// A fit: for each type of channel, one pass over the samples, thresholds, the local search.
#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/comm.h"
#include "runtime/work.h"
#include "systems/autoreject/epochs/identity.h"
#include "systems/autoreject/fit/fit_state.h"
#include "systems/autoreject/fit/splits_auto.h"
#include "systems/autoreject/local/local.h"
#include "systems/autoreject/threshold/thresholds.h"

#include <string.h>
#include <unistd.h>

enum { READ = 0, THRESHOLDS = 1, LOCAL = 2, ALL = 3 }; // of info.seconds
// Where a group stands, of its work as a whole, after reading and after its thresholds.
static const double READ_SHARE = 0.05;
static const double LOCAL_SHARE = 0.6;

typedef struct fit {
    tess_context *ctx;
    tess_ar_setup setup;
    tess_autoreject_model *model;
    tess_identity id;
    tess_work work;
    tess_ar_fit_state found; // of the checkpoint to go on from
    // Of the group at work.
    int64_t group;
    int64_t n_note; // characters of the notes before it
    int32_t phase;
    int64_t n_tile_all; // of the search at work
    tess_ar_memory_plan plan;
    tess_ar_repairer *repairer;
    const double *leave_one_out;
    tess_ar_store store;
} fit;

static void add_seconds(fit *f, int part, int64_t begin_ns)
{
    f->model->info.seconds[part] += (double)(tess_now_ns() - begin_ns) * 1e-9;
}

// The samples of each group.
static const char *const FILES[] = {
    "samples.0.tiles", "samples.1.tiles", "samples.2.tiles", "samples.3.tiles",
    "samples.4.tiles", "samples.5.tiles", "samples.6.tiles", NULL};
_Static_assert(sizeof FILES / sizeof *FILES == TESS_AUTOREJECT_N_SOLVABLE + 1, "one a group");

// share: of the group's work that is done.
static void save(fit *f, tess_ar_fit_mark mark, const tess_ar_store *store, const void *search,
                 double share)
{
    const tess_ar_group *groups = f->setup.groups;
    double done = mark.group < f->setup.n_group ? share * (double)groups[mark.group].n_chan : 0;
    for (int64_t g = 0; g < mark.group; g++) {
        done += (double)groups[g].n_chan;
    }
    mark.n_note = f->n_note;
    tess_ar_fit_state state = {
        .setup = &f->setup, .model = f->model, .mark = mark, .store = store, .search = search};
    tess_work_save(&f->work, done / (double)f->setup.n_pick, tess_ar_fit_state_write, &state);
}

static bool can_predict(const fit *f)
{
    return tess_ar_repairer_can(f->repairer);
}

// The original predicts an electrode that is alone by zero.
static const double ALONE[1] = {0};

static tess_status open_repairer(fit *f)
{
    const tess_ar_group *group = &f->setup.groups[f->group];
    const tess_autoreject_interpolation_config config =
        tess_ar_model_interpolation(&f->model->info);
    const bool is_needed = !f->setup.thresholds_only || f->setup.config.augment;
    f->leave_one_out = NULL;
    if (!is_needed) {
        return TESS_OK;
    }
    // Weights are small matrices, made where they lie.
    TESS_TRY(tess_ar_repairer_create(f->ctx, &f->setup.epochs->sensors, group->channels,
                                     group->n_chan, &config, &f->repairer));
    if (f->setup.config.augment && can_predict(f)) {
        TESS_TRY(tess_ar_repairer_leave_one_out(f->repairer, &f->leave_one_out));
    } else if (group->type == TESS_AUTOREJECT_EEG && tess_ar_setup_is_augmented(&f->setup, group)) {
        f->leave_one_out = ALONE;
    }
    return TESS_OK;
}

// Peak-to-peaks of an earlier run; the samples themselves lie in its file.
static tess_status reopen_store(fit *f, const tess_ar_store_request *request)
{
    const size_t bytes = (size_t)f->found.mark.n_delta * sizeof(double);
    TESS_TRY(tess_ar_store_reopen(f->ctx, request, &f->store));
    TESS_TRY(tess_checkpoint_get(&f->work.found, "delta", f->store.delta, bytes));
    return f->store.delta_augmented
               ? tess_checkpoint_get(&f->work.found, "deltaaug", f->store.delta_augmented, bytes)
               : TESS_OK;
}

// What was read again must be what the checkpoint was made of.
static tess_status compare_samples(fit *f)
{
    const size_t bytes = (size_t)f->found.mark.n_delta * sizeof(double);
    if (bytes == 0) {
        return TESS_OK;
    }
    double *delta = tess_heap_alloc(&f->ctx->heap, bytes, TESS_TAG_SCRATCH, "peak-to-peaks");
    tess_status status = delta ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_checkpoint_get(&f->work.found, "delta", delta, bytes);
    }
    if (status == TESS_OK && memcmp(delta, f->store.delta, bytes) != 0) {
        status = tess_error_set(TESS_E_MISMATCH,
                                "%s: the samples differ from those of this run; remove the folder "
                                "to start afresh",
                                f->work.newest);
    }
    tess_heap_free(&f->ctx->heap, delta, bytes, TESS_TAG_SCRATCH);
    return status;
}

static bool is_resumed(const fit *f)
{
    return f->work.is_found && f->found.mark.group == f->group;
}

static bool has_thresholds(const fit *f)
{
    return is_resumed(f) && f->found.mark.phase == TESS_AR_FIT_LOCAL;
}

static tess_status open_store(fit *f)
{
    const tess_ar_group *group = &f->setup.groups[f->group];
    const bool is_kept = tess_work_is_kept(&f->work);
    char path[1024];
    tess_work_path(&f->work, FILES[f->group], path);
    const tess_ar_store_request request = {.device = f->setup.device,
                                           .epochs = f->setup.epochs,
                                           .channels = group->channels,
                                           .n_chan = group->n_chan,
                                           .leave_one_out = f->leave_one_out,
                                           .keeps_predictions =
                                               f->plan.keeps_predictions && !has_thresholds(f),
                                           .folder = is_kept ? f->work.folder : NULL,
                                           .memory_bytes = f->plan.store_bytes,
                                           .kept_path = is_kept ? path : NULL};
    // A fit that was killed at its very end may have lost the file before the checkpoint.
    if (is_kept && is_resumed(f) && f->found.mark.has_file && access(path, F_OK) == 0) {
        return reopen_store(f, &request);
    }
    TESS_TRY(tess_ar_store_create(f->ctx, &request, &f->store));
    if (is_resumed(f)) {
        return compare_samples(f);
    }
    if (is_kept && f->store.scratch_fd >= 0) {
        const tess_ar_fit_mark mark = {.group = f->group, .phase = TESS_AR_FIT_READ};
        save(f, mark, &f->store, NULL, READ_SHARE);
    }
    return TESS_OK;
}

// Each rank has read all epochs, and takes what others make of theirs.
static tess_status compare_ranks(const fit *f)
{
    const size_t bytes = (size_t)(f->store.n_epoch * f->store.n_chan) * sizeof *f->store.delta;
    tess_hash hash = {0, 0};
    tess_hash_mix(&hash, f->store.delta, bytes);
    return tess_comm_agree(f->ctx, (tess_comm_point){"the samples of all epochs", hash.low},
                           TESS_OK);
}

// After every tile of a search.
static tess_status keep(void *user, int64_t n_tile_done, const void *state, size_t bytes)
{
    fit *f = user;
    const bool is_local = f->phase == TESS_AR_FIT_LOCAL;
    const double begin = is_local ? LOCAL_SHARE : READ_SHARE;
    const double end = is_local || f->setup.thresholds_only ? 1 : LOCAL_SHARE;
    const tess_ar_fit_mark mark = {
        .group = f->group, .phase = f->phase, .tiles = n_tile_done, .state_bytes = (int64_t)bytes};
    if (tess_work_is_due(&f->work, false)) {
        save(f, mark, &f->store, state,
             begin + (end - begin) * (double)n_tile_done / (double)f->n_tile_all);
    }
    return TESS_OK;
}

// The state to go on from in this phase; NULL: from the start. Free it with the mark's size.
static tess_status take_state(fit *f, void **state)
{
    const tess_ar_fit_mark *mark = &f->found.mark;
    *state = NULL;
    if (!is_resumed(f) || mark->phase != f->phase || mark->state_bytes == 0) {
        return TESS_OK;
    }
    *state = tess_heap_alloc(&f->ctx->heap, (size_t)mark->state_bytes, TESS_TAG_SCRATCH,
                             "the state of the checkpoint");
    if (!*state) {
        return TESS_E_MEMORY;
    }
    return tess_checkpoint_get(&f->work.found, "state", *state, (size_t)mark->state_bytes);
}

static tess_status take_thresholds(fit *f, const tess_ar_threshold_result *result)
{
    tess_autoreject_type_fit *type = &f->model->types[f->group];
    type->thresholds = result->thresholds;
    type->standard_errors = result->standard_errors;
    type->objectives = result->objectives;
    type->n_candidate = result->n_candidate;
    type->candidates = result->candidates;
    type->candidate_objectives = result->candidate_objectives;
    return tess_ar_model_own_type(f->model, type);
}

static tess_status find_thresholds(fit *f)
{
    f->phase = TESS_AR_FIT_THRESHOLDS;
    if (has_thresholds(f)) {
        return tess_ar_fit_state_restore(&f->found, &f->work.found, f->group, false);
    }
    const tess_autoreject_fit_config *config = &f->setup.config;
    void *state = NULL;
    tess_status status = take_state(f, &state);
    const tess_ar_threshold_request request = {
        .store = &f->store,
        .leave_one_out = f->leave_one_out,
        .augment_with_copy = config->augment && config->compat_types && !f->leave_one_out,
        .search = config->search,
        .n_split = config->n_split,
        .seed = (uint32_t)config->seed,
        .memory_bytes = f->plan.search_bytes,
        .keep = keep,
        .user = f,
        .keep_often = tess_work_is_kept(&f->work),
        .n_tile_all = &f->n_tile_all,
        .resume_state = state,
        .resume_bytes = state ? (size_t)f->found.mark.state_bytes : 0,
        .resume_tiles = state ? f->found.mark.tiles : 0};
    tess_ar_threshold_result result = {0};
    if (status == TESS_OK) {
        status = tess_ar_search_thresholds(f->ctx, &request, &result);
    }
    if (status == TESS_OK) {
        status = take_thresholds(f, &result);
        tess_ar_threshold_result_destroy(&result);
    }
    tess_heap_free(&f->ctx->heap, state, (size_t)f->found.mark.state_bytes, TESS_TAG_SCRATCH);
    return status;
}

static void take_choice(fit *f, const tess_ar_local_result *result)
{
    tess_autoreject_type_fit *type = &f->model->types[f->group];
    type->loss = result->loss;
    type->consensus_index = result->consensus_index;
    type->n_interpolate_index = result->n_interpolate_index;
    type->consensus = f->setup.consensus[result->consensus_index];
    type->n_interpolate = f->setup.n_interpolate[result->n_interpolate_index];
    if (result->n_left_out > 0) {
        tess_ar_model_warn(f->model, TESS_W_AUTOREJECT_LEFT_OUT,
                           "Epochs of type %s left out of the search (counted once for each "
                           "n_interpolate) because fewer than %lld channels would have been left "
                           "to repair the others from: %lld.",
                           tess_autoreject_type_name(type->type),
                           (long long)tess_ar_least_sources(f->setup.config.rho_mode),
                           (long long)result->n_left_out);
    }
}

static tess_status search_pairs(fit *f, const int8_t *labels, const int64_t *counts, void *state)
{
    const tess_ar_setup *s = &f->setup;
    double *loss =
        tess_blocks_alloc(&f->model->memory, s->n_consensus * s->n_n_interpolate * s->n_fold,
                          sizeof *loss, "table of losses");
    if (!loss) {
        return TESS_E_MEMORY;
    }
    const tess_ar_local_request request = {
        .store = &f->store,
        .repairer = f->repairer,
        .type = tess_autoreject_type_name(f->model->types[f->group].type),
        .labels = labels,
        .counts = counts,
        .consensus = s->consensus,
        .n_consensus = s->n_consensus,
        .n_interpolate = s->n_interpolate,
        .n_n_interpolate = s->n_n_interpolate,
        .rho_mode = s->config.rho_mode,
        .folds = s->folds,
        .n_fold = s->n_fold,
        .memory_bytes = f->plan.search_bytes,
        .keep = keep,
        .user = f,
        .resume_state = state,
        .resume_bytes = state ? (size_t)f->found.mark.state_bytes : 0,
        .resume_tiles = state ? f->found.mark.tiles : 0};
    tess_ar_local_result result = {.loss = loss};
    TESS_TRY(tess_ar_local_search(f->ctx, &request, &result));
    take_choice(f, &result);
    return TESS_OK;
}

static tess_status find_pair(fit *f)
{
    const int64_t n_epoch = f->store.n_epoch;
    const int64_t n_chan = f->store.n_chan;
    tess_blocks memory;
    tess_blocks_init(&memory, &f->ctx->heap);
    int8_t *labels = tess_blocks_alloc(&memory, n_epoch * n_chan, 1, "votes");
    int64_t *counts = tess_blocks_alloc(&memory, n_epoch, sizeof *counts, "votes");
    void *state = NULL;
    f->phase = TESS_AR_FIT_LOCAL;
    f->n_tile_all = f->store.n_tile;
    tess_status status = labels && counts ? take_state(f, &state) : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status =
            tess_ar_votes(f->setup.device, f->store.delta, f->model->types[f->group].thresholds,
                          n_epoch, n_chan, labels, counts);
    }
    if (status == TESS_OK) {
        status = search_pairs(f, labels, counts, state);
    }
    tess_heap_free(&f->ctx->heap, state, (size_t)f->found.mark.state_bytes, TESS_TAG_SCRATCH);
    tess_blocks_free(&memory);
    return status;
}

static tess_status fit_group(fit *f)
{
    TESS_TRY(tess_ar_plan_memory(&f->setup, f->group, &f->plan));
    TESS_TRY(open_repairer(f));
    int64_t begin_ns = tess_now_ns();
    TESS_TRY(open_store(f));
    TESS_TRY(compare_ranks(f));
    add_seconds(f, READ, begin_ns);
    TESS_TRY(tess_ar_epochs_keep_peaks(f->setup.epochs, f->setup.groups[f->group].channels,
                                       f->store.n_chan, f->store.delta));
    tess_ar_note_samples(&f->setup, f->group, f->store.delta, f->model);
    begin_ns = tess_now_ns();
    TESS_TRY(find_thresholds(f));
    tess_ar_store_drop_predictions(&f->store);
    add_seconds(f, THRESHOLDS, begin_ns);
    if (!f->setup.thresholds_only) {
        if (!is_resumed(f) && tess_work_is_due(&f->work, true)) {
            const tess_ar_fit_mark mark = {.group = f->group, .phase = TESS_AR_FIT_LOCAL};
            save(f, mark, &f->store, NULL, LOCAL_SHARE);
        }
        begin_ns = tess_now_ns();
        TESS_TRY(find_pair(f));
        add_seconds(f, LOCAL, begin_ns);
    }
    return TESS_OK;
}

// The last one too if its result is to outlive the call.
static void keep_group(fit *f)
{
    f->n_note = (int64_t)f->model->notes.used;
    if (!tess_work_is_kept(&f->work) ||
        (f->group + 1 == f->setup.n_group && !f->setup.config.keep_finished)) {
        return;
    }
    char path[1024];
    save(f, (tess_ar_fit_mark){.group = f->group + 1}, NULL, NULL, 0);
    if (f->work.n_failed == 0) { // no checkpoint speaks of the samples any more
        tess_work_path(&f->work, FILES[f->group], path);
        unlink(path);
    }
}

static tess_status fit_groups(fit *f)
{
    if (f->work.is_found) {
        TESS_TRY(tess_ar_fit_state_restore_notes(&f->found, &f->work.found));
    }
    f->n_note = (int64_t)f->model->notes.used;
    for (f->group = 0; f->group < f->setup.n_group; f->group++) {
        if (f->work.is_found && f->found.mark.group > f->group) {
            TESS_TRY(tess_ar_fit_state_restore(&f->found, &f->work.found, f->group, true));
            continue;
        }
        const tess_status status = fit_group(f);
        tess_ar_store_close(&f->store);
        tess_ar_repairer_destroy(f->repairer);
        f->repairer = NULL;
        TESS_TRY(status);
        tess_work_forget(&f->work);
        keep_group(f);
    }
    return TESS_OK;
}

static tess_status describe_model(fit *f)
{
    const tess_ar_setup *s = &f->setup;
    const tess_autoreject_epochs_info *epochs = &s->epochs->info;
    tess_autoreject_model_info *info = &f->model->info;
    const int64_t n_chan = s->epochs->sensors.n_chan;
    const char **names = tess_blocks_alloc(&f->model->memory, n_chan, sizeof *names, "model");
    f->model->stage = s->thresholds_only ? "autoreject.thresholds" : "autoreject.fit";
    f->model->input = tess_blocks_copy(&f->model->memory, epochs->path,
                                       (int64_t)strlen(epochs->path) + 1, 1, "model");
    if (!names || !f->model->input) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n_chan; c++) {
        names[c] = s->epochs->sensors.channels[c].name;
    }
    info->search = s->config.search;
    info->rho_mode = s->config.rho_mode;
    info->augment = s->config.augment;
    info->meg_dots = s->config.meg_dots;
    info->compat_types = s->config.compat_types;
    info->seed = s->config.seed;
    info->n_split = s->config.n_split;
    info->n_fold = s->thresholds_only ? 0 : s->n_fold;
    info->n_epoch = epochs->n_epoch;
    info->n_time = epochs->n_time;
    info->sampling_hz = epochs->sampling_hz;
    info->n_chan = n_chan;
    info->channel_names = names;
    info->n_pick = s->n_pick;
    info->picks = s->picks;
    info->n_consensus = s->n_consensus;
    info->consensus = s->consensus;
    info->n_n_interpolate = s->n_n_interpolate;
    info->n_interpolate = s->n_interpolate;
    info->eeg_origin = s->config.eeg_origin;
    info->n_type = s->n_group;
    for (int64_t g = 0; g < s->n_group; g++) {
        f->model->types[g] = (tess_autoreject_type_fit){.struct_size = sizeof f->model->types[g],
                                                        .type = s->groups[g].type,
                                                        .n_chan = s->groups[g].n_chan,
                                                        .channels = s->groups[g].channels,
                                                        .consensus_index = -1,
                                                        .n_interpolate_index = -1};
        TESS_TRY(tess_ar_model_own_type(f->model, &f->model->types[g]));
    }
    return tess_ar_model_own(f->model);
}

// All of the plan before any work: a limit that is too small is said at once.
static tess_status check_memory(const fit *f)
{
    for (int64_t g = 0; g < f->setup.n_group; g++) {
        tess_ar_memory_plan plan;
        TESS_TRY(tess_ar_plan_memory(&f->setup, g, &plan));
    }
    return TESS_OK;
}

// What tells this fit from others.
static tess_status identify(fit *f)
{
    const tess_ar_setup *s = &f->setup;
    const tess_param_table *const table = tess_autoreject_fit_params();
    const void *const config = &s->config;
    tess_hash grids = {0, 0};
    tess_hash folds = {0, 0};
    tess_hash_mix(&grids, s->consensus, (size_t)s->n_consensus * sizeof *s->consensus);
    tess_hash_mix(&grids, s->n_interpolate, (size_t)s->n_n_interpolate * sizeof *s->n_interpolate);
    tess_hash_mix(&folds, s->folds, s->folds ? (size_t)(s->n_fold * s->epochs->info.n_epoch) : 0);
    tess_identity_init(&f->id, f->ctx, "autoreject.fit", s->device->backend->name);
    tess_identity_add_settings(&f->id, s->thresholds_only ? "thresholds" : "fit", &table, &config,
                               1, NULL);
    tess_identity_add_hash(&f->id, "consensus or n_interpolate differ from those of this run",
                           grids);
    tess_identity_add_hash(&f->id, "the folds differ from those of this run", folds);
    tess_hash origin = {0, 0};
    if (s->config.eeg_origin) {
        tess_hash_mix(&origin, s->config.eeg_origin, 3 * sizeof *s->config.eeg_origin);
    }
    tess_identity_add_hash(&f->id, "eeg_origin differs from that of this run", origin);
    return tess_ar_identity_add_epochs(&f->id, f->ctx, s->epochs, s->picks, s->n_pick);
}

static tess_status open_work(fit *f)
{
    const tess_autoreject_fit_config *config = &f->setup.config;
    const tess_work_config work = {.name = "autoreject.fit",
                                   .what = "run",
                                   .folder = config->checkpoint_dir,
                                   .resume = config->resume,
                                   .every_s = config->checkpoint_every_s,
                                   .keep = 1,
                                   .files = FILES,
                                   .check = tess_ar_fit_state_check,
                                   .self = &f->found};
    f->found = (tess_ar_fit_state){.setup = &f->setup, .model = f->model};
    if (config->checkpoint_dir || tess_comm_size(f->ctx) > 1) {
        TESS_TRY(identify(f));
        TESS_TRY(tess_identity_agree(f->ctx, &f->id, TESS_OK));
        tess_ar_identity_add_file(&f->id, f->setup.epochs); // of each host its own
    }
    return tess_work_open(f->ctx, &work, &f->id, &f->work);
}

static tess_status run(fit *f, tess_autoreject_epochs *epochs,
                       const tess_autoreject_fit_config *config, bool thresholds_only)
{
    const int64_t begin_ns = tess_now_ns();
    TESS_TRY(tess_ar_setup_make(f->ctx, epochs, config, thresholds_only, f->model, &f->setup));
    TESS_TRY(check_memory(f));
    TESS_TRY(describe_model(f));
    TESS_TRY(open_work(f));
    TESS_TRY(fit_groups(f));
    if (!f->setup.config.keep_finished) {
        tess_work_end(&f->work);
    }
    add_seconds(f, ALL, begin_ns);
    return f->model->notes.no_memory ? tess_error_set(TESS_E_MEMORY, "notes: out of memory")
                                     : TESS_OK;
}

static tess_status fit_model(tess_context *ctx, tess_autoreject_epochs *epochs,
                             const tess_autoreject_fit_config *config, bool thresholds_only,
                             tess_autoreject_model **out)
{
    tess_error_clear();
    *out = NULL;
    fit f = {.ctx = ctx, .store = {.scratch_fd = -1}};
    TESS_TRY(tess_ar_model_new(ctx, &f.model));
    const tess_status status = run(&f, epochs, config, thresholds_only);
    tess_work_close(&f.work);
    tess_identity_free(&f.id);
    tess_ar_setup_free(&f.setup);
    if (status != TESS_OK) {
        tess_autoreject_model_destroy(f.model);
        return status;
    }
    *out = f.model;
    return TESS_OK;
}

tess_status tess_autoreject_thresholds(tess_context *ctx, tess_autoreject_epochs *epochs,
                                       const tess_autoreject_fit_config *config,
                                       tess_autoreject_model **out)
{
    return fit_model(ctx, epochs, config, true, out);
}

static tess_status fit_whole(tess_context *ctx, tess_autoreject_epochs *epochs,
                             const tess_autoreject_fit_config *config, tess_autoreject_model **out)
{
    return fit_model(ctx, epochs, config, false, out);
}

tess_status tess_autoreject_fit(tess_context *ctx, tess_autoreject_epochs *epochs,
                                const tess_autoreject_fit_config *config,
                                tess_autoreject_model **out)
{
    tess_autoreject_fit_config known;
    tess_error_clear();
    *out = NULL;
    tess_autoreject_fit_config_init(&known, sizeof known);
    if (config) {
        TESS_TRY(tess_struct_read(config, &known, sizeof known, "config"));
    }
    return known.n_split == 0 ? tess_ar_fit_auto(ctx, epochs, &known, fit_whole, out)
                              : fit_whole(ctx, epochs, config, out);
}

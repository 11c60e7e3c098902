// Predictions into files: forward chunk by chunk, backward chunk by chunk, resumable in between.
#include "systems/decode/stream/stream.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/source.h"
#include "systems/decode/states/engine_ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL_WANTS = 31 };

static const char *const FILES[] = {"partial.h5", "partial", "filtered.rows", "likelihood.rows",
                                    NULL};

void tess_decode_stream_config_init(tess_decode_stream_config *config, size_t struct_size)
{
    const tess_decode_stream_config defaults = {.checkpoint_every_s = 60};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status check_config(const tess_decode_stream_config *config)
{
    if (!config->path || !config->path[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "path: is empty; the name of the result is needed");
    }
    if (strlen(config->path) > 900) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", config->path);
    }
    if (config->dtype != TESS_F32 && config->dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "dtype: results are f32 or f64");
    }
    if (config->want & ~ALL_WANTS) {
        TESS_FAIL(TESS_E_ARGUMENT, "want: %d has unknown bits; %d are known", config->want,
                  ALL_WANTS);
    }
    if (!(config->checkpoint_every_s >= 0)) {
        TESS_FAIL(TESS_E_RANGE, "checkpoint_every_s: must be 0 or more seconds");
    }
    if (config->resume && !config->checkpoint_dir) {
        TESS_FAIL(TESS_E_ARGUMENT, "resume: needs the checkpoint folder of the earlier run");
    }
    return TESS_OK;
}

static tess_status name_result(tess_de_stream_run *run)
{
    tess_de_result *r = &run->result;
    r->is_folder = tess_de_result_is_folder(run->config.path);
    snprintf(r->path, sizeof r->path, "%s", run->config.path);
    for (size_t n = strlen(r->path); n > 1 && r->path[n - 1] == '/'; n--) {
        r->path[n - 1] = '\0';
    }
    if (r->is_folder) {
        return TESS_OK;
    }
    TESS_TRY(tess_format_for_writing(run->ctx, r->path, &r->format));
    if (!r->format->lay_out) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: results go to HDF5 files (.h5) or to folders of .npy files (a name without "
                  "suffix)",
                  r->path);
    }
    return TESS_OK;
}

// Which rows the run keeps for itself.
static void size_spills(tess_de_stream_run *run)
{
    const tess_decode_detector *d = run->detector;
    const uint64_t item = (uint64_t)tess_dtype_bytes((tess_dtype)d->dtype);
    if (d->dtype != run->config.dtype) {
        run->filtered.item.row_bytes = (uint64_t)d->info.n_state_bin * item;
    }
    if (run->config.want & TESS_DECODE_WANT_PATH) {
        run->likelihood.item.row_bytes = (uint64_t)d->info.n_ll * item;
    }
}

// Everything but files: what is asked for makes sense.
static tess_status begin(tess_context *ctx, const tess_decode_detector *detector,
                         const tess_decode_observation *observation,
                         const tess_decode_stream_config *config, tess_de_stream_run *run)
{
    memset(run, 0, sizeof *run);
    run->ctx = ctx;
    run->detector = detector;
    run->filtered.item.fd = -1;
    run->likelihood.item.fd = -1;
    run->work.lock_fd = -1;
    run->begin_ns = tess_now_ns();
    run->report.struct_size = sizeof run->report;
    tess_utc_text(run->started, sizeof run->started);
    tess_decode_observation_init(&run->observation, sizeof run->observation);
    tess_decode_stream_config_init(&run->config, sizeof run->config);
    TESS_TRY(
        tess_struct_read(observation, &run->observation, sizeof run->observation, "observation"));
    TESS_TRY(tess_struct_read(config, &run->config, sizeof run->config, "config"));
    if (run->config.dtype == 0) {
        run->config.dtype = detector->dtype;
    }
    TESS_TRY(check_config(&run->config));
    if (run->observation.n_time < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "time: is empty; at least one row is needed");
    }
    TESS_TRY(tess_de_stream_rows(run));
    TESS_TRY(tess_de_result_describe(ctx, detector, &run->decoded, &run->config,
                                     run->config.intervals ? &run->intervals.table : NULL,
                                     &run->result));
    TESS_TRY(name_result(run));
    run->report.output_bytes = tess_de_result_bytes(&run->result);
    size_spills(run);
    return TESS_OK;
}

// Said before hours of work. On resume the file has most of its blocks already.
// What a checkpoint refers to lies beside it, all else beside the result unless somebody says
// where.
static bool spills_to_scratch(const tess_de_stream_run *run)
{
    const char *folder = getenv(TESS_SCRATCH_VARIABLE);
    return !tess_work_is_kept(&run->work) && folder && folder[0];
}

static tess_status check_disk(tess_de_stream_run *run)
{
    char folder[TESS_DE_RESULT_PATH];
    tess_de_folder_of(run->result.path, folder);
    TESS_TRY(tess_file_disk_free(folder, &run->report.disk_free_bytes));
    const uint64_t row_bytes =
        spills_to_scratch(run) ? 0 : run->filtered.item.row_bytes + run->likelihood.item.row_bytes;
    const uint64_t needed = run->report.output_bytes + (uint64_t)run->decoded.n_time * row_bytes;
    if (!run->work.is_found && needed > run->report.disk_free_bytes) {
        TESS_FAIL(
            TESS_E_IO,
            "%s: the result needs %llu bytes, the disk has %llu free; choose another disk, or "
            "fewer outputs",
            run->result.path, (unsigned long long)needed,
            (unsigned long long)run->report.disk_free_bytes);
    }
    return TESS_OK;
}

static tess_status read_spill(void *self, int64_t first, int64_t count, void *dst)
{
    const tess_de_result_item *item = self;
    return tess_file_read_at(item->fd, item->path, dst, (size_t)((uint64_t)count * item->row_bytes),
                             (uint64_t)first * item->row_bytes);
}

static tess_status write_spill(void *self, int64_t first, int64_t count, const void *src)
{
    const tess_de_result_item *item = self;
    return tess_file_write_at(item->fd, item->path, src,
                              (size_t)((uint64_t)count * item->row_bytes),
                              (uint64_t)first * item->row_bytes);
}

static tess_de_rows rows_of_spill(const tess_de_stream_run *run, tess_de_spill *spill,
                                  int64_t width)
{
    const tess_de_rows rows = {.dtype = run->detector->dtype,
                               .width = width,
                               .self = &spill->item,
                               .read = read_spill,
                               .write = write_spill};
    return spill->item.row_bytes > 0 ? rows : (tess_de_rows){0};
}

static void describe_engine(tess_de_stream_run *run, tess_de_engine_desc *desc)
{
    tess_de_result *r = &run->result;
    *desc = (tess_de_engine_desc){.device = run->device,
                                  .detector = run->detector,
                                  .observation = &run->observation,
                                  .design = run->config.design,
                                  .n_chunk = run->config.n_chunk,
                                  .chunk_rows = run->work.is_found ? run->mark.chunk_rows : 0,
                                  .is_strict = 1,
                                  .is_divided = 1,
                                  .is_checked = run->config.checkpoint_dir != NULL};
    tess_de_stream_sequences(run, &desc->sequences);
    tess_de_result_rows(r, "acausal_posterior", &desc->acausal);
    tess_de_result_rows(r, "acausal_state_probabilities", &desc->acausal_states);
    tess_de_result_rows(r, "causal_posterior", &desc->causal);
    tess_de_result_rows(r, "causal_state_probabilities", &desc->causal_states);
    tess_de_result_rows(r, "predictive_posterior", &desc->predictive);
    tess_de_result_rows(r, "predictive_state_probabilities", &desc->predictive_states);
    tess_de_result_rows(r, "log_likelihood", &desc->ll);
    tess_de_result_path(r, &desc->path);
    desc->kept = rows_of_spill(run, &run->filtered, run->detector->info.n_state_bin);
    desc->kept_ll = rows_of_spill(run, &run->likelihood, run->detector->info.n_ll);
}

static dev_t device_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_dev : 0;
}

// What is being written lies in the checkpoint folder, or beside the result where that is another
// file system or there is no folder: naming it must not copy it.
static tess_status choose_work_path(const tess_de_stream_run *run, char path[TESS_DE_RESULT_PATH])
{
    const tess_de_result *r = &run->result;
    char folder[TESS_DE_RESULT_PATH];
    tess_de_folder_of(r->path, folder);
    if (!tess_work_is_kept(&run->work)) {
        return tess_temp_name(r->path, path, TESS_DE_RESULT_PATH);
    }
    if (device_of(folder) == device_of(run->work.folder)) {
        tess_work_path(&run->work, r->is_folder ? "partial" : "partial.h5", path);
    } else {
        snprintf(path, TESS_DE_RESULT_PATH, "%.900s.partial", r->path);
    }
    return TESS_OK;
}

static tess_status open_spill(const tess_de_stream_run *run, const char *name, tess_de_spill *spill)
{
    if (spill->item.row_bytes == 0) {
        return TESS_OK;
    }
    spill->item.path = spill->path;
    if (spills_to_scratch(run)) {
        const tess_scratch scratch = {NULL, name, "rows of a prediction"};
        const uint64_t bytes = (uint64_t)run->decoded.n_time * spill->item.row_bytes;
        TESS_TRY(tess_scratch_open(&scratch, spill->path, sizeof spill->path, &spill->item.fd));
        return tess_scratch_reserve(&scratch, spill->path, spill->item.fd, bytes);
    }
    if (tess_work_is_kept(&run->work)) {
        tess_work_path(&run->work, name, spill->path);
    } else {
        TESS_TRY(tess_temp_name(run->result.path, spill->path, sizeof spill->path));
    }
    TESS_TRY(tess_de_result_open(spill->path, !run->work.is_found, 0600, &spill->item.fd));
    if (!tess_work_is_kept(&run->work)) {
        unlink(spill->path); // nobody needs its name
    }
    return TESS_OK;
}

static tess_status sync_spill(const tess_de_spill *spill)
{
    return spill->item.fd >= 0 ? tess_file_sync(spill->item.fd, spill->path) : TESS_OK;
}

static tess_status go_on(tess_de_stream_run *run, const char *work_path)
{
    uint64_t offsets[TESS_DE_RESULT_ITEMS];
    const tess_checkpoint *found = &run->work.found;
    TESS_TRY(tess_checkpoint_get(found, "offsets", offsets,
                                 (size_t)run->result.n_item * sizeof *offsets));
    TESS_TRY(tess_de_engine_restore(run->engine, found, &run->mark));
    TESS_TRY(tess_checkpoint_get(found, "done", &run->report.resumed_from,
                                 sizeof run->report.resumed_from));
    run->report.resumed = 1;
    tess_work_forget(&run->work);
    return tess_de_result_reopen(&run->result, work_path, offsets);
}

static tess_status open_result(tess_de_stream_run *run)
{
    char work_path[TESS_DE_RESULT_PATH];
    TESS_TRY(choose_work_path(run, work_path));
    if (run->work.is_found) {
        return go_on(run, work_path);
    }
    tess_de_stream_warn_outside(run);
    tess_de_stream_warn_empty(run);
    tess_temp_file_sweep(run->result.path);
    char *provenance = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_de_stream_provenance(run, 0, &provenance, &bytes));
    const tess_status status = tess_de_result_create(&run->result, work_path, provenance);
    tess_heap_free(&run->ctx->heap, provenance, bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    tess_de_stream_run *run = self;
    uint64_t offsets[TESS_DE_RESULT_ITEMS];
    // The rows first: a checkpoint must never speak of rows the disk does not have.
    TESS_TRY(tess_de_result_sync(&run->result));
    TESS_TRY(sync_spill(&run->filtered));
    TESS_TRY(sync_spill(&run->likelihood));
    for (int64_t i = 0; i < run->result.n_item; i++) {
        offsets[i] = run->result.layout[i].offset;
    }
    TESS_TRY(tess_checkpoint_add(writer, "offsets", offsets,
                                 (size_t)run->result.n_item * sizeof *offsets));
    return tess_de_engine_write(run->engine, writer);
}

static void save(tess_de_stream_run *run)
{
    tess_work_save(&run->work, tess_de_engine_done(run->engine), write_state, run);
}

static void after_chunk(void *self)
{
    tess_de_stream_run *run = self;
    const tess_de_position *at = &run->engine->at;
    // From the turn on filtered rows are overwritten, and have to be made again without a
    // checkpoint that knows them all.
    const bool is_turn = at->pass == TESS_DE_BACKWARD && at->chunk == run->engine->n_chunk - 1;
    if (tess_work_is_due(&run->work, is_turn)) {
        save(run);
    }
}

static void fill_report(tess_de_stream_run *run)
{
    const tess_de_engine *e = run->engine;
    tess_decode_stream_report *r = &run->report;
    r->n_chunk = e->n_chunk;
    r->rows_per_chunk = e->chunk_rows;
    r->memory_bytes = e->memory_bytes;
    r->limit_bytes = e->limit_bytes;
    r->log_evidence = tess_de_engine_evidence(e);
    r->elapsed_s = (double)(tess_now_ns() - run->begin_ns) * 1e-9;
    r->likelihood_s = e->likelihood_s;
    r->filter_s = e->filter_s;
    r->smoother_s = e->smoother_s;
    r->write_s = e->store_s;
    r->n_checkpoint = run->work.n_saved;
    r->checkpoint_s = run->work.saved_s;
    r->n_impossible = e->carry.n_impossible;
    r->first_impossible = e->carry.first_impossible;
    r->likelihood = e->report;
    if (run->config.intervals) { // the rest lies outside of them, before or after
        const tess_decode_spikes *spikes = &run->observation.spikes;
        r->likelihood.n_before = 0;
        r->likelihood.n_after = -r->likelihood.n_spike - r->likelihood.n_excluded;
        for (int64_t i = 0; i < spikes->n_electrode; i++) {
            r->likelihood.n_after += spikes->n_spike[i];
        }
    }
}

static tess_status finish(tess_de_stream_run *run)
{
    fill_report(run);
    TESS_TRY(tess_de_result_put(&run->result, "log_evidence", &run->report.log_evidence));
    if (run->config.intervals) {
        TESS_TRY(tess_de_result_put(&run->result, "interval_log_evidence",
                                    tess_de_stream_evidence(run)));
    }
    tess_de_engine_warn(run->engine); // before the details, which repeat every warning
    TESS_TRY(tess_de_stream_write_details(run));
    tess_span span = tess_span_begin(&run->ctx->tracer, "decode.commit");
    TESS_TRY(tess_de_result_commit(&run->result, run->config.overwrite));
    tess_span_end(&span, 0, 0);
    tess_work_end(&run->work);
    return TESS_OK;
}

static void identify(tess_de_stream_run *run)
{
    const tess_decode_recording_info *recording = run->config.recording;
    const int64_t n_time = run->observation.n_time;
    char settings[64];
    tess_hash truth = {0, 0};
    if (recording && recording->true_position) {
        tess_de_mix_doubles(&truth, recording->true_position,
                            n_time * recording->observation.position.n_dim);
    }
    snprintf(settings, sizeof settings, "want=%d;dtype=%s", run->config.want,
             tess_dtype_name((tess_dtype)run->config.dtype));
    tess_de_fingerprint_make(run->detector, &run->observation, run->config.design,
                             &run->fingerprint);
    tess_identity_init(&run->id, run->ctx, "decode.predict", run->device->backend->name);
    tess_identity_add(&run->id, "settings were '*', are '*'", settings);
    tess_de_fingerprint_add(&run->fingerprint, &run->id);
    tess_identity_add_hash(&run->id, "the true positions differ from those of this run", truth);
    tess_identity_add_hash(&run->id, "the intervals differ from those of this run",
                           run->intervals.hash);
    tess_identity_digest(&run->id, run->id_text);
}

// A result that is there already: complete (a run killed after naming it), to be replaced, or in
// the way.
static tess_status look_at_result(tess_de_stream_run *run)
{
    const tess_decode_recording_info *recording = run->config.recording;
    TESS_TRY(tess_file_check_distinct(recording ? recording->path : NULL, run->result.path));
    if (run->config.resume) {
        TESS_TRY(tess_work_is_finished(run->ctx, &run->id, run->result.path,
                                       run->config.checkpoint_dir, &run->report.was_finished));
    }
    if (run->report.was_finished) {
        run->report.resumed = 1;
        run->report.resumed_from = 1;
        tess_de_stream_read_evidence(run);
        return TESS_OK;
    }
    const bool is_there = access(run->result.path, F_OK) == 0;
    if (is_there && !run->config.overwrite) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: exists already; pass --overwrite (overwrite=True) to replace it",
                  run->result.path);
    }
    return is_there && run->result.is_folder ? tess_de_result_check_folder(run->result.path)
                                             : TESS_OK;
}

static tess_status check_found(void *self, const tess_checkpoint *found, const char *path)
{
    tess_de_stream_run *run = self;
    if (tess_checkpoint_size(found, "offsets") != (size_t)run->result.n_item * sizeof(uint64_t)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its result has other data sets", path);
    }
    return tess_de_mark_read(found, path, run->decoded.n_time, &run->mark);
}

static tess_status open_work(tess_de_stream_run *run)
{
    const tess_work_config config = {.name = "decode.predict",
                                     .what = "run",
                                     .folder = run->config.checkpoint_dir,
                                     .resume = run->config.resume,
                                     .every_s = run->config.checkpoint_every_s,
                                     .keep = 1,
                                     .is_of_one = true,
                                     .files = FILES,
                                     .check = check_found,
                                     .self = run};
    return tess_work_open(run->ctx, &config, &run->id, &run->work);
}

static tess_status prepare(tess_de_stream_run *run)
{
    tess_de_engine_desc desc;
    TESS_TRY(open_work(run));
    describe_engine(run, &desc);
    TESS_TRY(check_disk(run));
    TESS_TRY(tess_de_engine_create(run->ctx, &desc, &run->engine));
    TESS_TRY(open_spill(run, "filtered.rows", &run->filtered));
    TESS_TRY(open_spill(run, "likelihood.rows", &run->likelihood));
    return open_result(run);
}

static tess_status compute(tess_de_stream_run *run)
{
    TESS_TRY(prepare(run));
    run->work.last_save_ns = tess_now_ns();
    tess_status status = tess_de_engine_run(run->engine, after_chunk, run);
    if (status == TESS_OK) {
        status = finish(run);
    }
    if (status != TESS_OK && tess_work_is_kept(&run->work) &&
        tess_de_engine_done(run->engine) > 0) {
        save(run); // what is done, whatever stopped the rest
    }
    return status;
}

// Rank 0 of several, or the only process.
static tess_status lead(tess_de_stream_run *run, tess_status status)
{
    TESS_TRY(status);
    TESS_TRY(look_at_result(run));
    return run->report.was_finished ? TESS_OK : compute(run);
}

// The others have no files: they compute the rows that rank 0 asks for.
static tess_status serve(tess_de_stream_run *run, tess_status status)
{
    tess_de_engine_desc desc;
    tess_de_engine engine = {0};
    if (status == TESS_OK) {
        describe_engine(run, &desc);
        status = tess_de_engine_plan(run->ctx, &desc, &engine);
        engine.has_nan = tess_de_has_untracked(&run->observation.position);
    }
    return tess_de_ranks_serve(run->ctx, &engine, status);
}

static tess_status share_report(tess_de_stream_run *run)
{
    return tess_comm_broadcast(run->ctx, (tess_comm_point){"report of a prediction", 0}, TESS_OK,
                               &run->report, sizeof run->report);
}

static void end(tess_de_stream_run *run, tess_status status)
{
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    if (run->engine && status != TESS_OK) {
        fill_report(run);
    }
    tess_de_engine_destroy(run->engine);
    tess_de_result_close(&run->result);
    if (run->result.ctx && !tess_work_is_kept(&run->work) && status != TESS_OK) {
        tess_de_result_discard(&run->result);
    }
    const int spills[] = {run->filtered.item.fd, run->likelihood.item.fd};
    for (size_t i = 0; i < sizeof spills / sizeof *spills; i++) {
        if (spills[i] >= 0) {
            close(spills[i]);
        }
    }
    tess_blocks_free(&run->rows);
    tess_work_close(&run->work);
    tess_identity_free(&run->id);
    tess_error_copy_in(message);
}

static void give_report(const tess_de_stream_run *run, tess_decode_stream_report *report)
{
    if (report) {
        const uint32_t bytes = report->struct_size;
        memcpy(report, &run->report, bytes < sizeof run->report ? bytes : sizeof run->report);
        report->struct_size = bytes;
    }
}

static tess_status check_report(const tess_decode_stream_report *report)
{
    tess_decode_stream_report own;
    return report ? tess_struct_read(report, &own, sizeof own, "report") : TESS_OK;
}

tess_status tess_decode_stream(tess_context *ctx, const tess_decode_detector *detector,
                               const tess_decode_observation *observation,
                               const tess_decode_stream_config *config,
                               tess_decode_stream_report *report)
{
    tess_error_clear();
    TESS_TRY(check_report(report));
    tess_de_stream_run *run =
        tess_heap_alloc_zero(&ctx->heap, sizeof *run, TESS_TAG_PLAN, "prediction");
    if (!run) {
        return TESS_E_MEMORY;
    }
    tess_status status = begin(ctx, detector, observation, config, run);
    if (status == TESS_OK) {
        status = tess_de_engine_device(ctx, detector, &run->device);
    }
    if (status == TESS_OK) {
        identify(run);
    }
    status = tess_identity_agree(ctx, &run->id, status);
    status = tess_comm_is_first(ctx) ? tess_de_ranks_dismiss(ctx, run->engine, lead(run, status))
                                     : serve(run, status);
    if (status == TESS_OK) {
        status = share_report(run);
    }
    end(run, status);
    give_report(run, report);
    tess_heap_free(&ctx->heap, run, sizeof *run, TESS_TAG_PLAN);
    return status;
}

tess_status tess_decode_stream_plan(tess_context *ctx, const tess_decode_detector *detector,
                                    const tess_decode_observation *observation,
                                    const tess_decode_stream_config *config,
                                    tess_decode_stream_report *report)
{
    tess_error_clear();
    TESS_TRY(check_report(report));
    tess_de_stream_run *run =
        tess_heap_alloc_zero(&ctx->heap, sizeof *run, TESS_TAG_PLAN, "prediction");
    if (!run) {
        return TESS_E_MEMORY;
    }
    tess_de_engine engine;
    tess_status status = begin(ctx, detector, observation, config, run);
    if (status == TESS_OK) {
        tess_de_engine_desc desc;
        describe_engine(run, &desc);
        status = tess_de_engine_plan(ctx, &desc, &engine);
    }
    if (status == TESS_OK) {
        run->report.n_chunk = engine.n_chunk;
        run->report.rows_per_chunk = engine.chunk_rows;
        run->report.memory_bytes = engine.memory_bytes;
        run->report.limit_bytes = engine.limit_bytes;
        status = check_disk(run);
    }
    end(run, status);
    give_report(run, report);
    tess_heap_free(&ctx->heap, run, sizeof *run, TESS_TAG_PLAN);
    return status;
}

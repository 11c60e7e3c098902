// Predictions into files: forward chunk by chunk, backward chunk by chunk, resumable in between.
#include "systems/decode/stream/stream.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_FAILURES = 3, ALL_WANTS = 15 };

void tess_decode_stream_config_init(tess_decode_stream_config *config, size_t struct_size)
{
    const tess_decode_stream_config defaults = {.dtype = TESS_F32, .checkpoint_every_s = 60};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status check_config(const tess_decode_stream_config *config)
{
    if (!config->path || !config->path[0] || strlen(config->path) > 900) {
        TESS_FAIL(TESS_E_ARGUMENT, "path: is %s; the name of the result is needed",
                  !config->path || !config->path[0] ? "empty" : "too long");
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
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "%s: results go to HDF5 files (.h5) or to folders of .npy files (a name without "
                  "suffix)",
                  r->path);
    }
    return TESS_OK;
}

// Everything but files: what is asked for makes sense.
static tess_status begin(tess_context *ctx, const tess_decode_detector *detector,
                         const tess_decode_observation *observation,
                         const tess_decode_stream_config *config, tess_de_stream_run *run)
{
    memset(run, 0, sizeof *run);
    run->ctx = ctx;
    run->detector = detector;
    run->spill.fd = -1;
    run->journal.lock_fd = -1;
    run->begin_ns = tess_now_ns();
    run->report.struct_size = sizeof run->report;
    tess_utc_text(run->started, sizeof run->started);
    tess_decode_observation_init(&run->observation, sizeof run->observation);
    tess_decode_stream_config_init(&run->config, sizeof run->config);
    TESS_TRY(
        tess_struct_read(observation, &run->observation, sizeof run->observation, "observation"));
    TESS_TRY(tess_struct_read(config, &run->config, sizeof run->config, "config"));
    TESS_TRY(check_config(&run->config));
    if (run->observation.n_time < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "time: is empty; at least one row is needed");
    }
    TESS_TRY(tess_de_result_describe(ctx, detector, &run->observation, &run->config, &run->result));
    TESS_TRY(name_result(run));
    run->report.output_bytes = tess_de_result_bytes(&run->result);
    return TESS_OK;
}

static int needs_spill(const tess_de_stream_run *run)
{
    return run->detector->dtype != run->config.dtype;
}

static uint64_t spill_bytes(const tess_de_stream_run *run)
{
    return needs_spill(run) ? (uint64_t)run->observation.n_time * run->spill.row_bytes : 0;
}

static void folder_of(const char *path, char folder[TESS_DE_RESULT_PATH])
{
    snprintf(folder, TESS_DE_RESULT_PATH, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash) {
        snprintf(folder, TESS_DE_RESULT_PATH, ".");
    } else {
        slash[slash == folder ? 1 : 0] = '\0';
    }
}

// Said before hours of work. On resume the file has most of its blocks already.
static tess_status check_disk(tess_de_stream_run *run)
{
    char folder[TESS_DE_RESULT_PATH];
    struct statvfs disk;
    folder_of(run->result.path, folder);
    if (statvfs(folder, &disk) != 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot write there: %s", folder, strerror(errno));
    }
    const uint64_t needed = run->report.output_bytes + spill_bytes(run);
    run->report.disk_free_bytes = (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize;
    if (!run->journal.is_found && needed > run->report.disk_free_bytes) {
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

static void describe_engine(tess_de_stream_run *run, tess_de_engine_desc *desc)
{
    tess_de_result *r = &run->result;
    *desc = (tess_de_engine_desc){.detector = run->detector,
                                  .observation = &run->observation,
                                  .design = run->config.design,
                                  .n_chunk = run->config.n_chunk,
                                  .chunk_rows =
                                      run->journal.is_found ? run->journal.mark.chunk_rows : 0,
                                  .is_strict = 1,
                                  .is_checked = run->is_kept};
    tess_de_result_rows(r, "acausal_posterior", &desc->acausal);
    tess_de_result_rows(r, "acausal_state_probabilities", &desc->acausal_states);
    tess_de_result_rows(r, "causal_posterior", &desc->causal);
    tess_de_result_rows(r, "causal_state_probabilities", &desc->causal_states);
    tess_de_result_rows(r, "predictive_posterior", &desc->predictive);
    tess_de_result_rows(r, "predictive_state_probabilities", &desc->predictive_states);
    tess_de_result_rows(r, "log_likelihood", &desc->ll);
    const size_t item = run->detector->dtype == TESS_F64 ? sizeof(double) : sizeof(float);
    run->spill.row_bytes = (uint64_t)run->detector->info.n_state_bin * item;
    run->spill.path = run->spill_path;
    if (needs_spill(run)) {
        desc->kept = (tess_de_rows){.dtype = run->detector->dtype,
                                    .width = run->detector->info.n_state_bin,
                                    .self = &run->spill,
                                    .read = read_spill,
                                    .write = write_spill};
    }
}

static dev_t device_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_dev : 0;
}

// What is being written lies in the checkpoint folder, or beside the result where that is another
// file system or there is no folder: naming it must not copy it.
static void choose_work_path(const tess_de_stream_run *run, char path[TESS_DE_RESULT_PATH])
{
    const tess_de_result *r = &run->result;
    char folder[TESS_DE_RESULT_PATH];
    folder_of(r->path, folder);
    if (!run->is_kept) {
        snprintf(path, TESS_DE_RESULT_PATH, "%.900s.tmp.%ld.00000001", r->path, (long)getpid());
    } else if (device_of(folder) == device_of(run->journal.folder)) {
        snprintf(path, TESS_DE_RESULT_PATH, "%s/partial%s", run->journal.folder,
                 r->is_folder ? "" : ".h5");
    } else {
        snprintf(path, TESS_DE_RESULT_PATH, "%.900s.partial", r->path);
    }
}

static tess_status open_spill(tess_de_stream_run *run)
{
    if (!needs_spill(run)) {
        return TESS_OK;
    }
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (run->journal.is_found ? 0 : O_TRUNC);
    if (run->is_kept) {
        snprintf(run->spill_path, sizeof run->spill_path, "%s/filtered.rows", run->journal.folder);
    } else {
        snprintf(run->spill_path, sizeof run->spill_path, "%.900s.tmp.%ld.00000002",
                 run->result.path, (long)getpid());
    }
    run->spill.fd = open(run->spill_path, flags, 0600);
    if (run->spill.fd < 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create: %s", run->spill_path, strerror(errno));
    }
    if (!run->is_kept) {
        unlink(run->spill_path); // nobody needs its name
    }
    return TESS_OK;
}

static tess_status open_result(tess_de_stream_run *run)
{
    char work_path[TESS_DE_RESULT_PATH];
    choose_work_path(run, work_path);
    if (run->journal.is_found) {
        uint64_t offsets[TESS_DE_RESULT_ITEMS];
        if (run->journal.mark.n_item != run->result.n_item) {
            TESS_FAIL(TESS_E_MISMATCH, "%s: its result has other data sets; remove the folder",
                      run->journal.path);
        }
        TESS_TRY(tess_de_journal_restore(&run->journal, run->engine, offsets, run->result.n_item));
        return tess_de_result_reopen(&run->result, work_path, offsets);
    }
    tess_temp_file_sweep(run->result.path);
    char *provenance = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_de_stream_provenance(run, 0, &provenance, &bytes));
    const tess_status status = tess_de_result_create(&run->result, work_path, provenance);
    tess_heap_free(&run->ctx->heap, provenance, bytes, TESS_TAG_RESULT);
    return status;
}

static tess_status save(tess_de_stream_run *run, int is_backward, int64_t chunk)
{
    const tess_de_engine *e = run->engine;
    const tess_de_mark mark = {.is_backward = is_backward,
                               .chunk = chunk,
                               .chunk_rows = e->chunk_rows,
                               .n_chunk = e->n_chunk,
                               .n_item = run->result.n_item,
                               .log_evidence = e->carry.log_evidence,
                               .n_row = e->carry.n_row,
                               .n_impossible = e->carry.n_impossible,
                               .first_impossible = e->carry.first_impossible,
                               .report = e->report};
    // The rows first: a checkpoint must never speak of rows the disk does not have.
    TESS_TRY(tess_de_result_sync(&run->result));
    if (run->spill.fd >= 0) {
        TESS_TRY(tess_file_sync(run->spill.fd, run->spill_path));
    }
    char *meta = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_de_stream_provenance(run, 1, &meta, &bytes));
    const tess_status status =
        tess_de_journal_save(&run->journal, &run->id, &mark, e, &run->result, meta);
    tess_heap_free(&run->ctx->heap, meta, bytes, TESS_TAG_RESULT);
    return status;
}

// A checkpoint that cannot be written is only a warning, unless it is the third in a row.
static tess_status checkpoint(tess_de_stream_run *run, int is_backward, int64_t chunk)
{
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&run->ctx->tracer, "checkpoint");
    const tess_status status = save(run, is_backward, chunk);
    tess_span_end(&span, 0, 0);
    run->last_save_ns = tess_now_ns();
    run->save_cost_s = (double)(run->last_save_ns - begin_ns) * 1e-9;
    run->report.checkpoint_s += run->save_cost_s;
    if (status == TESS_OK) {
        run->n_failed = 0;
        run->report.n_checkpoint++;
        return TESS_OK;
    }
    if (++run->n_failed >= MAX_FAILURES) {
        return status;
    }
    tess_log_write(&run->ctx->log, TESS_LOG_WARNING,
                   "checkpoint not written (%s); the previous one stands", tess_last_error());
    return TESS_OK;
}

// Due by time; but never more than one hundredth of the run goes into checkpoints, unless the
// caller wants one after every chunk.
static bool is_due(const tess_de_stream_run *run)
{
    const double since_s = (double)(tess_now_ns() - run->last_save_ns) * 1e-9;
    const double every_s = run->config.checkpoint_every_s;
    return run->is_kept &&
           (every_s == 0 || (since_s >= every_s && since_s >= 100 * run->save_cost_s));
}

// What is done so far is kept when the run stops: a failure of that is not worth more words.
static tess_status stop(tess_de_stream_run *run, tess_status status, int is_backward, int64_t chunk)
{
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    if (run->is_kept && status == TESS_CANCELLED) {
        (void)(checkpoint(run, is_backward, chunk) == TESS_OK);
    }
    tess_error_copy_in(message);
    return status;
}

static tess_status go_forward(tess_de_stream_run *run, int64_t first)
{
    tess_de_engine *e = run->engine;
    for (int64_t c = first; c < e->n_chunk; c++) {
        const int64_t done = c * e->chunk_rows;
        tess_status status = tess_de_engine_poll(e, "decode.likelihood", done, e->n_time);
        if (status != TESS_OK) {
            return stop(run, status, 0, c);
        }
        // A chunk that stopped half way has not moved the carry: it is done again.
        status = tess_de_engine_forward(e, c);
        if (status != TESS_OK) {
            return stop(run, status, 0, c);
        }
        if (c + 1 < e->n_chunk && is_due(run)) {
            TESS_TRY(checkpoint(run, 0, c + 1));
        }
    }
    TESS_TRY(tess_de_engine_poll(e, "decode.likelihood", e->n_time, e->n_time));
    // From here on filtered rows are overwritten: the vectors they can be made from must be safe.
    return run->is_kept ? checkpoint(run, 1, e->n_chunk - 1) : TESS_OK;
}

static tess_status go_backward(tess_de_stream_run *run, int64_t first)
{
    tess_de_engine *e = run->engine;
    e->begin_ns = tess_now_ns();
    for (int64_t c = first; c >= 0; c--) {
        TESS_TRY(tess_de_engine_backward(e, c));
        const tess_status status =
            tess_de_engine_poll(e, "decode.smooth", e->n_time - c * e->chunk_rows, e->n_time);
        if (status != TESS_OK) {
            return stop(run, status, 1, c - 1);
        }
        if (c > 0 && is_due(run)) {
            TESS_TRY(checkpoint(run, 1, c - 1));
        }
    }
    return TESS_OK;
}

static void fill_report(tess_de_stream_run *run)
{
    const tess_de_engine *e = run->engine;
    tess_decode_stream_report *r = &run->report;
    r->resumed = run->journal.is_found;
    r->n_chunk = e->n_chunk;
    r->rows_per_chunk = e->chunk_rows;
    r->memory_bytes = e->memory_bytes;
    r->limit_bytes = e->limit_bytes;
    r->log_evidence = e->carry.log_evidence;
    r->elapsed_s = (double)(tess_now_ns() - run->begin_ns) * 1e-9;
    r->likelihood_s = e->likelihood_s;
    r->filter_s = e->filter_s;
    r->smoother_s = e->smoother_s;
    r->write_s = e->store_s;
    r->n_impossible = e->carry.n_impossible;
    r->first_impossible = e->carry.first_impossible;
    r->likelihood = e->report;
}

static tess_status finish(tess_de_stream_run *run)
{
    TESS_TRY(tess_de_result_put(&run->result, "log_evidence", &run->engine->carry.log_evidence));
    fill_report(run);
    TESS_TRY(tess_de_stream_write_details(run));
    TESS_TRY(tess_de_result_commit(&run->result, run->config.overwrite));
    tess_de_journal_finish(&run->journal);
    tess_de_engine_warn(run->engine);
    return TESS_OK;
}

static tess_status take_folder(tess_de_stream_run *run)
{
    tess_de_identity_make(run->ctx, run->detector, &run->observation, &run->config, &run->id);
    tess_de_identity_text(&run->id, run->id_text);
    if (!run->config.checkpoint_dir) {
        return TESS_OK;
    }
    run->is_kept = 1;
    return tess_de_journal_open(run->ctx, run->config.checkpoint_dir, &run->id, run->config.resume,
                                &run->journal);
}

// A result that is there already: complete (a run killed after naming it), to be replaced, or in
// the way.
static tess_status look_at_result(tess_de_stream_run *run)
{
    if (access(run->result.path, F_OK) != 0) {
        return TESS_OK;
    }
    if (run->config.resume && tess_de_stream_is_finished(run)) {
        run->report.was_finished = 1;
        run->report.resumed = 1;
        return TESS_OK;
    }
    if (!run->config.overwrite) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it",
                  run->result.path);
    }
    return TESS_OK;
}

static tess_status compute(tess_de_stream_run *run)
{
    tess_de_engine_desc desc;
    describe_engine(run, &desc);
    TESS_TRY(check_disk(run));
    TESS_TRY(tess_de_engine_create(run->ctx, &desc, &run->engine));
    TESS_TRY(open_spill(run));
    TESS_TRY(open_result(run));
    run->last_save_ns = tess_now_ns();
    const tess_de_mark *mark = &run->journal.mark;
    const int is_backward = run->journal.is_found && mark->is_backward;
    if (!is_backward) {
        TESS_TRY(go_forward(run, run->journal.is_found ? mark->chunk : 0));
    }
    TESS_TRY(go_backward(run, is_backward ? mark->chunk : run->engine->n_chunk - 1));
    return finish(run);
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
    if (run->result.ctx && !run->is_kept && status != TESS_OK) {
        tess_de_result_discard(&run->result);
    }
    if (run->spill.fd >= 0) {
        close(run->spill.fd);
    }
    tess_de_journal_close(&run->journal);
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
        status = take_folder(run);
    }
    if (status == TESS_OK) {
        status = look_at_result(run);
    }
    if (status == TESS_OK && run->report.was_finished) {
        tess_de_journal_finish(&run->journal);
    } else if (status == TESS_OK) {
        status = compute(run);
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
        run->is_kept = run->config.checkpoint_dir != NULL;
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

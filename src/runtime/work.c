#include "runtime/work.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/group.h"
#include "runtime/provenance.h"
#include "runtime/work_folder.h"
#include "tessera/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// A milestone deserves a checkpoint if the last one is that old.
static const double MILESTONE_S = 1;

void tess_work_path(const tess_work *work, const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/%s", work->folder, name);
}

static void path_of(const tess_work *work, int64_t number, char path[1024])
{
    snprintf(path, 1024, "%s/%s.%06lld.ckpt", work->folder, work->config.name, (long long)number);
}

// ---- Going on ---------------------------------------------------------------------------------

static tess_status compare(tess_work *work, const char *path)
{
    const size_t bytes = tess_checkpoint_size(&work->found, "identity");
    tess_heap *heap = &work->ctx->heap;
    char *text = tess_heap_alloc_zero(heap, bytes + 1, TESS_TAG_IO, "identity of a checkpoint");
    if (!text) {
        return TESS_E_MEMORY;
    }
    tess_status status = tess_checkpoint_get(&work->found, "identity", text, bytes);
    if (status == TESS_OK) {
        status = tess_identity_compare(text, work->id, path);
    }
    tess_heap_free(heap, text, bytes + 1, TESS_TAG_IO);
    return status;
}

static tess_status take(tess_work *work, const char *path)
{
    TESS_TRY(tess_checkpoint_open(work->ctx, path, &work->found));
    tess_status status = compare(work, path);
    if (status == TESS_OK && work->config.check) {
        status = work->config.check(work->config.self, &work->found, path);
    }
    if (status != TESS_OK) {
        tess_checkpoint_close(&work->found);
        return status;
    }
    work->is_found = true;
    snprintf(work->newest, sizeof work->newest, "%s", path);
    double done = 0;
    TESS_TRY(tess_checkpoint_get(&work->found, "done", &done, sizeof done));
    tess_log_write(&work->ctx->log, TESS_LOG_INFO, "resumed from %.0f %% (%s)", 100 * done, path);
    return TESS_OK;
}

// One of another computation: an error, or with resume 2 gone.
static tess_status judge_stranger(tess_work *work, tess_status status)
{
    if (work->config.resume != 2) {
        return status;
    }
    tess_log_warn(&work->ctx->log, TESS_W_RUN_CHECKPOINT_UNUSED, "starting afresh: %s",
                  tess_last_error());
    work->number = 0;
    return tess_work_folder_clear(work->folder, NULL);
}

// The newest checkpoint that is whole. A damaged one is passed over with a warning; one that
// belongs to another computation is never skipped. Without any, the files beside them are not
// written over.
static tess_status take_newest(tess_work *work, const tess_work_listing *listing)
{
    char path[1024];
    for (int i = 0; i < listing->n; i++) {
        path_of(work, listing->numbers[i], path);
        const tess_status status = take(work, path);
        if (status == TESS_OK) {
            // A run killed between writing one and removing another leaves one too many.
            for (int64_t old = i + work->config.keep; old < listing->n; old++) {
                path_of(work, listing->numbers[old], path);
                unlink(path);
            }
            return TESS_OK;
        }
        if (status == TESS_E_MISMATCH) {
            return judge_stranger(work, status);
        }
        if (status != TESS_E_FORMAT && status != TESS_E_TRUNCATED) {
            return status;
        }
        tess_log_warn(&work->ctx->log, TESS_W_RUN_CHECKPOINT_UNUSED,
                      "%s; trying an older checkpoint", tess_last_error());
    }
    if (!work->config.files) {
        tess_log_warn(&work->ctx->log, TESS_W_RUN_CHECKPOINT_UNUSED,
                      "%s: no checkpoint in it is whole, starting afresh", work->folder);
        return TESS_OK;
    }
    TESS_FAIL(TESS_E_FORMAT, "%s: no checkpoint in it is whole; remove the folder to start afresh",
              work->folder);
}

static tess_status look_around(tess_work *work)
{
    tess_work_listing listing;
    TESS_TRY(tess_work_folder_list(work->folder, work->config.name, &listing));
    const bool has_any = listing.n > 0 || listing.stranger[0];
    if (has_any && work->config.resume == 0) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: holds the checkpoint of an unfinished %s; pass --resume to go on with it, "
                  "or remove the folder to start afresh",
                  work->folder, work->config.what);
    }
    if (listing.stranger[0]) {
        const tess_status status = tess_error_set(
            TESS_E_MISMATCH,
            "%s: holds the checkpoint of another computation (%.100s); choose another folder",
            work->folder, listing.stranger);
        return judge_stranger(work, status);
    }
    work->number = listing.n > 0 ? listing.numbers[0] : 0;
    if (listing.n > 0) {
        return take_newest(work, &listing);
    }
    if (work->config.resume) {
        tess_log_write(&work->ctx->log, TESS_LOG_INFO, "%s: no checkpoint yet, starting afresh",
                       work->folder);
    }
    return TESS_OK;
}

static tess_status open_folder(tess_work *work)
{
    TESS_TRY(tess_work_folder_lock(work->folder, &work->lock_fd));
    TESS_TRY(tess_work_folder_check_files(work->folder, work->config.files));
    tess_work_folder_sweep(work->folder);
    return look_around(work);
}

static tess_status take_from(tess_work *work, const tess_comm_parts *parts)
{
    if (parts->data_bytes == 0 || tess_comm_is_first(work->ctx)) {
        return TESS_OK;
    }
    TESS_TRY(tess_checkpoint_read(work->ctx, parts->data, parts->data_bytes, work->folder,
                                  &work->found));
    work->is_found = true;
    return work->config.check ? work->config.check(work->config.self, &work->found, work->folder)
                              : TESS_OK;
}

// Rank 0 has the folder; what it found there all ranks go on from.
static tess_status open_ranks(tess_work *work)
{
    const bool is_first = tess_comm_is_first(work->ctx);
    const tess_status opened = is_first ? open_folder(work) : TESS_OK;
    tess_comm_parts parts;
    TESS_TRY(tess_comm_gather(work->ctx, (tess_comm_point){work->config.name, 0}, opened,
                              work->found.bytes,
                              is_first && work->is_found ? work->found.n_bytes : 0, &parts));
    const tess_status taken = take_from(work, &parts);
    tess_comm_parts_free(&parts);
    return taken;
}

tess_status tess_work_open(tess_context *ctx, const tess_work_config *config,
                           const tess_identity *id, tess_work *work)
{
    *work = (tess_work){.ctx = ctx, .config = *config, .id = id, .lock_fd = -1};
    work->last_save_ns = tess_now_ns();
    if (!config->folder) {
        if (config->resume == 1) {
            TESS_FAIL(TESS_E_ARGUMENT, "resume: needs the checkpoint folder of the earlier run");
        }
        return TESS_OK;
    }
    if (snprintf(work->folder, sizeof work->folder, "%s", config->folder) >=
        (int)sizeof work->folder) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", config->folder);
    }
    const bool is_shared = tess_comm_size(ctx) > 1 && !config->is_of_one;
    const tess_status status = is_shared ? open_ranks(work) : open_folder(work);
    if (status != TESS_OK) {
        tess_work_close(work);
    }
    return status;
}

// ---- Keeping ----------------------------------------------------------------------------------

bool tess_work_is_due(tess_work *work, bool is_milestone)
{
    atomic_int *wanted = &work->ctx->checkpoint_wanted;
    if (!tess_work_is_kept(work)) {
        if (atomic_exchange(wanted, 0) != 0) {
            tess_log_warn(&work->ctx->log, TESS_W_RUN_CHECKPOINT_NONE,
                          "no checkpoint was written: this %s keeps none; name a folder with "
                          "--checkpoint",
                          work->config.what);
        }
        return false;
    }
    if (work->config.every_s == 0 || atomic_load(wanted) != 0 ||
        atomic_load(&work->ctx->cancelled) != 0) {
        return true;
    }
    const double since_s = (double)(tess_now_ns() - work->last_save_ns) * 1e-9;
    const double every_s =
        is_milestone && MILESTONE_S < work->config.every_s ? MILESTONE_S : work->config.every_s;
    return since_s >= every_s && since_s >= 100 * work->save_cost_s;
}

// For people and tessera info: one shape, whatever the computation is.
static tess_status add_meta(const tess_work *work, double done, tess_checkpoint_writer *writer)
{
    const tess_context *ctx = work->ctx;
    char identity[33];
    char now[32];
    tess_json *json = NULL;
    tess_identity_digest(work->id, identity);
    tess_utc_text(now, sizeof now);
    TESS_TRY(tess_json_create_on(&work->ctx->heap, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.checkpoint/2");
    tess_json_text(json, "tessera", TESS_VERSION);
    tess_json_text(json, "commit", tess_build_commit());
    tess_json_text(json, "stage", work->config.name);
    tess_json_text(json, "identity", identity);
    tess_json_real(json, "done", done);
    tess_json_text(json, "device", tess_group_id(ctx, ctx->device));
    tess_json_text(json, "isa", ctx->isa);
    tess_json_int(json, "threads", ctx->n_thread);
    tess_json_uint(json, "memory_limit_bytes", ctx->memory_limit_bytes);
    tess_json_text(json, "written", now);
    tess_json_object_end(json);
    const char *text = NULL;
    tess_status status = tess_json_finish(json, &text);
    if (status == TESS_OK) {
        status = tess_checkpoint_add(writer, "meta", text, strlen(text));
    }
    tess_json_destroy(json);
    return status;
}

static tess_status add_all(const tess_work *work, double done, tess_work_write_fn write, void *self,
                           tess_checkpoint_writer *writer)
{
    const char *identity = NULL;
    TESS_TRY(tess_text_finish(&work->id->text, &identity));
    TESS_TRY(add_meta(work, done, writer));
    TESS_TRY(tess_checkpoint_add(writer, "identity", identity, strlen(identity)));
    TESS_TRY(tess_checkpoint_add(writer, "done", &done, sizeof done));
    for (const char *const *file = work->config.files; file && *file; file++) {
        TESS_TRY(tess_checkpoint_add(writer, "files", *file, strlen(*file) + 1));
    }
    return write(self, writer);
}

static tess_status write_one(const tess_work *work, const char *path, double done,
                             tess_work_write_fn write, void *self)
{
    tess_checkpoint_writer writer;
    TESS_TRY(tess_checkpoint_create(work->ctx, path, &writer));
    const tess_status status = add_all(work, done, write, self, &writer);
    if (status != TESS_OK) {
        tess_checkpoint_discard(&writer);
        return status;
    }
    return tess_checkpoint_commit(&writer);
}

void tess_work_save(tess_work *work, double done, tess_work_write_fn write, void *self)
{
    char path[1024];
    char message[TESS_MESSAGE_BYTES];
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&work->ctx->tracer, "checkpoint");
    tess_error_copy_out(message); // a run that stops keeps its own words
    // One that alone is kept gives its name to the next.
    const bool is_replaced = work->config.keep == 1 && work->number > 0;
    const int64_t number = is_replaced ? work->number : work->number + 1;
    path_of(work, number, path);
    atomic_store(&work->ctx->checkpoint_wanted, 0);
    const tess_status status = write_one(work, path, done, write, self);
    tess_span_end(&span, 0, 0);
    work->last_save_ns = tess_now_ns();
    work->save_cost_s = (double)(work->last_save_ns - begin_ns) * 1e-9;
    work->saved_s += work->save_cost_s;
    if (status == TESS_OK) {
        work->n_failed = 0;
        work->n_saved++;
        work->number = number;
        snprintf(work->newest, sizeof work->newest, "%s", path);
        path_of(work, number - work->config.keep, path);
        unlink(path);
    } else if (work->n_failed++ == 0) { // once: a full disk would say it every time
        tess_log_warn(&work->ctx->log, TESS_W_RUN_CHECKPOINT_FAILED,
                      "checkpoint not written (%s); the %s goes on, the previous one stands",
                      tess_last_error(), work->config.what);
    }
    tess_error_copy_in(message);
}

// ---- The end ----------------------------------------------------------------------------------

void tess_work_forget(tess_work *work)
{
    if (work->is_found) {
        tess_checkpoint_close(&work->found);
        work->is_found = false;
    }
}

void tess_work_end(tess_work *work)
{
    if (!tess_work_is_kept(work)) {
        return;
    }
    if (tess_work_folder_clear(work->folder, work->config.files) != TESS_OK) {
        tess_log_warn(&work->ctx->log, TESS_W_RUN_CHECKPOINT_LEFT, "%s; remove it by hand",
                      tess_last_error());
        tess_error_clear();
        return;
    }
    tess_work_folder_remove(work->folder);
    work->newest[0] = '\0';
}

void tess_work_close(tess_work *work)
{
    if (!work->ctx) {
        return;
    }
    tess_work_forget(work);
    if (work->lock_fd >= 0) {
        close(work->lock_fd);
        work->lock_fd = -1;
    }
}

tess_status tess_checkpoint_clear(tess_context *ctx, const char *folder)
{
    tess_error_clear();
    int lock_fd = -1;
    TESS_TRY(tess_work_folder_lock(folder, &lock_fd));
    const tess_status status = tess_work_folder_clear_all(ctx, folder);
    if (status == TESS_OK) {
        tess_work_folder_remove(folder);
    }
    close(lock_fd);
    return status;
}

tess_status tess_work_is_finished(tess_context *ctx, const tess_identity *id, const char *path,
                                  const char *folder, int *finished)
{
    char digest[33];
    tess_identity_digest(id, digest);
    *finished = access(path, F_OK) == 0 && tess_provenance_is_of(ctx, path, digest);
    if (!*finished) {
        return TESS_OK;
    }
    tess_temp_file_sweep(path);
    return folder && access(folder, F_OK) == 0 ? tess_checkpoint_clear(ctx, folder) : TESS_OK;
}

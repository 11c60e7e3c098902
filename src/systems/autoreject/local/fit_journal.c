#include "systems/autoreject/local/fit_journal.h"

#include "base/clock.h"
#include "base/status.h"
#include "runtime/folder_lock.h"
#include "systems/autoreject/local/fit_identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FAILURES = 3, NAME_CHARS = 9 };

// A result of one type: sizes, then arrays in blocks of their own.
typedef struct result_head {
    int64_t n_chan;
    int64_t n_candidate;
    int64_t n_loss;
    int64_t consensus_index;
    int64_t n_interpolate_index;
    int64_t n_interpolate;
    double consensus;
} result_head;

static void name_part(int64_t group, const char *part, char name[NAME_CHARS])
{
    snprintf(name, NAME_CHARS, "g%d%s", (int)group, part);
}

static tess_status read_mark(tess_ar_fit_journal *j)
{
    tess_ar_fit_identity found;
    TESS_TRY(tess_checkpoint_get(&j->found, "identity", &found, sizeof found));
    TESS_TRY(tess_ar_fit_identity_compare(&found, &j->id, j->path));
    TESS_TRY(tess_checkpoint_get(&j->found, "mark", &j->mark, sizeof j->mark));
    const tess_ar_fit_mark *m = &j->mark;
    const int64_t n_delta = m->group >= 0 && m->group < j->setup->n_group
                                ? j->setup->epochs->info.n_epoch * j->setup->groups[m->group].n_chan
                                : 0;
    if (m->group < 0 || m->group >= j->setup->n_group || m->phase < TESS_AR_FIT_NEW ||
        m->phase > TESS_AR_FIT_LOCAL || m->tiles < 0 || m->state_bytes < 0 ||
        (m->n_delta != 0 && m->n_delta != n_delta)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its counts make no sense; remove the folder to start afresh",
                  j->path);
    }
    return TESS_OK;
}

static tess_status open_folder(tess_ar_fit_journal *j)
{
    TESS_TRY(tess_ar_fit_identity_make(j->setup, &j->id));
    TESS_TRY(tess_folder_lock(j->folder, &j->lock_fd));
    tess_temp_file_sweep(j->path);
    if (access(j->path, F_OK) != 0) {
        return TESS_OK;
    }
    if (!j->setup->config.resume) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: holds the checkpoint of an unfinished run; pass --resume to go on with it, "
                  "or remove the folder to start afresh",
                  j->folder);
    }
    const tess_status status = tess_checkpoint_open(j->ctx, j->path, &j->found);
    if (status != TESS_OK) {
        tess_error_append("; remove the folder to start afresh");
        return status;
    }
    j->is_found = true;
    return read_mark(j);
}

tess_status tess_ar_fit_journal_open(tess_context *ctx, const tess_ar_setup *setup,
                                     const tess_autoreject_model *model, tess_ar_fit_journal *j)
{
    memset(j, 0, sizeof *j);
    j->ctx = ctx;
    j->setup = setup;
    j->model = model;
    j->lock_fd = -1;
    j->last_save_ns = tess_now_ns();
    const char *folder = setup->config.checkpoint_dir;
    if (!folder) {
        return TESS_OK;
    }
    if (snprintf(j->folder, sizeof j->folder, "%s", folder) >= (int)sizeof j->folder) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", folder);
    }
    j->is_kept = true;
    snprintf(j->path, sizeof j->path, "%s/autoreject.fit.000001.ckpt", folder);
    snprintf(j->samples_path, sizeof j->samples_path, "%s/samples.tiles", folder);
    const tess_status status = open_folder(j);
    if (status != TESS_OK) {
        tess_ar_fit_journal_close(j);
    }
    return status;
}

// An array of a result, in the model's memory; NULL with *status set where that fails.
static void *take(tess_ar_fit_journal *j, int64_t group, const char *part, int64_t n,
                  tess_blocks *memory, tess_status *status)
{
    char name[NAME_CHARS];
    name_part(group, part, name);
    void *data = tess_blocks_alloc(memory, n, sizeof(double), "a result of the checkpoint");
    if (*status == TESS_OK && !data) {
        *status = TESS_E_MEMORY;
    }
    if (*status == TESS_OK && n > 0) {
        *status = tess_checkpoint_get(&j->found, name, data, (size_t)n * sizeof(double));
    }
    return data;
}

tess_status tess_ar_fit_journal_restore(tess_ar_fit_journal *j, int64_t group, bool has_loss,
                                        tess_autoreject_model *model)
{
    tess_autoreject_type_fit *type = &model->types[group];
    tess_blocks *memory = &model->memory;
    char name[NAME_CHARS];
    result_head head;
    name_part(group, "head", name);
    TESS_TRY(tess_checkpoint_get(&j->found, name, &head, sizeof head));
    const tess_ar_setup *s = j->setup;
    const int64_t n_loss =
        has_loss && !s->thresholds_only ? s->n_consensus * s->n_n_interpolate * s->n_fold : 0;
    name_part(group, "cand", name);
    if (head.n_chan != type->n_chan || head.n_loss != n_loss || head.n_candidate < 0 ||
        (size_t)head.n_candidate != tess_checkpoint_size(&j->found, name) / sizeof(double)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its results make no sense; remove the folder", j->path);
    }
    tess_status status = TESS_OK;
    type->thresholds = take(j, group, "thr", head.n_chan, memory, &status);
    type->standard_errors = take(j, group, "se", head.n_chan, memory, &status);
    type->objectives = take(j, group, "obj", head.n_chan, memory, &status);
    type->n_candidate = take(j, group, "ncand", head.n_chan, memory, &status);
    type->candidates = take(j, group, "cand", head.n_candidate, memory, &status);
    type->candidate_objectives = take(j, group, "cobj", head.n_candidate, memory, &status);
    if (n_loss > 0) {
        type->loss = take(j, group, "loss", n_loss, memory, &status);
        type->consensus_index = head.consensus_index;
        type->n_interpolate_index = head.n_interpolate_index;
        type->n_interpolate = head.n_interpolate;
        type->consensus = head.consensus;
    }
    return status;
}

static tess_status add(tess_checkpoint_writer *writer, int64_t group, const char *part,
                       const void *data, int64_t n)
{
    char name[NAME_CHARS];
    name_part(group, part, name);
    return n > 0 && data ? tess_checkpoint_add(writer, name, data, (size_t)n * sizeof(double))
                         : TESS_OK;
}

static tess_status add_result(const tess_ar_fit_journal *j, tess_checkpoint_writer *writer,
                              int64_t group, bool has_loss)
{
    const tess_autoreject_type_fit *type = &j->model->types[group];
    const tess_ar_setup *s = j->setup;
    result_head head = {.n_chan = type->n_chan,
                        .consensus_index = type->consensus_index,
                        .n_interpolate_index = type->n_interpolate_index,
                        .n_interpolate = type->n_interpolate,
                        .consensus = type->consensus};
    if (has_loss && type->loss) {
        head.n_loss = s->n_consensus * s->n_n_interpolate * s->n_fold;
    }
    for (int64_t c = 0; c < type->n_chan; c++) {
        head.n_candidate += type->n_candidate[c];
    }
    char name[NAME_CHARS];
    name_part(group, "head", name);
    TESS_TRY(tess_checkpoint_add(writer, name, &head, sizeof head));
    TESS_TRY(add(writer, group, "thr", type->thresholds, head.n_chan));
    TESS_TRY(add(writer, group, "se", type->standard_errors, head.n_chan));
    TESS_TRY(add(writer, group, "obj", type->objectives, head.n_chan));
    TESS_TRY(add(writer, group, "ncand", type->n_candidate, head.n_chan));
    TESS_TRY(add(writer, group, "cand", type->candidates, head.n_candidate));
    TESS_TRY(add(writer, group, "cobj", type->candidate_objectives, head.n_candidate));
    return add(writer, group, "loss", type->loss, head.n_loss);
}

static tess_status add_parts(const tess_ar_fit_journal *j, tess_checkpoint_writer *writer,
                             const tess_ar_fit_mark *mark, const tess_ar_store *store,
                             const void *state)
{
    TESS_TRY(tess_checkpoint_add(writer, "identity", &j->id, sizeof j->id));
    TESS_TRY(tess_checkpoint_add(writer, "mark", mark, sizeof *mark));
    for (int64_t g = 0; g < mark->group; g++) {
        TESS_TRY(add_result(j, writer, g, true));
    }
    if (mark->phase == TESS_AR_FIT_LOCAL) {
        TESS_TRY(add_result(j, writer, mark->group, false));
    }
    const size_t delta_bytes = (size_t)mark->n_delta * sizeof(double);
    if (store && delta_bytes > 0) {
        TESS_TRY(tess_checkpoint_add(writer, "delta", store->delta, delta_bytes));
        if (store->delta_augmented) {
            TESS_TRY(tess_checkpoint_add(writer, "deltaaug", store->delta_augmented, delta_bytes));
        }
    }
    return state ? tess_checkpoint_add(writer, "state", state, (size_t)mark->state_bytes) : TESS_OK;
}

static tess_status write_one(const tess_ar_fit_journal *j, const tess_ar_fit_mark *mark,
                             const tess_ar_store *store, const void *state)
{
    tess_checkpoint_writer writer;
    TESS_TRY(tess_checkpoint_create(j->ctx, j->path, &writer));
    const tess_status status = add_parts(j, &writer, mark, store, state);
    if (status != TESS_OK) {
        tess_checkpoint_discard(&writer);
        return status;
    }
    return tess_checkpoint_commit(&writer);
}

bool tess_ar_fit_journal_is_due(const tess_ar_fit_journal *j)
{
    if (!j->is_kept) {
        return false;
    }
    const double since_s = (double)(tess_now_ns() - j->last_save_ns) * 1e-9;
    const double every_s = j->setup->config.checkpoint_every_s;
    // Never more than one hundredth of the run goes into checkpoints, unless every one is wanted.
    return every_s == 0 || (since_s >= every_s && since_s >= 100 * j->save_cost_s) ||
           atomic_load(&j->ctx->cancelled) != 0;
}

tess_status tess_ar_fit_journal_save(tess_ar_fit_journal *j, tess_ar_fit_mark mark,
                                     const tess_ar_store *store, const void *state)
{
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&j->ctx->tracer, "checkpoint");
    mark.has_file = store && store->scratch_fd >= 0;
    mark.n_delta = store ? store->n_epoch * store->n_chan : 0;
    mark.has_augmented = store && store->delta_augmented;
    const tess_status status = write_one(j, &mark, store, state);
    tess_span_end(&span, 0, 0);
    j->last_save_ns = tess_now_ns();
    j->save_cost_s = (double)(j->last_save_ns - begin_ns) * 1e-9;
    if (status == TESS_OK) {
        j->n_failed = 0;
        return TESS_OK;
    }
    if (++j->n_failed >= MAX_FAILURES) {
        return status;
    }
    tess_log_write(&j->ctx->log, TESS_LOG_WARNING,
                   "checkpoint not written (%s); the previous one stands", tess_last_error());
    return TESS_OK;
}

void tess_ar_fit_journal_forget(tess_ar_fit_journal *j)
{
    if (j->is_found) {
        tess_checkpoint_close(&j->found);
        j->is_found = false;
    }
}

void tess_ar_fit_journal_finish(tess_ar_fit_journal *j)
{
    if (j->lock_fd < 0) {
        return;
    }
    char lock[1024];
    snprintf(lock, sizeof lock, "%s/lock", j->folder);
    unlink(j->path);
    unlink(j->samples_path);
    unlink(lock);
    rmdir(j->folder); // stays if the user keeps other things there
}

void tess_ar_fit_journal_close(tess_ar_fit_journal *j)
{
    tess_ar_fit_journal_forget(j);
    if (j->ctx && j->lock_fd >= 0) {
        close(j->lock_fd);
        j->lock_fd = -1;
    }
}

#include "systems/xpcs/fit/journal.h"

#include "base/clock.h"
#include "base/status.h"
#include "runtime/folder_lock.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CHARS = 1024 };

static const char prefix[] = "tessera_xpcs_";

// In the middle of a pass: what follows in block "tree" is the partial sums.
typedef struct pass_mark {
    int64_t next_leaf;
    int64_t n_sum;
    int64_t n_level;
} pass_mark;

static void path_of(const tess_xp_journal *j, int64_t number, char path[PATH_CHARS])
{
    snprintf(path, PATH_CHARS, "%s/%s%06lld.ckpt", j->folder, prefix, (long long)number);
}

// Number of a checkpoint's file, or 0 if the name is none.
static int64_t number_of(const char *name)
{
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return 0;
    }
    char *end = NULL;
    const long long number = strtoll(name + sizeof prefix - 1, &end, 10);
    return number > 0 && strcmp(end, ".ckpt") == 0 ? (int64_t)number : 0;
}

// The largest number below a bound; 0 if there is none.
static int64_t newest_below(const tess_xp_journal *j, int64_t bound)
{
    int64_t best = 0;
    DIR *folder = opendir(j->folder);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
         entry = readdir(folder)) {
        const int64_t number = number_of(entry->d_name);
        best = number < bound && number > best ? number : best;
    }
    if (folder) {
        closedir(folder);
    }
    return best;
}

static void remove_below(const tess_xp_journal *j, int64_t bound)
{
    char path[PATH_CHARS];
    for (int64_t n = newest_below(j, bound); n > 0; n = newest_below(j, n)) {
        path_of(j, n, path);
        unlink(path);
    }
}

// What another fit left there: an error, or with resume 2 gone.
static tess_status judge(tess_xp_journal *j, int32_t resume, const char *path)
{
    tess_xp_identity found;
    tess_status status = tess_checkpoint_get(&j->found, "identity", &found, sizeof found);
    if (status == TESS_OK) {
        status = tess_xp_identity_compare(&found, &j->id, path);
    }
    if (status == TESS_OK) {
        return TESS_OK;
    }
    tess_checkpoint_close(&j->found);
    j->is_found = false;
    if (resume != 2) {
        return status;
    }
    tess_log_write(&j->ctx->log, TESS_LOG_WARNING, "xpcs: starting afresh: %s", tess_last_error());
    remove_below(j, INT64_MAX);
    return TESS_OK;
}

// The newest checkpoint that is whole; damaged ones are passed over.
static tess_status find_newest(tess_xp_journal *j, int32_t resume)
{
    char path[PATH_CHARS];
    j->number = newest_below(j, INT64_MAX);
    for (int64_t n = j->number; n > 0; n = newest_below(j, n)) {
        if (resume == 0) {
            TESS_FAIL(TESS_E_EXISTS,
                      "%s: holds the checkpoint of an unfinished fit; pass --resume to go on with "
                      "it, or remove the folder to start afresh",
                      j->folder);
        }
        path_of(j, n, path);
        if (tess_checkpoint_open(j->ctx, path, &j->found) == TESS_OK) {
            j->is_found = true;
            return judge(j, resume, path);
        }
        tess_log_write(&j->ctx->log, TESS_LOG_WARNING, "xpcs: %s; trying the one before",
                       tess_last_error());
    }
    return TESS_OK;
}

static void sweep(const tess_xp_journal *j)
{
    char path[PATH_CHARS];
    for (int64_t n = newest_below(j, INT64_MAX); n > 0; n = newest_below(j, n)) {
        path_of(j, n, path);
        tess_temp_file_sweep(path);
    }
    path_of(j, newest_below(j, INT64_MAX) + 1, path);
    tess_temp_file_sweep(path);
}

tess_status tess_xp_journal_open(tess_context *ctx, const tess_xpcs_data *data,
                                 const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                 size_t state_bytes, tess_xp_journal *j)
{
    memset(j, 0, sizeof *j);
    j->ctx = ctx;
    j->lock_fd = -1;
    j->keep = config->keep_checkpoints > 0 ? config->keep_checkpoints : 1;
    j->every_s = config->checkpoint_every_s;
    j->every_iteration = config->checkpoint_iterations;
    j->last_save_ns = tess_now_ns();
    if (!config->checkpoint_dir || config->fast) {
        return TESS_OK;
    }
    if (snprintf(j->folder, sizeof j->folder, "%s", config->checkpoint_dir) >=
        (int)sizeof j->folder) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", config->checkpoint_dir);
    }
    tess_xp_identity_make(ctx, data, model, config, state_bytes, &j->id);
    TESS_TRY(tess_folder_lock(j->folder, &j->lock_fd));
    j->is_kept = true;
    sweep(j);
    const tess_status status = find_newest(j, config->resume);
    if (status != TESS_OK) {
        tess_xp_journal_close(j);
    }
    return status;
}

static tess_status restore_pass(tess_xp_journal *j, tess_xp_pass *pass)
{
    pass_mark mark;
    TESS_TRY(tess_checkpoint_get(&j->found, "pass", &mark, sizeof mark));
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&pass->data->tiles);
    if (mark.next_leaf < 0 || mark.next_leaf >= n_leaf || mark.n_sum != pass->n_sum ||
        mark.n_level != tess_xp_tree_levels(mark.next_leaf)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: a checkpoint's counts make no sense; remove the folder to start afresh",
                  j->folder);
    }
    pass->next_leaf = mark.next_leaf;
    pass->tree.n_leaf = mark.next_leaf;
    const size_t bytes = (size_t)(mark.n_level * mark.n_sum) * sizeof(double);
    return bytes > 0 ? tess_checkpoint_get(&j->found, "tree", pass->tree.sums, bytes) : TESS_OK;
}

tess_status tess_xp_journal_restore(tess_xp_journal *j, void *state, tess_xp_pass *pass)
{
    tess_status status = tess_checkpoint_get(&j->found, "state", state, (size_t)j->id.state_bytes);
    if (status == TESS_OK) {
        status = restore_pass(j, pass);
    }
    tess_checkpoint_close(&j->found);
    j->is_found = false;
    return status;
}

bool tess_xp_journal_is_due(const tess_xp_journal *j, int64_t iteration)
{
    if (!j->is_kept) {
        return false;
    }
    if (j->every_s == 0 || atomic_load(&j->ctx->cancelled) != 0 ||
        atomic_load(&j->ctx->checkpoint_wanted) != 0) {
        return true;
    }
    // Never more than one hundredth of a fit goes into checkpoints.
    const double since_s = (double)(tess_now_ns() - j->last_save_ns) * 1e-9;
    return since_s >= 100 * j->save_cost_s && since_s >= 1 &&
           (since_s >= j->every_s || iteration - j->last_iteration >= j->every_iteration);
}

static tess_status add_parts(const tess_xp_journal *j, tess_checkpoint_writer *writer,
                             const void *state, const tess_xp_pass *pass)
{
    const pass_mark mark = {.next_leaf = pass->next_leaf,
                            .n_sum = pass->n_sum,
                            .n_level = tess_xp_tree_levels(pass->next_leaf)};
    TESS_TRY(tess_checkpoint_add(writer, "identity", &j->id, sizeof j->id));
    TESS_TRY(tess_checkpoint_add(writer, "state", state, (size_t)j->id.state_bytes));
    TESS_TRY(tess_checkpoint_add(writer, "pass", &mark, sizeof mark));
    return mark.n_level > 0
               ? tess_checkpoint_add(writer, "tree", pass->tree.sums,
                                     (size_t)(mark.n_level * mark.n_sum) * sizeof(double))
               : TESS_OK;
}

static tess_status write_one(const tess_xp_journal *j, const char *path, const void *state,
                             const tess_xp_pass *pass)
{
    tess_checkpoint_writer writer;
    TESS_TRY(tess_checkpoint_create(j->ctx, path, &writer));
    const tess_status status = add_parts(j, &writer, state, pass);
    if (status != TESS_OK) {
        tess_checkpoint_discard(&writer);
        return status;
    }
    return tess_checkpoint_commit(&writer);
}

void tess_xp_journal_save(tess_xp_journal *j, const void *state, const tess_xp_pass *pass,
                          int64_t iteration)
{
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&j->ctx->tracer, "checkpoint");
    char path[PATH_CHARS];
    path_of(j, j->number + 1, path);
    const tess_status status = write_one(j, path, state, pass);
    tess_span_end(&span, 0, 0);
    j->last_save_ns = tess_now_ns();
    j->save_cost_s = (double)(j->last_save_ns - begin_ns) * 1e-9;
    j->saved_s += j->save_cost_s;
    j->last_iteration = iteration;
    atomic_store(&j->ctx->checkpoint_wanted, 0);
    if (status != TESS_OK) {
        // Once: a full disk would say it after every pass.
        if (j->n_failed++ == 0) {
            tess_log_write(&j->ctx->log, TESS_LOG_WARNING,
                           "xpcs: checkpoint not written (%s); the fit goes on, the previous one "
                           "stands",
                           tess_last_error());
        }
        return;
    }
    j->n_failed = 0;
    j->number++;
    j->n_saved++;
    remove_below(j, j->number - j->keep + 1);
}

void tess_xp_journal_finish(tess_xp_journal *j)
{
    char lock[PATH_CHARS];
    if (!j->is_kept) {
        return;
    }
    remove_below(j, INT64_MAX);
    snprintf(lock, sizeof lock, "%s/lock", j->folder);
    unlink(lock);
    rmdir(j->folder); // stays if the user keeps other things there
}

void tess_xp_journal_close(tess_xp_journal *j)
{
    if (j->is_found) {
        tess_checkpoint_close(&j->found);
        j->is_found = false;
    }
    if (j->is_kept || (j->ctx && j->lock_fd >= 0)) {
        close(j->lock_fd);
        j->lock_fd = -1;
        j->is_kept = false;
    }
}

#include "systems/decode/stream/stream_journal.h"

#include "base/status.h"
#include "runtime/checkpoint.h"
#include "runtime/folder_lock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tess_status read_mark(tess_de_journal *journal, const tess_de_identity *id)
{
    tess_checkpoint checkpoint;
    tess_status status = tess_checkpoint_open(journal->ctx, journal->path, &checkpoint);
    if (status != TESS_OK) {
        tess_error_append("; remove the folder to start afresh");
        return status;
    }
    tess_de_identity found;
    status = tess_checkpoint_get(&checkpoint, "identity", &found, sizeof found);
    if (status == TESS_OK) {
        status = tess_de_identity_compare(&found, id, journal->path);
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_get(&checkpoint, "mark", &journal->mark, sizeof journal->mark);
    }
    tess_checkpoint_close(&checkpoint);
    const tess_de_mark *m = &journal->mark;
    if (status == TESS_OK &&
        (m->chunk_rows < 1 || m->n_chunk != (id->n_time + m->chunk_rows - 1) / m->chunk_rows ||
         m->chunk < -1 || m->chunk > m->n_chunk || m->n_item < 1 ||
         m->n_item > TESS_DE_RESULT_ITEMS)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its counts make no sense; remove the folder to start afresh",
                  journal->path);
    }
    return status;
}

static tess_status open_folder(tess_de_journal *journal, const tess_de_identity *id, int resume)
{
    TESS_TRY(tess_folder_lock(journal->folder, &journal->lock_fd));
    tess_temp_file_sweep(journal->path);
    journal->is_found = access(journal->path, F_OK) == 0;
    if (journal->is_found && !resume) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: holds the checkpoint of an unfinished run; pass --resume to go on with it, "
                  "or remove the folder to start afresh",
                  journal->folder);
    }
    return journal->is_found ? read_mark(journal, id) : TESS_OK;
}

tess_status tess_de_journal_open(tess_context *ctx, const char *folder, const tess_de_identity *id,
                                 int resume, tess_de_journal *journal)
{
    memset(journal, 0, sizeof *journal);
    journal->ctx = ctx;
    journal->lock_fd = -1;
    if (snprintf(journal->folder, sizeof journal->folder, "%s", folder) >=
        (int)sizeof journal->folder) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", folder);
    }
    snprintf(journal->path, sizeof journal->path, "%s/decode.predict.000001.ckpt", folder);
    const tess_status status = open_folder(journal, id, resume);
    if (status != TESS_OK) {
        tess_de_journal_close(journal);
    }
    return status;
}

// Chunks whose first row's vector is known.
static int64_t chunks_done(const tess_de_mark *mark)
{
    return mark->is_backward ? mark->n_chunk : mark->chunk;
}

tess_status tess_de_journal_restore(const tess_de_journal *journal, tess_de_engine *engine,
                                    uint64_t *offsets, int64_t n_item)
{
    const tess_de_mark *mark = &journal->mark;
    const size_t vector = (size_t)engine->desc.detector->info.n_state_bin * sizeof(double);
    const size_t n_done = (size_t)chunks_done(mark);
    tess_checkpoint checkpoint;
    TESS_TRY(tess_checkpoint_open(journal->ctx, journal->path, &checkpoint));
    struct {
        const char *name;
        void *data;
        size_t bytes;
    } parts[] = {{"predict", engine->carry.predicted, vector},
                 {"next", engine->next, vector},
                 {"offsets", offsets, (size_t)n_item * sizeof *offsets},
                 {"bounds", engine->boundaries, n_done * vector},
                 {"hashes", engine->kept_hash, n_done * sizeof *engine->kept_hash}};
    tess_status status = TESS_OK;
    for (size_t i = 0; status == TESS_OK && i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].bytes > 0) {
            status = tess_checkpoint_get(&checkpoint, parts[i].name, parts[i].data, parts[i].bytes);
        }
    }
    tess_checkpoint_close(&checkpoint);
    engine->carry.log_evidence = mark->log_evidence;
    engine->carry.n_row = mark->n_row;
    engine->carry.n_impossible = mark->n_impossible;
    engine->carry.first_impossible = mark->first_impossible;
    engine->report = mark->report;
    return status;
}

static tess_status add_parts(tess_checkpoint_writer *writer, const tess_de_identity *id,
                             const tess_de_mark *mark, const tess_de_engine *engine,
                             const tess_de_result *result, const char *meta)
{
    const size_t vector = (size_t)engine->desc.detector->info.n_state_bin * sizeof(double);
    const size_t n_done = (size_t)chunks_done(mark);
    uint64_t offsets[TESS_DE_RESULT_ITEMS];
    for (int64_t i = 0; i < result->n_item; i++) {
        offsets[i] = result->layout[i].offset;
    }
    const struct {
        const char *name;
        const void *data;
        size_t bytes;
    } parts[] = {{"meta", meta, strlen(meta)},
                 {"identity", id, sizeof *id},
                 {"mark", mark, sizeof *mark},
                 {"predict", engine->carry.predicted, vector},
                 {"next", engine->next, vector},
                 {"offsets", offsets, (size_t)result->n_item * sizeof *offsets},
                 {"bounds", engine->boundaries, n_done * vector},
                 {"hashes", engine->kept_hash, n_done * sizeof *engine->kept_hash}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].bytes > 0) {
            TESS_TRY(tess_checkpoint_add(writer, parts[i].name, parts[i].data, parts[i].bytes));
        }
    }
    return TESS_OK;
}

tess_status tess_de_journal_save(tess_de_journal *journal, const tess_de_identity *id,
                                 const tess_de_mark *mark, const tess_de_engine *engine,
                                 const tess_de_result *result, const char *meta)
{
    tess_checkpoint_writer writer;
    TESS_TRY(tess_checkpoint_create(journal->ctx, journal->path, &writer));
    const tess_status status = add_parts(&writer, id, mark, engine, result, meta);
    if (status != TESS_OK) {
        tess_checkpoint_discard(&writer);
        return status;
    }
    return tess_checkpoint_commit(&writer);
}

void tess_de_journal_finish(tess_de_journal *journal)
{
    if (journal->lock_fd < 0) {
        return;
    }
    char path[1024];
    unlink(journal->path);
    // The result may have got its name and kept its old one, where a run died in between.
    const char *const names[] = {"partial.h5", "filtered.rows", "lock"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", journal->folder, names[i]);
        unlink(path);
    }
    rmdir(journal->folder); // stays if the user keeps other things there
}

void tess_de_journal_close(tess_de_journal *journal)
{
    if (journal->ctx && journal->lock_fd >= 0) {
        close(journal->lock_fd);
        journal->lock_fd = -1;
    }
}

#include "runtime/journal.h"

#include "base/file.h"
#include "base/status.h"
#include "runtime/checkpoint.h"
#include "runtime/folder_lock.h"
#include "runtime/identity.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FAILURES = 3, MAX_CHECKPOINTS = 64 };

static void path_in(const tess_journal *journal, const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/%s", journal->folder, name);
}

static void checkpoint_path(const tess_journal *journal, int64_t number, char path[1024])
{
    snprintf(path, 1024, "%s/%s.%06lld.ckpt", journal->folder, journal->plan->ops->name,
             (long long)number);
}

// The folder is ours: temporaries in it are what a killed run left behind.
static void sweep_temporaries(const tess_journal *journal)
{
    DIR *folder = opendir(journal->folder);
    if (!folder) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strstr(entry->d_name, ".ckpt.tmp.")) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    closedir(folder);
}

// Numbers of the checkpoints in the folder, newest first.
static tess_status list_checkpoints(const tess_journal *journal, int64_t numbers[MAX_CHECKPOINTS],
                                    int *n_found)
{
    *n_found = 0;
    DIR *folder = opendir(journal->folder);
    if (!folder) {
        // Taken for an empty folder, it would be started afresh over the finished work.
        TESS_FAIL(errno == ENOMEM ? TESS_E_MEMORY : TESS_E_IO, "%s: cannot list: %s",
                  journal->folder, strerror(errno));
    }
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length < 12 || strcmp(entry->d_name + length - 5, ".ckpt") != 0) {
            continue;
        }
        const char *dot = entry->d_name + length - 5;
        while (dot > entry->d_name && dot[-1] != '.') {
            dot--;
        }
        char *end = NULL;
        const long long number = strtoll(dot, &end, 10);
        const bool is_full = n == MAX_CHECKPOINTS;
        if (end == entry->d_name + length - 5 && number > (is_full ? numbers[n - 1] : 0)) {
            int at = is_full ? n - 1 : n++;
            for (; at > 0 && numbers[at - 1] < number; at--) {
                numbers[at] = numbers[at - 1];
            }
            numbers[at] = number;
        }
    }
    closedir(folder);
    *n_found = n;
    return TESS_OK;
}

// Every range the checkpoint lists must be in the spool unchanged. The spool is mapped: however
// large the tiles of the earlier run were, checking them takes no memory of its own.
static tess_status verify_spool(tess_journal *journal, tess_sink *sink)
{
    const tess_spool *spool = tess_sink_spool(sink);
    const size_t map_bytes = (size_t)(spool->header_bytes + spool->data_bytes);
    char *map = mmap(NULL, map_bytes, PROT_READ, MAP_SHARED, spool->fd, 0);
    if (map == MAP_FAILED) {
        TESS_FAIL(TESS_E_IO, "%s: cannot map: %s", spool->path, strerror(errno));
    }
    tess_status status = TESS_OK;
    for (int64_t i = 0; status == TESS_OK && i < journal->n_tile; i++) {
        const tess_journal_tile *tile = &journal->tiles[i];
        const char *data = map + spool->header_bytes + spool->item_bytes * (uint64_t)tile->first;
        const size_t bytes = (size_t)(spool->item_bytes * (uint64_t)tile->count);
        if (!tess_hash_equal(tess_hash_bytes(tess_hash_default(), data, bytes), tile->hash)) {
            status = tess_error_set(TESS_E_MISMATCH,
                                    "%s: items %lld to %lld are damaged; remove the folder to "
                                    "start afresh",
                                    spool->path, (long long)tile->first,
                                    (long long)(tile->first + tile->count));
        }
    }
    munmap(map, map_bytes);
    return status;
}

static tess_status grow_tiles(tess_journal *journal, int64_t capacity)
{
    tess_heap *heap = &journal->ctx->heap;
    tess_journal_tile *grown = tess_heap_alloc(heap, (size_t)capacity * sizeof *grown, TESS_TAG_IO,
                                               "list of finished tiles");
    if (!grown) {
        return TESS_E_MEMORY;
    }
    if (journal->n_tile > 0) {
        memcpy(grown, journal->tiles, (size_t)journal->n_tile * sizeof *grown);
    }
    tess_heap_free(heap, journal->tiles, (size_t)journal->tile_capacity * sizeof *grown,
                   TESS_TAG_IO);
    journal->tiles = grown;
    journal->tile_capacity = capacity;
    return TESS_OK;
}

// Reads one checkpoint and takes over what it says.
static tess_status load(tess_journal *journal, const char *path, tess_sink *sink, int64_t *done)
{
    tess_checkpoint checkpoint;
    TESS_TRY(tess_checkpoint_open(journal->ctx, path, &checkpoint));
    tess_identity own;
    tess_identity found;
    tess_identity_make(journal->ctx, journal->plan, journal->fingerprint, &own);
    tess_status status = tess_checkpoint_get(&checkpoint, "identity", &found, sizeof found);
    if (status == TESS_OK) {
        status = tess_identity_compare(&found, &own, path);
    }
    const size_t bytes = tess_checkpoint_size(&checkpoint, "tiles");
    const int64_t n_tile = (int64_t)(bytes / sizeof *journal->tiles);
    if (status == TESS_OK && n_tile > 0) {
        journal->n_tile = 0;
        status = grow_tiles(journal, n_tile);
    }
    if (status == TESS_OK && n_tile > 0) {
        status = tess_checkpoint_get(&checkpoint, "tiles", journal->tiles,
                                     (size_t)n_tile * sizeof *journal->tiles);
    }
    tess_checkpoint_close(&checkpoint);
    TESS_TRY(status);

    int64_t cursor = 0;
    for (int64_t i = 0; i < n_tile; i++) {
        const tess_journal_tile *tile = &journal->tiles[i];
        if (tile->first != cursor || tile->count <= 0 ||
            tile->count > journal->plan->info.n_item - cursor) {
            TESS_FAIL(TESS_E_FORMAT, "%s: its list of finished tiles is not in order", path);
        }
        cursor += tile->count;
    }
    journal->n_tile = n_tile;
    char spool[1024];
    path_in(journal, "spool.npy", spool);
    TESS_TRY(tess_sink_attach_spool(sink, spool, 1, cursor));
    TESS_TRY(verify_spool(journal, sink));
    *done = cursor;
    return TESS_OK;
}

// The newest checkpoint that is whole. A damaged one is passed over with a warning; one that
// belongs to another run is an error, never skipped.
static tess_status resume_newest(tess_journal *journal, tess_sink *sink, const int64_t *numbers,
                                 int n, int64_t *done)
{
    for (int i = 0; i < n; i++) {
        char path[1024];
        checkpoint_path(journal, numbers[i], path);
        if (access(path, F_OK) != 0) {
            TESS_FAIL(TESS_E_MISMATCH,
                      "%s: holds the checkpoint of another computation; choose another folder",
                      journal->folder);
        }
        const tess_status status = load(journal, path, sink, done);
        if (status == TESS_OK) {
            snprintf(journal->newest, sizeof journal->newest, "%s", path);
            // A run killed between writing one and removing another leaves one too many.
            for (int64_t old = i + journal->keep; old < n; old++) {
                checkpoint_path(journal, numbers[old], path);
                unlink(path);
            }
            return TESS_OK;
        }
        if (status != TESS_E_FORMAT && status != TESS_E_TRUNCATED) {
            return status;
        }
        tess_log_write(&journal->ctx->log, TESS_LOG_WARNING, "%s; trying an older checkpoint",
                       tess_last_error());
    }
    TESS_FAIL(TESS_E_FORMAT, "%s: no checkpoint in it is whole; remove the folder to start afresh",
              journal->folder);
}

static tess_status start_or_resume(tess_journal *journal, int resume, tess_sink *sink,
                                   int64_t *done)
{
    TESS_TRY(tess_folder_lock(journal->folder, &journal->lock_fd));
    sweep_temporaries(journal);
    int64_t numbers[MAX_CHECKPOINTS];
    int n = 0;
    TESS_TRY(list_checkpoints(journal, numbers, &n));
    if (n > 0 && !resume) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: holds the checkpoint of an unfinished run; pass --resume to go on with it, "
                  "or remove the folder to start afresh",
                  journal->folder);
    }
    journal->number = n > 0 ? numbers[0] : 0;
    if (n > 0) {
        return resume_newest(journal, sink, numbers, n, done);
    }
    if (resume) {
        tess_log_write(&journal->ctx->log, TESS_LOG_INFO, "%s: no checkpoint yet, starting afresh",
                       journal->folder);
    }
    char spool[1024];
    path_in(journal, "spool.npy", spool);
    return tess_sink_attach_spool(sink, spool, 0, 0);
}

static tess_status name_folder(tess_journal *journal, tess_context *ctx, const tess_plan *plan,
                               const char *folder)
{
    memset(journal, 0, sizeof *journal);
    journal->ctx = ctx;
    journal->plan = plan;
    journal->lock_fd = -1;
    if (snprintf(journal->folder, sizeof journal->folder, "%s", folder) >=
        (int)sizeof journal->folder) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", folder);
    }
    return TESS_OK;
}

tess_status tess_journal_clear(tess_context *ctx, const tess_plan *plan, const char *folder)
{
    tess_journal journal;
    TESS_TRY(name_folder(&journal, ctx, plan, folder));
    const tess_status status = tess_folder_lock(journal.folder, &journal.lock_fd);
    if (status == TESS_OK) {
        tess_journal_finish(&journal);
    }
    tess_journal_close(&journal);
    return status;
}

tess_status tess_journal_open(tess_context *ctx, const tess_plan *plan, tess_hash fingerprint,
                              const char *folder, int resume, int64_t keep, tess_sink *sink,
                              tess_journal *journal, int64_t *done)
{
    *done = 0;
    TESS_TRY(name_folder(journal, ctx, plan, folder));
    journal->fingerprint = fingerprint;
    journal->keep = keep;
    const tess_status status = start_or_resume(journal, resume, sink, done);
    if (status != TESS_OK) {
        tess_journal_close(journal);
    }
    return status;
}

tess_status tess_journal_note(tess_journal *journal, int64_t first, int64_t count, const void *data)
{
    if (journal->n_tile == journal->tile_capacity) {
        TESS_TRY(grow_tiles(journal, journal->n_tile > 0 ? 2 * journal->n_tile : 64));
    }
    const size_t bytes = (size_t)(journal->plan->out_item_bytes * (uint64_t)count);
    journal->tiles[journal->n_tile++] =
        (tess_journal_tile){first, count, tess_hash_bytes(tess_hash_default(), data, bytes)};
    return TESS_OK;
}

static tess_status save(tess_journal *journal, tess_sink *sink, const char *meta, const char *path)
{
    // The data first: a checkpoint must never speak of tiles the disk does not have.
    const tess_spool *spool = tess_sink_spool(sink);
    TESS_TRY(tess_file_sync(spool->fd, spool->path));
    tess_checkpoint_writer writer;
    TESS_TRY(tess_checkpoint_create(journal->ctx, path, &writer));
    tess_identity id;
    tess_identity_make(journal->ctx, journal->plan, journal->fingerprint, &id);
    tess_status status = tess_checkpoint_add(&writer, "meta", meta, strlen(meta));
    if (status == TESS_OK) {
        status = tess_checkpoint_add(&writer, "identity", &id, sizeof id);
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_add(&writer, "tiles", journal->tiles,
                                     (size_t)journal->n_tile * sizeof *journal->tiles);
    }
    if (status != TESS_OK) {
        tess_checkpoint_discard(&writer);
        return status;
    }
    return tess_checkpoint_commit(&writer);
}

tess_status tess_journal_save(tess_journal *journal, tess_sink *sink, const char *meta)
{
    char path[1024];
    checkpoint_path(journal, journal->number + 1, path);
    const tess_status status = save(journal, sink, meta, path);
    if (status != TESS_OK) {
        if (++journal->n_failed >= MAX_FAILURES) {
            return status;
        }
        tess_log_write(&journal->ctx->log, TESS_LOG_WARNING,
                       "checkpoint not written (%s); the previous one stands", tess_last_error());
        return TESS_OK;
    }
    journal->n_failed = 0;
    journal->number++;
    snprintf(journal->newest, sizeof journal->newest, "%s", path);
    if (journal->number > journal->keep) {
        checkpoint_path(journal, journal->number - journal->keep, path);
        unlink(path);
    }
    return TESS_OK;
}

void tess_journal_finish(tess_journal *journal)
{
    int64_t numbers[MAX_CHECKPOINTS];
    char path[1024];
    int n = 0;
    do {
        if (list_checkpoints(journal, numbers, &n) != TESS_OK) {
            tess_log_write(&journal->ctx->log, TESS_LOG_WARNING, "%s; remove it by hand",
                           tess_last_error());
            return;
        }
        for (int i = 0; i < n; i++) {
            checkpoint_path(journal, numbers[i], path);
            if (unlink(path) != 0) {
                n = 0; // not removable: the folder stays
            }
        }
    } while (n == MAX_CHECKPOINTS);
    path_in(journal, "spool.npy", path);
    unlink(path);
    path_in(journal, "lock", path);
    unlink(path);
    rmdir(journal->folder); // stays if the user keeps other things there
    journal->newest[0] = '\0';
}

void tess_journal_close(tess_journal *journal)
{
    if (journal->lock_fd >= 0) {
        close(journal->lock_fd);
        journal->lock_fd = -1;
    }
    if (journal->ctx) {
        tess_heap_free(&journal->ctx->heap, journal->tiles,
                       (size_t)journal->tile_capacity * sizeof *journal->tiles, TESS_TAG_IO);
        journal->tiles = NULL;
        journal->tile_capacity = 0;
    }
}

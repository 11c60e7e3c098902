#include "systems/decode/states/engine_state.h"

#include "base/status.h"

typedef struct part {
    const char *name;
    void *data;
    size_t bytes;
} part;

enum { N_PART = 6 };

// What there is besides the mark; only finished chunks have a vector and a hash.
static void list_parts(const tess_de_engine *e, const tess_de_position *at, part parts[N_PART])
{
    const size_t vector = (size_t)e->desc.detector->info.n_state_bin * sizeof(double);
    const size_t n_done = (size_t)(at->pass == TESS_DE_FORWARD ? at->chunk : e->n_chunk);
    const int64_t scored = at->pass == TESS_DE_FORWARD    ? e->n_chunk
                           : at->pass == TESS_DE_BACKWARD ? at->chunk + 1
                                                          : 0; // from this chunk on
    parts[0] = (part){"predict", e->carry.predicted, vector};
    parts[1] = (part){"next", e->next, vector};
    parts[2] = (part){"bounds", e->boundaries, n_done * vector};
    parts[4] = (part){"sequence", e->evidence, (size_t)e->sequences.n * sizeof(double)};
    parts[5] = (part){"ends", NULL, 0};
    if (e->path.ends) {
        parts[5].data = e->path.ends + scored * e->desc.detector->info.n_state_bin;
        parts[5].bytes = (size_t)(e->n_chunk - scored) * vector;
    }
    parts[3] = (part){"hashes", e->kept_hash, n_done * sizeof *e->kept_hash};
}

tess_status tess_de_engine_write(const tess_de_engine *engine, tess_checkpoint_writer *writer)
{
    const tess_de_mark mark = {.at = engine->at,
                               .chunk_rows = engine->chunk_rows,
                               .n_chunk = engine->n_chunk,
                               .log_evidence = engine->carry.log_evidence,
                               .n_row = engine->carry.n_row,
                               .n_impossible = engine->carry.n_impossible,
                               .first_impossible = engine->carry.first_impossible,
                               .path_at = engine->path.at,
                               .report = engine->report};
    part parts[N_PART];
    list_parts(engine, &engine->at, parts);
    TESS_TRY(tess_checkpoint_add(writer, "mark", &mark, sizeof mark));
    for (int i = 0; i < N_PART; i++) {
        TESS_TRY(tess_checkpoint_add(writer, parts[i].name, parts[i].data, parts[i].bytes));
    }
    return TESS_OK;
}

tess_status tess_de_mark_read(const tess_checkpoint *found, const char *path, int64_t n_time,
                              tess_de_mark *mark)
{
    TESS_TRY(tess_checkpoint_get(found, "mark", mark, sizeof *mark));
    const int64_t rows = mark->chunk_rows;
    if (rows < 1 || rows > n_time || mark->n_chunk != (n_time + rows - 1) / rows ||
        mark->at.pass < TESS_DE_FORWARD || mark->at.pass > TESS_DE_TRACE ||
        mark->at.chunk < (mark->at.pass == TESS_DE_BACKWARD ? -1 : 0) ||
        mark->at.chunk > mark->n_chunk) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its counts make no sense", path);
    }
    return TESS_OK;
}

tess_status tess_de_engine_restore(tess_de_engine *engine, const tess_checkpoint *found,
                                   const tess_de_mark *mark)
{
    part parts[N_PART];
    list_parts(engine, &mark->at, parts);
    for (int i = 0; i < N_PART; i++) {
        TESS_TRY(tess_checkpoint_get(found, parts[i].name, parts[i].data, parts[i].bytes));
    }
    engine->at = mark->at;
    engine->carry.log_evidence = mark->log_evidence;
    engine->carry.n_row = mark->n_row;
    engine->carry.n_impossible = mark->n_impossible;
    engine->carry.first_impossible = mark->first_impossible;
    engine->path.at = mark->path_at;
    engine->report = mark->report;
    return TESS_OK;
}

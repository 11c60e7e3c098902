#include "systems/autoreject/fit/fit_state.h"

#include "base/status.h"

#include <stdio.h>

enum { NAME_CHARS = 9 };

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

// ---- Writing ----------------------------------------------------------------------------------

static tess_status add(tess_checkpoint_writer *writer, int64_t group, const char *part,
                       const void *data, int64_t n)
{
    char name[NAME_CHARS];
    name_part(group, part, name);
    return n > 0 ? tess_checkpoint_add(writer, name, data, (size_t)n * sizeof(double)) : TESS_OK;
}

static tess_status add_result(const tess_ar_fit_state *state, tess_checkpoint_writer *writer,
                              int64_t group, bool has_loss)
{
    const tess_ar_setup *s = state->setup;
    const tess_autoreject_type_fit *type = &state->model->types[group];
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

static tess_status add_samples(const tess_ar_store *store, size_t bytes,
                               tess_checkpoint_writer *writer)
{
    TESS_TRY(tess_checkpoint_add(writer, "delta", store->delta, bytes));
    return store->delta_augmented
               ? tess_checkpoint_add(writer, "deltaaug", store->delta_augmented, bytes)
               : TESS_OK;
}

tess_status tess_ar_fit_state_write(void *self, tess_checkpoint_writer *writer)
{
    const tess_ar_fit_state *state = self;
    const tess_ar_store *store = state->store;
    tess_ar_fit_mark mark = state->mark;
    mark.has_file = store && store->scratch_fd >= 0;
    mark.n_delta = store ? store->n_epoch * store->n_chan : 0;
    TESS_TRY(tess_checkpoint_add(writer, "mark", &mark, sizeof mark));
    TESS_TRY(tess_checkpoint_add(writer, "notes", state->model->notes.chars, (size_t)mark.n_note));
    for (int64_t g = 0; g < mark.group; g++) {
        TESS_TRY(add_result(state, writer, g, true));
    }
    if (mark.phase == TESS_AR_FIT_LOCAL) {
        TESS_TRY(add_result(state, writer, mark.group, false));
    }
    if (store) {
        TESS_TRY(add_samples(store, (size_t)mark.n_delta * sizeof(double), writer));
    }
    return state->search
               ? tess_checkpoint_add(writer, "state", state->search, (size_t)mark.state_bytes)
               : TESS_OK;
}

// ---- Reading ----------------------------------------------------------------------------------

tess_status tess_ar_fit_state_check(void *self, const tess_checkpoint *found, const char *path)
{
    tess_ar_fit_state *state = self;
    const tess_ar_setup *s = state->setup;
    tess_ar_fit_mark *m = &state->mark;
    TESS_TRY(tess_checkpoint_get(found, "mark", m, sizeof *m));
    const int64_t n_delta = m->group >= 0 && m->group < s->n_group
                                ? s->epochs->info.n_epoch * s->groups[m->group].n_chan
                                : 0;
    if (m->group < 0 || m->group > s->n_group || m->phase < TESS_AR_FIT_NEW ||
        m->phase > TESS_AR_FIT_LOCAL || m->tiles < 0 || m->state_bytes < 0 ||
        m->n_note != (int64_t)tess_checkpoint_size(found, "notes") ||
        (m->n_delta != 0 && m->n_delta != n_delta)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its counts make no sense; remove the folder to start afresh",
                  path);
    }
    return TESS_OK;
}

// An array of a result, in the model's memory; NULL with *status set where that fails.
static void *take(const tess_checkpoint *found, int64_t group, const char *part, int64_t n,
                  tess_blocks *memory, tess_status *status)
{
    char name[NAME_CHARS];
    name_part(group, part, name);
    void *data = tess_blocks_alloc(memory, n, sizeof(double), "a result of the checkpoint");
    if (*status == TESS_OK && !data) {
        *status = TESS_E_MEMORY;
    }
    if (*status == TESS_OK && n > 0) {
        *status = tess_checkpoint_get(found, name, data, (size_t)n * sizeof(double));
    }
    return data;
}

tess_status tess_ar_fit_state_restore(const tess_ar_fit_state *state, const tess_checkpoint *found,
                                      int64_t group, bool has_loss)
{
    tess_autoreject_type_fit *type = &state->model->types[group];
    tess_blocks *memory = &state->model->memory;
    char name[NAME_CHARS];
    result_head head;
    name_part(group, "head", name);
    TESS_TRY(tess_checkpoint_get(found, name, &head, sizeof head));
    const tess_ar_setup *s = state->setup;
    const int64_t n_loss =
        has_loss && !s->thresholds_only ? s->n_consensus * s->n_n_interpolate * s->n_fold : 0;
    name_part(group, "cand", name);
    if (head.n_chan != type->n_chan || head.n_loss != n_loss || head.n_candidate < 0 ||
        (size_t)head.n_candidate != tess_checkpoint_size(found, name) / sizeof(double)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "checkpoint: its results make no sense; remove the folder to start afresh");
    }
    tess_status status = TESS_OK;
    type->thresholds = take(found, group, "thr", head.n_chan, memory, &status);
    type->standard_errors = take(found, group, "se", head.n_chan, memory, &status);
    type->objectives = take(found, group, "obj", head.n_chan, memory, &status);
    type->n_candidate = take(found, group, "ncand", head.n_chan, memory, &status);
    type->candidates = take(found, group, "cand", head.n_candidate, memory, &status);
    type->candidate_objectives = take(found, group, "cobj", head.n_candidate, memory, &status);
    if (n_loss > 0) {
        type->loss = take(found, group, "loss", n_loss, memory, &status);
        type->consensus_index = head.consensus_index;
        type->n_interpolate_index = head.n_interpolate_index;
        type->n_interpolate = head.n_interpolate;
        type->consensus = head.consensus;
    }
    return status;
}

tess_status tess_ar_fit_state_restore_notes(const tess_ar_fit_state *state,
                                            const tess_checkpoint *found)
{
    tess_autoreject_model *model = state->model;
    const int64_t n = state->mark.n_note;
    char *notes = tess_blocks_alloc(&model->memory, n + 1, 1, "notes");
    if (!notes) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_checkpoint_get(found, "notes", notes, (size_t)n));
    tess_text_destroy(&model->notes);
    tess_text_init(&model->notes, &model->ctx->heap);
    tess_text_append(&model->notes, notes, (size_t)n);
    model->info.notes = model->notes.chars ? model->notes.chars : "";
    return TESS_OK;
}

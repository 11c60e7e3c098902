// Batches of events: spikes by electrode and time, a row of log intensities for each.
#include "systems/decode/events/model.h"

#include "base/status.h"
#include "systems/decode/encoding/evaluate.h"

#include <math.h>
#include <string.h>

// Events of a batch at most.
enum { MOST_EVENTS = 64 };
// Additions of a batch that a thread does by each kind of shuffle, at most: what a checkpoint may
// be behind. A core does some 2.5e9 a second.
static const double MOST_COST = 1.25e9;
// And of one call of the stage: a stop is noticed in between.
static const double MOST_AT_ONCE = 0.5e9;
// Lines that are looked at, of all: the others cannot be the best.
static const double SEEN_LINES = 0.25;

// Where an electrode's spikes of an event lie among its ordered ones.
typedef struct spike_range {
    int64_t first;
    int64_t n;
} spike_range;

static spike_range find_range(const tess_de_events_model *model, const tess_decode_event *event,
                              int64_t electrode)
{
    const tess_de_ordered *o = &model->ordered[electrode];
    const int64_t first = tess_de_first_from(o->time, o->n, event->start);
    int64_t end = first;
    while (end < o->n &&
           tess_de_event_bin(event->start, model->width, o->time[end]) < event->n_bin) {
        end++;
    }
    return (spike_range){first, end - first};
}

static int64_t spikes_of(const tess_de_events_model *model, const tess_decode_event *event)
{
    int64_t n = 0;
    for (int64_t e = 0; e < model->in->spikes.n_electrode; e++) {
        n += find_range(model, event, e).n;
    }
    return n;
}

// Bytes a batch takes for an event: rows, and what workers and results hold.
static double bytes_of(const tess_de_events_model *model, const tess_decode_event *event,
                       int64_t n_shuffle)
{
    const double n_place = (double)model->track.n_place;
    const double n_spike = (double)spikes_of(model, event);
    const double n_ll = model->states.model ? (double)model->states.model->n_ll : 0;
    const double rows = model->unit_rows ? 0 : n_spike * n_place;
    const double scores = 2 * (double)n_shuffle * TESS_EVENTS_N_SCORE; // as they come, and all
    const double pairs =
        model->detector->info.n_coefficient > 0 && model->states.model
            ? (double)(model->detector->info.n_state * model->detector->info.n_state)
            : 0;
    return 8 * (rows + 8 * n_spike + (double)event->n_bin * (n_ll + n_place + pairs) + scores);
}

// Additions of one shuffle of an event, roughly: lines, rows of spikes, steps of the states.
static double cost_of(const tess_de_events_model *model, const tess_decode_event *event)
{
    static const double per_state_bin = 40; // of filter and smoother
    const double n_bin = (double)event->n_bin;
    const double n_spike = (double)spikes_of(model, event);
    const tess_hmm_model *states = model->states.model;
    double cost = n_spike * (double)model->track.n_place;
    cost += states ? per_state_bin * n_bin * (double)states->n_bin : 0;
    for (int64_t r = 0; r < model->track.n_route; r++) {
        const tess_events_route *route = &model->track.routes[r];
        const double n_slope =
            1 + 2 * floor(model->track.max_velocity * (n_bin - 1) * model->width / route->step);
        cost += SEEN_LINES * n_slope * route->length / route->step * n_bin;
    }
    return cost;
}

int64_t tess_de_events_batch_shuffles(const tess_de_events_model *model,
                                      const tess_decode_event *table, const int64_t *index,
                                      int64_t n, int64_t n_shuffle)
{
    // A worker takes 16 at a time, and all shall have something to do.
    const int64_t block = 16;
    const int64_t least = block * (1 + 2 * (int64_t)model->speed / n);
    double cost = 0;
    for (int64_t i = 0; i < n; i++) {
        cost += cost_of(model, &table[index[i]]);
    }
    const double wish = MOST_AT_ONCE * model->speed / cost;
    const int64_t count = wish < (double)n_shuffle ? (int64_t)wish / block * block : n_shuffle;
    return count < least ? least : count;
}

tess_status tess_de_events_batch_size(const tess_de_events_model *model,
                                      const tess_decode_event *table, const int64_t *index,
                                      int64_t n, int64_t n_shuffle, int64_t *count)
{
    const double limit = 0.25 * (double)model->ctx->memory_limit_bytes;
    const double most_cost = MOST_COST * model->speed;
    double bytes = 0;
    double cost = 0;
    *count = 0;
    while (*count < n && *count < MOST_EVENTS) {
        const tess_decode_event *next = &table[index[*count]];
        const double more = bytes_of(model, next, n_shuffle);
        const double longer = (double)n_shuffle * cost_of(model, next);
        if (*count > 0 && (bytes + more > limit || cost + longer > most_cost)) {
            break;
        }
        bytes += more;
        cost += longer;
        (*count)++;
    }
    if (bytes > 4 * limit) {
        TESS_FAIL(TESS_E_LIMIT,
                  "event %lld takes %.0f MiB for its spikes and shuffles, and the memory limit is "
                  "%llu MiB; the smallest limit that works is about %.0f MiB",
                  (long long)table[index[0]].event, bytes / 1048576,
                  (unsigned long long)(model->ctx->memory_limit_bytes >> 20), bytes / 1048576 + 1);
    }
    return TESS_OK;
}

// Lists being filled, electrode by electrode.
typedef struct batch_lists {
    int32_t *bin;
    int32_t *electrode;
    int64_t *row;
    int64_t *used;  // [n_event] of each event's part of the lists
    int64_t *first; // [n_event] where it begins
    double *marks;
    double *rows;
    int64_t n_row;
} batch_lists;

static tess_status alloc_lists(const tess_de_events_model *model, const tess_decode_event *table,
                               tess_de_events_batch *batch, batch_lists *lists)
{
    tess_blocks *blocks = &batch->blocks;
    int64_t n_spike = 0;
    lists->first = tess_blocks_alloc(blocks, batch->n_event, sizeof *lists->first, "events");
    lists->used = tess_blocks_alloc(blocks, batch->n_event, sizeof *lists->used, "events");
    batch->events = tess_blocks_alloc(blocks, batch->n_event, sizeof *batch->events, "events");
    if (!lists->first || !lists->used || !batch->events) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < batch->n_event; i++) {
        lists->first[i] = n_spike;
        n_spike += spikes_of(model, &table[batch->index[i]]);
    }
    lists->bin = tess_blocks_alloc(blocks, n_spike, sizeof *lists->bin, "spikes of events");
    lists->electrode =
        tess_blocks_alloc(blocks, n_spike, sizeof *lists->electrode, "spikes of events");
    lists->row = tess_blocks_alloc(blocks, n_spike, sizeof *lists->row, "spikes of events");
    if (!lists->bin || !lists->electrode || !lists->row) {
        return TESS_E_MEMORY;
    }
    if (!model->unit_rows) {
        lists->rows = tess_blocks_alloc(
            blocks, n_spike, (size_t)model->track.n_place * sizeof *lists->rows, "rows of spikes");
        return lists->rows ? TESS_OK : TESS_E_MEMORY;
    }
    return TESS_OK;
}

static void list_spikes(const tess_de_events_model *model, const tess_decode_event *event,
                        int64_t electrode, int64_t i, const tess_de_taken *taken,
                        batch_lists *lists)
{
    for (int64_t k = 0; k < taken->n; k++) {
        const int64_t at = lists->first[i] + lists->used[i]++;
        lists->bin[at] = (int32_t)tess_de_event_bin(event->start, model->width, taken->time[k]);
        lists->electrode[at] = (int32_t)electrode;
        lists->row[at] = model->unit_rows ? electrode : lists->n_row++;
    }
}

// The spikes of one electrode in all events, and their rows at once.
static tess_status add_electrode(tess_de_events_model *model, const tess_decode_event *table,
                                 int64_t electrode, tess_de_events_batch *batch,
                                 tess_blocks *scratch, tess_de_notes *notes, batch_lists *lists)
{
    const tess_decode_encoding *encoding = model->encoding;
    const tess_de_spike_rules rules = {encoding->config.nan_policy, encoding->config.strict};
    const bool with_marks = !model->unit_rows;
    const int64_t d = with_marks ? encoding->info.n_feature[electrode] : 0;
    const int64_t n_place = model->track.n_place;
    const int64_t first_row = lists->n_row;
    int64_t most = 0;
    for (int64_t i = 0; i < batch->n_event; i++) {
        most += find_range(model, &table[batch->index[i]], electrode).n;
    }
    double *marks = tess_blocks_alloc(scratch, most, (size_t)(d + 1) * sizeof *marks, "marks");
    if (!marks) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < batch->n_event; i++) {
        const tess_decode_event *event = &table[batch->index[i]];
        const spike_range range = find_range(model, event, electrode);
        tess_de_taken taken;
        TESS_TRY(tess_de_take_spikes(scratch, &model->in->spikes, electrode,
                                     &model->ordered[electrode], range.first, range.n, with_marks,
                                     &rules, notes, &taken));
        if (with_marks && taken.n > 0) {
            memcpy(marks + (lists->n_row - first_row) * d, taken.marks,
                   (size_t)(taken.n * d) * sizeof *marks);
        }
        list_spikes(model, event, electrode, i, &taken, lists);
    }
    const int64_t n = lists->n_row - first_row;
    if (n == 0) {
        return TESS_OK;
    }
    const int64_t shape[2] = {n, n_place};
    tess_array out;
    TESS_TRY(tess_array_init(&out, lists->rows + first_row * n_place, TESS_F64, 2, shape));
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    return encoding->ops->log_joint(model->ctx, model->joint_device, encoding, electrode, marks, n,
                                    &out, &report);
}

static tess_status add_electrodes(tess_de_events_model *model, const tess_decode_event *table,
                                  tess_de_events_batch *batch, batch_lists *lists)
{
    tess_de_notes notes = {0};
    tess_status status = TESS_OK;
    for (int64_t e = 0; status == TESS_OK && e < model->in->spikes.n_electrode; e++) {
        tess_blocks scratch;
        tess_blocks_init(&scratch, &model->ctx->heap);
        status = add_electrode(model, table, e, batch, &scratch, &notes, lists);
        tess_blocks_free(&scratch);
    }
    tess_de_notes_log(model->ctx, &notes, "decoding");
    return status;
}

// Columns of an event's rows that do not come from places: the animal's own position, silence.
static tess_status add_columns(tess_de_events_model *model, const tess_decode_observation *o,
                               const tess_de_columns *block, int64_t n, double *column,
                               double *added)
{
    const int64_t n_ll = model->states.model->n_ll;
    const int64_t shape[1] = {n};
    tess_array out;
    TESS_TRY(tess_array_init(&out, column, TESS_F64, 1, shape));
    if (block->kind == TESS_DE_COLUMNS_NO_SPIKE) {
        TESS_TRY(tess_decode_no_spike_log_likelihood(
            model->ctx, o, model->detector->config.no_spike_rate, 1, n, &out));
    } else {
        tess_decode_encoding scaled = *model->detector->encodings[block->encoding];
        scaled.config.bin_scale = model->scale;
        tess_decode_likelihood_report report = {.struct_size = sizeof report};
        TESS_TRY(tess_de_likelihood(model->ctx, model->joint_device, &scaled, o, 1, n, true, &out,
                                    &report));
    }
    for (int64_t t = 0; t < n; t++) {
        added[t * n_ll + block->first] += column[t];
    }
    return TESS_OK;
}

// What the animal's position adds to the columns of places.
static tess_status add_modifiers(tess_de_events_model *model, const tess_decode_observation *o,
                                 int64_t n, tess_blocks *scratch, double *added)
{
    const tess_decode_detector *d = model->detector;
    const int64_t n_item = n * model->states.model->n_ll;
    void *rows = tess_blocks_alloc(scratch, n_item, sizeof(double), "modifiers");
    if (!rows) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_modify_rows(model->ctx, d, o, 1, n, rows));
    for (int64_t k = 0; k < n_item; k++) {
        added[k] +=
            d->dtype == TESS_F64 ? ((const double *)rows)[k] : (double)((const float *)rows)[k];
    }
    return TESS_OK;
}

// An event as an observation of its own; one edge more before it, so that its first row is not the
// first of all and nobody looks at the whole recording again.
static tess_status add_event(tess_de_events_model *model, const tess_decode_event *event,
                             tess_blocks *scratch, double *added)
{
    const tess_decode_detector *d = model->detector;
    const int64_t n = event->n_bin;
    double *time = tess_blocks_alloc(scratch, n + 2, sizeof *time, "time bins");
    double *column = tess_blocks_alloc(scratch, n, sizeof *column, "column");
    if (!time || !column) {
        return TESS_E_MEMORY;
    }
    for (int64_t t = 0; t < n + 2; t++) {
        time[t] = event->start + (double)(t - 1) * model->width;
    }
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    o.n_time = n + 2;
    o.time = time;
    o.spikes = model->in->spikes;
    o.position = model->in->position;
    for (int32_t b = 0; b < d->n_block; b++) {
        if (d->blocks[b].kind != TESS_DE_COLUMNS_PLACES) {
            TESS_TRY(add_columns(model, &o, &d->blocks[b], n, column, added));
        }
    }
    return tess_de_needs_position(d) ? add_modifiers(model, &o, n, scratch, added) : TESS_OK;
}

static tess_status add_states(tess_de_events_model *model, const tess_decode_event *table,
                              tess_de_events_batch *batch)
{
    const int64_t n_ll = model->states.model->n_ll;
    double *added = tess_blocks_alloc(&batch->blocks, batch->n_time * n_ll, sizeof *added,
                                      "likelihood of states");
    if (!added) {
        return TESS_E_MEMORY;
    }
    model->states.added = added;
    tess_status status = TESS_OK;
    for (int64_t i = 0; status == TESS_OK && i < batch->n_event; i++) {
        tess_blocks scratch;
        tess_blocks_init(&scratch, &model->ctx->heap);
        status = add_event(model, &table[batch->index[i]], &scratch,
                           added + batch->events[i].first_time * n_ll);
        tess_blocks_free(&scratch);
    }
    return status;
}

static tess_status fill_batch(tess_de_events_model *model, const tess_decode_event *table,
                              tess_de_events_batch *batch)
{
    batch_lists lists = {0};
    TESS_TRY(alloc_lists(model, table, batch, &lists));
    TESS_TRY(add_electrodes(model, table, batch, &lists));
    for (int64_t i = 0; i < batch->n_event; i++) {
        const tess_decode_event *event = &table[batch->index[i]];
        batch->events[i] = (tess_events_event){.key = (uint32_t)event->event,
                                               .n_time = (int32_t)event->n_bin,
                                               .first_time = batch->n_time,
                                               .n_spike = lists.used[i],
                                               .bin = lists.bin + lists.first[i],
                                               .electrode = lists.electrode + lists.first[i],
                                               .row = lists.row + lists.first[i]};
        batch->n_time += event->n_bin;
    }
    batch->rows = model->unit_rows ? model->unit_rows : lists.rows;
    batch->n_row = model->unit_rows ? model->in->spikes.n_electrode : lists.n_row;
    if (!model->states.model) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_events_transitions(model, table, batch));
    return add_states(model, table, batch);
}

tess_status tess_de_events_batch_open(tess_de_events_model *model, const tess_decode_event *table,
                                      const int64_t *index, int64_t n, tess_de_events_batch *batch)
{
    *batch = (tess_de_events_batch){.n_event = n, .index = index};
    tess_blocks_init(&batch->blocks, &model->ctx->heap);
    const tess_status status = fill_batch(model, table, batch);
    if (status != TESS_OK) {
        tess_de_events_batch_close(batch);
    }
    return status;
}

void tess_de_events_batch_close(tess_de_events_batch *batch)
{
    tess_blocks_free(&batch->blocks);
}

tess_stage_decode_events tess_de_events_stage(const tess_de_events_model *model,
                                              const tess_de_events_batch *batch)
{
    return (tess_stage_decode_events){.track = &model->track,
                                      .states = model->states.model ? &model->states : NULL,
                                      .events = batch->events,
                                      .n_event = batch->n_event,
                                      .n_electrode = model->in->spikes.n_electrode,
                                      .bin_s = model->width,
                                      .scale = model->scale,
                                      .min_bins = model->in->config.min_bins,
                                      .rows = batch->rows,
                                      .summed = model->encoding->info.summed_ground_intensity,
                                      .ground = model->ground,
                                      .seed = (uint64_t)model->in->config.seed,
                                      .n_shuffle = 1};
}

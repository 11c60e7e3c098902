// Events decoded and scored, as they are and shuffled: blocks of shuffles of one event go to the
// pool, each worker with memory of its own.
#include "backend/cpu/decode/events.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

// Shuffles of an event that one worker does in a row.
enum { SHUFFLES = 16 };

static void free_buffer(events_room *room, events_buffer *buffer)
{
    if (buffer->items) {
        tess_heap_free(&room->device->ctx->heap, buffer->items, buffer->bytes, TESS_TAG_SCRATCH);
    }
}

static void close_room(events_room *room)
{
    for (int64_t r = 0; room->windows && r < room->args->track->n_route; r++) {
        free_buffer(room, &room->windows[r].memory);
    }
    free_buffer(room, &room->line_table);
    free_buffer(room, &room->bounds);
    tess_blocks_free(&room->blocks);
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Room for n items; after the first failure there is none for anything.
static void *take(events_room *room, bool *is_enough, int64_t n, size_t item_bytes)
{
    void *items =
        *is_enough ? tess_blocks_alloc(&room->blocks, n, item_bytes, "events of one thread") : NULL;
    *is_enough = items != NULL;
    return items;
}

static bool take_states(events_room *room, int64_t n_time)
{
    const tess_hmm_model *m = room->args->states->model;
    const size_t item = sizeof(double);
    bool is_enough = true;
    room->state_likelihood = take(room, &is_enough, n_time * m->n_ll, item);
    room->smoothed = take(room, &is_enough, n_time * m->n_bin, item);
    room->predicted = take(room, &is_enough, m->n_bin, item);
    room->log_norm = take(room, &is_enough, n_time, item);
    room->state_rows = take(room, &is_enough, n_time * m->n_state, item);
    room->scratch = take(room, &is_enough, m->n_scratch, item);
    room->ahead = take(room, &is_enough, tess_hmm_ahead_items(m, n_time), item);
    room->lanes = take(room, &is_enough, TESS_HMM_LANES * m->n_scratch, item);
    return is_enough;
}

static tess_status open_room(tess_backend_device *device, const tess_stage_decode_events *a,
                             events_room *room)
{
    *room = (events_room){.device = device, .args = a};
    tess_blocks_init(&room->blocks, &device->ctx->heap);
    const int64_t n_place = a->track->n_place;
    int64_t n_time = 1;
    int64_t n_draw = a->n_electrode;
    for (int64_t i = 0; i < a->n_event; i++) {
        n_time = most_of(n_time, a->events[i].n_time);
        n_draw = most_of(n_draw, a->events[i].n_spike);
    }
    n_draw = most_of(n_draw, n_time);
    const size_t item = sizeof(double);
    bool is_enough = true;
    room->draws = take(room, &is_enough, n_draw, sizeof *room->draws);
    room->order = take(room, &is_enough, n_draw, sizeof *room->order);
    room->own_likelihood = take(room, &is_enough, n_time * n_place, item);
    room->own_posterior = take(room, &is_enough, n_time * n_place, item);
    room->likelihood = take(room, &is_enough, n_time * n_place, item);
    room->posterior = take(room, &is_enough, n_time * n_place, item);
    room->place = take(room, &is_enough, n_place, item);
    room->time = take(room, &is_enough, n_time, sizeof *room->time);
    room->row = take(room, &is_enough, n_time, sizeof *room->row);
    room->best = take(room, &is_enough, n_time, sizeof *room->best);
    room->route_rows = take(room, &is_enough, n_time * n_place, item);
    room->route_place = take(room, &is_enough, n_place, item);
    room->sums = take(room, &is_enough, n_time, item);
    room->masses = take(room, &is_enough, n_time, item);
    room->halves = take(room, &is_enough, 2 * n_place, item);
    room->prefix = take(room, &is_enough, n_time * (n_place + 1), item);
    room->line_row = take(room, &is_enough, n_time, sizeof *room->line_row);
    room->line_shift = take(room, &is_enough, n_time, sizeof *room->line_shift);
    room->line_items = take(room, &is_enough, n_time, sizeof *room->line_items);
    room->line_rest = take(room, &is_enough, n_time, sizeof *room->line_rest);
    room->windows = take(room, &is_enough, a->track->n_route, sizeof *room->windows);
    if (is_enough && a->states) {
        is_enough = take_states(room, n_time);
    }
    return is_enough ? TESS_OK : TESS_E_MEMORY;
}

// exp(ll - max) over its sum, row by row.
static void normalise(events_room *room, const double *ll, int64_t n_time, double *posterior)
{
    const tess_kernels *kernels = room->device->kernels;
    const size_t n = (size_t)room->args->track->n_place;
    for (int64_t t = 0; t < n_time; t++) {
        const double *in = ll + (size_t)t * n;
        double *out = posterior + (size_t)t * n;
        double most = 0;
        double sum = 0;
        kernels->hmm_max_f64(in, n, &most);
        kernels->hmm_exp_f64(in, n, most, out);
        kernels->hmm_take_f64(out, n, room->place, &sum);
        kernels->hmm_keep_f64(room->place, n, 1 / sum, out, NULL, &sum);
    }
}

// Bins with a spike; the others say only where rates are low.
static int64_t count_bins(events_room *room, const tess_events_event *event)
{
    for (int64_t t = 0; t < event->n_time; t++) {
        room->best[t] = 0;
    }
    for (int64_t s = 0; s < event->n_spike; s++) {
        room->best[event->bin[s]] = 1;
    }
    int64_t n = 0;
    for (int64_t t = 0; t < event->n_time; t++) {
        room->time[n] = t;
        n += room->best[t];
    }
    return n;
}

// Whether a kind works on what an event's own spikes gave.
static bool keeps_likelihood(int32_t kind)
{
    return kind == TESS_EVENTS_AS_THEY_ARE || kind == TESS_EVENTS_COLUMN ||
           kind == TESS_EVENTS_TIME;
}

// Posterior of a shuffle whose bins are decoded alone.
static int64_t decode_alone(events_room *room, const tess_events_event *event, int64_t shuffle)
{
    const int32_t kind = room->args->kind;
    const int64_t n_place = room->args->track->n_place;
    const int64_t n = count_bins(room, event);
    const double *posterior = room->own_posterior;
    if (kind == TESS_EVENTS_COLUMN) {
        tess_cpu_events_rotate(room, event, shuffle, room->own_posterior, room->posterior);
        posterior = room->posterior;
    } else if (!keeps_likelihood(kind)) {
        tess_cpu_events_likelihood(room, event, shuffle, room->likelihood);
        normalise(room, room->likelihood, event->n_time, room->posterior);
        posterior = room->posterior;
    }
    if (kind == TESS_EVENTS_TIME) {
        tess_cpu_events_draw(room, event, shuffle, n);
        tess_cpu_events_permute(room, 0, n);
    }
    for (int64_t a = 0; a < n; a++) {
        const int64_t from = kind == TESS_EVENTS_TIME ? room->time[room->order[a]] : room->time[a];
        room->row[a] = posterior + from * n_place;
    }
    return n;
}

static tess_status decode_states(events_room *room, const tess_events_event *event, int64_t shuffle,
                                 int64_t *n)
{
    const int32_t kind = room->args->kind;
    const double *ll = room->own_likelihood;
    const int64_t *moved = NULL;
    if (kind == TESS_EVENTS_COLUMN) {
        tess_cpu_events_rotate(room, event, shuffle, ll, room->likelihood);
        ll = room->likelihood;
    } else if (kind == TESS_EVENTS_TIME) {
        tess_cpu_events_draw(room, event, shuffle, event->n_time);
        tess_cpu_events_permute(room, 0, event->n_time);
        moved = room->order;
    } else if (kind != TESS_EVENTS_AS_THEY_ARE) {
        tess_cpu_events_likelihood(room, event, shuffle, room->likelihood);
        ll = room->likelihood;
    }
    return tess_cpu_events_states(room, event, ll, moved, n);
}

// sum over t of ln((1/P) sum_p exp(ll[t][p]))
static double evidence_of_jumps(events_room *room, int64_t n_time)
{
    const tess_kernels *kernels = room->device->kernels;
    const size_t n = (size_t)room->args->track->n_place;
    double total = 0;
    for (int64_t t = 0; t < n_time; t++) {
        const double *ll = room->own_likelihood + (size_t)t * n;
        double most = 0;
        double sum = 0;
        kernels->hmm_max_f64(ll, n, &most);
        kernels->hmm_exp_f64(ll, n, most, room->place);
        kernels->hmm_take_f64(room->place, n, room->route_place, &sum);
        total += most + log(sum / (double)n);
    }
    return total;
}

static void copy_rows(double *out, const tess_events_event *event, const double *in, int64_t width)
{
    if (out) {
        memcpy(out + event->first_time * width, in, (size_t)(event->n_time * width) * sizeof *out);
    }
}

// What is wanted of an event's first shuffle besides its scores.
static void note_rows(events_room *room, const tess_events_event *event, int64_t n)
{
    const tess_stage_decode_events *a = room->args;
    const int64_t n_place = a->track->n_place;
    const bool is_own = a->kind == TESS_EVENTS_AS_THEY_ARE || a->kind == TESS_EVENTS_TIME;
    copy_rows(a->log_likelihood, event,
              keeps_likelihood(a->kind) ? room->own_likelihood : room->likelihood, n_place);
    copy_rows(a->posterior, event, a->states || !is_own ? room->posterior : room->own_posterior,
              n_place);
    if (a->states) {
        copy_rows(a->state_rows, event, room->state_rows, a->states->model->n_state);
    }
    if (a->counted) {
        memset(a->counted + event->first_time, 0, (size_t)event->n_time);
    }
    for (int64_t i = 0; i < n; i++) {
        if (a->counted) {
            a->counted[event->first_time + room->time[i]] = 1;
        }
        if (a->posterior && !a->states) { // bins that changed places
            memcpy(a->posterior + (event->first_time + room->time[i]) * n_place, room->row[i],
                   (size_t)n_place * sizeof *a->posterior);
        }
    }
}

static void note_event(events_room *room, int64_t i, int64_t n)
{
    const tess_stage_decode_events *a = room->args;
    const tess_events_event *event = &a->events[i];
    if (a->n_counted) {
        a->n_counted[i] = n;
    }
    if (a->ends) {
        const bool is_scored = n >= a->min_bins && n > 0;
        a->ends[2 * i] = is_scored ? (int32_t)room->best[0] : -1;
        a->ends[2 * i + 1] = is_scored ? (int32_t)room->best[n - 1] : -1;
    }
    if (a->log_evidence) {
        a->log_evidence[i] = a->states ? room->log_evidence : (double)NAN;
    }
    if (a->jump_evidence) {
        a->jump_evidence[i] = evidence_of_jumps(room, event->n_time);
    }
}

typedef struct events_job {
    tess_backend_device *device;
    const tess_stage_decode_events *args;
    events_room *rooms; // [threads]
    int64_t n_block;    // of an event
} events_job;

static tess_status run_shuffle(events_room *room, int64_t i, int64_t k)
{
    const tess_stage_decode_events *a = room->args;
    const tess_events_event *event = &a->events[i];
    const int64_t shuffle = a->first_shuffle + k;
    tess_events_line *line = a->lines && k == 0 ? &a->lines[i] : NULL;
    int64_t n = 0;
    if (a->states) {
        TESS_TRY(decode_states(room, event, shuffle, &n));
    } else {
        n = decode_alone(room, event, shuffle);
    }
    TESS_TRY(tess_cpu_events_score(room, event, n,
                                   a->scores + (i * a->n_shuffle + k) * TESS_EVENTS_N_SCORE, line));
    if (k == 0) {
        note_rows(room, event, n);
        note_event(room, i, n);
    }
    return TESS_OK;
}

static tess_status run_block(void *arg, int64_t block, int32_t worker)
{
    const events_job *job = arg;
    const tess_stage_decode_events *a = job->args;
    events_room *room = &job->rooms[worker];
    const int64_t i = block / job->n_block;
    const int64_t first = block % job->n_block * SHUFFLES;
    const int64_t end = first + SHUFFLES < a->n_shuffle ? first + SHUFFLES : a->n_shuffle;
    const tess_events_event *event = &a->events[i];
    if (!room->args) {
        TESS_TRY(open_room(job->device, a, room));
    }
    TESS_TRY(tess_context_check_cancel(job->device->ctx));
    if (keeps_likelihood(a->kind)) {
        tess_cpu_events_likelihood(room, event, 0, room->own_likelihood);
        if (!a->states) {
            normalise(room, room->own_likelihood, event->n_time, room->own_posterior);
        }
    }
    for (int64_t k = first; k < end; k++) {
        TESS_TRY(run_shuffle(room, i, k));
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_events(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_events *a = args;
    tess_heap *heap = &device->ctx->heap;
    const int32_t n_worker = tess_pool_threads(device->ctx->pool);
    const size_t bytes = (size_t)n_worker * sizeof(events_room);
    events_job job = {.device = device,
                      .args = a,
                      .rooms = tess_heap_alloc_zero(heap, bytes, TESS_TAG_SCRATCH, "events"),
                      .n_block = (a->n_shuffle + SHUFFLES - 1) / SHUFFLES};
    if (!job.rooms) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        tess_parallel_for(device->ctx->pool, a->n_event * job.n_block, run_block, &job);
    for (int32_t w = 0; w < n_worker; w++) {
        if (job.rooms[w].args) {
            close_room(&job.rooms[w]);
        }
    }
    tess_heap_free(heap, job.rooms, bytes, TESS_TAG_SCRATCH);
    return status;
}

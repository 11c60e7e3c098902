// A decoder's whole state in a file, and back: what follows has the same bits.
//
// One walk over the state writes it or reads it. A file is, in this machine's byte order: magic,
// kind of hash, identity of the decoder, bytes of state, the state, hash of all before. It is
// checked from end to end before anything is changed.
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "systems/decode/online/learn.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char MAGIC[8] = {'T', 'E', 'S', 'S', 'O', 'N', 'L', '2'};

enum { PIECE = 1 << 15 }; // hashed at a time

typedef struct snapshot_head {
    char magic[8];
    uint64_t hash_kind;
    tess_hash identity;
} snapshot_head;

typedef struct walker {
    const char *path;
    int fd;
    bool is_reading;
    uint64_t offset;
    tess_hash hash;
    size_t n_piece; // bytes in the piece being written
    uint8_t piece[PIECE];
} walker;

static tess_status put_piece(walker *w)
{
    TESS_TRY(tess_file_write_at(w->fd, w->path, w->piece, w->n_piece, w->offset));
    tess_hash_mix(&w->hash, w->piece, w->n_piece);
    w->offset += w->n_piece;
    w->n_piece = 0;
    return TESS_OK;
}

static tess_status walk(walker *w, void *data, size_t bytes)
{
    if (w->is_reading) {
        TESS_TRY(tess_file_read_at(w->fd, w->path, data, bytes, w->offset));
        w->offset += bytes;
        return TESS_OK;
    }
    for (size_t done = 0; done < bytes;) {
        const size_t left = bytes - done;
        const size_t n = left < PIECE - w->n_piece ? left : PIECE - w->n_piece;
        memcpy(w->piece + w->n_piece, (const uint8_t *)data + done, n);
        w->n_piece += n;
        done += n;
        if (w->n_piece == PIECE) {
            TESS_TRY(put_piece(w));
        }
    }
    return TESS_OK;
}

static tess_status walk_items(walker *w, void *data, int64_t n, size_t item_bytes)
{
    return data ? walk(w, data, (size_t)n * item_bytes) : TESS_OK;
}

#define WALK(w, object) TESS_TRY(walk(w, &(object), sizeof(object)))

// A number of items, at most as many as there is room for.
static tess_status walk_count(walker *w, int64_t *count, int64_t most)
{
    WALK(w, *count);
    if (*count < 0 || *count > most) {
        TESS_FAIL(TESS_E_FORMAT, "%s: holds %lld of what there are at most %lld", w->path,
                  (long long)*count, (long long)most);
    }
    return TESS_OK;
}

static tess_status walk_counter(walker *w, _Atomic int64_t *counter)
{
    int64_t value = atomic_load(counter);
    WALK(w, value);
    atomic_store(counter, value);
    return TESS_OK;
}

// Spikes that wait. Numbers of spikes go on where they are: helpers must not see them go back.
static tess_status walk_ring(walker *w, const tess_decode_online *online, online_ring *ring)
{
    int64_t tail = atomic_load(&ring->tail);
    int64_t n = atomic_load(&ring->head) - tail;
    TESS_TRY(walk_count(w, &n, online->config.max_pending));
    if (w->is_reading) {
        tail = atomic_load(&ring->head);
        atomic_store(&ring->tail, tail);
    }
    for (int64_t i = tail; i < tail + n; i++) {
        WALK(w, ring->entries[i & ring->mask].time);
        online_load_mark(online->mark, ring->marks + (i & ring->mask) * ring->n_feature,
                         ring->n_feature);
        TESS_TRY(walk_items(w, online->mark, ring->n_feature, sizeof *online->mark));
        online_store_mark(ring->marks + (i & ring->mask) * ring->n_feature, online->mark,
                          ring->n_feature);
    }
    atomic_store(&ring->head, tail + n);
    WALK(w, ring->last_time);
    WALK(w, ring->has_last);
    TESS_TRY(walk_items(w, ring->last_mark, ring->n_feature, sizeof *ring->last_mark));
    WALK(w, ring->n_late_seen);
    TESS_TRY(walk_counter(w, &ring->n_late));
    TESS_TRY(walk_counter(w, &ring->n_duplicate));
    return walk_counter(w, &ring->n_dropped);
}

static tess_status walk_bins(walker *w, tess_decode_online *online)
{
    double open_from = atomic_load(&online->open_from);
    WALK(w, online->config.start_s);
    WALK(w, online->n_bin);
    WALK(w, open_from);
    atomic_store(&online->open_from, open_from);
    TESS_TRY(walk_items(w, online->predicted, online->detector->info.n_state_bin, sizeof(double)));
    WALK(w, online->stats);
    TESS_TRY(walk_counter(w, &online->n_position));
    TESS_TRY(walk_items(w, online->positions, ONLINE_POSITIONS, sizeof *online->positions));
    for (int64_t e = 0; e < online->n_electrode; e++) {
        TESS_TRY(walk_ring(w, online, &online->rings[e]));
    }
    for (int32_t k = 0; k < TESS_DECODE_ONLINE_TRIGGERS; k++) {
        online_trigger *t = &online->triggers[k];
        WALK(w, t->n_mass);
        WALK(w, t->quiet_until_s);
        TESS_TRY(walk_items(w, t->mass, ONLINE_MOST_AVERAGE, sizeof *t->mass));
    }
    return TESS_OK;
}

// Spikes of an electrode in a model's arrays.
static tess_status walk_store(walker *w, const online_learner *learner, learn_store *e)
{
    const int64_t stride = learner->capacity;
    const int64_t n_cell = learner->plan.has_cells ? learner->plan.n_cell[0] : 1;
    TESS_TRY(walk_count(w, &e->n_stored, learner->capacity));
    TESS_TRY(walk_items(w, e->at, learner->capacity, sizeof *e->at));
    TESS_TRY(walk_items(w, e->slot, e->n_stored, sizeof *e->slot));
    TESS_TRY(walk_items(w, e->start, n_cell + 1, sizeof *e->start));
    TESS_TRY(walk_items(w, e->centre, e->n_feature, sizeof *e->centre));
    for (int64_t f = 0; f < e->n_feature; f++) {
        TESS_TRY(walk_items(w, e->marks + f * stride, e->n_stored, sizeof *e->marks));
        TESS_TRY(walk_items(w, e->marks_f32 + f * stride, e->n_stored, sizeof *e->marks_f32));
    }
    for (int64_t d = 0; d < learner->n_dim; d++) {
        TESS_TRY(walk_items(w, e->place + d * stride, e->n_stored, sizeof *e->place));
    }
    TESS_TRY(walk_items(w, e->t, e->n_stored, sizeof *e->t));
    TESS_TRY(walk_items(w, e->base, e->n_stored, sizeof *e->base));
    TESS_TRY(walk_items(w, e->kernel, e->n_stored * learner->n_bin, sizeof *e->kernel));
    TESS_TRY(walk_items(w, e->offset, learner->n_bin, sizeof *e->offset));
    return walk_items(w, e->offset_f32, learner->n_bin, sizeof *e->offset_f32);
}

static tess_status walk_model(walker *w, const online_learner *learner, learn_model *model)
{
    const int64_t n_bin = learner->n_bin;
    const int64_t n_electrode = learner->n_electrode;
    WALK(w, model->n_sample);
    WALK(w, model->n_sample_seen);
    WALK(w, model->n_full);
    TESS_TRY(walk_items(w, model->occupancy, n_bin, sizeof(double)));
    TESS_TRY(walk_items(w, model->log_occupancy, n_bin, sizeof(double)));
    TESS_TRY(walk_items(w, model->intensity, n_bin, sizeof(double)));
    TESS_TRY(walk_items(w, model->mean_rates, n_electrode, sizeof(double)));
    TESS_TRY(walk_items(w, model->n_spike, n_electrode, sizeof *model->n_spike));
    TESS_TRY(walk_items(w, model->is_deaf, n_electrode, sizeof *model->is_deaf));
    if (learner->is_sorted) {
        return walk_items(w, model->log_field, n_electrode * n_bin, sizeof(double));
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        TESS_TRY(walk_store(w, learner, &model->stores[e]));
        if (w->is_reading) {
            tess_de_learn_show_cells(learner, model, e);
        }
    }
    return TESS_OK;
}

// Spikes that wait for a position, and those that a model lacks.
static tess_status walk_logs(walker *w, const online_learner *learner, learn_electrode *e)
{
    const size_t mark_bytes = (size_t)e->n_feature * sizeof(float);
    int64_t n_wait = e->head - e->tail;
    TESS_TRY(walk_count(w, &n_wait, learner->max_wait));
    WALK(w, e->tail);
    e->head = e->tail + n_wait;
    for (int64_t i = e->tail; i < e->head; i++) {
        const int64_t at = i % learner->max_wait;
        WALK(w, e->wait_time[at]);
        TESS_TRY(walk(w, e->wait_mark + at * e->n_feature, mark_bytes));
    }
    int64_t n_item = e->n_item - e->first;
    TESS_TRY(walk_count(w, &n_item, learner->log_capacity));
    WALK(w, e->first);
    WALK(w, e->fresh);
    WALK(w, e->due);
    e->n_item = e->first + n_item;
    for (int64_t i = e->first; i < e->n_item; i++) {
        const int64_t at = i % learner->log_capacity;
        WALK(w, e->items[at]);
        TESS_TRY(walk(w, e->item_mark + at * e->n_feature, mark_bytes));
    }
    return TESS_OK;
}

static tess_status walk_electrode(walker *w, const online_learner *learner, learn_electrode *e)
{
    TESS_TRY(walk_count(w, &e->n_kept, learner->capacity));
    WALK(w, e->n_counted);
    WALK(w, e->sample_first);
    WALK(w, e->sample_end);
    WALK(w, e->last_time);
    TESS_TRY(walk_items(w, e->slot_place, e->n_kept * learner->n_dim, sizeof *e->slot_place));
    TESS_TRY(walk_items(w, e->slot_sample, e->n_kept, sizeof *e->slot_sample));
    TESS_TRY(walk_items(w, e->sums, learner->n_bin, sizeof *e->sums));
    return walk_logs(w, learner, e);
}

static tess_status walk_samples(walker *w, online_learner *learner)
{
    const int64_t most = learner->sample_capacity > 0 ? learner->sample_capacity : INT64_MAX;
    WALK(w, learner->n_history);
    WALK(w, learner->n_sample_seen);
    WALK(w, learner->n_sample_told);
    WALK(w, learner->sample_first);
    WALK(w, learner->sample_due);
    TESS_TRY(walk_count(w, &learner->n_sample_kept, most));
    if (learner->sample_capacity > 0) {
        TESS_TRY(walk_items(w, learner->sample_place, learner->n_sample_kept * learner->n_dim,
                            sizeof *learner->sample_place));
    }
    TESS_TRY(walk_items(w, learner->log_place, learner->log_capacity * learner->n_dim,
                        sizeof *learner->log_place));
    TESS_TRY(walk_items(w, learner->sums, learner->n_bin, sizeof *learner->sums));
    return walk_items(w, learner->history, LEARN_HISTORY, sizeof *learner->history);
}

// Nobody works on it.
static tess_status walk_learner(walker *w, tess_decode_online *online)
{
    online_learner *learner = online->learner;
    const int64_t version = atomic_load(&online->version);
    WALK(w, learner->is_frozen);
    WALK(w, learner->is_changed);
    WALK(w, learner->has_next);
    WALK(w, learner->n_full);
    WALK(w, learner->next_refresh_s);
    WALK(w, learner->stats);
    TESS_TRY(walk_samples(w, learner));
    for (int64_t e = 0; e < learner->n_electrode; e++) {
        TESS_TRY(walk_electrode(w, learner, &learner->electrodes[e]));
    }
    TESS_TRY(walk_model(w, learner, learn_model_of(learner, version)));
    return walk_model(w, learner, learn_model_of(learner, version + 1));
}

static tess_status walk_all(walker *w, tess_decode_online *online)
{
    TESS_TRY(walk_bins(w, online));
    return online->learner ? walk_learner(w, online) : TESS_OK;
}

// What tells this decoder from others: its model and those of its settings that state depends on.
static tess_hash identity_of(const tess_decode_online *online)
{
    const tess_decode_detector *d = online->detector;
    const tess_decode_online_config *c = &online->config;
    tess_hash hash = d->movement_hash;
    const int64_t numbers[] = {d->info.n_state_bin,
                               d->info.n_state,
                               d->info.n_ll,
                               online->n_electrode,
                               c->max_pending,
                               c->learn,
                               c->learn == TESS_DECODE_LEARN_NONE ? 0 : c->learn_capacity,
                               c->learn == TESS_DECODE_LEARN_NONE ? 0 : c->learn_samples,
                               c->learn == TESS_DECODE_LEARN_NONE ? 0 : c->learn_seed};
    tess_hash_mix(&hash, numbers, sizeof numbers);
    tess_hash_mix(&hash, &c->bin_width_s, sizeof c->bin_width_s);
    tess_hash_mix(&hash, d->discrete_transition,
                  (size_t)(d->info.n_state * d->info.n_state) * sizeof(double));
    if (d->info.n_coefficient > 0) {
        const int64_t n = d->info.n_coefficient * d->info.n_state * (d->info.n_state - 1);
        tess_hash_mix(&hash, d->coefficients, (size_t)n * sizeof(double));
    }
    for (int32_t k = 0; k < online->n_encoding; k++) {
        const tess_decode_encoding_info *info = &online->encodings[k].encoding->info;
        tess_hash_mix(&hash, info->summed_ground_intensity,
                      (size_t)info->n_interior * sizeof(double));
        tess_hash_mix(&hash, info->mean_rates, (size_t)info->n_electrode * sizeof(double));
    }
    for (int64_t e = 0; e < online->n_electrode; e++) {
        tess_hash_mix(&hash, &online->rings[e].n_feature, sizeof online->rings[e].n_feature);
    }
    return hash;
}

static tess_status write_state(tess_decode_online *online, walker *w)
{
    if (online->learner) {
        tess_de_learn_finish(online);
    }
    snapshot_head head = {.hash_kind = (uint64_t)tess_hash_default(),
                          .identity = identity_of(online)};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    WALK(w, head);
    TESS_TRY(walk_all(w, online));
    TESS_TRY(put_piece(w));
    return tess_file_write_at(w->fd, w->path, &w->hash, sizeof w->hash, w->offset);
}

tess_status tess_decode_online_snapshot(tess_decode_online *online, const char *path, int overwrite)
{
    tess_error_clear();
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(path, 0666, &file));
    walker w = {.path = path, .fd = file.fd};
    tess_status status = write_state(online, &w);
    if (status == TESS_OK) {
        status = tess_temp_file_commit(&file, overwrite);
    }
    tess_temp_file_discard(&file);
    return status;
}

// The whole file, before anything is changed.
static tess_status check_file(const tess_decode_online *online, const walker *w, uint64_t bytes)
{
    snapshot_head head;
    tess_hash stored;
    tess_hash hash = {0, 0};
    uint8_t piece[PIECE];
    if (bytes < sizeof head + sizeof stored) {
        TESS_FAIL(TESS_E_TRUNCATED, "%s: too short for a snapshot of an online decoder", w->path);
    }
    TESS_TRY(tess_file_read_at(w->fd, w->path, &head, sizeof head, 0));
    if (memcmp(head.magic, MAGIC, sizeof MAGIC) != 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: is no snapshot of an online decoder", w->path);
    }
    if (head.hash_kind != (uint64_t)tess_hash_default()) {
        TESS_FAIL(TESS_E_VERSION, "%s: was written by a build with another checksum", w->path);
    }
    const uint64_t end = bytes - sizeof stored;
    for (uint64_t at = 0; at < end;) {
        const size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;
        TESS_TRY(tess_file_read_at(w->fd, w->path, piece, n, at));
        tess_hash_mix(&hash, piece, n);
        at += n;
    }
    TESS_TRY(tess_file_read_at(w->fd, w->path, &stored, sizeof stored, end));
    if (!tess_hash_equal(hash, stored)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: damaged or cut short, its checksum does not match", w->path);
    }
    if (!tess_hash_equal(head.identity, identity_of(online))) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: is of a decoder with another model, bin_width, max_pending or learn "
                  "settings; create this one as that one was",
                  w->path);
    }
    return TESS_OK;
}

static tess_status read_state(tess_decode_online *online, walker *w, uint64_t bytes)
{
    TESS_TRY(check_file(online, w, bytes));
    w->offset = sizeof(snapshot_head);
    if (online->learner) {
        tess_de_learn_finish(online);
    }
    tess_de_online_pause(online);
    const tess_status status = walk_all(w, online);
    online->first_kept = online->n_bin;    // what was before is not in the file
    atomic_fetch_add(&online->version, 2); // the model's number stays
    atomic_store(&online->is_paused, 0);
    return status;
}

tess_status tess_decode_online_restore(tess_decode_online *online, const char *path)
{
    tess_error_clear();
    walker w = {.path = path, .is_reading = true};
    uint64_t bytes = 0;
    TESS_TRY(tess_file_open_read(path, &w.fd, &bytes, NULL));
    const tess_status status = read_state(online, &w, bytes);
    close(w.fd);
    return status;
}

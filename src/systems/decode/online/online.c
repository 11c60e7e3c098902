// The online decoder's life: everything it will ever need is taken here.
#include "systems/decode/online/learn.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"

#include <string.h>

static tess_status check_encoding(const tess_decode_detector *d, int64_t k)
{
    const tess_decode_encoding *first = d->encodings[0];
    const tess_decode_encoding *encoding = d->encodings[k];
    if (!encoding->info.n_feature != !first->info.n_feature) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "detector: encodings 0 and %lld must both be of sorted spikes or both of marks",
                  (long long)k);
    }
    if (encoding->info.n_electrode != first->info.n_electrode) {
        TESS_FAIL(TESS_E_ARGUMENT, "detector: encoding %lld has %lld electrodes, encoding 0 %lld",
                  (long long)k, (long long)encoding->info.n_electrode,
                  (long long)first->info.n_electrode);
    }
    for (int64_t e = 0; e < first->info.n_electrode && first->info.n_feature; e++) {
        if (encoding->info.n_feature[e] != first->info.n_feature[e]) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "electrode %lld: has %lld features in encoding %lld and %lld in encoding 0",
                      (long long)e, (long long)encoding->info.n_feature[e], (long long)k,
                      (long long)first->info.n_feature[e]);
        }
    }
    return TESS_OK;
}

static tess_status check_detector(const tess_decode_detector *d)
{
    if (d->n_encoding == 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "detector: has no encoding model to decode with");
    }
    for (int64_t k = 0; k < d->n_encoding; k++) {
        TESS_TRY(check_encoding(d, k));
    }
    return TESS_OK;
}

static void *take(tess_decode_online *online, int64_t n, size_t bytes)
{
    return tess_blocks_alloc(&online->blocks, n, bytes, "online decoder");
}

static tess_status take_rings(tess_decode_online *online)
{
    const tess_decode_encoding_info *info = &online->detector->encodings[0]->info;
    int64_t capacity = 1;
    while (capacity < online->config.max_pending) {
        capacity *= 2;
    }
    online->n_electrode = info->n_electrode;
    online->rings = take(online, info->n_electrode, sizeof *online->rings);
    if (!online->rings) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < info->n_electrode; e++) {
        online_ring *ring = &online->rings[e];
        ring->n_feature = info->n_feature ? info->n_feature[e] : 0; // sorted spikes have none
        ring->mask = capacity - 1;
        ring->entries = take(online, capacity, sizeof *ring->entries);
        ring->marks = take(online, capacity * ring->n_feature, sizeof *ring->marks);
        ring->last_mark = take(online, ring->n_feature, sizeof *ring->last_mark);
        ring->is_deaf = 1;
        for (int64_t k = 0; k < online->detector->n_encoding; k++) {
            const tess_decode_encoding_info *other = &online->detector->encodings[k]->info;
            ring->is_deaf &= other->n_spike[e] == 0 && other->floor != TESS_DECODE_FLOOR_ABSOLUTE;
        }
        if (!ring->entries || !ring->marks || !ring->last_mark) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

// Encodings that columns refer to, once each.
static tess_status take_encodings(tess_decode_online *online)
{
    const tess_decode_detector *d = online->detector;
    online->encodings = take(online, d->n_encoding, sizeof *online->encodings);
    if (!online->encodings) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < d->n_encoding; k++) {
        const tess_decode_encoding *encoding = d->encodings[k];
        const double width = encoding->info.bin_width_s;
        online_encoding *own = &online->encodings[online->n_encoding];
        int is_known = 0;
        for (int32_t i = 0; i < online->n_encoding; i++) {
            is_known |= online->encodings[i].encoding == encoding;
        }
        if (is_known) {
            continue;
        }
        own->encoding = encoding;
        own->first = online->n_value;
        own->n_bin = encoding->info.n_interior;
        own->ground = encoding->info.summed_ground_intensity;
        own->scale = encoding->config.bin_scale > 0 ? encoding->config.bin_scale
                     : width > 0                    ? online->config.bin_width_s / width
                                                    : 1;
        online->n_value += own->n_bin;
        online->n_encoding++;
    }
    return TESS_OK;
}

static size_t spike_scratch_bytes(const tess_decode_online *online)
{
    size_t most = 1;
    for (int32_t k = 0; k < online->n_encoding; k++) {
        const tess_decode_encoding *encoding = online->encodings[k].encoding;
        const size_t bytes = encoding->ops->single->scratch_bytes(encoding);
        most = bytes > most ? bytes : most;
    }
    if (online->learner && online->learner->single.scratch_bytes > most) {
        most = online->learner->single.scratch_bytes;
    }
    return most;
}

static int64_t most_features(const tess_decode_online *online)
{
    int64_t most = 1;
    for (int64_t e = 0; e < online->n_electrode; e++) {
        most = online->rings[e].n_feature > most ? online->rings[e].n_feature : most;
    }
    return most;
}

static tess_status take_bins(tess_decode_online *online)
{
    const tess_decode_detector *d = online->detector;
    const int64_t n_bin = d->info.n_state_bin;
    online->predicted = take(online, n_bin, sizeof(double));
    online->order = take(online, n_bin, sizeof(double));
    online->modifier = take(online, d->info.n_ll, sizeof(double));
    online->sums = take(online, online->n_value, sizeof(double));
    online->values = take(online, online->n_value, sizeof(float));
    online->mark = take(online, most_features(online), sizeof(float));
    online->transition =
        take(online, (int64_t)d->info.n_state * d->info.n_state, sizeof *online->transition);
    online->step_scratch = take(online, (int64_t)tess_de_hmm_scratch_bytes(d->hmm), 1);
    online->history = take(online, online->config.n_history, sizeof *online->history);
    if (!online->predicted || !online->order || !online->modifier || !online->sums ||
        !online->values || !online->mark || !online->transition || !online->step_scratch ||
        !online->history) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < online->config.n_history; k++) {
        online_slot *slot = &online->history[k];
        slot->posterior = take(online, n_bin, sizeof *slot->posterior);
        slot->states = take(online, d->info.n_state, sizeof *slot->states);
        slot->ll = take(online, d->info.n_ll, sizeof *slot->ll);
        if (!slot->posterior || !slot->states || !slot->ll) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

// Distances and bin numbers of the environments whose columns depend on the animal.
static tess_status take_positions(tess_decode_online *online)
{
    const tess_decode_detector *d = online->detector;
    online->distances = take(online, d->n_environment, sizeof *online->distances);
    online->interiors = take(online, d->n_environment, sizeof *online->interiors);
    online->positions = take(online, ONLINE_POSITIONS, sizeof *online->positions);
    if (!online->distances || !online->interiors || !online->positions) {
        return TESS_E_MEMORY;
    }
    for (int32_t i = 0; i < d->n_block; i++) {
        const int32_t at = d->blocks[i].environment;
        if (!tess_de_is_modified(d, &d->blocks[i]) || online->interiors[at]) {
            continue;
        }
        tess_decode_environment *env = d->environments[at];
        const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
        int64_t *interior = take(online, info->n_bin, sizeof *interior);
        if (!interior) {
            return TESS_E_MEMORY;
        }
        memset(interior, 0xff, (size_t)info->n_bin * sizeof *interior);
        for (int64_t p = 0; p < info->n_interior; p++) {
            interior[info->interior_bin[p]] = p;
        }
        online->interiors[at] = interior;
        online->n_dim = info->n_dim;
        TESS_TRY(tess_decode_distances(online->ctx, env, &online->distances[at]));
    }
    return TESS_OK;
}

static tess_status take_triggers(tess_decode_online *online)
{
    for (int32_t k = 0; k < TESS_DECODE_ONLINE_TRIGGERS; k++) {
        online_trigger *t = &online->triggers[k];
        t->bins = take(online, online->detector->info.n_state_bin, sizeof *t->bins);
        t->mass = take(online, ONLINE_MOST_AVERAGE, sizeof *t->mass);
        t->stats.struct_size = sizeof t->stats;
        if (!t->bins || !t->mass) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

// What one-bin Local states need.
static tess_status take_local(tess_decode_online *online)
{
    const tess_decode_detector *d = online->detector;
    for (int32_t i = 0; i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        if (b->kind != TESS_DE_COLUMNS_LOCAL) {
            continue;
        }
        online_encoding *e = tess_de_online_encoding(online, b);
        const tess_de_single_ops *ops = e->encoding->ops->single;
        e->has_local = 1;
        online->has_local = 1;
        online->n_dim = tess_decode_environment_get_info(e->encoding->env)->n_dim;
        if (ops->local_prepare) {
            TESS_TRY(ops->local_prepare(online->ctx, e->encoding));
        }
    }
    return TESS_OK;
}

static tess_status take_helpers(tess_decode_online *online)
{
    online->spike_scratch = take(online, (int64_t)spike_scratch_bytes(online), 1);
    if (!online->spike_scratch) {
        return TESS_E_MEMORY;
    }
    // As many as there are threads: the consumer sleeps while they work. One thread means its own.
    int64_t n = online->ctx->n_thread > 1 ? online->ctx->n_thread : 0;
    n = n < online->n_electrode ? n : online->n_electrode;
    online->n_helper = (int32_t)(n < ONLINE_MAX_HELPER ? n : ONLINE_MAX_HELPER);
    online->helpers = take(online, online->n_helper, sizeof *online->helpers);
    if (!online->helpers) {
        return TESS_E_MEMORY;
    }
    for (int32_t k = 0; k < online->n_helper; k++) {
        online_helper *helper = &online->helpers[k];
        helper->online = online;
        helper->number = k;
        helper->scratch = take(online, (int64_t)spike_scratch_bytes(online), 1);
        helper->mark = take(online, most_features(online), sizeof(float));
        helper->values = take(online, ONLINE_HELPER_ROWS * online->n_value, sizeof(float));
        if (!helper->scratch || !helper->mark || !helper->values) {
            return TESS_E_MEMORY;
        }
        for (int32_t r = 0; r < ONLINE_HELPER_ROWS; r++) {
            helper->rows[r].electrode = -1;
        }
    }
    return TESS_OK;
}

static void rewind_to(tess_decode_online *online, double start_s)
{
    const tess_decode_detector *d = online->detector;
    online->config.start_s = start_s;
    online->n_bin = 0;
    online->first_kept = 0;
    tess_de_online_rewind_triggers(online);
    atomic_store(&online->open_from, start_s);
    memcpy(online->predicted, d->initial, (size_t)d->info.n_state_bin * sizeof(double));
    memset(&online->stats, 0, sizeof online->stats);
    atomic_store(&online->n_position, 0);
    if (online->learner) {
        online->learner->next_refresh_s = start_s + online->config.learn_refresh_s;
    }
    for (int64_t e = 0; e < online->n_electrode; e++) {
        online_ring *ring = &online->rings[e];
        atomic_store(&ring->tail, atomic_load(&ring->head));
        ring->has_last = 0;
        ring->n_late_seen = 0;
        atomic_store(&ring->n_late, 0);
        atomic_store(&ring->n_duplicate, 0);
        atomic_store(&ring->n_dropped, 0);
    }
}

static tess_status take_device(tess_decode_online *online)
{
    tess_device *device = NULL;
    device = tess_de_states_device(online->ctx, tess_de_hmm_stages, 1);
    tess_backend_queue *queue = NULL;
    TESS_TRY(device->backend->queue_create(device->handle, &queue));
    online->device = *device;
    online->device.queue = queue;
    device = &online->ctx->cpu;
    queue = NULL;
    TESS_TRY(device->backend->queue_create(device->handle, &queue));
    online->host = *device;
    online->host.queue = queue;
    return TESS_OK;
}

static tess_status prepare_decoder(tess_decode_online *online,
                                   const tess_decode_online_config *given)
{
    tess_decode_online_config_init(&online->config, sizeof online->config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &online->config, sizeof online->config, "config"));
    }
    TESS_TRY(tess_params_check(tess_decode_online_params(), &online->config));
    TESS_TRY(check_detector(online->detector));
    TESS_TRY(take_device(online));
    TESS_TRY(take_rings(online));
    TESS_TRY(take_encodings(online));
    TESS_TRY(take_bins(online));
    TESS_TRY(take_positions(online));
    TESS_TRY(take_local(online));
    TESS_TRY(take_triggers(online));
    TESS_TRY(tess_de_learn_create(online));
    TESS_TRY(take_helpers(online));
    rewind_to(online, online->config.start_s);
    return tess_de_online_start(online);
}

tess_status tess_decode_online_create(tess_context *ctx, const tess_decode_detector *detector,
                                      const tess_decode_online_config *config,
                                      tess_decode_online **out)
{
    tess_error_clear();
    *out = NULL;
    TESS_TRY(tess_group_refuse(ctx, "online decoder"));
    tess_decode_online *online =
        tess_heap_alloc_zero(&ctx->heap, sizeof *online, TESS_TAG_RESULT, "online decoder");
    if (!online) {
        return TESS_E_MEMORY;
    }
    online->ctx = ctx;
    online->detector = detector;
    tess_blocks_init(&online->blocks, &ctx->heap);
    const tess_status status = prepare_decoder(online, config);
    if (status != TESS_OK) {
        tess_decode_online_destroy(online);
        return status;
    }
    *out = online;
    return TESS_OK;
}

void tess_decode_online_destroy(tess_decode_online *online)
{
    if (!online) {
        return;
    }
    tess_context *ctx = online->ctx;
    if (online->helpers) {
        tess_de_online_stop(online);
    }
    if (online->device.queue) {
        online->device.backend->queue_destroy(online->device.queue);
    }
    if (online->host.queue) {
        online->host.backend->queue_destroy(online->host.queue);
    }
    tess_blocks_free(&online->blocks);
    tess_heap_free(&ctx->heap, online, sizeof *online, TESS_TAG_RESULT);
}

tess_status tess_decode_online_reset(tess_decode_online *online, double start_s)
{
    tess_error_clear();
    tess_decode_online_config config = online->config;
    config.start_s = start_s;
    TESS_TRY(tess_params_check(tess_decode_online_params(), &config));
    rewind_to(online, start_s);
    return TESS_OK;
}

// Everything a learning decoder will ever need, and the fitted model as its first lesson.
#include "base/status.h"
#include "systems/decode/kde/kde_electrode.h"
#include "systems/decode/online/learn.h"

#include <math.h>
#include <string.h>

static const double LOG_SQRT_2PI = 0.91893853320467274178;
static const double SQRT_HALF = 0.70710678118654752440;
// As a fit has them; the depth of sure sums cannot be known beforehand, so it is the most.
static const double FAST_BOUND = 8e-6;
static const double LEAST_BOUND = 1e-7;
static const double DEPTH = 40;
// Most moments of the single-spike kernel.
enum { MOST_ORDER = 12 };
// Place kernels kept per electrode, where there are no cells.
static const double MOST_KERNEL_ITEMS = 64 << 20;

static void *take(tess_decode_online *online, int64_t n, size_t bytes)
{
    return tess_blocks_alloc(&online->blocks, n, bytes, "learning decoder");
}

static tess_status check(const tess_decode_online *online)
{
    const tess_decode_encoding *encoding = online->encodings[0].encoding;
    const int32_t algorithm = encoding->info.algorithm;
    if (algorithm != TESS_DECODE_CLUSTERLESS_KDE && algorithm != TESS_DECODE_SORTED_SPIKES_KDE) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "learn: a model of algorithm %s cannot learn spike by spike; use clusterless_kde "
                  "or sorted_spikes_kde, or fit anew",
                  encoding->ops->name);
    }
    if (online->n_encoding > 1) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "learn: the detector has %d encoding models, and a spike does not say which one "
                  "is to learn it; use a model of one environment and group",
                  online->n_encoding);
    }
    if (online->has_local) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "learn: a Local state of one bin needs densities at any place, which are not "
                  "learned; set local_position_std to 0 or more");
    }
    if (encoding->selection.spike_weight && !online->config.learn_from_nothing) {
        TESS_FAIL(TESS_E_ARGUMENT, "learn: the model was fitted with weights, which kept spikes "
                                   "have none of; fit without, or learn from nothing");
    }
    return TESS_OK;
}

static tess_status take_model(tess_decode_online *online, learn_model *model)
{
    const online_learner *learner = online->learner;
    const int64_t n_bin = learner->n_bin;
    const int64_t n_electrode = learner->n_electrode;
    model->occupancy = take(online, n_bin, sizeof(double));
    model->log_occupancy = take(online, n_bin, sizeof(double));
    model->intensity = take(online, n_bin, sizeof(double));
    model->mean_rates = take(online, n_electrode, sizeof(double));
    model->n_spike = take(online, n_electrode, sizeof *model->n_spike);
    model->is_deaf = take(online, n_electrode, sizeof *model->is_deaf);
    model->electrodes = take(online, n_electrode, sizeof *model->electrodes);
    model->stores = take(online, n_electrode, sizeof *model->stores);
    model->log_field = take(online, learner->is_sorted ? n_electrode * n_bin : 0, sizeof(double));
    return model->occupancy && model->log_occupancy && model->intensity && model->mean_rates &&
                   model->n_spike && model->is_deaf && model->electrodes && model->stores &&
                   model->log_field
               ? TESS_OK
               : TESS_E_MEMORY;
}

static tess_status take_common(tess_decode_online *online, online_learner *learner)
{
    const tess_decode_encoding *encoding = learner->encoding;
    const int64_t n_bin = learner->n_bin;
    learner->bin_place = take(online, learner->n_dim * n_bin, sizeof(double));
    learner->sums = take(online, n_bin, sizeof *learner->sums);
    learner->history = take(online, LEARN_HISTORY, sizeof *learner->history);
    learner->electrodes = take(online, learner->n_electrode, sizeof *learner->electrodes);
    learner->sample_place = take(online, learner->sample_capacity * learner->n_dim, sizeof(double));
    learner->log_place = take(online, learner->log_capacity * learner->n_dim, sizeof(double));
    if (!learner->bin_place || !learner->sums || !learner->history || !learner->electrodes ||
        !learner->sample_place || !learner->log_place) {
        return TESS_E_MEMORY;
    }
    for (int k = 0; k < 2; k++) {
        TESS_TRY(take_model(online, &learner->models[k]));
    }
    tess_de_kde_scale_places(learner->env->interior_centers, learner->n_dim, encoding->position_std,
                             NULL, n_bin, learner->bin_place);
    for (int64_t d = 0; d < learner->n_dim; d++) {
        learner->place_scale[d] = SQRT_HALF / encoding->position_std[d];
        learner->log_norm += log(encoding->position_std[d]) + LOG_SQRT_2PI;
    }
    return TESS_OK;
}

// Cells over the whole track; places stand for spikes that may come.
static tess_status plan_cells(tess_decode_online *online, tess_blocks *scratch,
                              tess_kde_model *stage)
{
    online_learner *learner = online->learner;
    const tess_decode_encoding *encoding = learner->encoding;
    const int64_t n = learner->capacity > 1 ? learner->capacity : 2;
    double *place = tess_blocks_alloc(scratch, n, sizeof *place, "places");
    if (!place) {
        return TESS_E_MEMORY;
    }
    const double *edge = learner->env->bin_edges[0];
    const double low = edge[0] * learner->place_scale[0];
    const double high = edge[learner->env->grid_shape[0]] * learner->place_scale[0];
    for (int64_t i = 0; i < n; i++) {
        place[i] = i + 1 == n ? high : low + (high - low) * (double)i / (double)(n - 1);
    }
    const double *const all[1] = {place};
    const kde_places places = {1, &n, all};
    const double bound = encoding->config.mode == TESS_DECODE_BOUNDED
                             ? fmax(encoding->config.bound, LEAST_BOUND)
                             : FAST_BOUND;
    TESS_TRY(tess_de_kde_plan(&online->blocks, scratch, &places, bound, stage, &learner->plan));
    if (learner->plan.has_cells && stage->grid.order > MOST_ORDER) {
        learner->plan.has_cells = false;
    }
    return TESS_OK;
}

static tess_status plan_stage(tess_decode_online *online, online_learner *learner)
{
    const kde_model *kde = learner->encoding->model;
    tess_kde_model stage = kde->stage;
    stage.bin_place = learner->bin_place;
    memset(&stage.grid, 0, sizeof stage.grid);
    memset(&stage.nodes, 0, sizeof stage.nodes);
    learner->plan.depth = DEPTH;
    if (!kde->stage.is_exact && learner->n_dim == 1) {
        tess_blocks scratch;
        tess_blocks_init(&scratch, &online->ctx->heap);
        const tess_status status = plan_cells(online, &scratch, &stage);
        tess_blocks_free(&scratch);
        TESS_TRY(status);
    }
    const double items = (double)learner->capacity * (double)learner->n_bin;
    if (!kde->stage.is_exact && !learner->plan.has_cells && items > MOST_KERNEL_ITEMS) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "learn_capacity: %lld spikes at %lld bins are more than the %g values that can "
                  "be kept per electrode; at most %lld spikes",
                  (long long)learner->capacity, (long long)learner->n_bin, MOST_KERNEL_ITEMS,
                  (long long)(MOST_KERNEL_ITEMS / (double)learner->n_bin));
    }
    stage.max_spike = learner->capacity;
    stage.max_feature = 1;
    for (int64_t e = 0; e < learner->n_electrode; e++) {
        const int64_t n = online->rings[e].n_feature;
        stage.max_feature = n > stage.max_feature ? n : stage.max_feature;
    }
    for (int k = 0; k < 2; k++) {
        learner->models[k].stage = stage;
        learner->models[k].stage.electrodes = learner->models[k].electrodes;
    }
    const tess_stage_decode_kde_bind bind = {.model = &learner->models[0].stage,
                                             .bound = &learner->single};
    return tess_stage_run(&online->host, TESS_STAGE_DECODE_KDE_BIND, &bind, sizeof bind);
}

static tess_status take_electrode(tess_decode_online *online, online_learner *learner, int64_t k)
{
    learn_electrode *e = &learner->electrodes[k];
    e->n_feature = online->rings[k].n_feature;
    e->last_time = -(double)INFINITY;
    e->sample_end = -1;
    e->slot_place = take(online, learner->capacity * learner->n_dim, sizeof(double));
    e->slot_sample = take(online, learner->capacity, sizeof *e->slot_sample);
    e->sums = take(online, learner->n_bin, sizeof *e->sums);
    e->scale = take(online, e->n_feature, sizeof(double));
    e->wait_time = take(online, learner->max_wait, sizeof(double));
    e->wait_mark = take(online, learner->max_wait * e->n_feature, sizeof(float));
    e->items = take(online, learner->log_capacity, sizeof *e->items);
    e->item_mark = take(online, learner->log_capacity * e->n_feature, sizeof(float));
    if (!e->slot_place || !e->slot_sample || !e->sums || !e->scale || !e->wait_time ||
        !e->wait_mark || !e->items || !e->item_mark) {
        return TESS_E_MEMORY;
    }
    for (int64_t f = 0; f < e->n_feature; f++) {
        e->scale[f] = SQRT_HALF / tess_de_kde_waveform_std(learner->encoding, f);
    }
    return TESS_OK;
}

static tess_status take_cells(tess_decode_online *online, const online_learner *learner,
                              learn_store *e)
{
    const int64_t n_cell = learner->plan.n_cell[0];
    e->t = take(online, learner->capacity, sizeof(float));
    e->base = take(online, learner->capacity, sizeof(float));
    e->cell = take(online, n_cell, sizeof *e->cell);
    e->cell_first = take(online, n_cell + 1, sizeof *e->cell_first);
    return e->t && e->base && e->cell && e->cell_first ? TESS_OK : TESS_E_MEMORY;
}

// The arrays of the stage, and the stage pointing to them.
static tess_status take_store(tess_decode_online *online, learn_model *model, int64_t k)
{
    const online_learner *learner = online->learner;
    learn_store *e = &model->stores[k];
    const int64_t n = learner->capacity;
    const bool has_cells = learner->plan.has_cells;
    e->n_feature = learner->electrodes[k].n_feature;
    e->scale = learner->electrodes[k].scale;
    e->at = take(online, n, sizeof *e->at);
    e->slot = take(online, n, sizeof *e->slot);
    e->start = take(online, (has_cells ? learner->plan.n_cell[0] : 1) + 1, sizeof *e->start);
    e->centre = take(online, e->n_feature, sizeof(double));
    e->marks = take(online, n * e->n_feature, sizeof(double));
    e->place = take(online, n * learner->n_dim, sizeof(double));
    e->marks_f32 = take(online, n * e->n_feature, sizeof(float));
    e->offset = take(online, learner->n_bin, sizeof(double));
    e->offset_f32 = take(online, learner->n_bin, sizeof(float));
    if (!e->at || !e->slot || !e->start || !e->centre || !e->marks || !e->place || !e->marks_f32 ||
        !e->offset || !e->offset_f32) {
        return TESS_E_MEMORY;
    }
    if (has_cells) {
        TESS_TRY(take_cells(online, learner, e));
    } else if (!model->stage.is_exact) {
        e->kernel = take(online, n * learner->n_bin, sizeof(float));
        if (!e->kernel) {
            return TESS_E_MEMORY;
        }
    }
    memset(e->at, 0xff, (size_t)n * sizeof *e->at);
    model->electrodes[k] = (tess_kde_electrode){.n_feature = e->n_feature,
                                                .stride = n,
                                                .mark_centre = e->centre,
                                                .mark_scale = e->scale,
                                                .marks = e->marks,
                                                .place = e->place,
                                                .offset = e->offset,
                                                .offset_f32 = e->offset_f32,
                                                .marks_f32 = e->marks_f32,
                                                .basis = e->kernel,
                                                .t = e->t,
                                                .base = e->base,
                                                .cell = e->cell,
                                                .cell_first = e->cell_first};
    return TESS_OK;
}

// The fitted model's samples and spikes, in the order it has them. When a spike came among the
// samples is not known any more: they are taken to have come evenly.
static tess_status learn_fitted(tess_decode_online *online, online_learner *learner)
{
    const tess_de_selection *s = &learner->encoding->selection;
    const uint64_t seed = (uint64_t)online->config.learn_seed;
    for (int64_t i = 0; i < s->n_sample; i++) {
        tess_de_learn_keep_sample(learner, seed, s->place + i * s->n_dim);
    }
    for (int64_t k = 0; k < s->n_electrode; k++) {
        const int64_t n_feature = learner->electrodes[k].n_feature;
        if (learner->policy == TESS_DECODE_LEARN_GROW && s->n_spike[k] > learner->capacity) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "learn_capacity: %lld, but electrode %lld was fitted with %lld spikes; allow "
                      "more than that, or learn from nothing",
                      (long long)learner->capacity, (long long)k, (long long)s->n_spike[k]);
        }
        for (int64_t i = 0; i < s->n_spike[k]; i++) {
            const double *place = s->spike_place[k] + i * s->n_dim;
            const int64_t seen =
                (int64_t)((double)s->n_sample * ((double)(i + 1) / (double)s->n_spike[k]));
            const int64_t slot = tess_de_learn_keep_spike(learner, seed, k, seen, place);
            if (slot < 0 || learner->is_sorted) {
                continue;
            }
            for (int64_t f = 0; f < n_feature; f++) {
                online->mark[f] = (float)s->spike_marks[k][i * n_feature + f];
            }
            tess_de_learn_store(learner, &learner->models[0], k, slot, place, online->mark);
            tess_de_learn_store(learner, &learner->models[1], k, slot, place, online->mark);
        }
    }
    return TESS_OK;
}

tess_status tess_de_learn_create(tess_decode_online *online)
{
    const tess_decode_online_config *c = &online->config;
    if (c->learn == TESS_DECODE_LEARN_NONE) {
        return TESS_OK;
    }
    TESS_TRY(check(online));
    online_learner *learner = take(online, 1, sizeof *learner);
    if (!learner) {
        return TESS_E_MEMORY;
    }
    online->learner = learner;
    learner->encoding = online->encodings[0].encoding;
    learner->env = tess_decode_environment_get_info(learner->encoding->env);
    learner->policy = c->learn;
    learner->is_sorted = learner->encoding->info.algorithm == TESS_DECODE_SORTED_SPIKES_KDE;
    learner->capacity = c->learn_capacity;
    learner->sample_capacity = c->learn == TESS_DECODE_LEARN_GROW ? 0 : c->learn_samples;
    learner->n_bin = learner->env->n_interior;
    learner->n_dim = learner->env->n_place_dim;
    learner->n_electrode = online->n_electrode;
    learner->max_wait = c->max_pending;
    learner->log_capacity = 4 * c->max_pending; // what comes in two refreshes, and some more
    learner->next_refresh_s = c->start_s + c->learn_refresh_s;
    learner->stats.struct_size = sizeof learner->stats;
    TESS_TRY(take_common(online, learner));
    if (!learner->is_sorted) {
        TESS_TRY(plan_stage(online, learner));
    }
    for (int64_t k = 0; k < learner->n_electrode; k++) {
        TESS_TRY(take_electrode(online, learner, k));
        for (int i = 0; i < 2 && !learner->is_sorted; i++) {
            TESS_TRY(take_store(online, &learner->models[i], k));
        }
    }
    if (!c->learn_from_nothing) {
        TESS_TRY(learn_fitted(online, learner));
    }
    learner->n_sample_told = learner->n_sample_seen;
    learner->sample_first = learner->n_sample_seen;
    learner->is_changed = 1;
    tess_de_learn_refresh(online);
    learner->stats.n_refresh = 0;
    learner->stats.refresh_max_s = 0;
    return TESS_OK;
}

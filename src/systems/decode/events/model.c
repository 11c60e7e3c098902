// A fitted model as arrays: places, distances, ground intensities, states.
#include "systems/decode/events/model.h"

#include "base/status.h"
#include "runtime/group.h"
#include "systems/decode/sorted/rates.h"
#include "systems/decode/states/hmm_model.h"

#include <math.h>

static const int32_t event_stages[] = {TESS_STAGE_DECODE_EVENTS};

// The one encoding and environment of all states with places.
static tess_status find_encoding(const tess_decode_detector *d, tess_de_events_model *model)
{
    int32_t encoding = -1;
    for (int32_t b = 0; b < d->n_block; b++) {
        if (d->blocks[b].kind != TESS_DE_COLUMNS_PLACES) {
            continue;
        }
        if (encoding >= 0 && (encoding != d->blocks[b].encoding ||
                              model->env != d->environments[d->blocks[b].environment])) {
            TESS_FAIL(TESS_E_UNSUPPORTED,
                      "events are decoded with one environment and encoding model; the states of "
                      "this one have several");
        }
        encoding = d->blocks[b].encoding;
        model->env = d->environments[d->blocks[b].environment];
    }
    if (encoding < 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "the model has no state with places: nothing to decode events by");
    }
    model->encoding = d->encodings[encoding];
    return TESS_OK;
}

static tess_status check_spikes(const tess_de_events_model *model)
{
    const tess_decode_encoding_info *info = &model->encoding->info;
    const tess_decode_spikes *spikes = &model->in->spikes;
    if (spikes->n_electrode != info->n_electrode) {
        TESS_FAIL(TESS_E_SHAPE,
                  "spikes of %lld electrodes are given, the model was fitted with %lld",
                  (long long)spikes->n_electrode, (long long)info->n_electrode);
    }
    for (int64_t e = 0; info->n_feature && e < info->n_electrode; e++) {
        if (!spikes->marks) {
            TESS_FAIL(TESS_E_ARGUMENT, "spikes have no marks; the model was fitted with them");
        }
        if (spikes->n_spike[e] > 0 && spikes->n_feature[e] != info->n_feature[e]) {
            TESS_FAIL(TESS_E_SHAPE, "electrode %lld: fitted with %lld features, got %lld",
                      (long long)e, (long long)info->n_feature[e], (long long)spikes->n_feature[e]);
        }
    }
    return TESS_OK;
}

// Time bins: the memoryless decoder takes any, the movements of a state-space model are of its own.
static tess_status choose_width(tess_de_events_model *model)
{
    const tess_decode_events_config *config = &model->in->config;
    const double sample = model->encoding->info.bin_width_s;
    const double own = config->model_bin > 0 ? config->model_bin : sample;
    model->width = tess_de_event_width(config, own);
    if (!(sample > 0)) {
        TESS_FAIL(TESS_E_ARGUMENT, "the model's position samples have no time step, so that rates "
                                   "per sample cannot be scaled to event_bin");
    }
    if (config->decoder == TESS_DECODE_EVENT_STATES && fabs(model->width - own) > 1e-6 * own) {
        TESS_FAIL(
            TESS_E_ARGUMENT,
            "event_bin %g s: the state-space model moves in time bins of %g s; leave event_bin "
            "at 0, or take decoder memoryless",
            model->width, own);
    }
    model->scale = model->width / sample;
    return TESS_OK;
}

static tess_status make_track(tess_de_events_model *model)
{
    const tess_decode_environment_info *info = tess_decode_environment_get_info(model->env);
    tess_events_track *track = &model->track;
    tess_events_route *routes = NULL;
    const int64_t n = info->n_interior;
    *track = (tess_events_track){.n_place = n,
                                 .band = model->in->config.band,
                                 .max_velocity = model->in->config.max_velocity};
    TESS_TRY(tess_de_routes_make(&model->blocks, model->env, &routes, &track->n_route));
    track->routes = routes;
    if (!info->is_track && info->n_place_dim == 1) {
        track->centre = info->interior_centers;
        track->extent = fabs(info->interior_centers[n - 1] - info->interior_centers[0]);
        return TESS_OK;
    }
    TESS_TRY(tess_decode_distances(model->ctx, model->env, &track->distance));
    for (int64_t k = 0; k < n * n; k++) {
        const double d = track->distance[k];
        track->extent = isfinite(d) && d > track->extent ? d : track->extent;
    }
    return TESS_OK;
}

// Each electrode's term of the ground intensity.
static tess_status make_ground(tess_de_events_model *model)
{
    const tess_decode_encoding_info *info = &model->encoding->info;
    const int64_t n = info->n_interior;
    const bool is_rate = info->n_feature == NULL;
    double *ground = tess_blocks_alloc(&model->blocks, info->n_electrode * n, sizeof *ground,
                                       "ground intensity");
    if (!ground) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < info->n_electrode * n; k++) {
        const double field = info->place_fields[k];
        const double pi = info->occupancy ? info->occupancy[k % n] : 0;
        const double density = pi > 0 ? field / pi : TESS_DE_EPS;
        const double rate = is_rate ? field : info->mean_rates[k / n] * density;
        ground[k] = rate > TESS_DE_EPS ? rate : TESS_DE_EPS;
    }
    model->ground = ground;
    return TESS_OK;
}

static tess_status make_unit_rows(tess_de_events_model *model)
{
    const tess_decode_encoding_info *info = &model->encoding->info;
    const int64_t n = info->n_electrode * info->n_interior;
    if (info->n_feature) {
        return TESS_OK;
    }
    double *rows = tess_blocks_alloc(&model->blocks, n, sizeof *rows, "log rates");
    if (!rows) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n; k++) {
        rows[k] = log(info->place_fields[k]);
    }
    model->unit_rows = rows;
    return TESS_OK;
}

static tess_status make_states(tess_de_events_model *model)
{
    const tess_decode_detector *d = model->detector;
    if (model->in->config.decoder != TESS_DECODE_EVENT_STATES) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_events_check_covariates(model));
    if (d->info.n_state > TESS_DECODE_EVENT_MAX_STATE) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "events are decoded by up to %d states; the model has %d",
                  TESS_DECODE_EVENT_MAX_STATE, d->info.n_state);
    }
    int64_t *first = tess_blocks_alloc(&model->blocks, d->n_block, sizeof *first, "columns");
    if (!first) {
        return TESS_E_MEMORY;
    }
    model->states = (tess_events_states){.model = &d->hmm->model,
                                         .transition = d->discrete_transition,
                                         .initial = d->initial,
                                         .block_first = first};
    for (int32_t b = 0; b < d->n_block; b++) {
        if (d->blocks[b].kind == TESS_DE_COLUMNS_PLACES) {
            first[model->states.n_block++] = d->blocks[b].first;
        }
    }
    return TESS_OK;
}

// Log intensities of fast models differ from device to device in their fifth digit, which moves a
// shuffle past the observed score now and then: p is the same everywhere if they are the host's.
// One row of a spike serves all its shuffles.
static tess_status choose_joint_device(tess_de_events_model *model)
{
    const tess_de_encoding_ops *ops = model->encoding->ops;
    if (model->encoding->config.mode != TESS_DECODE_EXACT) {
        model->joint_device = &model->ctx->cpu;
        return TESS_OK;
    }
    return tess_stage_choose(model->ctx, ops->stages, ops->n_stage, "likelihood",
                             &model->joint_device);
}

static tess_status open_model(tess_de_events_model *model)
{
    tess_context *ctx = model->ctx;
    const tess_de_events_input *in = model->in;
    TESS_TRY(tess_group_refuse(ctx, "scoring of events"));
    TESS_TRY(find_encoding(model->detector, model));
    TESS_TRY(check_spikes(model));
    TESS_TRY(choose_width(model));
    model->device = tess_de_states_device(ctx, event_stages, 1);
    TESS_TRY(choose_joint_device(model));
    TESS_TRY(make_states(model));
    if (model->states.model && tess_de_needs_position(model->detector) &&
        in->position.n_sample == 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "a state of the model depends on the animal's position, and none "
                  "is given; pass it, or take decoder memoryless");
    }
    TESS_TRY(make_track(model));
    TESS_TRY(make_ground(model));
    TESS_TRY(make_unit_rows(model));
    const tess_decode_encoding_config *config = &model->encoding->config;
    const tess_de_spike_rules rules = {config->nan_policy, config->strict};
    tess_de_ordered *ordered = NULL;
    TESS_TRY(tess_de_events_order(ctx, &model->blocks, &in->spikes, &rules, &ordered));
    model->ordered = ordered;
    return TESS_OK;
}

tess_status tess_de_events_model_open(tess_context *ctx, const tess_de_events_input *in,
                                      const tess_decode_detector *detector,
                                      tess_de_events_model *model)
{
    *model =
        (tess_de_events_model){.ctx = ctx, .in = in, .detector = detector, .speed = ctx->n_thread};
    tess_blocks_init(&model->blocks, &ctx->heap);
    const tess_status status = open_model(model);
    if (status != TESS_OK) {
        tess_de_events_model_close(model);
    }
    return status;
}

void tess_de_events_model_close(tess_de_events_model *model)
{
    tess_blocks_free(&model->blocks);
}

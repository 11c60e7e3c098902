// The table of events itself, and the words for what is in it.
#include "systems/decode/events/events.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>
#include <stdio.h>

const char *tess_decode_event_reason_name(int32_t bit)
{
    static const char *const names[] = {"short",          "long",   "few spikes",
                                        "few electrodes", "moving", "few bins",
                                        "outside",        "empty",  "overlaps"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        if (bit == 1 << i) {
            return names[i];
        }
    }
    return NULL;
}

const char *tess_decode_event_score_name(int32_t score)
{
    static const char *const names[TESS_DECODE_EVENT_N_SCORE] = {"weighted_correlation",
                                                                 "line_fit",
                                                                 "distance",
                                                                 "net_distance",
                                                                 "max_jump",
                                                                 "coverage",
                                                                 "sharpness",
                                                                 "speed"};
    return score >= 0 && score < TESS_DECODE_EVENT_N_SCORE ? names[score] : NULL;
}

const char *tess_decode_shuffle_name(int32_t kind)
{
    static const char *const names[TESS_DECODE_N_SHUFFLE] = {"column", "field",  "time",
                                                             "marks",  "spikes", "units"};
    return kind >= 1 && kind <= TESS_DECODE_N_SHUFFLE ? names[kind - 1] : NULL;
}

int64_t tess_de_event_bins(double start, double end, double width)
{
    const double n = floor((end - start) / width + 1e-6);
    return n > 0 && n < 1e15 ? (int64_t)n : 0;
}

int64_t tess_de_event_bin(double start, double width, double spike)
{
    const double bin = floor((spike - start) / width);
    return bin >= 0 && bin < 1e15 ? (int64_t)bin : -1;
}

double tess_de_event_width(const tess_decode_events_config *config, double model_bin)
{
    static const double memoryless = 0.02;
    if (config->event_bin > 0) {
        return config->event_bin;
    }
    return config->decoder == TESS_DECODE_EVENT_MEMORYLESS ? memoryless : model_bin;
}

static tess_status check_position(const tess_decode_position *position)
{
    if (position->n_sample > 0 && (position->n_dim < 1 || position->n_dim > TESS_DECODE_MAX_DIM)) {
        TESS_FAIL(TESS_E_SHAPE, "position has %lld coordinates; 1 to %d are expected",
                  (long long)position->n_dim, TESS_DECODE_MAX_DIM);
    }
    for (int64_t i = 0; i < position->n_sample; i++) {
        const bool rises = i == 0 || position->time[i] > position->time[i - 1];
        if (!isfinite(position->time[i]) || !rises) {
            TESS_FAIL(
                TESS_E_ARGUMENT,
                "position time[%lld] = %.17g: times must be finite and rise (the one before is "
                "%.17g)",
                (long long)i, position->time[i], i > 0 ? position->time[i - 1] : (double)NAN);
        }
    }
    return TESS_OK;
}

tess_status tess_de_events_read(const tess_decode_spikes *spikes,
                                const tess_decode_position *position,
                                const tess_decode_events_config *config, tess_de_events_input *out)
{
    tess_decode_events_config_init(&out->config, sizeof out->config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &out->config, sizeof out->config, "config"));
    }
    TESS_TRY(tess_params_check(tess_decode_events_params(), &out->config));
    if (out->config.max_duration < out->config.min_duration) {
        TESS_FAIL(TESS_E_ARGUMENT, "max_duration %g s is less than min_duration %g s",
                  out->config.max_duration, out->config.min_duration);
    }
    tess_decode_spikes_init(&out->spikes, sizeof out->spikes);
    TESS_TRY(tess_struct_read(spikes, &out->spikes, sizeof out->spikes, "spikes"));
    tess_decode_position_init(&out->position, sizeof out->position);
    if (position) {
        TESS_TRY(tess_struct_read(position, &out->position, sizeof out->position, "position"));
    }
    return check_position(&out->position);
}

tess_status tess_de_events_order(tess_context *ctx, tess_blocks *blocks,
                                 const tess_decode_spikes *spikes, const tess_de_spike_rules *rules,
                                 tess_de_ordered **out)
{
    tess_de_notes notes = {0};
    *out = tess_blocks_alloc(blocks, spikes->n_electrode, sizeof **out, "spikes");
    if (!*out) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        TESS_TRY(tess_de_order_spikes(blocks, spikes, e, rules, &notes, &(*out)[e]));
    }
    tess_de_notes_log(ctx, &notes, "decoding");
    return TESS_OK;
}

tess_status tess_de_event_table_create(tess_context *ctx, const char *source,
                                       const tess_decode_events_config *config,
                                       tess_decode_events **out)
{
    tess_decode_events *events =
        tess_heap_alloc_zero(&ctx->heap, sizeof *events, TESS_TAG_RESULT, "events");
    if (!events) {
        return TESS_E_MEMORY;
    }
    events->heap = &ctx->heap;
    events->config = *config;
    events->info = (tess_decode_events_info){.struct_size = sizeof events->info,
                                             .decoder = config->decoder,
                                             .source = source,
                                             .problem = events->problem,
                                             .rate_mean = (double)NAN,
                                             .rate_sd = (double)NAN};
    tess_blocks_init(&events->table, &ctx->heap);
    tess_blocks_init(&events->scored, &ctx->heap);
    tess_blocks_init(&events->tested, &ctx->heap);
    *out = events;
    return TESS_OK;
}

tess_status tess_de_event_table_resize(tess_decode_events *events, int64_t n)
{
    const double nothing = (double)NAN;
    events->events = tess_blocks_alloc(&events->table, n, sizeof *events->events, "events");
    if (!events->events) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        tess_decode_event *e = &events->events[i];
        *e = (tess_decode_event){.event = i,
                                 .start = nothing,
                                 .end = nothing,
                                 .line_route = -1,
                                 .n_part = 1,
                                 .peak_z = nothing,
                                 .max_speed = nothing,
                                 .first_row = -1,
                                 .duration = nothing,
                                 .line_velocity = nothing,
                                 .line_intercept = nothing,
                                 .start_bin = -1,
                                 .end_bin = -1,
                                 .log_evidence = nothing,
                                 .evidence_gain = nothing};
        for (int k = 0; k < TESS_DECODE_EVENT_N_SCORE; k++) {
            e->scores[k] = nothing;
        }
        for (int k = 0; k < TESS_DECODE_EVENT_MAX_STATE; k++) {
            e->state_time[k] = nothing;
            e->state_probability[k] = nothing;
        }
    }
    events->info.n_event = n;
    events->info.events = events->events;
    return TESS_OK;
}

void tess_decode_events_destroy(tess_decode_events *events)
{
    if (!events) {
        return;
    }
    tess_blocks_free(&events->table);
    tess_blocks_free(&events->scored);
    tess_blocks_free(&events->tested);
    tess_heap_free(events->heap, events, sizeof *events, TESS_TAG_RESULT);
}

const tess_decode_events_info *tess_decode_events_get_info(const tess_decode_events *events)
{
    return &events->info;
}

// The animal's own positions while decoding: do they fit the model, and cover the decoded times?
#include "systems/decode/states/detector.h"

#include "base/status.h"
#include "systems/decode/settings/check.h"

static int uses_position(const tess_decode_detector *d, const tess_de_columns *b)
{
    const bool is_penalised = b->kind == TESS_DE_COLUMNS_PLACES && !b->has_kernel &&
                              d->config.non_local_position_penalty > 0;
    return b->kind == TESS_DE_COLUMNS_LOCAL || b->has_kernel || is_penalised;
}

int tess_de_needs_position(const tess_decode_detector *detector)
{
    for (int32_t i = 0; i < detector->n_block; i++) {
        if (uses_position(detector, &detector->blocks[i])) {
            return 1;
        }
    }
    return 0;
}

// Beyond its samples the position is the first or last segment, continued: fine for a step, a wrong
// answer for longer.
static int64_t count_outside(const tess_decode_observation *o)
{
    const tess_decode_position *p = &o->position;
    const double begin_s = p->time[0];
    const double end_s = p->time[p->n_sample - 1];
    const double step_s = (end_s - begin_s) / (double)(p->n_sample - 1);
    int64_t n_outside = 0;
    for (int64_t t = 0; t < o->n_time; t++) {
        n_outside += o->time[t] < begin_s - step_s || o->time[t] > end_s + step_s;
    }
    return n_outside;
}

static tess_status check_cover(const tess_decode_observation *o)
{
    const tess_decode_position *p = &o->position;
    if (count_outside(o) == o->n_time) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "position_time is %.9g to %.9g s, time is %.9g to %.9g s: where the animal is, "
                  "which local states and penalties need, is known at no decoded time; pass "
                  "positions of the decoded period, on the same clock",
                  p->time[0], p->time[p->n_sample - 1], o->time[0], o->time[o->n_time - 1]);
    }
    return TESS_OK;
}

static void warn_outside(tess_context *ctx, const tess_decode_observation *o)
{
    const int64_t n_outside = count_outside(o);
    if (n_outside > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_OUTSIDE,
                      "%lld of %lld decoded times lie outside of position_time, %.9g to %.9g s: "
                      "local states and penalties take the animal to go straight on there, error "
                      "and events cannot be told",
                      (long long)n_outside, (long long)o->n_time, o->position.time[0],
                      o->position.time[o->position.n_sample - 1]);
    }
}

// Rows whose position is interpolated from a sample that is not known count as missing.
static void warn_untracked(tess_context *ctx, const tess_decode_observation *o)
{
    int64_t n_untracked = 0;
    for (int64_t t = 0; t < o->n_time; t++) {
        n_untracked += tess_de_is_untracked(&o->position, o->time[t]);
    }
    if (n_untracked > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_UNTRACKED,
                      "position is NaN at %lld of %lld decoded times: they are decoded without "
                      "their spikes, as missing ones",
                      (long long)n_untracked, (long long)o->n_time);
    }
}

void tess_de_warn_animal(tess_context *ctx, const tess_decode_detector *d,
                         const tess_decode_observation *o)
{
    if (o->position.n_sample > 1 && tess_de_has_untracked(&o->position)) {
        warn_untracked(ctx, o);
    }
    if (tess_de_needs_position(d)) {
        warn_outside(ctx, o);
    }
}

tess_status tess_de_check_animal(const tess_decode_detector *d, const tess_decode_observation *o)
{
    if (!tess_de_needs_position(d)) {
        return TESS_OK;
    }
    if (o->position.n_sample < 2) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position: is missing (%lld samples); local states and penalties need the "
                  "animal's position with its times while decoding",
                  (long long)o->position.n_sample);
    }
    for (int32_t i = 0; i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        if (uses_position(d, b) && b->environment >= 0) {
            TESS_TRY(tess_de_check_position(
                &o->position, tess_decode_environment_get_info(d->environments[b->environment])));
        }
    }
    return check_cover(o);
}

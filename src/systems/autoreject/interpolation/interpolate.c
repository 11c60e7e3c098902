// Repair of an array: the channels of picks, group by group.
#include "base/status.h"
#include "systems/autoreject/epochs/epochs.h"
#include "systems/autoreject/interpolation/apply.h"
#include "systems/autoreject/interpolation/positions.h"
#include "tessera/autoreject/interpolation.h"

#include <string.h>

static tess_status check_samples(const tess_context *ctx, const tess_autoreject_sensors *sensors,
                                 const tess_array *x)
{
    if (x->rank != 3 || x->dtype != TESS_F64 || !tess_array_is_contiguous(x)) {
        TESS_FAIL(TESS_E_SHAPE,
                  "x: must be f64 [epochs][channels][samples], items one after another");
    }
    TESS_TRY(tess_ar_check_space(ctx, x));
    if (x->shape[1] != sensors->n_chan) {
        TESS_FAIL(TESS_E_SHAPE, "x: has %lld channels, the sensors %lld", (long long)x->shape[1],
                  (long long)sensors->n_chan);
    }
    return TESS_OK;
}

// What is marked is picked, and of a type that can be predicted. is_picked has n_chan zeros.
static tess_status check_marks(const tess_autoreject_sensors *sensors, const int64_t *picks,
                               int64_t n_pick, const uint8_t *bad, int64_t n_epoch,
                               uint8_t *is_picked)
{
    for (int64_t i = 0; i < n_pick; i++) {
        is_picked[picks[i]] = 1;
    }
    for (int64_t e = 0; e < n_epoch; e++) {
        for (int64_t c = 0; c < sensors->n_chan; c++) {
            if (!bad[e * sensors->n_chan + c]) {
                continue;
            }
            const tess_autoreject_channel *channel = &sensors->channels[c];
            const bool can = channel->type == TESS_AUTOREJECT_EEG ||
                             channel->type == TESS_AUTOREJECT_MAG ||
                             channel->type == TESS_AUTOREJECT_GRAD;
            if (!is_picked[c] || !can) {
                TESS_FAIL(TESS_E_ARGUMENT,
                          "bad: channel %s (%s) is marked in epoch %lld, but it %s", channel->name,
                          tess_autoreject_type_name(channel->type), (long long)e,
                          can ? "is not among picks" : "can only be predicted if it is EEG or MEG");
            }
        }
    }
    return TESS_OK;
}

// A group's channels, ascending and once each.
typedef struct group {
    int64_t *channels;
    int32_t *rows;
    int64_t n;
    bool has_bad;
} group;

static void collect(const tess_autoreject_sensors *sensors, const uint8_t *is_picked,
                    const uint8_t *bad, int64_t n_epoch, bool is_meg, group *g)
{
    g->n = 0;
    g->has_bad = false;
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        const int32_t type = sensors->channels[c].type;
        const bool is_own = is_meg ? type == TESS_AUTOREJECT_MAG || type == TESS_AUTOREJECT_GRAD
                                   : type == TESS_AUTOREJECT_EEG;
        if (!is_picked[c] || !is_own) {
            continue;
        }
        g->rows[g->n] = (int32_t)c;
        g->channels[g->n++] = c;
        for (int64_t e = 0; e < n_epoch && !g->has_bad; e++) {
            g->has_bad = bad[e * sensors->n_chan + c] != 0;
        }
    }
}

static tess_status repair_group(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                const tess_autoreject_interpolation_config *config, const group *g,
                                const uint8_t *bad, tess_array *x, tess_watch *progress)
{
    tess_ar_repairer *repairer = NULL;
    TESS_TRY(tess_ar_repairer_create(ctx, sensors, g->channels, g->n, config, &repairer));
    const tess_ar_samples samples = {.device =
                                         x->space == TESS_SPACE_DEVICE ? ctx->device : &ctx->cpu,
                                     .x = x->data,
                                     .n_epoch = x->shape[0],
                                     .width = x->shape[2],
                                     .stride_epoch = x->shape[1] * x->shape[2],
                                     .stride_chan = x->shape[2],
                                     .bad = bad,
                                     .stride_bad = x->shape[1],
                                     .rows = g->rows,
                                     .n = g->n};
    const tess_status status =
        tess_ar_repair_samples(ctx, repairer, &samples, progress, 0, x->shape[0]);
    tess_ar_repairer_destroy(repairer);
    return status;
}

tess_status tess_autoreject_interpolate(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                        const int64_t *picks, int64_t n_pick, const uint8_t *bad,
                                        const tess_autoreject_interpolation_config *config,
                                        tess_array *x)
{
    tess_error_clear();
    TESS_TRY(check_samples(ctx, sensors, x));
    TESS_TRY(tess_ar_check_channels(sensors, picks, n_pick, "picks"));
    const int64_t n = sensors->n_chan;
    const size_t bytes = (size_t)n * (sizeof(int64_t) + sizeof(int32_t) + 1);
    int64_t *lists = tess_heap_alloc_zero(&ctx->heap, bytes, TESS_TAG_SCRATCH, "lists of channels");
    if (!lists) {
        return TESS_E_MEMORY;
    }
    group g = {.channels = lists, .rows = (int32_t *)(lists + n)};
    uint8_t *is_picked = (uint8_t *)(g.rows + n);
    tess_watch progress;
    tess_watch_begin(&progress, ctx, "autoreject.repair", "epochs", 0,
                     (uint64_t)tess_array_items(x) * sizeof(double), TESS_STRATEGY_LARGE);
    tess_status status = check_marks(sensors, picks, n_pick, bad, x->shape[0], is_picked);
    for (int is_meg = 0; status == TESS_OK && is_meg < 2; is_meg++) {
        collect(sensors, is_picked, bad, x->shape[0], is_meg == 1, &g);
        if (g.has_bad) {
            status = repair_group(ctx, sensors, config, &g, bad, x, &progress);
        }
    }
    tess_heap_free(&ctx->heap, lists, bytes, TESS_TAG_SCRATCH);
    return status;
}

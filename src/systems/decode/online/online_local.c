// Local states of one bin: the likelihood where the animal is, spike by spike.
#include "base/status.h"
#include "systems/decode/online/online.h"

#include <math.h>

online_encoding *tess_de_online_encoding(const tess_decode_online *online,
                                         const tess_de_columns *block)
{
    online_encoding *e = online->encodings;
    while (e->encoding != online->detector->encodings[block->encoding]) {
        e++;
    }
    return e;
}

// The place in an encoding's environment at a time; *is_known 0 where it is not known.
static tess_status place_at(const tess_decode_online *online, const online_encoding *e, double time,
                            double *place, int *is_known)
{
    double raw[TESS_DECODE_MAX_DIM];
    TESS_TRY(tess_de_online_position(online, time, raw, is_known));
    for (int64_t k = 0; k < online->n_dim && *is_known; k++) {
        *is_known = !isnan(raw[k]);
    }
    return *is_known ? tess_decode_place(e->encoding->env, raw, 1, place) : TESS_OK;
}

tess_status tess_de_online_local_row(tess_decode_online *online, double time)
{
    for (int32_t k = 0; k < online->n_encoding; k++) {
        online_encoding *e = &online->encodings[k];
        e->local_sum = 0;
        e->local_ground = 0;
        e->is_lost = 0;
        if (!e->has_local) {
            continue;
        }
        TESS_TRY(place_at(online, e, time, e->row_place, &online->has_position));
        if (online->has_position) {
            TESS_TRY(e->encoding->ops->single->local_ground(
                online->ctx, e->encoding, e->row_place, online->spike_scratch, &e->local_ground));
        }
    }
    return TESS_OK;
}

tess_status tess_de_online_local_spike(tess_decode_online *online, int64_t electrode, int64_t index,
                                       double time)
{
    const online_ring *ring = &online->rings[electrode];
    if (!online->has_local || !online->has_position) {
        return TESS_OK;
    }
    online_load_mark(online->mark, ring->marks + (index & ring->mask) * ring->n_feature,
                     ring->n_feature);
    for (int32_t k = 0; k < online->n_encoding; k++) {
        online_encoding *e = &online->encodings[k];
        double place[TESS_DECODE_MAX_DIM];
        double value = 0;
        int is_known = 0;
        if (!e->has_local) {
            continue;
        }
        TESS_TRY(place_at(online, e, time, place, &is_known));
        if (is_known) {
            TESS_TRY(e->encoding->ops->single->local_spike(
                online->ctx, &online->host, e->encoding, electrode, online->mark, place,
                e->row_place, online->spike_scratch, &value));
            e->local_sum += value;
        }
        e->is_lost |= !is_known;
    }
    return TESS_OK;
}

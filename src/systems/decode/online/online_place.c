// Where the animal is at a bin, and what that does to the bin's likelihood.
#include "base/status.h"
#include "systems/decode/online/online.h"

#include <math.h>
#include <string.h>

// The two samples a time lies between, or the two nearest; 0 if there are not two.
static int bracket(const tess_decode_online *online, double time, double times[2],
                   double at[2 * TESS_DECODE_MAX_DIM])
{
    const int64_t n = atomic_load_explicit(&online->n_position, memory_order_acquire);
    if (n < 2) {
        return 0;
    }
    const int64_t oldest = n > ONLINE_POSITIONS / 2 ? n - ONLINE_POSITIONS / 2 : 0;
    int64_t before = n - 2;
    while (before > oldest && online->positions[before % ONLINE_POSITIONS].time > time) {
        before--;
    }
    for (int k = 0; k < 2; k++) {
        const online_position *p = &online->positions[(before + k) % ONLINE_POSITIONS];
        times[k] = p->time;
        memcpy(at + k * online->n_dim, p->at, (size_t)online->n_dim * sizeof *at);
    }
    return 1;
}

// The animal's interior bin; -1: not tracked.
static tess_status find_animal(const tess_decode_online *online, int32_t environment,
                               const double *raw, int64_t *animal)
{
    const tess_decode_environment *env = online->detector->environments[environment];
    double place[TESS_DECODE_MAX_DIM];
    int64_t bin = -1;
    TESS_TRY(tess_decode_place(env, raw, 1, place));
    TESS_TRY(tess_decode_bin_index(env, place, 1, &bin));
    *animal = bin >= 0 ? online->interiors[environment][bin] : -1;
    return TESS_OK;
}

tess_status tess_de_online_position(const tess_decode_online *online, double time, double *raw,
                                    int *is_known)
{
    double times[2];
    double at[2 * TESS_DECODE_MAX_DIM];
    *is_known = online->n_dim > 0 && bracket(online, time, times, at);
    return *is_known ? tess_decode_position_at(times, at, 2, online->n_dim, &time, 1, raw)
                     : TESS_OK;
}

tess_status tess_de_online_modify(tess_decode_online *online, double time, float *ll)
{
    const tess_decode_detector *d = online->detector;
    double raw[TESS_DECODE_MAX_DIM];
    int is_known = 0;
    TESS_TRY(tess_de_online_position(online, time, raw, &is_known));
    if (!is_known) {
        if (online->has_local) {
            memset(ll, 0, (size_t)d->info.n_ll * sizeof *ll); // as a missing row
        }
        return TESS_OK; // as long as nothing is known of the animal
    }
    for (int64_t k = 0; k < online->n_dim; k++) {
        if (isnan(raw[k])) {
            memset(ll, 0, (size_t)d->info.n_ll * sizeof *ll); // as a missing row
            return TESS_OK;
        }
    }
    for (int32_t i = 0; i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        if (!tess_de_is_modified(d, b)) {
            continue;
        }
        int64_t animal = -1;
        TESS_TRY(find_animal(online, b->environment, raw, &animal));
        if (animal < 0) {
            continue;
        }
        const double *distance = online->distances[b->environment] + animal * b->n_column;
        tess_de_modifier_row(d, b, distance, animal, online->modifier);
        for (int64_t p = 0; p < b->n_column; p++) {
            ll[b->first + p] = (float)((double)ll[b->first + p] + online->modifier[p]);
        }
    }
    return TESS_OK;
}

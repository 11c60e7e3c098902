// Where a climb begins.
#include "base/status.h"
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 4, MOST_TURNS = 12 }; // lags of 1/16, 1/8, 1/4, 1/2 of the frames, then all

static tess_status look_anew(tess_xp_rates_fit *fit, bool is_rough)
{
    TESS_TRY(tess_xp_rates_value(fit, &fit->at));
    TESS_TRY(tess_xp_rates_slopes(fit, &fit->at));
    return tess_xp_rates_climb(fit, is_rough);
}

static double log_density(const tess_xp_rates_point *p)
{
    return p->log_data + p->log_prior;
}

// Climbs with the sign of shear turned from a coefficient on; stays where that leads higher.
static tess_status try_turn(tess_xp_rates_fit *fit, int64_t from)
{
    double kept[TESS_XP_RATES_MOST];
    const double before = log_density(&fit->at);
    const double noise = fit->at.s;
    memcpy(kept, fit->at.x, (size_t)fit->n * sizeof *kept);
    for (int64_t k = from; k < fit->n_basis; k++) {
        fit->at.x[fit->n_basis + k] *= -1;
    }
    TESS_TRY(look_anew(fit, true));
    if (log_density(&fit->at) > before) {
        return TESS_OK;
    }
    memcpy(fit->at.x, kept, (size_t)fit->n * sizeof *kept);
    fit->at.s = noise;
    TESS_TRY(tess_xp_rates_value(fit, &fit->at));
    return tess_xp_rates_slopes(fit, &fit->at);
}

// Near pairs know the size of shear, and those across a time when it is small know whether its sign
// is the same behind.
static tess_status try_signs(tess_xp_rates_fit *fit)
{
    const double *z = fit->at.x + fit->n_basis;
    int64_t at[MOST_TURNS];
    int64_t n = 0;
    double most = 0;
    for (int64_t k = 0; k < fit->n_basis; k++) {
        most = fmax(most, fabs(z[k]));
    }
    for (int64_t k = 1; k + 1 < fit->n_basis && n < MOST_TURNS; k++) {
        const double size = fabs(z[k]);
        if (size < 0.5 * most && size <= fabs(z[k - 1]) && size < fabs(z[k + 1])) {
            at[n++] = k;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        TESS_TRY(try_turn(fit, at[k]));
    }
    return TESS_OK;
}

tess_status tess_xp_rates_begin(tess_xp_rates_fit *fit)
{
    const bool may_turn = fit->n_kind > 1 && fit->splines[1].shape == TESS_XPCS_RATES_SMOOTH;
    for (int64_t round = ROUNDS; round >= 0; round--) {
        const int64_t lag = fit->data->info.n_frame >> round;
        fit->most_lag = round > 0 ? lag : 0;
        if (round > 0 && lag < 4) {
            continue;
        }
        TESS_TRY(look_anew(fit, round > 0));
        if (may_turn && (round == 2 || round == 1)) {
            TESS_TRY(try_signs(fit));
        }
    }
    return TESS_OK;
}

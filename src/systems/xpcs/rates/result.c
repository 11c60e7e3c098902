// Curves, bands and words of a fit of rates.
#include "base/status.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/rates/rates.h"
#include "systems/xpcs/report/bands.h"

#include <math.h>
#include <string.h>

static const double BAND = 1.9599639845400545; // 95 % of a normal

const tess_xpcs_rates_info *tess_xpcs_rates_get_info(const tess_xpcs_rates *rates)
{
    return rates ? &rates->info : NULL;
}

void tess_xpcs_rates_destroy(tess_xpcs_rates *rates)
{
    if (!rates) {
        return;
    }
    tess_xpcs_result_destroy(rates->power);
    tess_text_destroy(&rates->notes);
    tess_blocks memory = rates->memory; // it holds the rates, too
    tess_blocks_free(&memory);
}

tess_status tess_xp_rates_result_create(tess_context *ctx, tess_xpcs_rates **out)
{
    tess_blocks memory;
    tess_blocks_init(&memory, &ctx->heap);
    tess_xpcs_rates *r = tess_blocks_alloc(&memory, 1, sizeof *r, "the result of rates");
    if (!r) {
        return TESS_E_MEMORY;
    }
    r->memory = memory;
    r->ctx = ctx;
    tess_text_init(&r->notes, &ctx->heap);
    *out = r;
    return TESS_OK;
}

typedef struct curve_room {
    double *value, *sd, *low, *high, *power, *power_sd, *knot_value, *knot_sd;
} curve_room;

static tess_status take_room(tess_xpcs_rates *r, int64_t n_frame, int64_t n_knot, curve_room *room)
{
    double *block =
        tess_blocks_alloc(&r->memory, 6 * n_frame + 2 * n_knot, sizeof *block, "curves of rates");
    if (!block) {
        return TESS_E_MEMORY;
    }
    *room = (curve_room){block,
                         block + n_frame,
                         block + 2 * n_frame,
                         block + 3 * n_frame,
                         block + 4 * n_frame,
                         block + 5 * n_frame,
                         block + 6 * n_frame,
                         block + 6 * n_frame + n_knot};
    return TESS_OK;
}

// The spline and its standard deviation where row [n_basis] has the values of the splines.
static void spline_at(const tess_xp_rates_fit *fit, int64_t kind, const double *covariance,
                      const double *c, const double *slope, const double *row, double *value,
                      double *sd)
{
    const int64_t k = fit->n_basis;
    double by[TESS_XP_RATES_MOST_BASIS];
    double variance = 0;
    *value = 0;
    tess_xp_spline_row(&fit->splines[kind], slope, row, by);
    for (int64_t i = 0; i < k; i++) {
        *value += row[i] * c[i];
        for (int64_t j = 0; j < k; j++) {
            variance += by[i] * by[j] * covariance[(kind * k + i) * fit->n + kind * k + j];
        }
    }
    *sd = sqrt(fmax(variance, 0));
}

static void fill_curve(const tess_xp_rates_fit *fit, int64_t kind, const double *covariance,
                       double *slope, const curve_room *room)
{
    const tess_xp_spline *s = &fit->splines[kind];
    double c[TESS_XP_RATES_MOST_BASIS];
    double sd = 0;
    tess_xp_spline_coefficients(s, fit->at.x + kind * s->n, c, slope);
    for (int64_t f = 0; f < s->n_frame + s->n_knot; f++) {
        const bool is_knot = f >= s->n_frame;
        const double *row = is_knot ? s->knot + (f - s->n_frame) * s->n : s->value + f * s->n;
        double value = 0;
        spline_at(fit, kind, covariance, c, slope, row, &value, &sd);
        const double rate = s->is_log ? exp(value) : s->scale * value;
        const double rate_sd = s->is_log ? rate * sd : s->scale * sd;
        if (is_knot) {
            room->knot_value[f - s->n_frame] = rate;
            room->knot_sd[f - s->n_frame] = rate_sd;
            continue;
        }
        room->value[f] = rate;
        room->sd[f] = rate_sd;
        room->low[f] = s->is_log ? exp(value - BAND * sd) : rate - BAND * rate_sd;
        room->high[f] = s->is_log ? exp(value + BAND * sd) : rate + BAND * rate_sd;
    }
}

static void fill_power(const tess_xpcs_result_info *power, int which, const tess_xp_grids *grids,
                       const curve_room *room)
{
    for (int64_t f = 0; f < grids->n_frame; f++) {
        room->power[f] = tess_xp_rate_at(grids->log_t[f], power->theta + (int64_t)3 * which).value;
    }
    if (!tess_xp_rate_sd(power, which, grids->t, grids->n_frame, room->power_sd)) {
        for (int64_t f = 0; f < grids->n_frame; f++) {
            room->power_sd[f] = (double)INFINITY;
        }
    }
}

static tess_status tell_curve(const tess_xp_rates_fit *fit, int64_t kind, const double *covariance,
                              const tess_xp_grids *grids, tess_xpcs_rates *r)
{
    curve_room room;
    double *slope = fit->work;
    TESS_TRY(take_room(r, grids->n_frame, r->info.n_knot, &room));
    fill_curve(fit, kind, covariance, slope, &room);
    fill_power(tess_xpcs_result_get_info(r->power), (int)kind, grids, &room);
    const tess_xpcs_rate_curve curve = {.value = room.value,
                                        .sd = room.sd,
                                        .low = room.low,
                                        .high = room.high,
                                        .power = room.power,
                                        .power_sd = room.power_sd,
                                        .knot_value = room.knot_value,
                                        .knot_sd = room.knot_sd,
                                        .smoothness = exp(fit->log_lambda[kind]),
                                        .n_effective = tess_xp_rates_effective(fit, kind)};
    *(kind == 0 ? &r->info.transport : &r->info.shear) = curve;
    return TESS_OK;
}

static tess_status tell_axis(const tess_xp_rates_fit *fit, const tess_xp_grids *grids,
                             tess_xpcs_rates *r)
{
    const int64_t n_angle = fit->data->info.n_angle;
    const int64_t n_knot = r->info.n_knot;
    const int64_t n = grids->n_frame;
    double *knots = tess_blocks_alloc(&r->memory, n_knot, sizeof *knots, "knots");
    double *scaling = tess_blocks_alloc(&r->memory, 2 * n_angle, sizeof *scaling, "contrasts");
    r->info.t = tess_blocks_copy(&r->memory, grids->t, n, sizeof(double), "times");
    r->info.phi =
        tess_blocks_copy(&r->memory, fit->data->info.phi, n_angle, sizeof(double), "angles");
    if (!knots || !scaling || !r->info.t || !r->info.phi) {
        return TESS_E_MEMORY;
    }
    const double first = grids->t[0];
    const double last = grids->t[n - 1];
    for (int64_t k = 0; k < n_knot; k++) {
        const double part = (double)k / (double)(n_knot - 1);
        knots[k] = r->info.spacing == TESS_XPCS_RATES_LOG ? first * pow(last / first, part)
                                                          : first + part * (last - first);
    }
    tess_xp_rates_scaling(fit, &fit->at, scaling, scaling + n_angle);
    r->info.knots = knots;
    r->info.contrast = scaling;
    r->info.offset = scaling + n_angle;
    return TESS_OK;
}

// The mean of shear is above 0.
static void turn_over(const tess_xp_rates_fit *fit)
{
    double *z = fit->at.x + fit->n_basis;
    double sum = 0;
    for (int64_t k = 0; k < fit->n_basis; k++) {
        sum += z[k];
    }
    for (int64_t k = 0; k < fit->n_basis && sum < 0; k++) {
        z[k] = -z[k];
    }
}

tess_status tess_xp_rates_tell(const tess_xp_rates_fit *fit, tess_xpcs_rates *r)
{
    tess_xpcs_rates_info *info = &r->info;
    const int64_t n = fit->n;
    tess_xp_grids grids;
    double *covariance =
        tess_blocks_alloc(&r->memory, n * n, sizeof *covariance, "covariance of rates");
    if (!covariance) {
        return TESS_E_MEMORY;
    }
    if (fit->n_kind > 1 && fit->splines[1].shape == TESS_XPCS_RATES_SMOOTH) {
        turn_over(fit);
    }
    TESS_TRY(tess_xp_rates_covariance(fit, covariance));
    TESS_TRY(tess_xp_grids_create(fit->ctx, &fit->model, fit->data->info.n_frame, &grids));
    tess_status status = tell_axis(fit, &grids, r);
    for (int64_t kind = 0; kind < fit->n_kind && status == TESS_OK; kind++) {
        status = tell_curve(fit, kind, covariance, &grids, r);
    }
    tess_xp_grids_destroy(fit->ctx, &grids);
    const double variance = covariance[n * n - 1];
    info->phi0 = fit->n_kind < 2 ? (double)NAN : fit->has_phi0 ? fit->at.x[n - 1] : fit->held_phi0;
    info->phi0_sd = fit->has_phi0 ? sqrt(variance) : (double)NAN;
    info->noise = fit->at.s;
    info->is_converged = fit->is_converged;
    return status;
}

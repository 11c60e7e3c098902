// Passes over the data at any rates.
#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

enum { STRIPES = TESS_XP_RATES_STRIPES, CHUNK_BYTES = 16 << 20, NOISE_STEPS = 50 };

static const double LOG_2PI = 1.8378770664093454836;

uint64_t tess_xp_rates_bytes(int64_t n_angle, int64_t n_frame, int64_t n_kind, int64_t n_basis)
{
    const tess_xp_rates_parts parts = tess_xp_rates_layout(n_angle, n_frame, n_kind, n_basis);
    return (uint64_t)STRIPES * (uint64_t)parts.n_sum * sizeof(double);
}

static tess_status check_memory(const tess_xp_rates_fit *fit, uint64_t bytes)
{
    const uint64_t room = tess_budget_room(fit->ctx->memory_limit_bytes);
    if (bytes > room) {
        TESS_FAIL(TESS_E_LIMIT,
                  "rates of %lld frames, %lld angles and %lld coefficients need %.3g GB besides "
                  "the data, and the memory limit leaves %.3g GB; raise it, or take fewer frames, "
                  "angles or knots",
                  (long long)fit->data->info.n_frame, (long long)fit->data->info.n_angle,
                  (long long)fit->n_basis, (double)bytes * 1e-9, (double)room * 1e-9);
    }
    return TESS_OK;
}

static tess_status take_points(tess_xp_rates_fit *fit)
{
    const int64_t n = fit->n;
    const int64_t n_angle = fit->data->info.n_angle;
    tess_xp_rates_point *const points[2] = {&fit->at, &fit->trial};
    for (int k = 0; k < 2; k++) {
        double *room =
            tess_blocks_alloc(&fit->memory, n * (n + 2) + 6 * n_angle, sizeof *room, "rates");
        if (!room) {
            return TESS_E_MEMORY;
        }
        points[k]->x = room;
        points[k]->gradient = room + n;
        points[k]->six = room + 2 * n;
        points[k]->hessian = room + 2 * n + 6 * n_angle;
    }
    fit->work = tess_blocks_alloc(&fit->memory, 3 * n * n, sizeof *fit->work, "rates");
    return fit->work ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_xp_rates_open(tess_xp_rates_fit *fit)
{
    const tess_xpcs_data_info *info = &fit->data->info;
    tess_blocks *memory = &fit->memory;
    fit->parts = tess_xp_rates_layout(info->n_angle, info->n_frame, fit->n_kind, fit->n_basis);
    TESS_TRY(check_memory(
        fit, tess_xp_rates_bytes(info->n_angle, info->n_frame, fit->n_kind, fit->n_basis)));
    fit->sums =
        tess_blocks_alloc(memory, STRIPES * fit->parts.n_sum, sizeof *fit->sums, "sums for rates");
    fit->angles = tess_blocks_alloc(memory, info->n_angle, sizeof *fit->angles, "angles");
    fit->weights = tess_blocks_alloc(memory, info->n_angle, sizeof *fit->weights, "angles");
    if (!fit->sums || !fit->angles || !fit->weights) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < fit->n_kind; k++) {
        fit->integral[k] = tess_blocks_alloc(memory, info->n_frame, sizeof(double), "integrals");
        fit->basis[k] =
            tess_blocks_alloc(memory, info->n_frame * fit->n_basis, sizeof(double), "integrals");
        if (!fit->integral[k] || !fit->basis[k]) {
            return TESS_E_MEMORY;
        }
    }
    TESS_TRY(take_points(fit));
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&fit->data->tiles);
    const int64_t leaves = tess_xp_leaves_in(fit->data, CHUNK_BYTES);
    fit->leaves_per_chunk = leaves < n_leaf ? leaves : n_leaf;
    return tess_xp_reader_open(fit->ctx, fit->data, fit->leaves_per_chunk, false, &fit->reader);
}

void tess_xp_rates_close(tess_xp_rates_fit *fit)
{
    if (fit->reader.data) {
        tess_xp_reader_close(&fit->reader);
    }
    tess_blocks_free(&fit->memory);
}

static double phi0_of(const tess_xp_rates_fit *fit, const double *x)
{
    return fit->has_phi0 ? x[fit->n - 1] : fit->held_phi0;
}

static void set_point(tess_xp_rates_fit *fit, const double *x, bool has_slopes)
{
    const tess_xpcs_data_info *info = &fit->data->info;
    const double theta[TESS_XPCS_N_LAMINAR] = {[TESS_XPCS_N_LAMINAR - 1] = phi0_of(fit, x)};
    for (int64_t k = 0; k < fit->n_kind; k++) {
        tess_xp_spline_integrals(&fit->splines[k], x + k * fit->n_basis, fit->integral[k],
                                 has_slopes ? fit->basis[k] : NULL);
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        tess_xp_angle_fill(&fit->angles[a], &fit->model, theta, info->phi[a], info->q[a]);
        fit->angles[a].mean = info->mean[a];
    }
}

// Stripes into the first one, neighbours first.
static void gather(tess_xp_rates_fit *fit, int64_t n)
{
    for (int64_t apart = 1; apart < STRIPES; apart *= 2) {
        for (int64_t s = 0; s < STRIPES; s += 2 * apart) {
            double *left = fit->sums + s * fit->parts.n_sum;
            const double *right = left + apart * fit->parts.n_sum;
            for (int64_t i = 0; i < n; i++) {
                left[i] += right[i];
            }
        }
    }
}

static tess_status sweep(tess_xp_rates_fit *fit, bool has_slopes)
{
    const tess_xp_tiles *tiles = &fit->data->tiles;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(tiles);
    const int64_t n_sum = has_slopes ? fit->parts.n_sum : fit->parts.slope;
    for (int64_t s = 0; s < STRIPES; s++) {
        memset(fit->sums + s * fit->parts.n_sum, 0, (size_t)n_sum * sizeof(double));
    }
    tess_stage_xpcs_rates args = {.tiles = tiles,
                                  .diffusion = fit->integral[0],
                                  .shear = fit->n_kind > 1 ? fit->integral[1] : NULL,
                                  .angles = fit->angles,
                                  .weights = fit->weights,
                                  .basis = {fit->basis[0], fit->basis[1]},
                                  .sums = fit->sums,
                                  .n_sum = fit->parts.n_sum,
                                  .n_basis = fit->n_basis,
                                  .most_lag = fit->most_lag,
                                  .power = tess_xp_power((tess_xpcs_kernel)fit->model.kernel),
                                  .has_slopes = has_slopes};
    for (int64_t leaf = 0; leaf < n_leaf; leaf += args.n_leaf) {
        const int64_t left = n_leaf - leaf;
        args.first_leaf = leaf;
        args.n_leaf = left < fit->leaves_per_chunk ? left : fit->leaves_per_chunk;
        TESS_TRY(tess_xp_reader_get(&fit->reader, leaf, args.n_leaf, &args.records));
        TESS_TRY(tess_stage_run_on_host(fit->ctx, TESS_STAGE_XPCS_RATES, &args, sizeof args));
        const int64_t most = fit->n_expected - 1;
        TESS_TRY(tess_watch_poll(&fit->watch, fit->n_pass < most ? fit->n_pass : most, most + 1));
    }
    gather(fit, n_sum);
    fit->n_pass++;
    return TESS_OK;
}

// The noise that is likeliest with its prior, in ln s, and the integral over it: the density is
// nearly normal there, with a precision of twice the number of points.
static void find_noise(const tess_xp_rates_fit *fit, tess_xp_rates_point *p)
{
    tess_xp_density_value v;
    double n = 0;
    for (int64_t a = 0; a < fit->density->n_angle; a++) {
        n += p->six[6 * a];
    }
    for (int step = 0; step < NOISE_STEPS; step++) {
        tess_xp_density_at(fit->density, p->six, NULL, p->s, &v);
        const double d = (p->s * v.gradient[0] + 1) / (2 * n);
        p->s *= exp(fmin(fmax(d, -1), 1));
        if (fabs(d) < 1e-12) {
            break;
        }
    }
    tess_xp_density_at(fit->density, p->six, NULL, p->s, &v);
    p->log_data = v.log_likelihood + v.log_prior_noise + log(p->s) + 0.5 * (LOG_2PI - log(2 * n));
}

tess_status tess_xp_rates_value(tess_xp_rates_fit *fit, tess_xp_rates_point *p)
{
    set_point(fit, p->x, false);
    TESS_TRY(sweep(fit, false));
    memcpy(p->six, fit->sums + fit->parts.six,
           (size_t)(6 * fit->data->info.n_angle) * sizeof *p->six);
    find_noise(fit, p);
    p->log_prior = tess_xp_rates_log_prior(fit, fit->log_lambda, p->x);
    return TESS_OK;
}

tess_status tess_xp_rates_slopes(tess_xp_rates_fit *fit, tess_xp_rates_point *p)
{
    set_point(fit, p->x, true);
    tess_xp_rates_weigh(fit, p);
    TESS_TRY(sweep(fit, true));
    tess_xp_rates_assemble(fit, p);
    return TESS_OK;
}

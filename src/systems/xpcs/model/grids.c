#include "systems/xpcs/model/grids.h"

#include "base/checked.h"
#include "base/status.h"
#include "systems/xpcs/model/two.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <string.h>

static const double EPS_ABS = 1e-12;
static const double LEAST_TIME_S = 1e-8;
static const double DEGREE = 0x1.1df46a2529d39p-6;         // pi / 180
static const double INVERSE_TWO_PI = 0x1.45f306dc9c883p-3; // 1 / (2 pi)

// t and its logarithm in parts: 3, and what the model has.
size_t tess_xp_grids_bytes(int64_t n_frame, int64_t n_param)
{
    const int64_t n_array = 3 + tess_xp_grid_arrays(n_param);
    return (size_t)(n_frame * n_array) * sizeof(double);
}

int64_t tess_xp_n_param(tess_xpcs_mode mode)
{
    int64_t n_param = 0;
    (void)tess_xpcs_params(mode, &n_param);
    return n_param;
}

int32_t tess_xp_power(tess_xpcs_kernel kernel)
{
    return kernel == TESS_XPCS_KERNEL_PHYSICAL ? 2 : 4;
}

static double time_of(const tess_xpcs_model *model, int64_t frame)
{
    if (!model->keep_t0) {
        return (double)(frame + 1) * model->dt_s;
    }
    const double t = (double)frame * model->dt_s;
    const double least = fmax(0.5 * model->dt_s, LEAST_TIME_S);
    // Two components take powers of 0 as 0 instead.
    return t > least || model->mode == TESS_XPCS_TWO_COMPONENT ? t : least;
}

static void bind(tess_xp_grids *grids)
{
    const int64_t n_frame = grids->n_frame;
    grids->log_t = (tess_parts *)grids->block;
    grids->t = grids->block + 2 * n_frame;
    grids->sums = grids->t + n_frame;
    if (grids->n_param == TESS_XPCS_N_TWO) {
        grids->grid.two = grids->sums;
        grids->grid.two_stride = n_frame;
        return;
    }
    grids->grid.diffusion = grids->sums;
    for (int64_t k = 0; k < 3; k++) {
        grids->grid.diffusion_d[k] = grids->sums + (1 + k) * n_frame;
    }
    if (grids->n_param == TESS_XPCS_N_LAMINAR) {
        grids->grid.shear = grids->sums + 4 * n_frame;
        for (int64_t k = 0; k < 3; k++) {
            grids->grid.shear_d[k] = grids->sums + (5 + k) * n_frame;
        }
    }
}

static tess_status take_block(tess_context *ctx, tess_xp_grids *grids)
{
    grids->block = tess_heap_alloc(&ctx->heap, tess_xp_grids_bytes(grids->n_frame, grids->n_param),
                                   TESS_TAG_GENERAL, "grids of an xpcs model");
    if (!grids->block) {
        return TESS_E_MEMORY;
    }
    bind(grids);
    return TESS_OK;
}

tess_status tess_xp_grids_create(tess_context *ctx, const tess_xpcs_model *model, int64_t n_frame,
                                 tess_xp_grids *out)
{
    *out = (tess_xp_grids){0};
    TESS_TRY(tess_xp_constants_check(model));
    uint64_t bytes = 0;
    if (n_frame < 1 || !tess_mul_u64((uint64_t)n_frame, 32 * sizeof(double), &bytes)) {
        TESS_FAIL(TESS_E_SHAPE, "n_frame: %lld; at least one frame is needed", (long long)n_frame);
    }
    tess_xp_grids grids = {.n_frame = n_frame,
                           .n_param = tess_xp_n_param((tess_xpcs_mode)model->mode)};
    TESS_TRY(take_block(ctx, &grids));
    grids.grid.eps_abs = model->compat_eps ? EPS_ABS : 0;
    for (int64_t i = 0; i < n_frame; i++) {
        grids.t[i] = time_of(model, i);
        grids.log_t[i] = grids.t[i] > 0 ? tess_log_parts(grids.t[i]) : (tess_parts){0, 0};
    }
    *out = grids;
    return TESS_OK;
}

tess_status tess_xp_grids_create_like(tess_context *ctx, const tess_xp_grids *other,
                                      tess_xp_grids *out)
{
    *out = (tess_xp_grids){0};
    tess_xp_grids grids = *other;
    TESS_TRY(take_block(ctx, &grids));
    memcpy(grids.block, other->block, 3 * (size_t)grids.n_frame * sizeof *grids.block);
    *out = grids;
    return TESS_OK;
}

void tess_xp_grids_destroy(tess_context *ctx, tess_xp_grids *grids)
{
    if (grids->block) {
        tess_heap_free(&ctx->heap, grids->block,
                       tess_xp_grids_bytes(grids->n_frame, grids->n_param), TESS_TAG_GENERAL);
    }
    *grids = (tess_xp_grids){0};
}

tess_xp_rate tess_xp_rate_at(tess_parts log_t, const double *amplitude_exponent_offset)
{
    return tess_xp_rate_of(log_t, amplitude_exponent_offset);
}

// sums [4][n_frame]: trapezoids of the rate and of its derivatives by amplitude, exponent and
// offset, in units of steps.
static void sum_rate(const tess_parts *log_t, const double *theta, int64_t n_frame, double *sums)
{
    double before[4] = {0};
    double sum[4] = {0};
    double next[4];
    tess_xp_rate_terms(log_t[0], theta, next);
    for (int64_t i = 0; i < n_frame; i++) {
        const double now[4] = {next[0], next[1], next[2], next[3]};
        // Ahead of the sums that wait for each other.
        if (i + 1 < n_frame) {
            tess_xp_rate_terms(log_t[i + 1], theta, next);
        }
        for (int64_t k = 0; k < 4; k++) {
            if (i > 0) {
                sum[k] += 0.5 * (before[k] + now[k]);
            }
            before[k] = now[k];
            sums[k * n_frame + i] = sum[k];
        }
    }
}

void tess_xp_grids_fill(tess_xp_grids *grids, const tess_xpcs_model *model, const double *theta)
{
    if (model->mode == TESS_XPCS_TWO_COMPONENT) {
        tess_xp_two_fill(grids, model->dt_s, theta);
        return;
    }
    sum_rate(grids->log_t, theta, grids->n_frame, grids->sums);
    if (model->mode == TESS_XPCS_LAMINAR_FLOW) {
        sum_rate(grids->log_t, theta + 3, grids->n_frame, grids->sums + 4 * grids->n_frame);
    }
}

void tess_xp_angle_fill(tess_xp_angle *angle, const tess_xpcs_model *model, const double *theta,
                        double phi, double q)
{
    if (model->mode == TESS_XPCS_TWO_COMPONENT) {
        tess_xp_two_angle(angle, theta, phi, q);
        return;
    }
    angle->w2 = q * q * model->dt_s;
    angle->amplitude = 0;
    angle->tau = 0;
    if (model->mode != TESS_XPCS_LAMINAR_FLOW) {
        return;
    }
    double sine = 0;
    double cosine = 0;
    tess_sin_cos_degrees(theta[6] - phi, &sine, &cosine);
    // Perpendicular to the flow dM/dphi0 is 0, too: z = 0 is a maximum of the sinc.
    if (cosine != 0) {
        const double kappa = model->kernel == TESS_XPCS_KERNEL_UPSTREAM ? INVERSE_TWO_PI : 0.5;
        angle->amplitude = kappa * q * model->gap_angstrom * model->dt_s * cosine;
        angle->tau = -sine / cosine * DEGREE;
    }
}

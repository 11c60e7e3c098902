// The O(n) part of the model: rates, their integrals and derivatives, and constants per angle.
#ifndef TESS_XPCS_MODEL_GRIDS_H
#define TESS_XPCS_MODEL_GRIDS_H

#include "numerics/elementary.h"
#include "runtime/context.h"
#include "stage/xpcs.h"
#include "stage/xpcs_rate.h"
#include "tessera/xpcs/data.h"
#include "tessera/xpcs/model.h"

// A grid with its memory.
typedef struct tess_xp_grids {
    double *block; // everything below
    int64_t n_frame;
    int64_t n_param;
    double *t;
    tess_parts *log_t;
    double *sums; // what grid points to, tess_xp_grid_arrays() of them
    tess_xp_grid grid;
} tess_xp_grids;

// A rate at a time whose logarithm is given.
tess_xp_rate tess_xp_rate_at(tess_parts log_t, const double *amplitude_exponent_offset);

// Checks the model's constants (dt, gap, mode, kernel) and takes memory for n_frame frames.
TESS_MUST_CHECK tess_status tess_xp_grids_create(tess_context *ctx, const tess_xpcs_model *model,
                                                 int64_t n_frame, tess_xp_grids *out);
// The same model, frames and times as another's.
TESS_MUST_CHECK tess_status tess_xp_grids_create_like(tess_context *ctx, const tess_xp_grids *other,
                                                      tess_xp_grids *out);
size_t tess_xp_grids_bytes(int64_t n_frame, int64_t n_param);
void tess_xp_grids_destroy(tess_context *ctx, tess_xp_grids *grids);
// Fills the grid at theta. The same bits on every instruction set.
void tess_xp_grids_fill(tess_xp_grids *grids, const tess_xpcs_model *model, const double *theta);

// w2, amplitude and tau of an angle; the other fields are left alone.
void tess_xp_angle_fill(tess_xp_angle *angle, const tess_xpcs_model *model, const double *theta,
                        double phi, double q);
int64_t tess_xp_n_param(tess_xpcs_mode mode);
int32_t tess_xp_power(tess_xpcs_kernel kernel);

#endif

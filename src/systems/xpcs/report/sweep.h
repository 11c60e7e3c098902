// One look at every point, in bounded memory: what pictures and charts need.
//
// Sums are taken in the order of the tiles, so that the pictures are the same for any residency; on
// a GPU they differ by rounding.
#ifndef TESS_XPCS_REPORT_SWEEP_H
#define TESS_XPCS_REPORT_SWEEP_H

#include "base/blocks.h"
#include "stage/xpcs_sweep.h"
#include "systems/xpcs/result/fitted.h"
#include "systems/xpcs/store/store.h"

enum { TESS_XP_SWEEP_AGES = 120 }; // points of a cut along the age, at most

// Of all points of some sweeps, in sigma.
typedef struct tess_xp_residuals {
    int64_t bars[TESS_XP_SWEEP_BARS];
    int64_t n_beyond; // of the histogram's range
    int64_t n_point;
    double squares;
} tess_xp_residuals;

typedef struct tess_xp_sweep_setup {
    tess_context *ctx;
    tess_xpcs_data *data;
    const tess_xpcs_result_info *info; // NULL: measured maps alone
    const tess_xpcs_model *model;
    int64_t first_angle;
    int64_t n_angle;
    int64_t side;                 // pixels of a map, at most
    const char *stage;            // for the progress
    tess_xp_residuals *residuals; // those of the sweep are added; NULL: nobody wants them
} tess_xp_sweep_setup;

typedef struct tess_xp_sweep {
    tess_blocks memory;
    tess_xp_sweep_setup setup;
    int64_t n_frame;
    int64_t side;        // pixels of a map
    tess_xp_cell *cells; // [n_angle][side (side + 1) / 2]: pixels (i, j >= i), row by row
    tess_xp_sum *lags;   // [n_angle][n_frame] by j - i
    int64_t age_lags[TESS_XP_SWEEP_LAGS];
    int64_t n_age;
    tess_xp_sum *ages; // [n_angle][LAGS][n_age]
    int64_t *bars;     // [n_angle][TESS_XP_SWEEP_BARS + 1], those beyond last
} tess_xp_sweep;

TESS_MUST_CHECK tess_status tess_xp_sweep_run(const tess_xp_sweep_setup *setup, tess_xp_sweep *out);
void tess_xp_sweep_free(tess_xp_sweep *sweep);
// Angles that one sweep with maps of this side can take within the room pictures are given, which
// is part of the memory limit.
int64_t tess_xp_sweep_angles(const tess_context *ctx, int64_t side);

typedef enum tess_xp_map { TESS_XP_MEASURED, TESS_XP_FITTED, TESS_XP_RESIDUAL } tess_xp_map;

// values [side][side], row t2 from the earliest on, t1 to the right; angle counts from the first
// of the sweep. On the diagonal, where nothing is measured, the mean of the neighbours.
void tess_xp_sweep_map(const tess_xp_sweep *sweep, int64_t angle, tess_xp_map which,
                       double *values);

#endif

// The stage of a look at every point of two-time correlations: what pictures and charts need.
#ifndef TESS_STAGE_XPCS_SWEEP_H
#define TESS_STAGE_XPCS_SWEEP_H

#include "stage/xpcs.h"

enum { TESS_STAGE_XPCS_SWEEP = 0x0206 };

enum {
    TESS_XP_SWEEP_LAGS = 4,  // of cuts along the age
    TESS_XP_SWEEP_BARS = 96, // of the histogram; points beyond its range are one number more
};

// Residuals beyond so many sigma are counted, not drawn.
#define TESS_XP_SWEEP_RANGE 6.0

typedef struct tess_xp_sum {
    double measured;
    double fitted;
    double residual; // in sigma
    double squares;  // of residuals
    int64_t n;
} tess_xp_sum;

// A pixel of the maps.
typedef struct tess_xp_cell {
    double measured;
    double fitted;   // of all pairs of frames
    double residual; // in sigma
    int32_t n;       // measured points
    int32_t n_pair;
} tess_xp_cell;

// Adds the points of leaves to the sums of some angles. A point (i, j) that is finite counts in
// pixel (i side / n_frame, j side / n_frame), at lag j - i, and at one of age_lags in bin
// (2 i + lag) n_age / (2 n_frame); the fitted value offset + contrast M of any pair in its pixel.
// Residuals (y - fitted) / sigma: sigma is that of the record's sd plane, of the lag, or the
// angle's, 1 / sqrt(inverse_variance). Lags and ages are summed point by point in the order of
// rows, pixels by tiles: the same bits however leaves are cut into calls.
typedef struct tess_stage_xpcs_sweep {
    const tess_xp_tiles *tiles;
    const tess_xp_grid *grid;     // NULL: measured values alone, and no residuals
    const tess_xp_angle *angles;  // [n_angle of the tiles]
    const double *lag_sigma;      // [n_angle of the tiles][n_frame]; NULL: none
    const unsigned char *records; // of tile first_leaf * LEAF on
    tess_xp_cell *cells;          // [n_angle][side (side + 1) / 2]: (i, j >= i), row by row
    tess_xp_sum *lags;            // [n_angle][n_frame]
    tess_xp_sum *ages;            // [n_angle][LAGS][n_age]; no squares and residuals
    int64_t *bars;                // [n_angle][BARS + 1] of residuals, those beyond last
    int64_t age_lags[TESS_XP_SWEEP_LAGS];
    int64_t first_leaf;
    int64_t n_leaf;
    int64_t first_angle; // of the tiles' that is the first here
    int64_t n_angle;
    int64_t side;
    int64_t n_age;
    uint64_t records_at; // offset of the first record
    int32_t use_sigma;   // records have a sd plane that counts
    int32_t n_param;
    int32_t power;
    int32_t reserved;
} tess_stage_xpcs_sweep;

static inline int64_t tess_xp_map_cells(int64_t side)
{
    return side * (side + 1) / 2;
}

#endif

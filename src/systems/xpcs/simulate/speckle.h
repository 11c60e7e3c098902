// Speckle: intensities of pixels whose fields follow the model.
//
// A pixel sees some modes. Each has a complex normal field with the correlations
//
//   g(i, j) = exp(-w2 (C_D[j] - C_D[i]) / 2) (sin z / z)^(power / 2),   |g|^2 = M,
//
// and intensity is the weighted sum of the squares, with a mean of 1: the correlation of
// intensities is 1 + contrast M, the contrast being the sum of the squares of the modes' weights.
#ifndef TESS_XPCS_SIMULATE_SPECKLE_H
#define TESS_XPCS_SIMULATE_SPECKLE_H

#include "base/rng.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/store/store.h"

enum {
    TESS_XP_SPECKLE_RUN = 32,     // pixels made at a time
    TESS_XP_SPECKLE_FRAMES = 4000 // more take too long to factor
};

typedef struct tess_xp_speckle {
    const double *factor; // [n_frame][n_frame] lower, of the correlations of a field
    int64_t n_frame;
    int64_t n_mode;
    double first_weight; // of one mode
    double weight;       // of each of the others
} tess_xp_speckle;

// field [n_frame][n_frame]: correlations of a field.
void tess_xp_speckle_fields(const tess_xp_grid *grid, const tess_xp_angle *angle, int32_t power,
                            int64_t n_frame, double *field);

// factor [n_frame][n_frame], whose lower half is the root of them. TESS_E_NUMERIC where the model's
// matrix is none of correlations.
TESS_MUST_CHECK tess_status tess_xp_speckle_factor(const tess_xp_grid *grid,
                                                   const tess_xp_angle *angle, int32_t power,
                                                   int64_t n_frame, double *factor);

// Modes with this contrast between TESS_XP_SPECKLE_LEAST and 1.
#define TESS_XP_SPECKLE_LEAST 0.005
void tess_xp_speckle_modes(tess_xp_speckle *speckle, double contrast);

// Intensities [n_frame][RUN] of pixels first .. first + n - 1 (n <= RUN) of n_pixel; work of
// 2 n_frame RUN numbers. A pixel's numbers depend on the stream, its number and n_pixel alone.
void tess_xp_speckle_fill(const tess_xp_speckle *speckle, const tess_philox_stream *stream,
                          int64_t n_pixel, int64_t first, int64_t n, double *work,
                          double *intensity);

// Correlations of photon counts as an experiment takes them: into records of data that were taken,
// angles [n_angle] of which hold contrast and offset. settings have speckle on.
TESS_MUST_CHECK tess_status tess_xp_speckle_put(tess_context *ctx,
                                                const tess_xpcs_simulation *settings,
                                                const double *theta, const tess_xp_angle *angles,
                                                const uint8_t *is_bad, tess_xpcs_data *data);

#endif

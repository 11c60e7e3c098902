#include "systems/xpcs/simulate/speckle.h"

#include "base/status.h"
#include "numerics/cholesky.h"

#include <math.h>
#include <string.h>

// Frames that the sample hardly moves between have nearly equal fields; this keeps their matrix
// positive for rounding, far below what photons could show.
static const double jitter = 1e-9;

static double field_at(const tess_xp_grid *grid, const tess_xp_angle *angle, int32_t power,
                       int64_t i, int64_t j)
{
    const double decay = exp(-0.5 * angle->w2 * (grid->diffusion[j] - grid->diffusion[i]));
    const double z = grid->shear ? angle->amplitude * (grid->shear[j] - grid->shear[i]) : 0;
    const double s = fabs(z) < 1e-4 ? 1 - z * z / 6 : sin(z) / z;
    return decay * (power == 4 ? s * s : s);
}

void tess_xp_speckle_fields(const tess_xp_grid *grid, const tess_xp_angle *angle, int32_t power,
                            int64_t n_frame, double *field)
{
    for (int64_t j = 0; j < n_frame; j++) {
        for (int64_t i = 0; i < j; i++) {
            const double g = field_at(grid, angle, power, i, j);
            field[j * n_frame + i] = g;
            field[i * n_frame + j] = g;
        }
        field[j * n_frame + j] = 1;
    }
}

tess_status tess_xp_speckle_factor(const tess_xp_grid *grid, const tess_xp_angle *angle,
                                   int32_t power, int64_t n_frame, double *factor)
{
    tess_xp_speckle_fields(grid, angle, power, n_frame, factor);
    for (int64_t j = 0; j < n_frame; j++) {
        factor[j * (n_frame + 1)] += jitter;
    }
    if (!tess_cholesky(factor, n_frame)) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "speckle: the model's correlations of %lld frames are not those of any field; "
                  "take fewer frames or other parameters",
                  (long long)n_frame);
    }
    return TESS_OK;
}

// All but one mode weigh alike: n modes reach every contrast from 1 / n to 1 / (n - 1).
void tess_xp_speckle_modes(tess_xp_speckle *speckle, double contrast)
{
    const double n = fmax(ceil(1 / contrast - 1e-9), 1);
    const double excess = n > 1 ? sqrt(fmax(contrast - 1 / n, 0) * (n - 1) / n) : 0;
    speckle->n_mode = (int64_t)n;
    speckle->first_weight = 1 / n + excess;
    speckle->weight = n > 1 ? 1 / n - excess / (n - 1) : 0;
}

// rows [n][2 RUN] := factor rows; from the last on, so that each finds those above as they were.
static void correlate(const double *factor, int64_t n, double *rows)
{
    enum { WIDTH = 2 * TESS_XP_SPECKLE_RUN };
    for (int64_t i = n - 1; i >= 0; i--) {
        const double *l = factor + i * n;
        double sum[WIDTH];
        for (int64_t k = 0; k < WIDTH; k++) {
            sum[k] = l[i] * rows[i * WIDTH + k];
        }
        for (int64_t m = 0; m < i; m++) {
            const double *row = rows + m * WIDTH;
            for (int64_t k = 0; k < WIDTH; k++) {
                sum[k] += l[m] * row[k];
            }
        }
        memcpy(rows + i * WIDTH, sum, sizeof sum);
    }
}

void tess_xp_speckle_fill(const tess_xp_speckle *speckle, const tess_philox_stream *stream,
                          int64_t n_pixel, int64_t first, int64_t n, double *work,
                          double *intensity)
{
    const int64_t n_frame = speckle->n_frame;
    const int64_t run = TESS_XP_SPECKLE_RUN;
    memset(intensity, 0, (size_t)(n_frame * run) * sizeof *intensity);
    memset(work, 0, (size_t)(2 * n_frame * run) * sizeof *work);
    for (int64_t mode = 0; mode < speckle->n_mode; mode++) {
        // A field has a mean square of 2: a real and an imaginary part.
        const double half = 0.5 * (mode == 0 ? speckle->first_weight : speckle->weight);
        for (int64_t i = 0; i < n_frame; i++) {
            const int64_t at = (mode * n_frame + i) * n_pixel + first;
            tess_philox_normals(stream, 2 * (uint64_t)at, 2 * (size_t)n, work + 2 * i * run);
        }
        correlate(speckle->factor, n_frame, work);
        for (int64_t k = 0; k < n_frame * run; k++) {
            intensity[k] += half * (work[2 * k] * work[2 * k] + work[2 * k + 1] * work[2 * k + 1]);
        }
    }
}

// Maps of a sweep as pictures: colours, scales and names of files.
#ifndef TESS_XPCS_REPORT_MAPS_H
#define TESS_XPCS_REPORT_MAPS_H

#include "systems/xpcs/report/sweep.h"

// The three maps of an angle with their scales.
typedef struct tess_xp_maps {
    tess_heap *heap;
    int64_t side;
    double *values; // [3][side][side]: measured, fitted, residual
    double low;     // of measured and fitted: percentiles 1 and 99 of both
    double high;
    double limit; // of residuals, in sigma: 99 of 100 are smaller
} tess_xp_maps;

// Room for the maps of any angle of the sweep.
TESS_MUST_CHECK tess_status tess_xp_maps_create(const tess_xp_sweep *sweep, tess_xp_maps *out);
void tess_xp_maps_destroy(tess_xp_maps *maps);
void tess_xp_maps_fill(tess_xp_maps *maps, const tess_xp_sweep *sweep, int64_t angle);

// Which of 255 colours a value has; the last of 256, grey, for NaN.
uint8_t tess_xp_maps_colour(const tess_xp_maps *maps, tess_xp_map which, double value);
// The colours of a map.
void tess_xp_maps_palette(tess_xp_map which, uint8_t palette[256 * 3]);

// Time of a frame, s.
double tess_xp_frame_time(const tess_xpcs_data *data, int64_t frame);

enum { TESS_XP_FIGURE_NAME = 96 };
// "c2_heatmaps_phi_4.9deg.png"; angles that read the same have their q, and their number, added.
void tess_xp_figure_name(const tess_xpcs_data_info *info, int64_t angle,
                         char name[TESS_XP_FIGURE_NAME]);

// tess_xpcs_figures() of an info, which may be NULL. overwrite 2: those of this very fit stay.
TESS_MUST_CHECK tess_status tess_xp_figures_of(tess_context *ctx, const tess_xpcs_result_info *info,
                                               tess_xpcs_data *data, const tess_xpcs_model *model,
                                               const char *folder, int overwrite);

#endif

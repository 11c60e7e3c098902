// Measured and fitted matrices of all angles, spooled to files beside the result.
//
// They are made row by row in files that the archive is written from, so that memory stays bounded
// and the archive appears whole.
#ifndef TESS_XPCS_RESULT_SURFACES_H
#define TESS_XPCS_RESULT_SURFACES_H

#include "runtime/spool.h"
#include "systems/xpcs/result/fitted.h"
#include "tessera/sys/format.h"

typedef enum tess_xp_surface {
    TESS_XP_C2_EXP = 0,
    TESS_XP_C2_RAW = 1,    // contrast and offset 1
    TESS_XP_C2_SCALED = 2, // the raw one times and plus what is best for each angle by itself
    TESS_XP_C2_SOLVER = 3, // with contrast and offset of the result
    TESS_XP_C2_RESIDUAL = 4,
    TESS_XP_C2_NORMALIZED = 5, // residual / sigma of the point
    TESS_XP_N_SURFACE = 6
} tess_xp_surface;

typedef struct tess_xp_surfaces {
    tess_context *ctx;
    int64_t n_angle;
    int64_t n_frame;
    tess_dtype dtype;
    tess_spool spools[TESS_XP_N_SURFACE];
    double *scaling; // [n_angle][2]: scaled = scaling[0] raw + scaling[1]
} tess_xp_surfaces;

// Bytes on disk of the spools; the archive takes as many again.
uint64_t tess_xp_surfaces_bytes(const tess_xpcs_data_info *info);
// Where temporaries may lie: beside path.
TESS_MUST_CHECK tess_status tess_xp_surfaces_make(tess_context *ctx,
                                                  const tess_xpcs_result_info *info,
                                                  tess_xpcs_data *data,
                                                  const tess_xpcs_model *model, const char *path,
                                                  tess_xp_surfaces *out);
// Safe on a zeroed struct. The files vanish.
void tess_xp_surfaces_free(tess_xp_surfaces *surfaces);
// An array [n_angle][n_frame][n_frame] for a bundle.
void tess_xp_surfaces_input(const tess_xp_surfaces *surfaces, tess_xp_surface which,
                            const char *name, tess_format_writer_input *input);

#endif

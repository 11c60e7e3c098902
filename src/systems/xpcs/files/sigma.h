// Standard deviations that a file keeps beside its matrices.
#ifndef TESS_XPCS_FILES_SIGMA_H
#define TESS_XPCS_FILES_SIGMA_H

#include "systems/xpcs/files/matrices.h"

typedef struct tess_xp_sigma {
    struct tess_xpcs_file *file;
    tess_source *source; // NULL: there are none
    const char *dataset; // the caller's
    int64_t n_frame;
    double *items; // [n_frame][n_frame] of the bin that was read last
    uint64_t bytes;
    bool is_shared; // one matrix for all
    bool is_read;
} tess_xp_sigma;

// dataset (M,N,N), a matrix for each of the file's in order, or (N,N) for all.
TESS_MUST_CHECK tess_status tess_xp_sigma_open(struct tess_xpcs_file *file, const char *dataset,
                                               tess_xp_sigma *out);
TESS_MUST_CHECK tess_status tess_xp_sigma_read(tess_xp_sigma *sigma, int64_t bin);
// Accepts a zeroed one.
void tess_xp_sigma_close(tess_xp_sigma *sigma);

#endif

// Matrices of a selection by q, angle and quality: data_filtering of configurations.
#ifndef TESS_XPCS_FILES_FILTER_H
#define TESS_XPCS_FILES_FILTER_H

#include "systems/xpcs/files/matrices.h"
#include "systems/xpcs/files/select.h"

// Keeps what passes the filter; notes say how many. matrix has room for one matrix of the file,
// which quality reads. Nothing left, or fewer than min_angles, is an error.
TESS_MUST_CHECK tess_status tess_xp_filter(struct tess_xpcs_file *file,
                                           const tess_xpcs_data_filter *filter, int64_t min_angles,
                                           void *matrix, tess_xp_selection *selection,
                                           tess_text *notes);

// 0 to 1; see tess_xpcs_data_filter. Upper triangle, row by row, n apart.
double tess_xp_quality(const void *matrix, tess_dtype dtype, int64_t n);

#endif

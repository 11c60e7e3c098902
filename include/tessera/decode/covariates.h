/** decode: covariates that transitions between states depend on, out of a file. */
#ifndef TESSERA_DECODE_COVARIATES_H
#define TESSERA_DECODE_COVARIATES_H

#include "tessera/context.h"

TESS_BEGIN_DECLS

/** An intercept and one column for every data set named, a row for every time bin. */
typedef struct tess_decode_covariates tess_decode_covariates;

/** names: of data sets of the file, .npz or HDF5, separated by commas; each holds one finite number
 *  for every time bin, n_time of them. TESS_E_FORMAT says which the file has instead. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_covariates_open(tess_context *ctx,
                                                                 const char *path,
                                                                 const char *names, int64_t n_time,
                                                                 tess_decode_covariates **out);
/** [n_time][*n_coefficient], as predictions and EM take it; n_coefficient may be NULL. */
TESS_API const double *tess_decode_covariates_design(const tess_decode_covariates *covariates,
                                                     int64_t *n_coefficient);
TESS_API void tess_decode_covariates_close(tess_decode_covariates *covariates);

TESS_END_DECLS

#endif

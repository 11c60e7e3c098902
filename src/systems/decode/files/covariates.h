// Names of covariates: words separated by commas.
#ifndef TESS_SYSTEMS_DECODE_COVARIATES_H
#define TESS_SYSTEMS_DECODE_COVARIATES_H

#include "base/status.h"
#include "tessera/decode/covariates.h"

// Refuses empty names, those that are too long or too many, and the same one twice.
TESS_MUST_CHECK tess_status tess_de_covariates_check(const char *names, int64_t *n);
// Name k of those checked; its length.
const char *tess_de_covariates_name(const char *names, int64_t k, size_t *length);

#endif

// The page of rates.
#ifndef TESS_XPCS_RATES_PAGE_H
#define TESS_XPCS_RATES_PAGE_H

#include "runtime/context.h"
#include "tessera/xpcs/rates.h"

TESS_MUST_CHECK tess_status tess_xp_rates_page(tess_context *ctx, const tess_xpcs_rates_info *info,
                                               const char *path, int overwrite);

// Words of a shape and of a spacing.
const char *tess_xp_rates_shape_name(int32_t shape);
const char *tess_xp_rates_spacing_name(int32_t spacing);

#endif

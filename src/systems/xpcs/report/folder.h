// A folder of results.
#ifndef TESS_XPCS_REPORT_FOLDER_H
#define TESS_XPCS_REPORT_FOLDER_H

#include "runtime/context.h"
#include "tessera/xpcs/result.h"

// tess_xpcs_result_write() of an info.
TESS_MUST_CHECK tess_status tess_xp_result_write_of(
    tess_context *ctx, const tess_xpcs_result_info *info, tess_xpcs_data *data,
    const tess_xpcs_model *model, const char *folder, const tess_xpcs_write_config *config);

#endif

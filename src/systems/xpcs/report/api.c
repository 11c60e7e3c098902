// The public calls: of results, and of their pages and pictures.
#include "base/status.h"
#include "systems/xpcs/report/folder.h"
#include "systems/xpcs/report/maps.h"
#include "systems/xpcs/report/page.h"
#include "systems/xpcs/result/record.h"

static tess_status info_of(const tess_xpcs_result *result, const tess_xpcs_result_info **info)
{
    tess_error_clear();
    if (!result) {
        TESS_FAIL(TESS_E_ARGUMENT, "result is NULL; give one of tess_xpcs_fit()");
    }
    *info = tess_xpcs_result_get_info(result);
    return TESS_OK;
}

tess_status tess_xpcs_result_write(tess_context *ctx, const tess_xpcs_result *result,
                                   tess_xpcs_data *data, const tess_xpcs_model *model,
                                   const char *folder, const tess_xpcs_write_config *config)
{
    const tess_xpcs_result_info *info = NULL;
    TESS_TRY(info_of(result, &info));
    return tess_xp_result_write_of(ctx, info, data, model, folder, config);
}

tess_status tess_xpcs_result_json(tess_context *ctx, const tess_xpcs_result *result, char **text)
{
    const tess_xpcs_result_info *info = NULL;
    TESS_TRY(info_of(result, &info));
    return tess_xp_result_json_of(ctx, info, text);
}

tess_status tess_xpcs_report(tess_context *ctx, const tess_xpcs_result *result,
                             tess_xpcs_data *data, const tess_xpcs_model *model, const char *path,
                             int overwrite)
{
    const tess_xpcs_result_info *info = NULL;
    TESS_TRY(info_of(result, &info));
    return tess_xp_report_of(ctx, info, data, model, path, overwrite);
}

tess_status tess_xpcs_figures(tess_context *ctx, const tess_xpcs_result *result,
                              tess_xpcs_data *data, const tess_xpcs_model *model,
                              const char *folder, int overwrite)
{
    tess_error_clear();
    return tess_xp_figures_of(ctx, result ? tess_xpcs_result_get_info(result) : NULL, data, model,
                              folder, overwrite);
}

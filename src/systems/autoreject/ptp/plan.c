// How a ptp computation over a source is cut into tiles.
#include "base/status.h"
#include "runtime/source.h"
#include "systems/autoreject/ptp/ptp.h"

#include <string.h>

static tess_status plan_request(const tess_source *source, const tess_autoreject_ptp_config *config,
                                tess_plan_request *request)
{
    tess_array x;
    tess_source_array(source, &x);
    const char *path = tess_source_get_info(source)->path;
    TESS_TRY(tess_ar_check_epochs(&x, path[0] ? path : "x"));
    memset(request, 0, sizeof *request);
    request->ops = &tess_ar_ptp_ops;
    request->source = source;
    request->items_per_tile = config->tile_epochs;
    return tess_array_init(&request->out, NULL, (tess_dtype)x.dtype, 2, x.shape);
}

tess_status tess_autoreject_ptp_plan_create(tess_context *ctx, const tess_source *source,
                                            const tess_autoreject_ptp_config *given,
                                            tess_plan **out)
{
    tess_error_clear();
    *out = NULL;
    tess_autoreject_ptp_config config;
    tess_plan_request request;
    TESS_TRY(tess_ar_check_ptp_config(given, &config));
    TESS_TRY(plan_request(source, &config, &request));
    TESS_TRY(tess_plan_create(ctx, &request, out));

    const ptp_settings settings = {.nonfinite = config.nonfinite};
    _Static_assert(sizeof settings <= TESS_PLAN_SYSTEM_BYTES, "settings fit the plan");
    memcpy((*out)->system.bytes, &settings, sizeof settings);
    tess_plan_set_settings(*out, tess_autoreject_ptp_params(), &config, "|tile_epochs|");
    return TESS_OK;
}

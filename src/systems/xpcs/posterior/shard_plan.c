// How many shards, and how many draws suit their size.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/xpcs.h"
#include "tessera/xpcs/posterior.h"

#include <math.h>

static int64_t points_of_shard(const tess_xpcs_data_info *info, bool is_laminar)
{
    const double factor = info->n_angle <= 3    ? 0.6
                          : info->n_angle <= 5  ? 0.7
                          : info->n_angle <= 10 ? 0.85
                                                : 1;
    // Of the original's 5 to 10 thousand (static 10 to 20) the larger for many points.
    const double base = (is_laminar ? 5000 : 10000) * (info->n_used >= 10000000 ? 2 : 1);
    return (int64_t)fmax(base * factor, is_laminar ? 3000 : 5000);
}

tess_status tess_xpcs_shard_plan_make(tess_context *ctx, const tess_xpcs_data *data,
                                      const tess_xpcs_model *model,
                                      const tess_xpcs_sample_config *config, int64_t n_shard,
                                      tess_xpcs_shard_plan *plan, size_t struct_size)
{
    tess_error_clear();
    if (!ctx || !data || !plan || n_shard < 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "context, data, plan or n_shard: NULL or negative");
    }
    tess_xpcs_sample_config own;
    tess_xpcs_sample_config_init(&own, sizeof own);
    if (config) {
        TESS_TRY(tess_struct_read(config, &own, sizeof own, "config"));
    }
    const tess_xpcs_data_info *info = &data->info;
    const bool is_laminar = model && model->mode == TESS_XPCS_LAMINAR_FLOW;
    const int64_t most = info->n_used < 10000000     ? 2000
                         : info->n_used < 100000000  ? 10000
                         : info->n_used < 1000000000 ? 50000
                                                     : 100000;
    const int64_t wanted = info->n_used / points_of_shard(info, is_laminar);
    tess_xpcs_shard_plan made = {.struct_size = sizeof made};
    made.n_shard = n_shard > 0 ? n_shard : wanted < 1 ? 1 : wanted < most ? wanted : most;
    made.points_per_shard = info->n_used / made.n_shard;
    const double scale = fmin(1, (double)made.points_per_shard / 10000);
    const double n_param = (double)(is_laminar ? TESS_XPCS_N_LAMINAR : TESS_XPCS_N_STATIC) + 1;
    made.n_warmup = (int64_t)fmax(scale * (double)own.n_warmup, fmax(100, 20 * n_param));
    made.n_draw = (int64_t)fmax(scale * (double)own.n_draw, fmax(200, 50 * n_param));
    tess_struct_init(plan, struct_size, &made, sizeof made);
    return TESS_OK;
}

// A pass: the part of this process by its devices, and the parts of all ranks together.
#include "systems/xpcs/pass/pass.h"

#include "base/clock.h"
#include "base/status.h"

tess_status tess_xp_pass_open(tess_context *ctx, const tess_xp_pass_setup *setup,
                              tess_xp_pass *pass)
{
    tess_comm_range own;
    const bool has_more = tess_xp_devices_own(ctx, setup, &own);
    TESS_TRY(tess_xp_single_open(ctx, setup, has_more ? &own : NULL, false, pass));
    const tess_status status = has_more ? tess_xp_devices_open(pass, setup) : TESS_OK;
    if (status != TESS_OK) {
        tess_xp_pass_close(pass);
    }
    return status;
}

uint64_t tess_xp_pass_bytes(const tess_xpcs_data *data, int64_t n_param, int64_t leaves_per_chunk,
                            bool is_streamed, int64_t max_set)
{
    const uint64_t n_part = (uint64_t)tess_xp_devices_count(data->ctx, data) - 1;
    return tess_xp_single_bytes(data, n_param, leaves_per_chunk, is_streamed, max_set, false) +
           n_part *
               tess_xp_single_bytes(data, n_param, leaves_per_chunk, is_streamed, max_set, true);
}

void tess_xp_pass_close(tess_xp_pass *pass)
{
    tess_xp_devices_close(pass);
    tess_xp_single_close(pass);
}

// All leaves, or from where a pass was interrupted; with several ranks or devices this
// one's part.
static void begin_leaves(const tess_xp_sets *all)
{
    tess_xp_pass *pass = all->pass;
    pass->first = 0;
    pass->end = tess_xp_pass_count(pass);
    pass->first_leaf = 0;
    pass->end_leaf = tess_xp_tiles_n_leaf(&pass->data->tiles);
    tess_xp_ranks_begin(pass, all->n);
    tess_xp_devices_begin(pass, all->n);
    for (int64_t k = 0; k < all->n && pass->next_leaf == 0 && !pass->shares; k++) {
        tess_xp_pass_tree(pass, k)->n_leaf = 0;
    }
}

static tess_status run_sets(const tess_xp_sets *all, double *sums)
{
    tess_xp_pass *pass = all->pass;
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&pass->ctx->tracer, "xpcs.sweep");
    begin_leaves(all);
    tess_status status = pass->is_divided ? tess_xp_devices_run(all) : tess_xp_single_run(all);
    tess_span_end(&span, 0, 0);
    if (pass->own_shares) {
        status = tess_xp_ranks_finish(pass, all->points, all->n, status);
    }
    pass->seconds += (double)(tess_now_ns() - begin_ns) * 1e-9;
    for (int64_t k = 0; k < all->n && status == TESS_OK; k++) {
        tess_xp_tree_total(tess_xp_pass_tree(pass, k), sums + k * pass->n_sum);
    }
    if (status == TESS_OK) {
        pass->next_leaf = 0;
        pass->n_pass++;
    }
    return status;
}

tess_status tess_xp_pass_go_on(tess_xp_pass *pass, const tess_xp_point *points, int64_t n_set,
                               double *sums)
{
    const tess_xp_sets all = {.pass = pass, .points = points, .n = n_set};
    TESS_ASSERT(n_set > 0 && n_set <= pass->max_set);
    pass->n_set = n_set;
    return run_sets(&all, sums);
}

tess_status tess_xp_pass_run(tess_xp_pass *pass, const tess_xp_point *point, double *sums)
{
    return tess_xp_pass_go_on(pass, point, 1, sums);
}

tess_status tess_xp_pass_run_sets(tess_xp_pass *pass, const tess_xp_point *points, int64_t n_set,
                                  double *sums)
{
    pass->next_leaf = 0;
    return tess_xp_pass_go_on(pass, points, n_set, sums);
}

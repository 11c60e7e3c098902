// The sums of a pass, by one device: all leaves, or a range of them.
#include "systems/xpcs/pass/pass.h"

#include "base/clock.h"
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "systems/xpcs/settings/constants.h"

// Points a thread is given before cancel is polled: about 50 ms.
static const int64_t POINTS_PER_CALL = 1 << 21;
// A pass over less is over before anybody would look at its progress.
static const uint64_t SMALL_BYTES = 8 << 20;
static const int64_t WATCH_NS = 50 * 1000 * 1000;

static int64_t count_sums(int64_t n_angle, int64_t n_param)
{
    return n_angle * (6 + 3 * n_param) + n_param * (n_param + 1) / 2 + 1;
}

static int64_t leaves_per_call(const tess_context *ctx, const tess_xpcs_data *data,
                               int64_t leaves_per_chunk)
{
    const int64_t n_thread = tess_pool_threads(ctx->pool);
    const int64_t n_point =
        (int64_t)TESS_STAGE_XPCS_LEAF * TESS_STAGE_XPCS_RUN * data->info.n_angle;
    const int64_t most = n_thread * (POINTS_PER_CALL / n_point + 1);
    return leaves_per_chunk < most ? leaves_per_chunk : most;
}

// Bytes of the trees, and of the angles.
static size_t tree_bytes(const tess_xp_pass *pass)
{
    const int64_t n_level = tess_xp_tree_levels(tess_xp_tiles_n_leaf(&pass->data->tiles));
    return (size_t)(pass->max_set * n_level * pass->n_sum) * sizeof(double);
}

static size_t angle_bytes(const tess_xp_pass *pass)
{
    return (size_t)(pass->max_set * pass->data->info.n_angle) * sizeof *pass->angles;
}

static void set_sizes(tess_xp_pass *pass, tess_xpcs_data *data, int64_t n_param,
                      int64_t leaves_per_chunk)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
    pass->data = data;
    pass->n_param = n_param;
    pass->n_sum = count_sums(data->info.n_angle, n_param);
    pass->leaves_per_chunk = leaves_per_chunk < n_leaf ? leaves_per_chunk : n_leaf;
    if (pass->leaves_per_chunk < 1) {
        pass->leaves_per_chunk = 1;
    }
    pass->leaves_per_call = leaves_per_call(pass->ctx, data, pass->leaves_per_chunk);
}

static tess_xp_there_setup there_setup(const tess_xp_pass *pass)
{
    return (tess_xp_there_setup){.device = pass->device,
                                 .data = pass->data,
                                 .max_set = pass->max_set,
                                 .grids = &pass->grids,
                                 .more_grids = pass->more_grids,
                                 .angles = pass->angles,
                                 .lag_weight = pass->lag_weight,
                                 .leaves_per_chunk = pass->leaves_per_chunk,
                                 .leaves_per_call = pass->leaves_per_call,
                                 .n_sum = pass->n_sum,
                                 .n_param = pass->n_param};
}

uint64_t tess_xp_single_bytes(const tess_xpcs_data *data, int64_t n_param, int64_t leaves_per_chunk,
                              bool is_streamed, int64_t max_set, bool is_part)
{
    tess_xp_pass pass = {
        .ctx = data->ctx, .device = &data->ctx->cpu, .max_set = max_set, .is_part = is_part};
    set_sizes(&pass, (tess_xpcs_data *)(uintptr_t)data, n_param, leaves_per_chunk);
    const tess_xp_there_setup there = there_setup(&pass);
    const uint64_t lists =
        max_set > 1 ? (uint64_t)(max_set - 1) * (sizeof *pass.more_grids + sizeof *pass.more_trees)
                    : 0;
    return tess_xp_there_bytes(&there) + tree_bytes(&pass) + angle_bytes(&pass) + lists +
           tess_xp_ranks_bytes(&pass) +
           (uint64_t)max_set * tess_xp_grids_bytes(data->info.n_frame, n_param) +
           tess_xp_reader_bytes(data, pass.leaves_per_chunk, is_streamed);
}

// Grids and trees of the points after the first.
static tess_status take_sets(tess_xp_pass *pass)
{
    tess_blocks *blocks = &pass->blocks;
    tess_blocks_init(blocks, &pass->ctx->heap);
    pass->more_grids =
        tess_blocks_alloc(blocks, pass->max_set - 1, sizeof *pass->more_grids, "grids");
    pass->more_trees =
        tess_blocks_alloc(blocks, pass->max_set - 1, sizeof *pass->more_trees, "partial sums");
    if (!pass->more_grids || !pass->more_trees) {
        return TESS_E_MEMORY;
    }
    const size_t tree = tree_bytes(pass) / (size_t)pass->max_set / sizeof(double);
    for (int64_t k = 1; k < pass->max_set; k++) {
        TESS_TRY(tess_xp_grids_create_like(pass->ctx, &pass->grids, &pass->more_grids[k - 1]));
        pass->more_trees[k - 1] =
            (tess_xp_tree){.sums = pass->tree.sums + (size_t)k * tree, .n_sum = pass->n_sum};
    }
    return TESS_OK;
}

static tess_status take_memory(tess_xp_pass *pass, const tess_comm_range *own)
{
    tess_heap *heap = &pass->ctx->heap;
    pass->angles = tess_heap_alloc_zero(heap, angle_bytes(pass), TESS_TAG_GENERAL, "angles");
    pass->tree.sums = tess_heap_alloc(heap, tree_bytes(pass), TESS_TAG_GENERAL, "partial sums");
    if (!pass->angles || !pass->tree.sums) {
        return TESS_E_MEMORY;
    }
    if (pass->max_set > 1) {
        TESS_TRY(take_sets(pass));
    }
    TESS_TRY(tess_xp_ranks_open(pass));
    tess_xp_there_setup there = there_setup(pass);
    there.may_hold_all = !pass->is_part;
    there.own_end = tess_xp_tiles_n_leaf(&pass->data->tiles);
    if (own) {
        there.own_leaf = own->begin;
        there.own_end = own->end;
    }
    return tess_xp_there_open(pass->ctx, &there, &pass->there);
}

tess_status tess_xp_single_open(tess_context *ctx, const tess_xp_pass_setup *setup,
                                const tess_comm_range *own, bool is_part, tess_xp_pass *pass)
{
    *pass = (tess_xp_pass){.ctx = ctx,
                           .device = setup->device,
                           .model = *setup->model,
                           .loss = setup->loss,
                           .strategy = setup->strategy,
                           .ignore_sigma = setup->ignore_sigma,
                           .f_scale = setup->f_scale,
                           .inverse_variance = setup->inverse_variance,
                           .lag_weight = setup->lag_weight,
                           .is_alone = setup->is_alone,
                           .is_part = is_part,
                           .max_set = setup->max_set > 1 ? setup->max_set : 1};
    const tess_xpcs_data_info *info = &setup->data->info;
    if (!setup->is_streamed) {
        TESS_TRY(tess_xp_data_hold(ctx, setup->data, setup->max_retries));
    }
    TESS_TRY(tess_xp_grids_create(ctx, &pass->model, info->n_frame, &pass->grids));
    set_sizes(pass, setup->data, pass->grids.n_param, setup->leaves_per_chunk);
    pass->tree.n_sum = pass->n_sum;
    tess_status status = tess_xp_angles_check(info->phi, info->q, info->n_angle);
    if (status == TESS_OK) {
        status = take_memory(pass, own);
    }
    if (status == TESS_OK) {
        status = tess_xp_reader_open(ctx, setup->data, pass->leaves_per_chunk, setup->is_streamed,
                                     &pass->reader);
        pass->reader.max_retries = setup->max_retries;
    }
    if (status != TESS_OK) {
        tess_xp_single_close(pass);
    }
    return status;
}

void tess_xp_single_close(tess_xp_pass *pass)
{
    if (!pass->ctx) {
        return;
    }
    tess_heap *heap = &pass->ctx->heap;
    if (pass->data) {
        if (pass->reader.data) {
            tess_xp_reader_close(&pass->reader);
        }
        tess_xp_there_close(&pass->there);
        tess_xp_ranks_close(pass);
        tess_heap_free(heap, pass->tree.sums, tree_bytes(pass), TESS_TAG_GENERAL);
        tess_heap_free(heap, pass->angles, angle_bytes(pass), TESS_TAG_GENERAL);
    }
    for (int64_t k = 1; pass->more_grids && k < pass->max_set; k++) {
        tess_xp_grids_destroy(pass->ctx, &pass->more_grids[k - 1]);
    }
    tess_blocks_free(&pass->blocks);
    tess_xp_grids_destroy(pass->ctx, &pass->grids);
    *pass = (tess_xp_pass){0};
}

static tess_status set_point(void *arg, int64_t set, int32_t worker)
{
    (void)worker;
    const tess_xp_sets *all = arg;
    tess_xp_pass *pass = all->pass;
    const tess_xp_point *point = &all->points[set];
    const tess_xpcs_data_info *info = &pass->data->info;
    tess_xp_grids_fill(set == 0 ? &pass->grids : &pass->more_grids[set - 1], &pass->model,
                       point->theta);
    for (int64_t a = 0; a < info->n_angle; a++) {
        tess_xp_angle *angle = &pass->angles[set * info->n_angle + a];
        tess_xp_angle_fill(angle, &pass->model, point->theta, info->phi[a], info->q[a]);
        angle->mean = info->mean[a];
        angle->contrast = point->contrast ? point->contrast[a] : 1;
        angle->offset = point->offset ? point->offset[a] : 0;
        angle->inverse_variance = pass->inverse_variance ? pass->inverse_variance[a] : 1;
        angle->weight = angle->contrast * angle->contrast * angle->inverse_variance;
    }
    return TESS_OK;
}

// Grids and angles of all points, where the device has them.
static tess_status set_points(const tess_xp_sets *all)
{
    const tess_xp_pass *pass = all->pass;
    TESS_TRY(tess_parallel_for(pass->ctx->pool, all->n, set_point, (void *)(uintptr_t)all));
    return tess_xp_there_points(&all->pass->there, all->n, pass->frame_weight);
}

static tess_stage_xpcs_pass call_of(const tess_xp_sets *all, int64_t first_leaf, int64_t n_leaf)
{
    const tess_xp_pass *pass = all->pass;
    const tess_xp_point *point = &all->points[0];
    return (tess_stage_xpcs_pass){.frame_weight = pass->frame_weight,
                                  .n_sum = pass->n_sum,
                                  .n_set = all->n,
                                  .first_leaf = first_leaf,
                                  .n_leaf = n_leaf,
                                  .n_param = (int32_t)pass->n_param,
                                  .power = tess_xp_power((tess_xpcs_kernel)pass->model.kernel),
                                  .want = point->want,
                                  .loss = pass->loss,
                                  .is_mixed = point->is_mixed,
                                  .ignore_sigma = pass->ignore_sigma,
                                  .f_scale = pass->f_scale};
}

// Leaves that were summed before the next, here or by ranks before this one.
static int64_t count_before(const tess_xp_pass *pass)
{
    return pass->shares ? pass->shares[0].next : pass->tree.n_leaf;
}

// Sums of leaves at each point, by the stretches of the tree that they make up. host: their
// records; NULL: the device has them.
static tess_status run_leaves(const tess_xp_sets *all, const unsigned char *host,
                              int64_t first_leaf, int64_t n_leaf, double **sums)
{
    tess_stage_xpcs_pass args = call_of(all, first_leaf, n_leaf);
    TESS_TRY(tess_xp_there_records(&all->pass->there, first_leaf, n_leaf, host, &args.records));
    return tess_xp_there_run(&all->pass->there, &args, count_before(all->pass), sums);
}

// Returns what follows the stretches.
static double *push_stretches(tess_xp_pass *pass, int64_t set, double *sums, int64_t n_leaf)
{
    tess_xp_tree *tree = tess_xp_pass_tree(pass, set);
    tess_xp_share *share = pass->shares ? &pass->shares[set] : NULL;
    for (int64_t length; n_leaf > 0; n_leaf -= length, sums += pass->n_sum) {
        length = tess_xp_stretch(share ? share->next : tree->n_leaf, n_leaf);
        if (share) {
            tess_xp_share_push(share, sums, length);
        } else {
            tess_xp_tree_push(tree, sums, length);
        }
    }
    return sums;
}

// A rank's own part stands for all of them, and that of the first device.
static int64_t tiles_before(const tess_xp_pass *pass)
{
    const int64_t n_tile = pass->data->tiles.n_tile;
    if (pass->shares || pass->is_divided) {
        const int64_t n_own = pass->end - pass->first;
        return n_own > 0 ? (count_before(pass) - pass->first) * n_tile / n_own : n_tile;
    }
    const int64_t n = pass->next_leaf * TESS_STAGE_XPCS_LEAF;
    return n < n_tile ? n : n_tile;
}

typedef struct chunk {
    int64_t first;
    int64_t n_leaf; // 0: none is left
    bool is_there;  // on the device
} chunk;

// What counts and can be taken at a time, from a leaf on.
static chunk chunk_from(const tess_xp_pass *pass, int64_t leaf)
{
    const int64_t n_leaf = pass->end_leaf;
    int64_t end = n_leaf;
    if (pass->every > 1) {
        const int64_t period = pass->every * pass->group;
        const int64_t begin = leaf - leaf % period;
        if (leaf - begin >= pass->group) {
            leaf = begin + period;
        }
        end = leaf - leaf % period + pass->group;
        end = end < n_leaf ? end : n_leaf;
    }
    const int64_t left = end > leaf ? end - leaf : 0;
    // What the device has needs no reading, and no chunks.
    const int64_t n_there = tess_xp_there_has(&pass->there, leaf, left);
    if (n_there > 0) {
        return (chunk){leaf, n_there, true};
    }
    return (chunk){leaf, left < pass->leaves_per_chunk ? left : pass->leaves_per_chunk, false};
}

// The records of a chunk, while those of the next one, or of the next pass's first, are read ahead.
static tess_status read_chunk(tess_xp_pass *pass, chunk c, const unsigned char **records)
{
    const tess_xp_tiles *tiles = &pass->data->tiles;
    const int64_t end = c.first + c.n_leaf;
    chunk next = chunk_from(pass, end);
    if (next.n_leaf == 0) {
        next = chunk_from(pass, pass->first_leaf);
    }
    tess_span span = tess_span_begin(&pass->ctx->tracer, "xpcs.read");
    if (!next.is_there) {
        tess_xp_reader_expect(&pass->reader, next.first, next.n_leaf);
    }
    const tess_status status = tess_xp_reader_get(&pass->reader, c.first, c.n_leaf, records);
    const uint64_t bytes =
        tess_xp_tiles_leaf_offset(tiles, end) - tess_xp_tiles_leaf_offset(tiles, c.first);
    tess_span_end(&span, (double)bytes, 0);
    return status;
}

// A chunk in stretches short enough to stop in between.
static tess_status run_chunk(const tess_xp_sets *all, chunk c, tess_watch *watch)
{
    tess_xp_pass *pass = all->pass;
    const tess_xp_tiles *tiles = &pass->data->tiles;
    const int64_t end = c.first + c.n_leaf;
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, c.first);
    const int64_t n_leaf = tess_xp_tiles_n_leaf(tiles);
    const unsigned char *records = NULL;
    if (!c.is_there) {
        TESS_TRY(read_chunk(pass, c, &records));
    }
    const int64_t most = tess_xp_there_leaves(&pass->there, all->n);
    while (pass->next_leaf < end) {
        const int64_t leaf = pass->next_leaf;
        const int64_t left = end - leaf;
        const int64_t n = left < most ? left : most;
        const uint64_t offset = tess_xp_tiles_leaf_offset(tiles, leaf) - begin;
        double *sums = NULL;
        TESS_TRY(run_leaves(all, records ? records + offset : NULL, leaf, n, &sums));
        for (int64_t k = 0; k < all->n; k++) {
            sums = push_stretches(pass, k, sums, n);
        }
        pass->next_leaf = leaf + n;
        // What one rank, or device, has of a pass is nothing to keep.
        if (pass->between && !pass->shares && !pass->is_divided && pass->next_leaf < n_leaf) {
            TESS_TRY(pass->between(pass->self, pass));
        }
        TESS_TRY(tess_watch_poll(watch, tiles_before(pass), tiles->n_tile));
    }
    return TESS_OK;
}

// Whether leaves of a part can be taken in one call wherever they are.
static bool is_reachable(const tess_xp_pass *pass)
{
    return pass->every > 1 && (pass->device->shares_host_memory ? pass->reader.records != NULL
                                                                : pass->there.is_sent != NULL);
}

// Sends the leaves of a part that the device has not.
static tess_status send_part(tess_xp_pass *pass)
{
    chunk c = chunk_from(pass, pass->first_leaf);
    for (; c.n_leaf > 0 && c.first < pass->end_leaf; c = chunk_from(pass, c.first + c.n_leaf)) {
        const unsigned char *host = NULL;
        const unsigned char *there = NULL;
        if (!c.is_there) {
            TESS_TRY(tess_context_check_cancel(pass->ctx));
            TESS_TRY(read_chunk(pass, c, &host));
            TESS_TRY(tess_xp_there_records(&pass->there, c.first, c.n_leaf, host, &there));
        }
    }
    return TESS_OK;
}

// Part of the leaves, in as few calls as all of them would take.
static tess_status run_part(const tess_xp_sets *all, tess_watch *watch)
{
    tess_xp_pass *pass = all->pass;
    const tess_xp_tiles *tiles = &pass->data->tiles;
    const int64_t n = pass->end - pass->first;
    const bool is_host = pass->device->shares_host_memory;
    if (!is_host) {
        TESS_TRY(send_part(pass));
    }
    const int64_t most = tess_xp_there_leaves(&pass->there, all->n);
    for (int64_t k = 0; k < n; k += most) {
        const int64_t left = n - k;
        const int64_t n_call = left < most ? left : most;
        tess_stage_xpcs_pass args = call_of(all, pass->first + k, n_call);
        double *sums = NULL;
        args.group = pass->group;
        args.period = pass->every * pass->group;
        args.records = is_host ? pass->reader.records : tess_xp_there_base(&pass->there);
        TESS_TRY(tess_xp_there_run(&pass->there, &args, pass->first + k, &sums));
        for (int64_t set = 0; set < all->n; set++) {
            sums = push_stretches(pass, set, sums, n_call);
        }
        TESS_TRY(tess_watch_poll(watch, (k + n_call) * tiles->n_tile / n, tiles->n_tile));
    }
    pass->next_leaf = pass->end_leaf;
    return TESS_OK;
}

// Many passes over small data are long work too, but the end of one is nothing to tell each time.
static void begin_watch(tess_xp_pass *pass, tess_watch *watch)
{
    const uint64_t bytes = pass->data->info.bytes;
    tess_watch_begin(watch, pass->ctx, "xpcs.pass", "tiles", tiles_before(pass),
                     bytes * (uint64_t)(pass->n_pass + 1), (tess_strategy)pass->strategy);
    if (pass->is_quiet || (bytes < SMALL_BYTES && watch->begin_ns - pass->watched_ns < WATCH_NS)) {
        watch->is_watched = false;
    }
    if (watch->is_watched) {
        pass->watched_ns = watch->begin_ns;
    }
}

tess_status tess_xp_single_run(const tess_xp_sets *all)
{
    tess_xp_pass *pass = all->pass;
    tess_watch watch;
    begin_watch(pass, &watch);
    TESS_TRY(tess_context_check_cancel(pass->ctx));
    TESS_TRY(set_points(all));
    if (pass->next_leaf == pass->first_leaf && is_reachable(pass)) {
        TESS_TRY(run_part(all, &watch));
    }
    while (pass->next_leaf < pass->end_leaf) {
        const chunk c = chunk_from(pass, pass->next_leaf);
        pass->next_leaf = c.first;
        if (c.n_leaf > 0) {
            TESS_TRY(run_chunk(all, c, &watch));
        }
    }
    return tess_xp_data_check(pass->data);
}

tess_status tess_xp_pass_leaf(tess_xp_pass *pass, const tess_xp_point *point, int64_t leaf)
{
    const tess_xp_sets one = {.pass = pass, .points = point, .n = 1};
    const unsigned char *records = NULL;
    double *sums = NULL;
    TESS_TRY(set_points(&one));
    TESS_TRY(tess_xp_reader_get(&pass->reader, leaf, 1, &records));
    return run_leaves(&one, records, leaf, 1, &sums);
}

// A pass whose leaves several ranks divide: who takes which, and all sums together.
#include "base/hash.h"
#include "runtime/comm.h"
#include "stage/xpcs.h"
#include "systems/xpcs/pass/pass.h"

#include <string.h>

// Points of a pass that are worth an exchange of sums, which takes tens of microseconds at best:
// so many take a rank hundreds.
static const int64_t LEAST_POINTS = 50000;
// Passes of every rank for itself after which they hear of each other all the same.
static const int64_t MEET_EVERY = 64;

static int64_t pieces_of(const tess_xp_pass *pass)
{
    return tess_xp_share_pieces(tess_xp_tiles_n_leaf(&pass->data->tiles));
}

static size_t share_doubles(const tess_xp_pass *pass)
{
    return (size_t)(pieces_of(pass) * pass->n_sum);
}

// The shares, their sums, and those of all points on their way; of a device, too.
size_t tess_xp_ranks_bytes(const tess_xp_pass *pass)
{
    const bool is_whole = pass->is_alone || tess_comm_size(pass->ctx) == 1;
    return is_whole && !pass->is_part
               ? 0
               : (size_t)pass->max_set *
                     (sizeof *pass->shares + 2 * share_doubles(pass) * sizeof(double));
}

tess_status tess_xp_ranks_open(tess_xp_pass *pass)
{
    if (tess_xp_ranks_bytes(pass) == 0) {
        return TESS_OK;
    }
    pass->own_shares = tess_heap_alloc_zero(&pass->ctx->heap, tess_xp_ranks_bytes(pass),
                                            TESS_TAG_GENERAL, "sums of this rank");
    if (!pass->own_shares) {
        return TESS_E_MEMORY;
    }
    double *sums = (double *)(void *)(pass->own_shares + pass->max_set);
    for (int64_t k = 0; k < pass->max_set; k++) {
        pass->own_shares[k].n_sum = pass->n_sum;
        pass->own_shares[k].sums = sums + (size_t)k * share_doubles(pass);
    }
    return TESS_OK;
}

void tess_xp_ranks_close(tess_xp_pass *pass)
{
    tess_heap_free(&pass->ctx->heap, pass->own_shares, tess_xp_ranks_bytes(pass), TESS_TAG_GENERAL);
    pass->own_shares = NULL;
    pass->shares = NULL;
}

static bool is_divided(const tess_xp_pass *pass, int64_t n_set)
{
    const tess_xp_tiles *tiles = &pass->data->tiles;
    const int64_t each = pass->data->info.n_used / tess_xp_tiles_n_leaf(tiles);
    return pass->own_shares && each * tess_xp_pass_count(pass) * n_set >= LEAST_POINTS;
}

// Where a rank's share of the leaves that are summed begins: shares have about as many bytes each,
// since leaves of late frames are shorter.
static int64_t share_begin(const tess_xp_pass *pass, int32_t rank)
{
    const tess_xp_tiles *tiles = &pass->data->tiles;
    const int64_t n = tess_xp_pass_count(pass);
    const double all = (double)tess_xp_tiles_leaf_offset(tiles, tess_xp_tiles_n_leaf(tiles));
    const double wanted = all * (double)rank / (double)tess_comm_size(pass->ctx);
    int64_t low = 0;
    int64_t high = n;
    while (low < high) { // the first leaf whose middle is not before it
        const int64_t middle = low + (high - low) / 2;
        const int64_t leaf = tess_xp_pass_leaf_of(pass, middle);
        const double at = 0.5 * (double)(tess_xp_tiles_leaf_offset(tiles, leaf) +
                                         tess_xp_tiles_leaf_offset(tiles, leaf + 1));
        if (at < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static tess_comm_range share_of(const tess_xp_pass *pass, int32_t rank)
{
    const bool is_last = rank + 1 == tess_comm_size(pass->ctx);
    return (tess_comm_range){share_begin(pass, rank),
                             is_last ? tess_xp_pass_count(pass) : share_begin(pass, rank + 1)};
}

void tess_xp_ranks_begin(tess_xp_pass *pass, int64_t n_set)
{
    pass->shares = is_divided(pass, n_set) ? pass->own_shares : NULL;
    if (!pass->shares) {
        return;
    }
    const tess_comm_range own = share_of(pass, tess_comm_rank(pass->ctx));
    tess_xp_pass_take(pass, own);
    for (int64_t k = 0; k < n_set; k++) {
        tess_xp_share_begin(&pass->shares[k], own.begin);
    }
}

// What all ranks must have in common.
static uint64_t hash_points(const tess_xp_pass *pass, const tess_xp_point *points, int64_t n_set)
{
    tess_hash hash = {0};
    tess_hash_mix(&hash, &n_set, sizeof n_set);
    tess_hash_mix(&hash, &pass->every, sizeof pass->every);
    tess_hash_mix(&hash, &points[0].want, sizeof points[0].want);
    for (int64_t k = 0; k < n_set; k++) {
        tess_hash_mix(&hash, points[k].theta, (size_t)pass->n_param * sizeof(double));
    }
    return hash.low;
}

// The stretches of every point behind each other. Returns how many doubles.
static size_t pack(const tess_xp_pass *pass, int64_t n_set, double *to)
{
    size_t n = 0;
    for (int64_t k = 0; k < n_set; k++) {
        const tess_xp_share *share = &pass->shares[k];
        const size_t own = (size_t)(share->n_piece * pass->n_sum);
        memcpy(to + n, share->sums, own * sizeof *to);
        n += own;
    }
    return n;
}

// Parts in the order of ranks are leaves in the order of the tree.
static tess_status unpack(tess_xp_pass *pass, int64_t n_set, const tess_comm_parts *parts)
{
    const int32_t n_rank = tess_comm_size(pass->ctx);
    for (int64_t k = 0; k < n_set; k++) {
        tess_xp_pass_tree(pass, k)->n_leaf = 0;
    }
    for (int32_t rank = 0; rank < n_rank; rank++) {
        const tess_comm_range part = share_of(pass, rank);
        const int64_t n = part.end - part.begin;
        const int64_t n_piece = tess_xp_count_stretches(part.begin, n);
        double *sums = (double *)(void *)(parts->data + parts->offset[rank]);
        const uint64_t bytes = (uint64_t)(n_set * n_piece * pass->n_sum) * sizeof *sums;
        if (parts->offset[rank + 1] - parts->offset[rank] != bytes) {
            TESS_FAIL(TESS_E_INTERNAL, "rank %d brought %llu bytes of sums, expected %llu",
                      (int)rank,
                      (unsigned long long)(parts->offset[rank + 1] - parts->offset[rank]),
                      (unsigned long long)bytes);
        }
        for (int64_t k = 0; k < n_set; k++) {
            tess_xp_tree *tree = tess_xp_pass_tree(pass, k);
            for (int64_t left = n; left > 0; sums += pass->n_sum) {
                const int64_t length = tess_xp_stretch(tree->n_leaf, left);
                tess_xp_tree_push(tree, sums, length);
                left -= length;
            }
        }
    }
    return TESS_OK;
}

// What this rank found out for itself; now and then whether the others are with it.
static tess_status finish_alone(tess_xp_pass *pass, tess_comm_point at, tess_status status)
{
    if (status != TESS_OK || pass->n_pass % MEET_EVERY != MEET_EVERY - 1) {
        return status;
    }
    const tess_status agreed = tess_comm_agree(pass->ctx, at, TESS_OK);
    pass->next_leaf = agreed == TESS_OK ? pass->next_leaf : 0; // the state is that before the pass
    return agreed;
}

tess_status tess_xp_ranks_finish(tess_xp_pass *pass, const tess_xp_point *points, int64_t n_set,
                                 tess_status status)
{
    const tess_comm_point at = {"a pass over the data", hash_points(pass, points, n_set)};
    if (!pass->shares) {
        return finish_alone(pass, at, status);
    }
    double *packed = (double *)(void *)(pass->shares + pass->max_set) +
                     (size_t)pass->max_set * share_doubles(pass);
    const size_t n = status == TESS_OK ? pack(pass, n_set, packed) : 0;
    tess_comm_parts parts;
    pass->next_leaf = 0;
    TESS_TRY(tess_comm_gather(pass->ctx, at, status, packed, n * sizeof *packed, &parts));
    tess_span span = tess_span_begin(&pass->ctx->tracer, "xpcs.join");
    const tess_status unpacked = unpack(pass, n_set, &parts);
    tess_span_end(&span, 0, 0);
    tess_comm_parts_free(&parts);
    return unpacked;
}

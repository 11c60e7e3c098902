// A pass whose leaves several devices of the host divide.
//
// A leaf belongs to the same device in every pass, so that its records go up once. What a device
// has at the end are sums of stretches of the tree, as a rank's (share.h): those of all devices in
// order make up the tree, and the additions are those of one.
#include "base/status.h"
#include "runtime/group.h"
#include "systems/xpcs/pass/pass.h"

// Data that are made when asked for come from one device, and stay with it.
int32_t tess_xp_devices_count(const tess_context *ctx, const tess_xpcs_data *data)
{
    return data->info.residency == TESS_XPCS_GENERATED ? 1 : tess_group_size(ctx, ctx->device);
}

// Leaves of a member, of those that are this rank's in a pass over all; the first and the last have
// what comes before and after, too, for ranges of ranks are others where a pass takes few leaves.
static tess_comm_range leaves_of(const tess_context *ctx, const tess_xpcs_data *data,
                                 int32_t n_member, int32_t member)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
    const tess_comm_range rank = tess_comm_share_of(ctx, n_leaf);
    const tess_group_range own =
        tess_group_share((tess_group_range){rank.begin, rank.end}, n_member, member);
    return (tess_comm_range){member == 0 ? 0 : own.begin,
                             member == n_member - 1 ? n_leaf : own.end};
}

bool tess_xp_devices_own(const tess_context *ctx, const tess_xp_pass_setup *setup,
                         tess_comm_range *own)
{
    const int32_t n = setup->is_alone || setup->device != ctx->device
                          ? 1
                          : tess_xp_devices_count(ctx, setup->data);
    *own = leaves_of(ctx, setup->data, n, 0);
    return n > 1;
}

tess_status tess_xp_devices_open(tess_xp_pass *pass, const tess_xp_pass_setup *setup)
{
    const int32_t n_member = tess_group_size(pass->ctx, pass->device);
    pass->parts = tess_heap_alloc_zero(&pass->ctx->heap, (size_t)n_member * sizeof *pass->parts,
                                       TESS_TAG_GENERAL, "passes of devices");
    if (!pass->parts) {
        return TESS_E_MEMORY;
    }
    for (int32_t k = 1; k < n_member; k++) {
        const tess_comm_range own = leaves_of(pass->ctx, pass->data, n_member, k);
        tess_xp_pass_setup part = *setup;
        part.device = tess_group_member(pass->ctx, pass->device, k);
        TESS_TRY(tess_xp_single_open(pass->ctx, &part, &own, true, &pass->parts[pass->n_part]));
        pass->parts[pass->n_part++].is_quiet = true;
    }
    return TESS_OK;
}

void tess_xp_devices_close(tess_xp_pass *pass)
{
    for (int32_t k = 0; k < pass->n_part; k++) {
        tess_xp_single_close(&pass->parts[k]);
    }
    if (pass->parts) {
        const int32_t n_member = tess_group_size(pass->ctx, pass->device);
        tess_heap_free(&pass->ctx->heap, pass->parts, (size_t)n_member * sizeof *pass->parts,
                       TESS_TAG_GENERAL);
    }
    pass->parts = NULL;
    pass->n_part = 0;
}

// Where the first device does not keep all leaves it takes its own alone.
static bool is_worth_it(const tess_xp_pass *pass, int64_t n_set)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&pass->data->tiles);
    const int64_t n_point = pass->data->info.n_used / n_leaf * (pass->end - pass->first) * n_set;
    return pass->parts &&
           (n_point >= pass->ctx->group->least_points || !tess_xp_there_takes_all(&pass->there));
}

// Numbers of a member's leaves, within those of this process.
static tess_comm_range numbers_of(const tess_xp_pass *pass, tess_comm_range all, int32_t member)
{
    const tess_comm_range own = leaves_of(pass->ctx, pass->data, pass->n_part + 1, member);
    const int64_t begin = tess_xp_pass_count_before(pass, own.begin);
    const int64_t end = tess_xp_pass_count_before(pass, own.end);
    return (tess_comm_range){begin > all.begin ? begin : all.begin, end < all.end ? end : all.end};
}

static void begin_part(const tess_xp_pass *pass, tess_xp_pass *part, tess_comm_range numbers,
                       int64_t n_set)
{
    part->loss = pass->loss;
    part->frame_weight = pass->frame_weight;
    part->every = pass->every;
    part->group = pass->group;
    part->shares = part->own_shares;
    if (numbers.end < numbers.begin) {
        numbers.end = numbers.begin;
    }
    tess_xp_pass_take(part, numbers);
    for (int64_t k = 0; k < n_set; k++) {
        tess_xp_share_begin(&part->shares[k], numbers.begin);
    }
}

void tess_xp_devices_begin(tess_xp_pass *pass, int64_t n_set)
{
    pass->is_divided = is_worth_it(pass, n_set);
    if (!pass->is_divided) {
        return;
    }
    const tess_comm_range all = {pass->first, pass->end};
    for (int32_t k = 0; k < pass->n_part; k++) {
        begin_part(pass, &pass->parts[k], numbers_of(pass, all, k + 1), n_set);
    }
    tess_xp_pass_take(pass, numbers_of(pass, all, 0));
}

static tess_status run_member(void *self, int32_t member)
{
    tess_xp_sets own = *(const tess_xp_sets *)self;
    own.pass = member == 0 ? own.pass : &own.pass->parts[member - 1];
    return own.pass->first < own.pass->end ? tess_xp_single_run(&own) : TESS_OK;
}

// What a part has, behind what is there.
static void push_part(tess_xp_pass *pass, const tess_xp_pass *part, int64_t set)
{
    const tess_xp_share *from = &part->shares[set];
    for (int64_t i = 0; i < from->n_piece; i++) {
        double *sums = from->sums + i * pass->n_sum;
        if (pass->shares) {
            tess_xp_share_push(&pass->shares[set], sums, from->length[i]);
        } else {
            tess_xp_tree_push(tess_xp_pass_tree(pass, set), sums, from->length[i]);
        }
    }
}

tess_status tess_xp_devices_run(const tess_xp_sets *all)
{
    tess_xp_pass *pass = all->pass;
    tess_xp_sets own = *all;
    const tess_status status = tess_group_run(pass->ctx, pass->n_part + 1, run_member, &own);
    if (status != TESS_OK) {
        pass->next_leaf = 0; // the state is that before the pass
        return status;
    }
    for (int64_t set = 0; set < all->n; set++) {
        for (int32_t k = 0; k < pass->n_part; k++) {
            push_part(pass, &pass->parts[k], set);
        }
    }
    return TESS_OK;
}

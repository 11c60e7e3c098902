// One pass over the data: sums of tiles, combined in a fixed tree.
//
// The tree: leaves in order are pushed like bits of a binary counter; two partial sums of 2^k
// leaves become one of 2^(k+1). At the end what is left is added from the smallest to the largest.
// So the additions depend on the number of leaves only.
#ifndef TESS_XPCS_PASS_PASS_H
#define TESS_XPCS_PASS_PASS_H

#include "base/blocks.h"
#include "runtime/comm.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/pass/share.h"
#include "systems/xpcs/pass/there.h"
#include "systems/xpcs/store/store.h"
#include "tessera/xpcs/fit.h"

// Partial sums; plain bytes but for the pointer, stored in checkpoints in the middle of a pass.
typedef struct tess_xp_tree {
    double *sums; // [levels of all leaves][n_sum]
    int64_t n_sum;
    int64_t n_leaf; // pushed so far
} tess_xp_tree;

// Sums [n_sum] of the next 2^k leaves in the tree's own order, which are used up; so many are there
// already that it is a multiple of them.
void tess_xp_tree_push(tess_xp_tree *tree, double *sums, int64_t n_leaf);
// Of all leaves pushed, sums [n_sum]; the tree stays as it is.
void tess_xp_tree_total(const tess_xp_tree *tree, double *sums);

// Levels in use after n_leaf leaves: sums[0 .. levels) is all there is to keep. Level k holds the
// sum of 2^k leaves where bit k of n_leaf is set.
int64_t tess_xp_tree_levels(int64_t n_leaf);

// Where sums are needed.
typedef struct tess_xp_point {
    const double *theta;    // [n_param]
    const double *contrast; // [n_angle] for the Hessian's weights, and for robust losses
    const double *offset;   // [n_angle] for robust losses
    int32_t want;           // TESS_XP_WANT_*
    int32_t is_mixed;
} tess_xp_point;

typedef struct tess_xp_pass {
    tess_context *ctx;
    tess_device *device;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    int32_t loss;
    int32_t strategy;
    int32_t ignore_sigma;
    double f_scale;
    const double *inverse_variance; // [n_angle]
    const double *lag_weight;       // [n_angle][n_frame] or NULL
    const double *frame_weight;     // [points][n_frame] or NULL; may be set between passes
    tess_xp_grids grids;
    tess_xp_angle *angles; // [max_set][n_angle]
    tess_xp_reader reader;
    tess_xp_tree tree;
    // Points of the parameters that one pass can take, and what those after the first need.
    int64_t max_set;
    tess_xp_grids *more_grids; // [max_set - 1]
    tess_xp_tree *more_trees;  // [max_set - 1]
    tess_blocks blocks;        // of these lists
    // Several ranks divide the leaves: what this one has of them. NULL: this process takes all,
    // because it is alone or there are so few that ranks would wait for each other longer.
    tess_xp_share *shares;     // [max_set]
    tess_xp_share *own_shares; // where they lie; NULL: alone
    bool is_alone;             // as the setup says
    // Several devices divide the leaves of this process: the first is this pass's own, the others
    // have passes of their own over their parts. NULL: there is one.
    struct tess_xp_pass *parts; // [n_part]
    int32_t n_part;
    bool is_part;       // one of them
    bool is_divided;    // the pass at work
    int64_t first_leaf; // of the pass at work that this process takes
    int64_t end_leaf;   // behind the last
    int64_t first;      // numbers of these among those that are summed
    int64_t end;
    tess_xp_there there; // what of all this lies on the device
    int64_t leaves_per_chunk;
    int64_t leaves_per_call; // of a stage at one point, so that cancel is heard in time
    int64_t n_sum;
    int64_t n_param;
    // A look at part of the data, for starts: of every every * group leaves the first group. every
    // 0: all. May be set between passes.
    int64_t every;
    int64_t group;
    int64_t next_leaf;  // of the pass at work; set it to 0 to give up an interrupted pass
    int64_t n_set;      // points of the pass at work
    double seconds;     // of all passes
    int64_t n_pass;     // that came to their end
    bool is_quiet;      // somebody else tells progress; cancel is heard all the same
    int64_t watched_ns; // when a pass over small data last told its progress
    // Called between stretches with what is done; TESS_CANCELLED or an error stops the pass, which
    // can then be continued. NULL: none.
    tess_status (*between)(void *self, struct tess_xp_pass *pass);
    void *self;
} tess_xp_pass;

typedef struct tess_xp_pass_setup {
    tess_device *device; // that has TESS_STAGE_XPCS_PASS
    tess_xpcs_data *data;
    const tess_xpcs_model *model;
    int32_t loss;
    double f_scale;
    const double *inverse_variance; // borrowed
    const double *lag_weight;       // borrowed
    int64_t leaves_per_chunk;
    bool is_streamed;
    int64_t max_retries;
    int32_t strategy;     // tess_strategy, for progress
    int32_t ignore_sigma; // 1: weights are 1 although the data have a deviation of every point
    int64_t max_set;      // points of the parameters in one pass; 0: 1
    bool is_alone;        // this process, and one device, takes all leaves
} tess_xp_pass_setup;

TESS_MUST_CHECK tess_status tess_xp_pass_open(tess_context *ctx, const tess_xp_pass_setup *setup,
                                              tess_xp_pass *pass);
void tess_xp_pass_close(tess_xp_pass *pass);
// Memory of a pass besides the data.
uint64_t tess_xp_pass_bytes(const tess_xpcs_data *data, int64_t n_param, int64_t leaves_per_chunk,
                            bool is_streamed, int64_t max_set);
// Sums [n_sum] at a point, from leaf 0, or from next_leaf where a pass was interrupted or restored.
TESS_MUST_CHECK tess_status tess_xp_pass_run(tess_xp_pass *pass, const tess_xp_point *point,
                                             double *sums);

// Sums [n_set][n_sum] at several points that want the same (points[0] says it), n_set <= max_set,
// in one sweep over the data: the same bits as one by one.
TESS_MUST_CHECK tess_status tess_xp_pass_run_sets(tess_xp_pass *pass, const tess_xp_point *points,
                                                  int64_t n_set, double *sums);

// The same from next_leaf on, where a pass at these points was interrupted or restored.
TESS_MUST_CHECK tess_status tess_xp_pass_go_on(tess_xp_pass *pass, const tess_xp_point *points,
                                               int64_t n_set, double *sums);
// The partial sums at a point, of which a checkpoint in the middle of a pass has those in use.
tess_xp_tree *tess_xp_pass_tree(tess_xp_pass *pass, int64_t set);

// Leaves that the pass sums, the one of a number among them, and how many of them are before one.
int64_t tess_xp_pass_count(const tess_xp_pass *pass);
int64_t tess_xp_pass_leaf_of(const tess_xp_pass *pass, int64_t number);
int64_t tess_xp_pass_count_before(const tess_xp_pass *pass, int64_t leaf);
// From now on the pass at work takes leaves of these numbers alone, from the first of them on.
void tess_xp_pass_take(tess_xp_pass *pass, tess_comm_range numbers);

// ---- With several ranks (ranks.c) --------------------------------------------------------------

size_t tess_xp_ranks_bytes(const tess_xp_pass *pass);
TESS_MUST_CHECK tess_status tess_xp_ranks_open(tess_xp_pass *pass);
void tess_xp_ranks_close(tess_xp_pass *pass);
// The part of this rank, from its beginning: nothing is kept of a pass that was interrupted. A pass
// over few points is left to every rank, which gets the same bits.
void tess_xp_ranks_begin(tess_xp_pass *pass, int64_t n_set);
// The trees from the parts of all ranks. status: of this rank's part; what is returned is the same
// on all of them.
TESS_MUST_CHECK tess_status tess_xp_ranks_finish(tess_xp_pass *pass, const tess_xp_point *points,
                                                 int64_t n_set, tess_status status);

// ---- By one device (single.c) -------------------------------------------------------------------

// Points of a call.
typedef struct tess_xp_sets {
    tess_xp_pass *pass;
    const tess_xp_point *points;
    int64_t n;
} tess_xp_sets;

// own: leaves that this device keeps if not all fit; NULL: all.
TESS_MUST_CHECK tess_status tess_xp_single_open(tess_context *ctx, const tess_xp_pass_setup *setup,
                                                const tess_comm_range *own, bool is_part,
                                                tess_xp_pass *pass);
void tess_xp_single_close(tess_xp_pass *pass);
uint64_t tess_xp_single_bytes(const tess_xpcs_data *data, int64_t n_param, int64_t leaves_per_chunk,
                              bool is_streamed, int64_t max_set, bool is_part);
// The leaves of the pass's own range, into its shares or trees.
TESS_MUST_CHECK tess_status tess_xp_single_run(const tess_xp_sets *all);

// ---- With several devices (devices.c) ----------------------------------------------------------

// Devices that divide passes over such data.
int32_t tess_xp_devices_count(const tess_context *ctx, const tess_xpcs_data *data);
// Leaves of the first device, if the context has several that divide this pass.
bool tess_xp_devices_own(const tess_context *ctx, const tess_xp_pass_setup *setup,
                         tess_comm_range *own);
TESS_MUST_CHECK tess_status tess_xp_devices_open(tess_xp_pass *pass,
                                                 const tess_xp_pass_setup *setup);
void tess_xp_devices_close(tess_xp_pass *pass);
// Leaves the others' to them. A pass over few points is left to the first device.
void tess_xp_devices_begin(tess_xp_pass *pass, int64_t n_set);
// The range of this process, by all devices.
TESS_MUST_CHECK tess_status tess_xp_devices_run(const tess_xp_sets *all);

// Sums of one leaf alone, for estimates of time; they go nowhere.
TESS_MUST_CHECK tess_status tess_xp_pass_leaf(tess_xp_pass *pass, const tess_xp_point *point,
                                              int64_t leaf);

// Sums of an angle, in the layout of the stage.
static inline const double *tess_xp_angle_sums(const tess_xp_pass *pass, const double *sums,
                                               int64_t angle)
{
    return sums + angle * (6 + 3 * pass->n_param);
}
static inline const double *tess_xp_hessian_sums(const tess_xp_pass *pass, const double *sums)
{
    return sums + pass->data->info.n_angle * (6 + 3 * pass->n_param);
}

#endif

// What a checkpoint of a joint fit keeps: the members' own fits that are done, and where the joint
// one stands between two evaluations.
#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/identity.h"
#include "systems/xpcs/joint/joint.h"

#include <stdio.h>
#include <string.h>

typedef struct member_name {
    char text[16];
} member_name;

static member_name name_of(int64_t place)
{
    member_name name;
    snprintf(name.text, sizeof name.text, "m%d", (int)(place % 1000000)); // 8 letters at most
    return name;
}

// Cuts the state into its parts; base NULL: they are counted alone.
static size_t bind(tess_xp_joint *j, unsigned char *base)
{
    const int64_t n = j->layout.n_x;
    double **const vectors[] = {&j->x,      &j->kept_x, &j->gradient, &j->hessian,
                                &j->secant, &j->step,   &j->starts,   &j->contrast};
    const int64_t n_item[] = {
        n, n, n, n * n, n * n, n, TESS_XP_JOINT_STARTS * n, j->result->info.n_angle};
    size_t used = sizeof *j->head;
    j->head = (tess_xp_joint_state *)(void *)base;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = base ? (double *)(void *)(base + used) : NULL;
        used += (size_t)n_item[i] * sizeof(double);
    }
    j->trust = base ? (tess_trust *)(void *)(base + used) : NULL;
    return used + tess_trust_bytes(n);
}

tess_status tess_xp_joint_take_state(tess_xp_joint *j)
{
    const int64_t n = j->layout.n_x;
    const int64_t n_work = n * (3 * n + 6) + j->n_member;
    j->state_bytes = bind(j, NULL);
    j->state = tess_blocks_alloc(&j->memory, (int64_t)j->state_bytes, 1, "state of a joint fit");
    j->trial_gradient = tess_blocks_alloc(&j->memory, n, sizeof(double), "a joint fit");
    j->trial_hessian = tess_blocks_alloc(&j->memory, n * n, sizeof(double), "a joint fit");
    j->work = tess_blocks_alloc(&j->memory, n_work, sizeof(double), "a joint fit");
    if (!j->state || !j->trial_gradient || !j->trial_hessian || !j->work) {
        return TESS_E_MEMORY;
    }
    (void)bind(j, j->state);
    return TESS_OK;
}

static tess_status write_single(tess_xp_joint *j, int64_t place, tess_checkpoint_writer *writer)
{
    const tess_xpcs_result *single = j->result->single[j->order[place]];
    const size_t bytes = tess_xpcs_result_pack(single, NULL, 0);
    void *packed = tess_heap_alloc(&j->ctx->heap, bytes, TESS_TAG_SCRATCH, "a member's fit");
    if (!packed) {
        return TESS_E_MEMORY;
    }
    (void)tess_xpcs_result_pack(single, packed, bytes);
    const tess_status status = tess_checkpoint_add(writer, name_of(place).text, packed, bytes);
    tess_heap_free(&j->ctx->heap, packed, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    tess_xp_joint *j = self;
    TESS_TRY(tess_checkpoint_add(writer, "singles", &j->n_single, sizeof j->n_single));
    TESS_TRY(tess_checkpoint_add(writer, "state", j->state, j->state_bytes));
    for (int64_t i = 0; i < j->n_single; i++) {
        TESS_TRY(write_single(j, i, writer));
    }
    return TESS_OK;
}

static tess_status read_single(tess_xp_joint *j, const tess_checkpoint *found, int64_t place)
{
    const size_t bytes = tess_checkpoint_size(found, name_of(place).text);
    void *packed = tess_heap_alloc(&j->ctx->heap, bytes, TESS_TAG_SCRATCH, "a member's fit");
    if (!packed) {
        return TESS_E_MEMORY;
    }
    tess_status status = tess_checkpoint_get(found, name_of(place).text, packed, bytes);
    if (status == TESS_OK) {
        status =
            tess_xpcs_result_unpack(j->ctx, packed, bytes, &j->result->single[j->order[place]]);
    }
    tess_heap_free(&j->ctx->heap, packed, bytes, TESS_TAG_SCRATCH);
    return status;
}

// Another checkpoint was tried before.
static void forget_singles(tess_xp_joint *j)
{
    for (int64_t m = 0; m < j->n_member; m++) {
        tess_xpcs_result_destroy(j->result->single[m]);
        j->result->single[m] = NULL;
    }
    j->n_single = 0;
}

static tess_status read_state(void *self, const tess_checkpoint *found, const char *path)
{
    tess_xp_joint *j = self;
    int64_t n_single = 0;
    forget_singles(j);
    TESS_TRY(tess_checkpoint_get(found, "singles", &n_single, sizeof n_single));
    TESS_TRY(tess_checkpoint_get(found, "state", j->state, j->state_bytes));
    if (n_single < 0 || n_single > j->n_member ||
        (n_single < j->n_member && j->head->phase != TESS_XP_JOINT_SINGLE) ||
        j->head->phase < TESS_XP_JOINT_SINGLE || j->head->phase > TESS_XP_JOINT_DONE) {
        memset(j->state, 0, j->state_bytes);
        TESS_FAIL(TESS_E_FORMAT, "%s: how far the joint fit has come makes no sense", path);
    }
    for (j->n_single = 0; j->n_single < n_single; j->n_single++) {
        TESS_TRY(read_single(j, found, j->n_single));
    }
    return TESS_OK;
}

// Ties, q_ref and bounds of exponents; the members' settings and data.
static tess_status make_identity(tess_xp_joint *j)
{
    const char *whole = NULL;
    tess_hash hash = {0, 0};
    tess_identity_init(&j->id, j->ctx, "xpcs.joint", j->device->backend->name);
    tess_hash_mix(&hash, j->result->ties, sizeof j->result->ties);
    tess_hash_mix(&hash, &j->q_ref, sizeof j->q_ref);
    tess_hash_mix(&hash, &j->joint.exponent_lower, sizeof j->joint.exponent_lower);
    tess_hash_mix(&hash, &j->joint.exponent_upper, sizeof j->joint.exponent_upper);
    tess_identity_add_hash(&j->id, "shares other parameters, or others are powers of q", hash);
    tess_identity_add_int(&j->id, "is of * members, this one of *", j->n_member);
    for (int64_t m = 0; m < j->n_member; m++) {
        tess_identity member;
        char digits[33] = "";
        const tess_status status =
            tess_xp_identity_make(j->device, &j->members[m].problem, &member, digits);
        tess_identity_digest(&member, digits);
        tess_identity_free(&member);
        TESS_TRY(status);
        tess_identity_add(&j->id, "data or settings of a member differ from those of this fit",
                          digits);
    }
    tess_identity_digest(&j->id, j->result->identity);
    return tess_text_finish(&j->id.text, &whole);
}

tess_status tess_xp_joint_open_work(tess_xp_joint *j)
{
    const tess_xpcs_fit_config *config = &j->config;
    const bool is_kept = config->checkpoint_dir && !config->fast;
    const tess_work_config setup = {.name = "xpcs.joint",
                                    .what = "joint fit",
                                    .folder = is_kept ? config->checkpoint_dir : NULL,
                                    .resume = is_kept ? config->resume : 0,
                                    .every_s = config->checkpoint_every_s,
                                    .keep =
                                        config->keep_checkpoints > 0 ? config->keep_checkpoints : 1,
                                    .check = read_state,
                                    .self = j};
    TESS_TRY(make_identity(j));
    TESS_TRY(tess_work_open(j->ctx, &setup, &j->id, &j->kept));
    j->is_resumed = j->kept.is_found;
    tess_work_forget(&j->kept);
    return TESS_OK;
}

// A guess: half of the work are the members' own fits.
static double done_of(const tess_xp_joint *j)
{
    const double single = 0.5 * (double)j->n_single / (double)j->n_member;
    const int64_t phase = j->head->phase;
    return phase == TESS_XP_JOINT_DONE ? 1 : single + 0.1 * (double)phase;
}

void tess_xp_joint_keep(tess_xp_joint *j, bool is_now)
{
    if (tess_work_is_kept(&j->kept) && (is_now || tess_work_is_due(&j->kept, false))) {
        tess_work_save(&j->kept, done_of(j), write_state, j);
    }
}

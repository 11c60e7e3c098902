// The data sets of a joint fit: what they must have in common, and sums over all of them.
#include "base/status.h"
#include "runtime/budget.h"
#include "stage/xpcs.h"
#include "systems/xpcs/fit/plan.h"
#include "systems/xpcs/joint/joint.h"

#include <math.h>
#include <string.h>

enum { STREAMING = 4 }; // of the choices of "strategy"

// Angles of a member may differ by this part of q and still be one q.
static const double same_q = 0.05;

static tess_status find_q(tess_xp_joint *j, int64_t m)
{
    const tess_xpcs_data_info *info = &j->data[m]->info;
    double least = info->q[0];
    double most = info->q[0];
    double sum = 0;
    for (int64_t a = 0; a < info->n_angle; a++) {
        least = fmin(least, info->q[a]);
        most = fmax(most, info->q[a]);
        sum += info->q[a];
    }
    j->result->q[m] = sum / (double)info->n_angle;
    if (most - least > same_q * most) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "member %lld: its angles have q from %g to %g 1/Å; a member is one q: select it",
                  (long long)m, least, most);
    }
    return TESS_OK;
}

static tess_status check_distinct(const tess_xp_joint *j)
{
    for (int64_t m = 0; m < j->n_member; m++) {
        for (int64_t l = 0; l < m; l++) {
            if (tess_hash_equal(j->data[m]->fingerprint, j->data[l]->fingerprint)) {
                TESS_FAIL(TESS_E_ARGUMENT,
                          "members %lld and %lld (counted from 0) are the same data%s%s; each may "
                          "be given once",
                          (long long)l, (long long)m, j->data[m]->info.path[0] ? ": " : "",
                          j->data[m]->info.path);
            }
        }
    }
    return TESS_OK;
}

// By rising q; equal ones as given.
static void order_members(tess_xp_joint *j)
{
    const double *q = j->result->q;
    for (int64_t i = 0; i < j->n_member; i++) {
        int64_t at = i;
        while (at > 0 && q[j->order[at - 1]] > q[i]) {
            j->order[at] = j->order[at - 1];
            at--;
        }
        j->order[at] = i;
    }
}

static tess_status take_ratios(tess_xp_joint *j)
{
    double sum = 0;
    for (int64_t m = 0; m < j->n_member; m++) {
        TESS_TRY(find_q(j, m));
        sum += log(j->result->q[m]);
    }
    j->q_ref = j->joint.q_ref > 0 ? j->joint.q_ref : exp(sum / (double)j->n_member);
    for (int64_t m = 0; m < j->n_member; m++) {
        j->log_ratio[m] = log(j->result->q[m] / j->q_ref);
    }
    order_members(j);
    return TESS_OK;
}

// A power of q needs two q at least, and a value to be free.
static tess_status check_ties(const tess_xp_joint *j, const double *fixed)
{
    const double *q = j->result->q;
    const double reach = q[j->order[j->n_member - 1]] - q[j->order[0]];
    for (int64_t k = 0; k < j->result->info.n_param; k++) {
        if (j->result->ties[k] != TESS_XPCS_TIE_POWER) {
            continue;
        }
        if (!isnan(fixed[k])) {
            TESS_FAIL(TESS_E_CONFIG, "%s: is fixed and cannot be a power of q; free it",
                      j->result->names[k]);
        }
        if (reach < 1e-6 * q[j->order[0]]) {
            TESS_FAIL(TESS_E_CONFIG,
                      "%s: all members have q = %g 1/Å, from which no power of q follows; share it",
                      j->result->names[k], q[0]);
        }
    }
    return TESS_OK;
}

// All members lie in memory together, or are read in every pass, at last by the smallest chunks.
static tess_status plan_memory(tess_xp_joint *j)
{
    enum { TURNS = 3 };
    const uint64_t room = tess_budget_room(j->ctx->memory_limit_bytes);
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t sum = 0;
        for (int64_t m = 0; m < j->n_member; m++) {
            tess_xp_plan plan;
            TESS_TRY(
                tess_xp_plan_make(j->ctx, j->data[m], j->result->info.n_param, &j->config, &plan));
            sum += plan.memory_bytes;
        }
        if (sum <= room) {
            return TESS_OK;
        }
        if (turn == TURNS - 1) {
            TESS_FAIL(TESS_E_LIMIT,
                      "memory limit: %llu bytes are too few to fit %lld members at once; about "
                      "%llu are needed (less from .txc2 files, which are not held in memory)",
                      (unsigned long long)j->ctx->memory_limit_bytes, (long long)j->n_member,
                      (unsigned long long)tess_budget_for_room(sum));
        }
        j->config.strategy = STREAMING;
        j->config.chunk_tiles = turn == 0 ? j->config.chunk_tiles : 1;
    }
    return TESS_OK;
}

static tess_status take_layout(tess_xp_joint *j)
{
    const tess_xp_problem *p = &j->members[0].problem;
    double fixed[TESS_XPCS_MAX_PARAM];
    for (int64_t k = 0; k < p->n_param; k++) {
        fixed[k] = p->is_fixed[k] ? p->start[k] : (double)NAN;
    }
    TESS_TRY(check_ties(j, fixed));
    tess_xp_layout_make(&j->layout, j->n_member, p->n_param, j->result->ties, fixed, j->log_ratio);
    const int64_t n = j->layout.n_x;
    if (n == 0) {
        TESS_FAIL(TESS_E_CONFIG, "every parameter is fixed: nothing is left to fit jointly");
    }
    j->lower = tess_blocks_alloc(&j->memory, 2 * n, sizeof *j->lower, "bounds");
    if (!j->lower) {
        return TESS_E_MEMORY;
    }
    j->upper = j->lower + n;
    for (int64_t i = 0; i < n; i++) {
        const tess_xpcs_unknown u = tess_xp_layout_unknown(&j->layout, i);
        j->lower[i] = u.is_exponent ? j->joint.exponent_lower : p->lower[u.param];
        j->upper[i] = u.is_exponent ? j->joint.exponent_upper : p->upper[u.param];
    }
    return TESS_OK;
}

tess_status tess_xp_joint_prepare(tess_xp_joint *j)
{
    const int64_t n = j->n_member;
    j->log_ratio = tess_blocks_alloc(&j->memory, n, sizeof *j->log_ratio, "members");
    j->order = tess_blocks_alloc(&j->memory, n, sizeof *j->order, "members");
    j->unit = tess_blocks_alloc(&j->memory, n, sizeof *j->unit, "members");
    j->members = tess_blocks_alloc(&j->memory, n, sizeof *j->members, "members");
    if (!j->log_ratio || !j->order || !j->unit || !j->members) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(check_distinct(j));
    TESS_TRY(take_ratios(j));
    TESS_TRY(plan_memory(j));
    for (int64_t m = 0; m < n; m++) {
        TESS_TRY(tess_xp_problem_open(j->ctx, j->data[m], &j->model, &j->config,
                                      &j->members[m].problem));
    }
    return take_layout(j);
}

static tess_status open_member(tess_xp_joint *j, int64_t m)
{
    tess_xp_member *member = &j->members[m];
    const tess_xp_problem *p = &member->problem;
    tess_xp_plan plan;
    TESS_TRY(tess_xp_plan_make(j->ctx, p->data, p->n_param, &p->config, &plan));
    const tess_xp_pass_setup setup = {.device = j->device,
                                      .data = p->data,
                                      .model = &p->model,
                                      .loss = TESS_XPCS_LOSS_LINEAR,
                                      .f_scale = p->config.f_scale,
                                      .inverse_variance = p->weights.inverse_variance,
                                      .lag_weight = p->weights.lag_weight,
                                      .leaves_per_chunk = plan.leaves_per_chunk,
                                      .is_streamed = plan.is_streamed,
                                      .max_retries = p->config.max_retries,
                                      .strategy = plan.strategy,
                                      .ignore_sigma = p->weights.ignore_sigma,
                                      .max_set = 1};
    TESS_TRY(tess_xp_pass_open(j->ctx, &setup, &member->pass));
    member->pass.is_quiet = j->watch.is_watched; // the whole tells how far it is
    member->block = tess_blocks_alloc(
        &j->memory, (int64_t)tess_xp_reduced_bytes(p->n_angle, p->n_param), 1, "sums of a member");
    member->sums = tess_blocks_alloc(&j->memory, member->pass.n_sum, sizeof(double), "its sums");
    if (!member->block || !member->sums) {
        return TESS_E_MEMORY;
    }
    tess_xp_reduced_bind(&member->reduced, member->block, p->n_angle, p->n_param);
    member->contrast = j->contrast + j->result->first_angle[m];
    return TESS_OK;
}

tess_status tess_xp_joint_open(tess_xp_joint *j)
{
    for (int64_t m = 0; m < j->n_member; m++) {
        TESS_TRY(open_member(j, m));
    }
    return TESS_OK;
}

void tess_xp_joint_close(tess_xp_joint *j)
{
    for (int64_t m = 0; j->members && m < j->n_member; m++) {
        tess_xp_pass_close(&j->members[m].pass);
        tess_xp_problem_close(&j->members[m].problem);
    }
    tess_blocks_free(&j->memory);
}

tess_status tess_xp_joint_poll(tess_xp_joint *j, int64_t member)
{
    enum { EVALUATIONS = 12 }; // that fits usually take
    const int64_t total = (1 + EVALUATIONS) * j->n_member;
    const int64_t done = j->n_single + j->head->n_evaluation * j->n_member + member;
    const bool is_end = j->head->phase == TESS_XP_JOINT_DONE;
    return tess_watch_poll(&j->watch, is_end || done > total ? total : done, total + !is_end);
}

tess_status tess_xp_joint_evaluate(tess_xp_joint *j, int32_t want, double *cost)
{
    const tess_xp_layout *layout = &j->layout;
    const size_t n = (size_t)layout->n_x;
    *cost = 0;
    memset(j->trial_gradient, 0, n * sizeof *j->trial_gradient);
    memset(j->trial_hessian, 0, n * n * sizeof *j->trial_hessian);
    for (int64_t m = 0; m < j->n_member; m++) {
        tess_xp_member *member = &j->members[m];
        double theta[TESS_XPCS_MAX_PARAM];
        tess_xp_layout_theta(layout, j->x, m, theta);
        const tess_xp_point point = {.theta = theta, .contrast = member->contrast, .want = want};
        member->pass.next_leaf = 0;
        TESS_TRY(tess_xp_pass_run(&member->pass, &point, member->sums));
        tess_xp_scaling_reduce(&member->problem.scaling, member->sums, member->contrast, want,
                               &member->reduced);
        *cost += *member->reduced.cost / j->unit[m];
        if (want) {
            tess_xp_layout_gather(layout, j->x, m, member->reduced.gradient,
                                  member->reduced.hessian, 1 / j->unit[m], j->trial_gradient,
                                  j->trial_hessian);
        }
        TESS_TRY(tess_xp_joint_poll(j, m + 1));
    }
    j->head->n_evaluation++;
    return TESS_OK;
}

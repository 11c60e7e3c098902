// Moving the inputs moves the results: f(Mx) = M f(x), and gradients by the inverse transposed.
#include "systems/clifford/check/check.h"
#include "systems/clifford/check/motion.h"

#include "base/status.h"

#include <math.h>

// Rounding within an operation may do this many times what rounding its inputs does.
static const double LENIENCY = 16;

// A trial at rest and in motion.
typedef struct pair {
    tess_cl_trial trial;
    tess_cl_values still;
    tess_cl_values moved;
} pair;

static bool is_gradient(int operand)
{
    return operand == CL_GZ || (operand >= CL_GRADIENT && operand < CL_COTANGENT);
}

// What belongs to rows and moves; the rest (weights, their gradients) stays.
static bool is_movable(int operand)
{
    return !tess_cl_is_weight(operand);
}

static void move(const pair *p, tess_cl_motion *motion, int operand, const double *x, double *out)
{
    const int64_t n_item = tess_cl_trial_items(&p->trial, operand) / motion->n_component;
    tess_cl_motion_apply(is_gradient(operand) ? motion->opposite : motion->map, motion->n_component,
                         n_item, x, out);
}

static tess_status prepare(pair *p, tess_clifford_pass pass, tess_cl_motion *motion, uint64_t seed)
{
    TESS_TRY(tess_cl_trial_draw(&p->trial, pass, seed, &p->still));
    TESS_TRY(tess_cl_trial_draw(&p->trial, pass, seed, &p->moved));
    const tess_cl_operands operands = {.pass = pass};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (p->still.of[i] && is_movable(i) && !tess_cl_is_output(&operands, i)) {
            move(p, motion, i, p->still.of[i], p->moved.of[i]);
        }
    }
    return TESS_OK;
}

// The worst relative error of the outputs of a pass.
static tess_status compare(pair *p, tess_clifford_pass pass, tess_dtype dtype,
                           tess_cl_motion *motion, uint64_t seed, tess_cl_worst *worst)
{
    const double unit = dtype == TESS_F64 ? 0x1p-53 : 0x1p-24;
    double change[CL_N_OPERAND];
    double moved_change[CL_N_OPERAND];
    TESS_TRY(prepare(p, pass, motion, seed));
    TESS_TRY(tess_cl_trial_run(&p->trial, pass, TESS_F64, &p->still));
    TESS_TRY(tess_cl_trial_run(&p->trial, pass, TESS_F64, &p->moved));
    TESS_TRY(tess_cl_trial_sensitivity(&p->trial, pass, &p->still, unit, change));
    TESS_TRY(tess_cl_trial_sensitivity(&p->trial, pass, &p->moved, unit, moved_change));
    TESS_TRY(tess_cl_trial_run(&p->trial, pass, dtype, &p->still));
    TESS_TRY(tess_cl_trial_run(&p->trial, pass, dtype, &p->moved));
    const tess_cl_operands operands = {.pass = pass};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (!p->still.of[i] || !tess_cl_is_output(&operands, i)) {
            continue;
        }
        double *want = p->still.of[i];
        if (is_movable(i)) {
            want = tess_cl_trial_room(&p->trial, i);
            if (!want) {
                return TESS_E_MEMORY;
            }
            move(p, motion, i, p->still.of[i], want);
        }
        // A boost amplifies what is rounded, forth and back.
        const double excused = LENIENCY * fmax(change[i], moved_change[i]);
        const double allowed = motion->gain * fmax(dtype == TESS_F64 ? 1e-13 : 2e-6, excused);
        tess_cl_worst_note(worst,
                           tess_cl_distance(p->moved.of[i], want, tess_cl_trial_items(&p->trial, i),
                                            (double)INFINITY),
                           allowed);
    }
    return TESS_OK;
}

static tess_status check_kind(tess_cl_check *check, tess_blocks *blocks, tess_clifford_kind kind,
                              tess_clifford_bias_mode bias_mode, tess_cl_motion_kind motion_kind,
                              tess_dtype dtype)
{
    const bool is_control = bias_mode == TESS_CLIFFORD_BIAS_ALL;
    const uint64_t seed = (uint64_t)check->config.seed;
    pair p;
    TESS_TRY(tess_cl_trial_init(&p.trial, check->ctx, blocks, check->metric, kind, bias_mode,
                                check->config.n_row, check->config.n_feature));
    tess_cl_motion motion;
    tess_cl_motion_draw(&motion, &p.trial.op.algebra, motion_kind, seed);
    tess_cl_worst worst = {0, 0};
    TESS_TRY(compare(&p, TESS_CLIFFORD_FORWARD, dtype, &motion, seed, &worst));
    tess_blocks_free(blocks);
    if (!is_control) {
        TESS_TRY(compare(&p, TESS_CLIFFORD_BACKWARD, dtype, &motion, seed, &worst));
    }
    tess_cl_check_add(check, dtype, worst.error, worst.allowed, is_control, "%s.%s.%s",
                      is_control ? "control.bias_all" : "equivariance",
                      tess_cl_check_kind_name(kind), tess_cl_motion_names[motion_kind]);
    return tess_cl_check_next(check, blocks);
}

static const tess_dtype dtypes[] = {TESS_F64, TESS_F32};
enum { N_DTYPE = sizeof dtypes / sizeof *dtypes };

int64_t tess_cl_check_n_equivariance(const tess_clifford_metric *metric)
{
    int64_t n_motion = 0;
    for (int m = 0; m < CL_N_MOTION; m++) {
        n_motion += tess_cl_motion_exists(metric, (tess_cl_motion_kind)m);
    }
    return n_motion * (CL_N_KIND * N_DTYPE + 1);
}

tess_status tess_cl_check_equivariance(tess_cl_check *check, tess_blocks *blocks)
{
    for (int m = 0; m < CL_N_MOTION; m++) {
        if (!tess_cl_motion_exists(check->metric, (tess_cl_motion_kind)m)) {
            continue;
        }
        for (int d = 0; d < N_DTYPE; d++) {
            for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
                TESS_TRY(check_kind(check, blocks, (tess_clifford_kind)kind,
                                    TESS_CLIFFORD_BIAS_SCALAR, (tess_cl_motion_kind)m, dtypes[d]));
            }
        }
        TESS_TRY(check_kind(check, blocks, TESS_CLIFFORD_LAYER, TESS_CLIFFORD_BIAS_ALL,
                            (tess_cl_motion_kind)m, TESS_F64));
    }
    return TESS_OK;
}

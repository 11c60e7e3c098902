// Operations on random data through the public calls, everything held as doubles.
#ifndef TESS_CLIFFORD_TRIAL_H
#define TESS_CLIFFORD_TRIAL_H

#include "base/blocks.h"
#include "systems/clifford/op/operands.h"

// An operation and its sizes. Memory lives until the blocks are freed.
typedef struct tess_cl_trial {
    tess_context *ctx;
    tess_blocks *blocks;
    tess_clifford_op op;
    tess_cl_sizes sizes; // types are set by each evaluation
} tess_cl_trial;

// Items of every operand in C order; NULL: not there.
typedef struct tess_cl_values {
    double *of[CL_N_OPERAND];
} tess_cl_values;

// kind with default options but for those given. Features of operations whose weights grow with
// their square are limited.
TESS_MUST_CHECK tess_status tess_cl_trial_init(tess_cl_trial *trial, tess_context *ctx,
                                               tess_blocks *blocks,
                                               const tess_clifford_metric *metric,
                                               tess_clifford_kind kind,
                                               tess_clifford_bias_mode bias_mode, int64_t n_row,
                                               int64_t n_feature);

int64_t tess_cl_trial_items(const tess_cl_trial *trial, int operand);
// Zeros; NULL with the message recorded when there is no memory.
double *tess_cl_trial_room(const tess_cl_trial *trial, int operand);
// Whether the operation has an operand in a pass (statistics and linear_out aside).
bool tess_cl_trial_has(const tess_cl_trial *trial, tess_clifford_pass pass, int operand);

// Normal inputs of a pass and room for its outputs.
TESS_MUST_CHECK tess_status tess_cl_trial_draw(const tess_cl_trial *trial, tess_clifford_pass pass,
                                               uint64_t seed, tess_cl_values *values);
// Rounds inputs to what a type can hold.
void tess_cl_trial_round(const tess_cl_trial *trial, tess_clifford_pass pass, tess_dtype dtype,
                         tess_cl_values *values);
// Does the pass with arrays of the type, which go again; outputs in values are overwritten.
TESS_MUST_CHECK tess_status tess_cl_trial_run(tess_cl_trial *trial, tess_clifford_pass pass,
                                              tess_dtype dtype, tess_cl_values *values);

// How much each output changes, relative to itself, when the inputs are off by unit: what an
// operation cannot be blamed for. values: inputs, and outputs as f64 gives them.
TESS_MUST_CHECK tess_status tess_cl_trial_sensitivity(tess_cl_trial *trial, tess_clifford_pass pass,
                                                      const tess_cl_values *values, double unit,
                                                      double change[CL_N_OPERAND]);

// What checks of a pass hold at once: data at rest, data moved or computed again, data that are
// off, and the arrays of the call, with its workspace. In double: sizes may be more than can be
// counted.
TESS_MUST_CHECK tess_status tess_cl_trial_bytes(tess_cl_trial *trial, tess_clifford_pass pass,
                                                double *bytes);

// |a - b| / |b| of n items; those of b beyond largest are left out.
double tess_cl_distance(const double *a, const double *b, int64_t n, double largest);

// The worst of several errors, as parts of what is allowed.
typedef struct tess_cl_worst {
    double error;
    double allowed;
} tess_cl_worst;

void tess_cl_worst_note(tess_cl_worst *worst, double error, double allowed);

#endif

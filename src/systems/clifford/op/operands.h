// The arrays of a call as one table, so that checks, copies and views are loops.
#ifndef TESS_CLIFFORD_OPERANDS_H
#define TESS_CLIFFORD_OPERANDS_H

#include "runtime/context.h"
#include "stage/clifford.h"

#include <stdbool.h>

// Members of tess_clifford_arrays.
enum { CL_X, CL_Y, CL_WEIGHT, CL_LINEAR_WEIGHT, CL_BIAS, CL_N_MEMBER };

// Where each struct of arrays begins, and the single arrays.
enum {
    CL_INPUT = 0,
    CL_GRADIENT = CL_INPUT + CL_N_MEMBER,
    CL_COTANGENT = CL_GRADIENT + CL_N_MEMBER,
    CL_RESULT = CL_COTANGENT + CL_N_MEMBER,
    CL_Z = CL_RESULT + CL_N_MEMBER,
    CL_GZ,
    CL_DGZ,
    CL_LINEAR_OUT,
    CL_STATISTICS,
    CL_N_OPERAND
};

typedef struct tess_cl_operands {
    tess_clifford_pass pass;
    bool has_inputs_only;                   // a question about sizes
    const tess_array *arrays[CL_N_OPERAND]; // NULL: not there
} tess_cl_operands;

// What the arrays of a call agree on.
typedef struct tess_cl_sizes {
    int64_t n_row;
    int64_t n_in;  // features of x
    int64_t n_out; // features of z
    int32_t dtype;
    int32_t weight_dtype;
} tess_cl_sizes;

// What an operation has.
bool tess_cl_has_member(int32_t kind, int member);
bool tess_cl_is_layer(int32_t kind);
bool tess_cl_is_connected(int32_t kind); // weights (path, in, out)
bool tess_cl_has_norm(const tess_clifford_op *op);

// "clifford.sgp"
const char *tess_cl_op_name(const tess_clifford_op *op);
bool tess_cl_is_output(const tess_cl_operands *operands, int operand);
// Whether it is a weight, a bias or of their shapes.
bool tess_cl_is_weight(int operand);

enum { CL_NAME_BYTES = 40 };
// "gradients.weight"
void tess_cl_operand_name(int operand, char name[CL_NAME_BYTES]);
// Records "clifford.sgp: gradients.weight: ..." and returns status. Names are made here, since
// checks that pass must cost nothing.
tess_status tess_cl_fail(const tess_clifford_op *op, int operand, tess_status status,
                         const char *format, ...) TESS_PRINTF(4, 5);

// Shape and type of an operand of an operation; returns the rank.
int32_t tess_cl_operand_shape(const tess_clifford_op *op, const tess_cl_sizes *sizes, int operand,
                              int64_t shape[3]);
int32_t tess_cl_operand_dtype(const tess_cl_sizes *sizes, int operand);

// Takes the arrays of a struct; given may be NULL. name: for messages.
TESS_MUST_CHECK tess_status tess_cl_operands_take(tess_cl_operands *operands, int group,
                                                  const tess_clifford_arrays *given,
                                                  const char *name);

// check.c. Shapes, types and presence; the data are not looked at.
TESS_MUST_CHECK tess_status tess_cl_check_op(const tess_context *ctx, const tess_clifford_op *op);
TESS_MUST_CHECK tess_status tess_cl_check_arrays(const tess_clifford_op *op,
                                                 const tess_cl_operands *operands,
                                                 tess_cl_sizes *sizes);
// check_memory.c. Where the data are; that results fall on nothing else.
TESS_MUST_CHECK tess_status tess_cl_check_place(tess_context *ctx, const tess_clifford_op *op,
                                                const tess_cl_operands *operands);
TESS_MUST_CHECK tess_status tess_cl_check_memory(const tess_clifford_op *op,
                                                 const tess_cl_operands *operands);
// overlap.c
bool tess_cl_overlaps(const tess_array *a, const tess_array *b);
bool tess_cl_overlaps_itself(const tess_array *a);

#endif

/** How long operations take on this machine, fused and as separate passes. */
#ifndef TESSERA_SYS_CLIFFORD_BENCH_H
#define TESSERA_SYS_CLIFFORD_BENCH_H

#include "tessera/clifford/op.h"

TESS_BEGIN_DECLS

/** Medians for one shape. What was not measured is 0. */
typedef struct tess_clifford_timing {
    uint32_t struct_size;
    int32_t n_sample; /* of each median */
    int64_t n_row;
    int64_t n_feature;
    double forward_s;
    double forward_backward_s;
    /** The same with a pass of its own for linear map, gates, product and norm, each as fast as
     *  this library has it, and arrays between them. */
    double separate_forward_s;
    double separate_forward_backward_s;
    uint64_t memory_bytes;          /* inputs, results, gradients and workspace of both passes */
    uint64_t separate_memory_bytes; /* the same as separate passes */
    double forward_bytes;           /* least traffic with main memory */
    double forward_backward_bytes;
    double forward_flops; /* of matrix products; 0 if there are none */
    double forward_backward_flops;
} tess_clifford_timing;

/**
 * Measures op on random arrays of dtype on ctx's device, about seconds for each of the medians.
 * Inputs are rotated so that no cache serves them twice.
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_measure(
    tess_context *ctx, const tess_clifford_op *op, tess_dtype dtype, int64_t n_row,
    int64_t n_feature, double seconds, tess_clifford_timing *timing, size_t struct_size);

/** One page with maps over batch and features: times, speed-up, memory, share of bandwidth.
 *  timings row by row: n_row_size times n_feature_size of them, features fastest. */
TESS_API TESS_MUST_CHECK tess_status
tess_clifford_bench_report(tess_context *ctx, const tess_clifford_op *op, tess_dtype dtype,
                           const tess_clifford_timing *timings, int64_t n_row_size,
                           int64_t n_feature_size, const char *path, int overwrite);

TESS_END_DECLS

#endif

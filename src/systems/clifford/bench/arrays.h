// The arrays of a measurement, on the device it is made on.
#ifndef TESS_CLIFFORD_BENCH_ARRAYS_H
#define TESS_CLIFFORD_BENCH_ARRAYS_H

#include "runtime/context.h"
#include "tessera/clifford/op.h"

// What an array of a measurement is.
typedef enum bench_array {
    // Inputs, of which there are several sets.
    BENCH_X,
    BENCH_Y,
    BENCH_GZ,
    BENCH_N_INPUT,
    // Weights and everything written.
    BENCH_WEIGHT = BENCH_N_INPUT,
    BENCH_LINEAR_WEIGHT,
    BENCH_BIAS,
    BENCH_Z,
    BENCH_STATISTICS,
    BENCH_LINEAR_OUT,
    BENCH_GX,
    BENCH_GY,
    BENCH_GWEIGHT,
    BENCH_GLINEAR_WEIGHT,
    BENCH_GBIAS,
    // Between separate passes.
    BENCH_GATED_X,
    BENCH_GATED_Y,
    BENCH_PRODUCT,
    BENCH_H,
    BENCH_GGATED_X,
    BENCH_GGATED_Y,
    BENCH_WORKSPACE,
    BENCH_N_ARRAY
} bench_array;

enum { BENCH_MAX_SET = 8, BENCH_ALIGNMENT = 256 };

typedef struct bench_memory {
    const tess_device *device;
    tess_backend_queue *queue;
    tess_dtype dtype;
    int32_t n_set;
    tess_array arrays[BENCH_MAX_SET][BENCH_N_ARRAY]; // sets beyond the first have inputs alone
    size_t bytes[BENCH_N_ARRAY];
} bench_memory;

// Shape of an array of op; rank 0 where op has none.
int32_t bench_shape(const tess_clifford_op *op, bench_array what, int64_t n_row, int64_t n_feature,
                    int64_t shape[TESS_MAX_RANK]);

// Takes and fills the arrays that op needs, n_set sets of inputs. On failure nothing is held.
TESS_MUST_CHECK tess_status bench_memory_create(tess_context *ctx, const tess_clifford_op *op,
                                                tess_dtype dtype, int64_t n_row, int64_t n_feature,
                                                bench_memory *memory);
// At least this much workspace from the next multiple of BENCH_ALIGNMENT on, 0 is none.
TESS_MUST_CHECK tess_status bench_memory_workspace(bench_memory *memory, size_t bytes);
void bench_memory_destroy(bench_memory *memory);

#endif

/** Whether the operations hold their promises on this machine: equivariance and gradients. */
#ifndef TESSERA_SYS_CLIFFORD_CHECK_H
#define TESSERA_SYS_CLIFFORD_CHECK_H

#include "tessera/clifford/op.h"

TESS_BEGIN_DECLS

/** One figure of tess_clifford_check(). */
typedef struct tess_clifford_finding {
    char name[64];      /* "equivariance.layer.reflection" */
    char dtype[8];      /* "f64" */
    double error;       /* relative */
    double allowed;     /* what the specification of the operation allows */
    int32_t is_control; /* 1: must exceed what is allowed (bias on all components) */
    int32_t passed;
} tess_clifford_finding;

/** Options, table "clifford.check". */
typedef struct tess_clifford_check_config {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t n_row;
    int64_t n_feature;
    int64_t seed;
} tess_clifford_check_config;

TESS_API const tess_param_table *tess_clifford_check_params(void);
TESS_API void tess_clifford_check_config_init(tess_clifford_check_config *config,
                                              size_t struct_size);

/**
 * Applies random rotations, reflections and versors to random data (equivariance of values and
 * gradients), compares gradients with finite differences in f64, other types with f64, and repeats
 * for equal bits, on ctx's device. Fills findings[0..capacity); *n_finding is how many there are.
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_check(tess_context *ctx,
                                                         const tess_clifford_metric *metric,
                                                         const tess_clifford_check_config *config,
                                                         tess_clifford_finding *findings,
                                                         int64_t capacity, int64_t *n_finding);

TESS_END_DECLS

#endif

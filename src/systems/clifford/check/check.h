// The parts of tess_clifford_check().
#ifndef TESS_CLIFFORD_CHECK_PARTS_H
#define TESS_CLIFFORD_CHECK_PARTS_H

#include "runtime/watch.h"
#include "systems/clifford/check/trial.h"
#include "tessera/sys/clifford_check.h"

enum { CL_N_KIND = TESS_CLIFFORD_FC_LAYER - TESS_CLIFFORD_GATE + 1 };

typedef struct tess_cl_check {
    tess_context *ctx;
    const tess_clifford_metric *metric;
    tess_clifford_check_config config;
    tess_clifford_finding *findings;
    int64_t capacity;
    int64_t n_finding; // may exceed capacity: what there would be
    tess_watch watch;
    int64_t n_done; // comparisons
    int64_t n_total;
} tess_cl_check;

// "sgp" of a kind.
const char *tess_cl_check_kind_name(tess_clifford_kind kind);

// name by format. A control must exceed what is allowed.
void tess_cl_check_add(tess_cl_check *check, tess_dtype dtype, double error, double allowed,
                       bool is_control, const char *format, ...) TESS_PRINTF(6, 7);

// Behind a comparison: its data go, progress is told. TESS_CANCELLED on request.
TESS_MUST_CHECK tess_status tess_cl_check_next(tess_cl_check *check, tess_blocks *blocks);

// How many comparisons a part makes; then the parts.
int64_t tess_cl_check_n_equivariance(const tess_clifford_metric *metric);
int64_t tess_cl_check_n_gradient(void);
int64_t tess_cl_check_n_precision(void);
int64_t tess_cl_check_n_determinism(void);
TESS_MUST_CHECK tess_status tess_cl_check_equivariance(tess_cl_check *check, tess_blocks *blocks);
TESS_MUST_CHECK tess_status tess_cl_check_gradients(tess_cl_check *check, tess_blocks *blocks);
TESS_MUST_CHECK tess_status tess_cl_check_precision(tess_cl_check *check, tess_blocks *blocks);
TESS_MUST_CHECK tess_status tess_cl_check_determinism(tess_cl_check *check, tess_blocks *blocks);

#endif

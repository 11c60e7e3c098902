// What is computed: an operation with its options, checked once.
#include "tessera/clifford/op.h"
#include "base/status.h"
#include "base/struct_read.h"

static tess_status read_config(const tess_clifford_config *given, tess_clifford_config *config)
{
    tess_clifford_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    return tess_params_check(tess_clifford_params(), config);
}

tess_status tess_clifford_op_init(tess_clifford_op *op, size_t struct_size, tess_clifford_kind kind,
                                  const tess_clifford_metric *metric,
                                  const tess_clifford_config *config, uint64_t path_mask)
{
    if (!op) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford: op must not be NULL");
    }
    if (kind < TESS_CLIFFORD_GATE || kind > TESS_CLIFFORD_FC_LAYER) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford: kind %d is no operation", (int)kind);
    }
    tess_clifford_op made = {.struct_size = sizeof made, .kind = (int32_t)kind};
    TESS_TRY(tess_clifford_algebra_init(&made.algebra, sizeof made.algebra, metric));
    TESS_TRY(read_config(config, &made.config));
    if (made.config.norm_metric == TESS_CLIFFORD_NORM_AUTO) {
        made.config.norm_metric =
            made.algebra.is_euclidean ? TESS_CLIFFORD_NORM_EUCLID : TESS_CLIFFORD_NORM_ABS;
    }
    const uint64_t all = (UINT64_C(1) << made.algebra.n_path) - 1;
    if (path_mask != UINT64_MAX && (path_mask & ~all) != 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "clifford: path_mask: 0x%llx has bits beyond the %d paths of this algebra; set "
                  "bits 0 to %d, or all 64",
                  (unsigned long long)path_mask, (int)made.algebra.n_path,
                  (int)made.algebra.n_path - 1);
    }
    made.path_mask = path_mask & all;
    tess_struct_init(op, struct_size, &made, sizeof made);
    return TESS_OK;
}

void tess_clifford_call_init(tess_clifford_call *call, size_t struct_size)
{
    const tess_clifford_call defaults = {0};
    tess_struct_init(call, struct_size, &defaults, sizeof defaults);
}

// The parameter tables: the only place where a default is written.
#include "base/struct_read.h"
#include "tessera/clifford.h"
#include "tessera/sys/clifford_check.h"

#include <stddef.h>

#define FIELD(field) offsetof(CONFIG, field)

#define CONFIG tess_clifford_config
static const tess_param op_params[] = {
    {"activation", TESS_PARAM_CHOICE, FIELD(activation), TESS_CLIFFORD_GELU, 0, 6,
     "none|gelu|gelu_tanh|relu|sigmoid|tanh|silu", "",
     "function of the scalar component that multiplies every component of an input"},
    {"normalize", TESS_PARAM_FLAG, FIELD(normalize), 1, 0, 1, NULL, "",
     "divide every grade of a row by its root mean square over the features"},
    {"norm_metric", TESS_PARAM_CHOICE, FIELD(norm_metric), TESS_CLIFFORD_NORM_AUTO, 0, 4,
     "auto|euclid|abs|clamp|abs_clamp", "",
     "squares of the norm: all positive, the size of the metric's per grade, the metric's over all "
     "grades, or the sizes of all grades together; auto takes euclid where every symbol squares to "
     "+1, else abs"},
    {"eps", TESS_PARAM_REAL, FIELD(eps), 1e-6, 0, 1e9, NULL, "",
     "added to the mean square under the root; least mean square for clamp and abs_clamp"},
    {"bias_mode", TESS_PARAM_CHOICE, FIELD(bias_mode), TESS_CLIFFORD_BIAS_SCALAR, 0, 1,
     "scalar|all", "",
     "components that get the bias: the scalar alone (equivariant) or all (as flash-clifford)"},
    {"precision", TESS_PARAM_CHOICE, FIELD(precision), TESS_CLIFFORD_HIGHEST, 0, 1, "highest|high",
     "", "products of f32 matrices: as exact as f32, or with inputs of 10 mantissa bits as TF32"},
};
#undef CONFIG

static const tess_param_table op_table = {"clifford.op", op_params,
                                          sizeof op_params / sizeof *op_params};

const tess_param_table *tess_clifford_params(void)
{
    return &op_table;
}

void tess_clifford_config_init(tess_clifford_config *config, size_t struct_size)
{
    tess_clifford_config defaults = {0};
    tess_params_defaults(&op_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_clifford_check_config
static const tess_param check_params[] = {
    {"rows", TESS_PARAM_INT, FIELD(n_row), 37, 1, 1e6, NULL, "rows", "rows of the random data"},
    {"features", TESS_PARAM_INT, FIELD(n_feature), 28, 8, 1e5, NULL, "features",
     "features of the random data"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 1, 0, 9e15, NULL, "", "seed of the random data"},
};
#undef CONFIG

static const tess_param_table check_table = {"clifford.check", check_params,
                                             sizeof check_params / sizeof *check_params};

const tess_param_table *tess_clifford_check_params(void)
{
    return &check_table;
}

void tess_clifford_check_config_init(tess_clifford_check_config *config, size_t struct_size)
{
    tess_clifford_check_config defaults = {0};
    tess_params_defaults(&check_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

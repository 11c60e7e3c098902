#include "backend/cpu/xpcs/stages.h"

#include "stage/xpcs.h"
#include "stage/xpcs_rates.h"
#include "stage/xpcs_sweep.h"

static const tess_cpu_stage stages[] = {
    {TESS_STAGE_XPCS_PASS, "xpcs.pass", sizeof(tess_stage_xpcs_pass), tess_cpu_xpcs_pass},
    {TESS_STAGE_XPCS_MODEL, "xpcs.model", sizeof(tess_stage_xpcs_model), tess_cpu_xpcs_model},
    {TESS_STAGE_XPCS_SIMULATE, "xpcs.simulate", sizeof(tess_stage_xpcs_simulate),
     tess_cpu_xpcs_simulate},
    {TESS_STAGE_XPCS_REDUCE, "xpcs.reduce", sizeof(tess_stage_xpcs_reduce), tess_cpu_xpcs_reduce},
    {TESS_STAGE_XPCS_GRIDS, "xpcs.grids", sizeof(tess_stage_xpcs_grids), tess_cpu_xpcs_grids},
    {TESS_STAGE_XPCS_TWO, "xpcs.two_component", sizeof(tess_stage_xpcs_model), tess_cpu_xpcs_model},
    {TESS_STAGE_XPCS_RATES, "xpcs.rates", sizeof(tess_stage_xpcs_rates), tess_cpu_xpcs_rates},
    {TESS_STAGE_XPCS_SWEEP, "xpcs.sweep", sizeof(tess_stage_xpcs_sweep), tess_cpu_xpcs_sweep},
};

const tess_cpu_stage_table tess_cpu_xpcs = {stages, sizeof stages / sizeof *stages};

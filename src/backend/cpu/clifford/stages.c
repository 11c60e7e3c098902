#include "backend/cpu/clifford/stages.h"

#include "stage/clifford.h"
#include "stage/clifford_graph.h"
#include "stage/clifford_maps.h"

static const tess_cpu_stage stages[] = {
    {TESS_STAGE_CLIFFORD_FCGP, "clifford.fcgp", sizeof(tess_stage_clifford_fcgp),
     tess_cpu_clifford_fcgp},
    {TESS_STAGE_CLIFFORD_LAYER, "clifford.layer", sizeof(tess_stage_clifford_layer),
     tess_cpu_clifford_layer},
    {TESS_STAGE_CLIFFORD_LINEAR, "clifford.linear", sizeof(tess_stage_clifford_linear),
     tess_cpu_clifford_linear},
    {TESS_STAGE_CLIFFORD_SUM, "clifford.sum", sizeof(tess_stage_clifford_sum),
     tess_cpu_clifford_sum},
    {TESS_STAGE_CLIFFORD_GATE, "clifford.gate", sizeof(tess_stage_clifford_gate),
     tess_cpu_clifford_gate},
    {TESS_STAGE_CLIFFORD_NORM, "clifford.norm", sizeof(tess_stage_clifford_norm),
     tess_cpu_clifford_norm},
    {TESS_STAGE_CLIFFORD_SGP, "clifford.sgp", sizeof(tess_stage_clifford_sgp),
     tess_cpu_clifford_sgp},
    {TESS_STAGE_CLIFFORD_GRAPH_SUM, "clifford.graph_sum", sizeof(tess_stage_clifford_graph),
     tess_cpu_clifford_graph_sum},
    {TESS_STAGE_CLIFFORD_GRAPH_DOT, "clifford.graph_dot", sizeof(tess_stage_clifford_graph),
     tess_cpu_clifford_graph_dot},
    {TESS_STAGE_CLIFFORD_MAPS, "clifford.maps", sizeof(tess_stage_clifford_maps),
     tess_cpu_clifford_maps},
};

const tess_cpu_stage_table tess_cpu_clifford = {stages, sizeof stages / sizeof *stages};

// Edges of graphs: the bits of the reference for any lists, widths and scales; nothing written
// beside the sums.

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 7, MOST_EDGES = 12, MOST_FEATURES = 90, GAP = 3 };

#define SCALAR float
#define T_NAME(name) name##_f32
#include "test_clifford_edges_body.h"

#undef SCALAR
#undef T_NAME
#define SCALAR double
#define T_NAME(name) name##_f64
#include "test_clifford_edges_body.h"

const check_test test_clifford_edges_list[] = {{"clifford_edges_f32", edges_match_f32},
                                               {"clifford_edges_f64", edges_match_f64},
                                               {"clifford_dot_f32", dots_match_f32},
                                               {"clifford_dot_f64", dots_match_f64},
                                               {NULL, NULL}};

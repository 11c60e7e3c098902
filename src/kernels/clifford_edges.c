// What edges of a graph bring to a receiver, and products along an edge; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#define T_BITS 32
#include "kernels/clifford_edges_body.h"

#define T_BITS 64
#include "kernels/clifford_edges_body.h"

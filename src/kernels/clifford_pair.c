// Products of multivectors that are taken one pair (path, output component) at a time, and what
// their gradients leave in those of the factors; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#define T_BITS 32
#include "kernels/clifford_pair_body.h"

#define T_BITS 64
#include "kernels/clifford_pair_body.h"

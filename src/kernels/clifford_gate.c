// Gates of multivectors; built once per ISA.

#include "kernels/simd/math.h"

#include "kernels/isa.h"

#define T_BITS 32
#include "kernels/clifford_gate_body.h"

#define T_BITS 64
#include "kernels/clifford_gate_body.h"

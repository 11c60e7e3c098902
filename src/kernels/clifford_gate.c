// Gates of multivectors; built once per ISA.

#include "kernels/simd/math.h"

#include "kernels/isa.h"

// Component 0 is asked for so many features or a row ahead.
enum { AHEAD = 128 };

#define T_BITS 32
#include "kernels/clifford_gate_body.h"

#define T_BITS 64
#include "kernels/clifford_gate_body.h"

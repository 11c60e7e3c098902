// The elementary functions on arrays; built once per ISA, and as reference.

#include "kernels/simd/math.h"

#define T_BITS 32
#include "kernels/math_arrays.h"

#define T_BITS 64
#include "kernels/math_arrays.h"

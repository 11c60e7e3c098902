// Products of multivectors; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#define T_BITS 32
#include "kernels/clifford_product_body.h"

#define T_BITS 64
#include "kernels/clifford_product_body.h"

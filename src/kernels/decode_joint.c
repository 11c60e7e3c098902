// Gaussian sums over points with a running maximum; built once per ISA.

#include "kernels/simd/math.h"

#include <math.h>

// Points per block: its coordinates and exponents stay in the first cache.
enum { JOINT_BLOCK = 512 };

#define T_BITS 32
#include "kernels/decode_joint_body.h"

#define T_BITS 64
#include "kernels/decode_joint_body.h"

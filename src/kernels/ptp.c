// Peak-to-peak of rows; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

#define T_BITS 32
#include "kernels/ptp_body.h"

#define T_BITS 64
#include "kernels/ptp_body.h"

// Gaussian sums over points, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

#define T_BITS 32
#include "kernels/ref/decode_joint_ref_body.h"

#define T_BITS 64
#include "kernels/ref/decode_joint_ref_body.h"

// Peak-to-peak of rows, as plainly as it can be said.

#include "kernels/isa.h"

#include <math.h>

#define T_BITS 32
#include "kernels/ref/ptp_ref_body.h"

#define T_BITS 64
#include "kernels/ref/ptp_ref_body.h"

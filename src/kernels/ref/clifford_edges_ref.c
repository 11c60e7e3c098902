// Edges of graphs, as plainly as they can be said.

#include "kernels/clifford.h"
#include "kernels/isa.h"

#include <math.h>

#define SCALAR float
#define FMA fmaf
#define T_NAME(name) name##_f32
#include "kernels/ref/clifford_edges_ref_body.h"

#undef SCALAR
#undef FMA
#undef T_NAME
#define SCALAR double
#define FMA fma
#define T_NAME(name) name##_f64
#include "kernels/ref/clifford_edges_ref_body.h"

// Products of multivectors; built once per ISA.

#include "kernels/simd/math.h"

#include "kernels/isa.h"

#include "clifford/algebras.h"

// out_cl30_f32 and so on, and the list of its terms.
#define FORM_NAME_(form, algebra) T_NAME(form##_##algebra)
#define FORM_NAME(form, algebra) FORM_NAME_(form, algebra)
// clang-format off
#define FORM_FILE(algebra, form) TESS_STRING(clifford/TESS_PASTE2(algebra, form).def)
// clang-format on

// Features whose weights stay in the first-level cache while rows go by.
enum { TILE = 256 };

// Features of a group: their gates come first, and then their products. A multiple of the length of
// every vector, and bytes of a cache line.
enum { GROUP = 128, LINE = 64 };

// Inputs are asked for so many features or a row ahead.
enum { AHEAD = 128 };

#define T_BITS 32
#include "kernels/clifford_product_body.h"

#define T_BITS 64
#include "kernels/clifford_product_body.h"

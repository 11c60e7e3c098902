// Matrix products of tiles with packed panels: the bits of the reference for any shape; nothing
// written beside the rows.

#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct product {
    size_t n_row, depth, n_col;
    size_t c_stride;
    int is_transposed, is_first;
} product;

static product any_product(check *t, int round)
{
    product p = {.n_row = 1 + check_random(t) % (round % 4 == 0 ? 100 : 31),
                 .depth = 1 + check_random(t) % (round % 5 == 0 ? TESS_CL_GEMM_DEPTH : 20),
                 .n_col = 1 + check_random(t) % (round % 12 == 0  ? 600
                                                 : round % 3 == 0 ? 150
                                                                  : 40),
                 .is_transposed = round % 2,
                 .is_first = round / 2 % 2};
    p.c_stride = p.n_col + check_random(t) % 3;
    return p;
}

#define SCALAR float
#define T_NAME(name) name##_f32
#define T_EPSILON ((double)FLT_EPSILON)
#include "test_clifford_gemm_body.h"

#undef SCALAR
#undef T_NAME
#undef T_EPSILON
#define SCALAR double
#define T_NAME(name) name##_f64
#define T_EPSILON DBL_EPSILON
#include "test_clifford_gemm_body.h"

const check_test test_clifford_gemm_list[] = {{"clifford_gemm_f32", products_match_f32},
                                              {"clifford_gemm_f64", products_match_f64},
                                              {"clifford_gemm_f32 sums", sums_are_right_f32},
                                              {"clifford_gemm_f64 sums", sums_are_right_f64},
                                              {NULL, NULL}};

// Pairs of paths and components: the bits of the reference for any terms, rows and strides; nothing
// written beside the rows.

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { COMPONENTS = 8, MOST_ENTRIES = 6 };

typedef struct pair_shape {
    size_t n_entry, n_row, n, stride;
} pair_shape;

static pair_shape any_pair(check *t, tess_cl_entry entries[MOST_ENTRIES])
{
    pair_shape s = {.n_entry = check_random(t) % (MOST_ENTRIES + 1),
                    .n_row = 1 + check_random(t) % 5,
                    .n = 1 + check_random(t) % TESS_CL_GEMM_DEPTH};
    s.stride = s.n + check_random(t) % 3;
    for (size_t k = 0; k < s.n_entry; k++) {
        entries[k] = (tess_cl_entry){.a = (uint8_t)(check_random(t) % COMPONENTS),
                                     .b = (uint8_t)(check_random(t) % COMPONENTS),
                                     .is_negative = check_random(t) % 2};
    }
    return s;
}

#define SCALAR float
#define T_NAME(name) name##_f32
#include "test_clifford_pair_body.h"

#undef SCALAR
#undef T_NAME
#define SCALAR double
#define T_NAME(name) name##_f64
#include "test_clifford_pair_body.h"

const check_test test_clifford_pair_list[] = {
    {"clifford_pair_f32", pairs_match_f32}, {"clifford_pair_f64", pairs_match_f64}, {NULL, NULL}};

// The kernels of clifford on rows of multivectors against the reference: lengths around those of
// vectors, rows of any stride, nothing read or written behind the last feature.

#include "check.h"

#include "clifford/algebras.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D_MAX = TESS_CLIFFORD_MAX_COMPONENTS, ROWS_MAX = 3, N_MAX = 600 };

// What the generated lists say about an algebra.
typedef struct algebra {
    const char *name;
    int code;
    int n_component, n_grade, n_path;
    const int8_t *grade, *eta;
    tess_cl_list lists[TESS_CL_N_FORM];
} algebra;

static void add_entry(tess_cl_list *list, int path, int out, int a, int b, int is_negative)
{
    list->entries[list->n_entry++] = (tess_cl_entry){.out = (uint8_t)out,
                                                     .path = (uint8_t)path,
                                                     .a = (uint8_t)a,
                                                     .b = (uint8_t)b,
                                                     .is_negative = (uint8_t)is_negative};
}

#define CL_OPEN(c)
#define CL_CLOSE(c, g)
#define CL_PATH(p) list->entries[list->n_entry - 1].ends_path = 1;
#define CL_BEGIN(p, c)                                                                             \
    {                                                                                              \
        const int path = (p), out = (c);
#define CL_FIRST_PLUS(i, j) add_entry(list, path, out, (i), (j), 0);
#define CL_FIRST_MINUS(i, j) add_entry(list, path, out, (i), (j), 1);
#define CL_PLUS(i, j) add_entry(list, path, out, (i), (j), 0);
#define CL_MINUS(i, j) add_entry(list, path, out, (i), (j), 1);
#define CL_END(p, c)                                                                               \
    list->entries[list->n_entry - 1].ends_pair = 1;                                                \
    }

#define FILL(name, form)                                                                           \
    static void fill_##name##_##form(tess_cl_list *list)                                           \
    {
FILL(cl20, out)
#include "clifford/cl20_out.def"
}
FILL(cl20, left)
#include "clifford/cl20_left.def"
}
FILL(cl20, right)
#include "clifford/cl20_right.def"
}
FILL(cl30, out)
#include "clifford/cl30_out.def"
}
FILL(cl30, left)
#include "clifford/cl30_left.def"
}
FILL(cl30, right)
#include "clifford/cl30_right.def"
}
FILL(cl301, out)
#include "clifford/cl301_out.def"
}
FILL(cl301, left)
#include "clifford/cl301_left.def"
}
FILL(cl301, right)
#include "clifford/cl301_right.def"
}
FILL(cl13, out)
#include "clifford/cl13_out.def"
}
FILL(cl13, left)
#include "clifford/cl13_left.def"
}
FILL(cl13, right)
#include "clifford/cl13_right.def"
}
FILL(cl41, out)
#include "clifford/cl41_out.def"
}
FILL(cl41, left)
#include "clifford/cl41_left.def"
}
FILL(cl41, right)
#include "clifford/cl41_right.def"
}

enum { N_ALGEBRA = TESS_CL_N_CODE - 1 };

static const algebra *algebras(void)
{
    static algebra all[N_ALGEBRA];
    size_t n = 0;
#define ALGEBRA(title, NAME)                                                                       \
    {                                                                                              \
        static const int8_t grade[] = {NAME##_GRADE}, eta[] = {NAME##_ETA};                        \
        algebra *a = &all[n++];                                                                    \
        a->name = #title, a->code = TESS_CL_CODE_##NAME;                                           \
        a->n_component = NAME##_COMPONENTS, a->n_grade = NAME##_GRADES;                            \
        a->n_path = NAME##_PATHS, a->grade = grade, a->eta = eta;                                  \
        for (int form = 0; form < TESS_CL_N_FORM; form++) {                                        \
            a->lists[form].n_entry = 0;                                                            \
            a->lists[form].n_component = a->n_component;                                           \
        }                                                                                          \
        fill_##title##_out(&a->lists[TESS_CL_OUT]);                                                \
        fill_##title##_left(&a->lists[TESS_CL_LEFT]);                                              \
        fill_##title##_right(&a->lists[TESS_CL_RIGHT]);                                            \
    }
    CL_ALGEBRAS(ALGEBRA)
#undef ALGEBRA
    return all;
}

static const size_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 28, 33, 64, 100, 255, 256, 257, 513};

static tess_cl_grades grades_of(const algebra *a, int metric)
{
    tess_cl_grades grades = {
        .n_component = a->n_component, .n_grade = a->n_grade, .metric = metric};
    for (int k = 0; k < a->n_component; k++) {
        grades.end[a->grade[k]] = k + 1;
        grades.eta[k] = metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : a->eta[k];
    }
    return grades;
}

#define T_BITS 32
#include "test_clifford_rows_body.h"

#define T_BITS 64
#include "test_clifford_rows_body.h"

const check_test test_clifford_rows_list[] = {
    {"clifford_take_f32, _give", layouts_match_f32},
    {"clifford_take_f64, _give", layouts_match_f64},
    {"clifford_gates_f32", gates_match_f32},
    {"clifford_gates_f64", gates_match_f64},
    {"clifford_gates_f32 lower tail", tail_is_precise_f32},
    {"clifford_gates_f64 lower tail", tail_is_precise_f64},
    {"clifford_gate_f32 passes", gate_passes_match_f32},
    {"clifford_gate_f64 passes", gate_passes_match_f64},
    {"clifford_moments_f32", moments_match_f32},
    {"clifford_moments_f64", moments_match_f64},
    {"clifford norm passes f32", norm_passes_match_f32},
    {"clifford norm passes f64", norm_passes_match_f64},
    {"clifford_product_f32", products_match_f32},
    {"clifford_product_f64", products_match_f64},
    {NULL, NULL},
};

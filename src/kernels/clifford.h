// What the kernels of clifford work on: rows of multivectors, and lists of product terms.
//
// A block of rows has item (component k, row r, feature n) at data[k * component + r * row + n].
// Features are contiguous. Scratch rows have room up to a whole number of TESS_CL_PAD features,
// which kernels may write and whose contents they may read without meaning.
#ifndef TESS_KERNELS_CLIFFORD_H
#define TESS_KERNELS_CLIFFORD_H

#include "tessera/clifford/op.h"

#include <stddef.h>
#include <stdint.h>

// Whether a metric's square of a grade counts by its size, of every feature.
static inline int tess_cl_takes_size(int32_t metric)
{
    return metric == TESS_CLIFFORD_NORM_ABS || metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

// Whether one r, whose square is eps at least, is that of all grades.
static inline int tess_cl_shares_root(int32_t metric)
{
    return metric == TESS_CLIFFORD_NORM_CLAMP || metric == TESS_CLIFFORD_NORM_ABS_CLAMP;
}

// Features are padded to a multiple of this in scratch rows: the longest vector of f32.
enum { TESS_CL_PAD = 64 };

// A row as the caller has it: item (k, n) at component k + feature n. Types are f32, bf16 and f16,
// or f64.
typedef struct tess_cl_items {
    void *data;
    int32_t dtype;
    int32_t reserved;
    ptrdiff_t component;
    ptrdiff_t feature;
} tess_cl_items;

// Algebras whose products are straight-line code; the others take a list of terms.
typedef enum tess_cl_code {
    TESS_CL_CODE_ANY = 0,
    TESS_CL_CODE_CL20,
    TESS_CL_CODE_CL30,
    TESS_CL_CODE_CL301,
    TESS_CL_CODE_CL13,
    TESS_CL_CODE_CL41,
    TESS_CL_N_CODE
} tess_cl_code;

// The three sums over terms of the 4-linear form sum s h_k x_i y_j w_p.
typedef enum tess_cl_form {
    TESS_CL_OUT = 0,   // o_k from a = x, b = y
    TESS_CL_LEFT = 1,  // gradient of x_i from a = h, b = y
    TESS_CL_RIGHT = 2, // gradient of y_j from a = h, b = x
    TESS_CL_N_FORM
} tess_cl_form;

// +-a b belongs to component out and path. Terms of a pair (path, out) follow each other.
typedef struct tess_cl_entry {
    uint8_t out;
    uint8_t path;
    uint8_t a;
    uint8_t b;
    uint8_t is_negative;
    uint8_t ends_pair; // the last term of its pair
    uint8_t ends_path; // form LEFT, where pairs are sorted by path: the last of its path
    uint8_t reserved;
} tess_cl_entry;

// The terms of a form: sorted by (out, path), LEFT by (path, out), positive terms of a pair first.
typedef struct tess_cl_list {
    int32_t n_entry;
    int32_t n_component;
    tess_cl_entry entries[TESS_CLIFFORD_MAX_TERMS];
} tess_cl_list;

// Which components make up which mean of squares.
typedef struct tess_cl_grades {
    int32_t n_component;
    int32_t n_grade;
    int32_t metric;                        // tess_clifford_norm_metric, not AUTO
    int32_t end[TESS_CLIFFORD_MAX_GRADES]; // first component behind grade g; grades are contiguous
    double eta[TESS_CLIFFORD_MAX_COMPONENTS]; // 1 for EUCLID, else the sign of the quadratic form
} tess_cl_grades;

// Sums of a row that norms need. Every grade has its own; CLAMP fills those of grade 0 with the
// sums over all. e_k is 1 (EUCLID), eta_k (CLAMP) or eta_k times the sign of the grade's form of
// that feature (ABS).
typedef struct tess_cl_moments {
    double square[TESS_CLIFFORD_MAX_GRADES]; // sum e o o
    double go[TESS_CLIFFORD_MAX_GRADES];     // sum g o
    double uo[TESS_CLIFFORD_MAX_GRADES];     // sum e u o
    double ug[TESS_CLIFFORD_MAX_GRADES];     // sum u g
} tess_cl_moments;

// Factors per grade of a row.
typedef struct tess_cl_factors {
    double a[TESS_CLIFFORD_MAX_GRADES];
    double b[TESS_CLIFFORD_MAX_GRADES];
    double c[TESS_CLIFFORD_MAX_GRADES];
    double e[TESS_CLIFFORD_MAX_GRADES];
} tess_cl_factors;

#define TESS_CL_TYPES(T, SCALAR)                                                                   \
    typedef struct tess_cl_rows_##T {                                                              \
        SCALAR *data; /* NULL: there is none */                                                    \
        ptrdiff_t component;                                                                       \
        ptrdiff_t row;                                                                             \
    } tess_cl_rows_##T;                                                                            \
                                                                                                   \
    typedef struct tess_cl_product_##T {                                                           \
        int32_t code; /* tess_cl_code */                                                           \
        int32_t form; /* tess_cl_form */                                                           \
        size_t n_row;                                                                              \
        size_t n;                                                                                  \
        tess_cl_rows_##T a, b, out; /* out: scratch, or n is a multiple of the vector's length */  \
        tess_cl_rows_##T x;         /* LEFT, for grad_weight */                                    \
        const SCALAR *weight;       /* [path][weight_stride], padded */                            \
        size_t weight_stride;                                                                      \
        SCALAR *grad_weight;       /* LEFT: added to; the same strides. NULL: not wanted */        \
        const SCALAR *tau, *slope; /* [n_row][tau_row]; tau slope is added to component 0 */       \
        size_t tau_row;            /* padded. tau NULL: nothing is */                              \
        /* OUT: [n_row][TESS_CLIFFORD_MAX_GRADES] takes the sums of squares of out by grade, and   \
           out is multiplied with the gate before. NULL: neither */                                \
        double *squares;                                                                           \
        const SCALAR *gate; /* [n_row][gate_row], padded. NULL: GELU's of a and b */               \
        size_t gate_row;                                                                           \
        const tess_cl_grades *grades; /* of out; read where code is ANY and squares are wanted */  \
        tess_cl_rows_##T soon; /* with squares: written next, may be asked for. data NULL: no */   \
        const tess_cl_list *list; /* of the form; read where code is ANY */                        \
    } tess_cl_product_##T;                                                                         \
                                                                                                   \
    typedef struct tess_cl_norm_##T {                                                              \
        const tess_cl_grades *grades;                                                              \
        size_t n_row;                                                                              \
        size_t n;                                                                                  \
        int32_t has_r;      /* squares are not wanted */                                           \
        int32_t is_large;   /* results are not read soon: scale writes past the caches */          \
        tess_cl_rows_##T o; /* divided by gate, if there is one */                                 \
        const SCALAR *gate; /* [n_row][gate_row], multiplies o. NULL: 1 */                         \
        size_t gate_row;                                                                           \
        tess_cl_rows_##T g; /* gradient of the result */                                           \
        tess_cl_rows_##T u; /* cotangent of the gradient of o */                                   \
    } tess_cl_norm_##T;                                                                            \
                                                                                                   \
    typedef struct tess_cl_gates_##T {                                                             \
        int32_t activation;  /* tess_clifford_activation */                                        \
        int32_t n_component; /* of x and y, which are read soon: all are asked for */              \
        size_t n_row;                                                                              \
        size_t n;                                                                                  \
        tess_cl_rows_##T x, y;                                                                     \
        SCALAR *gate;              /* [n_row][gate_row], padded */                                 \
        SCALAR *slope_x, *slope_y; /* likewise; both NULL: not wanted */                           \
        size_t gate_row;                                                                           \
    } tess_cl_gates_##T;                                                                           \
                                                                                                   \
    typedef struct tess_cl_gate_##T {                                                              \
        int32_t activation; /* tess_clifford_activation */                                         \
        int32_t n_component;                                                                       \
        size_t n_row;                                                                              \
        size_t n;                                                                                  \
        tess_cl_rows_##T x;                                                                        \
        tess_cl_rows_##T g; /* gradient of the result */                                           \
        tess_cl_rows_##T u; /* cotangent of the gradient of x */                                   \
    } tess_cl_gate_##T;                                                                            \
                                                                                                   \
    /* Rows that edges bring to one receiver: row senders[i] of x times row edges[i] of scale. */  \
    typedef struct tess_cl_edges_##T {                                                             \
        size_t n_edge;                                                                             \
        size_t n;                                                                                  \
        const SCALAR *x;                                                                           \
        ptrdiff_t x_row;                                                                           \
        const int64_t *senders; /* NULL: 0, 1, 2 .. */                                             \
        const SCALAR *scale;    /* NULL: ones */                                                   \
        ptrdiff_t scale_row;                                                                       \
        const int64_t *edges; /* NULL: 0, 1, 2 .. */                                               \
        int32_t is_narrow;    /* a row of scale is one number */                                   \
        int32_t reserved;                                                                          \
    } tess_cl_edges_##T;
TESS_CL_TYPES(f32, float)
TESS_CL_TYPES(f64, double)
#undef TESS_CL_TYPES

#endif

/** Clifford algebras Cl(p,q,r) of up to five symbols: components, product terms, grade paths. */
#ifndef TESSERA_CLIFFORD_ALGEBRA_H
#define TESSERA_CLIFFORD_ALGEBRA_H

#include "tessera/base.h"

TESS_BEGIN_DECLS

enum {
    TESS_CLIFFORD_MAX_SYMBOLS = 5,
    TESS_CLIFFORD_MAX_COMPONENTS = 32,
    TESS_CLIFFORD_MAX_GRADES = 6,
    TESS_CLIFFORD_MAX_PATHS = 64, /* no algebra has more than 56 */
    TESS_CLIFFORD_MAX_TERMS = 1024
};

/** The squares of the symbols e_1 .. e_n in basis order. The order matters: it is what components
 *  and signs mean. */
typedef struct tess_clifford_metric {
    int32_t n_symbol;  /* 1..TESS_CLIFFORD_MAX_SYMBOLS */
    int8_t square[12]; /* -1, 0 or +1 each; 0 behind the last */
} tess_clifford_metric;

/**
 * Reads a metric from text: its signs ("+++", "0+++", "+---"), counts of plus, minus and null
 * symbols ("3,0,1", "Cl(3,0,1)", "p3m0n1": null symbols first, then plus, then minus), or a name
 * ("pga", "sta", "cga").
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_metric_parse(const char *text,
                                                                tess_clifford_metric *metric);

/** Writes the signs, such as "0+++". capacity of at least TESS_CLIFFORD_MAX_SYMBOLS + 1. */
TESS_API void tess_clifford_metric_text(const tess_clifford_metric *metric, char *text,
                                        size_t capacity);

/** sign * x_i * y_j belongs to output component k, and to weight number path. */
typedef struct tess_clifford_term {
    uint8_t k;
    uint8_t i;
    uint8_t j;
    uint8_t path;
    int32_t sign;
} tess_clifford_term;

/**
 * Everything about an algebra. Components are ordered by grade, then by index tuple. A path is a
 * triple of grades (left, output, right) that the product has; its number is the number of its
 * weight, ascending in (left, output, right). A plain struct: fill it once, read it anywhere.
 */
typedef struct tess_clifford_algebra {
    uint32_t struct_size;
    uint32_t crc32; /* of the term list "k:i:j:s:p;...", the same for everybody's table */
    tess_clifford_metric metric;
    int32_t n_component;                         /* D = 2^n */
    int32_t n_grade;                             /* G = n + 1 */
    int32_t n_path;                              /* P */
    int32_t n_pair;                              /* Q: pairs of a path and an output component */
    int32_t n_term;                              /* T */
    int32_t is_euclidean;                        /* 1: every square is +1 */
    uint8_t mask[TESS_CLIFFORD_MAX_COMPONENTS];  /* bit i: symbol i is in the blade */
    uint8_t grade[TESS_CLIFFORD_MAX_COMPONENTS]; /* number of symbols */
    int8_t reverse[TESS_CLIFFORD_MAX_COMPONENTS];
    int8_t involution[TESS_CLIFFORD_MAX_COMPONENTS];
    int8_t conjugate[TESS_CLIFFORD_MAX_COMPONENTS];
    int8_t eta[TESS_CLIFFORD_MAX_COMPONENTS]; /* sign of reverse(e_k) e_k: the quadratic form */
    uint8_t complement[TESS_CLIFFORD_MAX_COMPONENTS];     /* right complement: rc(e_i) is */
    int8_t complement_sign[TESS_CLIFFORD_MAX_COMPONENTS]; /* complement_sign[i] e_complement[i] */
    uint8_t path_left[TESS_CLIFFORD_MAX_PATHS];
    uint8_t path_out[TESS_CLIFFORD_MAX_PATHS];
    uint8_t path_right[TESS_CLIFFORD_MAX_PATHS];
    tess_clifford_term terms[TESS_CLIFFORD_MAX_TERMS]; /* sorted by (k, i, j) */
} tess_clifford_algebra;

/** Fills *algebra from the metric. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_algebra_init(tess_clifford_algebra *algebra,
                                                                size_t struct_size,
                                                                const tess_clifford_metric *metric);

/** Bilinear products: which terms of the geometric product each keeps. */
typedef enum tess_clifford_product {
    TESS_CLIFFORD_GEOMETRIC = 0,
    TESS_CLIFFORD_OUTER = 1,             /* output grade a + b */
    TESS_CLIFFORD_LEFT_CONTRACTION = 2,  /* b - a */
    TESS_CLIFFORD_RIGHT_CONTRACTION = 3, /* a - b */
    TESS_CLIFFORD_INNER = 4,             /* |a - b| */
    TESS_CLIFFORD_SCALAR = 5,            /* 0 */
    TESS_CLIFFORD_COMMUTATOR = 6         /* (xy - yx)/2 */
} tess_clifford_product;

/** The paths of a product as bits. Every product above is a choice of paths. */
TESS_API uint64_t tess_clifford_product_paths(const tess_clifford_algebra *algebra,
                                              tess_clifford_product product);

/** The paths whose left and right grades are among the given ones (bit g: grade g): what is left
 *  of a product when the other grades of its inputs are known to be zero. */
TESS_API uint64_t tess_clifford_grade_paths(const tess_clifford_algebra *algebra,
                                            uint32_t left_grades, uint32_t right_grades);

TESS_END_DECLS

#endif

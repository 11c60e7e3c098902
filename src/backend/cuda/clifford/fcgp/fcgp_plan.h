// How stage clifford.fcgp on tensor cores cuts its work: chunks of rows, and which layers of its
// operands each result of a matrix product is a sum over. Plain C, so that it is tested without a
// GPU.
#ifndef TESS_CLIFFORD_FCGP_PLAN_H
#define TESS_CLIFFORD_FCGP_PLAN_H

#include "stage/clifford.h"

#include <string.h>

enum {
    CL_FC_TILE_ROWS = 128, // of a chunk: whole tiles
    CL_FC_MAX_PAIRS = 352,
    CL_FC_HALF_BITS = 15, // items of 16 bits are below 2^15
};

// Rows come in chunks whose products mostly stay in the second-level cache: 50 MB of an H200, of
// which weights and results want their part. 1024 rows of 512 features in Cl(3,0); half as many
// leave less to memory, but take 13 % longer: matrix products have fewer tiles, and gradients of
// weights are added up more often.
#define CL_FC_CHUNK_BYTES (INT64_C(48) << 20)

typedef struct cl_fc_chunks {
    int64_t rows; // of all chunks but the last
    int64_t n;
} cl_fc_chunks;

static inline int64_t cl_fc_whole(int64_t n, int64_t part)
{
    return (n + part - 1) / part;
}

// Chunks of about the same size, from the shape alone: gradients of weights are sums over them.
static inline cl_fc_chunks cl_fc_chunks_of(int64_t n_row, int64_t row_bytes, int64_t chunk_bytes)
{
    const int64_t tiles = chunk_bytes / (row_bytes * CL_FC_TILE_ROWS);
    const int64_t most = (tiles > 0 ? tiles : 1) * CL_FC_TILE_ROWS;
    const int64_t n = cl_fc_whole(n_row, most);
    const int64_t rows = cl_fc_whole(cl_fc_whole(n_row, n), CL_FC_TILE_ROWS) * CL_FC_TILE_ROWS;
    const cl_fc_chunks chunks = {rows < n_row ? rows : n_row, cl_fc_whole(n_row, rows)};
    return chunks;
}

// Items of a row in scratch memory: the copy engine wants multiples of 16 bytes.
static inline int64_t cl_fc_pitch(int64_t n_item)
{
    return cl_fc_whole(n_item, 8) * 8;
}

// The least e with 2^e >= n.
static inline int cl_fc_log2_up(int64_t n)
{
    int e = 0;
    while (INT64_C(1) << e < n) {
        e++;
    }
    return e;
}

// Products of a row are scaled by 2^(this - exponents of the largest x and y): sums of n_term of
// them stay below 2^15.
static inline int cl_fc_product_exponent(int n_term)
{
    return CL_FC_HALF_BITS - 2 - cl_fc_log2_up(n_term);
}

// Sums of n products of two such items become such items again when divided by 2^this.
static inline int cl_fc_sum_exponent(int64_t n)
{
    return CL_FC_HALF_BITS + cl_fc_log2_up(n);
}

// Pairs of an output component and a path that reaches it, in the order of
// tools/clifford_tables.py: by component, then by path.
typedef struct cl_fc_pairs {
    int32_t n;
    uint8_t component[CL_FC_MAX_PAIRS];
    uint8_t path[CL_FC_MAX_PAIRS];
} cl_fc_pairs;

static inline cl_fc_pairs cl_fc_pairs_of(const tess_clifford_algebra *algebra)
{
    uint64_t paths[TESS_CLIFFORD_MAX_COMPONENTS] = {0};
    for (int t = 0; t < algebra->n_term; t++) {
        paths[algebra->terms[t].k] |= UINT64_C(1) << algebra->terms[t].path;
    }
    cl_fc_pairs pairs;
    memset(&pairs, 0, sizeof pairs);
    for (int k = 0; k < algebra->n_component; k++) {
        for (int p = 0; p < algebra->n_path; p++) {
            if (paths[k] >> p & 1) {
                pairs.component[pairs.n] = (uint8_t)k;
                pairs.path[pairs.n++] = (uint8_t)p;
            }
        }
    }
    return pairs;
}

// Layers of the two operands whose product is added.
typedef struct cl_fc_step {
    uint16_t a, b;
} cl_fc_step;

// Which steps each result takes: steps[first[r]] to before steps[first[r + 1]]; none give zeros.
// order: results with many steps first, so that the last ones are short.
typedef struct cl_fc_table {
    int32_t n_result;
    uint16_t order[CL_FC_MAX_PAIRS];
    uint16_t first[CL_FC_MAX_PAIRS + 1];
    cl_fc_step steps[CL_FC_MAX_PAIRS];
} cl_fc_table;

typedef enum cl_fc_sum {
    CL_FC_PRODUCT,     // component: its pairs' products, times the weights of their paths
    CL_FC_GRAD_PAIR,   // pair: the gradient of its component, times the weights of its path
    CL_FC_GRAD_WEIGHT, // path: its pairs' products, times the gradients of their components
} cl_fc_sum;

static inline void cl_fc_order(cl_fc_table *t)
{
    int longest = 0;
    for (int r = 0; r < t->n_result; r++) {
        const int length = t->first[r + 1] - t->first[r];
        longest = length > longest ? length : longest;
    }
    int n = 0;
    for (int length = longest; length >= 0; length--) {
        for (int r = 0; r < t->n_result; r++) {
            if (t->first[r + 1] - t->first[r] == length) {
                t->order[n++] = (uint16_t)r;
            }
        }
    }
}

// The result that a pair belongs to.
static inline int cl_fc_result_of(const cl_fc_pairs *pairs, int pair, cl_fc_sum sum)
{
    return sum == CL_FC_PRODUCT     ? pairs->component[pair]
           : sum == CL_FC_GRAD_PAIR ? pair
                                    : pairs->path[pair];
}

// Paths outside the mask have no steps.
static inline cl_fc_table cl_fc_table_of(const tess_clifford_algebra *algebra, uint64_t path_mask,
                                         cl_fc_sum sum)
{
    const cl_fc_pairs pairs = cl_fc_pairs_of(algebra);
    cl_fc_table t;
    memset(&t, 0, sizeof t);
    t.n_result = sum == CL_FC_PRODUCT     ? algebra->n_component
                 : sum == CL_FC_GRAD_PAIR ? pairs.n
                                          : algebra->n_path;
    for (int i = 0; i < pairs.n; i++) {
        t.first[cl_fc_result_of(&pairs, i, sum) + 1] += (uint16_t)(path_mask >> pairs.path[i] & 1);
    }
    uint16_t next[CL_FC_MAX_PAIRS] = {0};
    for (int r = 0; r < t.n_result; r++) {
        next[r] = t.first[r];
        t.first[r + 1] = (uint16_t)(t.first[r] + t.first[r + 1]);
    }
    for (int i = 0; i < pairs.n; i++) {
        const int k = pairs.component[i];
        const int p = pairs.path[i];
        if (path_mask >> p & 1) {
            cl_fc_step *step = &t.steps[next[cl_fc_result_of(&pairs, i, sum)]++];
            step->a = (uint16_t)(sum == CL_FC_GRAD_PAIR ? k : i);
            step->b = (uint16_t)(sum == CL_FC_GRAD_WEIGHT ? k : p);
        }
    }
    cl_fc_order(&t);
    return t;
}

#endif

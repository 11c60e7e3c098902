/**
 * Operations on arrays of multivectors, forward, backward and twice backward.
 *
 * Activations are (component, row, feature), of shape (D, B, N), with any strides. Arrays are f32,
 * f64, bf16 or f16, all of one type; weights may be f32 beside 16-bit activations. 16-bit types are
 * computed in f32. Results have the type of x, gradients of weights the type of the weight.
 */
#ifndef TESSERA_CLIFFORD_OP_H
#define TESSERA_CLIFFORD_OP_H

#include "tessera/array.h"
#include "tessera/clifford/algebra.h"
#include "tessera/context.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

/** What is computed; gate and norm are on or off by the configuration. */
typedef enum tess_clifford_kind {
    TESS_CLIFFORD_GATE = 1, /* z_k = x_k Phi(x_0), and other activations */
    TESS_CLIFFORD_NORM = 2, /* z_k = x_k / r_g(k) */
    TESS_CLIFFORD_SGP = 3,  /* norm(product of gate(x) and gate(y), weight (N, P), or none: ones) */
    TESS_CLIFFORD_FCGP = 4, /* the same with weights (P, N_in, N_out) that mix features */
    TESS_CLIFFORD_LINEAR =
        5, /* z_k = x_k W_g(k) + bias; linear_weight (G, N_in, N_out), bias (N_out) */
    TESS_CLIFFORD_LAYER = 6,   /* SGP of x and LINEAR of x */
    TESS_CLIFFORD_FC_LAYER = 7 /* FCGP of x and LINEAR of x */
} tess_clifford_kind;

typedef enum tess_clifford_activation {
    TESS_CLIFFORD_IDENTITY = 0,
    TESS_CLIFFORD_GELU = 1,      /* factor Phi(x_0): exact, by erfc */
    TESS_CLIFFORD_GELU_TANH = 2, /* factor GELU_tanh(x_0), as GATr multiplies */
    TESS_CLIFFORD_RELU = 3,      /* factor max(x_0, 0) */
    TESS_CLIFFORD_SIGMOID = 4,   /* factor 1/(1 + exp(-x_0)) */
    TESS_CLIFFORD_TANH = 5,      /* factor tanh(x_0) */
    TESS_CLIFFORD_SILU = 6       /* factor x_0/(1 + exp(-x_0)) */
} tess_clifford_activation;

typedef enum tess_clifford_norm_metric {
    TESS_CLIFFORD_NORM_AUTO = 0,   /* euclid where every square is +1, else abs */
    TESS_CLIFFORD_NORM_EUCLID = 1, /* r_g^2 = mean_n sum_k o_k^2 + eps */
    TESS_CLIFFORD_NORM_ABS = 2,    /* r_g^2 = mean_n |sum_k eta_k o_k^2| + eps */
    TESS_CLIFFORD_NORM_CLAMP = 3,  /* one r^2 = max(mean_n sum_k eta_k o_k^2, eps) for all grades */
    TESS_CLIFFORD_NORM_ABS_CLAMP = 4 /* one r^2 = max(mean_n sum_g |sum_k eta_k o_k^2|, eps) */
} tess_clifford_norm_metric;

typedef enum tess_clifford_bias_mode {
    TESS_CLIFFORD_BIAS_SCALAR = 0, /* equivariant */
    TESS_CLIFFORD_BIAS_ALL = 1     /* on every component, as flash-clifford */
} tess_clifford_bias_mode;

typedef enum tess_clifford_precision {
    TESS_CLIFFORD_HIGHEST = 0, /* products of f32 matrices as exact as f32 */
    TESS_CLIFFORD_HIGH = 1 /* with inputs of 10 mantissa bits (TF32) where a device gains by it */
} tess_clifford_precision;

/** Options, table "clifford.op". */
typedef struct tess_clifford_config {
    uint32_t struct_size;
    int32_t activation;  /* tess_clifford_activation, of both inputs of a product */
    int32_t normalize;   /* 1: divide by the row's r */
    int32_t norm_metric; /* tess_clifford_norm_metric */
    double eps;
    int32_t bias_mode; /* tess_clifford_bias_mode */
    int32_t precision; /* tess_clifford_precision */
} tess_clifford_config;

TESS_API const tess_param_table *tess_clifford_params(void);
TESS_API void tess_clifford_config_init(tess_clifford_config *config, size_t struct_size);

/** An operation, checked and ready. A plain struct of about 9 KB: fill it once, share it among
 *  threads and contexts. */
typedef struct tess_clifford_op {
    uint32_t struct_size;
    int32_t kind;       /* tess_clifford_kind */
    uint64_t path_mask; /* paths that take part; bit p */
    tess_clifford_config config;
    tess_clifford_algebra algebra;
} tess_clifford_op;

/** Fills *op. config may be NULL for the defaults. path_mask has a bit for every path that takes
 *  part (weights of the others count as 0, their gradients are 0); UINT64_MAX for all. Other bits
 *  beyond the paths of the algebra: TESS_E_ARGUMENT. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_op_init(tess_clifford_op *op, size_t struct_size,
                                                           tess_clifford_kind kind,
                                                           const tess_clifford_metric *metric,
                                                           const tess_clifford_config *config,
                                                           uint64_t path_mask);

/**
 * The arrays of an operation; NULL where it has none (see tess_clifford_kind). The same struct
 * names inputs, their gradients (NULL: not wanted), and cotangents of gradients (NULL: zero).
 */
typedef struct tess_clifford_arrays {
    uint32_t struct_size;
    uint32_t reserved;
    const tess_array *x;             /* (D, B, N) or (D, B, N_in) */
    const tess_array *y;             /* like x; SGP, FCGP */
    const tess_array *weight;        /* (N, P) or (P, N_in, N_out) */
    const tess_array *linear_weight; /* (G, N_in, N_out) */
    const tess_array *bias;          /* (N_out) */
    const tess_array *z;             /* in of the backward pass alone: z of the forward pass, or
                                        NULL. Spares FCGP work where statistics come with it */
} tess_clifford_arrays;

/** How a call runs. NULL: everything as tess_clifford_call_init() leaves it. */
typedef struct tess_clifford_call {
    uint32_t struct_size;
    int32_t has_stream; /* 1: stream is the caller's CUDA stream (NULL is the default stream); the
                           call returns when everything is queued there */
    void *stream;
    void *workspace; /* NULL: the library takes and returns memory itself; else
                        tess_clifford_workspace() bytes where the arrays are, 256-byte aligned */
    uint64_t workspace_bytes;
} tess_clifford_call;

TESS_API void tess_clifford_call_init(tess_clifford_call *call, size_t struct_size);

typedef enum tess_clifford_pass {
    TESS_CLIFFORD_FORWARD = 1,
    TESS_CLIFFORD_BACKWARD = 2,
    TESS_CLIFFORD_DOUBLE_BACKWARD = 3
} tess_clifford_pass;

/** Bytes of workspace for a pass over arrays of these shapes and types, whatever results it is
 *  asked for. Data are not read. z of a backward pass counts as coming with its statistics, which
 *  saves memory: a call without statistics asks without z. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_workspace(tess_context *ctx,
                                                             const tess_clifford_op *op,
                                                             tess_clifford_pass pass,
                                                             const tess_clifford_arrays *in,
                                                             uint64_t *bytes);

/**
 * z from the inputs. statistics may be NULL; else (G, B) of f32 (f64 for f64 activations) takes r
 * per grade and row, which saves the backward pass some work. linear_out may be NULL; layers leave
 * the result of their linear map there, which the backward pass takes as y.
 */
TESS_API TESS_MUST_CHECK tess_status
tess_clifford_forward(tess_context *ctx, const tess_clifford_op *op, const tess_clifford_arrays *in,
                      const tess_array *z, const tess_array *statistics,
                      const tess_array *linear_out, const tess_clifford_call *call);

/** Gradients of the inputs from the gradient gz of z. statistics, and for layers in->y (their
 *  linear_out), as the forward pass left them, or NULL: computed again. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_backward(
    tess_context *ctx, const tess_clifford_op *op, const tess_clifford_arrays *in,
    const tess_array *gz, const tess_array *statistics, const tess_clifford_arrays *gradients,
    const tess_clifford_call *call);

/**
 * Second derivatives: with cotangents of the gradients that the backward pass gives, the gradients
 * of sum <cotangent, gradient> by gz (dgz, may be NULL) and by the inputs (results, each may be
 * NULL).
 */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_double_backward(
    tess_context *ctx, const tess_clifford_op *op, const tess_clifford_arrays *in,
    const tess_array *gz, const tess_clifford_arrays *cotangents, const tess_array *dgz,
    const tess_clifford_arrays *results, const tess_clifford_call *call);

/** Maps of single multivectors. */
typedef enum tess_clifford_unary {
    TESS_CLIFFORD_REVERSE = 1,
    TESS_CLIFFORD_INVOLUTION = 2,
    TESS_CLIFFORD_CONJUGATE = 3,
    TESS_CLIFFORD_RIGHT_COMPLEMENT = 4, /* the dual of GATr */
    TESS_CLIFFORD_LEFT_COMPLEMENT = 5,
    TESS_CLIFFORD_GRADES = 6 /* keeps the grades whose bits are set, zero elsewhere */
} tess_clifford_unary;

/** z = map of x, both (D, B, N), on the host. grades is read by TESS_CLIFFORD_GRADES. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_map(tess_context *ctx,
                                                       const tess_clifford_algebra *algebra,
                                                       tess_clifford_unary map, uint32_t grades,
                                                       const tess_array *x, const tess_array *z);

/** The quadratic form of every grade: z (G, B, N) = sum over k in g of eta_k x_k^2, on the host. */
TESS_API TESS_MUST_CHECK tess_status tess_clifford_quadratic(tess_context *ctx,
                                                             const tess_clifford_algebra *algebra,
                                                             const tess_array *x,
                                                             const tess_array *z);

TESS_END_DECLS

#endif

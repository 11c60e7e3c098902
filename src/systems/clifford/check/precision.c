// Other types against f64 on the same rounded data; the same bits twice and in parts.
#include "systems/clifford/check/check.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

// Of the outputs that belong to rows, and of sums over rows.
typedef struct errors {
    tess_cl_worst rows;
    tess_cl_worst sums;
} errors;

// README.md, tolerances. A GPU rounds 16-bit layers once more, between linear map and product.
static double gate_of(const tess_cl_trial *trial, tess_dtype dtype, bool is_sum)
{
    const int32_t kind = trial->op.kind;
    const bool has_matrix =
        tess_cl_is_connected(kind) || tess_cl_has_member(kind, CL_LINEAR_WEIGHT);
    const bool is_rounded = tess_cl_is_layer(kind) && !trial->ctx->device->shares_host_memory;
    switch (dtype) {
    case TESS_F32:
        return is_sum || has_matrix ? 1e-6 : 5e-7;
    case TESS_BF16:
        return is_rounded ? 4 * 6e-3 : 6e-3;
    default:
        return is_rounded ? 4 * 1e-3 : 1e-3;
    }
}

// What the data excuse: operations compute in f32, but round between the stages of a layer. Within
// an operation more is rounded than its inputs, and a layer is two.
static tess_status excuse(tess_cl_trial *trial, tess_clifford_pass pass, tess_dtype dtype,
                          const tess_cl_values *values, double change[CL_N_OPERAND])
{
    const bool is_rounded = tess_cl_is_layer(trial->op.kind) && dtype != TESS_F32;
    const double unit = !is_rounded ? 0x1p-24 : dtype == TESS_BF16 ? 0x1p-8 : 0x1p-11;
    TESS_TRY(tess_cl_trial_sensitivity(trial, pass, values, unit, change));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        change[i] *= is_rounded ? 1 : tess_cl_is_layer(trial->op.kind) ? 20 : 8;
    }
    return TESS_OK;
}

static tess_status compare(tess_cl_trial *trial, tess_clifford_pass pass, tess_dtype dtype,
                           uint64_t seed, errors *worst)
{
    const double largest = dtype == TESS_F16 ? 65000 : (double)INFINITY;
    double change[CL_N_OPERAND];
    tess_cl_values got;
    tess_cl_values want;
    TESS_TRY(tess_cl_trial_draw(trial, pass, seed, &got));
    TESS_TRY(tess_cl_trial_draw(trial, pass, seed, &want));
    tess_cl_trial_round(trial, pass, dtype, &got);
    tess_cl_trial_round(trial, pass, dtype, &want);
    TESS_TRY(tess_cl_trial_run(trial, pass, dtype, &got));
    TESS_TRY(tess_cl_trial_run(trial, pass, TESS_F64, &want));
    TESS_TRY(excuse(trial, pass, dtype, &want, change));
    const tess_cl_operands operands = {.pass = pass};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (!got.of[i] || !tess_cl_is_output(&operands, i)) {
            continue;
        }
        const bool is_sum = tess_cl_is_weight(i);
        const int64_t n = tess_cl_trial_items(trial, i);
        tess_cl_worst_note(is_sum ? &worst->sums : &worst->rows,
                           tess_cl_distance(got.of[i], want.of[i], n, largest),
                           fmax(gate_of(trial, dtype, is_sum), change[i]));
    }
    return TESS_OK;
}

static const tess_dtype dtypes[] = {TESS_F32, TESS_BF16, TESS_F16};
enum { N_DTYPE = sizeof dtypes / sizeof *dtypes };

int64_t tess_cl_check_n_precision(void)
{
    return N_DTYPE * CL_N_KIND;
}

tess_status tess_cl_check_precision(tess_cl_check *check, tess_blocks *blocks)
{
    for (int d = 0; d < N_DTYPE; d++) {
        for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
            const uint64_t seed = (uint64_t)check->config.seed;
            tess_cl_trial trial;
            errors worst = {{0, 0}, {0, 0}};
            TESS_TRY(tess_cl_trial_init(&trial, check->ctx, blocks, check->metric,
                                        (tess_clifford_kind)kind, TESS_CLIFFORD_BIAS_SCALAR,
                                        check->config.n_row, check->config.n_feature));
            TESS_TRY(compare(&trial, TESS_CLIFFORD_FORWARD, dtypes[d], seed, &worst));
            tess_blocks_free(blocks);
            TESS_TRY(compare(&trial, TESS_CLIFFORD_BACKWARD, dtypes[d], seed, &worst));
            const char *name = tess_cl_check_kind_name((tess_clifford_kind)kind);
            tess_cl_check_add(check, dtypes[d], worst.rows.error, worst.rows.allowed, false,
                              "precision.%s", name);
            if (worst.sums.allowed > 0) {
                tess_cl_check_add(check, dtypes[d], worst.sums.error, worst.sums.allowed, false,
                                  "precision.%s.weights", name);
            }
            TESS_TRY(tess_cl_check_next(check, blocks));
        }
    }
    return TESS_OK;
}

// Rows first to end of an operand that has rows.
static double *cut(const tess_cl_trial *trial, tess_blocks *blocks, int operand,
                   const double *values, int64_t first, int64_t end)
{
    const int64_t n_row = trial->sizes.n_row;
    const int64_t n = tess_cl_trial_items(trial, operand) / trial->op.algebra.n_component / n_row;
    const int64_t n_component = trial->op.algebra.n_component;
    double *part = tess_blocks_alloc(blocks, n_component * (end - first) * n, sizeof *part,
                                     "rows of the check");
    for (int64_t k = 0; part && k < n_component; k++) {
        memcpy(part + k * (end - first) * n, values + (k * n_row + first) * n,
               (size_t)((end - first) * n) * sizeof *part);
    }
    return part;
}

// How many items of the outputs differ when rows first to end are computed by themselves.
static tess_status count_unequal(const tess_cl_trial *whole, tess_cl_trial part,
                                 tess_clifford_pass pass, const tess_cl_values *values,
                                 int64_t first, double *n_changed)
{
    const tess_cl_operands operands = {.pass = pass};
    const int64_t end = first + part.sizes.n_row;
    tess_cl_values cuts = {.of = {NULL}};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        const bool is_output = tess_cl_is_output(&operands, i);
        if (!values->of[i] || (is_output && tess_cl_is_weight(i))) {
            continue;
        }
        cuts.of[i] = tess_cl_is_weight(i) ? values->of[i]
                     : is_output          ? tess_cl_trial_room(&part, i)
                                          : cut(whole, part.blocks, i, values->of[i], first, end);
        if (!cuts.of[i]) {
            return TESS_E_MEMORY;
        }
    }
    TESS_TRY(tess_cl_trial_run(&part, pass, TESS_F32, &cuts));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (!cuts.of[i] || !tess_cl_is_output(&operands, i)) {
            continue;
        }
        const double *want = cut(whole, part.blocks, i, values->of[i], first, end);
        if (!want) {
            return TESS_E_MEMORY;
        }
        for (int64_t k = 0; k < tess_cl_trial_items(&part, i); k++) {
            *n_changed += memcmp(&cuts.of[i][k], &want[k], sizeof *want) != 0;
        }
    }
    return TESS_OK;
}

static tess_status count_changed(const tess_cl_trial *whole, tess_clifford_pass pass,
                                 const tess_cl_values *values, int64_t first, int64_t end,
                                 double *n_changed)
{
    tess_blocks own;
    tess_blocks_init(&own, &whole->ctx->heap);
    tess_cl_trial part = *whole;
    part.blocks = &own;
    part.sizes.n_row = end - first;
    const tess_status status = count_unequal(whole, part, pass, values, first, n_changed);
    tess_blocks_free(&own);
    return status;
}

static tess_status check_bits(tess_cl_check *check, tess_cl_trial *trial, tess_clifford_pass pass,
                              double *n_unequal, double *n_changed)
{
    const uint64_t seed = (uint64_t)check->config.seed;
    tess_cl_values first;
    tess_cl_values again;
    TESS_TRY(tess_cl_trial_draw(trial, pass, seed, &first));
    TESS_TRY(tess_cl_trial_draw(trial, pass, seed, &again));
    TESS_TRY(tess_cl_trial_run(trial, pass, TESS_F32, &first));
    TESS_TRY(tess_cl_trial_run(trial, pass, TESS_F32, &again));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        for (int64_t k = 0; first.of[i] && k < tess_cl_trial_items(trial, i); k++) {
            *n_unequal += memcmp(&first.of[i][k], &again.of[i][k], sizeof(double)) != 0;
        }
    }
    const int64_t n_row = trial->sizes.n_row;
    const int64_t middle = n_row / 3 + 1;
    TESS_TRY(count_changed(trial, pass, &first, 0, middle, n_changed));
    return middle < n_row ? count_changed(trial, pass, &first, middle, n_row, n_changed) : TESS_OK;
}

int64_t tess_cl_check_n_determinism(void)
{
    return CL_N_KIND;
}

tess_status tess_cl_check_determinism(tess_cl_check *check, tess_blocks *blocks)
{
    for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
        tess_cl_trial trial;
        double n_unequal = 0;
        double n_changed = 0;
        TESS_TRY(tess_cl_trial_init(&trial, check->ctx, blocks, check->metric,
                                    (tess_clifford_kind)kind, TESS_CLIFFORD_BIAS_SCALAR,
                                    check->config.n_row, check->config.n_feature));
        TESS_TRY(check_bits(check, &trial, TESS_CLIFFORD_FORWARD, &n_unequal, &n_changed));
        tess_blocks_free(blocks);
        TESS_TRY(check_bits(check, &trial, TESS_CLIFFORD_BACKWARD, &n_unequal, &n_changed));
        const char *name = tess_cl_check_kind_name((tess_clifford_kind)kind);
        tess_cl_check_add(check, TESS_F32, n_unequal, 0, false, "same_bits.%s.twice", name);
        tess_cl_check_add(check, TESS_F32, n_changed, 0, false, "same_bits.%s.split", name);
        TESS_TRY(tess_cl_check_next(check, blocks));
    }
    return TESS_OK;
}

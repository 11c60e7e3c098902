// How the GPU cuts fully connected products: chunks of rows, steps of the three matrix products,
// scales.
#include "clifford_arrays.h"

#include "backend/cuda/clifford/fcgp/fcgp_plan.h"
#include "clifford/algebras.h"

#include <math.h>
#include <stdbool.h>

static tess_clifford_algebra algebra_of(const char *metric)
{
    tess_clifford_algebra algebra;
    const tess_clifford_metric parsed = cl_metric(metric);
    assert_ok(tess_clifford_algebra_init(&algebra, sizeof algebra, &parsed));
    return algebra;
}

static const char *const metrics[] = {"++", "+++", "0+++", "+---", "++++-"};

// Path and component of each pair of Cl(3,0,1), where some combinations of grades have no term, as
// the kernels' lists have them.
#define CL_BEGIN(p, k) {p, k},
#define CL_FIRST_PLUS(i, j)
#define CL_FIRST_MINUS(i, j)
#define CL_PLUS(i, j)
#define CL_MINUS(i, j)
#define CL_END(p, k)
static const int cl301_pairs[][2] = {
#include "clifford/cl301.def"
};
static const int cl41_pairs[][2] = {
#include "clifford/cl41.def"
};

static void check_pairs(const char *metric, const int (*want)[2], int n)
{
    const tess_clifford_algebra a = algebra_of(metric);
    const cl_fc_pairs pairs = cl_fc_pairs_of(&a);
    assert_int_equal(pairs.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(pairs.path[i], want[i][0]);
        assert_int_equal(pairs.component[i], want[i][1]);
    }
}

static void pairs_follow_the_lists(void **state)
{
    (void)state;
    check_pairs("0+++", cl301_pairs, CL301_PAIRS);
    check_pairs("++++-", cl41_pairs, CL41_PAIRS);
}

// Every pair of the mask is a step of exactly one result, with the layers that belong to it.
static void check_table(const tess_clifford_algebra *a, uint64_t mask, cl_fc_sum sum, int n_result)
{
    const cl_fc_pairs pairs = cl_fc_pairs_of(a);
    const cl_fc_table t = cl_fc_table_of(a, mask, sum);
    assert_int_equal(t.n_result, n_result);
    int n_step = 0;
    for (int r = 0; r < n_result; r++) {
        for (int s = t.first[r]; s < t.first[r + 1]; s++, n_step++) {
            const int pair = sum == CL_FC_GRAD_PAIR ? r : t.steps[s].a;
            const int k = pairs.component[pair];
            const int p = pairs.path[pair];
            assert_true(mask >> p & 1);
            assert_int_equal(t.steps[s].a, sum == CL_FC_GRAD_PAIR ? k : pair);
            assert_int_equal(t.steps[s].b, sum == CL_FC_GRAD_WEIGHT ? k : p);
            assert_int_equal(r, sum == CL_FC_PRODUCT ? k : sum == CL_FC_GRAD_PAIR ? pair : p);
        }
    }
    int n_pair = 0;
    for (int i = 0; i < pairs.n; i++) {
        n_pair += (int)(mask >> pairs.path[i] & 1);
    }
    assert_int_equal(n_step, n_pair);
    bool seen[CL_FC_MAX_PAIRS] = {false};
    int length = CL_FC_MAX_PAIRS;
    for (int i = 0; i < n_result; i++) {
        const int r = t.order[i];
        assert_true(r < n_result && !seen[r]);
        seen[r] = true;
        assert_true(t.first[r + 1] - t.first[r] <= length);
        length = t.first[r + 1] - t.first[r];
    }
}

static void tables_have_every_pair_once(void **state)
{
    (void)state;
    for (size_t m = 0; m < ARRAY_LEN(metrics); m++) {
        const tess_clifford_algebra a = algebra_of(metrics[m]);
        const uint64_t masks[] = {(UINT64_C(1) << a.n_path) - 1, 0x2d5, 0};
        for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
            check_table(&a, masks[i], CL_FC_PRODUCT, a.n_component);
            check_table(&a, masks[i], CL_FC_GRAD_PAIR, a.n_pair);
            check_table(&a, masks[i], CL_FC_GRAD_WEIGHT, a.n_path);
        }
    }
}

static void chunks_cover_the_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 127, 128, 129, 512, 513, 600, 4096, 16384, 1000003};
    static const int64_t row_bytes[] = {16, 2816, 45056, 360448, 5767168};
    static const int64_t limits[] = {CL_FC_CHUNK_BYTES, CL_FC_CHUNK_BYTES / 16};
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(row_bytes) * ARRAY_LEN(limits); i++) {
        const int64_t n_row = rows[i % ARRAY_LEN(rows)];
        const int64_t bytes = row_bytes[i / ARRAY_LEN(rows) % ARRAY_LEN(row_bytes)];
        const int64_t limit = limits[i / ARRAY_LEN(rows) / ARRAY_LEN(row_bytes)];
        const cl_fc_chunks c = cl_fc_chunks_of(n_row, bytes, limit);
        assert_true(c.rows * c.n >= n_row && c.rows * (c.n - 1) < n_row);
        assert_true(c.n == 1 || c.rows % CL_FC_TILE_ROWS == 0);
        assert_true(c.rows <= CL_FC_TILE_ROWS || c.rows * bytes <= limit);
    }
    // 512 features of Cl(3,0): 44 pairs of 16 bits.
    const cl_fc_chunks c = cl_fc_chunks_of(4096, 44 * 512 * 2, CL_FC_CHUNK_BYTES);
    assert_int_equal(c.rows, 1024);
    assert_int_equal(c.n, 4);
}

static void scales_leave_room(void **state)
{
    (void)state;
    const double limit = ldexp(1, CL_FC_HALF_BITS);
    for (int n = 1; n <= 32; n++) {
        // Both factors are below twice the power of two that they are scaled to.
        const int exponent = cl_fc_product_exponent(n);
        assert_true(n * ldexp(4, exponent) <= limit);
        assert_true(n * ldexp(4, exponent + 1) > limit / 2);
    }
    for (int64_t n = 1; n < 1 << 20; n = n * 3 + 1) {
        const double largest = (double)n * limit * limit;
        assert_true(ldexp(largest, -cl_fc_sum_exponent(n)) <= limit);
    }
    assert_int_equal(cl_fc_pitch(28), 32);
    assert_int_equal(cl_fc_pitch(512), 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_follow_the_lists),
        cmocka_unit_test(tables_have_every_pair_once),
        cmocka_unit_test(chunks_cover_the_rows),
        cmocka_unit_test(scales_leave_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The tests of ptp for one dtype; included by test_ptp.c only.
#include "kernels/simd/dtype.h"

static UINT T_NAME(bits_of)(SCALAR value)
{
    UINT bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// What the reference itself must say, among it which zero and which NaN.
static void T_NAME(ptp_known_answers)(check *t)
{
    const SCALAR inf = (SCALAR)INFINITY;
    const SCALAR nan = (SCALAR)NAN;
    const struct {
        SCALAR x[4];
        size_t n;
        SCALAR want;
    } cases[] = {
        {{5}, 1, 0},
        {{-1, 2}, 2, 3},
        {{3, 1, -4, 1}, 4, 7},
        {{-0.0, 0.0}, 2, 0.0},
        {{0.0, -0.0}, 2, 0.0},
        {{-0.0, -0.0, -0.0}, 3, 0.0},
        {{inf, 1}, 2, inf},
        {{-inf, 1, inf}, 3, inf},
        {{inf}, 1, nan},
        {{-inf, -inf}, 2, nan},
        {{1, nan, 2, 3}, 4, nan},
        {{-nan, 1, 2}, 3, nan},
        {{1, 2, 3, -nan}, 4, nan},
    };
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        SCALAR got = -1;
        t->isa->T_NAME(ptp)(cases[k].x, 1, 4, cases[k].n, &got);
        CHECK(t, T_NAME(bits_of)(got) == T_NAME(bits_of)(cases[k].want),
              "case %zu: got %a, want %a", k, (double)got, (double)cases[k].want);
    }
}

// Normal-looking values, with a zero or infinity now and then.
static void T_NAME(fill_signal)(check *t, SCALAR *x, size_t n)
{
    static const double rare[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < n; i++) {
        x[i] = (SCALAR)check_uniform(t, -1e-4, 1e-4);
        if (check_random(t) % 997 == 0) {
            x[i] = (SCALAR)rare[check_random(t) % ARRAY_LEN(rare)];
        }
    }
}

static void T_NAME(ptp_compare_row)(check *t, const SCALAR *x, size_t n, const char *what)
{
    SCALAR want = -1;
    SCALAR got = -2;
    t->ref->T_NAME(ptp)(x, 1, (ptrdiff_t)n, n, &want);
    t->isa->T_NAME(ptp)(x, 1, (ptrdiff_t)n, n, &got);
    CHECK(t, T_NAME(bits_of)(got) == T_NAME(bits_of)(want), "%s, n=%zu: got %a, want %a", what, n,
          (double)got, (double)want);
}

// Every length around the vector sizes; the row ends at an unmapped page, or at NaN padding.
static void T_NAME(ptp_matches_reference)(check *t)
{
    static const size_t longer[] = {1000, 1023, 1024, 1025, 4099, 20000};
    for (size_t k = 1; k < 600 + ARRAY_LEN(longer); k++) {
        const size_t n = k < 600 ? k : longer[k - 600];
        for (size_t shift = 0; shift < 4; shift++) {
            check_block block = check_take(n * sizeof(SCALAR), shift * sizeof(SCALAR));
            SCALAR *x = block.data;
            T_NAME(fill_signal)(t, x, n);
            T_NAME(ptp_compare_row)(t, x, n, "signal");

            // An extreme at a random place must be found, then a NaN must win over it.
            x[check_random(t) % n] = check_random(t) % 2 ? (SCALAR)7 : (SCALAR)-7;
            T_NAME(ptp_compare_row)(t, x, n, "extreme");
            x[check_random(t) % n] = check_random(t) % 2 ? (SCALAR)NAN : -(SCALAR)NAN;
            T_NAME(ptp_compare_row)(t, x, n, "NaN");
            CHECK(t, check_release(&block), "n=%zu shift=%zu: wrote past the row", n, shift);
        }
    }
}

// Gaps between rows hold NaN, which must not be read into a result.
static void T_NAME(ptp_strided_rows)(check *t)
{
    static const struct {
        size_t n_row, stride, n;
    } shapes[] = {{1, 1, 1}, {9, 1, 1}, {7, 5, 3}, {33, 16, 16}, {5, 100, 97}, {64, 131, 130}};
    for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
        const size_t n_row = shapes[k].n_row;
        const size_t stride = shapes[k].stride;
        const size_t n_item = (n_row - 1) * stride + shapes[k].n;
        check_block in = check_take(n_item * sizeof(SCALAR), 0);
        check_block out = check_take(n_row * sizeof(SCALAR), sizeof(SCALAR));
        SCALAR want[64];
        for (size_t r = 0; r < n_row; r++) {
            T_NAME(fill_signal)(t, (SCALAR *)in.data + r * stride, shapes[k].n);
        }
        t->ref->T_NAME(ptp)(in.data, n_row, (ptrdiff_t)stride, shapes[k].n, want);
        t->isa->T_NAME(ptp)(in.data, n_row, (ptrdiff_t)stride, shapes[k].n, out.data);
        CHECK(t, memcmp(out.data, want, n_row * sizeof(SCALAR)) == 0, "%zu rows of %zu every %zu",
              n_row, shapes[k].n, stride);

        // Backwards from the last row: the same results in reverse.
        SCALAR *last = (SCALAR *)in.data + (n_row - 1) * stride;
        SCALAR *got = out.data;
        t->isa->T_NAME(ptp)(last, n_row, -(ptrdiff_t)stride, shapes[k].n, got);
        for (size_t r = 0; r < n_row; r++) {
            CHECK(t, T_NAME(bits_of)(got[r]) == T_NAME(bits_of)(want[n_row - 1 - r]),
                  "row %zu of %zu, backwards", r, n_row);
        }
        CHECK(t, check_release(&out), "wrote past the result, %zu rows", n_row);
        check_release(&in);
    }
}

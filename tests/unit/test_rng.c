// Philox4x32-10 against the known answers of Random123; MT19937 against NumPy's RandomState
// (numpy 2.4.6: randint(0, 2**32, dtype=uint32), random_sample, standard_normal, permutation,
// randint(0, 1000), randint(0, 2**40), shuffle), whose streams NumPy has frozen; PCG64 against
// default_rng (random, standard_normal, poisson).
#include "base/rng.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static void philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint32_t key[2];
        uint32_t out[4];
    } answers[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        uint32_t out[4];
        tess_philox(answers[i].counter, answers[i].key, out);
        assert_memory_equal(out, answers[i].out, sizeof out);
    }
}

static void philox_streams_are_independent(void **state)
{
    (void)state;
    const tess_philox_stream a = tess_philox_open(1, 2, 3);
    const tess_philox_stream other[] = {tess_philox_open(2, 2, 3), tess_philox_open(1, 3, 3),
                                        tess_philox_open(1, 2, 4),
                                        tess_philox_open(UINT64_C(1) << 32 | 1, 2, 3)};
    for (size_t i = 0; i < ARRAY_LEN(other); i++) {
        assert_true(tess_philox_uniform(&a, 5) != tess_philox_uniform(&other[i], 5));
    }
    assert_true(tess_philox_uniform(&a, 5) != tess_philox_uniform(&a, (UINT64_C(1) << 32) + 5));
    assert_true(tess_philox_uniform(&a, 5) == tess_philox_uniform(&a, 5));
}

static void philox_moments(void **state)
{
    (void)state;
    enum { N = 100000 };
    const tess_philox_stream a = tess_philox_open(7, 0, 1);
    double sum = 0;
    double normal_sum = 0;
    double normal_squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double u = tess_philox_uniform(&a, i);
        double z = 0;
        tess_philox_normals(&a, i, 1, &z);
        assert_true(u >= 0 && u < 1 && isfinite(z));
        sum += u;
        normal_sum += z;
        normal_squares += z * z;
    }
    // Five standard errors of each mean.
    assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(normal_sum / N) < 5 / sqrt(N));
    assert_true(fabs(normal_squares / N - 1) < 5 * sqrt(2.0 / N));
}

// A range is the same however it is cut, also at odd starts: pairs share a block.
static void philox_normals_do_not_depend_on_the_cut(void **state)
{
    (void)state;
    enum { N = 41 };
    const tess_philox_stream a = tess_philox_open(7, 3, 1);
    double whole[N];
    tess_philox_normals(&a, 0, N, whole);
    for (size_t first = 0; first < N; first++) {
        for (size_t n = 0; n <= N - first; n++) {
            double part[N + 1];
            part[n] = 99;
            tess_philox_normals(&a, first, n, part);
            assert_memory_equal(part, whole + first, n * sizeof *part);
            assert_true(part[n] == 99);
        }
    }
}

typedef struct numpy_case {
    uint32_t seed;
    uint32_t words[5];
    uint32_t word_2000;
    double doubles[3];
    double normals[4];
    int64_t permutation[10];
    uint64_t below_1000[6];
    uint64_t below_2_40[3]; // drawn after the six above
    int64_t shuffled[7];    // of 10, 20 .. 70
    int64_t of_1000[5];     // entries 0, 1, 500, 998, 999 of permutation(1000)
} numpy_case;

static const numpy_case cases[] = {
    {0,
     {0x8c7f0aac, 0x97c4aa2f, 0xb716a675, 0xd821ccc0, 0x9a4eb343},
     0xe5e070b5,
     {0x1.18fe1565f12a8p-1, 0x1.6e2d4cf608733p-1, 0x1.349d66b6e894bp-1},
     {0x1.c398ef3e5cfa5p+0, 0x1.99c2cfacc8953p-2, 0x1.f51d25222c9abp-1, 0x1.1ed5969e3314ep+1},
     {2, 8, 4, 9, 1, 6, 7, 3, 0, 5},
     {684, 559, 629, 192, 835, 763},
     {UINT64_C(841157541223), UINT64_C(41332891347), UINT64_C(91845220082)},
     {70, 30, 20, 40, 10, 60, 50},
     {993, 859, 631, 559, 684}},
    {1,
     {0x6ac1f425, 0xff4780eb, 0xb8672f8c, 0xeebc1448, 0x77eff},
     0x83df88a,
     {0x1.ab07d0ffa3c06p-2, 0x1.70ce5f3baf051p-1, 0x1.dfb906661c000p-14},
     {0x1.9fd5190657c50p+0, -0x1.393822fb7d9adp-1, -0x1.0e6c872548fd2p-1, -0x1.12ae1255cb80cp+0},
     {2, 9, 6, 4, 0, 3, 1, 7, 8, 5},
     {37, 235, 908, 72, 767, 905},
     {UINT64_C(876169207429), UINT64_C(340316410816), UINT64_C(620178591873)},
     {70, 30, 20, 10, 50, 40, 60},
     {507, 818, 789, 235, 37}},
    {42,
     {0x5fe1dc66, 0xcbea3db3, 0xf362035c, 0x2ef5950e, 0xbb63f46a},
     0x8573f5f0,
     {0x1.7f8771e5f51ecp-2, 0x1.e6c4068bbd654p-1, 0x1.76c7e8f1e6751p-1},
     {0x1.fca2a28a9307cp-2, -0x1.1b2a505de052ap-3, 0x1.4b9dd50245e68p-1, 0x1.85e548e01aa2bp+0},
     {8, 1, 5, 0, 7, 2, 9, 4, 3, 6},
     {102, 435, 860, 270, 106, 71},
     {UINT64_C(810017303572), UINT64_C(440001501305), UINT64_C(902372521174)},
     {10, 20, 60, 30, 50, 40, 70},
     {521, 737, 680, 435, 102}},
    {4294967295u,
     {0x18fe69a3, 0x1c924122, 0xe991ec0c, 0x900cac47, 0xc9fe37b4},
     0x690a246d,
     {0x1.8fe69a3924820p-4, 0x1.d323d824032b1p-1, 0x1.93fc6f61af3f9p-1},
     {0x1.4bfc38c486d8ap-1, 0x1.56b192e507eeep-1, -0x1.149e836f192fdp+0, 0x1.23543dec5a0fcp-2},
     {6, 9, 5, 1, 8, 0, 7, 4, 2, 3},
     {419, 290, 12, 71, 948, 576},
     {UINT64_C(922432766458), UINT64_C(933225791264), UINT64_C(547627168379)},
     {20, 60, 10, 70, 50, 30, 40},
     {94, 405, 521, 290, 419}},
};

static void words_match_numpy(void **state)
{
    (void)state;
    tess_mt19937 rng;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_mt19937_seed(&rng, cases[i].seed);
        for (size_t k = 0; k < 2000; k++) {
            const uint32_t word = tess_mt19937_u32(&rng);
            if (k < 5) {
                assert_int_equal(word, cases[i].words[k]);
            }
            if (k == 1999) {
                assert_int_equal(word, cases[i].word_2000);
            }
        }
    }
}

static void doubles_and_normals_match_numpy(void **state)
{
    (void)state;
    tess_mt19937 rng;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_mt19937_seed(&rng, cases[i].seed);
        for (size_t k = 0; k < 3; k++) {
            assert_true(tess_mt19937_double(&rng) == cases[i].doubles[k]);
        }
        tess_mt19937_seed(&rng, cases[i].seed);
        for (size_t k = 0; k < 4; k++) {
            // log() of the C library may differ in its last bit from the one NumPy met.
            const double want = cases[i].normals[k];
            assert_true(fabs(tess_mt19937_gauss(&rng) - want) <= 0x1p-52 * fabs(want));
        }
    }
}

static void integers_match_numpy(void **state)
{
    (void)state;
    tess_mt19937 rng;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_mt19937_seed(&rng, cases[i].seed);
        for (size_t k = 0; k < 6; k++) {
            assert_int_equal(tess_mt19937_interval(&rng, 999), cases[i].below_1000[k]);
        }
        for (size_t k = 0; k < 3; k++) {
            assert_true(tess_mt19937_interval(&rng, (UINT64_C(1) << 40) - 1) ==
                        cases[i].below_2_40[k]);
        }
        const int32_t position = rng.position;
        assert_int_equal(tess_mt19937_interval(&rng, 0), 0);
        assert_int_equal(rng.position, position);
    }
}

static void permutations_match_numpy(void **state)
{
    (void)state;
    static const size_t where[] = {0, 1, 500, 998, 999};
    tess_mt19937 rng;
    int64_t items[1000];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_mt19937_seed(&rng, cases[i].seed);
        tess_mt19937_permutation(&rng, 10, items);
        assert_memory_equal(items, cases[i].permutation, sizeof cases[i].permutation);
        tess_mt19937_seed(&rng, cases[i].seed);
        tess_mt19937_permutation(&rng, 1000, items);
        for (size_t k = 0; k < ARRAY_LEN(where); k++) {
            assert_int_equal(items[where[k]], cases[i].of_1000[k]);
        }
        tess_mt19937_seed(&rng, cases[i].seed);
        for (int64_t k = 0; k < 7; k++) {
            items[k] = 10 * (k + 1);
        }
        tess_mt19937_shuffle(&rng, items, 7);
        assert_memory_equal(items, cases[i].shuffled, sizeof cases[i].shuffled);
    }
    items[0] = 5;
    tess_mt19937_shuffle(&rng, items, 1);
    tess_mt19937_shuffle(&rng, items, 0);
    assert_int_equal(items[0], 5);
}

static void pcg64_matches_numpy(void **state)
{
    (void)state;
    static const uint64_t words[] = {UINT64_C(0xc621fbcd16d92688), UINT64_C(0x705a5661a791ffc1),
                                     UINT64_C(0xdbcd12c26eda1624)};
    static const int64_t of_3[] = {3, 5, 1, 7, 1, 4, 2, 2};
    static const int64_t of_10[] = {12, 8, 13, 8, 6, 12, 13, 11};
    static const int64_t of_1000[] = {956, 997, 1026, 1005};
    tess_pcg64 rng;
    tess_pcg64_seed(&rng, 42);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        assert_true(tess_pcg64_u64(&rng) == words[i]);
    }
    tess_pcg64_seed(&rng, 42);
    assert_true(tess_pcg64_double(&rng) == 0x1.8c43f79a2db24p-1);
    assert_true(tess_pcg64_double(&rng) == 0x1.c16959869e47ep-2);
    assert_true(tess_pcg64_normal(&rng) == 0x1.803b239e77350p-1);
    assert_true(tess_pcg64_normal(&rng) == 0x1.e191b2d157f36p-1);
    assert_true(tess_pcg64_normal(&rng) == -0x1.f3770ac89d08fp+0);
    assert_true(tess_pcg64_normal(&rng) == -0x1.4d5ba2db7ebc8p+0);
    for (size_t i = 0; i < ARRAY_LEN(of_3); i++) {
        assert_int_equal(tess_pcg64_poisson(&rng, 3), of_3[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(of_10); i++) {
        assert_int_equal(tess_pcg64_poisson(&rng, 10), of_10[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(of_1000); i++) {
        assert_int_equal(tess_pcg64_poisson(&rng, 1000), of_1000[i]);
    }
    assert_true(tess_pcg64_double(&rng) == 0x1.373eb1cb2dfd8p-2);
    assert_int_equal(tess_pcg64_poisson(&rng, 0), 0);
    tess_pcg64_seed(&rng, (UINT64_C(1) << 40) + 5); // a seed of two words
    assert_true(tess_pcg64_double(&rng) == 0x1.369aef039fe80p-8);
}

// Strips, wedges and tail: a million draws, 247 of them beyond the last strip.
static void pcg64_normals_are_normal(void **state)
{
    (void)state;
    tess_pcg64 rng;
    tess_pcg64_seed(&rng, 7);
    double sum[5] = {0};
    int n_tail = 0;
    for (int i = 0; i < 1000000; i++) {
        const double x = tess_pcg64_normal(&rng);
        n_tail += fabs(x) > 3.6541528853610088;
        for (int power = 1; power <= 4; power++) {
            sum[power] += pow(x, power) / 1e6;
        }
    }
    assert_int_equal(n_tail, 247);
    assert_true(fabs(sum[1]) < 0.005 && fabs(sum[2] - 1) < 0.006);
    assert_true(fabs(sum[3]) < 0.02 && fabs(sum[4] - 3) < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(philox_streams_are_independent),
        cmocka_unit_test(philox_moments),
        cmocka_unit_test(philox_normals_do_not_depend_on_the_cut),
        cmocka_unit_test(words_match_numpy),
        cmocka_unit_test(doubles_and_normals_match_numpy),
        cmocka_unit_test(integers_match_numpy),
        cmocka_unit_test(permutations_match_numpy),
        cmocka_unit_test(pcg64_matches_numpy),
        cmocka_unit_test(pcg64_normals_are_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

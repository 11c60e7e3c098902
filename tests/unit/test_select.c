// Medians: with and without reordering, the same bits.
#include "unit.h"

#include "base/rng.h"
#include "base/select.h"

#include <math.h>
#include <string.h>

enum { MOST = 300 };

static uint32_t drawn; // how many words

static double uniform(void)
{
    const uint32_t counter[4] = {drawn++, 0, 0, 0};
    const uint32_t key[2] = {2026, 7};
    uint32_t words[4];
    tess_philox(counter, key, words);
    return (double)words[0] / 4294967296.0;
}

// Random, few different ones, rising, one hill among nothing.
static double item_of(int shape, int64_t i, int64_t n)
{
    switch (shape) {
    case 0:
        return uniform() - 0.5;
    case 1:
        return floor(3 * uniform());
    case 2:
        return (double)i;
    default:
        return exp(-0.02 * (double)((i - n / 3) * (i - n / 3)));
    }
}

static double plain_median(const double *x, int64_t n)
{
    double sorted[MOST];
    memcpy(sorted, x, (size_t)n * sizeof *x);
    for (int64_t i = 1; i < n; i++) {
        for (int64_t j = i; j > 0 && sorted[j] < sorted[j - 1]; j--) {
            const double item = sorted[j];
            sorted[j] = sorted[j - 1];
            sorted[j - 1] = item;
        }
    }
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

static void medians_agree(void **state)
{
    (void)state;
    double x[MOST];
    double scratch[2 * MOST];
    for (int round = 0; round < 400; round++) {
        const int64_t n = 1 + (int64_t)(uniform() * MOST);
        for (int64_t i = 0; i < n; i++) {
            x[i] = item_of(round % 4, i, n);
        }
        const double want = plain_median(x, n);
        const double got = tess_median_of(x, n, scratch);
        assert_memory_equal(&got, &want, sizeof got);
        const double reordered = tess_median(x, n);
        assert_memory_equal(&reordered, &want, sizeof want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(medians_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

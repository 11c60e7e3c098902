// The local search's kernel: the reference's bits.

#include "check.h"

#include <string.h>

enum { TILE = 16, MAX_ROW = 20 };

static void errors_match(check *t)
{
    for (int round = 0; round < (t->quick ? 20 : 300); round++) {
        const size_t n_row = check_random(t) % (MAX_ROW + 1);
        double sum[MAX_ROW * TILE];
        double median[MAX_ROW * TILE];
        double got[TILE];
        double want[TILE];
        for (size_t i = 0; i < MAX_ROW * TILE; i++) {
            sum[i] = check_uniform(t, -9, 9);
            median[i] = check_uniform(t, -1, 1);
        }
        for (size_t i = 0; i < TILE; i++) {
            want[i] = got[i] = check_uniform(t, 0, 1);
        }
        const double count = (double)(1 + check_random(t) % 1000);
        t->ref->local_sse(sum, count, median, n_row, want);
        t->isa->local_sse(sum, count, median, n_row, got);
        CHECK(t, memcmp(got, want, sizeof want) == 0, "%zu rows: other bits than the reference",
              n_row);
        double plain = 0;
        for (size_t r = 0; r < n_row; r++) {
            const double error = sum[r * TILE] / count - median[r * TILE];
            plain += error * error;
        }
        CHECK(t, n_row > 0 || want[0] == got[0], "no rows change nothing");
        CHECK(t, plain <= want[0] * (1 + 1e-14), "errors are missing");
    }
}

const check_test test_autoreject_local_list[] = {{"local_sse", errors_match}, {NULL, NULL}};

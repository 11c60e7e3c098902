// Sums along lines: the same bits on every instruction set.

#include "check.h"
#include "kernels/decode_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROW = 9, MOST = 300, WIDTH = MOST + 2 * TESS_EVENTS_PAD };

static void lines_match_reference(check *t)
{
    static double table[N_ROW][WIDTH];
    const int n_round = t->quick ? 20 : 400;
    for (int round = 0; round < n_round; round++) {
        const double *rows[N_ROW];
        int64_t shift[N_ROW];
        int64_t n_item[N_ROW];
        memset(table, 0, sizeof table);
        for (int k = 0; k < N_ROW; k++) {
            n_item[k] = (int64_t)check_uniform(t, 1, MOST);
            shift[k] = (int64_t)check_uniform(t, -400, 400);
            rows[k] = table[k] + TESS_EVENTS_PAD;
            for (int64_t i = 0; i < n_item[k]; i++) {
                table[k][TESS_EVENTS_PAD + i] = check_uniform(t, -1, 1);
            }
        }
        const int64_t first = (int64_t)check_uniform(t, -200, 200);
        const size_t n = (size_t)check_uniform(t, 0, 500);
        const size_t n_row = (size_t)check_uniform(t, 0, N_ROW + 1);
        double got = 0;
        double want = 0;
        t->ref->events_line(rows, shift, n_item, n_row, 0.3, first, n, &want);
        t->isa->events_line(rows, shift, n_item, n_row, 0.3, first, n, &got);
        CHECK(t, memcmp(&got, &want, sizeof got) == 0, "%zu lines of %zu rows: %.17g, want %.17g",
              n, n_row, got, want);
    }
}

const check_test test_decode_events_list[] = {
    {"events' lines match reference", lines_match_reference},
    {NULL, NULL},
};

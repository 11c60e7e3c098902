// Weighted sums of rows: the bits of the reference for any shape, index lists and strides; nothing
// read or written beside the rows.

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    size_t n_row, n_chan, n_in, width;
    size_t x_stride, out_stride;
} shape;

static shape any_shape(check *t, int round)
{
    shape s = {.n_row = 1 + check_random(t) % 30,
               .n_chan = 1 + check_random(t) % (round % 5 == 0 ? 300 : 40),
               .width = 1 + check_random(t) % (round % 3 == 0 ? 70 : 17)};
    s.n_in = s.n_chan;
    s.x_stride = s.width + check_random(t) % 3;
    s.out_stride = s.width + check_random(t) % 3;
    return s;
}

static void fill(check *t, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = check_uniform(t, -1, 1);
    }
}

static void products_match(check *t)
{
    for (int round = 0; round < (t->quick ? 30 : 400); round++) {
        const shape s = any_shape(t, round);
        const size_t x_bytes = ((s.n_chan - 1) * s.x_stride + s.width) * sizeof(double);
        const size_t out_bytes = ((s.n_row - 1) * s.out_stride + s.width) * sizeof(double);
        double *w = malloc(s.n_row * s.n_chan * sizeof *w);
        check_block x = check_take(x_bytes, 0);
        check_block got = check_take(out_bytes, 0);
        double *want = malloc(out_bytes);
        fill(t, w, s.n_row * s.n_chan);
        fill(t, x.data, x_bytes / sizeof(double));
        memset(want, 0x5a, out_bytes);
        memset(got.data, 0x5a, out_bytes);
        t->ref->mix_f64(w, s.n_chan, s.n_row, x.data, s.x_stride, NULL, NULL, s.n_in, s.width, want,
                        s.out_stride, NULL);
        t->isa->mix_f64(w, s.n_chan, s.n_row, x.data, s.x_stride, NULL, NULL, s.n_in, s.width,
                        got.data, s.out_stride, NULL);
        CHECK(t, memcmp(got.data, want, out_bytes) == 0,
              "%zu rows of %zu, %zu columns: other bits than the reference", s.n_row, s.n_chan,
              s.width);
        check_release(&got);
        check_release(&x);
        free(w);
        free(want);
    }
}

// Every third row is predicted from the others, in place; it holds NaN before.
static void repairs_match(check *t)
{
    for (int round = 0; round < (t->quick ? 10 : 100); round++) {
        shape s = any_shape(t, round);
        s.n_chan += 3;
        int32_t *bad = malloc(s.n_chan * sizeof *bad);
        int32_t *good = malloc(s.n_chan * sizeof *good);
        size_t n_bad = 0;
        size_t n_good = 0;
        for (size_t c = 0; c < s.n_chan; c++) {
            if (c % 3 == 1) {
                bad[n_bad++] = (int32_t)c;
            } else {
                good[n_good++] = (int32_t)c;
            }
        }
        const size_t bytes = s.n_chan * s.width * sizeof(double);
        double *w = malloc(n_bad * s.n_chan * sizeof *w);
        double *x[2] = {malloc(bytes), malloc(bytes)};
        fill(t, w, n_bad * s.n_chan);
        fill(t, x[0], s.n_chan * s.width);
        for (size_t k = 0; k < n_bad; k++) {
            memset(x[0] + (size_t)bad[k] * s.width, 0xff, s.width * sizeof(double));
        }
        memcpy(x[1], x[0], bytes);
        t->ref->mix_f64(w, s.n_chan, n_bad, x[0], s.width, good, NULL, n_good, s.width, x[0],
                        s.width, bad);
        t->isa->mix_f64(w, s.n_chan, n_bad, x[1], s.width, good, NULL, n_good, s.width, x[1],
                        s.width, bad);
        CHECK(t, memcmp(x[0], x[1], bytes) == 0, "%zu channels, %zu columns: other bits", s.n_chan,
              s.width);
        for (size_t i = 0; i < s.n_chan * s.width; i++) {
            CHECK(t, x[1][i] == x[1][i], "item %zu of %zu channels is NaN", i, s.n_chan);
        }
        free(bad);
        free(good);
        free(w);
        free(x[0]);
        free(x[1]);
    }
}

const check_test test_autoreject_mix_list[] = {
    {"mix_f64", products_match}, {"mix_f64 in place", repairs_match}, {NULL, NULL}};

// The stage autoreject.ptp of a backend against a plain reference, to the bit.

#include "backend_check.h"
#include "stage/autoreject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// math.h's NAN is a float, which warnings about silent promotion object to.
#define NAN_F64 ((double)NAN)

enum { GUARD = 64, POISON_BYTE = 0xa5 };

typedef struct ptp_case {
    int32_t dtype;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t stride_epoch;
    int64_t stride_chan;
    int64_t shift; // items between an aligned address and the start of x
} ptp_case;

static size_t item_bytes(int32_t dtype)
{
    return dtype == TESS_F32 ? sizeof(float) : sizeof(double);
}

static ptp_case contiguous(int32_t dtype, int64_t n_epoch, int64_t n_chan, int64_t n_time)
{
    return (ptp_case){dtype, n_epoch, n_chan, n_time, n_chan * n_time, n_time, 0};
}

static double item_at(int32_t dtype, const void *items, int64_t i)
{
    return dtype == TESS_F32 ? (double)((const float *)items)[i] : ((const double *)items)[i];
}

static void set_item(int32_t dtype, void *items, int64_t i, double value)
{
    if (dtype == TESS_F32) {
        ((float *)items)[i] = (float)value;
    } else {
        ((double *)items)[i] = value;
    }
}

// The definition: maximum minus minimum; NaN is always 0x7fc00000 (0x7ff8000000000000), and zero
// always positive. Widening to double keeps every value, only the difference rounds.
static void reference_ptp(int32_t dtype, const void *row, int64_t n, void *out)
{
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    int has_nan = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = item_at(dtype, row, i);
        has_nan |= v != v;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    const uint32_t nan_f32 = 0x7fc00000;
    const uint64_t nan_f64 = 0x7ff8000000000000;
    if (dtype == TESS_F32) {
        const float d = (float)high - (float)low;
        const float positive = d == 0 ? 0 : d;
        memcpy(out, has_nan || d != d ? (const void *)&nan_f32 : (const void *)&positive, 4);
    } else {
        const double d = high - low;
        const double positive = d == 0 ? 0 : d;
        memcpy(out, has_nan || d != d ? (const void *)&nan_f64 : (const void *)&positive, 8);
    }
}

void ptp_random_items(check *t, int32_t dtype, void *items, size_t n_item)
{
    for (size_t i = 0; i < n_item; i++) {
        const uint64_t bits = check_random(t);
        const uint64_t choice = bits & 63;
        if (choice >= 8) {
            set_item(dtype, items, (int64_t)i, (double)(int64_t)bits * 0x1p-63);
        } else if (choice < 2) {
            set_item(dtype, items, (int64_t)i, choice == 0 ? 0.0 : -0.0);
        } else if (dtype == TESS_F32) {
            // Any bits whose exponent is not all ones; an exponent of zero is denormal.
            const uint32_t any = (uint32_t)(bits >> 32) & (choice < 5 ? 0x807fffffu : 0xbfffffffu);
            memcpy((char *)items + 4 * i, &any, 4);
        } else {
            const uint64_t any = bits & (choice < 5 ? 0x800fffffffffffffu : 0xbfffffffffffffffu);
            memcpy((char *)items + 8 * i, &any, 8);
        }
    }
}

// Where items of x lie relative to its start: *first <= 0, *last >= 0.
static void extent(const ptp_case *c, int64_t *first, int64_t *last)
{
    const int64_t epoch = (c->n_epoch - 1) * c->stride_epoch;
    const int64_t chan = (c->n_chan - 1) * c->stride_chan;
    *first = (epoch < 0 ? epoch : 0) + (chan < 0 ? chan : 0);
    *last = (epoch > 0 ? epoch : 0) + (chan > 0 ? chan : 0) + c->n_time - 1;
}

static int run_stage(check *t, const ptp_case *c, const void *d_x, void *d_out)
{
    const tess_stage_autoreject_ptp args = {
        d_x, d_out, c->n_epoch, c->n_chan, c->n_time, c->stride_epoch, c->stride_chan, c->dtype, 0};
    const tess_backend *b = t->backend;
    return check_ok(t, b->enqueue(t->queue, TESS_STAGE_AUTOREJECT_PTP, &args, sizeof(args)),
                    "enqueue") &&
           check_ok(t, b->finish(t->queue), "finish");
}

static void print_difference(check *t, const ptp_case *c, int64_t row, const void *got,
                             const void *want)
{
    uint64_t got_bits = 0;
    uint64_t want_bits = 0;
    memcpy(&got_bits, got, item_bytes(c->dtype));
    memcpy(&want_bits, want, item_bytes(c->dtype));
    check_that(t, 0,
               "f%d [%lld][%lld][%lld] strides %lld %lld shift %lld, row %lld: got %.17g (%llx), "
               "wanted %.17g (%llx)",
               c->dtype == TESS_F32 ? 32 : 64, (long long)c->n_epoch, (long long)c->n_chan,
               (long long)c->n_time, (long long)c->stride_epoch, (long long)c->stride_chan,
               (long long)c->shift, (long long)row, item_at(c->dtype, got, 0),
               (unsigned long long)got_bits, item_at(c->dtype, want, 0),
               (unsigned long long)want_bits);
}

// Compares every row of out and the guard zones around it. x is the host copy.
static void compare(check *t, const ptp_case *c, const char *x, const char *out)
{
    const size_t size = item_bytes(c->dtype);
    const size_t guard_bytes = GUARD * size;
    const size_t out_bytes = (size_t)(c->n_epoch * c->n_chan) * size;
    for (size_t i = 0; i < guard_bytes; i++) {
        const int intact = (unsigned char)out[i] == POISON_BYTE &&
                           (unsigned char)out[guard_bytes + out_bytes + i] == POISON_BYTE;
        if (!check_that(t, intact, "written outside out, n_time %lld", (long long)c->n_time)) {
            return;
        }
    }
    for (int64_t r = 0; r < c->n_epoch * c->n_chan; r++) {
        const int64_t start = r / c->n_chan * c->stride_epoch + r % c->n_chan * c->stride_chan;
        const char *got = out + guard_bytes + (size_t)r * size;
        char want[8];
        reference_ptp(c->dtype, x + start * (int64_t)size, c->n_time, want);
        if (memcmp(got, want, size) != 0) {
            print_difference(t, c, r, got, want);
            return;
        }
    }
}

// Runs a case on the items of x, which has exactly the extent of the case. The device's copy ends
// where x ends, so that a checker sees any read past it.
static void run_on(check *t, const ptp_case *c, const char *items)
{
    const int64_t size = (int64_t)item_bytes(c->dtype);
    int64_t first;
    int64_t last;
    extent(c, &first, &last);
    const size_t span_bytes = (size_t)((last - first + 1) * size);
    const size_t out_bytes = (size_t)((c->n_epoch * c->n_chan + 2 * GUARD) * size);
    const int n_block = t->n_block;
    char *d_items = check_memory(t, TESS_SPACE_DEVICE, span_bytes + (size_t)(c->shift * size));
    char *d_out = check_memory(t, TESS_SPACE_DEVICE, out_bytes);
    char *out = check_memory(t, TESS_SPACE_HOST, out_bytes);
    if (d_items == NULL || d_out == NULL || out == NULL) {
        return;
    }
    d_items += c->shift * size;
    if (check_copy(t, d_items, TESS_SPACE_DEVICE, items, TESS_SPACE_HOST, span_bytes) &&
        check_copy(t, d_out, TESS_SPACE_DEVICE, out, TESS_SPACE_HOST, out_bytes) &&
        run_stage(t, c, d_items - first * size, d_out + GUARD * size) &&
        check_copy(t, out, TESS_SPACE_HOST, d_out, TESS_SPACE_DEVICE, out_bytes)) {
        compare(t, c, items - first * size, out);
    }
    check_release(t, n_block);
}

// Random items; one in about eight rows' worth of items gets a NaN or an infinity.
static void run_random(check *t, ptp_case c)
{
    int64_t first;
    int64_t last;
    extent(&c, &first, &last);
    const int64_t n_item = last - first + 1;
    char *items = malloc((size_t)n_item * item_bytes(c.dtype));
    if (!check_that(t, items != NULL, "no host memory")) {
        return;
    }
    ptp_random_items(t, c.dtype, items, (size_t)n_item);
    const int64_t n_special = 1 + c.n_epoch * c.n_chan / 8;
    for (int64_t k = 0; k < n_special; k++) {
        static const double specials[] = {NAN_F64, HUGE_VAL, -HUGE_VAL, -NAN_F64};
        const uint64_t where = check_random(t) % (uint64_t)n_item;
        set_item(c.dtype, items, (int64_t)where, specials[check_random(t) % 4]);
    }
    run_on(t, &c, items);
    free(items);
}

static const int32_t dtypes[] = {TESS_F32, TESS_F64};

static const int64_t lengths[] = {1,    2,    3,    4,    5,    7,    8,    9,    15,   16,
                                  17,   31,   32,   33,   63,   64,   65,   100,  127,  129,
                                  250,  255,  257,  500,  501,  511,  513,  1000, 1023, 1025,
                                  2047, 2048, 2049, 4095, 4096, 4097, 5000, 8191, 8193, 10007};

static void lengths_case(check *t)
{
    const size_t step = t->small ? 3 : 1;
    for (size_t d = 0; d < 2; d++) {
        for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k += step) {
            for (int64_t shift = 0; shift < 4 && !t->case_failed; shift++) {
                ptp_case c = contiguous(dtypes[d], 3, 7, lengths[k]);
                c.shift = shift;
                run_random(t, c);
            }
        }
    }
}

static void strides_case(check *t)
{
    static const int64_t some[] = {1, 3, 37, 129, 1001, 4099};
    for (size_t d = 0; d < 2; d++) {
        for (size_t k = 0; k < sizeof(some) / sizeof(some[0]) && !t->case_failed; k++) {
            const int64_t n = some[k];
            const int32_t dtype = dtypes[d];
            run_random(t, (ptp_case){dtype, 4, 5, n, 5 * (n + 1), n + 1, 1});
            run_random(t, (ptp_case){dtype, 4, 5, n, 5 * n + 3, n, 2});
            run_random(t, (ptp_case){dtype, 4, 5, n, n, 4 * n + 1, 3}); // channels outermost
            run_random(t, (ptp_case){dtype, 4, 5, n, -5 * n, n, 0});
            run_random(t, (ptp_case){dtype, 4, 5, n, -5 * n, -n, 1});
            run_random(t, (ptp_case){dtype, 4, 5, n, 0, n, 0});
            run_random(t, (ptp_case){dtype, 4, 5, n, 1, 2, 0}); // overlapping windows
        }
    }
}

// A special value at every place of a row, alone among ordinary ones.
static void places_case(check *t)
{
    enum { N = 67, ROOM = 67 * 67 };
    static const double specials[] = {NAN_F64, HUGE_VAL, -HUGE_VAL, 1e30, -1e30};
    static double items[ROOM]; // large enough for both types
    for (size_t d = 0; d < 2; d++) {
        for (size_t s = 0; s < 5 && !t->case_failed; s++) {
            ptp_case c = contiguous(dtypes[d], 1, N, N);
            c.shift = (int64_t)s % 4;
            ptp_random_items(t, c.dtype, items, ROOM);
            for (int64_t r = 0; r < N; r++) {
                set_item(c.dtype, items, r * N + r, specials[s]);
            }
            run_on(t, &c, (const char *)items);
        }
    }
}

// The same in long rows, where a block works on one: first and last items of every thread.
static void places_in_long_rows_case(check *t)
{
    const int64_t n = 5001;
    const int64_t n_row = t->small ? 16 : n;
    for (size_t d = 0; d < 2 && !t->case_failed; d++) {
        ptp_case c = contiguous(dtypes[d], 1, n_row, n);
        const size_t size = item_bytes(c.dtype);
        char *items = check_memory(t, TESS_SPACE_HOST, (size_t)(n * n_row) * size);
        if (items == NULL) {
            return;
        }
        ptp_random_items(t, c.dtype, items, (size_t)n);
        for (int64_t r = 1; r < n_row; r++) {
            memcpy(items + (size_t)(r * n) * size, items, (size_t)n * size);
            set_item(c.dtype, items, r * n + (r * n / n_row), r % 2 ? NAN_F64 : 1e30);
        }
        run_on(t, &c, items);
    }
}

// Rows of one kind of value: results that depend on the handling of zeros, infinities and
// denormals, on overflow, and on which NaN comes out.
static void special_rows_case(check *t)
{
    enum { N_KIND = 12, N = 21 };
    static double items[N_KIND * N];
    for (size_t d = 0; d < 2 && !t->case_failed; d++) {
        const int32_t dtype = dtypes[d];
        const double largest = dtype == TESS_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
        const double denormal = dtype == TESS_F32 ? 0x1p-149 : 0x1p-1074;
        const double pairs[N_KIND][2] = {{0.0, 0.0},
                                         {-0.0, -0.0},
                                         {0.0, -0.0},
                                         {-0.0, 0.0},
                                         {HUGE_VAL, HUGE_VAL},
                                         {-HUGE_VAL, -HUGE_VAL},
                                         {HUGE_VAL, -HUGE_VAL},
                                         {1.0, HUGE_VAL},
                                         {NAN_F64, NAN_F64},
                                         {-NAN_F64, 1.0},
                                         {largest, -largest},
                                         {denormal, 2 * denormal}};
        for (int64_t r = 0; r < N_KIND; r++) {
            for (int64_t i = 0; i < N; i++) {
                set_item(dtype, items, r * N + i, pairs[r][i % 2]);
            }
        }
        const ptp_case c = contiguous(dtype, N_KIND, 1, N);
        run_on(t, &c, (const char *)items);
        const ptp_case one = contiguous(dtype, N_KIND * N, 1, 1);
        run_on(t, &one, (const char *)items);
    }
}

static void many_short_rows_case(check *t)
{
    const int64_t n_chan = t->small ? 1009 : 100003;
    for (size_t d = 0; d < 2 && !t->case_failed; d++) {
        run_random(t, contiguous(dtypes[d], 3, n_chan, 1));
        run_random(t, contiguous(dtypes[d], 3, n_chan, 5));
        run_random(t, contiguous(dtypes[d], 5, n_chan, 33));
    }
}

static void very_long_rows_case(check *t)
{
    const int64_t n = t->small ? 20011 : 1000003;
    for (size_t d = 0; d < 2 && !t->case_failed; d++) {
        ptp_case c = contiguous(dtypes[d], 2, 3, n);
        c.shift = 1;
        run_random(t, c);
    }
    if (!t->small) {
        run_random(t, contiguous(TESS_F32, 40, 5, 100000));
    }
}

static void empty_case(check *t)
{
    char *d_x = check_memory(t, TESS_SPACE_DEVICE, 256);
    const ptp_case no_epoch = contiguous(TESS_F32, 0, 4, 8);
    const ptp_case no_chan = contiguous(TESS_F64, 4, 0, 8);
    run_stage(t, &no_epoch, d_x, d_x + 128);
    run_stage(t, &no_chan, d_x, d_x + 128);
}

// Chained without waiting: out of the first is x of the second.
static void in_queue_order_case(check *t)
{
    enum { N_EPOCH = 64, N_CHAN = 32, N_TIME = 100, N_ROW = N_EPOCH * N_CHAN };
    const tess_backend *b = t->backend;
    const size_t x_bytes = (size_t)N_ROW * N_TIME * sizeof(float);
    float *x = check_memory(t, TESS_SPACE_PINNED, x_bytes);
    float *out = check_memory(t, TESS_SPACE_PINNED, N_EPOCH * sizeof(float));
    char *d_x = check_memory(t, TESS_SPACE_DEVICE, x_bytes);
    char *d_rows = check_memory(t, TESS_SPACE_DEVICE, N_ROW * sizeof(float));
    char *d_out = check_memory(t, TESS_SPACE_DEVICE, N_EPOCH * sizeof(float));
    if (t->case_failed) {
        return;
    }
    ptp_random_items(t, TESS_F32, x, (size_t)N_ROW * N_TIME);
    const tess_stage_autoreject_ptp first = {
        d_x, d_rows, N_EPOCH, N_CHAN, N_TIME, N_CHAN * N_TIME, N_TIME, TESS_F32, 0};
    const tess_stage_autoreject_ptp second = {d_rows, d_out,  1,        N_EPOCH, N_CHAN,
                                              0,      N_CHAN, TESS_F32, 0};
    const int32_t stage = TESS_STAGE_AUTOREJECT_PTP;
    check_ok(t, b->copy(t->queue, d_x, TESS_SPACE_DEVICE, x, TESS_SPACE_PINNED, x_bytes), "in");
    check_ok(t, b->enqueue(t->queue, stage, &first, sizeof(first)), "first stage");
    check_ok(t, b->enqueue(t->queue, stage, &second, sizeof(second)), "second stage");
    check_ok(t,
             b->copy(t->queue, out, TESS_SPACE_PINNED, d_out, TESS_SPACE_DEVICE,
                     N_EPOCH * sizeof(float)),
             "out");
    check_ok(t, b->finish(t->queue), "finish");
    for (int64_t e = 0; e < N_EPOCH; e++) {
        float rows[N_CHAN];
        float want;
        for (int64_t c = 0; c < N_CHAN; c++) {
            reference_ptp(TESS_F32, x + (e * N_CHAN + c) * N_TIME, N_TIME, &rows[c]);
        }
        reference_ptp(TESS_F32, rows, N_CHAN, &want);
        check_that(t, memcmp(&want, &out[e], sizeof(want)) == 0, "epoch %lld: got %g, wanted %g",
                   (long long)e, (double)out[e], (double)want);
    }
}

static void deterministic_case(check *t)
{
    const int64_t n_time = 1000;
    const ptp_case c = contiguous(TESS_F32, t->small ? 3 : 300, 64, n_time);
    const size_t n_row = (size_t)(c.n_epoch * c.n_chan);
    const size_t x_bytes = n_row * (size_t)n_time * sizeof(float);
    const size_t out_bytes = n_row * sizeof(float);
    float *x = check_memory(t, TESS_SPACE_HOST, x_bytes);
    char *d_x = check_memory(t, TESS_SPACE_DEVICE, x_bytes);
    char *out[2];
    for (int k = 0; k < 2 && !t->case_failed; k++) {
        char *d_out = check_memory(t, TESS_SPACE_DEVICE, out_bytes);
        out[k] = check_memory(t, TESS_SPACE_HOST, out_bytes);
        if (k == 0) {
            ptp_random_items(t, TESS_F32, x, n_row * (size_t)n_time);
            check_copy(t, d_x, TESS_SPACE_DEVICE, x, TESS_SPACE_HOST, x_bytes);
        }
        run_stage(t, &c, d_x, d_out);
        check_copy(t, out[k], TESS_SPACE_HOST, d_out, TESS_SPACE_DEVICE, out_bytes);
    }
    if (!t->case_failed) {
        check_that(t, memcmp(out[0], out[1], out_bytes) == 0, "two runs differ");
    }
}

// More blocks than one launch takes, for both kernels. Stride 0 lets all rows share few items.
static void more_rows_than_blocks_case(check *t)
{
    enum { N_ROW = (1 << 20) + 3, LONG_ROW = 4096, N_TINY = 1 << 27 };
    if (t->small) {
        check_skip(t, "not at small sizes");
        return;
    }
    float *x = check_memory(t, TESS_SPACE_HOST, (LONG_ROW + 2) * sizeof(float));
    float *out = check_memory(t, TESS_SPACE_HOST, (size_t)N_TINY * sizeof(float));
    char *d_x = check_memory(t, TESS_SPACE_DEVICE, (LONG_ROW + 2) * sizeof(float));
    char *d_out = check_memory(t, TESS_SPACE_DEVICE, (size_t)N_TINY * sizeof(float));
    if (t->case_failed) {
        return;
    }
    ptp_random_items(t, TESS_F32, x, LONG_ROW + 2);
    check_copy(t, d_x, TESS_SPACE_DEVICE, x, TESS_SPACE_HOST, (LONG_ROW + 2) * sizeof(float));
    const ptp_case shared[2] = {{TESS_F32, N_ROW, 3, LONG_ROW, 0, 1, 0},
                                {TESS_F32, N_TINY / 4, 4, 3, 0, 1, 0}};
    for (int k = 0; k < 2 && !t->case_failed; k++) {
        const int64_t n_row = shared[k].n_epoch * shared[k].n_chan;
        float want[4];
        for (int64_t c = 0; c < shared[k].n_chan; c++) {
            reference_ptp(TESS_F32, x + c, shared[k].n_time, &want[c]);
        }
        const size_t out_bytes = (size_t)n_row * sizeof(float);
        memset(out, POISON_BYTE, out_bytes);
        check_copy(t, d_out, TESS_SPACE_DEVICE, out, TESS_SPACE_HOST, out_bytes);
        run_stage(t, &shared[k], d_x, d_out);
        check_copy(t, out, TESS_SPACE_HOST, d_out, TESS_SPACE_DEVICE, out_bytes);
        for (int64_t r = 0; r < n_row && !t->case_failed; r++) {
            if (memcmp(&out[r], &want[r % shared[k].n_chan], sizeof(float)) != 0) {
                print_difference(t, &shared[k], r, &out[r], &want[r % shared[k].n_chan]);
            }
        }
    }
}

// More than 2^32 items. The device array repeats a pattern whose length shares no factor with the
// row length, so that rows differ and their results come round after as many rows as the pattern
// has items.
static void large_array_case(check *t)
{
    enum { PATTERN = 1000003, N_TIME = 1000, N_CHAN = 1000, N_EPOCH = 4300 };
    const ptp_case c = contiguous(TESS_F32, N_EPOCH, N_CHAN, N_TIME);
    const int64_t n_row = c.n_epoch * c.n_chan;
    const size_t x_bytes = (size_t)(n_row * N_TIME) * sizeof(float);
    const size_t out_bytes = (size_t)n_row * sizeof(float);
    tess_device_info info;
    if (t->small || t->backend->device_info(t->backend->user, 0, &info) != TESS_OK ||
        info.memory_free_bytes < x_bytes + x_bytes / 8) {
        check_skip(t, t->small ? "not at small sizes" : "needs 20 GB of free device memory");
        return;
    }
    float *pattern = check_memory(t, TESS_SPACE_HOST, (PATTERN + N_TIME) * sizeof(float));
    float *want = check_memory(t, TESS_SPACE_HOST, PATTERN * sizeof(float));
    float *out = check_memory(t, TESS_SPACE_HOST, out_bytes);
    char *d_x = check_memory(t, TESS_SPACE_DEVICE, x_bytes);
    char *d_out = check_memory(t, TESS_SPACE_DEVICE, out_bytes);
    if (t->case_failed) {
        return;
    }
    ptp_random_items(t, TESS_F32, pattern, PATTERN);
    memcpy(pattern + PATTERN, pattern, N_TIME * sizeof(float));
    check_copy(t, d_x, TESS_SPACE_DEVICE, pattern, TESS_SPACE_HOST, PATTERN * sizeof(float));
    check_repeat(t, d_x, PATTERN * sizeof(float), x_bytes);
    check_copy(t, d_out, TESS_SPACE_DEVICE, out, TESS_SPACE_HOST, out_bytes);
    run_stage(t, &c, d_x, d_out);
    check_copy(t, out, TESS_SPACE_HOST, d_out, TESS_SPACE_DEVICE, out_bytes);
    for (int64_t r = 0; r < PATTERN; r++) {
        reference_ptp(TESS_F32, pattern + r * N_TIME % PATTERN, N_TIME, &want[r]);
    }
    for (int64_t r = 0; r < n_row && !t->case_failed; r++) {
        if (memcmp(&out[r], &want[r % PATTERN], sizeof(float)) != 0) {
            print_difference(t, &c, r, &out[r], &want[r % PATTERN]);
        }
    }
}

void ptp_cases(check *t)
{
    check_case(t, "ptp.lengths", lengths_case);
    check_case(t, "ptp.strides", strides_case);
    check_case(t, "ptp.places", places_case);
    check_case(t, "ptp.places_in_long_rows", places_in_long_rows_case);
    check_case(t, "ptp.special_rows", special_rows_case);
    check_case(t, "ptp.many_short_rows", many_short_rows_case);
    check_case(t, "ptp.very_long_rows", very_long_rows_case);
    check_case(t, "ptp.empty", empty_case);
    check_case(t, "ptp.in_queue_order", in_queue_order_case);
    check_case(t, "ptp.deterministic", deterministic_case);
    check_case(t, "ptp.more_rows_than_blocks", more_rows_than_blocks_case);
    check_case(t, "ptp.large_array", large_array_case);
}

// An address no allocation has. The fault shows when the queue is finished, and everything after
// it fails too, with a status and a sentence, never with a crash.
static void fault_case(check *t)
{
    char *d_out = check_memory(t, TESS_SPACE_DEVICE, 256);
    tess_stage_autoreject_ptp args = {NULL, d_out, 1, 4, 16, 64, 16, TESS_F32, 0};
    const uintptr_t nowhere = 0x1000;
    memcpy(&args.x, &nowhere, sizeof(nowhere));
    const tess_backend *b = t->backend;
    check_ok(t, b->enqueue(t->queue, TESS_STAGE_AUTOREJECT_PTP, &args, sizeof(args)), "enqueue");
    check_fails(t, b->finish(t->queue), TESS_E_DEVICE, "autoreject.ptp", "finish after a fault");
    void *ptr = NULL;
    check_fails(t, b->memory_alloc(t->device, TESS_SPACE_DEVICE, 256, &ptr), TESS_E_DEVICE, "lost",
                "allocation after a fault");
}

void ptp_fault_case(check *t)
{
    check_case(t, "ptp.fault", fault_case);
}

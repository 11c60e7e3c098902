// The probes: each must really do the work it claims.

#include "check.h"

#include <math.h>

static void probe_read_sees_every_byte(check *t)
{
    static const size_t sizes[] = {64, 128, 192, 256, 1024, 4096, 4096 + 64, 65536 + 192};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        check_block block = check_take(sizes[k], 0);
        uint64_t *word = block.data;
        uint64_t want = 0;
        for (size_t i = 0; i < sizes[k] / sizeof(*word); i++) {
            word[i] = check_random(t);
            want ^= word[i];
        }
        uint64_t got = 0;
        t->isa->probe_read(block.data, sizes[k], &got);
        CHECK(t, got == want, "%zu bytes: the words do not combine to the same value", sizes[k]);
        check_release(&block);
    }
}

// Chain k is k + 1 throughout, so the sum tells how many there were; flops must agree with it.
static void probe_fma_counts_its_work(check *t)
{
    enum { N_ROUND = 1000 };
    float sum32 = 0;
    double sum64 = 0;
    double flops32 = 0;
    double flops64 = 0;
    t->isa->probe_fma_f32(N_ROUND, &sum32, &flops32);
    t->isa->probe_fma_f64(N_ROUND, &sum64, &flops64);
    const double lanes32 = (double)t->isa->vector_bytes() / sizeof(float);
    const double n32 = flops32 / (2 * lanes32 * N_ROUND);
    CHECK(t, n32 >= 12 && (double)sum32 == n32 * (n32 + 1) / 2, "f32: sum %g, flops %g, lanes %g",
          (double)sum32, flops32, lanes32);
    // The reference has one lane of either width.
    const double lanes64 = fmax(1.0, lanes32 / 2);
    const double n64 = flops64 / (2 * lanes64 * N_ROUND);
    CHECK(t, n64 >= 12 && sum64 == n64 * (n64 + 1) / 2, "f64: sum %g, flops %g, lanes %g", sum64,
          flops64, lanes64);
}

const check_test test_probe_list[] = {
    {"probe_read sees every byte", probe_read_sees_every_byte},
    {"probe_fma counts its work", probe_fma_counts_its_work},
    {NULL, NULL},
};

// The harness: a test is a function called once per instruction set, the reference included.
#ifndef TESS_TESTS_KERNELS_CHECK_H
#define TESS_TESTS_KERNELS_CHECK_H

#include "kernels/kernels.h"

#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

typedef struct check {
    const tess_kernels *ref;
    const tess_kernels *isa; // the set under test
    int exhaustive;          // every f32, not a sample
    int quick;               // a small sample: for emulators
    uint64_t random;         // state of check_random()
    size_t n_failure;
    char note[96]; // what the test measured, or why it was skipped
    int skipped;
} check;

typedef struct check_test {
    const char *name;
    void (*run)(check *t);
} check_test;

// Counts a failure and prints the first few of each test.
void check_fail(check *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_skip(check *t, const char *reason);

#define CHECK(t, condition, ...)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_fail((t), __VA_ARGS__);                                                          \
        }                                                                                          \
    } while (0)

uint64_t check_random(check *t);

// Uniform in [low, high).
double check_uniform(check *t, double low, double high);

// A block of bytes that ends `tail_bytes` before a page which must not be touched; what lies
// between is filled with a pattern (also: NaN when read as floats) that check_release() expects
// unchanged.
typedef struct check_block {
    void *data;
    unsigned char *tail;
    size_t tail_bytes;
    void *map;
    size_t map_bytes;
} check_block;

check_block check_take(size_t bytes, size_t tail_bytes);
// Unmaps. Returns 0 if something was written past the end.
int check_release(check_block *block);

// Seconds of a monotonic clock.
double check_now_s(void);

extern const check_test test_ptp_list[];
extern const check_test test_decode_events_list[];
extern const check_test test_decode_hmm_list[];
extern const check_test test_math_list[];
extern const check_test test_probe_list[];
extern const check_test test_decode_joint_list[];
extern const check_test test_decode_kde_list[];
extern const check_test test_autoreject_threshold_list[];
extern const check_test test_autoreject_local_list[];
extern const check_test test_autoreject_mix_list[];
extern const check_test test_autoreject_field_list[];
extern const check_test test_autoreject_ransac_list[];
extern const check_test test_xpcs_pass_list[];
extern const check_test test_xpcs_two_list[];
extern const check_test test_clifford_rows_list[];
extern const check_test test_clifford_gemm_list[];
extern const check_test test_clifford_pair_list[];
extern const check_test test_clifford_edges_list[];

// Times every kernel whose name contains `filter` (NULL: all) on every usable set.
int bench_all(const char *filter);

#endif

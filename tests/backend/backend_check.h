// What the backend tests share: a host for the module, counters, memory freed after each case.
#ifndef TESS_BACKEND_CHECK_H
#define TESS_BACKEND_CHECK_H

#include "tessera/sys/backend.h"

#include <stddef.h>
#include <stdint.h>

enum { CHECK_MAX_BLOCKS = 64 };

typedef struct check_block {
    void *ptr;
    size_t bytes;
    tess_space space;
} check_block;

typedef struct check {
    const tess_module_info *info;
    const tess_backend *backend;
    tess_host host;
    tess_backend_device *device;
    tess_backend_queue *queue;
    tess_device_info device_info;
    int small; // sizes fit for running under a checker
    int n_passed;
    int n_failed;
    int n_skipped;
    int case_failed;
    const char *case_skipped; // reason, or NULL
    uint64_t random_state;
    int64_t n_host_block; // given out by the host and not returned
    char message[512];    // last sentence recorded through the host
    check_block blocks[CHECK_MAX_BLOCKS];
    int n_block;
} check;

typedef void (*check_fn)(check *t);

// Opens a module and fills t. NULL, or what is wrong with the file.
const char *check_open(check *t, const char *path);

// Runs one case and counts it; memory from check_memory is freed after it.
void check_case(check *t, const char *name, check_fn run);
void check_skip(check *t, const char *reason);

// Fails the running case unless condition holds; returns condition.
int check_that(check *t, int condition, const char *format, ...) TESS_PRINTF(3, 4);

// check_that(status == TESS_OK) with the recorded message.
int check_ok(check *t, tess_status status, const char *what);

// check_that(status == wanted) and that a message was recorded which contains fragment.
int check_fails(check *t, tess_status status, tess_status wanted, const char *fragment,
                const char *what);

// Memory of a space, poisoned when it is host memory; NULL fails the case.
void *check_memory(check *t, tess_space space, size_t bytes);
// Frees all but the n_keep oldest blocks.
void check_release(check *t, int n_keep);

// Copies and waits.
int check_copy(check *t, void *dst, tess_space dst_space, const void *src, tess_space src_space,
               size_t bytes);

// Fills device memory with repeats of its first bytes by copies within the device.
int check_repeat(check *t, void *device_ptr, size_t unit_bytes, size_t bytes);

uint64_t check_random(check *t);
double check_seconds(void);

// backend_ptp.c: cases of the stage autoreject.ptp.
void ptp_cases(check *t);
// Random items: mostly in [-1, 1), some of any finite bit pattern, some zeros of both signs.
void ptp_random_items(check *t, int32_t dtype, void *items, size_t n_item);
// Provokes a fault on the device; the process cannot use it afterwards.
void ptp_fault_case(check *t);

// backend_votes.c: cases of the stage autoreject.votes.
void votes_cases(check *t);

// backend_bench.c: speed of the stages as share of the measured ceilings.
void bench_all(check *t);

#endif

// What all unit tests need: checks of statuses, scratch files, contexts, a failing allocator.
#ifndef TESS_TESTS_UNIT_H
#define TESS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tessera/context.h"

#include <stdatomic.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof *(array))

// The call succeeds; its message is shown if not.
#define assert_ok(call) unit_check_ok((call), #call, __FILE__, __LINE__)
// The call fails with this status and a message that contains part.
#define assert_fails(call, status, part)                                                           \
    unit_check_failure((call), (status), (part), #call, __FILE__, __LINE__)
// text contains part.
#define assert_contains(text, part) unit_check_contains((text), (part), __FILE__, __LINE__)

void unit_check_ok(tess_status got, const char *call, const char *file, int line);
void unit_check_failure(tess_status got, tess_status want, const char *part, const char *call,
                        const char *file, int line);
void unit_check_contains(const char *text, const char *part, const char *file, int line);

// Path of a name in this process's scratch folder, which is removed at exit. Valid until then.
const char *unit_path(const char *name);
// How many entries the scratch folder has.
int unit_count_files(void);
int unit_exists(const char *path);
void unit_write_file(const char *path, const void *bytes, size_t n_byte);
// The whole file with a zero behind it; free() it.
char *unit_read_file(const char *path, size_t *n_byte);

// 1 if text is one JSON value and nothing else; *at is where it stopped being one.
int unit_is_json(const char *text, size_t *at);

// Makes the comma the decimal mark of this process; 0 where no such locale can be had.
int unit_set_decimal_comma(void);

// 1 where every step costs many times its usual (sanitizers, coverage, an emulator), which the
// build says with TESS_TEST_QUICK: tests then take every way once, and leave the sweeps to other
// builds.
int unit_is_quick(void);

// A context with so many threads; memory_limit 0: the default.
tess_context *unit_context(int32_t n_thread, uint64_t memory_limit_bytes);

// Counts blocks; the fail_at-th allocation from its set-up on returns NULL (0: none), and so do
// all later ones when from_then_on is set.
typedef struct unit_allocator {
    tess_allocator table;
    atomic_llong n_alloc;
    atomic_llong n_live;
    long long fail_at;
    int from_then_on;
} unit_allocator;

void unit_allocator_init(unit_allocator *allocator, long long fail_at);

#endif

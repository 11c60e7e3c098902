// A host that counts, and files made of bytes: what the tests of all formats need.
#ifndef TESS_TESTS_IO_SUPPORT_H
#define TESS_TESTS_IO_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tessera/sys/format.h"

// Blocks handed out and not given back; 0 at the end of every test.
int64_t io_live_blocks(void);
const tess_host *io_host(void);
// The k-th allocation from now on fails (1: the next); 0: none.
void io_fail_allocation(int64_t k);
// Last line logged, "" if none since the last call.
const char *io_last_log(void);

// Path of a golden file. Valid until the next call.
const char *io_golden(const char *name);
// A scratch file with these bytes; its path is valid until the next call and the file replaced
// by it.
const char *io_file_of(const void *bytes, size_t n_byte);
// A scratch path to write to, with this ending.
const char *io_scratch(const char *ending);
// The whole file; free() it.
uint8_t *io_slurp(const char *path, size_t *n_byte);

// Asserts that opening fails with status and a message that contains part, leaving nothing open.
void io_assert_open_fails(const tess_format *format, const char *path, const char *dataset,
                          tess_status status, const char *part);
// Asserts that the data lie in the file as they are, and begin with these bytes.
void io_assert_direct(const char *path, const tess_format_reader *reader, const void *bytes,
                      size_t n_byte);
// Opens, reads everything in tiles of one item and closes; any status is right, a crash is not.
tess_status io_exercise(const tess_format *format, const char *path);

int io_setup(void **state);
int io_teardown(void **state);

#endif

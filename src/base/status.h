// The message slot and the error trio.
//
// The slot is a fixed array per thread: reporting that memory ran out must not need memory.
#ifndef TESS_BASE_STATUS_H
#define TESS_BASE_STATUS_H

#include "tessera/base.h"

#include <stdarg.h>

enum { TESS_MESSAGE_BYTES = 1024 };

// Records the message and returns status.
tess_status tess_error_set(tess_status status, const char *format, ...) TESS_PRINTF(2, 3);
tess_status tess_error_set_v(tess_status status, const char *format, va_list args)
    TESS_PRINTF(2, 0);

// Appends to the recorded message: context that only the caller knows.
void tess_error_append(const char *format, ...) TESS_PRINTF(1, 2);

// On entry of every public call.
void tess_error_clear(void);

// Copies this thread's message out, and one from another thread in.
void tess_error_copy_out(char message[TESS_MESSAGE_BYTES]);
void tess_error_copy_in(const char message[TESS_MESSAGE_BYTES]);

#define TESS_FAIL(status, ...) return tess_error_set((status), __VA_ARGS__)

#define TESS_TRY(call)                                                                             \
    do {                                                                                           \
        const tess_status try_status = (call);                                                     \
        if (try_status != TESS_OK) {                                                               \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

// Guards our own invariants; user data never reach one. Off in release builds.
#ifdef NDEBUG
#define TESS_ASSERT(condition) ((void)0)
#else
#include <assert.h>
#define TESS_ASSERT(condition) assert(condition)
#endif

#endif

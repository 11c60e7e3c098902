// Log lines go to a callback; the library itself prints nothing.
#ifndef TESS_BASE_LOG_H
#define TESS_BASE_LOG_H

#include "tessera/base.h"
#include "tessera/warning.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

enum { TESS_LOG_KEPT_BYTES = 16384 };

typedef struct tess_log {
    tess_log_fn fn; // NULL: silent
    void *user;
    tess_log_level level;
    pthread_mutex_t mutex; // one line at a time
    // Warnings said so far, each once, a line each: reports repeat them, heard or not. What finds
    // no room is counted.
    char kept[TESS_LOG_KEPT_BYTES];
    size_t kept_bytes;
    int n_lost;
} tess_log;

void tess_log_init(tess_log *log, tess_log_fn fn, void *user, tess_log_level level);
void tess_log_destroy(tess_log *log);
void tess_log_write(tess_log *log, tess_log_level level, const char *format, ...) TESS_PRINTF(3, 4);
void tess_log_write_v(tess_log *log, tess_log_level level, const char *format, va_list args)
    TESS_PRINTF(3, 0);
// A line of level warning that ends in the warning's id in brackets.
void tess_log_warn(tess_log *log, tess_warning warning, const char *format, ...) TESS_PRINTF(3, 4);
// The warnings kept so far, lines that end in a break, into text; returns how many were lost.
int tess_log_warnings(tess_log *log, char text[TESS_LOG_KEPT_BYTES]);

#endif

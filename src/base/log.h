// Log lines go to a callback; the library itself prints nothing.
#ifndef TESS_BASE_LOG_H
#define TESS_BASE_LOG_H

#include "tessera/base.h"

#include <pthread.h>
#include <stdarg.h>

typedef struct tess_log {
    tess_log_fn fn; // NULL: silent
    void *user;
    tess_log_level level;
    pthread_mutex_t mutex; // one line at a time
} tess_log;

void tess_log_init(tess_log *log, tess_log_fn fn, void *user, tess_log_level level);
void tess_log_destroy(tess_log *log);
void tess_log_write(tess_log *log, tess_log_level level, const char *format, ...) TESS_PRINTF(3, 4);
void tess_log_write_v(tess_log *log, tess_log_level level, const char *format, va_list args)
    TESS_PRINTF(3, 0);

#endif

#include "base/log.h"

#include <stdio.h>

void tess_log_init(tess_log *log, tess_log_fn fn, void *user, tess_log_level level)
{
    log->fn = fn;
    log->user = user;
    log->level = level;
    pthread_mutex_init(&log->mutex, NULL);
}

void tess_log_destroy(tess_log *log)
{
    pthread_mutex_destroy(&log->mutex);
}

void tess_log_write_v(tess_log *log, tess_log_level level, const char *format, va_list args)
{
    if (!log->fn || level > log->level) {
        return;
    }
    char line[1024];
    vsnprintf(line, sizeof line, format, args);
    pthread_mutex_lock(&log->mutex);
    log->fn(log->user, level, line);
    pthread_mutex_unlock(&log->mutex);
}

void tess_log_write(tess_log *log, tess_log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tess_log_write_v(log, level, format, args);
    va_end(args);
}

#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void tess_log_init(tess_log *log, tess_log_fn fn, void *user, tess_log_level level)
{
    log->fn = fn;
    log->user = user;
    log->level = level;
    log->kept[0] = 0;
    log->kept_bytes = 0;
    log->n_lost = 0;
    pthread_mutex_init(&log->mutex, NULL);
}

void tess_log_destroy(tess_log *log)
{
    pthread_mutex_destroy(&log->mutex);
}

static bool is_kept(const tess_log *log, const char *line, size_t length)
{
    for (const char *at = log->kept; *at; at = strchr(at, '\n') + 1) {
        if (strncmp(at, line, length) == 0 && at[length] == '\n') {
            return true;
        }
    }
    return false;
}

// Under the mutex.
static void keep(tess_log *log, const char *line)
{
    const size_t length = strcspn(line, "\n");
    if (is_kept(log, line, length)) {
        return;
    }
    if (log->kept_bytes + length + 2 > sizeof log->kept) {
        log->n_lost++;
        return;
    }
    memcpy(log->kept + log->kept_bytes, line, length);
    log->kept_bytes += length;
    log->kept[log->kept_bytes++] = '\n';
    log->kept[log->kept_bytes] = 0;
}

void tess_log_write_v(tess_log *log, tess_log_level level, const char *format, va_list args)
{
    const bool is_heard = log->fn && level <= log->level;
    if (!is_heard && level != TESS_LOG_WARNING) {
        return;
    }
    char line[1024];
    vsnprintf(line, sizeof line, format, args);
    pthread_mutex_lock(&log->mutex);
    if (level == TESS_LOG_WARNING) {
        keep(log, line);
    }
    if (is_heard) {
        log->fn(log->user, level, line);
    }
    pthread_mutex_unlock(&log->mutex);
}

int tess_log_warnings(tess_log *log, char text[TESS_LOG_KEPT_BYTES])
{
    pthread_mutex_lock(&log->mutex);
    memcpy(text, log->kept, log->kept_bytes + 1);
    const int n_lost = log->n_lost;
    pthread_mutex_unlock(&log->mutex);
    return n_lost;
}

void tess_log_write(tess_log *log, tess_log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tess_log_write_v(log, level, format, args);
    va_end(args);
}

void tess_log_warn(tess_log *log, tess_warning warning, const char *format, ...)
{
    int64_t n_warning = 0;
    char line[960]; // the id finds room behind it
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tess_log_write(log, TESS_LOG_WARNING, "%s [%s]", line, tess_warnings(&n_warning)[warning].id);
}

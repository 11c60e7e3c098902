// Writes the lines of --log-json. By hand, not with tess_json: a line may be written in the middle
// of a library call, whose error message a second call would wipe away.

#include "log_json.h"

#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static FILE *log_file;
static int is_stderr;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int log_json_open(const char *path)
{
    is_stderr = strcmp(path, "-") == 0;
    log_file = is_stderr ? stderr : fopen(path, "ae");
    if (!log_file) {
        return errno;
    }
    setvbuf(log_file, NULL, _IOLBF, BUFSIZ);
    return 0;
}

int log_json_has_stderr(void)
{
    return log_file && is_stderr;
}

static void begin_line(const char *level, const char *id, const char *text)
{
    struct timespec now;
    struct tm utc;
    char stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    fprintf(log_file, "{\"schema\": \"tessera.log/1\", \"time\": \"%s.%03dZ\", \"level\": \"%s\", ",
            stamp, (int)(now.tv_nsec / 1000000), level);
    fprintf(log_file, id ? "\"id\": \"%s\", \"text\": " : "\"id\": null, \"text\": ", id);
    text_print_json(log_file, text);
}

void log_json_begin(const char *command_line)
{
    if (!log_file) {
        return;
    }
    begin_line("begin", NULL, command_line);
    fprintf(log_file,
            ", \"tessera_provenance\": {\"schema\": \"tessera.provenance/1\", \"tessera\": \"%s\", "
            "\"commit\": \"%s\", \"stage\": \"log\", \"command_line\": ",
            tess_version(), tess_build_commit());
    text_print_json(log_file, command_line);
    fputs("}}\n", log_file);
}

void log_json_write(const char *level, const char *id, const char *text)
{
    if (!log_file) {
        return;
    }
    pthread_mutex_lock(&lock);
    begin_line(level, id, text);
    fputs("}\n", log_file);
    pthread_mutex_unlock(&lock);
}

void log_json_progress(const tess_progress *now)
{
    if (!log_file) {
        return;
    }
    pthread_mutex_lock(&lock);
    begin_line("progress", NULL, now->stage);
    fprintf(log_file,
            ", \"stage\": \"%s\", \"unit\": \"%s\", \"done\": %lld, \"total\": %lld, "
            "\"elapsed_s\": %.3f, \"remaining_s\": ",
            now->stage, now->unit, (long long)now->done, (long long)now->total, now->elapsed_s);
    if (now->remaining_s < 0) {
        fputs("null", log_file);
    } else {
        fprintf(log_file, "%.3f", now->remaining_s);
    }
    if (now->effective >= 0) {
        fprintf(log_file, ", \"effective\": %.1f", now->effective);
    }
    fputs("}\n", log_file);
    pthread_mutex_unlock(&lock);
}

int log_json_close(int code)
{
    if (!log_file) {
        return 0;
    }
    begin_line("end", NULL, code == 0 ? "success" : "failure");
    fprintf(log_file, ", \"code\": %d}\n", code);
    int is_bad = ferror(log_file);
    if (is_stderr) {
        is_bad |= fflush(log_file) != 0;
    } else {
        is_bad |= fclose(log_file) != 0;
    }
    log_file = NULL;
    return is_bad;
}

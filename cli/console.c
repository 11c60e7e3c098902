// Talks to the terminal: messages, the bar's line, and what closed descriptors do.

#include "console.h"

#include "log_json.h"
#include "signals.h"
#include "text.h"
#include "warnings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int is_quiet;
static int bar_is_drawn;
static char *captured; // where failures go instead; NULL: nowhere
static size_t captured_capacity;
static int is_hushed;
static char kept[1024]; // what a hushed process failed with

void console_init(void)
{
    // A file opened later must not become descriptor 1 and get our messages. stdout is replaced
    // by something unwritable on purpose: losing results has to be an error.
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", modes[fd]) != fd) {
            _exit(74);
        }
    }
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
}

int console_finish(int code)
{
    console_erase_bar();
    errno = 0;
    const int failed = fflush(stdout) != 0 || ferror(stdout);
    if (signals_pipe_closed()) {
        return 141;
    }
    if (failed && code == 0) {
        return console_fail(74, "cannot write to standard output: %s",
                            errno ? strerror(errno) : "an earlier write failed");
    }
    return code;
}

void console_set_quiet(int quiet)
{
    is_quiet = quiet;
}

void console_set_hushed(int hushed)
{
    is_hushed = hushed;
}

static const char *prefix(void)
{
    const char *no_colour = getenv("NO_COLOR");
    if (console_is_terminal() && !(no_colour && no_colour[0])) {
        return "\033[1mtessera:\033[0m";
    }
    return "tessera:";
}

static void print_line(const char *start, const char *line)
{
    if (is_hushed || log_json_has_stderr()) {
        return; // another says it; the same line stands there as JSON
    }
    console_erase_bar();
    fprintf(stderr, "%s %s", prefix(), start);
    // Names from files may hold anything; they must not steer the terminal.
    for (const char *c = line; *c; c++) {
        text_print_char(stderr, *c);
    }
    fputc('\n', stderr);
}

// What is said where there is no memory to say more.
static const char no_memory[] = "out of memory";

// NULL without memory.
static char *make_line(const char *format, va_list arguments)
{
    char *line = NULL;
    return vasprintf(&line, format, arguments) < 0 ? NULL : line;
}

void console_note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    char *line = make_line(format, arguments);
    va_end(arguments);
    log_json_write("note", NULL, line ? line : no_memory);
    if (!is_quiet) {
        print_line("", line ? line : no_memory);
    }
    free(line);
}

void console_capture(char *text, size_t capacity)
{
    captured = text;
    captured_capacity = capacity;
    if (text) {
        text[0] = '\0';
    }
}

int console_fail(int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    char *line = make_line(format, arguments);
    va_end(arguments);
    if (captured) {
        if (!captured[0]) {
            snprintf(captured, captured_capacity, "%s", line ? line : no_memory);
        }
        free(line);
        return code;
    }
    log_json_write(code != 0 ? "error" : "note", NULL, line ? line : no_memory);
    if (is_hushed && code != 0 && !kept[0]) {
        snprintf(kept, sizeof kept, "%s", line ? line : no_memory);
    }
    print_line("", line ? line : no_memory);
    free(line);
    return code;
}

const char *console_hushed(void)
{
    return kept;
}

void console_say_hushed(const char *start)
{
    if (kept[0]) {
        is_hushed = 0;
        print_line(start, kept);
        is_hushed = 1;
    }
}

static void say_warning(const char *line, int is_shown)
{
    size_t length = 0;
    const tess_warning_info *warning = tess_warning_of_line(line, &length);
    char *text = strndup(line, length);

    if (!warning || warnings_take(warning)) {
        log_json_write("warning", warning ? warning->id : NULL, text ? text : line);
        if (is_shown && !is_quiet) {
            print_line("warning: ", line);
        }
    }
    free(text);
}

void console_log(tess_log_level level, const char *line, int is_shown)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *name = names[level >= 0 && level <= TESS_LOG_DEBUG ? level : TESS_LOG_DEBUG];
    char start[16];

    if (level == TESS_LOG_WARNING) {
        say_warning(line, is_shown);
        return;
    }
    log_json_write(name, NULL, line);
    if (is_shown && !is_quiet) {
        snprintf(start, sizeof start, "%s: ", name);
        print_line(start, line);
    }
}

void console_warn(tess_warning warning, const char *format, ...)
{
    int64_t n_warning = 0;
    char *line = NULL;
    va_list arguments;

    va_start(arguments, format);
    char *text = make_line(format, arguments);
    va_end(arguments);
    if (text && asprintf(&line, "%s [%s]", text, tess_warnings(&n_warning)[warning].id) >= 0) {
        say_warning(line, 1);
        free(line);
    }
    free(text);
}

int console_status(tess_status status)
{
    const char *message = tess_last_error();
    const int code = status == TESS_CANCELLED && signals_caught() ? signals_exit_code()
                                                                  : tess_status_exit_code(status);

    console_fail(code, "%s", message[0] ? message : tess_status_text(status));
    if (status == TESS_E_INTERNAL) {
        console_fail(code, "this is a bug; please attach the output of 'tessera sysinfo'");
    }
    return code;
}

int console_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

int console_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    const int asked = columns ? atoi(columns) : 0;

    if (asked >= 40) {
        return asked < 400 ? asked : 400;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) {
        return size.ws_col;
    }
    return 80;
}

void console_draw_bar(const char *text)
{
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    bar_is_drawn = 1;
}

void console_erase_bar(void)
{
    if (bar_is_drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        bar_is_drawn = 0;
    }
}

// Calls say with each line of the text.
static void for_each_line(const char *text, void (*say)(const char *line))
{
    for (const char *line = text; *line;) {
        char copy[1024];
        const size_t length = strcspn(line, "\n");
        snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        say(copy);
        line += length + (line[length] == '\n');
    }
}

// Of what a computation noted, some are warnings: those have an id.
static void say_note(const char *line)
{
    size_t length = 0;
    if (tess_warning_of_line(line, &length)) {
        say_warning(line, 1);
    } else {
        console_note("%s", line);
    }
}

static void say_shown_warning(const char *line)
{
    say_warning(line, 1);
}

void console_notes(const char *notes)
{
    for_each_line(notes, say_note);
}

void console_warnings(const char *lines)
{
    for_each_line(lines, say_shown_warning);
}

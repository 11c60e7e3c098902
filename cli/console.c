// Talks to the terminal: messages, the bar's line, and what closed descriptors do.

#include "console.h"

#include "signals.h"
#include "text.h"

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

static const char *prefix(void)
{
    const char *no_colour = getenv("NO_COLOR");
    if (console_is_terminal() && !(no_colour && no_colour[0])) {
        return "\033[1mtessera:\033[0m";
    }
    return "tessera:";
}

static void print_line(const char *format, va_list arguments)
{
    char *line = NULL;

    console_erase_bar();
    if (vasprintf(&line, format, arguments) < 0) {
        fputs("tessera: out of memory\n", stderr);
        return;
    }
    fprintf(stderr, "%s ", prefix());
    // Names from files may hold anything; they must not steer the terminal.
    for (const char *c = line; *c; c++) {
        text_print_char(stderr, *c);
    }
    fputc('\n', stderr);
    free(line);
}

void console_note(const char *format, ...)
{
    va_list arguments;
    if (is_quiet) {
        return;
    }
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

int console_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return code;
}

int console_status(tess_status status)
{
    const char *message = tess_last_error();
    const int number = signals_caught();
    const int code =
        status == TESS_CANCELLED && number ? 128 + number : tess_status_exit_code(status);

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

void console_notes(const char *notes)
{
    for (const char *line = notes; *line;) {
        char copy[1024];
        const size_t length = strcspn(line, "\n");
        snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        for (char *letter = copy; *letter; letter++) {
            // Names come from the file; none shall steer the terminal.
            *letter = (unsigned char)*letter < ' ' || *letter == 127 ? '?' : *letter;
        }
        console_note("%s", copy);
        line += length + (line[length] == '\n');
    }
}

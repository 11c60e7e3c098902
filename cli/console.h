// The console: results on stdout, everything else as "tessera: ..." lines on stderr.
#ifndef TESSERA_CLI_CONSOLE_H
#define TESSERA_CLI_CONSOLE_H

#include <tessera/base.h>
#include <tessera/warning.h>

#include <stddef.h>

// Every function of the command that can fail returns an exit code, 0 for success.
#define CLI_TRY(call)                                                                              \
    do {                                                                                           \
        const int code_ = (call);                                                                  \
        if (code_ != 0) {                                                                          \
            return code_;                                                                          \
        }                                                                                          \
    } while (0)

// The same for library calls: prints the library's message and returns its exit code.
#define CLI_CALL(call)                                                                             \
    do {                                                                                           \
        const tess_status status_ = (call);                                                        \
        if (status_ != TESS_OK) {                                                                  \
            return console_status(status_);                                                        \
        }                                                                                          \
    } while (0)

// Makes descriptors 0 to 2 safe to use whatever the caller closed.
void console_init(void);

// Flushes stdout and turns a failed write into its exit code.
int console_finish(int code);

// 1: notes are not printed. Errors always are.
// A rank that another speaks for: of what it would say its failure is kept, for
// console_say_hushed(). console_hushed(): that; "": none.
void console_set_hushed(int hushed);
const char *console_hushed(void);
void console_say_hushed(const char *start);
void console_set_quiet(int quiet);

// One line for the user, unless quiet.
void console_note(const char *format, ...) TESS_PRINTF(1, 2);

// A line of the log at a level: "warning: ...", the id of which decides whether it is said.
void console_log(tess_log_level level, const char *line, int is_shown);

// A warning of the command itself, unless quiet.
void console_warn(tess_warning warning, const char *format, ...) TESS_PRINTF(2, 3);

// Warnings of a result, a line each, as the library left them.
void console_warnings(const char *lines);

// Notes of the library, a line each. They may hold names from files: none shall steer the terminal.
void console_notes(const char *notes);

// Prints the error line and returns code.
int console_fail(int code, const char *format, ...) TESS_PRINTF(2, 3);

// While text is not NULL failures are not printed: the first of them is put there.
void console_capture(char *text, size_t capacity);

// Prints tess_last_error() and returns the exit code of status.
int console_status(tess_status status);

// 1 if stderr is a terminal that understands cursor movement.
int console_is_terminal(void);

// Columns of the terminal, of COLUMNS, or 80.
int console_width(void);

// Draws text over the present line of the terminal; the next message erases it.
void console_draw_bar(const char *text);

// Removes the bar, if one is drawn.
void console_erase_bar(void);

#endif

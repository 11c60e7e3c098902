#include "base/status.h"

#include "tess_features.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char message_slot[TESS_MESSAGE_BYTES];

const char *tess_status_name(tess_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, exit_code, text)                                                  \
    case name:                                                                                     \
        return #name;
        TESS_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "TESS_UNKNOWN";
}

const char *tess_status_text(tess_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, exit_code, text)                                                  \
    case name:                                                                                     \
        return text;
        TESS_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

int tess_status_exit_code(tess_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, exit_code, text)                                                  \
    case name:                                                                                     \
        return exit_code;
        TESS_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return 70;
}

const char *tess_last_error(void)
{
    return message_slot;
}

const char *tess_version(void)
{
    return TESS_VERSION;
}

const char *tess_build_commit(void)
{
    return TESS_COMMIT;
}

tess_status tess_error_set_v(tess_status status, const char *format, va_list args)
{
    enum { HEAD = TESS_MESSAGE_BYTES / 2, DOTS = 3 };
    // Arguments may point into the slot itself (a message that wraps another one).
    char text[8 * TESS_MESSAGE_BYTES];
    const int n = vsnprintf(text, sizeof text, format, args);
    const size_t length = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (length >= TESS_MESSAGE_BYTES) {
        // A path of thousands of characters must not push out what is wrong with it.
        const size_t tail = TESS_MESSAGE_BYTES - 1 - HEAD - DOTS;
        memcpy(text + HEAD, "...", DOTS);
        memmove(text + HEAD + DOTS, text + length - tail, tail + 1);
    }
    memcpy(message_slot, text, TESS_MESSAGE_BYTES);
    return status;
}

tess_status tess_error_set(tess_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tess_error_set_v(status, format, args);
    va_end(args);
    return status;
}

void tess_error_append(const char *format, ...)
{
    const size_t used = strlen(message_slot);
    va_list args;
    va_start(args, format);
    vsnprintf(message_slot + used, sizeof message_slot - used, format, args);
    va_end(args);
}

void tess_error_clear(void)
{
    message_slot[0] = '\0';
}

void tess_error_copy_out(char message[TESS_MESSAGE_BYTES])
{
    memcpy(message, message_slot, TESS_MESSAGE_BYTES);
}

void tess_error_copy_in(const char message[TESS_MESSAGE_BYTES])
{
    memcpy(message_slot, message, TESS_MESSAGE_BYTES);
}

#include "helper.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NO_MEMORY_STATUS = 71 };

static char refusal[1024];
static tess_h5_message outgoing;

tess_status tess_h5_refuse(tess_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(refusal, sizeof refusal, format, args);
    va_end(args);
    return status;
}

void tess_h5_make_room(tess_h5_message *m, size_t n_byte)
{
    if (n_byte > m->capacity) {
        free(m->bytes);
        m->bytes = malloc(n_byte);
        m->capacity = n_byte;
    }
    if (n_byte > 0 && m->bytes == NULL) {
        _exit(NO_MEMORY_STATUS);
    }
    m->used = m->at = 0;
    m->is_broken = false;
}

void tess_h5_send_answer(tess_h5_kind kind)
{
    const tess_h5_head head = {.kind = (uint32_t)kind, .bytes = (uint32_t)outgoing.used};
    if (tess_h5_send(TESS_H5_SOCKET, &head, outgoing.bytes, -1) != TESS_H5_OK) {
        _exit(0); // nobody wants to know
    }
}

tess_h5_message *tess_h5_answer(size_t n_byte)
{
    tess_h5_make_room(&outgoing, n_byte);
    return &outgoing;
}

void tess_h5_send_end(tess_status status)
{
    const int32_t number = status;
    tess_h5_message *m = tess_h5_answer(sizeof refusal + 16);
    if (status != TESS_OK) {
        tess_h5_put(m, &number, sizeof number);
        tess_h5_put_text(m, refusal);
    }
    tess_h5_send_answer(status == TESS_OK ? TESS_H5_DONE : TESS_H5_FAILED);
}

#include "io/hdf5/h5_call.h"

#include "base/status.h"

#include <string.h>

enum { ANSWER_BYTES = 1024 };
// What libhdf5 and its libraries map, and what it takes to read any sound file's structure.
static const uint64_t BASE_MEMORY = UINT64_C(1) << 30;

static tess_status make_room(tess_h5_call *call, size_t n_byte)
{
    tess_h5_message *m = &call->message;
    if (n_byte > m->capacity) {
        call->host->release(call->host->user, m->bytes, m->capacity);
        *m = (tess_h5_message){.bytes = call->host->alloc(call->host->user, n_byte)};
        m->capacity = m->bytes != NULL ? n_byte : 0;
    }
    return m->capacity >= n_byte ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_h5_call_begin(const tess_host *host, const char *path, uint64_t session,
                               size_t n_byte, tess_h5_call *call)
{
    *call = (tess_h5_call){.host = host, .path = path, .is_answered = true};
    TESS_TRY(tess_h5_process_take(path, session, &call->process));
    const tess_status status = make_room(call, n_byte > ANSWER_BYTES ? n_byte : ANSWER_BYTES);
    if (status != TESS_OK) {
        tess_h5_call_end(call);
    }
    return status;
}

void tess_h5_call_end(tess_h5_call *call)
{
    char how[128];
    if (call->process.socket >= 0 && call->is_answered) {
        tess_h5_process_give_back(&call->process);
    } else if (call->process.socket >= 0) {
        tess_h5_process_end(&call->process, how, sizeof how);
    }
    call->process.socket = -1;
    if (call->message.capacity > 0) {
        call->host->release(call->host->user, call->message.bytes, call->message.capacity);
    }
    call->message = (tess_h5_message){0};
}

static tess_status broken_off(tess_h5_call *call, tess_h5_result result)
{
    char how[128];
    tess_h5_process_end(&call->process, how, sizeof how);
    if (call->is_writing) {
        TESS_FAIL(TESS_E_IO,
                  "%s: HDF5 stopped while writing it (%s); free some space and run again",
                  call->path, result == TESS_H5_LATE ? "no answer" : how);
    }
    if (result == TESS_H5_LATE) {
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: is damaged, or its disk does not answer: HDF5 could not read it within %d s; "
            "copy the file again, or raise TESSERA_HDF5_TIMEOUT",
            call->path, tess_h5_time_limit_s());
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: is damaged: HDF5 could not read it and stopped with %s; copy the "
              "file again",
              call->path, how);
}

tess_status tess_h5_call_nonsense(tess_h5_call *call)
{
    char how[128];
    tess_h5_process_end(&call->process, how, sizeof how);
    TESS_FAIL(call->is_writing ? TESS_E_IO : TESS_E_FORMAT,
              "%s: is damaged: what HDF5 says about it cannot be; copy the file again", call->path);
}

tess_status tess_h5_call_ask(tess_h5_call *call, tess_h5_kind kind, int fd)
{
    TESS_ASSERT(!call->message.is_broken);
    const tess_h5_head head = {
        .kind = (uint32_t)kind,
        .bytes = (uint32_t)call->message.used,
        .memory_bytes =
            call->is_writing ? 0 : BASE_MEMORY + call->host->memory_limit_bytes + call->more_bytes,
    };
    call->is_answered = false;
    const tess_h5_result result =
        tess_h5_send(call->process.socket, &head, call->message.bytes, fd);
    return result == TESS_H5_OK ? TESS_OK : broken_off(call, result);
}

static bool is_error(int32_t status)
{
    switch (status) {
#define CASE(name, value, exit_code, text) case value:
        TESS_STATUS_LIST(CASE)
#undef CASE
        return status < 0;
    default:
        return false;
    }
}

static tess_status refused(tess_h5_call *call)
{
    int32_t status = 0;
    tess_h5_get(&call->message, &status, sizeof status);
    const char *text = tess_h5_get_text(&call->message);
    if (text == NULL || !is_error(status)) {
        return tess_h5_call_nonsense(call);
    }
    call->is_answered = true;
    call->process.session = 0; // it has closed what was open
    TESS_FAIL((tess_status)status, "%s", text);
}

tess_status tess_h5_call_next(tess_h5_call *call, bool *has_item)
{
    tess_h5_head head;
    const int limit_s = tess_h5_time_limit_s();
    *has_item = false;
    tess_h5_result result =
        tess_h5_receive(call->process.socket, limit_s, &head, sizeof head, NULL);
    if (result != TESS_H5_OK) {
        return broken_off(call, result);
    }
    if (head.kind < TESS_H5_ITEM || head.kind > TESS_H5_FAILED || head.bytes > TESS_H5_MAX_BYTES) {
        return tess_h5_call_nonsense(call);
    }
    TESS_TRY(make_room(call, head.bytes));
    call->message.used = head.bytes;
    call->message.at = 0;
    call->message.is_broken = false;
    result = tess_h5_receive(call->process.socket, limit_s, call->message.bytes, head.bytes, NULL);
    if (result != TESS_H5_OK) {
        return broken_off(call, result);
    }
    if (head.kind == TESS_H5_FAILED) {
        return refused(call);
    }
    *has_item = head.kind == TESS_H5_ITEM;
    call->is_answered = !*has_item;
    return TESS_OK;
}

tess_status tess_h5_call_finish(tess_h5_call *call)
{
    bool has_item = false;
    TESS_TRY(tess_h5_call_next(call, &has_item));
    // The room is for the next question now.
    call->message.used = call->message.at = 0;
    return has_item ? tess_h5_call_nonsense(call) : TESS_OK;
}

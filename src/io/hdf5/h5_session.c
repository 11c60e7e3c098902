// A data set as a helper has it open. Any helper may: the reader remembers a number, and one that
// does not know it opens the data set again.

#include "base/status.h"
#include "io/hdf5/h5_deflate.h"
#include "io/hdf5/h5_reader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

uint64_t tess_h5_session_next(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

tess_status tess_h5_session_open(tess_h5_call *call, const tess_h5_reader *r, const char *dataset,
                                 tess_h5_dataset *found, char name[TESS_H5_NAME_CHARS])
{
    const int32_t has_deflate = tess_h5_has_deflate;
    bool has_item = false;
    tess_h5_put_text(&call->message, r->path);
    tess_h5_put(&call->message, &has_deflate, sizeof has_deflate);
    tess_h5_put_text(&call->message, dataset);
    call->process.session = 0;
    TESS_TRY(tess_h5_call_ask(call, TESS_H5_OPEN, r->file.fd));
    TESS_TRY(tess_h5_call_next(call, &has_item));
    if (!has_item) {
        return tess_h5_call_nonsense(call);
    }
    tess_h5_get(&call->message, found, sizeof *found);
    const char *text = tess_h5_get_text(&call->message);
    if (text == NULL || strlen(text) >= TESS_H5_NAME_CHARS) {
        return tess_h5_call_nonsense(call);
    }
    snprintf(name, TESS_H5_NAME_CHARS, "%s", text);
    TESS_TRY(tess_h5_call_finish(call));
    // What lies in one piece needs no helper any more, which has closed it again.
    call->process.session = found->storage == TESS_H5_IN_ONE_PIECE ? 0 : r->session;
    return TESS_OK;
}

// Gives the process the memory that both share.
static tess_status share(tess_h5_call *call, const tess_h5_reader *r)
{
    const uint64_t n_byte = r->shared.n_byte;
    tess_h5_put(&call->message, &n_byte, sizeof n_byte);
    TESS_TRY(tess_h5_call_ask(call, TESS_H5_SHARE, r->shared.fd));
    return tess_h5_call_finish(call);
}

static tess_status open_again(tess_h5_call *call, const tess_h5_reader *r)
{
    tess_h5_dataset found;
    char name[TESS_H5_NAME_CHARS];
    TESS_TRY(tess_h5_session_open(call, r, r->name, &found, name));
    if (memcmp(&found, &r->data, sizeof found) != 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: data set '%s' changed while it was read", r->path, r->name);
    }
    return r->shared.bytes != NULL ? share(call, r) : TESS_OK;
}

tess_status tess_h5_session_ask(const tess_host *host, tess_h5_reader *r, tess_h5_kind kind,
                                int64_t first, int64_t count, tess_h5_call *call)
{
    TESS_TRY(
        tess_h5_call_begin(host, r->path, r->session, strlen(r->path) + sizeof r->name + 64, call));
    call->more_bytes = r->shared.n_byte;
    tess_status status = call->process.session == r->session ? TESS_OK : open_again(call, r);
    if (status == TESS_OK) {
        tess_h5_put(&call->message, &first, sizeof first);
        tess_h5_put(&call->message, &count, sizeof count);
        status = tess_h5_call_ask(call, kind, -1);
    }
    if (status != TESS_OK) {
        tess_h5_call_end(call);
    }
    return status;
}

void tess_h5_session_close(const tess_host *host, const tess_h5_reader *r)
{
    tess_h5_call call = {.host = host, .path = r->path, .is_answered = true};
    if (tess_h5_process_take_session(r->session, &call.process)) {
        char message[TESS_MESSAGE_BYTES];
        tess_error_copy_out(message);
        if (tess_h5_call_ask(&call, TESS_H5_CLOSE, -1) == TESS_OK &&
            tess_h5_call_finish(&call) == TESS_OK) {
            call.process.session = 0;
        }
        tess_error_copy_in(message); // of what was before; closing a file that was read cannot fail
        tess_h5_call_end(&call);
    }
}

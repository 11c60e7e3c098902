// One question to a helper and its answers.
#ifndef TESS_IO_HDF5_CALL_H
#define TESS_IO_HDF5_CALL_H

#include "io/hdf5/h5_process.h"
#include "io/hdf5/h5_wire.h"
#include "tessera/sys/format.h"

typedef struct tess_h5_call {
    const tess_host *host;
    const char *path;    // borrowed; in messages
    bool is_writing;     // what goes wrong is the output's fault
    bool is_answered;    // nothing more will come
    uint64_t more_bytes; // of memory, beyond what any question may take
    tess_h5_process process;
    tess_h5_message message; // the question; then the answer that came last
} tess_h5_call;

// Takes a process, if possible that of the session, and room for a question of n_byte. After a
// failure there is nothing to end.
TESS_MUST_CHECK tess_status tess_h5_call_begin(const tess_host *host, const char *path,
                                               uint64_t session, size_t n_byte, tess_h5_call *call);
// Sends what was put into the message, with fd (-1: none).
TESS_MUST_CHECK tess_status tess_h5_call_ask(tess_h5_call *call, tess_h5_kind kind, int fd);
// The next answer: *has_item false after the last. What the helper refuses, its death, its silence
// and its nonsense are errors that name the file.
TESS_MUST_CHECK tess_status tess_h5_call_next(tess_h5_call *call, bool *has_item);
// All that is left, which is to be no item.
TESS_MUST_CHECK tess_status tess_h5_call_finish(tess_h5_call *call);
// TESS_E_FORMAT: an answer that no sound file gives.
TESS_MUST_CHECK tess_status tess_h5_call_nonsense(tess_h5_call *call);
// Gives the process back if its last question is answered, and ends it otherwise.
void tess_h5_call_end(tess_h5_call *call);

#endif

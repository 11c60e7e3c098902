// The processes that run libhdf5 for us (helper/): started when first needed, kept for the next
// question, ended when they do not answer as they should.
#ifndef TESS_IO_HDF5_PROCESS_H
#define TESS_IO_HDF5_PROCESS_H

#include "tessera/base.h"

#include <stdbool.h>
#include <sys/types.h>

// One of them, which belongs to who holds this.
typedef struct tess_h5_process {
    int socket;
    int pidfd; // -1: the kernel has none
    pid_t pid;
    uint64_t session; // of the reader whose data set it has open; 0: none
} tess_h5_process;

// An idle one, that of the session if it is idle, or a new one. path is the file it is for:
// TESS_E_UNSUPPORTED names it where the helper is missing or does not start.
TESS_MUST_CHECK tess_status tess_h5_process_take(const char *path, uint64_t session,
                                                 tess_h5_process *out);
// Only that of the session; false if none has it.
bool tess_h5_process_take_session(uint64_t session, tess_h5_process *out);
// For the next question.
void tess_h5_process_give_back(const tess_h5_process *process);
// Kills it if it still runs, waits for it, and says how it ended: "signal 11 (Segmentation fault)".
void tess_h5_process_end(tess_h5_process *process, char *how, size_t capacity);

// Seconds that a question may go without any answer.
int tess_h5_time_limit_s(void);

#endif

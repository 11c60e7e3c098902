// Files that one process needs while it runs: what does not fit into memory.
//
// They have no name from the moment they are created, so that nothing is left of them however the
// process ends, and processes that run side by side do not meet.
#ifndef TESS_BASE_SCRATCH_H
#define TESS_BASE_SCRATCH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// Names the folder outright.
#define TESS_SCRATCH_VARIABLE "TESSERA_SCRATCH"

// As the variable says, else TMPDIR, else /var/tmp: /tmp lies in memory on many machines.
const char *tess_scratch_folder(void);

typedef struct tess_scratch {
    const char *folder; // NULL: tess_scratch_folder()
    const char *name;   // of the file, for messages: tessera.NAME.XXXXXX
    const char *what;   // is kept there: "the correlations"
} tess_scratch;

// path: what the file was called, for messages.
TESS_MUST_CHECK tess_status tess_scratch_open(const tess_scratch *scratch, char *path,
                                              size_t capacity, int *fd);
// All of the file now: a full disk is found out before the work, not in the middle.
TESS_MUST_CHECK tess_status tess_scratch_reserve(const tess_scratch *scratch, const char *path,
                                                 int fd, uint64_t bytes);

#endif

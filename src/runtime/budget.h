// How many threads and bytes a context may use, and why.
#ifndef TESS_RUNTIME_BUDGET_H
#define TESS_RUNTIME_BUDGET_H

#include "base/cpu.h"
#include "tessera/base.h"

#include <stdbool.h>

// wished 0: environment, else the machine. *origin is static text; *is_set tells whether somebody
// asked for this limit.
TESS_MUST_CHECK tess_status tess_budget_threads(const tess_machine *machine, int32_t wished,
                                                int32_t *n_thread, const char **origin);
TESS_MUST_CHECK tess_status tess_budget_memory(const tess_machine *machine, uint64_t wished,
                                               uint64_t *limit_bytes, const char **origin,
                                               bool *is_set);

// Resident bytes of this process now; 0 where the system does not tell.
uint64_t tess_resident_bytes(void);

// What a limit leaves for buffers: the process itself, its code, stacks and tables, has about 10 MB
// before any work is done. Of small limits it is a quarter that is set aside.
uint64_t tess_budget_room(uint64_t limit_bytes);
// The smallest limit that leaves so much.
uint64_t tess_budget_for_room(uint64_t bytes);

#endif

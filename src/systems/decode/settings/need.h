// What memory something takes, and what is said where the limit leaves less.
#ifndef TESS_SYSTEMS_DECODE_NEED_H
#define TESS_SYSTEMS_DECODE_NEED_H

#include "runtime/context.h"

// Less cannot do, more is not taken. They differ where a number is found from the data.
typedef struct tess_de_need {
    uint64_t least;
    uint64_t most;
} tess_de_need;

// TESS_E_LIMIT with a limit that does, where somebody set one that leaves less than the least.
TESS_MUST_CHECK tess_status tess_de_need_check(const tess_context *ctx, const char *path,
                                               const char *what, tess_de_need need);

#endif

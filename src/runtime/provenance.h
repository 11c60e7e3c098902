// Where a result comes from, as JSON: stored in every output.
#ifndef TESS_RUNTIME_PROVENANCE_H
#define TESS_RUNTIME_PROVENANCE_H

#include "base/hash.h"
#include "runtime/plan.h"

typedef struct tess_provenance {
    const tess_plan *plan;
    const tess_source *source; // NULL: none
    tess_hash fingerprint;     // of the source
    char identity[33];         // tells this computation from any other
    const char *command_line;
    char started[32];
    int64_t items_done;
    int resumed;
} tess_provenance;

// Text from the context's heap, *bytes long with its zero.
TESS_MUST_CHECK tess_status tess_provenance_make(tess_context *ctx,
                                                 const tess_provenance *provenance, char **text,
                                                 size_t *bytes);

#endif

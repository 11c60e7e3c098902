// Where a result comes from, as JSON: stored in every output.
#ifndef TESS_RUNTIME_PROVENANCE_H
#define TESS_RUNTIME_PROVENANCE_H

#include "base/hash.h"
#include "runtime/plan.h"

#include <stdbool.h>

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

// True if the file at path says that it is the result of the computation of this digest
// (tess_identity_digest()). A file that is not there, not ours or damaged is none.
bool tess_provenance_is_of(tess_context *ctx, const char *path, const char identity[33]);

// What a writer that was told to overwrite 0 no, 1 yes or 2 only what says that it is this very
// result may do with what has its name: 0 or 1. provenance: what it is about to write, with the
// identity in it.
int tess_provenance_overwrite(tess_context *ctx, const char *path, const char *provenance,
                              int overwrite);

#endif

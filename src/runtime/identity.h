// What makes two runs the same computation: a checkpoint or a finished file of one may serve the
// other. Thread count, tile size, memory limit and tuning are not here: they change no result.
#ifndef TESS_RUNTIME_IDENTITY_H
#define TESS_RUNTIME_IDENTITY_H

#include "base/hash.h"
#include "runtime/plan.h"

// Plain bytes, stored in checkpoints as they are.
typedef struct tess_identity {
    char name[32];
    char version[16];
    char settings[TESS_SETTINGS_BYTES];
    char backend[16];
    tess_hash fingerprint; // of the input; zero without one
    int64_t in_shape[TESS_MAX_RANK];
    int64_t out_shape[TESS_MAX_RANK];
    int32_t in_rank;
    int32_t out_rank;
    int32_t in_dtype;
    int32_t out_dtype;
    int32_t hash_kind; // of the fingerprint and the tiles
    int32_t reserved;
} tess_identity;

void tess_identity_make(const tess_context *ctx, const tess_plan *plan, tess_hash fingerprint,
                        tess_identity *id);

// TESS_E_MISMATCH naming what differs; path is the file found was read from.
TESS_MUST_CHECK tess_status tess_identity_compare(const tess_identity *found,
                                                  const tess_identity *own, const char *path);

// 32 hexadecimal digits that stand for all of it: in the provenance of results.
void tess_identity_text(const tess_identity *id, char text[33]);

#endif

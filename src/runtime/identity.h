// What makes two runs the same computation: a checkpoint or a finished file of one may serve the
// other. Thread count, tile size, memory limit and tuning have no part in it: they change no
// result.
//
// An identity is a list of parts. A part is its value as text, and the sentence a person is told
// where the values of two runs differ; two '*' in the sentence stand for the value there and here:
//
//   tess_identity_add(&id, "made on device '*', this run uses '*'", "cpu");
//   tess_identity_add_hash(&id, "the samples differ from those of this run", hash);
#ifndef TESS_RUNTIME_IDENTITY_H
#define TESS_RUNTIME_IDENTITY_H

#include "base/hash.h"
#include "base/text.h"
#include "runtime/context.h"
#include "tessera/param.h"

typedef struct tess_identity {
    tess_text text; // sentence, 0x1f, value, newline for each part
} tess_identity;

// Begins with what all have: the computation's name ("xpcs.fit"), version, kind of device ("cpu")
// and of checksums.
void tess_identity_init(tess_identity *id, tess_context *ctx, const char *name,
                        const char *backend);
void tess_identity_free(tess_identity *id);

void tess_identity_add(tess_identity *id, const char *sentence, const char *value);
void tess_identity_add_hash(tess_identity *id, const char *sentence, tess_hash hash);
void tess_identity_add_int(tess_identity *id, const char *sentence, int64_t value);
// "settings": head, then "name=value" of every row of a table but those in without_effect
// ("|threads|fast|"), separated by ';'. head and without_effect may be NULL.
void tess_identity_add_settings(tess_identity *id, const char *head,
                                const tess_param_table *const *tables, const void *const *configs,
                                int64_t n_table, const char *without_effect);

// TESS_E_MISMATCH saying what differs and what to do; path is the file found was read from.
// TESS_E_MEMORY if own was not made whole.
TESS_MUST_CHECK tess_status tess_identity_compare(const char *found, const tess_identity *own,
                                                  const char *path);

// Whether all ranks of a job are at the same computation, as they must be before they take each
// other's parts: hosts may have other files of the same name. TESS_E_MISMATCH on all of them,
// saying what differs from rank 0's. status: how this rank has fared so far.
TESS_MUST_CHECK tess_status tess_identity_agree(tess_context *ctx, const tess_identity *id,
                                                tess_status status);

// 32 hexadecimal digits that stand for all of it: in the provenance of results.
void tess_identity_digest(const tess_identity *id, char text[33]);

#endif

// What makes two streamed predictions the same computation: a checkpoint or a finished file of one
// may serve the other. Threads, chunks and memory limit are not here: they change no result.
#ifndef TESS_SYSTEMS_DECODE_STREAM_IDENTITY_H
#define TESS_SYSTEMS_DECODE_STREAM_IDENTITY_H

#include "base/hash.h"
#include "systems/decode/states/detector.h"
#include "tessera/decode/stream.h"

// Plain bytes, stored in checkpoints as they are.
typedef struct tess_de_identity {
    char version[16];
    char backend[16];
    char settings[96]; // "want=3;dtype=f32"
    tess_hash model;
    tess_hash time;
    tess_hash spikes;
    tess_hash position;
    tess_hash missing;
    tess_hash design;
    tess_hash truth; // true positions stored with the result
    int64_t n_time;
    int64_t n_state_bin;
    int64_t hash_kind;
} tess_de_identity;

void tess_de_identity_make(const tess_context *ctx, const tess_decode_detector *detector,
                           const tess_decode_observation *observation,
                           const tess_decode_stream_config *config, tess_de_identity *id);

// TESS_E_MISMATCH naming what differs; path is what found was read from.
TESS_MUST_CHECK tess_status tess_de_identity_compare(const tess_de_identity *found,
                                                     const tess_de_identity *own, const char *path);

// 32 hexadecimal digits that stand for all of it: in the provenance of results.
void tess_de_identity_text(const tess_de_identity *id, char text[33]);

#endif

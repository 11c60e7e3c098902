// A model packed for devices with their own memory: tess_hmm_block.
#ifndef TESS_SYSTEMS_DECODE_HMM_BLOCK_H
#define TESS_SYSTEMS_DECODE_HMM_BLOCK_H

#include "base/memory.h"
#include "stage/decode_hmm.h"

// Both directions, and the scratch that they ask for: two vectors of N_s, every operator's cells,
// and the tables of one direction that are small.
typedef struct tess_de_hmm_packed {
    char *bytes[2];
    size_t n_byte[2];
    int64_t n_scratch;
} tess_de_hmm_packed;

// tables[d][k]: where the table of operator k lies on the device.
TESS_MUST_CHECK tess_status tess_de_hmm_pack(tess_heap *heap, const tess_hmm_model *model,
                                             const double *const *const tables[2],
                                             tess_de_hmm_packed *out);
void tess_de_hmm_packed_free(tess_heap *heap, tess_de_hmm_packed *packed);

#endif

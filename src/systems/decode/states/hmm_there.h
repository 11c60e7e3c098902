// A hidden Markov model where a device that has its own memory can read it, with room for rows.
#ifndef TESS_SYSTEMS_DECODE_HMM_THERE_H
#define TESS_SYSTEMS_DECODE_HMM_THERE_H

#include "runtime/resident.h"
#include "systems/decode/states/hmm_model.h"

typedef struct tess_de_hmm_there {
    tess_context *ctx;
    tess_device *device;
    tess_hmm_model model; // the host's, with blocks of the device
    tess_resident arrays; // the blocks
    tess_resident tables;
    // Grow as needed.
    tess_resident scratch;
    tess_resident ll;
    tess_resident rows;
    tess_resident predicted;
    tess_resident transition;
    tess_resident states[2];
    tess_resident norm;
    tess_resident carry; // a row that goes from block to block
} tess_de_hmm_there;

TESS_MUST_CHECK tess_status tess_de_hmm_there_make(tess_context *ctx, tess_device *device,
                                                   const tess_hmm_model *model,
                                                   tess_de_hmm_there **out);
void tess_de_hmm_there_free(tess_de_hmm_there *there);

// That of an hmm: taken out, or made; the caller alone has it until it is put back.
TESS_MUST_CHECK tess_status tess_de_hmm_there_take(tess_context *ctx, tess_device *device,
                                                   const tess_de_hmm *hmm, tess_de_hmm_there **out);
void tess_de_hmm_there_put(const tess_de_hmm *hmm, tess_de_hmm_there *there);

// Room of at least so many bytes; what was in it is lost.
TESS_MUST_CHECK tess_status tess_de_hmm_there_room(const tess_de_hmm_there *there,
                                                   tess_resident *room, size_t bytes);
// Room for what a stage asks for, besides its arguments.
TESS_MUST_CHECK tess_status tess_de_hmm_there_scratch(tess_de_hmm_there *there, int32_t stage,
                                                      const void *args);

// hmm_rows_there.c: tess_de_hmm_filter() and tess_de_hmm_smooth() on such a device.
TESS_MUST_CHECK tess_status tess_de_hmm_filter_there(tess_context *ctx, tess_device *device,
                                                     const tess_de_hmm *hmm,
                                                     const tess_de_hmm_chunk *chunk,
                                                     double *log_norm, double *predicted);
TESS_MUST_CHECK tess_status tess_de_hmm_smooth_there(tess_context *ctx, tess_device *device,
                                                     const tess_de_hmm *hmm,
                                                     const tess_de_hmm_chunk *chunk, int is_last,
                                                     double *next);

#endif

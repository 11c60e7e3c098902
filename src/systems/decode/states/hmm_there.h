// A hidden Markov model where a device that has its own memory can read it, with room for rows.
#ifndef TESS_SYSTEMS_DECODE_HMM_THERE_H
#define TESS_SYSTEMS_DECODE_HMM_THERE_H

#include "runtime/resident.h"
#include "systems/decode/states/hmm_model.h"
#include "systems/decode/states/hmm_parts.h"

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
    tess_resident smoothed;
    tess_resident initial;
    tess_resident carry[2]; // a row that goes from block to block: what comes in, what goes out
    tess_resident runs;
    tess_resident guess;
    tess_resident wrong;
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

// hmm_runs_there.c. Rows first..first+n_row-1 of a chunk, cut into runs that a device takes side by
// side. Parts are the chunk's; a guess goes through n_guess rows at most, 0: parts are not cut.
typedef struct tess_de_hmm_cut {
    const tess_de_hmm_part *parts;
    int64_t n_part;
    int64_t n_guess;
    int64_t at_once; // runs that the device has room for
    bool is_back;
} tess_de_hmm_cut;

// How many runs these rows make.
int64_t tess_de_hmm_count_runs(const tess_de_hmm_cut *cut, int64_t first, int64_t n_row);
void tess_de_hmm_list_runs(const tess_de_hmm_cut *cut, int64_t first, int64_t n_row,
                           tess_hmm_run *runs);
// Runs that a device works on at once.
int64_t tess_de_hmm_runs_at_once(const tess_hmm_model *model);

// hmm_rows_there.c: tess_de_hmm_filter_parts() and tess_de_hmm_smooth_parts() on such a device.
// log_norm is [n_row] out, predicted [N_s] what is carried.
TESS_MUST_CHECK tess_status tess_de_hmm_filter_there(tess_context *ctx, tess_device *device,
                                                     const tess_de_hmm *hmm,
                                                     const tess_de_hmm_chunk *chunk,
                                                     const tess_de_hmm_part *parts, int64_t n_part,
                                                     const double *initial, double *log_norm,
                                                     double *predicted);
TESS_MUST_CHECK tess_status tess_de_hmm_smooth_there(tess_context *ctx, tess_device *device,
                                                     const tess_de_hmm *hmm,
                                                     const tess_de_hmm_chunk *chunk,
                                                     const tess_de_hmm_part *parts, int64_t n_part,
                                                     double *next);

#endif

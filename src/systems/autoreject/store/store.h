// The samples of a group of channels, rearranged once so that everything after reads them in order.
//
// Everything autoreject computes but the peak-to-peak works on one time sample at a time: medians
// and means over epochs, predictions over channels. So the samples are kept as tiles of
// TESS_AR_TILE samples of all epochs and channels, [n_tile][n_epoch][n_chan][TESS_AR_TILE], f64, in
// memory or in a scratch file that is read tile by tile; or in that of a GPU, where they stay, or
// go to a few at a time if all are too many. What the last tile has beyond n_time is zero, which
// adds nothing to any loss.
#ifndef TESS_AUTOREJECT_STORE_H
#define TESS_AUTOREJECT_STORE_H

#include "runtime/resident.h"
#include "systems/autoreject/epochs/epochs.h"
#include "systems/autoreject/interpolation/repair.h"
#include "systems/autoreject/store/sent.h"
#include "tessera/run.h"

enum { TESS_AR_TILE = 16 };

typedef struct tess_ar_store {
    tess_context *ctx;
    tess_device *device; // of the stages that fill it and go over it
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t n_tile;
    double *delta;           // [n_epoch][n_chan] peak-to-peak
    double *delta_augmented; // [n_epoch][n_chan] of every channel predicted from the others; NULL
    double *predicted;       // tiles of these predictions, all of them; NULL: not kept
    double *tiles;           // all of them, or room for n_held of the file's
    uint64_t tile_items;     // n_epoch * n_chan * TESS_AR_TILE
    int64_t tile_now;        // the first of those asked for last; -1: none yet
    int64_t n_tile_now;
    int64_t n_held;
    tess_resident there;     // of a device with memory of its own: all tiles
    bool is_resident;        // all of them are there, and none on the host
    tess_ar_sent sent;       // else: those asked for, and the next ones
    int scratch_fd;          // -1: in memory
    char scratch_path[1024]; // for messages; the file has this name only while it is kept
} tess_ar_store;

typedef struct tess_ar_store_request {
    tess_device *device; // chosen with TESS_STAGE_AUTOREJECT_INTAKE
    tess_autoreject_epochs *epochs;
    const int64_t *channels; // [n_chan] of the epochs
    int64_t n_chan;
    const double *leave_one_out; // R [n_chan][n_chan]; NULL: no augmented peak-to-peak
    bool keeps_predictions;      // if memory_bytes has room for as many bytes as the tiles take
    const char *folder;          // where a scratch file goes; NULL: the directory for temporaries
    uint64_t memory_bytes;       // what the store may hold in memory, buffers of the pass included
    const char *kept_path; // a scratch file gets this name, is on the disk after create() and stays
                           // at close(); NULL: it has no name and vanishes with the process
} tess_ar_store_request;

// Bytes of the tiles, and the least that filling and reading a file of them takes.
TESS_MUST_CHECK tess_status tess_ar_store_sizes(const tess_ar_store_request *request,
                                                uint64_t *tile_bytes, uint64_t *least_bytes);

// One pass over the epochs: rearranges, takes peak-to-peaks, refuses NaN and infinity by naming the
// first epoch, channel and sample and the number of epochs affected.
TESS_MUST_CHECK tess_status tess_ar_store_create(tess_context *ctx,
                                                 const tess_ar_store_request *request,
                                                 tess_ar_store *out);
// The store of an earlier run from its kept file; the caller fills delta and delta_augmented.
TESS_MUST_CHECK tess_status tess_ar_store_reopen(tess_context *ctx,
                                                 const tess_ar_store_request *request,
                                                 tess_ar_store *out);
void tess_ar_store_close(tess_ar_store *store);
// Gives back the memory of kept predictions.
void tess_ar_store_drop_predictions(tess_ar_store *store);

// How the tiles lie, for those who watch.
static inline tess_strategy tess_ar_store_strategy(const tess_ar_store *store)
{
    return store->scratch_fd >= 0 ? TESS_STRATEGY_CHUNKED : TESS_STRATEGY_LARGE;
}

// How many tiles a device can be given at a time where each needs work_bytes there beside itself,
// and all together fixed_bytes; work of at most room_bytes. TESS_E_LIMIT saying what if none.
// Memory of tiles that were sent before is given back first.
TESS_MUST_CHECK tess_status tess_ar_store_batch(tess_ar_store *store, const char *what,
                                                uint64_t fixed_bytes, uint64_t work_bytes,
                                                uint64_t room_bytes, int64_t *batch);

// Tile k: [n_epoch][n_chan][TESS_AR_TILE], where the device reaches it, valid until the next call.
// TESS_E_IO where the file cannot be read.
TESS_MUST_CHECK tess_status tess_ar_store_tile(tess_ar_store *store, int64_t k,
                                               const double **tile);
// The same for n tiles one after another.
TESS_MUST_CHECK tess_status tess_ar_store_tiles(tess_ar_store *store, int64_t first, int64_t n,
                                                const double **tiles);
// The same for stages that take samples by a pointer through which others write.
TESS_MUST_CHECK tess_status tess_ar_store_take(tess_ar_store *store, int64_t first, int64_t n,
                                               double **tiles);

#endif

// The one pass over the epochs that fills a store.
#ifndef TESS_AUTOREJECT_STORE_PASS_H
#define TESS_AUTOREJECT_STORE_PASS_H

#include "systems/autoreject/store/store.h"

// Bytes of the buffers for blocks of so many epochs, with or without a file behind them.
uint64_t tess_ar_pass_bytes(const tess_ar_store_request *request, int64_t block_epochs,
                            bool is_file);

// Fills delta, delta_augmented and the tiles: memory at store->tiles, else the scratch file.
TESS_MUST_CHECK tess_status tess_ar_store_pass(tess_ar_store *store,
                                               const tess_ar_store_request *request,
                                               uint64_t buffer_bytes);
// The same into the device's own memory: store->there, of all tiles. device_pass.c.
TESS_MUST_CHECK tess_status tess_ar_store_device_pass(tess_ar_store *store,
                                                      const tess_ar_store_request *request);

// Refuses samples that are not finite, by the peak-to-peaks of all epochs.
TESS_MUST_CHECK tess_status tess_ar_store_check_finite(const tess_ar_store *store,
                                                       const tess_ar_store_request *request);

#endif

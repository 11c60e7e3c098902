// Likelihoods of an engine's rows: by one device, and by all that the context has.
#ifndef TESS_SYSTEMS_DECODE_ENGINE_DEVICES_H
#define TESS_SYSTEMS_DECODE_ENGINE_DEVICES_H

#include "systems/decode/states/engine.h"

// engine_compute.c: as tess_de_engine_likelihood(), by one device alone, into ll [count][n_ll]; in
// host memory, or in the device's own.
TESS_MUST_CHECK tess_status tess_de_engine_compute(tess_de_engine *engine, tess_device *device,
                                                   int64_t first, int64_t count,
                                                   tess_decode_likelihood_report *report,
                                                   void *scratch, void *ll);
TESS_MUST_CHECK tess_status tess_de_engine_compute_there(tess_de_engine *engine,
                                                         tess_device *device, int64_t first,
                                                         int64_t count,
                                                         tess_decode_likelihood_report *report,
                                                         void *ll);
// engine_devices.c: by all devices of this rank, into host memory, or that of the device that
// filters.
TESS_MUST_CHECK tess_status tess_de_devices_compute(tess_de_engine *engine, int64_t first,
                                                    int64_t count,
                                                    tess_decode_likelihood_report *report,
                                                    void *scratch, void *ll);
TESS_MUST_CHECK tess_status tess_de_devices_compute_there(tess_de_engine *engine, int64_t first,
                                                          int64_t count,
                                                          tess_decode_likelihood_report *report,
                                                          void *ll);

#endif

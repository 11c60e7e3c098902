// An engine whose likelihood several ranks compute: rank 0 runs it, the others serve.
#ifndef TESS_SYSTEMS_DECODE_ENGINE_RANKS_H
#define TESS_SYSTEMS_DECODE_ENGINE_RANKS_H

#include "runtime/comm.h"
#include "systems/decode/states/engine.h"

static inline bool tess_de_is_divided(const tess_de_engine *engine)
{
    return engine->desc.is_divided && tess_comm_size(engine->ctx) > 1;
}

// On rank 0: as tess_de_devices_compute(), by all.
TESS_MUST_CHECK tess_status tess_de_ranks_likelihood(tess_de_engine *engine, int64_t first,
                                                     int64_t count,
                                                     tess_decode_likelihood_report *report,
                                                     void *scratch, void *ll);
// On the others: computes what rank 0 asks for until it needs no more. engine: a plan; only looked
// at where status, how this rank has fared so far, is TESS_OK.
TESS_MUST_CHECK tess_status tess_de_ranks_serve(tess_context *ctx, tess_de_engine *engine,
                                                tess_status status);
// On rank 0, in the end: status, which is told to the others unless they know. engine may be NULL.
TESS_MUST_CHECK tess_status tess_de_ranks_dismiss(tess_context *ctx, const tess_de_engine *engine,
                                                  tess_status status);

#endif

// The likelihood of an engine's rows: given, kept, or computed.
#include "systems/decode/states/engine.h"

#include "base/clock.h"
#include "base/status.h"
#include "systems/decode/states/engine_devices.h"
#include "systems/decode/states/engine_ranks.h"

static double seconds_since(int64_t begin_ns)
{
    return (double)(tess_now_ns() - begin_ns) * 1e-9;
}

tess_status tess_de_engine_likelihood(tess_de_engine *e, int64_t first, int64_t count,
                                      tess_decode_likelihood_report *report, void *scratch,
                                      tess_de_hmm_chunk *chunk)
{
    const tess_de_rows *given = &e->desc.given_ll;
    const tess_de_rows *wanted = &e->desc.ll;
    const int32_t dtype = e->desc.detector->dtype;
    const int64_t begin_ns = tess_now_ns();
    const int32_t held = given->dtype != 0 ? given->dtype : dtype;
    void *ll = tess_de_engine_slot(e, e->ll_buffer, first,
                                   (size_t)e->desc.detector->info.n_ll *
                                       tess_dtype_bytes((tess_dtype)held));
    if (given->dtype != 0 && chunk->there.ll && e->there.has_all_ll) { // of the first run
        chunk->ll_dtype = dtype;
        return TESS_OK;
    }
    if (given->dtype != 0) {
        chunk->there.ll = NULL;
        chunk->ll_dtype = given->dtype;
        chunk->ll = ll;
        if (given->memory) {
            chunk->ll = (char *)given->memory +
                        (size_t)(first * given->width) * tess_dtype_bytes((tess_dtype)given->dtype);
            return TESS_OK;
        }
        TESS_TRY(tess_de_rows_load(given, first, count, ll));
        e->store_s += seconds_since(begin_ns);
        return TESS_OK;
    }
    if (wanted->memory && wanted->dtype == dtype) {
        ll = (char *)wanted->memory +
             (size_t)(first * wanted->width) * tess_dtype_bytes((tess_dtype)dtype);
    }
    chunk->ll = ll;
    chunk->ll_dtype = dtype;
    tess_span span = tess_span_begin(&e->ctx->tracer, "decode.likelihood");
    if (first == 0) {
        TESS_TRY(tess_de_check_likelihood(e->ctx, e->desc.detector, e->desc.observation));
    }
    TESS_TRY(chunk->there.ll ? tess_de_engine_likelihood_there(e, first, count, report, ll, chunk)
             : tess_de_is_divided(e)
                 ? tess_de_ranks_likelihood(e, first, count, report, scratch, ll)
                 : tess_de_devices_compute(e, first, count, report, scratch, ll));
    tess_span_end(&span, 0, 0);
    e->likelihood_s += seconds_since(begin_ns);
    return TESS_OK;
}

// What goes on beside the filter: the likelihood of the next chunk, and rows of the last one.
//
// Rows follow rows, and filter and smoother keep a few threads of the CPU busy; a GPU and the files
// would wait for them. So another thread sends the next rows to the device, and a third one writes
// what is done. Neither shows in a result: chunks are made and stored in order, and what a
// checkpoint is to speak of is stored before the next chunk begins.
#include "systems/decode/states/engine.h"

#include "base/clock.h"
#include "systems/decode/states/engine_ranks.h"

bool tess_de_engine_is_ahead(const tess_de_engine *engine)
{
    const tess_device *device =
        engine->desc.device ? engine->desc.device : engine->ctx->device; // of a plan
    // A device that filters, too, has its hands full; ranks meet in one thread.
    return !tess_de_is_divided(engine) && engine->desc.given_ll.dtype == 0 &&
           !device->shares_host_memory && engine->states->shares_host_memory;
}

bool tess_de_engine_writes(const tess_de_engine_desc *desc)
{
    const tess_de_rows *rows[] = {&desc->acausal,          &desc->causal,        &desc->predictive,
                                  &desc->acausal_states,   &desc->causal_states, &desc->ll,
                                  &desc->predictive_states};
    bool is_written = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        is_written |= tess_de_rows_are_here(rows[i]) && !rows[i]->memory;
    }
    return is_written;
}

bool tess_de_engine_is_behind(const tess_de_engine *engine)
{
    const tess_de_engine_desc *desc = &engine->desc;
    // The path works in the buffers that would be on their way.
    return tess_de_engine_writes(desc) && !desc->is_checked && desc->path.dtype == 0;
}

static tess_status likelihood_ahead(void *self)
{
    tess_de_engine *e = self;
    return tess_de_engine_likelihood(e, e->ahead.first, e->ahead.work.n_row, &e->ahead.report,
                                     e->ahead.scratch, &e->ahead.work);
}

// What is on its way may lie where the next likelihood goes.
static tess_status send_ahead(tess_de_engine *e, int64_t chunk)
{
    int64_t count;
    if (e->needs.ll && (e->desc.ll.dtype != 0 || e->desc.kept_ll.dtype != 0)) {
        TESS_TRY(tess_errand_wait(&e->behind.errand));
    }
    tess_de_engine_range(e, chunk, &e->ahead.first, &count);
    e->ahead.chunk = chunk;
    e->ahead.report = e->report;
    e->ahead.work = (tess_de_hmm_chunk){.n_row = count};
    tess_errand_start(&e->ahead.errand, likelihood_ahead, e);
    return TESS_OK;
}

tess_status tess_de_engine_fetch(tess_de_engine *engine, int64_t chunk, void *scratch,
                                 tess_de_hmm_chunk *work)
{
    int64_t first;
    int64_t count;
    tess_de_engine_range(engine, chunk, &first, &count);
    if (engine->ahead.chunk == chunk) {
        engine->ahead.chunk = -1;
        TESS_TRY(tess_errand_wait(&engine->ahead.errand));
        engine->report = engine->ahead.report;
        work->ll = engine->ahead.work.ll;
        work->ll_dtype = engine->ahead.work.ll_dtype;
    } else {
        TESS_TRY(tess_de_engine_likelihood(engine, first, count, &engine->report, scratch, work));
    }
    const bool has_next = engine->ahead.scratch && chunk + 1 < engine->n_chunk;
    return has_next && tess_de_engine_is_ahead(engine) ? send_ahead(engine, chunk + 1) : TESS_OK;
}

// What a forward step made.
static tess_status store_forward(const tess_de_engine *e, int64_t first,
                                 const tess_de_hmm_chunk *chunk)
{
    const tess_de_engine_desc *desc = &e->desc;
    const int32_t dtype = desc->detector->dtype;
    const int64_t n = chunk->n_row;
    TESS_TRY(tess_de_rows_store(e, &desc->ll, first, n, chunk->ll, chunk->ll_dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->kept_ll, first, n, chunk->ll, chunk->ll_dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->causal, first, n, chunk->filtered, dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->predictive, first, n, chunk->predicted, dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->causal_states, first, n, chunk->causal_states, TESS_F64));
    TESS_TRY(tess_de_rows_store(e, &desc->predictive_states, first, n, chunk->predictive_states,
                                TESS_F64));
    if (e->keep && e->keep != &desc->causal && !e->there.has_filtered) {
        TESS_TRY(tess_de_rows_store(e, e->keep, first, n, chunk->filtered, dtype));
    }
    return TESS_OK;
}

static tess_status store_backward(const tess_de_engine *e, int64_t first,
                                  const tess_de_hmm_chunk *chunk)
{
    const tess_de_rows *rows = &e->desc.acausal;
    if (e->there.sends_rows) {
        TESS_TRY(tess_de_engine_fetch_smoothed(e, chunk));
    }
    TESS_TRY(
        tess_de_rows_store(e, rows, first, chunk->n_row, chunk->filtered, e->desc.detector->dtype));
    if (rows->settle && tess_de_engine_is_behind(e)) {
        rows->settle(rows->self, first, chunk->n_row);
    }
    return tess_de_rows_store(e, &e->desc.acausal_states, first, chunk->n_row,
                              chunk->acausal_states, TESS_F64);
}

static tess_status store_behind(void *self)
{
    tess_de_engine *e = self;
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&e->ctx->tracer, "decode.store");
    const tess_status status = e->behind.pass == TESS_DE_FORWARD
                                   ? store_forward(e, e->behind.first, &e->behind.work)
                                   : store_backward(e, e->behind.first, &e->behind.work);
    tess_span_end(&span, 0, 0);
    e->behind.seconds = (double)(tess_now_ns() - begin_ns) * 1e-9;
    return status;
}

static tess_status wait_behind(tess_de_engine *e)
{
    const tess_status status = tess_errand_wait(&e->behind.errand);
    e->store_s += e->behind.seconds;
    e->behind.seconds = 0;
    return status;
}

tess_status tess_de_engine_store(tess_de_engine *engine, int64_t pass, int64_t first,
                                 const tess_de_hmm_chunk *work)
{
    TESS_TRY(wait_behind(engine));
    engine->behind.pass = pass;
    engine->behind.first = first;
    engine->behind.work = *work;
    const bool is_behind =
        tess_de_engine_is_behind(engine) || (pass == TESS_DE_BACKWARD && engine->there.sends_rows);
    if (engine->n_slot > 1 && is_behind) {
        tess_errand_start(&engine->behind.errand, store_behind, engine);
        return TESS_OK;
    }
    TESS_TRY(store_behind(engine));
    return wait_behind(engine); // its time
}

tess_status tess_de_engine_settle(tess_de_engine *engine)
{
    return wait_behind(engine);
}

void tess_de_engine_drop(tess_de_engine *engine)
{
    tess_errand_drop(&engine->ahead.errand);
    tess_errand_drop(&engine->behind.errand);
    engine->ahead.chunk = -1;
}

// How much an engine holds, by the memory limit alone.
#include "decode_model.h"

#include "systems/decode/states/engine.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 6000 };

static tess_context *ctx;

// A model, and rows whose likelihood is known: nothing of it is read or written by a plan.
typedef struct planned {
    golden_model model;
    double time[MOST_ROWS];
    double rows[1];
    tess_decode_observation observation;
    tess_de_engine_desc desc;
} planned;

static tess_status write_rows(void *self, int64_t first, int64_t count, const void *src)
{
    (void)self;
    (void)first;
    (void)count;
    (void)src;
    return TESS_OK;
}

static void open_planned(planned *p)
{
    golden_model_open(&p->model, ctx, "decode/06_cont_frag", TESS_DECODE_FAST);
    golden_model_detector(&p->model, ctx, TESS_DECODE_MODEL_CONT_FRAG, NULL);
    for (int64_t i = 0; i < MOST_ROWS; i++) {
        p->time[i] = 0.002 * (double)i;
    }
    p->observation = p->model.observation;
    p->observation.time = p->time;
}

static void describe(planned *p, int64_t n_time, int64_t chunk_rows, bool is_kept)
{
    const tess_decode_detector_info *info = tess_decode_detector_get_info(p->model.detector);
    p->observation.n_time = n_time;
    p->desc = (tess_de_engine_desc){
        .detector = p->model.detector, .observation = &p->observation, .chunk_rows = chunk_rows};
    tess_de_rows_of_memory(p->rows, TESS_F32, info->n_ll, &p->desc.given_ll);
    p->desc.acausal = (tess_de_rows){
        .dtype = is_kept ? TESS_F64 : TESS_F32, .width = info->n_state_bin, .write = write_rows};
}

static tess_status plan(const planned *p, uint64_t limit, tess_de_engine *engine)
{
    ctx->memory_limit_bytes = limit;
    const tess_status status = tess_de_engine_plan(ctx, &p->desc, engine);
    if (status == TESS_OK) {
        assert_true(engine->memory_bytes <= limit);
    } else {
        assert_int_equal(status, TESS_E_LIMIT);
    }
    return status;
}

// The limit that a message names, in bytes.
static uint64_t named_limit(void)
{
    static const char phrase[] = "the smallest limit that works is ";
    const char *found = strstr(tess_last_error(), phrase);
    assert_non_null(found);
    return strtoull(found + strlen(phrase), NULL, 10) << 20;
}

// Returns what the plans of all limits held, a bit for each.
static unsigned sweep(const planned *p)
{
    tess_de_engine engine;
    unsigned held = 0;
    bool works = false;
    for (uint64_t limit = UINT64_C(256) << 10; limit < UINT64_C(48) << 20; limit += limit / 64) {
        if (plan(p, limit, &engine) == TESS_OK) {
            works = true;
            held |= (unsigned)engine.needs.kept | (unsigned)engine.needs.forecasts << 1 |
                    (unsigned)engine.needs.parts << 2;
            continue;
        }
        assert_false(works);
        assert_ok(plan(p, named_limit(), &engine));
    }
    assert_true(works);
    return held;
}

static void larger_limits_work_where_smaller_do(void **state)
{
    (void)state;
    static const int64_t n_times[] = {40, 151, 700, MOST_ROWS};
    static planned p;
    open_planned(&p);
    unsigned held = 0;
    for (size_t i = 0; i < sizeof n_times / sizeof *n_times; i++) {
        for (int k = 0; k < 6; k++) {
            const int64_t chunk_rows = k % 3 == 0 ? 0 : k % 3 == 1 ? n_times[i] : n_times[i] / 7;
            describe(&p, n_times[i], chunk_rows, k < 3);
            held |= sweep(&p);
        }
    }
    assert_int_equal(held, 7);
    golden_model_close(&p.model);
}

// Chunks that many threads share are longer, and only then long enough to be cut.
static void rows_are_cut_where_chunks_get_long_enough(void **state)
{
    (void)state;
    static planned p;
    tess_context *few = ctx;
    ctx = unit_context(16, 0);
    ctx->memory_limit_is_set = false;
    open_planned(&p);
    describe(&p, MOST_ROWS, 0, false);
    tess_decode_detector wide = *p.model.detector;
    wide.info.n_state_bin = 60000;
    p.desc.detector = &wide;
    tess_de_engine engine;
    assert_ok(plan(&p, UINT64_C(8) << 30, &engine));
    assert_true(engine.needs.parts);
    assert_true(engine.chunk_rows > TESS_DE_HMM_LEAST_ROWS);
    // Of one sequence so few rows are never cut; of several they are parts as they are.
    p.desc.chunk_rows = TESS_DE_HMM_LEAST_ROWS;
    assert_ok(plan(&p, UINT64_C(8) << 30, &engine));
    assert_false(engine.needs.parts);
    golden_model_close(&p.model);
    tess_context_destroy(ctx);
    ctx = few;
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, UINT64_C(1) << 30);
    ctx->memory_limit_is_set = false; // what the process holds is not part of the plan then
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(larger_limits_work_where_smaller_do),
                                       cmocka_unit_test(rows_are_cut_where_chunks_get_long_enough)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}

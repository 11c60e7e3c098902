// The checkpoints of an estimate.
//
// Between two iterations parameters and evidence are all there is. Within an E-step the engine's
// state and the rows of states are there, too, unless the caller wants rows of its own, which no
// checkpoint keeps. What is kept at the end is the last E-step before its M-step, which is cheap
// and gives the same parameters again, with all outputs.
#include "systems/decode/states/em_run.h"

#include "base/status.h"
#include "systems/decode/states/fingerprint.h"

#include <string.h>

typedef struct em_mark {
    int64_t n_iteration;
    int64_t is_within; // an E-step: there is the state of an engine
} em_mark;

// ---- Parameters -------------------------------------------------------------------------------

typedef struct part {
    double *values;
    int64_t n;
} part;

enum { N_PART = 4 };

static void list_parameters(const tess_decode_detector *d, part parts[N_PART])
{
    const int64_t n = d->info.n_state;
    parts[0] = (part){d->initial, d->info.n_state_bin};
    parts[1] = (part){d->discrete_initial, n};
    parts[2] = (part){d->discrete_transition, n * n};
    parts[3] = (part){d->coefficients, d->info.n_coefficient * n * (n - 1)};
}

int64_t tess_de_em_parameters(const tess_decode_detector *detector)
{
    part parts[N_PART];
    list_parameters(detector, parts);
    int64_t n = 0;
    for (int i = 0; i < N_PART; i++) {
        n += parts[i].n;
    }
    return n;
}

void tess_de_em_read_parameters(const tess_decode_detector *detector, double *values)
{
    part parts[N_PART];
    list_parameters(detector, parts);
    for (int i = 0; i < N_PART; i++) {
        for (int64_t k = 0; k < parts[i].n; k++) {
            *values++ = parts[i].values[k];
        }
    }
}

void tess_de_em_write_parameters(tess_decode_detector *detector, const double *values)
{
    part parts[N_PART];
    list_parameters(detector, parts);
    for (int i = 0; i < N_PART; i++) {
        for (int64_t k = 0; k < parts[i].n; k++) {
            parts[i].values[k] = *values++;
        }
    }
}

// ---- Identity ---------------------------------------------------------------------------------

void tess_de_em_identify(tess_context *ctx, const tess_decode_detector *detector,
                         const tess_decode_observation *observation,
                         const tess_decode_em_config *config, const char *backend,
                         tess_identity *id)
{
    const int64_t n_state = detector->info.n_state;
    const tess_param_table *tables[] = {tess_decode_em_params()};
    const void *configs[] = {config};
    tess_de_fingerprint fingerprint;
    tess_hash priors = {0, 0};
    tess_de_mix_doubles(&priors, config->concentration, 1);
    tess_de_mix_doubles(&priors, config->stickiness, n_state);
    tess_de_mix_doubles(&priors, config->prior_weight, n_state);
    tess_hash_mix(&priors, config->frozen_rows, config->frozen_rows ? (size_t)n_state : 0);
    tess_de_fingerprint_make(detector, observation, config->design, &fingerprint);
    tess_identity_init(id, ctx, "decode.em", backend);
    tess_identity_add_settings(id, NULL, tables, configs, 1, NULL);
    tess_de_fingerprint_add(&fingerprint, id);
    tess_identity_add_hash(id, "the priors differ from those of this run", priors);
}

// ---- Going on ---------------------------------------------------------------------------------

static tess_status read_mark(const tess_de_em_run *run, const tess_checkpoint *found,
                             const char *path, em_mark *mark)
{
    TESS_TRY(tess_checkpoint_get(found, "em", mark, sizeof *mark));
    if (mark->n_iteration < 0 || mark->n_iteration >= run->config.max_iterations ||
        (mark->is_within && !run->is_pausable)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its counts make no sense", path);
    }
    return TESS_OK;
}

static tess_status check_found(void *self, const tess_checkpoint *found, const char *path)
{
    tess_de_em_run *run = self;
    em_mark mark;
    TESS_TRY(read_mark(run, found, path, &mark));
    return mark.is_within ? tess_de_mark_read(found, path, run->observation.n_time, &run->mark)
                          : TESS_OK;
}

tess_status tess_de_em_open_work(tess_de_em_run *run)
{
    const tess_work_config config = {.name = "decode.em",
                                     .what = "estimate",
                                     .folder = run->config.checkpoint_dir,
                                     .resume = run->config.resume,
                                     .every_s = run->config.checkpoint_every_s,
                                     .keep = 2,
                                     .check = check_found,
                                     .self = run};
    TESS_TRY(tess_work_open(run->ctx, &config, &run->id, &run->work));
    if (!run->work.is_found) {
        return TESS_OK;
    }
    em_mark mark;
    const tess_checkpoint *found = &run->work.found;
    const size_t bytes = (size_t)run->n_parameter * sizeof *run->before;
    TESS_TRY(read_mark(run, found, run->work.newest, &mark));
    TESS_TRY(tess_checkpoint_get(found, "params", run->before, bytes));
    TESS_TRY(tess_checkpoint_get(found, "evidence", run->log_evidence,
                                 (size_t)mark.n_iteration * sizeof *run->log_evidence));
    TESS_TRY(tess_checkpoint_get(found, "done", &run->outputs.resumed_from,
                                 sizeof run->outputs.resumed_from));
    tess_de_em_write_parameters(run->detector, run->before);
    run->n_iteration = mark.n_iteration;
    run->desc.chunk_rows = run->mark.chunk_rows; // 0 between two iterations
    return TESS_OK;
}

// Rows of states that an engine has made: causal and predictive ones of all chunks before on the
// way forward, on the way back the acausal ones of all chunks behind.
static void list_rows(const tess_de_em_run *run, const tess_de_position *at, int64_t chunk_rows,
                      part rows[3])
{
    const int64_t n_time = run->observation.n_time;
    const int64_t n_state = run->detector->info.n_state;
    const int64_t first = (at->chunk + at->pass) * chunk_rows;
    const int64_t turn = first < n_time ? first : n_time;
    const int64_t n_forward = at->pass ? n_time : turn;
    const int64_t n_backward = at->pass ? n_time - turn : 0;
    rows[0] = (part){run->causal, n_forward * n_state};
    rows[1] = (part){run->predictive, n_forward * n_state};
    rows[2] = (part){run->acausal + (n_time - n_backward) * n_state, n_backward * n_state};
}

static const char *const ROW_NAMES[3] = {"causal", "predicts", "acausal"};

tess_status tess_de_em_go_on(tess_de_em_run *run)
{
    tess_de_engine *e = run->engine;
    part rows[3];
    if (run->work.is_found && run->mark.chunk_rows > 0) {
        TESS_TRY(tess_de_engine_restore(e, &run->work.found, &run->mark));
        list_rows(run, &e->at, e->chunk_rows, rows);
        for (int i = 0; i < 3; i++) {
            TESS_TRY(tess_checkpoint_get(&run->work.found, ROW_NAMES[i], rows[i].values,
                                         (size_t)rows[i].n * sizeof(double)));
        }
        // The filtered rows were in memory: none is as it was, not even one of zeros.
        memset(e->kept_hash, 0, (size_t)e->n_chunk * sizeof *e->kept_hash);
    }
    tess_work_forget(&run->work);
    return TESS_OK;
}

// ---- Keeping ----------------------------------------------------------------------------------

static bool is_within(const tess_de_em_run *run)
{
    const tess_de_position *at = &run->engine->at;
    return run->is_pausable && (at->pass || at->chunk > 0);
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    tess_de_em_run *run = self;
    const em_mark mark = {.n_iteration = run->n_iteration - run->is_finished,
                          .is_within = is_within(run)};
    if (!run->is_finished) {
        tess_de_em_read_parameters(run->detector, run->before);
    }
    TESS_TRY(tess_checkpoint_add(writer, "em", &mark, sizeof mark));
    TESS_TRY(tess_checkpoint_add(writer, "params", run->before,
                                 (size_t)run->n_parameter * sizeof *run->before));
    TESS_TRY(tess_checkpoint_add(writer, "evidence", run->log_evidence,
                                 (size_t)mark.n_iteration * sizeof *run->log_evidence));
    if (!mark.is_within) {
        return TESS_OK;
    }
    part rows[3];
    list_rows(run, &run->engine->at, run->engine->chunk_rows, rows);
    for (int i = 0; i < 3; i++) {
        TESS_TRY(tess_checkpoint_add(writer, ROW_NAMES[i], rows[i].values,
                                     (size_t)rows[i].n * sizeof(double)));
    }
    return tess_de_engine_write(run->engine, writer);
}

void tess_de_em_save(tess_de_em_run *run)
{
    const double within = is_within(run) ? tess_de_engine_done(run->engine) : 0;
    const double n = (double)(run->n_iteration - run->is_finished) + within;
    if (n == 0) {
        return; // nothing to go on from
    }
    tess_work_save(&run->work, n / (double)run->config.max_iterations, write_state, run);
}

void tess_de_em_save_if_due(tess_de_em_run *run, bool is_milestone)
{
    if (tess_work_is_due(&run->work, is_milestone)) {
        tess_de_em_save(run);
    }
}

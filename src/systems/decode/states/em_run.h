// An estimate under way: what em.c and em_work.c share.
#ifndef TESS_SYSTEMS_DECODE_EM_RUN_H
#define TESS_SYSTEMS_DECODE_EM_RUN_H

#include "runtime/work.h"
#include "systems/decode/states/engine_state.h"

typedef struct tess_de_em_run {
    tess_context *ctx;
    tess_decode_detector *detector; // what is estimated changes in it
    tess_decode_em_config config;
    tess_decode_observation observation;
    tess_decode_outputs outputs;
    tess_de_engine_desc desc;
    tess_de_engine *engine;
    tess_blocks memory;
    bool has_room;  // for the likelihood of all rows, in desc.ll
    bool has_cache; // it is there
    double *causal; // [n_time][S], and so on
    double *predictive;
    double *acausal;
    double *log_evidence; // [max_iterations], the caller's
    int64_t n_iteration;  // E- and M-steps done
    bool is_finished;
    double *before; // [n_parameter] before the last M-step; room for checkpoints until then
    int64_t n_parameter;
    bool is_pausable; // rows of states are all there is to keep of an E-step under way
    tess_identity id;
    tess_work work;
    tess_de_mark mark; // of work.found
} tess_de_em_run;

// Everything EM changes in a detector, one after another in values [n_parameter].
int64_t tess_de_em_parameters(const tess_decode_detector *detector);
void tess_de_em_read_parameters(const tess_decode_detector *detector, double *values);
void tess_de_em_write_parameters(tess_decode_detector *detector, const double *values);

// What makes two estimates the same computation; the detector as it is before.
void tess_de_em_identify(tess_context *ctx, const tess_decode_detector *detector,
                         const tess_decode_observation *observation,
                         const tess_decode_em_config *config, const char *backend,
                         tess_identity *id);

// Takes the folder and brings the detector to where an earlier process was, before the engine is
// made; then the engine and the rows of states.
TESS_MUST_CHECK tess_status tess_de_em_open_work(tess_de_em_run *run);
TESS_MUST_CHECK tess_status tess_de_em_go_on(tess_de_em_run *run);

// A checkpoint, now or where one is due.
void tess_de_em_save(tess_de_em_run *run);
void tess_de_em_save_if_due(tess_de_em_run *run, bool is_milestone);

#endif

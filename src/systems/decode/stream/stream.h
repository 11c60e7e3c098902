// A streamed prediction under way: what stream.c and its parts share.
//
// Besides its checkpoint the folder of the work holds
//
//   DIR/partial.h5 or DIR/partial   the result so far
//   DIR/filtered.rows               filtered rows, where the result has no room for them
//   DIR/likelihood.rows             the likelihood, from which the most likely path is found
//
// Rows are durable before a checkpoint speaks of them.
#ifndef TESS_SYSTEMS_DECODE_STREAM_H
#define TESS_SYSTEMS_DECODE_STREAM_H

#include "runtime/work.h"
#include "systems/decode/result/result.h"
#include "systems/decode/states/engine_state.h"
#include "systems/decode/states/fingerprint.h"

// Rows that nobody reads but the run itself.
typedef struct tess_de_spill {
    tess_de_result_item item; // fd -1: none; row_bytes 0: not needed
    char path[TESS_DE_RESULT_PATH];
} tess_de_spill;

// The intervals that are decoded; all zero: everything is, as one sequence.
typedef struct tess_de_intervals {
    tess_de_result_intervals table;
    int64_t n_sequence; // intervals that have rows
    int64_t *first;     // [n_sequence] of the observation's rows
    int64_t *begin;     // [n_sequence + 1] of the result's
    double *evidence;   // [table.n]
    tess_hash hash;
} tess_de_intervals;

typedef struct tess_de_stream_run {
    tess_context *ctx;
    tess_device *device; // NULL: only a plan is made
    const tess_decode_detector *detector;
    tess_decode_observation observation; // as given
    tess_decode_observation decoded;     // with the times of the rows that are decoded
    tess_de_intervals intervals;
    tess_blocks rows; // of both
    tess_decode_stream_config config;
    tess_de_fingerprint fingerprint;
    tess_identity id;
    char id_text[33];
    tess_work work;
    tess_de_mark mark; // of work.found
    tess_de_result result;
    tess_de_engine *engine;
    tess_de_spill filtered; // where the result has no room for them
    tess_de_spill likelihood;
    char started[32];
    int64_t begin_ns;
    tess_decode_stream_report report;
} tess_de_stream_run;

// intervals.c. Which rows there are; of a run whose observation and config are set.
TESS_MUST_CHECK tess_status tess_de_stream_rows(tess_de_stream_run *run);
void tess_de_stream_sequences(const tess_de_stream_run *run, tess_de_sequences *out);
// Evidence by interval, of a finished engine.
const double *tess_de_stream_evidence(tess_de_stream_run *run);
void tess_de_stream_warn_empty(const tess_de_stream_run *run);

// where.c. Models that need no position are not told that they have none: readers of the result
// are.
void tess_de_stream_warn_outside(const tess_de_stream_run *run);

// stream_provenance.c. With details: what changes from run to run of the same computation, for the
// file beside the result; without: what does not, for the result itself.
TESS_MUST_CHECK tess_status tess_de_stream_provenance(const tess_de_stream_run *run,
                                                      int with_details, char **text, size_t *bytes);
// "<result>.json", beside it.
TESS_MUST_CHECK tess_status tess_de_stream_write_details(const tess_de_stream_run *run);
// The evidence that a complete result holds, into the report.
void tess_de_stream_read_evidence(tess_de_stream_run *run);

#endif

// A streamed prediction under way: what stream.c and its parts share.
//
// Besides its checkpoint the folder of the work holds
//
//   DIR/partial.h5 or DIR/partial   the result so far
//   DIR/filtered.rows               filtered rows, where the result has no room for them
//
// Rows are durable before a checkpoint speaks of them.
#ifndef TESS_SYSTEMS_DECODE_STREAM_H
#define TESS_SYSTEMS_DECODE_STREAM_H

#include "runtime/work.h"
#include "systems/decode/result/result.h"
#include "systems/decode/states/engine_state.h"
#include "systems/decode/states/fingerprint.h"

typedef struct tess_de_stream_run {
    tess_context *ctx;
    tess_device *device; // NULL: only a plan is made
    const tess_decode_detector *detector;
    tess_decode_observation observation;
    tess_decode_stream_config config;
    tess_de_fingerprint fingerprint;
    tess_identity id;
    char id_text[33];
    tess_work work;
    tess_de_mark mark; // of work.found
    tess_de_result result;
    tess_de_engine *engine;
    tess_de_result_item spill; // filtered rows, where the result has no room for them; fd -1
    char spill_path[TESS_DE_RESULT_PATH];
    char started[32];
    int64_t begin_ns;
    tess_decode_stream_report report;
} tess_de_stream_run;

// stream_provenance.c. With details: what changes from run to run of the same computation, for the
// file beside the result; without: what does not, for the result itself.
TESS_MUST_CHECK tess_status tess_de_stream_provenance(const tess_de_stream_run *run,
                                                      int with_details, char **text, size_t *bytes);
// "<result>.json", beside it.
TESS_MUST_CHECK tess_status tess_de_stream_write_details(const tess_de_stream_run *run);
// The evidence that a complete result holds, into the report.
void tess_de_stream_read_evidence(tess_de_stream_run *run);

#endif

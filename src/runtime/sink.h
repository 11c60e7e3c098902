// The inside of a sink: what a run needs beyond the public calls.
#ifndef TESS_RUNTIME_SINK_H
#define TESS_RUNTIME_SINK_H

#include "runtime/spool.h"
#include "tessera/io.h"

// Shape and dtype of the output.
void tess_sink_array(const tess_sink *sink, tess_array *array);

// From now on everything written also lands in this file, which outlives the process. resume 1:
// the file is there; items 0..done-1 are taken over from it.
TESS_MUST_CHECK tess_status tess_sink_attach_spool(tess_sink *sink, const char *path, int resume,
                                                   int64_t done);

// Where the output will be; NULL for memory sinks.
const char *tess_sink_path(const tess_sink *sink);

// The spool of the sink; fd -1 for memory sinks without one.
tess_spool *tess_sink_spool(tess_sink *sink);

#endif

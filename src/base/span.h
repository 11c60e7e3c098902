// Spans: named stretches of work with bytes and flops, always compiled in, nearly free when off.
//
//   tess_span span = tess_span_begin(tracer, "autoreject.ptp");
//   ...
//   tess_span_end(&span, bytes, flops);
//
// They feed the --profile table (totals per name) and the --trace file (every event).
#ifndef TESS_BASE_SPAN_H
#define TESS_BASE_SPAN_H

#include "base/memory.h"

#include <pthread.h>
#include <stdbool.h>

enum { TESS_MAX_SPAN_NAMES = 64 };

typedef struct tess_span_total {
    const char *name; // static text
    int64_t n_call;
    int64_t total_ns;
    double bytes;
    double flops;
} tess_span_total;

typedef struct tess_span_event {
    const char *name;
    int64_t begin_ns;
    int64_t end_ns;
    double bytes;
    int32_t thread;
    int32_t reserved;
} tess_span_event;

typedef struct tess_tracer {
    tess_heap *heap;
    bool on; // profile or trace
    int64_t start_ns;
    pthread_mutex_t mutex;
    int32_t n_total;
    tess_span_total totals[TESS_MAX_SPAN_NAMES];
    tess_span_event *events; // NULL: no trace
    int64_t n_event;
    int64_t n_dropped; // events that found the buffer full
} tess_tracer;

TESS_MUST_CHECK tess_status tess_tracer_init(tess_tracer *tracer, tess_heap *heap, bool profile,
                                             bool trace);
void tess_tracer_destroy(tess_tracer *tracer);

typedef struct tess_span {
    tess_tracer *tracer; // NULL: off
    const char *name;
    int64_t begin_ns;
} tess_span;

tess_span tess_span_begin(tess_tracer *tracer, const char *name);
void tess_span_end(tess_span *span, double bytes, double flops);

// Chrome trace-event JSON (opens in Perfetto and Chromium), written atomically.
TESS_MUST_CHECK tess_status tess_tracer_write(tess_tracer *tracer, const char *path,
                                              const char *origin);

#endif

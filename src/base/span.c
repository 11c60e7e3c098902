#include "base/span.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EVENTS = 1 << 16 };

static int32_t thread_number(void)
{
    static atomic_int next = 1;
    static _Thread_local int32_t number;
    if (number == 0) {
        number = atomic_fetch_add(&next, 1);
    }
    return number;
}

tess_status tess_tracer_init(tess_tracer *tracer, tess_heap *heap, bool profile, bool trace)
{
    memset(tracer, 0, sizeof *tracer);
    pthread_mutex_init(&tracer->mutex, NULL);
    tracer->heap = heap;
    tracer->start_ns = tess_now_ns();
    if (trace) {
        tracer->events = tess_heap_alloc(heap, MAX_EVENTS * sizeof *tracer->events,
                                         TESS_TAG_CONTEXT, "trace events");
        if (!tracer->events) {
            return TESS_E_MEMORY;
        }
    }
    tracer->on = profile || trace;
    return TESS_OK;
}

void tess_tracer_destroy(tess_tracer *tracer)
{
    tess_heap_free(tracer->heap, tracer->events, MAX_EVENTS * sizeof *tracer->events,
                   TESS_TAG_CONTEXT);
    pthread_mutex_destroy(&tracer->mutex);
}

tess_span tess_span_begin(tess_tracer *tracer, const char *name)
{
    if (!tracer->on) {
        return (tess_span){NULL, name, 0};
    }
    return (tess_span){tracer, name, tess_now_ns()};
}

static tess_span_total *total_of(tess_tracer *tracer, const char *name)
{
    for (int32_t i = 0; i < tracer->n_total; i++) {
        if (strcmp(tracer->totals[i].name, name) == 0) {
            return &tracer->totals[i];
        }
    }
    if (tracer->n_total == TESS_MAX_SPAN_NAMES) {
        return NULL;
    }
    tess_span_total *total = &tracer->totals[tracer->n_total++];
    total->name = name;
    return total;
}

void tess_span_end(tess_span *span, double bytes, double flops)
{
    tess_tracer *tracer = span->tracer;
    if (!tracer) {
        return;
    }
    const int64_t end_ns = tess_now_ns();
    pthread_mutex_lock(&tracer->mutex);
    tess_span_total *total = total_of(tracer, span->name);
    if (total) {
        total->n_call++;
        total->total_ns += end_ns - span->begin_ns;
        total->bytes += bytes;
        total->flops += flops;
    }
    if (tracer->events && tracer->n_event < MAX_EVENTS) {
        tracer->events[tracer->n_event++] =
            (tess_span_event){span->name, span->begin_ns, end_ns, bytes, thread_number(), 0};
    } else if (tracer->events) {
        tracer->n_dropped++;
    }
    pthread_mutex_unlock(&tracer->mutex);
}

static void write_event(tess_json *json, const tess_tracer *tracer, const tess_span_event *event)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", event->name);
    tess_json_text(json, "ph", "X");
    tess_json_int(json, "pid", getpid());
    tess_json_int(json, "tid", event->thread);
    tess_json_real(json, "ts", (double)(event->begin_ns - tracer->start_ns) * 1e-3);
    tess_json_real(json, "dur", (double)(event->end_ns - event->begin_ns) * 1e-3);
    if (event->bytes > 0) {
        tess_json_object_begin(json, "args");
        tess_json_real(json, "bytes", event->bytes);
        tess_json_object_end(json);
    }
    tess_json_object_end(json);
}

tess_status tess_tracer_write(tess_tracer *tracer, const char *path, const char *origin)
{
    tess_json *json = NULL;
    TESS_TRY(tess_json_create_on(tracer->heap, 0, &json));
    pthread_mutex_lock(&tracer->mutex);
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "displayTimeUnit", "ms");
    if (origin) {
        tess_json_object_begin(json, "otherData"); // where viewers look for what was traced
        tess_json_raw(json, "tessera_provenance", origin);
        tess_json_object_end(json);
    }
    tess_json_int(json, "dropped_events", tracer->n_dropped);
    tess_json_array_begin(json, "traceEvents");
    for (int64_t i = 0; tracer->events && i < tracer->n_event; i++) {
        write_event(json, tracer, &tracer->events[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    pthread_mutex_unlock(&tracer->mutex);

    const char *text = NULL;
    tess_status status = tess_json_finish(json, &text);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, text, 1);
    }
    tess_json_destroy(json);
    return status;
}

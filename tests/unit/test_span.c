// Spans, their totals and the trace file.
#include "base/span.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_heap heap;

static void totals_add_up_by_name(void **state)
{
    (void)state;
    tess_tracer tracer;
    assert_ok(tess_tracer_init(&tracer, &heap, true, false));
    for (int i = 0; i < 3; i++) {
        tess_span span = tess_span_begin(&tracer, "read");
        tess_span_end(&span, 100, 7);
    }
    tess_span span = tess_span_begin(&tracer, "write");
    usleep(2000);
    tess_span_end(&span, 0, 0);
    assert_int_equal(tracer.n_total, 2);
    assert_string_equal(tracer.totals[0].name, "read");
    assert_int_equal(tracer.totals[0].n_call, 3);
    assert_true(tracer.totals[0].bytes == 300 && tracer.totals[0].flops == 21);
    assert_int_equal(tracer.totals[1].n_call, 1);
    assert_true(tracer.totals[1].total_ns >= 2000000);
    assert_null(tracer.events);
    tess_tracer_destroy(&tracer);
}

static void off_records_nothing(void **state)
{
    (void)state;
    tess_tracer tracer;
    assert_ok(tess_tracer_init(&tracer, &heap, false, false));
    tess_span span = tess_span_begin(&tracer, "read");
    assert_null(span.tracer);
    tess_span_end(&span, 1, 1);
    assert_int_equal(tracer.n_total, 0);
    tess_tracer_destroy(&tracer);
}

static void too_many_names_are_dropped_not_overrun(void **state)
{
    (void)state;
    static char names[TESS_MAX_SPAN_NAMES + 10][16];
    tess_tracer tracer;
    assert_ok(tess_tracer_init(&tracer, &heap, true, false));
    for (int i = 0; i < TESS_MAX_SPAN_NAMES + 10; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        tess_span span = tess_span_begin(&tracer, names[i]);
        tess_span_end(&span, 0, 0);
    }
    assert_int_equal(tracer.n_total, TESS_MAX_SPAN_NAMES);
    tess_tracer_destroy(&tracer);
}

static void *trace_many(void *arg)
{
    for (int i = 0; i < 500; i++) {
        tess_span span = tess_span_begin(arg, i % 2 ? "odd" : "even");
        tess_span_end(&span, 8, 0);
    }
    return NULL;
}

static void trace_is_json_with_every_event(void **state)
{
    (void)state;
    tess_tracer tracer;
    assert_ok(tess_tracer_init(&tracer, &heap, false, true));
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, trace_many, &tracer), 0);
    }
    // Writing while others record is allowed.
    assert_ok(tess_tracer_write(&tracer, unit_path("trace.json"), NULL));
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_ok(tess_tracer_write(&tracer, unit_path("trace.json"), NULL));
    char *text = unit_read_file(unit_path("trace.json"), NULL);
    size_t at = 0;
    if (!unit_is_json(text, &at)) {
        fail_msg("not JSON at byte %zu", at);
    }
    int n_event = 0;
    for (const char *s = text; (s = strstr(s, "\"ph\": \"X\"")) != NULL; s++) {
        n_event++;
    }
    assert_int_equal(n_event, 2000);
    assert_contains(text, "\"dropped_events\": 0");
    assert_contains(text, "\"traceEvents\": [");
    assert_contains(text, "\"args\": {\"bytes\": 8}");
    free(text);
    assert_int_equal(tracer.totals[0].n_call + tracer.totals[1].n_call, 2000);
    tess_tracer_destroy(&tracer);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void a_full_buffer_counts_what_it_drops(void **state)
{
    (void)state;
    tess_tracer tracer;
    assert_ok(tess_tracer_init(&tracer, &heap, false, true));
    for (int i = 0; i < (1 << 16) + 5; i++) {
        tess_span span = tess_span_begin(&tracer, "many");
        tess_span_end(&span, 0, 0);
    }
    assert_int_equal(tracer.n_event, 1 << 16);
    assert_int_equal(tracer.n_dropped, 5);
    assert_int_equal(tracer.totals[0].n_call, (1 << 16) + 5);
    tess_tracer_destroy(&tracer);
}

static void a_trace_that_cannot_be_written_says_so(void **state)
{
    (void)state;
    tess_tracer tracer;
    assert_ok(tess_tracer_init(&tracer, &heap, false, true));
    assert_fails(tess_tracer_write(&tracer, unit_path("no/folder.json"), NULL), TESS_E_CREATE,
                 "no/");
    tess_tracer_destroy(&tracer);
    unit_allocator allocator;
    unit_allocator_init(&allocator, 1);
    tess_heap failing;
    tess_heap_init(&failing, &allocator.table);
    assert_fails(tess_tracer_init(&tracer, &failing, false, true), TESS_E_MEMORY, "trace events");
    tess_tracer_destroy(&tracer);
}

int main(void)
{
    tess_heap_init(&heap, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_add_up_by_name),
        cmocka_unit_test(off_records_nothing),
        cmocka_unit_test(too_many_names_are_dropped_not_overrun),
        cmocka_unit_test(trace_is_json_with_every_event),
        cmocka_unit_test(a_full_buffer_counts_what_it_drops),
        cmocka_unit_test(a_trace_that_cannot_be_written_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

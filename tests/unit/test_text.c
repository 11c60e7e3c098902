// Growing text, and the clock's texts.
#include "base/clock.h"
#include "base/text.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void grows_and_keeps_everything(void **state)
{
    (void)state;
    tess_heap heap;
    tess_heap_init(&heap, NULL);
    tess_text text;
    const char *chars = NULL;
    tess_text_init(&text, &heap);
    assert_ok(tess_text_finish(&text, &chars));
    assert_string_equal(chars, "");
    for (int i = 0; i < 5000; i++) {
        tess_text_printf(&text, "%04d,", i);
    }
    tess_text_append(&text, "end and more", 3);
    tess_text_add(&text, "!");
    assert_ok(tess_text_finish(&text, &chars));
    assert_int_equal(strlen(chars), 5 * 5000 + 4);
    assert_memory_equal(chars + 5 * 4321, "4321,", 5);
    assert_string_equal(chars + 5 * 5000, "end!");
    tess_text_destroy(&text);
    tess_text_destroy(&text);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void takes_pieces_larger_than_a_doubling(void **state)
{
    (void)state;
    tess_heap heap;
    tess_heap_init(&heap, NULL);
    tess_text text;
    tess_text_init(&text, &heap);
    char *piece = malloc(100001);
    memset(piece, 'x', 100000);
    piece[100000] = '\0';
    tess_text_add(&text, "a");
    tess_text_add(&text, piece);
    tess_text_add(&text, "b");
    const char *chars = NULL;
    assert_ok(tess_text_finish(&text, &chars));
    assert_int_equal(strlen(chars), 100002);
    assert_int_equal(chars[100001], 'b');
    tess_text_destroy(&text);
    free(piece);
}

static void remembers_that_memory_ran_out(void **state)
{
    (void)state;
    unit_allocator allocator;
    unit_allocator_init(&allocator, 2);
    tess_heap heap;
    tess_heap_init(&heap, &allocator.table);
    tess_text text;
    tess_text_init(&text, &heap);
    for (int i = 0; i < 2000; i++) {
        tess_text_add(&text, "0123456789");
    }
    const char *chars = NULL;
    assert_fails(tess_text_finish(&text, &chars), TESS_E_MEMORY, "bytes of text");
    tess_text_destroy(&text);
    assert_int_equal(allocator.n_live, 0);
}

static void utc_text_can_be_pinned(void **state)
{
    (void)state;
    char text[32];
    setenv("SOURCE_DATE_EPOCH", "86399", 1);
    tess_utc_text(text, sizeof text);
    assert_string_equal(text, "1970-01-01T23:59:59Z");
    // A year no calendar has must not be read from uninitialised memory.
    setenv("SOURCE_DATE_EPOCH", "9223372036854775807", 1);
    tess_utc_text(text, sizeof text);
    assert_string_equal(text, "");
    unsetenv("SOURCE_DATE_EPOCH");
    tess_utc_text(text, sizeof text);
    assert_int_equal(strlen(text), 20);
    const int64_t before = tess_now_ns();
    assert_true(tess_now_ns() >= before && before > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_keeps_everything),
        cmocka_unit_test(takes_pieces_larger_than_a_doubling),
        cmocka_unit_test(remembers_that_memory_ran_out),
        cmocka_unit_test(utc_text_can_be_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

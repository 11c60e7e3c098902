#include "base/status.h"
#include "unit.h"

#include <pthread.h>
#include <string.h>

static void every_status_has_name_text_and_exit_code(void **state)
{
    (void)state;
    static const struct {
        tess_status status;
        const char *name;
    } all[] = {
#define ROW(name, value, exit_code, text) {name, #name},
        TESS_STATUS_LIST(ROW)
#undef ROW
    };
    assert_int_equal(ARRAY_LEN(all), 25);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_string_equal(tess_status_name(all[i].status), all[i].name);
        assert_true(strlen(tess_status_text(all[i].status)) > 3);
        const int code = tess_status_exit_code(all[i].status);
        assert_true(code == 0 || code == 2 || code == 130 || (code >= 65 && code <= 78));
        assert_int_equal(code == 0, all[i].status == TESS_OK);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(all[i].status, all[k].status);
            assert_string_not_equal(tess_status_text(all[i].status),
                                    tess_status_text(all[k].status));
        }
    }
}

static void released_values_and_exit_codes_stay(void **state)
{
    (void)state;
    assert_int_equal(TESS_CANCELLED, 1);
    assert_int_equal(TESS_E_ARGUMENT, -10);
    assert_int_equal(TESS_E_MEMORY, -20);
    assert_int_equal(TESS_E_NOT_FOUND, -30);
    assert_int_equal(TESS_E_NUMERIC, -40);
    assert_int_equal(TESS_E_INTERNAL, -90);
    assert_int_equal(tess_status_exit_code(TESS_E_FORMAT), 65);
    assert_int_equal(tess_status_exit_code(TESS_E_NOT_FOUND), 66);
    assert_int_equal(tess_status_exit_code(TESS_E_EXISTS), 73);
    assert_int_equal(tess_status_exit_code(TESS_E_IO), 74);
    assert_int_equal(tess_status_exit_code(TESS_E_CONFIG), 78);
}

static void unknown_values_have_answers_too(void **state)
{
    (void)state;
    const tess_status unknown = (tess_status)-77;
    assert_string_equal(tess_status_name(unknown), "TESS_UNKNOWN");
    assert_string_equal(tess_status_text(unknown), "unknown status");
    assert_int_equal(tess_status_exit_code(unknown), 70);
    assert_string_equal(tess_version(), TESS_VERSION);
    assert_true(strlen(tess_build_commit()) > 0);
}

static void message_is_set_appended_and_cleared(void **state)
{
    (void)state;
    assert_int_equal(tess_error_set(TESS_E_SHAPE, "x: got %d", 2), TESS_E_SHAPE);
    assert_string_equal(tess_last_error(), "x: got 2");
    tess_error_append(" of %s", "three");
    assert_string_equal(tess_last_error(), "x: got 2 of three");
    tess_error_set(TESS_E_IO, "file: %s", tess_last_error()); // wraps itself
    assert_string_equal(tess_last_error(), "file: x: got 2 of three");
    tess_error_clear();
    assert_string_equal(tess_last_error(), "");
}

static void long_messages_are_cut_not_overrun(void **state)
{
    (void)state;
    char text[2 * TESS_MESSAGE_BYTES];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tess_error_set(TESS_E_IO, "%s", text);
    assert_int_equal(strlen(tess_last_error()), TESS_MESSAGE_BYTES - 1);
    tess_error_append("%s", text);
    assert_int_equal(strlen(tess_last_error()), TESS_MESSAGE_BYTES - 1);
}

static void *other_thread(void *arg)
{
    const int empty = tess_last_error()[0] == '\0';
    tess_error_set(TESS_E_IO, "of the other thread");
    tess_error_copy_out(arg);
    return empty ? arg : NULL;
}

static void each_thread_has_its_own_message(void **state)
{
    (void)state;
    char message[TESS_MESSAGE_BYTES];
    tess_error_set(TESS_E_IO, "of this thread");
    pthread_t thread;
    void *was_empty = NULL;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, message), 0);
    pthread_join(thread, &was_empty);
    assert_non_null(was_empty);
    assert_string_equal(tess_last_error(), "of this thread");
    tess_error_copy_in(message);
    assert_string_equal(tess_last_error(), "of the other thread");
}

static tess_status try_twice(tess_status first, int *reached)
{
    TESS_TRY(first);
    *reached = 1;
    TESS_FAIL(TESS_E_RANGE, "value: %d", 7);
}

static void try_and_fail_forward(void **state)
{
    (void)state;
    int reached = 0;
    assert_int_equal(try_twice(TESS_E_DTYPE, &reached), TESS_E_DTYPE);
    assert_int_equal(reached, 0);
    assert_fails(try_twice(TESS_OK, &reached), TESS_E_RANGE, "value: 7");
    assert_int_equal(reached, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_name_text_and_exit_code),
        cmocka_unit_test(released_values_and_exit_codes_stay),
        cmocka_unit_test(unknown_values_have_answers_too),
        cmocka_unit_test(message_is_set_appended_and_cleared),
        cmocka_unit_test(long_messages_are_cut_not_overrun),
        cmocka_unit_test(each_thread_has_its_own_message),
        cmocka_unit_test(try_and_fail_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

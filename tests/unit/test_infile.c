#include "base/infile.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char bytes[] = "0123456789abcdef";
enum { N = sizeof bytes - 1 };

// A file last changed long ago: file systems count time in ticks, and what changes within one of
// them cannot be told.
static const char *make(tess_infile *file)
{
    const char *path = unit_path("in");
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    unit_write_file(path, bytes, N);
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_ok(tess_infile_open(path, file));
    return path;
}

static void put(const char *path, const char *text, off_t at)
{
    const int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, text, strlen(text), at), (ssize_t)strlen(text));
    close(fd);
}

static void what_nobody_touches_is_read(void **state)
{
    (void)state;
    tess_infile file;
    char got[N];
    make(&file);
    assert_int_equal(file.bytes, N);
    assert_true(tess_infile_mtime_ns(&file) == INT64_C(1000000000) * 1000000000);
    assert_ok(tess_infile_read(&file, got, N, 0));
    assert_memory_equal(got, bytes, N);
    assert_ok(tess_infile_read(&file, got, 3, 5));
    assert_memory_equal(got, bytes + 5, 3);
    assert_ok(tess_infile_check(&file));
    assert_ok(tess_infile_check_name(&file));
    // It always ended there.
    assert_fails(tess_infile_read(&file, got, 4, N - 3), TESS_E_TRUNCATED, "ends at byte 16");
    tess_infile_close(&file);
    tess_infile_close(&file);
    assert_fails(tess_infile_open(unit_path("none"), &file), TESS_E_NOT_FOUND, "cannot open");
    assert_int_equal(file.fd, -1);
    tess_infile_close(&file);
}

static void changes_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        off_t cut; // -1: not
        off_t at;
        const char *part;
    } cases[] = {{"", 7, 0, "in: was cut from 16 to 7 bytes"},
                 {"more", -1, N, "in: grew from 16 to 20 bytes"},
                 {"XY", -1, 3, "in: was written to while it was being read"},
                 {bytes, -1, 0, "in: was written to"}}; // by the very same bytes: who knows
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_infile file;
        char got[2];
        const char *path = make(&file);
        assert_ok(tess_infile_read(&file, got, 2, 0));
        if (cases[i].cut >= 0) {
            assert_int_equal(truncate(path, cases[i].cut), 0);
        } else {
            put(path, cases[i].text, cases[i].at);
        }
        assert_fails(tess_infile_check(&file), TESS_E_CHANGED, cases[i].part);
        assert_fails(tess_infile_read(&file, got, 2, 0), TESS_E_CHANGED, cases[i].part);
        assert_fails(tess_infile_read(&file, got, 2, N - 2), TESS_E_CHANGED, cases[i].part);
        assert_int_equal(tess_status_exit_code(TESS_E_CHANGED), 74);
        tess_infile_close(&file);
    }
}

// All of these move the time of change as well.
static void other_names_and_modes_change_nothing(void **state)
{
    (void)state;
    const char *other = unit_path("other");
    const char *new = unit_path("new");
    char got[N];
    for (int kind = 0; kind < 6; kind++) {
        tess_infile file;
        const char *path = make(&file);
        switch (kind) {
        case 0:
            assert_int_equal(chmod(path, 0600), 0);
            break;
        case 1:
            assert_int_equal(link(path, other), 0);
            break;
        case 2:
            assert_int_equal(link(path, other), 0);
            assert_int_equal(unlink(other), 0);
            break;
        case 3:
            assert_int_equal(rename(path, other), 0);
            break;
        case 4:
            assert_int_equal(unlink(path), 0);
            break;
        default:
            unit_write_file(new, "another file", 12);
            assert_int_equal(rename(new, path), 0);
        }
        assert_ok(tess_infile_check(&file));
        assert_ok(tess_infile_read(&file, got, N, 0));
        assert_memory_equal(got, bytes, N);
        if (kind >= 3) {
            assert_fails(tess_infile_check_name(&file), TESS_E_CHANGED, "in: was replaced");
        } else {
            assert_ok(tess_infile_check_name(&file));
        }
        tess_infile_close(&file);
        unlink(path);
        unlink(other);
    }
}

static void files_without_a_name_can_be_taken_over(void **state)
{
    (void)state;
    tess_infile file;
    const char *path = unit_path("nameless");
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char got[N];
    assert_int_equal(write(fd, bytes, N), N);
    unlink(path);
    assert_ok(tess_infile_adopt(path, fd, &file));
    assert_ok(tess_infile_read(&file, got, N, 0));
    assert_memory_equal(got, bytes, N);
    tess_infile_close(&file);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_fails(tess_infile_adopt(path, fd, &file), TESS_E_NOT_FOUND, "cannot stat");
    assert_int_equal(file.fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_touches_is_read),
        cmocka_unit_test(changes_are_told_apart),
        cmocka_unit_test(other_names_and_modes_change_nothing),
        cmocka_unit_test(files_without_a_name_can_be_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/file.h"
#include "base/replaced.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

static void opens_regular_files_only(void **state)
{
    (void)state;
    int fd = 0;
    uint64_t bytes = 0;
    int64_t mtime_ns = 0;
    unit_write_file(unit_path("a"), "hello", 5);
    assert_ok(tess_file_open_read(unit_path("a"), &fd, &bytes, &mtime_ns));
    assert_true(fd >= 0 && bytes == 5 && mtime_ns > 0);
    close(fd);
    assert_fails(tess_file_open_read(unit_path("none"), &fd, &bytes, &mtime_ns), TESS_E_NOT_FOUND,
                 "none: cannot open: No such file");
    assert_int_equal(fd, -1);
    assert_int_equal(symlink(".git/annex/x", unit_path("link")), 0);
    assert_fails(tess_file_open_read(unit_path("link"), &fd, &bytes, &mtime_ns), TESS_E_NOT_FOUND,
                 "link: is a link to .git/annex/x, which is not there: fetch the file first");
    unlink(unit_path("link"));
    assert_fails(tess_file_open_read(unit_path(""), &fd, &bytes, &mtime_ns), TESS_E_NOT_FOUND,
                 "is not a regular file");
    // Nobody writes to this pipe: waiting for a writer would be for ever.
    assert_int_equal(mkfifo(unit_path("fifo"), 0600), 0);
    assert_fails(tess_file_open_read(unit_path("fifo"), &fd, &bytes, &mtime_ns), TESS_E_NOT_FOUND,
                 "is not a regular file");
    assert_int_equal(fd, -1);
    unlink(unit_path("fifo"));
    unlink(unit_path("a"));
}

static void reads_and_writes_at_offsets(void **state)
{
    (void)state;
    const char *path = unit_path("b");
    char text[8] = "";
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_ok(tess_file_write_at(fd, path, "abcdef", 6, 4));
    assert_ok(tess_file_read_at(fd, path, text, 4, 6));
    assert_memory_equal(text, "cdef", 4);
    assert_ok(tess_file_read_at(fd, path, text, 0, 99));
    assert_fails(tess_file_read_at(fd, path, text, 5, 6), TESS_E_TRUNCATED,
                 "b: ends at byte 10, 1 bytes more were expected");
    assert_ok(tess_file_sync(fd, path));
    close(fd);
    assert_fails(tess_file_read_at(fd, path, text, 1, 0), TESS_E_IO, "cannot read at byte 0");
    assert_fails(tess_file_write_at(fd, path, text, 1, 0), TESS_E_IO, "cannot write");
    unlink(path);
}

static void full_disk_has_a_remedy(void **state)
{
    (void)state;
    const int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        skip();
    }
    assert_fails(tess_file_write_at(fd, "out", "a", 1, 0), TESS_E_IO, "free some space");
    close(fd);
}

static void text_is_written_whole_or_not_at_all(void **state)
{
    (void)state;
    const int before = unit_count_files();
    const char *path = unit_path("c.txt");
    assert_ok(tess_file_write_text(path, "one", 0));
    assert_fails(tess_file_write_text(path, "two", 0), TESS_E_EXISTS, "c.txt: exists already");
    char *text = unit_read_file(path, NULL);
    assert_string_equal(text, "one");
    free(text);
    assert_ok(tess_file_write_text(path, "three", 1));
    text = unit_read_file(path, NULL);
    assert_string_equal(text, "three");
    free(text);
    assert_int_equal(unit_count_files(), before + 1);
    unlink(path);
    assert_fails(tess_file_write_text(unit_path("no/such/folder"), "x", 0), TESS_E_CREATE,
                 "cannot create a file there");
}

static void uncommitted_files_leave_nothing(void **state)
{
    (void)state;
    const int before = unit_count_files();
    tess_temp_file file;
    const char *path = unit_path("d");
    assert_ok(tess_temp_file_create(path, 0600, &file));
    assert_contains(file.path, "/d.tmp.");
    struct stat info;
    assert_int_equal(stat(file.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_false(unit_exists(path));
    assert_ok(tess_file_write_at(file.fd, file.path, "half", 4, 0));
    tess_temp_file_discard(&file);
    tess_temp_file_discard(&file);
    assert_int_equal(unit_count_files(), before);
}

static void commit_refuses_and_cleans_up(void **state)
{
    (void)state;
    const int before = unit_count_files();
    const char *path = unit_path("e");
    tess_temp_file file;
    assert_ok(tess_temp_file_create(path, 0666, &file));
    unit_write_file(path, "theirs", 6); // somebody else was faster
    assert_fails(tess_temp_file_commit(&file, 0), TESS_E_EXISTS, "pass --overwrite");
    assert_int_equal(unit_count_files(), before + 1);
    char *text = unit_read_file(path, NULL);
    assert_string_equal(text, "theirs");
    free(text);
    // A folder in the way cannot be replaced.
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_ok(tess_temp_file_create(path, 0666, &file));
    assert_fails(tess_temp_file_commit(&file, 1), TESS_E_CREATE, "not a regular file");
    rmdir(path);
    assert_int_equal(unit_count_files(), before);
}

static void names_may_be_relative_or_too_long(void **state)
{
    (void)state;
    char old[1024];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(unit_path("")), 0);
    assert_ok(tess_file_write_text("plain", "x", 0));
    assert_true(unit_exists(unit_path("plain")));
    assert_ok(tess_file_rename("plain", "renamed", 0));
    assert_false(unit_exists("plain"));
    unit_write_file("other", "y", 1);
    assert_fails(tess_file_rename("other", "renamed", 0), TESS_E_EXISTS, "renamed: exists");
    assert_ok(tess_file_rename("other", "renamed", 1));
    unlink("renamed");
    assert_int_equal(chdir(old), 0);
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    tess_temp_file file;
    assert_fails(tess_temp_file_create(name, 0600, &file), TESS_E_CREATE, "path is too long");
    tess_temp_file_discard(&file);
}

static void on_alarm(int number)
{
    (void)number;
}

static void *send_signals(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        usleep(2000);
        kill(getpid(), SIGUSR1);
    }
    return NULL;
}

// Signals without SA_RESTART rain down while large pieces move.
static void signals_do_not_disturb(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm}; // no SA_RESTART
    sigaction(SIGUSR1, &action, NULL);
    enum { N = 8 << 20 };
    char *bytes = malloc(N);
    char *back = malloc(N);
    memset(bytes, 7, N);
    const char *path = unit_path("f");
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_signals, NULL), 0);
    for (int i = 0; i < 5; i++) {
        assert_ok(tess_file_write_at(fd, path, bytes, N, 0));
        assert_ok(tess_file_read_at(fd, path, back, N, 0));
        assert_memory_equal(bytes, back, N);
    }
    pthread_join(thread, NULL);
    close(fd);
    unlink(path);
    free(bytes);
    free(back);
}

static void only_files_are_replaced(void **state)
{
    (void)state;
    const char *path = unit_path("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(tess_file_write_text(path, "text", 1), TESS_E_CREATE, "not a regular file");
    struct stat there;
    assert_int_equal(stat(path, &there), 0);
    assert_true(S_ISFIFO(there.st_mode));
    unlink(path);
}

static int open_files(void)
{
    int n = 0;
    DIR *list = opendir("/proc/self/fd");
    assert_non_null(list);
    while (readdir(list)) {
        n++;
    }
    closedir(list);
    return n;
}

// What is replaced is held open until another thread has let go of it, and whoever asks for the
// disk's room waits for that.
static void large_files_are_replaced(void **state)
{
    (void)state;
    const char *path = unit_path("large");
    const int before = open_files();
    for (int i = 0; i < 3; i++) {
        unit_write_file(path, "old", 3);
        assert_int_equal(truncate(path, (off_t)512 << 20), 0);
        assert_fails(tess_file_write_text(path, "new", 0), TESS_E_EXISTS, "exists already");
        assert_ok(tess_file_write_text(path, "new", 1));
        struct stat there;
        assert_int_equal(stat(path, &there), 0);
        assert_int_equal(there.st_size, 3);
    }
    uint64_t bytes = 0;
    assert_ok(tess_file_disk_free(unit_path(""), &bytes));
    assert_int_equal(open_files(), before);
    assert_true(bytes > 0);
    assert_fails(tess_file_disk_free(unit_path("nowhere"), &bytes), TESS_E_CREATE, "nowhere");
    unlink(path);
}

// A disk that is full may have room once the file that was replaced has left.
static void a_full_disk_is_asked_again(void **state)
{
    (void)state;
    const char *path = unit_path("large");
    const int before = open_files();
    struct statfs memory;
    const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
    const int shared = open("/dev/shm", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    // Of what lies in memory more than there is in all is refused before any of it is taken.
    if (full < 0 || shared < 0 || fstatfs(shared, &memory) != 0 || memory.f_type != TMPFS_MAGIC ||
        memory.f_blocks == 0) {
        skip();
    }
    for (int i = 0; i < 20; i++) {
        unit_write_file(path, "old", 3);
        assert_int_equal(truncate(path, (off_t)512 << 20), 0);
        assert_ok(tess_file_write_text(path, "new", 1));
        if (i % 2) {
            assert_fails(tess_file_write_at(full, "full", "x", 1, 0), TESS_E_IO, "No space left");
        } else {
            assert_int_equal(tess_file_reserve(shared, UINT64_C(1) << 50), ENOSPC);
        }
        assert_int_equal(open_files(), before + 2);
    }
    close(shared);
    close(full);
    unlink(path);
}

// A child has none of the threads that close its parent's files.
static void children_wait_for_nothing(void **state)
{
    (void)state;
    const char *path = unit_path("held");
    for (int i = 0; i < 20; i++) {
        unit_write_file(path, "old", 3);
        assert_int_equal(truncate(path, (off_t)512 << 20), 0);
        tess_replaced_let_go(tess_replaced_hold(path));
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            tess_replaced_wait();
            _exit(0);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    tess_replaced_wait();
    unlink(path);
}

static void folders_are_made_on_the_way(void **state)
{
    (void)state;
    char path[512];
    struct stat there;
    snprintf(path, sizeof path, "%s/one//two/three/", unit_path("made"));
    assert_ok(tess_file_make_folders(path));
    assert_ok(tess_file_make_folders(path));
    assert_int_equal(stat(path, &there), 0);
    assert_true(S_ISDIR(there.st_mode));
    unit_write_file(unit_path("plain"), "x", 1);
    assert_fails(tess_file_make_folders(unit_path("plain")), TESS_E_CREATE,
                 "plain: is there already and no folder");
    snprintf(path, sizeof path, "%s/in", unit_path("plain"));
    assert_fails(tess_file_make_folders(path), TESS_E_CREATE, "plain: is there already");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_regular_files_only),
        cmocka_unit_test(reads_and_writes_at_offsets),
        cmocka_unit_test(full_disk_has_a_remedy),
        cmocka_unit_test(text_is_written_whole_or_not_at_all),
        cmocka_unit_test(uncommitted_files_leave_nothing),
        cmocka_unit_test(commit_refuses_and_cleans_up),
        cmocka_unit_test(names_may_be_relative_or_too_long),
        cmocka_unit_test(signals_do_not_disturb),
        cmocka_unit_test(folders_are_made_on_the_way),
        cmocka_unit_test(only_files_are_replaced),
        cmocka_unit_test(large_files_are_replaced),
        cmocka_unit_test(a_full_disk_is_asked_again),
        cmocka_unit_test(children_wait_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

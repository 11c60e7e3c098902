// The process that runs libhdf5: whatever happens to it, we live, say so, and the next file opens.

#include "io/formats.h"
#include "io_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const tess_format *const h5 = &tess_format_hdf5;

static void pause_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

// The parent of a process that is a helper and has not ended; -1 of any other.
static pid_t parent_of(const char *number)
{
    char path[300];
    char name[32] = "";
    char state = 0;
    int parent = -1;
    snprintf(path, sizeof path, "/proc/%.200s/stat", number);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    const int n = fscanf(file, "%*d (%31[^)]) %c %d", name, &state, &parent);
    fclose(file);
    return n == 3 && strcmp(name, "tessera-hdf5") == 0 && state != 'Z' ? parent : -1;
}

// The helper of a process; 0 if there is none.
static pid_t helper_of(pid_t parent)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (parent_of(entry->d_name) == parent) {
            found = (pid_t)atol(entry->d_name);
        }
    }
    closedir(folder);
    return found;
}

static int n_descriptor(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        n++;
    }
    closedir(folder);
    return n;
}

// A data set that only HDF5 reads, so that every read goes through the helper.
static void open_checked(tess_format_reader *reader)
{
    if (h5->open(io_host(), io_golden("stored.h5"), "checked", 0, reader) != TESS_OK) {
        fail_msg("%s", tess_last_error());
    }
}

static tess_status read_row(tess_format_reader *reader, int64_t row)
{
    int16_t items[21];
    const tess_status status = h5->read(io_host(), reader, row, 1, items);
    assert_true(status != TESS_OK || items[5] == row * 21 + 5);
    return status;
}

static void assert_all_is_well(void)
{
    tess_format_reader reader;
    open_checked(&reader);
    assert_int_equal(read_row(&reader, 20), TESS_OK);
    h5->close(io_host(), &reader);
    assert_int_equal(io_live_blocks(), 0);
}

static void kill_idle_helper(void)
{
    const pid_t helper = helper_of(getpid());
    assert_true(helper > 0);
    kill(helper, SIGKILL);
    while (helper_of(getpid()) == helper) {
        pause_ms(1);
    }
}

static void *kill_soon(void *user)
{
    const pid_t helper = *(const pid_t *)user;
    pause_ms(200);
    kill(helper, SIGKILL);
    return NULL;
}

static void a_helper_killed_at_work_is_an_error(void **state)
{
    (void)state;
    tess_format_reader reader;
    pthread_t killer;
    open_checked(&reader);
    pid_t helper = helper_of(getpid());
    assert_true(helper > 0);
    kill(helper, SIGSTOP); // in the middle of the question, for certain
    pthread_create(&killer, NULL, kill_soon, &helper);
    assert_int_equal(read_row(&reader, 3), TESS_E_FORMAT);
    pthread_join(killer, NULL);
    assert_non_null(strstr(tess_last_error(), "stored.h5: is damaged"));
    assert_non_null(strstr(tess_last_error(), "signal 9 (Killed)"));
    assert_int_equal(read_row(&reader, 4), TESS_OK); // a new one opens the file again
    h5->close(io_host(), &reader);
    assert_all_is_well();
}

static void a_helper_that_hangs_is_given_up(void **state)
{
    (void)state;
    tess_format_reader reader;
    open_checked(&reader);
    const pid_t helper = helper_of(getpid());
    const time_t begin = time(NULL);
    assert_true(helper > 0);
    setenv("TESSERA_HDF5_TIMEOUT", "1", 1);
    kill(helper, SIGSTOP);
    assert_int_equal(read_row(&reader, 3), TESS_E_FORMAT);
    unsetenv("TESSERA_HDF5_TIMEOUT");
    assert_in_range(time(NULL) - begin, 0, 10);
    assert_non_null(
        strstr(tess_last_error(), "stored.h5: is damaged, or its disk does not answer"));
    assert_non_null(strstr(tess_last_error(), "TESSERA_HDF5_TIMEOUT"));
    assert_int_equal(kill(helper, 0), -1); // and waited for
    h5->close(io_host(), &reader);
    assert_all_is_well();
}

static void a_helper_that_fails_at_writing_is_said(void **state)
{
    (void)state;
    const float data[4] = {1, 2, 3, 4};
    const tess_format_writer_input input = {.dataset = "x",
                                            .dtype = TESS_F32,
                                            .rank = 1,
                                            .item_bytes = 4,
                                            .shape = {4},
                                            .data = data,
                                            .data_bytes = sizeof data};
    pthread_t killer;
    pid_t helper = helper_of(getpid());
    assert_true(helper > 0);
    kill(helper, SIGSTOP);
    pthread_create(&killer, NULL, kill_soon, &helper);
    assert_int_equal(h5->write(io_host(), io_scratch(".h5"), &input), TESS_E_IO);
    pthread_join(killer, NULL);
    assert_non_null(strstr(tess_last_error(), "HDF5 stopped while writing it (signal 9"));
    assert_int_equal(io_live_blocks(), 0);
    assert_int_equal(h5->write(io_host(), io_scratch(".h5"), &input), TESS_OK);
}

static void an_idle_helper_that_died_is_replaced(void **state)
{
    (void)state;
    tess_format_reader reader;
    open_checked(&reader);
    kill_idle_helper();
    assert_int_equal(read_row(&reader, 7), TESS_OK);
    h5->close(io_host(), &reader);
}

// The limit it has been given is for the file's data; this one is too small for anything.
static void a_helper_without_memory_is_an_error(void **state)
{
    (void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tess_format_reader reader;
    const struct rlimit little = {1 << 20, 1 << 20};
    open_checked(&reader);
    assert_int_equal(prlimit(helper_of(getpid()), RLIMIT_AS, &little, NULL), 0);
    const tess_status status = read_row(&reader, 3);
    assert_true(status == TESS_E_FORMAT || status == TESS_E_MEMORY);
    assert_non_null(strstr(tess_last_error(), "stored.h5"));
    h5->close(io_host(), &reader);
    kill_idle_helper(); // its limit stays
    assert_all_is_well();
#endif
}

static void *look(void *user)
{
    (void)user;
    assert_all_is_well();
    return NULL;
}

// The kernel tells a child of its parent's end when it is only the thread's.
static void a_helper_outlives_the_thread_that_started_it(void **state)
{
    (void)state;
    pthread_t thread;
    kill_idle_helper();
    pthread_create(&thread, NULL, look, NULL);
    pthread_join(thread, NULL);
    const pid_t helper = helper_of(getpid());
    pause_ms(100);
    assert_true(helper > 0);
    assert_int_equal(helper_of(getpid()), helper);
    assert_all_is_well();
    assert_int_equal(helper_of(getpid()), helper);
}

// A file in whose heap an object has no length: HDF5 1.10 looks for the next one for ever.
static const char *looping_file(void)
{
    size_t n_byte = 0;
    uint8_t *bytes = io_slurp(io_golden("latest.h5"), &n_byte);
    uint8_t *heap = memmem(bytes, n_byte, "GCOL", 4);
    assert_non_null(heap);
    memset(heap + 24, 0, 8);
    const char *path = io_file_of(bytes, n_byte);
    free(bytes);
    return path;
}

static void a_file_that_loops_is_given_up(void **state)
{
    (void)state;
    char *text = NULL;
    size_t n_byte = 0;
    setenv("TESSERA_HDF5_TIMEOUT", "1", 1);
    assert_int_equal(h5->provenance(io_host(), looping_file(), &text, &n_byte), TESS_E_FORMAT);
    unsetenv("TESSERA_HDF5_TIMEOUT");
    assert_non_null(strstr(tess_last_error(), "HDF5 could not read it within 1 s"));
    assert_int_equal(helper_of(getpid()), 0);
    assert_all_is_well();
}

// Also one that is too busy to see that nobody is at the other end.
static void a_helper_ends_with_its_parent(void **state)
{
    (void)state;
    const char *path = looping_file();
    const pid_t child = fork();
    if (child == 0) {
        char *text = NULL;
        size_t n_byte = 0;
        _exit(h5->provenance(io_host(), path, &text, &n_byte) == TESS_OK);
    }
    pid_t helper = 0;
    for (int left = 1000; left > 0 && helper == 0; left--) {
        pause_ms(10);
        helper = helper_of(child);
    }
    assert_true(helper > 0);
    pause_ms(300); // it has the question by now
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    char number[16];
    int left = 100;
    snprintf(number, sizeof number, "%d", (int)helper);
    for (; left > 0 && parent_of(number) >= 0; left--) {
        pause_ms(50);
    }
    assert_true(left > 0);
}

static void nothing_is_left_open(void **state)
{
    (void)state;
    assert_all_is_well();
    const int before = n_descriptor();
    for (int i = 0; i < 200; i++) {
        tess_format_reader reader;
        open_checked(&reader);
        assert_int_equal(read_row(&reader, i % 21), TESS_OK);
        h5->close(io_host(), &reader);
        assert_int_equal(h5->open(io_host(), io_golden("one.h5"), "no", 0, &reader),
                         TESS_E_NOT_FOUND);
        if (i % 50 == 0) {
            kill_idle_helper();
        }
    }
    assert_all_is_well();
    assert_int_equal(n_descriptor(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); // one lives, none is dead
}

// In the child the parent's helper must not be spoken to: both would read the other's answers.
static void both_sides_of_a_fork_read(void **state)
{
    (void)state;
    tess_format_reader reader;
    open_checked(&reader);
    assert_int_equal(read_row(&reader, 1), TESS_OK);
    const pid_t child = fork();
    for (int i = 0; i < 50; i++) {
        const tess_status status = read_row(&reader, i % 21);
        if (child == 0 && status != TESS_OK) {
            _exit(1);
        }
        assert_int_equal(status, TESS_OK);
    }
    if (child == 0) {
        _exit(helper_of(getpid()) > 0 ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    h5->close(io_host(), &reader);
    assert_all_is_well();
}

static void wait_for_all(int number)
{
    (void)number;
    const int error = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = error;
}

static void a_host_may_wait_for_all_its_children(void **state)
{
    (void)state;
    tess_format_reader reader;
    struct sigaction action = {.sa_handler = wait_for_all};
    struct sigaction before;
    sigaction(SIGCHLD, &action, &before);
    open_checked(&reader);
    kill_idle_helper();
    assert_int_equal(read_row(&reader, 2), TESS_OK);
    h5->close(io_host(), &reader);
    sigaction(SIGCHLD, &before, NULL);
    assert_all_is_well();
}

static void is_locked_up(void **state)
{
    (void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    char path[64];
    char text[4096] = "";
    assert_all_is_well();
    snprintf(path, sizeof path, "/proc/%d/status", (int)helper_of(getpid()));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_non_null(strstr(text, "NoNewPrivs:\t1"));
    // Where the kernel has no filters there are none.
    assert_true(strstr(text, "Seccomp:\t2") != NULL || access("/proc/sys/kernel/seccomp", F_OK));
#endif
}

static void a_missing_or_wrong_helper_is_said(void **state)
{
    (void)state;
    tess_format_reader reader;
    kill_idle_helper();
    static const struct {
        const char *program;
        const char *part;
    } cases[] = {{"none", "module tessera-hdf5 is disabled by TESSERA_HDF5_PLUGIN"},
                 {"/no/such/program", "cannot be read"},
                 {"/bin/true", "does not work (exit status 0)"},
                 {"/bin/sh", "does not work"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("TESSERA_HDF5_PLUGIN", cases[i].program, 1);
        io_assert_open_fails(h5, io_golden("one.h5"), NULL, TESS_E_UNSUPPORTED, cases[i].part);
        assert_int_equal(h5->check(io_host(), "x.h5"), TESS_E_UNSUPPORTED);
    }
    setenv("TESSERA_HDF5_PLUGIN", TESS_HDF5_HELPER, 1);
    assert_int_equal(h5->check(io_host(), "x.h5"), TESS_OK);
    assert_int_equal(h5->open(io_host(), io_golden("one.h5"), NULL, 0, &reader), TESS_OK);
    h5->close(io_host(), &reader);
}

static int setup(void **state)
{
    setenv("TESSERA_HDF5_PLUGIN", TESS_HDF5_HELPER, 1);
    return io_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_helper_killed_at_work_is_an_error),
        cmocka_unit_test(a_helper_that_hangs_is_given_up),
        cmocka_unit_test(a_helper_that_fails_at_writing_is_said),
        cmocka_unit_test(an_idle_helper_that_died_is_replaced),
        cmocka_unit_test(a_helper_without_memory_is_an_error),
        cmocka_unit_test(a_helper_outlives_the_thread_that_started_it),
        cmocka_unit_test(a_file_that_loops_is_given_up),
        cmocka_unit_test(a_helper_ends_with_its_parent),
        cmocka_unit_test(nothing_is_left_open),
        cmocka_unit_test(both_sides_of_a_fork_read),
        cmocka_unit_test(a_host_may_wait_for_all_its_children),
        cmocka_unit_test(is_locked_up),
        cmocka_unit_test(a_missing_or_wrong_helper_is_said),
    };
    return cmocka_run_group_tests(tests, setup, io_teardown);
}

#include "unit.h"

#include <dirent.h>
#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// TESS_TEST_ONLY='paths_*' runs the tests of a program that have such a name: under tools that take
// minutes for each.
__attribute__((constructor)) static void choose_tests(void)
{
    const char *only = getenv("TESS_TEST_ONLY");
    if (only && only[0]) {
        cmocka_set_test_filter(only);
    }
}

static char folder[512];
static pid_t folder_owner;

void unit_check_ok(tess_status got, const char *call, const char *file, int line)
{
    if (got != TESS_OK) {
        print_error("%s: %s: %s\n", call, tess_status_name(got), tess_last_error());
        _fail(file, line);
    }
}

void unit_check_failure(tess_status got, tess_status want, const char *part, const char *call,
                        const char *file, int line)
{
    if (got != want || !strstr(tess_last_error(), part)) {
        print_error("%s: expected %s with '%s', got %s: %s\n", call, tess_status_name(want), part,
                    tess_status_name(got), tess_last_error());
        _fail(file, line);
    }
}

void unit_check_contains(const char *text, const char *part, const char *file, int line)
{
    if (!strstr(text, part)) {
        print_error("'%s' is not in: %.2000s\n", part, text);
        _fail(file, line);
    }
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == folder_owner) {
        nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    }
}

static const char *scratch_folder(void)
{
    if (!folder[0]) {
        const char *parent = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%.400s/tessera-unit-XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(folder)) {
            fail_msg("cannot create %s", folder);
        }
        folder_owner = getpid();
        atexit(remove_folder);
    }
    return folder;
}

const char *unit_path(const char *name)
{
    static char paths[64][1024];
    static int n;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", scratch_folder(), name);
    for (int i = 0; i < n; i++) {
        if (strcmp(paths[i], path) == 0) {
            return paths[i];
        }
    }
    assert_in_range(n, 0, 63);
    memcpy(paths[n], path, sizeof path);
    return paths[n++];
}

int unit_count_files(void)
{
    int n = 0;
    DIR *open = opendir(scratch_folder());
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(open);
    return n;
}

int unit_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void unit_write_file(const char *path, const void *bytes, size_t n_byte)
{
    remove(path); // ext4 takes a millisecond and more to replace what a file held
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_byte, file), n_byte);
    assert_int_equal(fclose(file), 0);
}

char *unit_read_file(const char *path, size_t *n_byte)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, n, file), n);
    bytes[n] = '\0';
    fclose(file);
    if (n_byte) {
        *n_byte = n;
    }
    return bytes;
}

int unit_is_quick(void)
{
    const char *quick = getenv("TESS_TEST_QUICK");
    return quick && quick[0] && strcmp(quick, "0") != 0;
}

int unit_set_decimal_comma(void)
{
    static const char numeric[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\n"
                                  "grouping -1\nEND LC_NUMERIC\n";
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        // Not installed: make one that differs in this alone (a whole one takes seconds).
        char command[1600];
        unit_write_file(unit_path("comma"), numeric, strlen(numeric));
        snprintf(command, sizeof command, "localedef -c -i %s/comma -f UTF-8 %s/xx_XX >%s/log 2>&1",
                 scratch_folder(), scratch_folder(), scratch_folder());
        setenv("LOCPATH", scratch_folder(), 1);
        (void)!system(command); // it warns of what is missing; setlocale() is the judge
        if (!setlocale(LC_NUMERIC, "xx_XX")) {
            return 0;
        }
    }
    return localeconv()->decimal_point[0] == ',';
}

tess_context *unit_context(int32_t n_thread, uint64_t memory_limit_bytes)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = n_thread;
    config.memory_limit_bytes = memory_limit_bytes;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    return ctx;
}

static void *counted_alloc(void *user, size_t bytes, size_t alignment, tess_tag tag)
{
    (void)tag;
    unit_allocator *allocator = user;
    const long long n = atomic_fetch_add(&allocator->n_alloc, 1) + 1;
    if (allocator->fail_at > 0 &&
        (n == allocator->fail_at || (allocator->from_then_on && n > allocator->fail_at))) {
        return NULL;
    }
    void *ptr = NULL;
    if (posix_memalign(&ptr, alignment, bytes) != 0) {
        return NULL;
    }
    memset(ptr, 0xA5, bytes); // nobody may count on zeros
    atomic_fetch_add(&allocator->n_live, 1);
    return ptr;
}

static void counted_release(void *user, void *ptr, size_t bytes, tess_tag tag)
{
    (void)bytes;
    (void)tag;
    unit_allocator *allocator = user;
    atomic_fetch_sub(&allocator->n_live, 1);
    free(ptr);
}

void unit_allocator_init(unit_allocator *allocator, long long fail_at)
{
    memset(allocator, 0, sizeof *allocator);
    allocator->table = (tess_allocator){counted_alloc, counted_release, allocator};
    allocator->fail_at = fail_at;
}
